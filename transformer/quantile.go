package transformer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Quantile maps every column by the ranks of its training values to a uniform or normal
// distribution. The output is invariant under monotone transforms of an input, up to interpolation,
// as in decision trees.
//
//	uniform  y_j = F_j(x_j),        from 0 to 1
//	normal   y_j = Φ⁻¹(F_j(x_j)),   from −5.2 to 5.2
//
// F_j is the distribution function of the training values, interpolated linearly between quantiles:
// the m-th of M, for m = 0..M−1, has probability m/(M−1), with the linear interpolation of numpy,
// and F_j there is m/(M−1). M is Quantiles, or the number of training rows if that is smaller. At a
// value that equals several quantiles, F_j is the mean of the first and the last of their
// probabilities. F_j is 0 at the minimum training value and below, and 1 at the maximum and above.
// The argument of Φ⁻¹, the normal quantile function, is clipped to [10⁻⁷, 1 − 10⁻⁷].
//
// Shapes: n×d → n×d. Missing values are ignored and stay missing. A column with constant training
// values becomes 0, or −5.2. It is scikit-learn's QuantileTransformer, except that quantiles are
// exact and use all rows, not a sample of 10,000. For the normal distribution, scikit-learn also
// maps values within 10⁻⁷ of the minimum or the maximum, in the unit of the column, to the bounds.
//
// Zeros of sparse rows are values. Sparse rows stay sparse, which requires that zero maps to zero:
// the output is uniform and no column has a negative value. Fit returns an error otherwise.
//
// Cost: one pass over up to some ten thousand rows, three to five over more; at most 500 KB for a
// column and 64 MB in total, independent of the number of rows. Mapping takes log₂(M) comparisons
// for each entry. Fit returns an error for a categorical column, a column with missing values only,
// an infinite value, and no rows.
type Quantile struct {
	Quantiles int    // M
	Output    string // uniform or normal
}

const maxQuantiles = 1 << 16

// NewQuantile returns a Quantile with 1000 quantiles and uniform output.
func NewQuantile() Quantile { return Quantile{Quantiles: 1000, Output: "uniform"} }

// Params declares quantiles and output.
func (s *Quantile) Params(l *param.List) {
	l.Int(&s.Quantiles, "quantiles", "how many quantiles of a column are learned, at most the number of rows",
		param.Between(2, maxQuantiles))
	l.Choice(&s.Output, "output", "law that the outputs follow", "uniform", "normal")
}

// Fit learns the quantiles of the columns; it returns a [*FittedQuantile].
func (s Quantile) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "quantile", s, data)
}

// FitSource is Fit over a source; it makes several passes over many rows.
func (s Quantile) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return Learn(ctx, s, data)
}

// Start starts the counting pass; later passes select order statistics.
func (s Quantile) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginScaler(ctx, "quantile", s, schema, cols, func() inputSums {
		plan := planQuantiles(cols, s.Quantiles)
		plan.ofRows = s.probabilities
		return beginQuantiles(plan, schema)
	})
}

// probabilities returns the quantile levels for a number of rows, in NumPy's arithmetic, so that
// equal quantiles are equal.
func (s Quantile) probabilities(rows int) []float64 {
	out := make([]float64, min(s.Quantiles, max(rows, 1)))
	step := 1 / float64(max(1, len(out)-1))
	for k := range out {
		out[k] = float64(float64(k)*step*100) / 100
	}
	if last := len(out) - 1; last > 0 {
		out[last] = 1
	}
	return out
}

