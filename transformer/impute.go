package transformer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/sparse"
)

// Impute puts a value where one is missing (NaN): in each column the mean, the exact median or the
// most frequent of the training values, or a constant. With Indicator, every column that missed
// values in training gets a companion after the last column, 1 where the value was missing.
//
// Shapes: n×d → n×(d + indicators). Categorical columns take most_frequent or constant and stay
// categorical with the levels they have; a constant that is the name of a level puts that level in,
// and adds it behind the others where the schema does not list it. A level that the schema does not
// know ([datasets.Unknown]) is not a missing value. Sparse rows stay sparse; their zeros are values.
// It is scikit-learn's SimpleImputer, apart from columns in which every value is missing: only
// constant takes those, the other strategies return an error.
//
// Cost: one pass over the rows for mean and most_frequent, three to six for median. Memory is a few
// numbers for each column; most_frequent holds each column's distinct values.
type Impute struct {
	Strategy  string // mean, median, most_frequent or constant
	Fill      Fill   // of strategy constant
	Indicator bool   // add columns that tell where values were missing
}

// NewImpute returns the spec with strategy mean, and 0 for a constant.
func NewImpute() Impute { return Impute{Strategy: "mean"} }

// Fill is a constant to put in: the name of a level where Level is not empty, else Number.
type Fill struct {
	Number float64
	Level  string
}

var _ param.Value = (*Fill)(nil)

// Set takes a number or the name of a level.
func (f *Fill) Set(plain any) error {
	switch v := plain.(type) {
	case string:
		*f = Fill{Level: v}
		if v == "" {
			return fmt.Errorf("%s", f.Wanted())
		}
		return nil
	case int:
		*f = Fill{Number: float64(v)}
		return nil
	case float64:
		*f = Fill{Number: v}
		return f.Check()
	}
	return fmt.Errorf("%s", f.Wanted())
}

// Plain returns the name or the number.
func (f *Fill) Plain() any {
	if f.Level != "" {
		return f.Level
	}
	return f.Number
}

// Wanted says what Set takes.
func (f *Fill) Wanted() string { return "a number, or the name of a level" }

// Check reports a number that is not finite.
func (f *Fill) Check() error {
	if !finite(f.Number) {
		return fmt.Errorf("%s", f.Wanted())
	}
	return nil
}

// Params declares strategy, fill and indicator.
func (s *Impute) Params(l *param.List) {
	l.Choice(&s.Strategy, "strategy", "what to put in", "mean", "median", "most_frequent", "constant")
	l.Value(&s.Fill, "fill", "the constant: a number, or for categorical columns the name of a level")
	l.Bool(&s.Indicator, "indicator", "add a 0/1 column for each column that misses values in training")
}

// Fit learns what to put in; it returns a [*FittedImpute].
func (s Impute) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "impute", s, data)
}

