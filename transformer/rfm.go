package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/sample"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer/internal/agop"
)

// RFM learns a linear map that stretches the inputs along the directions in which the targets vary,
// and shrinks the other directions (recursive feature machine):
//
//	y = c·x·M^power,  M = 1/n Σ_i Σ_c ∇f_c(x_i)·∇f_c(x_i)'
//
// M is the average gradient outer product of a kernel machine f. f is fitted to the inputs, then to
// the inputs mapped by its own M, and so on for Rounds rounds. Downstream steps that depend on
// distances only, such as [RFF], benefit from the map.
//
// f is a kernel ridge regression with the exact kernel (Solve exact) or with random Fourier
// features (Solve features). The latter requires a smooth kernel: gradients of features of
// exponential, laplacian and cauchy are mostly noise. RFM samples at most Rows rows, stratified by
// class. If the sample exceeds Part, exact machines are fitted to parts of it, and M is the mean
// over the parts. One row in five, at most 2000, is held out. In each round, the map, penalty and
// kernel width with the smallest held-out error are selected; the rounds stop when the held-out
// error grows or hardly decreases. If no round improves it, the map is a plain scaling. Classes are
// coded as ±1, with one output for two classes; numeric targets are standardized. Sample weights
// are ignored, except that rows of weight 0 are excluded.
//
// The factor c is chosen such that γ = 1 of the same kernel after the map gives the kernel of the
// machine. Its width, in median distances of mapped rows, is selected by validation. With power ½, the usual
// one, (x−y)'M(x−y) is the squared distance in the kernel. Power ¼ is more conservative; 0 selects
// the better one in each round.
//
// A full M yields dense outputs; the map by the diagonal of M is used if its held-out error is
// smaller. Diagonal learns one scale per input and preserves sparsity. Standardize the inputs first
// ([Standardize] or [Quantile]).
//
// Shapes: n×d → n×d. Cost of a round for n sampled rows in parts of p: about n·p²/3 flops in
// float32 and 4p² bytes with the exact kernel, or n·D² flops with D features; 9·d³ flops if M is
// full, which is limited to 4096 inputs. Mapping costs 2·d² flops per row, or d if M is diagonal.
//
// Sources: Radhakrishnan, Beaglehole, Pandit and Belkin, Science 383, 2024; Beaglehole, Holzmüller,
// Radhakrishnan and Belkin, arXiv 2508.10053, 2025.
//
// Fit returns an error for no targets, a missing target, constant targets, fewer than 10 rows, a
// categorical column, a missing or infinite value, and too many inputs for a full M.
// Use [NewRFM]: the zero value is invalid.
type RFM struct {
	Kernel   kernel.Name // kernel of the machine, any kernel of [RFF]
	Rounds   int         // maximum number of rounds
	Diagonal bool        // learn a scale per input instead of a full matrix
	Power    float64     // power of M; 0 selects ½ or ¼
	Solve    string      // exact or features
	Features int         // D, with Solve features
	Rows     int         // maximum size of the sample
	Part     int         // maximum number of rows of an exact machine
	Nu       float64     // ν of the matern kernel
	Shape    float64     // a of the rational_quadratic kernel
	Seed     uint64
}

// NewRFM returns the spec of a full map with the exponential kernel and at most 4 rounds.
func NewRFM() RFM {
	return RFM{Kernel: "exponential", Rounds: 4, Solve: "exact", Features: 1000, Rows: 20000,
		Part: 10000, Nu: 1.5, Shape: 1}
}

// maxDirections is the maximum number of inputs of a full map.
const maxDirections = 4096

// minLearned is the minimum number of rows.
const minLearned = 10

// Params declares kernel, rounds, diagonal, power, solve, features, rows, part, nu, alpha and seed.
func (s *RFM) Params(l *param.List) {
	l.Choice((*string)(&s.Kernel), "kernel", "kernel of the inner kernel ridge regression",
		spectral.FourierKernels...)
	l.Int(&s.Rounds, "rounds", "maximum number of rounds; each fits the regression "+
		"and updates the map", param.Between(1, 100))
	l.Bool(&s.Diagonal, "diagonal",
		"whether to learn one scale per input instead of a full matrix; sparse rows then stay sparse")
	l.Float(&s.Power, "power", "exponent of the matrix M that multiplies the inputs; 0 selects it by validation",
		param.AtLeast(0))
	l.Choice(&s.Solve, "solve",
		"inner regression: exact kernel, or random Fourier features", "exact", "features")
	l.Int(&s.Features, "features", "number of features with solve: features", param.Between(2, maxFeatures))
	l.MoreUnits("features")
	l.Int(&s.Rows, "rows", "maximum number of sampled training rows", param.Between(minLearned, math.MaxInt32))
	l.Int(&s.Part, "part", "maximum number of rows of an exact kernel matrix; more rows are divided into several",
		param.Between(minLearned, math.MaxInt32))
	l.Float(&s.Nu, "nu", "smoothness ν of the matern kernel", param.Positive())
	l.Float(&s.Shape, "shape", "shape of the rational_quadratic kernel", param.Positive())
	l.Seed(&s.Seed, "seed", "seed of the order of the rows and of the features")
}

