package transformer

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// AdditiveChi2 maps rows of inputs ≥ 0, such as histograms, to features whose inner products
// approximate the additive chi-squared kernel
//
//	k(x, y) = Σ_j 2·x_j·y_j/(x_j + y_j).
//
// The kernel of one input is sqrt(xy) times a function of log x − log y, whose Fourier transform is
// sampled at s frequencies, L apart:
//
//	z_j(x) = sqrt(x_j·L),   sqrt(2·x_j·L/cosh(πkL))·[cos(kL·log x_j), sin(kL·log x_j)],   k = 1, …, s − 1
//
// With the default interval, 1, 2 or 3 steps reach about 0.8, 0.9 or 0.95 of the kernel of equal
// rows; more and closer frequencies approach the kernel. The map has no randomness. Its columns are
// the first feature of all inputs, then the cosines of all inputs for k = 1, then the sines, and so
// on. A zero is mapped to zeros.
//
// Shapes: n×d → n×d·(2s−1), sparse if the rows are. Cost: a logarithm and s − 1 sines and cosines for
// each input that is not 0.
//
// Source: Vedaldi and Zisserman, "Efficient additive kernels via explicit feature maps", IEEE TPAMI
// 2012. It is scikit-learn's AdditiveChi2Sampler.
//
// Fit returns an error for a categorical column, a missing or infinite value and no rows; Transform
// for a value below 0. Use [NewAdditiveChi2]: the zero value is invalid.
type AdditiveChi2 struct {
	Steps    int     // s
	Interval float64 // L; 0 is 0.8, 0.5 or 0.4 for 1, 2 or 3 steps
}

// NewAdditiveChi2 returns the spec of two steps.
func NewAdditiveChi2() AdditiveChi2 { return AdditiveChi2{Steps: 2} }

// chi2Intervals are the recommended intervals for 1, 2 and 3 steps.
var chi2Intervals = []float64{0.8, 0.5, 0.4}

// Params declares steps and interval.
func (s *AdditiveChi2) Params(l *param.List) {
	l.Int(&s.Steps, "steps", "number of sampled frequencies s; an input has 2s-1 features", param.Between(1, 1000))
	l.Float(&s.Interval, "interval", "spacing of the sampled frequencies; 0 selects a known optimum, for up to 3 "+
		"steps",
		param.AtLeast(0))
	l.Check("interval", func() error {
		if s.Interval == 0 && s.Steps > len(chi2Intervals) {
			return errors.New("a number > 0 for more than 3 steps")
		}
		return nil
	})
}

// Tags returns that only the number of columns is learned.
func (AdditiveChi2) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: true, SparseInvariant: true}
}

// Fit learns the number of columns.
func (s AdditiveChi2) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitFinite(ctx, "additive_chi2", s, data)
}

// FitSource is Fit over a source, which it does not read.
func (s AdditiveChi2) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("additive_chi2", s, data.Schema()); err != nil {
		return nil, err
	}
	width, err := widthOf(ctx, "additive_chi2", data)
	if err != nil {
		return nil, err
	}
	if s.Interval == 0 {
		s.Interval = chi2Intervals[s.Steps-1]
	}
	return &fittedAdditiveChi2{width: width, steps: s.Steps, interval: s.Interval}, nil
}

// Cost returns the cost of mapping the rows and the memory of the features.
func (s AdditiveChi2) Cost(shape datasets.Shape) datasets.Cost {
	const wave = 40
	terms := float64(2*s.Steps - 1)
	return datasets.Cost{Flops: wave * float64(shape.Rows) * shape.Entries() * terms,
		Bytes:       int64(8 * float64(shape.RowsInMemory()) * shape.Entries() * terms),
		OutputWidth: int(terms) * shape.Cols, NonZeros: shape.NonZeros * terms}
}

// fittedAdditiveChi2 is a fitted [AdditiveChi2].
type fittedAdditiveChi2 struct {
	width, steps int
	interval     float64
}

// terms writes the features of an input ≥ 0 to dst.
func (f *fittedAdditiveChi2) terms(dst []float64, x float64) {
	if x == 0 {
		clear(dst)
		return
	}
	dst[0] = math.Sqrt(x * f.interval)
	log := math.Log(x)
	for k := 1; k < f.steps; k++ {
		sin, cos := math.Sincos(float64(k) * f.interval * log)
		factor := f.amplitude(k) * math.Sqrt(x)
		dst[2*k-1], dst[2*k] = factor*cos, factor*sin
	}
}