// FitSource is Fit over a source, which it reads once or, for medians, several times.
func (s Impute) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkSpec("impute", s); err != nil {
		return nil, err
	}
	_, width := data.Dims()
	f := &FittedImpute{fill: make([]float64, width)}
	for j := range width {
		if err := s.checkColumn(data.Schema(), j); err != nil {
			return nil, err
		}
	}
	err := s.learn(ctx, data, f)
	if err == nil && s.Indicator {
		err = f.findMissing(ctx, data)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// checkColumn reports a strategy that column j cannot take.
func (s Impute) checkColumn(schema datasets.Schema, j int) error {
	c := schema.Column(j)
	problem := ""
	switch categorical := c.Kind == datasets.Categorical; {
	case categorical && (s.Strategy == "mean" || s.Strategy == "median"):
		problem = "is categorical and has no " + s.Strategy + "; use most_frequent or constant, or select the numeric columns"
	case s.Strategy != "constant":
	case !categorical && s.Fill.Level != "":
		problem = fmt.Sprintf("is numeric, and fill is the text %q", s.Fill.Level)
	case categorical && s.Fill.Level == "" && !isCode(s.Fill.Number, len(c.Levels)):
		problem = fmt.Sprintf("is categorical, and fill is %g; use the name of a level, or a code from 0 to %d", s.Fill.Number, len(c.Levels)-1)
	}
	if problem != "" {
		return fmt.Errorf("transformer: impute: column %s %s", schema.Name(j), problem)
	}
	return nil
}

func isCode(v float64, levels int) bool { return v == math.Trunc(v) && v >= 0 && v < float64(levels) }

// learn sets what is put into each column.
func (s Impute) learn(ctx context.Context, data datasets.Source, f *FittedImpute) error {
	switch s.Strategy {
	case "mean":
		m, _, err := columnMoments(ctx, "impute", data, true)
		if err != nil {
			return err
		}
		f.fill = m.mean
		return checkCounts("impute", m.count, data.Schema())
	case "median":
		medians, err := columnQuantiles(ctx, "impute", data, []float64{0.5})
		for j, q := range medians {
			f.fill[j] = q[0]
		}
		return err
	case "most_frequent":
		return f.learnModes(ctx, data)
	}
	f.level = s.Fill.Level
	for j := range f.fill {
		f.fill[j] = s.Fill.Number
		if f.level == "" {
			continue
		}
		levels := data.Schema().Column(j).Levels
		if code := slices.Index(levels, f.level); code >= 0 {
			f.fill[j] = float64(code)
		} else {
			f.fill[j] = float64(len(levels))
		}
	}
	_, err := fold(ctx, "impute", data, true, func(int, mat.Matrix) error { return nil })
	return err
}

// learnModes finds the most frequent value of every column, the least of several.
func (f *FittedImpute) learnModes(ctx context.Context, data datasets.Source) error {
	schema := data.Schema()
	counts := make([]map[float64]float64, len(f.fill))
	for j := range counts {
		counts[j] = map[float64]float64{}
	}
	_, err := fold(ctx, "impute", data, true, func(_ int, X mat.Matrix) error {
		eachEntry(X, func(j int, v, times float64) {
			if v != datasets.Unknown || schema.Column(j).Kind == datasets.Numeric {
				counts[j][v] += times
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	most := make([]float64, len(f.fill))
	for j := range counts {
		for v, n := range counts[j] {
			if n > most[j] || n == most[j] && v < f.fill[j] {
				f.fill[j], most[j] = v, n
			}
		}
	}
	return checkCounts("impute", most, schema)
}

// findMissing finds the columns that get an indicator.
func (f *FittedImpute) findMissing(ctx context.Context, data datasets.Source) error {
	misses := make([]bool, len(f.fill))
	_, err := fold(ctx, "impute", data, true, func(_ int, X mat.Matrix) error {
		n, _ := X.Dims()
		for i := range n {
			eachMissing(X, i, func(j int) { misses[j] = true })
		}
		return nil
	})
	for j, m := range misses {
		if m {
			f.indicators = append(f.indicators, j)
		}
	}
	return err
}

// eachMissing calls f for the columns of row i in which a value is missing, in order.
func eachMissing(X mat.Matrix, i int, f func(j int)) {
	if m, ok := X.(*sparse.CSR); ok {
		columns, values := m.Row(i)
		for k, v := range values {
			if v != v {
				f(int(columns[k]))
			}
		}
		return
	}
	for j, v := range X.(*mat.Dense).RawRowView(i) {
		if v != v {
			f(j)
		}
	}
}

// FittedImpute is what [Impute] is fitted to.
type FittedImpute struct {
	fill       []float64
	indicators []int  // columns that have one
	level      string // the name behind a constant, of every column
}

var (
	_ DenseTransformer = (*FittedImpute)(nil)
	_ Describer        = (*FittedImpute)(nil)
	_ model.Stateful   = (*FittedImpute)(nil)
)

// Transform returns the rows of X without missing values, sparse where X is.
func (f *FittedImpute) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if m, ok := X.(*sparse.CSR); ok && m != nil {
		if _, err := f.check(X); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return f.transformSparse(ctx, m)
	}
	return transformDense(ctx, f, X)
}

// TransformTo writes the rows of X without missing values into dst, the zeros of sparse rows too.
func (f *FittedImpute) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := f.check(X)
	if err != nil {
		return err
	}
	n, d := X.Dims()
	if err := checkTile("impute", dst, n, f.OutputWidth()); err != nil {
		return err
	}
	return eachTile(ctx, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := dst.RawRowView(i)
			copy(to, denseRow(X, i, to[:d]))
			for k, j := range f.indicators {
				to[d+k] = 0
				if to[j] != to[j] {
					to[d+k] = 1
				}
			}
			for j, v := range to[:d] {
				if v != v {
					to[j] = f.fill[j]
				}
			}
		}
	})
}

// check returns X as a *mat.Dense or *sparse.CSR of finite or missing numbers.
func (f *FittedImpute) check(X mat.Matrix) (mat.Matrix, error) {
	X, err := checkRows("impute", X, len(f.fill))
	if err != nil {
		return nil, err
	}
	return X, checkEntries("impute", X, datasets.Schema{}, 0, math.MaxFloat64, true)
}

func (f *FittedImpute) transformSparse(ctx context.Context, m *sparse.CSR) (mat.Matrix, error) {
	filled := func(j int, v float64) float64 {
		if v != v {
			return f.fill[j]
		}
		return v
	}
	if len(f.indicators) == 0 {
		if _, ok := m.Shared(); ok {
			return m, nil
		}
		return mapEntries(ctx, m, filled)
	}
	rows, d := m.Dims()
	shared, _ := m.Shared()
	indptr := make([]int, 1, rows+1)
	var indices []uint32
	values := []float64{}
	for i := range rows {
		if i%tileRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		columns, entries := m.Row(i)
		for k, j := range columns {
			v := shared
			if entries != nil {
				v = entries[k]
			}
			indices, values = append(indices, j), append(values, filled(int(j), v))
		}
		eachMissing(m, i, func(j int) {
			if k, ok := slices.BinarySearch(f.indicators, j); ok {
				indices, values = append(indices, uint32(d+k)), append(values, 1)
			}
		})
		indptr = append(indptr, len(indices))
	}
	return sparse.New(rows, f.OutputWidth(), indptr, indices, values)
}

// InputWidth returns the number of columns that go in.
func (f *FittedImpute) InputWidth() int { return len(f.fill) }

// OutputWidth returns the number of columns, indicators included.
func (f *FittedImpute) OutputWidth() int { return len(f.fill) + len(f.indicators) }

// OutputSchema returns the columns as they were, and indicators called <column>_missing.
func (f *FittedImpute) OutputSchema(in datasets.Schema) datasets.Schema {
	columns := make([]datasets.Column, 0, f.OutputWidth())
	for j, fill := range f.fill {
		c := in.Column(j)
		if c.Kind == datasets.Categorical && f.level != "" && fill == float64(len(c.Levels)) {
			c.Levels = append(slices.Clip(c.Levels), f.level)
		}
		columns = append(columns, c)
	}
	for _, j := range f.indicators {
		columns = append(columns, datasets.Column{Name: in.Name(j) + "_missing"})
	}
	return in.WithColumns(columns)
}

// Fill returns what is put into each column.
func (f *FittedImpute) Fill() []float64 { return slices.Clone(f.fill) }

// State is what a model file keeps.
func (f *FittedImpute) State(s *model.State) {
	s.Floats("fill", &f.fill)
	s.Ints("indicators", &f.indicators)
	s.String("level", &f.level)
	s.Require(len(f.fill) > 0 && allFinite(f.fill), "fill is empty or not finite")
	s.Require(ascending(f.indicators, len(f.fill)), "indicators are not columns in ascending order")
}

// ascending reports whether the numbers ascend from 0 or more to less than end.
func ascending(list []int, end int) bool {
	last := -1
	for _, v := range list {
		if v <= last || v >= end {
			return false
		}
		last = v
	}
	return true
}

// Cost returns the cost of the passes that the strategy takes.
func (s Impute) Cost(shape datasets.Shape) datasets.Cost {
	c := scalerCost(6, shape)
	switch {
	case s.Strategy == "median":
		c = scalerCost(4*8, shape)
		c.Bytes += int64(min(shape.Cols*2*(8<<digitBits), selectionMemory))
	case s.Strategy == "most_frequent":
		c.Flops *= 10
	}
	if s.Indicator {
		c.Width, c.Guess = 2*shape.Cols, true // as if every column had missing values
	}
	return c
}
