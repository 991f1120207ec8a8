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

// Quantile maps every column to a uniform or normal distribution by the ranks of its training
// values. The output is invariant under strictly increasing transformations of an input up to
// interpolation, like the predictions of decision trees.
//
//	uniform  y_j = F_j(x_j),        from 0 to 1
//	normal   y_j = Φ⁻¹(F_j(x_j)),   from −5.2 to 5.2
//
// F_j is the empirical distribution function of the training values, interpolated linearly between
// M quantiles. Quantile m = 0..M−1 has probability m/(M−1) and is interpolated as by numpy's linear
// method. M is the minimum of Quantiles and the number of training rows. Where several quantiles
// are equal, F_j is the mean of their first and last probability. F_j is 0 up to the smallest
// training value and 1 from the largest one on. Φ⁻¹ is the normal quantile function; its argument
// is clipped to a distance of 10⁻⁷ from 0 and 1.
//
// Shapes: n×d → n×d. Missing values are ignored and stay missing. A column that is constant in
// training becomes 0, or −5.2. It is scikit-learn's QuantileTransformer with two differences.
// Quantiles are exact, where scikit-learn samples 10,000 rows. With normal output, scikit-learn
// also maps values within 10⁻⁷ of the minimum or maximum, in the unit of the column, to the ends.
//
// Zeros of sparse rows are values. Sparse rows stay sparse; this requires uniform output and no
// negative values in any column. Fit returns an error otherwise.
//
// Cost: one pass over up to ten thousand rows, three to five over more. Memory is 500 KB per
// column, at most 64 MB, for any number of rows. Mapping makes log₂(M) comparisons per entry. Fit
// returns an error for a categorical column, a column without values, an infinite value, and no
// rows. Use [NewQuantile]: the zero value is invalid.
type Quantile struct {
	Quantiles int    // M
	Output    string // uniform or normal
}

const maxQuantiles = 1 << 16

// NewQuantile returns the spec with 1000 quantiles and uniform output.
func NewQuantile() Quantile { return Quantile{Quantiles: 1000, Output: "uniform"} }

// Params declares quantiles and output.
func (s *Quantile) Params(l *param.List) {
	l.Int(&s.Quantiles, "quantiles", "number of quantiles per column, at most the number of rows",
		param.Between(2, maxQuantiles))
	l.Choice(&s.Output, "output", "distribution of the outputs", "uniform", "normal")
}

// Fit learns the quantiles of the columns.
func (s Quantile) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "quantile", s, data)
}

// FitSource is Fit over a source. It makes several passes if there are many rows.
func (s Quantile) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the first pass, which counts; the later ones select.
func (s Quantile) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginScaler(ctx, "quantile", s, schema, cols, func() inputSums {
		plan := planQuantiles(cols, s.Quantiles)
		plan.probabilities = s.probabilities
		return beginQuantiles(plan, schema)
	})
}

// probabilities returns the probabilities of the quantiles for a number of rows. It reproduces
// numpy's arithmetic, so that quantiles equal in numpy are equal here.
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

// Finish returns the fitted step.
func (s Quantile) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	q, in, err := lastSums[*quantiles](ctx, "quantile", s, last)
	if err != nil {
		return nil, err
	}
	columns, err := q.values()
	if err != nil {
		return nil, fmt.Errorf("transformer: quantile: %w", err)
	}
	f := &fittedQuantile{normal: s.Output == "normal", quantiles: len(columns[0])}
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

// FirstStage returns the spec with the output of [NewQuantile]. Both outputs use the same
// quantiles.
func (s Quantile) FirstStage() Fitter {
	s.Output = NewQuantile().Output
	return s
}