// amplitude returns sqrt(2L/cosh(πkL)).
func (f *fittedAdditiveChi2) amplitude(k int) float64 {
	return math.Sqrt(2 * f.interval / math.Cosh(math.Pi*float64(k)*f.interval))
}

// check returns X as a *mat.Dense or *matrices.CSR of inputs ≥ 0.
func (f *fittedAdditiveChi2) check(X mat.Matrix) (mat.Matrix, error) {
	X, err := checkRows("additive_chi2", X, f.width)
	if err != nil {
		return nil, err
	}
	limit := math.MaxFloat64 / max(1, f.interval)
	if err := checkEntries("additive_chi2", X, datasets.Schema{}, 0, limit, false); err != nil {
		return nil, err
	}
	return X, checkLow("additive_chi2", X, "must be ≥ 0", func(v float64) bool { return v < 0 })
}

// Transform returns the features of the rows of X, sparse where X is.
func (f *fittedAdditiveChi2) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	m, ok := X.(*matrices.CSR)
	if !ok || m == nil {
		return transformDense(ctx, f, X)
	}
	if _, err := f.check(X); err != nil {
		return nil, err
	}
	n, d := m.Dims()
	terms := make([]float64, 2*f.steps-1)
	indptr := make([]int, 1, n+1)
	indices := make([]uint32, 0, m.NNZ()*len(terms))
	values := make([]float64, m.NNZ()*len(terms))
	for i := range n {
		if i%tileRows == 0 && ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		columns, own := m.Row(i)
		to := values[len(indices):]
		for t := range terms {
			for _, j := range columns {
				indices = append(indices, uint32(t*d)+j)
			}
		}
		for k := range columns {
			x, _ := m.Shared()
			if own != nil {
				x = own[k]
			}
			f.terms(terms, x)
			for t, v := range terms {
				to[t*len(columns)+k] = v
			}
		}
		indptr = append(indptr, len(indices))
	}
	return matrices.NewCSR(n, f.OutputWidth(), indptr, indices, values)
}

// TransformTo writes the features of the rows of X into dst.
func (f *fittedAdditiveChi2) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := f.check(X)
	if err != nil {
		return err
	}
	n, d := X.Dims()
	if err := checkTile("additive_chi2", dst, n, f.OutputWidth()); err != nil {
		return err
	}
	kern.Parallel(n, 64, func(lo, hi int) {
		terms, buffer := make([]float64, 2*f.steps-1), make([]float64, d)
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			to := dst.RawRowView(i)
			for j, x := range design.Row(X, i, buffer) {
				f.terms(terms, x)
				for t, v := range terms {
					to[t*d+j] = v
				}
			}
		}
	})
	return ctxerr.Check(ctx)
}

// Export adds to g the features of the rows.
func (f *fittedAdditiveChi2) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	root := g.Sqrt(rows)
	log := g.Log(g.Where(g.Less(g.Scalar(0), rows), rows, g.Scalar(1))) // finite for 0, whose root is 0
	parts := []graph.Value{g.Mul(root, g.Scalar(math.Sqrt(f.interval)))}
	for k := 1; k < f.steps; k++ {
		angles, scaled := g.Mul(log, g.Scalar(float64(k)*f.interval)), g.Mul(root, g.Scalar(f.amplitude(k)))
		parts = append(parts, g.Mul(scaled, g.Cos(angles)), g.Mul(scaled, g.Sin(angles)))
	}
	return g.Concat(parts...), nil
}

// Tags returns the number of input columns.
func (f *fittedAdditiveChi2) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.width} }

// OutputWidth returns d·(2s−1).
func (f *fittedAdditiveChi2) OutputWidth() int { return f.width * (2*f.steps - 1) }

// OutputSchema returns a schema of numeric columns without names.
func (f *fittedAdditiveChi2) OutputSchema(in datasets.Schema) datasets.Schema {
	return in.WithColumns(nil)
}

// State serializes the fitted parameters.
func (f *fittedAdditiveChi2) State(s *model.State) {
	s.Count("width", &f.width)
	s.Int("steps", &f.steps)
	s.Float("interval", &f.interval)
	s.Require(f.width > 0 && f.width < maxFeatures && f.steps > 0 && f.steps <= 1000, "there are no columns or steps")
	s.Require(param.Positive().Contains(f.interval), "the interval is not a number above 0")
}