// Fit learns the map; it returns a [*FittedRFM].
func (s RFM) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "rfm", s, data)
}

// FitSource is Fit over a source. It makes three passes to check and sample the rows.
func (s RFM) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	schema := data.Schema()
	if err := checkNumericSpec("rfm", s, schema); err != nil {
		return nil, err
	}
	if _, cols := data.Dims(); !s.Diagonal && cols > maxDirections {
		return nil, fmt.Errorf("transformer: rfm: a full map of %d columns, at most %d are possible; set diagonal: true, "+
			"or put pca before", cols, maxDirections)
	}
	rows, err := sample.Take(ctx, sampleSource("rfm", data), s.Rows, s.Seed)
	if err != nil {
		return nil, err
	}
	learned, err := s.learn(ctx, rows)
	if err != nil {
		return nil, wrapError(ctx, "rfm", err)
	}
	f := &FittedRFM{matrix: learned.Map, outer: learned.Products, errors: learned.Errors, round: learned.Round}
	if !allFinite(f.matrix.RawMatrix().Data, f.outer.RawMatrix().Data) {
		return nil, errors.New("transformer: rfm: the map is not finite; scale inputs and targets before")
	}
	return f, nil
}

// Sample returns the indices of the rows that Fit samples, at most Rows.
func (s RFM) Sample(ctx context.Context, data datasets.Source) ([]int, error) {
	if err := checkSpec("rfm", s); err != nil {
		return nil, err
	}
	return sample.Rows(ctx, sampleSource("rfm", data), s.Rows, s.Seed)
}

// learn learns the map from a sample.
func (s RFM) learn(ctx context.Context, drawn sample.Sample) (*agop.Result, error) {
	n, d := drawn.X.Dims()
	if n < minLearned {
		return nil, fmt.Errorf("number of rows must be %[2]d or more, got %[1]d", n, minLearned)
	}
	if err := memory.Check(5 * 8 * int64(n) * int64(d)); err != nil {
		return nil, fmt.Errorf("%d rows of %d columns: %w; set rows lower", n, d, err)
	}
	if m, ok := drawn.X.(*matrices.CSR); ok {
		drawn.X = m.Dense()
	}
	_, outputs := drawn.Y.Dims()
	rows := agop.Rows{X: drawn.X.(*mat.Dense), Y: kern.Dense(n, outputs, outputs, design.DenseData(drawn.Y)),
		Held: heldOut(n)}
	return agop.Learn(ctx, s.options(), rows)
}

// options returns the options of package agop.
func (s RFM) options() agop.Options {
	k, _ := pairwise.NewKernel(string(s.Kernel), spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	o := agop.Options{Kernel: k, Power: s.Power, Rounds: s.Rounds, Diagonal: s.Diagonal,
		Part: s.Part, Seed: s.Seed}
	if s.Solve == "features" {
		o.Features = s.Features
	}
	return o
}

// heldOut returns the number of held-out rows of n.
func heldOut(n int) int { return min(n/5, 2000) }

// Requirements declares complete numeric columns, and targets.
func (RFM) Requirements() []datasets.Requirement { return withTargets }

// InferOutput returns complete numeric columns.
func (RFM) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Cost returns the cost of the maximum number of rounds and of mapping the rows.
func (s RFM) Cost(shape datasets.Shape) datasets.Cost {
	n, d := min(shape.Rows, s.Rows), float64(shape.Cols)
	flops, bytes := s.options().Cost(float64(n), float64(heldOut(n)), d, float64(max(shape.Outputs, 1)))
	c := datasets.Cost{OutputWidth: shape.Cols, Passes: 3}
	if s.Diagonal {
		c.Flops, c.NonZeros = flops+shape.Entries()*float64(shape.Rows), shape.NonZeros
		c.Bytes = int64(bytes + 8*float64(shape.RowsInMemory())*shape.Entries())
		return c
	}
	c.Flops, c.Bytes = flops+2*d*d*float64(shape.Rows), int64(bytes+8*float64(shape.RowsInMemory())*d)
	return c
}

// FittedRFM is a fitted [RFM].
type FittedRFM struct {
	matrix *mat.Dense // d×d and symmetric, or d×1 if diagonal
	outer  *mat.Dense // M with trace 1, d×d, or its diagonal, d×1
	errors []float64  // held-out error of each round
	round  int        // selected round, 0 for none
}

// diagonal returns the scales of a diagonal map, or nil if the map is full.
func (f *FittedRFM) diagonal() []float64 {
	if d, k := f.matrix.Dims(); k == 1 {
		return f.matrix.RawMatrix().Data[:d]
	}
	return nil
}

// Transform returns the mapped rows of X. A diagonal map preserves sparsity.
func (f *FittedRFM) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if scales := f.diagonal(); scales != nil {
		return products("rfm", &scales, math.MaxFloat64/4, false).Transform(ctx, X)
	}
	return transformDense(ctx, f, X)
}

