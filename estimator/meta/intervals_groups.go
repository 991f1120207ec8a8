package meta

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/conformal"
	"github.com/bochner-ml/bochner/model"
)

// conformity has the conformal scores of the calibration rows, and their groups.
type conformity struct {
	nonconformity *mat.Dense // rows × targets
	column        int        // of the inputs, whose values are the groups
	groups        []float64  // value of each row; nil without groups

	// scores in ascending order, of each target: those of all rows, and of each group
	sorted  [][]float64
	byGroup map[float64][][]float64
}

// newConformity returns an empty conformity by the groups of the spec.
func (s Intervals) newConformity(schema datasets.Schema, cols int) (c conformity, err error) {
	if s.Group == "" {
		return c, nil
	}
	c.groups = []float64{}
	for c.column = range cols {
		if schema.Name(c.column) == s.Group {
			return c, nil
		}
	}
	return c, fmt.Errorf("group: no input column is named %q", s.Group)
}

// add appends the scores of the rows of X.
func (c *conformity) add(X mat.Matrix, scores []float64) {
	n, _ := X.Dims()
	for i := 0; c.groups != nil && i < n; i++ {
		c.groups = append(c.groups, X.At(i, c.column))
	}
	if t := len(scores) / max(n, 1); c.nonconformity != nil {
		scores = append(c.nonconformity.RawMatrix().Data, scores...)
		c.nonconformity = mat.NewDense(len(scores)/t, t, scores)
	} else if n > 0 {
		c.nonconformity = mat.NewDense(n, t, scores)
	}
}

// sort prepares for quantiles. A missing value is no group.
func (c *conformity) sort() {
	n, t := c.nonconformity.Dims()
	c.byGroup, c.sorted = map[float64][][]float64{}, make([][]float64, t)
	for i := range n {
		lists := [][][]float64{c.sorted}
		if c.groups != nil && c.groups[i] == c.groups[i] {
			own, ok := c.byGroup[c.groups[i]]
			if !ok {
				own = make([][]float64, t)
				c.byGroup[c.groups[i]] = own
			}
			lists = append(lists, own)
		}
		for _, list := range lists {
			for j := range t {
				list[j] = append(list[j], c.nonconformity.At(i, j))
			}
		}
	}
	for _, list := range c.byGroup {
		for _, scores := range list {
			slices.Sort(scores)
		}
	}
	for _, scores := range c.sorted {
		slices.Sort(scores)
	}
}

// quantiles are the k-th smallest scores of each target, k = ⌈level·(n+1)⌉ of n rows: those of all
// rows, and of each group.
type quantiles struct {
	all     []float64
	column  int
	byGroup map[float64][]float64
}

// quantiles returns an error if there are too few rows for the level, in all or in a group.
func (c *conformity) quantiles(level float64) (q quantiles, err error) {
	of := func(sorted [][]float64) (out []float64, err error) {
		k, err := conformal.Rank(len(sorted[0]), level)
		for j := 0; err == nil && j < len(sorted); j++ {
			out = append(out, sorted[j][k-1])
		}
		return out, err
	}
	q.column, q.byGroup = c.column, map[float64][]float64{}
	if q.all, err = of(c.sorted); err != nil {
		return q, err
	}
	for _, g := range slices.Sorted(maps.Keys(c.byGroup)) {
		if q.byGroup[g], err = of(c.byGroup[g]); err != nil {
			return q, groupError{g, err}
		}
	}
	return q, nil
}

// groupError is the error of a group, which has the name of its category if the schema is known.
type groupError struct {
	group float64
	err   error
}

func (e groupError) Error() string { return fmt.Sprintf("group %v: %v", e.group, e.err) }
func (e groupError) Unwrap() error { return e.err }

// finish sorts the scores, and checks that they suffice for a level.
func (c *conformity) finish(schema datasets.Schema, level float64) error {
	c.sort()
	_, err := c.quantiles(level)
	if e, ok := err.(groupError); ok {
		name := fmt.Sprint(e.group)
		if names := schema.Column(c.column).Categories; e.group >= 0 && int(e.group) < len(names) {
			name = names[int(e.group)]
		}
		return fmt.Errorf("group %s of column %s: %w; merge groups, raise calibration, or lower level", name,
			schema.Name(c.column), e.err)
	}
	return err
}

// of returns the quantiles for a row of X: those of its group, of all rows if there is none.
func (q quantiles) of(X mat.Matrix, row int) []float64 {
	if len(q.byGroup) > 0 {
		if own, ok := q.byGroup[X.At(row, q.column)]; ok {
			return own
		}
	}
	return q.all
}

// export adds the quantiles for rows to g, one column for each target.
func (q quantiles) export(g *graph.Graph, rows graph.Value) graph.Value {
	out := g.Row(q.all)
	for _, value := range slices.Sorted(maps.Keys(q.byGroup)) {
		own := g.Equal(g.Columns(rows, []int{q.column}), g.Scalar(value))
		out = g.Where(own, g.Row(q.byGroup[value]), out)
	}
	return out
}

// state serializes scores and groups, and prepares those that are restored.
func (c *conformity) state(s *model.State, cols int, level float64) {
	s.Matrix("residuals", &c.nonconformity)
	grouped := c.groups != nil
	if s.Bool("grouped", &grouped); grouped {
		s.Int("group", &c.column)
		s.Floats("groups", &c.groups)
		s.Require(c.column >= 0 && c.column < cols, "there is no column of the groups")
	}
	s.Require(c.nonconformity != nil && !c.nonconformity.IsEmpty(), "there are no residuals")
	if !s.Restoring() || s.Err() != nil {
		return
	}
	n := c.nonconformity.RawMatrix().Rows
	if s.Require(!grouped || len(c.groups) == n, "the groups are of other rows"); s.Err() != nil {
		return
	}
	s.Require(!slices.ContainsFunc(c.nonconformity.RawMatrix().Data, func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	}), "residuals are not finite")
	c.sort()
	_, err := c.quantiles(level)
	s.Require(err == nil, "there are too few residuals")
}
