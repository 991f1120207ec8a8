package transformer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Impute replaces missing values (NaN) by the mean, the exact median or the most frequent training
// value of the column, or by a constant. With Indicator, every column with missing training values
// gets an indicator column after the last column, 1 where the value was missing.
//
// Shapes: n×d → n×(d + indicators). Categorical columns support most_frequent and constant, and
// stay categorical. A constant that names a category inserts that category and appends it to the
// schema if necessary. A category that is not in the schema ([datasets.Unknown]) is not a missing
// value. Sparse rows stay sparse; their zeros are values. It is scikit-learn's SimpleImputer,
// except for columns without values: only constant accepts them, the other strategies return an
// error.
//
// Cost: one pass over the rows for mean and most_frequent, three to six for median. Memory is O(1)
// per column; most_frequent stores the distinct values of each column.
// Use [NewImpute]: the zero value is invalid.
type Impute struct {
	Strategy     string  // mean, median, most_frequent or constant
	FillValue    float64 // used by strategy constant, unless FillCategory is set
	FillCategory string  // used by strategy constant for categorical columns
	Indicator    bool    // add columns that indicate missing values
}

// NewImpute returns the spec with strategy mean, and 0 for a constant.
func NewImpute() Impute { return Impute{Strategy: "mean"} }

// fillValue adapts the constant of an [Impute] to a parameter: a number, or the name of a category.
type fillValue struct {
	number   *float64
	category *string
}

func (f fillValue) Set(plain any) error {
	*f.number, *f.category = 0, ""
	switch v := plain.(type) {
	case string:
		if *f.category = v; v != "" {
			return nil
		}
	case int:
		*f.number = float64(v)
		return nil
	case float64:
		*f.number = v
		return f.Check()
	}
	return errors.New(f.Constraint())
}

func (f fillValue) Get() any {
	if *f.category != "" {
		return *f.category
	}
	return *f.number
}

func (f fillValue) Constraint() string { return "a number, or the name of a category" }

func (f fillValue) Check() error {
	if !finite(*f.number) {
		return errors.New(f.Constraint())
	}
	return nil
}

// Params declares strategy, fill and indicator.
func (s *Impute) Params(l *param.List) {
	l.Choice(&s.Strategy, "strategy", "replacement of missing values", "mean", "median", "most_frequent", "constant")
	l.Value(fillValue{&s.FillValue, &s.FillCategory}, "fill_value", "constant for strategy: constant; a number, or "+
		"the name of a category for categorical columns")
	l.Bool(&s.Indicator, "indicator", "whether to add an indicator column for each column with missing training "+
		"values")
}

// Fit learns the fill values.
func (s Impute) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "impute", s, data)
}

// FitSource is Fit over a source. It makes one pass, or several for medians.
func (s Impute) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the first pass. Only medians need more.
func (s Impute) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := checkSpec("impute", s); err != nil {
		return nil, err
	}
	for j := range cols {
		if err := s.checkColumn(schema, j); err != nil {
			return nil, err
		}
	}
	return beginPass(ctx, "impute", s, schema, cols, true, func() inputSums {
		out := &imputeSums{fill: noSums{}}
		if s.Indicator {
			out.missing = make([]int, cols)
		}
		switch s.Strategy {
		case "mean":
			out.fill = newMomentSums(cols)
		case "median":
			out.fill = newQuantiles([]float64{0.5}, schema, cols)
		case "most_frequent":
			out.fill = newFrequencies(schema, cols)
		}
		return out
	})
}

// Finish returns the fitted step.
func (s Impute) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	sums, in, err := lastSums[*imputeSums](ctx, "impute", s, last)
	if err != nil {
		return nil, err
	}
	f := &fittedImpute{fill: make([]float64, in.cols)}
	switch learned := sums.fill.(type) {
	case *momentSums:
		copy(f.fill, learned.total.Mean)
		err = allMissing(learned.total.Count, in.schema)
	case *quantiles:
		var medians [][]float64
		medians, err = learned.values()
		for j, q := range medians {
			f.fill[j] = q[0]
		}
	case *frequencies:
		var most []float64
		f.fill, most = learned.modes()
		err = allMissing(most, in.schema)
	default:
		s.constant(f, in.schema)
	}
	if err == nil && !allFinite(f.fill) {
		err = errors.New("what is to be put in is not a finite number")
	}
	if err != nil {
		return nil, fmt.Errorf("transformer: impute: %w", err)
	}
	for j, m := range sums.missing {
		if m > 0 {
			f.indicators = append(f.indicators, j)
		}
	}
	return f, nil
}

