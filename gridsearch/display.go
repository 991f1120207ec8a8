package gridsearch

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/internal/codec/svg"
)

// SVG returns a heat map of the mean scores over the first two axes with several values; notebooks
// display it. With more axes, a cell shows the best of its candidates. A frame marks the candidate
// that the refit rule selects.
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

// maxPrinted is the number of candidates that String lists.
const maxPrinted = 10

// String returns a text table of the best candidates: rank, parameters, mean and standard deviation of the score over
// the folds, mean time of a fit. A star marks the candidate that the refit rule selects.
func (r *Result) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "rank\t")
	if len(r.Candidates) > 0 {
		for _, s := range r.Candidates[0].Settings {
			fmt.Fprint(w, s.Path+"\t")
		}
	}
	fmt.Fprintf(w, "%s\tstd\tfit seconds\n", r.Score)
	order := seq(len(r.Candidates))
	slices.SortStableFunc(order, func(i, j int) int { return r.Candidates[i].Rank - r.Candidates[j].Rank })
	for at, i := range order {
		if at >= maxPrinted && i != r.BestIndex {
			continue
		}
		c, mark := r.Candidates[i], ""
		if i == r.BestIndex {
			mark = " *"
		}
		fmt.Fprintf(w, "%d%s\t", c.Rank, mark)
		for a := range c.Settings {
			fmt.Fprint(w, c.value(a)+"\t")
		}
		if c.Failed != "" {
			fmt.Fprintf(w, "failed: %s\n", c.Failed)
			continue
		}
		fmt.Fprintf(w, "%.4g\t%.2g\t%.2g\n", c.Mean, c.Std, c.Seconds)
	}
	w.Flush()
	if r.Started {
		fmt.Fprintf(&b, "%d of %.0f candidates on %d folds, started from those of an earlier search", r.evaluated(),
			r.GridSize, r.Folds)
	} else {
		fmt.Fprintf(&b, "%d candidates on %d folds", len(r.Candidates), r.Folds)
	}
	for _, warning := range r.Warnings {
		fmt.Fprint(&b, "\nwarning: "+warning)
	}
	return b.String() + "\n"
}

// evaluated returns the number of distinct candidates in all rounds.
func (r *Result) evaluated() int {
	n := len(r.Candidates)
	for _, round := range r.Rounds {
		n = max(n, len(round.Candidates))
	}
	return n
}

// heatAxes returns the indices of the row and column axes of the heat map, −1 for none.
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

// values returns the values of an axis in grid order.
func (r *Result) values(axis int) []string {
	var out []string
	for _, c := range r.Candidates {
		if v := c.value(axis); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if axis >= 0 && axis < len(r.grid) { // partial grids may have another order
		var order []string
		for _, v := range r.grid[axis] {
			order = append(order, formatShort(v))
		}
		slices.SortStableFunc(out, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	}
	return out
}

// value returns the value of the candidate on an axis as a string.
func (c Candidate) value(axis int) string {
	if axis < 0 {
		return ""
	}
	return formatShort(c.Settings[axis].Value)
}

// formatShort formats a value for figures.
func formatShort(value any) string {
	if v, ok := value.(float64); ok {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return fmt.Sprint(value)
}