// FinishFit sets the output distribution of learned quantiles.
func (s Quantile) FinishFit(learned Transformer) (Transformer, error) {
	f, ok := learned.(*fittedQuantile)
	if !ok || f == nil {
		return nil, errFirstStage("quantile", learned)
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

// Cost returns the cost of the selection passes and of the lookups.
func (s Quantile) Cost(shape datasets.Shape) datasets.Cost {
	const searchFlops = 330 // measured, per lookup
	quantiles := min(s.Quantiles, max(shape.Rows, 1))
	look := searchFlops * math.Log2(float64(quantiles))
	c := scalerCost(selectedFlops+look, shape)
	c.CheapToRecompute = false
	c.Bytes += planQuantiles(shape.Cols, s.Quantiles).bytes(shape.Rows) + 24*int64(shape.Cols)*int64(quantiles)
	return c
}

// fittedQuantile is a fitted [Quantile].
type fittedQuantile struct {
	normal    bool
	quantiles int // number of quantiles per column
	columns   []ranking
	zeros     *datasets.Schema // non-nil if training rows were sparse, so zeros must be preserved; not serialized
}

// ranking is the interpolated distribution function F of a column: its distinct quantiles in
// ascending order, their multiplicities, and their probabilities.
type ranking struct {
	values []float64
	equal  []int
	below  []float64 // limits of F from below and from above
	above  []float64
}

// newRanking returns the ranking of a column with the given quantiles.
func newRanking(quantiles []float64) (r ranking) {
	for _, v := range quantiles {
		last := len(r.values) - 1
		if last >= 0 && v <= r.values[last] { // rounding may break the order in the last digit
			r.equal[last]++
			continue
		}
		r.values, r.equal = append(r.values, v), append(r.equal, 1)
	}
	r.setProbabilities()
	return r
}

// setProbabilities computes below and above.
func (r *ranking) setProbabilities() {
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

// distribution returns F(x), or NaN if x is NaN.
func (r *ranking) distribution(x float64) float64 {
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

// minShare is the minimum argument of the normal quantile function; the maximum is 1 − minShare.
const minShare = 1e-7 - 0x1p-52

func (f *fittedQuantile) value(j int, x float64) float64 {
	p := f.columns[j].distribution(x)
	if f.normal && p == p {
		return mathext.NormalQuantile(min(max(p, minShare), 1-minShare))
	}
	return p
}

// keepsZeros returns an error that names a column in which zero is not mapped to zero.
func (f *fittedQuantile) keepsZeros(schema datasets.Schema) error {
	hint := ""
	if f.normal {
		hint = ", or set output: uniform where no value is negative"
	}
	return keepsZeros("quantile", len(f.columns), f, schema, hint)
}

// Transform returns the mapped rows of X, sparse where X is.
func (f *fittedQuantile) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return f.entries().Transform(ctx, X)
}

// TransformTo writes the mapped rows of X to dst, including the zeros of sparse rows.
func (f *fittedQuantile) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	return f.entries().TransformTo(ctx, dst, X)
}

func (f *fittedQuantile) entries() entrywise {
	return perEntry("quantile", len(f.columns), f)
}

// Tags returns the number of input columns.
func (f *fittedQuantile) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.columns)} }

// OutputWidth returns the number of columns, which equals that of the input.
func (f *fittedQuantile) OutputWidth() int { return len(f.columns) }

// OutputSchema returns the input columns as numeric columns.
func (f *fittedQuantile) OutputSchema(in datasets.Schema) datasets.Schema { return asNumeric(in) }

// Quantiles returns the M quantiles of a column, ascending; element m has probability m/(M−1).
func (f *fittedQuantile) Quantiles(column int) []float64 {
	out := make([]float64, 0, f.quantiles)
	r := f.columns[column]
	for k, v := range r.values {
		out = append(out, slices.Repeat([]float64{v}, r.equal[k])...)
	}
	return out
}

// State serializes the fitted parameters.
func (f *fittedQuantile) State(s *model.State) {
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
		r.setProbabilities()
		f.columns = append(f.columns, r)
		values, equal = values[n:], equal[n:]
	}
	s.Require(len(values) == 0, "there are values of no column")
}
