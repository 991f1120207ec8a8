package meta

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/conformal"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
)

// conformity has the conformal scores of the calibration rows, and their groups.
type conformity struct {
	nonconformity *mat.Dense // rows × targets
	column        int        // of the inputs, whose values are the groups
	groups        []float64  // value of each row; nil without groups
	pooled        []string   // names of the groups with too few rows for the level of the fit

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
	c.column, err = s.groupColumn(schema, cols)
	return c, err
}

// groupColumn returns the input column of the groups.
func (s Intervals) groupColumn(schema datasets.Schema, cols int) (int, error) {
	for j := range cols {
		if schema.Name(j) == s.Group {
			return j, nil
		}
	}
	return 0, fmt.Errorf("group: no input column is named %q", s.Group)
}

// groupValues returns the group of each row, nil without groups.
func (s Intervals) groupValues(data datasets.Set) ([]float64, error) {
	if s.Group == "" {
		return nil, nil
	}
	column, err := s.groupColumn(data.Schema, data.Cols())
	if err != nil {
		return nil, err
	}
	out := make([]float64, data.Rows())
	for i := range out {
		out[i] = data.X.At(i, column)
	}
	return out, nil
}

// strata numbers the groups of some rows for a stratified split, which needs two rows of each. A missing
// value and the group of a single row are in one stratum; nil means that there is only one.
func strata(values []float64, rows []int) []float64 {
	counts := map[float64]int{}
	for _, i := range rows {
		counts[values[i]]++
	}
	numbers, rest := map[float64]float64{}, 0
	out := make([]float64, len(rows))
	for k, i := range rows {
		v := values[i]
		if v != v || counts[v] < 2 {
			rest++
			continue // number 0
		}
		if _, ok := numbers[v]; !ok {
			numbers[v] = float64(len(numbers) + 1)
		}
		out[k] = numbers[v]
	}
	if rest == 1 && len(numbers) > 0 {
		out[slices.Index(out, 0)] = 1
	}
	if len(numbers) == 0 || len(numbers) == 1 && rest < 2 {
		return nil
	}
	return out
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

// quantiles returns an error if all rows are too few for the level. The groups that have too few share the
// quantiles of their rows together; if these are too few, they have those of all rows.
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
	small := c.small(level)
	pool := make([][]float64, len(c.sorted))
	for _, g := range slices.Sorted(maps.Keys(c.byGroup)) {
		if !slices.Contains(small, g) {
			if q.byGroup[g], err = of(c.byGroup[g]); err != nil {
				return q, err
			}
			continue
		}
		for j, scores := range c.byGroup[g] {
			pool[j] = append(pool[j], scores...)
		}
	}
	if len(pool[0]) < conformal.Least(level) {
		return q, nil
	}
	for j := range pool {
		slices.Sort(pool[j])
	}
	shared, err := of(pool)
	for _, g := range small {
		q.byGroup[g] = shared
	}
	return q, err
}

// small returns the groups with too few rows for the level, in ascending order.
func (c *conformity) small(level float64) (out []float64) {
	for _, g := range slices.Sorted(maps.Keys(c.byGroup)) {
		if len(c.byGroup[g][0]) < conformal.Least(level) {
			out = append(out, g)
		}
	}
	return out
}

// finish sorts the scores, and checks that they suffice for a level.
func (c *conformity) finish(schema datasets.Schema, level float64) error {
	c.sort()
	if _, err := c.quantiles(level); err != nil {
		return err
	}
	for _, g := range c.small(level) {
		name := fmt.Sprint(g)
		if names := schema.Column(c.column).Categories; g >= 0 && int(g) < len(names) {
			name = names[int(g)]
		}
		c.pooled = append(c.pooled, name)
	}
	return nil
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
		if s.Restoring() && s.Has("pooled") || len(c.pooled) > 0 {
			s.Strings("pooled", &c.pooled)
		}
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