// checkColumn returns an error if the strategy does not support column j.
func (s Impute) checkColumn(schema datasets.Schema, j int) error {
	c := schema.Column(j)
	problem := ""
	switch categorical := c.Kind == datasets.Categorical; {
	case categorical && (s.Strategy == "mean" || s.Strategy == "median"):
		problem = "is categorical and has no " + s.Strategy + "; use most_frequent or constant, or select the numeric columns"
	case s.Strategy != "constant":
	case !categorical && s.FillCategory != "":
		problem = fmt.Sprintf("is numeric, and fill is the text %q", s.FillCategory)
	case categorical && s.FillCategory == "" && !isCode(s.FillValue, len(c.Categories)):
		problem = fmt.Sprintf("is categorical, and fill is %g; use the name of a category, or a code from 0 to %d",
			s.FillValue, len(c.Categories)-1)
	}
	if problem != "" {
		return fmt.Errorf("transformer: impute: column %s %s", schema.Name(j), problem)
	}
	return nil
}

func isCode(v float64, levels int) bool { return v == math.Trunc(v) && v >= 0 && v < float64(levels) }

// constant sets the fill value of each column to the constant.
func (s Impute) constant(f *fittedImpute, schema datasets.Schema) {
	f.level = s.FillCategory
	for j := range f.fill {
		f.fill[j] = s.FillValue
		if f.level == "" {
			continue
		}
		levels := schema.Column(j).Categories
		if code := slices.Index(levels, f.level); code >= 0 {
			f.fill[j] = float64(code)
		} else {
			f.fill[j] = float64(len(levels))
		}
	}
}

// imputeSums accumulates the statistics of the strategy and, for indicators, whether each column has
// missing values.
type imputeSums struct {
	fill    inputSums
	missing []int
}

func (f *imputeSums) add(ctx context.Context, first int, X mat.Matrix) error {
	if f.missing != nil {
		n, _ := X.Dims()
		for i := range n {
			eachMissing(X, i, func(j int) { f.missing[j] = 1 })
		}
	}
	return f.fill.add(ctx, first, X)
}

func (f *imputeSums) merge(other inputSums) error {
	o := other.(*imputeSums)
	for j, m := range o.missing {
		f.missing[j] = max(f.missing[j], m)
	}
	return f.fill.merge(o.fill)
}

func (f *imputeSums) next(ctx context.Context) (inputSums, error) {
	fill, err := f.fill.next(ctx)
	if err != nil || fill == nil {
		return nil, err
	}
	return &imputeSums{fill: fill, missing: slices.Clone(f.missing)}, nil
}

func (f *imputeSums) state(s *model.State) {
	if f.missing != nil {
		pass.Ints(s, "misses", &f.missing, len(f.missing), 0)
	}
	f.fill.state(s.Child("fill"))
}

// frequencies counts the distinct values of each column.
type frequencies struct {
	schema datasets.Schema
	counts []map[float64]float64
}

func newFrequencies(schema datasets.Schema, width int) *frequencies {
	f := &frequencies{schema: schema, counts: make([]map[float64]float64, width)}
	for j := range f.counts {
		f.counts[j] = map[float64]float64{}
	}
	return f
}

func (f *frequencies) add(_ context.Context, _ int, X mat.Matrix) error {
	design.EachEntry(X, func(j int, v, times float64) {
		if v != datasets.Unknown || f.schema.Column(j).Kind == datasets.Numeric {
			f.counts[j][v] += times
		}
	})
	return nil
}

func (f *frequencies) merge(other inputSums) error {
	for j, counts := range other.(*frequencies).counts {
		for v, n := range counts {
			f.counts[j][v] += n
		}
	}
	return nil
}

func (f *frequencies) next(context.Context) (inputSums, error) { return nil, nil }

// modes returns the most frequent value of each column, the smallest in case of ties, and its
// count.
func (f *frequencies) modes() (modes, counts []float64) {
	modes, counts = make([]float64, len(f.counts)), make([]float64, len(f.counts))
	for j := range f.counts {
		for v, n := range f.counts[j] {
			if n > counts[j] || n == counts[j] && v < modes[j] {
				modes[j], counts[j] = v, n
			}
		}
	}
	return modes, counts
}

func (f *frequencies) state(s *model.State) {
	lengths := make([]int, len(f.counts))
	var values, counts []float64
	for j, column := range f.counts {
		lengths[j] = len(column)
		for _, v := range slices.Sorted(maps.Keys(column)) {
			values, counts = append(values, v), append(counts, column[v])
		}
	}
	total := len(values)
	pass.Ints(s, "lengths", &lengths, len(f.counts), 0)
	s.Floats("values", &values)
	if s.Restoring() {
		total = len(values)
	}
	pass.Floats(s, "counts", &counts, total, pass.NonNegative)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	for j, n := range lengths {
		if n > len(values) {
			s.Fail("column %d has %d distinct values, the state %d more", j, n, len(values))
			return
		}
		f.counts[j] = make(map[float64]float64, n)
		for k, v := range values[:n] {
			s.Require(finite(v), "a value is not finite")
			f.counts[j][v] = counts[k]
		}
		values, counts = values[n:], counts[n:]
	}
	s.Require(len(values) == 0, "there are values of no column")
}