// Finish returns the [*FittedQuantile] computed in the last pass.
func (s Quantile) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	q, in, err := finished[*quantiles](ctx, "quantile", s, last)
	if err != nil {
		return nil, err
	}
	columns, err := q.values()
	if err != nil {
		return nil, fmt.Errorf("transformer: quantile: %w", err)
	}
	f := &FittedQuantile{normal: s.Output == "normal", quantiles: len(columns[0])}
	for _, list := range columns {
		f.columns = append(f.columns, newRanking(list))
	}
	if in.sparse {
		schema := in.schema
		f.zeros = &schema
		if err := f.keepsZeros(schema); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// FirstStage returns the spec with the output of [NewQuantile], because the quantiles do not depend
// on the output.
func (s Quantile) FirstStage() Fitter {
	s.Output = NewQuantile().Output
	return s
}

// FinishFit maps learned quantiles to the output distribution of the spec.
func (s Quantile) FinishFit(learned Transformer) (Transformer, error) {
	f, ok := learned.(*FittedQuantile)
	if !ok || f == nil {
		return nil, notLearned("quantile", learned)
	}
	if err := checkSpec("quantile", s); err != nil {
		return nil, err
	}
	derived := *f
	derived.normal = s.Output == "normal"
	if f.zeros != nil {
		if err := derived.keepsZeros(*f.zeros); err != nil {
			return nil, err
		}
	}
	return &derived, nil
}

// Cost returns the cost of some passes of selection, and of looking the quantiles up.
func (s Quantile) Cost(shape datasets.Shape) datasets.Cost {
	const searchFlops = 330 // cost of a quantile lookup, measured
	quantiles := min(s.Quantiles, max(shape.Rows, 1))
	look := searchFlops * math.Log2(float64(quantiles))
	c := scalerCost(selectedFlops+look, shape)
	c.CheapToRecompute = false
	c.Bytes += planQuantiles(shape.Cols, s.Quantiles).bytes(shape.Rows) + 24*int64(shape.Cols)*int64(quantiles)
	return c
}

// FittedQuantile is a fitted [Quantile].
type FittedQuantile struct {
	normal    bool
	quantiles int // of each column
	columns   []ranking
	zeros     *datasets.Schema // schema of sparse training rows, which must stay sparse; not serialized
}

// ranking is the quantiles of a column: different values, ascending, and how many quantiles are equal to
// each.
type ranking struct {
	values []float64
	equal  []int
	below  []float64 // F when a value is approached from below, and from above
	above  []float64
}

// newRanking makes one of the quantiles of a column.
func newRanking(quantiles []float64) (r ranking) {
	for _, v := range quantiles {
		last := len(r.values) - 1
		if last >= 0 && v <= r.values[last] { // rounding error may exceed the next quantile
			r.equal[last]++
			continue
		}
		r.values, r.equal = append(r.values, v), append(r.equal, 1)
	}
	r.number()
	return r
}

// number finds the probabilities of the values.
func (r *ranking) number() {
	total, before := 0, 0
	for _, n := range r.equal {
		total += n
	}
	step := 1 / float64(max(1, total-1))
	at := func(k int) float64 {
		if k == total-1 {
			return 1
		}
		return float64(k) * step
	}
	r.below, r.above = make([]float64, len(r.equal)), make([]float64, len(r.equal))
	for k, n := range r.equal {
		r.below[k], r.above[k] = at(before), at(before+n-1)
		before += n
	}
}

// share returns F of x.
func (r *ranking) share(x float64) float64 {
	last := len(r.values) - 1
	switch {
	case x != x:
		return x
	case x <= r.values[0]:
		return 0
	case x >= r.values[last]:
		return 1
	}
	low, high := 0, last // values[low] < x ≤ values[high]
	for high-low > 1 {
		if middle := (low + high) / 2; r.values[middle] < x {
			low = middle
		} else {
			high = middle
		}
	}
	a, b := r.values[low], r.values[high]
	if x == b {
		return (r.below[high] + r.above[high]) / 2
	}
	t := (x - a) / (b - a)
	if gap := b - a; math.IsInf(gap, 0) {
		t = (x/2 - a/2) / (b/2 - a/2)
	}
	return r.above[low] + float64((r.below[high]-r.above[low])*t)
}

// minShare is the minimum distance of the argument of the normal quantile function from 0 and 1.
const minShare = 1e-7 - 0x1p-52

func (f *FittedQuantile) value(j int, x float64) float64 {
	p := f.columns[j].share(x)
	if f.normal && p == p {
		return mathext.NormalQuantile(min(max(p, minShare), 1-minShare))
	}
	return p
}

// keepsZeros reports a column in which zero does not become zero.
func (f *FittedQuantile) keepsZeros(schema datasets.Schema) error {
	hint := ""
	if f.normal {
		hint = ", or set output: uniform where no value is negative"
	}
	return keepsZeros("quantile", len(f.columns), f, schema, hint)
}

// Transform returns the mapped rows of X, sparse where X is.
func (f *FittedQuantile) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return f.entries().Transform(ctx, X)
}

// TransformTo writes the mapped rows of X into dst, the zeros of sparse rows too.
func (f *FittedQuantile) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	return f.entries().TransformTo(ctx, dst, X)
}

func (f *FittedQuantile) entries() entrywise {
	return perEntry("quantile", len(f.columns), f)
}

// InputWidth returns the number of input columns.
func (f *FittedQuantile) InputWidth() int { return len(f.columns) }

// OutputWidth returns the number of columns, which equals that of the input.
func (f *FittedQuantile) OutputWidth() int { return len(f.columns) }

// OutputSchema returns the names of the columns, all numeric.
func (f *FittedQuantile) OutputSchema(in datasets.Schema) datasets.Schema { return asNumeric(in) }

// Quantiles returns the quantiles of a column, ascending; the m-th of M has probability m/(M−1), m
// = 0..M−1.
func (f *FittedQuantile) Quantiles(column int) []float64 {
	out := make([]float64, 0, f.quantiles)
	r := f.columns[column]
	for k, v := range r.values {
		out = append(out, slices.Repeat([]float64{v}, r.equal[k])...)
	}
	return out
}

// State serializes the fitted parameters.
func (f *FittedQuantile) State(s *model.State) {
	var values []float64
	var equal, lengths []int
	for _, r := range f.columns {
		values, equal, lengths = append(values, r.values...), append(equal, r.equal...), append(lengths, len(r.values))
	}
	s.Bool("normal", &f.normal)
	s.Int("quantiles", &f.quantiles)
	s.Ints("lengths", &lengths)
	s.Floats("values", &values)
	pass.Ints(s, "equal", &equal, len(values), 1)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(len(lengths) > 0 && f.quantiles >= 1 && f.quantiles <= maxQuantiles, "there are no columns, or no quantiles")
	f.columns = nil
	for _, n := range lengths {
		if n < 1 || n > len(values) {
			s.Fail("a column has %d values, the state %d more", n, len(values))
			return
		}
		r := ranking{values: values[:n:n], equal: equal[:n:n]}
		total := 0
		for k, v := range r.values {
			s.Require(finite(v) && (k == 0 || v > r.values[k-1]), "the values of a column do not ascend, or are not finite")
			s.Require(r.equal[k] <= f.quantiles-total, "a column has more quantiles than there are")
			total += min(r.equal[k], f.quantiles)
		}
		s.Require(total == f.quantiles, "a column has fewer quantiles than there are")
		r.number()
		f.columns = append(f.columns, r)
		values, equal = values[n:], equal[n:]
	}
	s.Require(len(values) == 0, "there are values of no column")
}