// limit returns the largest magnitude of an input for which all outputs are finite.
func (f *FittedRFM) limit() float64 {
	reach := 1.0
	for i := range f.InputWidth() {
		sum := 0.0
		for _, v := range f.matrix.RawRowView(i) {
			sum += math.Abs(v)
		}
		reach = max(reach, sum)
	}
	return math.MaxFloat64 / 4 / reach
}

// TransformTo writes the mapped rows of X to dst.
func (f *FittedRFM) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	if scales := f.diagonal(); scales != nil {
		return products("rfm", &scales, math.MaxFloat64/4, false).TransformTo(ctx, dst, X)
	}
	X, err := checkMap("rfm", X, f.InputWidth(), f.limit(), dst, f.OutputWidth())
	if err != nil {
		return err
	}
	n, d := X.Dims()
	to := design.View(dst)
	return eachTile(ctx, n, func(lo, hi int) {
		tile := to.Slice(lo, hi, 0, d)
		if x, ok := X.(*matrices.CSR); ok {
			part := rowblock.Slice(x, lo, hi).(*matrices.CSR)
			kern.SparseMul(tile, design.SparseView(part), design.View(f.matrix), false)
			return
		}
		kern.Mul(tile, design.View(X.(*mat.Dense)).Slice(lo, hi, 0, d), design.View(f.matrix), false)
	})
}

// Export adds the mapped rows to g.
func (f *FittedRFM) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	if scales := f.diagonal(); scales != nil {
		return g.Mul(rows, g.Row(scales)), nil
	}
	return g.MatMul(rows, g.Matrix(f.matrix)), nil
}

// InputWidth returns the number of input columns.
func (f *FittedRFM) InputWidth() int { d, _ := f.matrix.Dims(); return d }

// Tags returns the number of input columns and their relevance.
func (f *FittedRFM) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: f.InputWidth(), Relevance: f.Relevance()}
}

// OutputWidth returns the number of columns, which equals that of the input.
func (f *FittedRFM) OutputWidth() int { return f.InputWidth() }

// OutputSchema returns the input columns if the map is diagonal, else columns named rfm0, rfm1, ….
func (f *FittedRFM) OutputSchema(in datasets.Schema) datasets.Schema {
	if f.diagonal() != nil {
		return asNumeric(in)
	}
	return in.WithColumns(numbered("rfm", f.OutputWidth()))
}

// Matrix returns a copy of the d×d matrix that rows are multiplied by.
func (f *FittedRFM) Matrix() *mat.Dense { return filled(f.matrix) }

// Outer returns M, d×d with trace 1, the average gradient outer product of the selected round in
// the coordinates of the inputs. If no round was selected, it is that of the first machine.
func (f *FittedRFM) Outer() *mat.Dense { return filled(f.outer) }

// filled returns a copy of a d×d matrix, or the diagonal matrix of a d×1 one.
func filled(m *mat.Dense) *mat.Dense {
	d, k := m.Dims()
	if k == d {
		return mat.DenseCopyOf(m)
	}
	out := mat.NewDense(d, d, nil)
	for j := range d {
		out.Set(j, j, m.At(j, 0))
	}
	return out
}

// Round returns the index of the selected round, 0 if none improved the error without a map.
func (f *FittedRFM) Round() int { return f.round }

// Errors returns the held-out mean squared errors, first without a map, then of each round. Numeric
// targets have variance 1.
func (f *FittedRFM) Errors() []float64 { return slices.Clone(f.errors) }

// Relevance returns the square root of M's diagonal, divided by its largest element.
func (f *FittedRFM) Relevance() []float64 {
	d, k := f.outer.Dims()
	out := make([]float64, d)
	for j := range out {
		out[j] = math.Sqrt(max(f.outer.At(j, min(j, k-1)), 0))
	}
	if largest := slices.Max(out); largest > 0 {
		kern.Scale(1/largest, out)
	}
	return out
}

// State serializes the fitted parameters.
func (f *FittedRFM) State(s *model.State) {
	s.Matrix("matrix", &f.matrix)
	s.Matrix("outer", &f.outer)
	s.Floats("errors", &f.errors)
	s.Int("round", &f.round)
	s.Require(f.matrix != nil && f.outer != nil, "there is no map")
	if !s.Restoring() || s.Err() != nil {
		return
	}
	d, k := f.matrix.Dims()
	rows, cols := f.outer.Dims()
	s.Require(k == d || k == 1, "the map is neither square nor a column")
	s.Require(rows == d && cols == k, "map and products do not fit")
	s.Require(0 <= f.round && f.round < len(f.errors), "the round is none of those there were")
	s.Require(allFinite(f.matrix.RawMatrix().Data, f.outer.RawMatrix().Data, f.errors),
		"map, products or errors are not finite")
}