// eachMissing calls f for each missing column of row i, in ascending order.
func eachMissing(X mat.Matrix, i int, f func(j int)) {
	if m, ok := X.(*matrices.CSR); ok {
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

// fittedImpute is a fitted [Impute].
type fittedImpute struct {
	fill       []float64
	indicators []int  // columns with an indicator
	level      string // FillCategory, or ""
}

// Transform returns the rows of X without missing values, sparse where X is.
func (f *fittedImpute) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	m, ok := X.(*matrices.CSR)
	if !ok || m == nil {
		return transformDense(ctx, f, X)
	}
	if _, err := f.entries().check(X); err != nil {
		return nil, err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	_, shared := m.Shared()
	switch {
	case len(f.indicators) > 0:
		return f.withIndicators(ctx, m)
	case shared:
		return m, nil
	}
	return design.MapEntries(ctx, m, f.value)
}

// entries returns the map without the indicators.
func (f *fittedImpute) entries() entrywise {
	return perEntry("impute", len(f.fill), f)
}

func (f *fittedImpute) keepsZeros(datasets.Schema) error { return nil }

func (f *fittedImpute) value(j int, v float64) float64 {
	if v != v {
		return f.fill[j]
	}
	return v
}

// TransformTo writes the imputed rows of X to dst, including the zeros of sparse rows.
func (f *fittedImpute) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := f.entries().check(X)
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
			copy(to, design.Row(X, i, to[:d]))
			for k, j := range f.indicators {
				to[d+k] = 0
				if to[j] != to[j] {
					to[d+k] = 1
				}
			}
			for j, v := range to[:d] {
				to[j] = f.value(j, v)
			}
		}
	})
}

// withIndicators returns the imputed rows of m with the indicator columns.
func (f *fittedImpute) withIndicators(ctx context.Context, m *matrices.CSR) (mat.Matrix, error) {
	rows, d := m.Dims()
	shared, _ := m.Shared()
	indptr := make([]int, 1, rows+1)
	var indices []uint32
	values := []float64{}
	for i := range rows {
		if i%tileRows == 0 && ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		columns, entries := m.Row(i)
		for k, j := range columns {
			v := shared
			if entries != nil {
				v = entries[k]
			}
			indices, values = append(indices, j), append(values, f.value(int(j), v))
		}
		eachMissing(m, i, func(j int) {
			if k, ok := slices.BinarySearch(f.indicators, j); ok {
				indices, values = append(indices, uint32(d+k)), append(values, 1)
			}
		})
		indptr = append(indptr, len(indices))
	}
	return matrices.NewCSR(rows, f.OutputWidth(), indptr, indices, values)
}

// Export adds the imputed rows and the indicators to g.
func (f *fittedImpute) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	missing := g.IsNaN(rows)
	filled := g.Where(missing, g.Row(f.fill), rows)
	if len(f.indicators) == 0 {
		return filled, nil
	}
	return g.Concat(filled, g.Columns(missing, f.indicators)), nil
}

// Tags returns the number of input columns.
func (f *fittedImpute) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.fill)} }

// OutputWidth returns the number of columns, including indicators.
func (f *fittedImpute) OutputWidth() int { return len(f.fill) + len(f.indicators) }

// OutputSchema returns the input columns, followed by indicators named <column>_missing.
func (f *fittedImpute) OutputSchema(in datasets.Schema) datasets.Schema {
	columns := make([]datasets.Column, 0, f.OutputWidth())
	for j, fill := range f.fill {
		c := in.Column(j)
		if c.Kind == datasets.Categorical && f.level != "" && fill == float64(len(c.Categories)) {
			c.Categories = append(slices.Clip(c.Categories), f.level)
		}
		columns = append(columns, c)
	}
	for _, j := range f.indicators {
		columns = append(columns, encodedColumn(in, j, in.Name(j)+"_missing"))
	}
	return in.WithColumns(columns)
}

// Fill returns the fill value of each column.
func (f *fittedImpute) Fill() []float64 { return slices.Clone(f.fill) }

// State serializes the fitted parameters.
func (f *fittedImpute) State(s *model.State) {
	s.Floats("fill", &f.fill)
	s.Ints("indicators", &f.indicators)
	s.String("level", &f.level)
	s.Require(len(f.fill) > 0 && allFinite(f.fill), "fill is empty or not finite")
	s.Require(ascending(f.indicators, len(f.fill)), "indicators are not columns in ascending order")
}

// ascending reports whether the numbers strictly ascend within [0, end).
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

// Cost returns the cost of the passes that the strategy makes.
func (s Impute) Cost(shape datasets.Shape) datasets.Cost {
	c := scalerCost(summedFlops, shape)
	switch {
	case s.Strategy == "median":
		c = scalerCost(selectedFlops, shape)
		c.Bytes += planQuantiles(shape.Cols, 1).bytes(shape.Rows)
	case s.Strategy == "most_frequent":
		c = c.Scale(10)
	}
	if s.Indicator {
		c.OutputWidth, c.WidthEstimated = 2*shape.Cols, true // upper bound: every column has missing values
	}
	return c
}
