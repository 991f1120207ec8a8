package gridsearch

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/internal/svg"
)

// SVG returns the mean scores as a picture, which a notebook shows by itself: a heat map over the
// first two axes that have several values. Where there are further axes a cell shows the best of its
// candidates. The candidate that the refit rule chooses is framed.
func (r *Result) SVG() string {
	down, across := r.heatAxes()
	rows, columns := r.values(down), r.values(across)
	t := svg.Table{
		Title: fmt.Sprintf("mean %s of %d folds", r.Score, r.Folds), RowLabel: r.path(down), ColumnLabel: r.path(across),
		Rows: rows, Columns: columns, Row: -1, Reverse: !r.GreaterIsBetter,
	}
	for range rows {
		t.Values = append(t.Values, slices.Repeat([]float64{math.NaN()}, len(columns)))
		t.Labels = append(t.Labels, make([]string, len(columns)))
	}
	for k, c := range r.Candidates {
		i, j := slices.Index(rows, c.value(down)), slices.Index(columns, c.value(across))
		if k == r.BestIndex {
			t.Row, t.Column = i, j
		}
		old := t.Values[i][j]
		if better := c.Mean > old == r.GreaterIsBetter && c.Mean != old; c.Mean == c.Mean && (old != old || better) {
			t.Values[i][j], t.Labels[i][j] = c.Mean, strconv.FormatFloat(c.Mean, 'g', 4, 64)
		}
	}
	return svg.HeatMap(t)
}

// heatAxes returns the numbers of the axes that go down and across the map, -1 for none.
func (r *Result) heatAxes() (down, across int) {
	var several []int
	if len(r.Candidates) > 0 {
		for a := range r.Candidates[0].Settings {
			if len(r.values(a)) > 1 {
				several = append(several, a)
			}
		}
	}
	several = append(several, -1, -1)
	return several[0], several[1]
}

// path returns the path of an axis.
func (r *Result) path(axis int) string {
	if axis < 0 || len(r.Candidates) == 0 {
		return ""
	}
	return r.Candidates[0].Settings[axis].Path
}

// values returns the values of an axis in the order of the grid.
func (r *Result) values(axis int) []string {
	var out []string
	for _, c := range r.Candidates {
		if v := c.value(axis); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if axis >= 0 && axis < len(r.grid) { // candidates that are not the whole grid may come in another order
		var order []string
		for _, v := range r.grid[axis] {
			order = append(order, formatShort(v))
		}
		slices.SortStableFunc(out, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	}
	return out
}

// value returns the candidate's value on an axis as text.
func (c Candidate) value(axis int) string {
	if axis < 0 {
		return ""
	}
	return formatShort(c.Settings[axis].Value)
}

// formatShort writes a value as a picture has it.
func formatShort(value any) string {
	if v, ok := value.(float64); ok {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return fmt.Sprint(value)
}
