package transformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/rows/origin"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer/internal/bins"
)

// Binning maps rows to random binning features. It draws P grids with random pitches and shifts
// over the inputs; for each grid, a row has the entry 1/sqrt(P) in the column of its bin. Two rows
// share a bin of a grid with probability k(x − y), so E[z(x)'z(y)] = k(x − y).
//
//	bin of x in a grid:  round((x_j − u_j)/δ_j), j = 1..d,   δ_j ~ p,  u_j ~ U[0, δ_j)
//
//	kernel      k(Δ) = Π_j            p(δ) = δ·k″(δ)
//	laplacian   exp(−γ|Δ_j|)          Gamma(shape 2, rate γ)
//	hyperbolic  1/(1 + γ|Δ_j|)        2γ²δ/(1 + γδ)³
//	triangular  max(0, 1 − γ|Δ_j|)    δ = 1/γ
//
// The gaussian kernel has no such distribution, because it is not convex at 0. Kernels that are
// smooth at 0 need entries that depend on the position in the bin (weighted bins). The kernel
// smooth has the entry Π_j f(t_j)/sqrt(P) of t_j = (x_j − u_j)/δ_j − bin_j, |t_j| ≤ ½, with f(t) =
// sqrt(30)·(¼ − t²), so that
//
//	smooth      (1 + γ|Δ_j| + γ²Δ_j²/4)·exp(−γ|Δ_j|)    Gamma(shape 6, rate γ)
//
// which is twice differentiable. It suits few inputs: the variance of z(x)'z(x) is ((10/7)^d −
// 1)/P.
//
// With many inputs, few pairs of rows share a bin in all of them. Inputs = k draws a set S of k
// inputs for each grid. The kernel is then an ANOVA kernel, the mean of the product kernels over
// all sets of k inputs:
//
//	k(x − y) = Σ_S P(S) Π_{i∈S} Π_{j∈i} k_j(x_j − y_j),   P(S) ∝ Π_{i∈S} w_i
//
// It contains interactions of at most k inputs, as trees of depth k do. Columns derived from one
// column by a step such as onehot ([datasets.Column].EncodedFrom) form one input and are drawn
// together; any other column is an input. If there are at most k inputs, every grid uses all of
// them.
//
// The weights w are all 1, or, with InputWeights scales, w_i² = Σ_{j∈i} (γ_j · standard deviation
// of column j)²: an input with a small learned scale is rarely drawn. An input of weight 0 is never
// drawn. Choose γ for k inputs: the rules for γ multiply the γ of all m inputs by m/k. The input
// sets of the first grids depend on the seed, k and the weights, but not on the number of grids.
//
// Shapes: n×d → n×(bins), sparse; a row has at most P column indices and one shared value, 4 bytes
// for each grid. Columns are ordered by grid, so a map with fewer grids of the same seed is a
// prefix of the columns, up to the factor sqrt(P₁/P₂). With exact columns, Fit builds a dictionary
// of the bins with at least MinCount training rows; other bins contribute nothing. With N hashed
// columns there is no dictionary: the bins of each grid are hashed into N/P columns, and the fit
// depends on the number of columns only, unless Gamma is a rule.
//
// Bins are identified by a 64-bit hash of their coordinates: Σ_j a_j·bin_j mod 2⁶⁴ with random odd
// a_j, then mixed. Two bins of a grid collide with probability at most 2^(t−63), where 2^t is the
// largest power of two that divides all differences of their coordinates. For 10⁵ bins, the
// probability of any collision is below 10⁻⁸.
//
// Cost: about 4·n·k·P operations for grids over k columns (only nonzero entries count in columns
// that are mostly 0), and one lookup for each row and grid. Memory: 24·k·P bytes for the grids,
// 8·n·d more if grids use subsets of the inputs, and 20 bytes for each bin of the dictionary.
// FitTransform computes map and features at the cost of the fit.
//
// Source: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007,
// algorithm 2; weighted bins: Kapralov, Nouri, Razenshteyn, Velingker and Zandieh, "Scaling up kernel
// ridge regression via locality sensitive hashing", AISTATS 2020, with another f.
//
// Errors: a categorical column, a missing or infinite value, a value whose bin number overflows, no
// rows, a list of γ of the wrong length, fewer columns than Inputs, no bin with MinCount rows.
// Use [NewBinning]: the zero value is invalid.
type Binning struct {
	Kernel       kernel.Name  // laplacian, hyperbolic, triangular, smooth, a product of terms of one of them, or custom
	Gamma        kernel.Gamma // γ
	Grids        int          // P
	Columns      int          // number of hashed columns, ≥ Grids; 0 for exact columns
	MinCount     int          // minimum number of training rows of a bin; 1 for hashed columns
	Inputs       int          // k, the number of inputs of each grid; 0 for all
	InputWeights string       // weights of the inputs in the draw: uniform or scales
	Seed         uint64
	Custom       *CustomKernel // pitch distribution if Kernel is "custom"
}

// binColumns adapts [Binning].Columns to a parameter.
type binColumns struct{ hashed *int }

func (c binColumns) Set(plain any) error {
	*c.hashed = -1
	switch v := plain.(type) {
	case string:
		if v == "exact" {
			*c.hashed = 0
		}
	case int:
		*c.hashed = cmp.Or(v, -1)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<40 {
			*c.hashed = cmp.Or(int(v), -1)
		}
	}
	return c.Check()
}

func (c binColumns) Get() any {
	if *c.hashed == 0 {
		return "exact"
	}
	return *c.hashed
}

func (c binColumns) Constraint() string { return "exact, or a number of hashed columns ≥ grids" }

func (c binColumns) Check() error {
	if *c.hashed >= 0 && int64(*c.hashed) < math.MaxUint32 {
		return nil
	}
	return errors.New(c.Constraint())
}

// NewBinning returns the spec of 100 grids of the laplacian kernel with exact columns and γ by
// [kernel.GammaScale].
func NewBinning() Binning {
	return Binning{Kernel: "laplacian", Gamma: kernel.GammaScale(), Grids: 100, MinCount: 1,
		InputWeights: "uniform"}
}

// Params declares kernel, gamma, grids, columns, min_count, inputs, input_weights and seed. Custom
// is available in Go only.
func (s *Binning) Params(l *param.List) {
	l.Value(pitchKernel{(*string)(&s.Kernel), s.Custom}, "kernel", "kernel to approximate")
	l.Value(&s.Gamma, "gamma", "scale γ of the kernel; larger values make it narrower")
	l.Rougher("gamma")
	l.Int(&s.Grids, "grids", "number of grids P", param.Between(1, 1<<20))
	l.MoreUnits("grids")
	l.Value(binColumns{&s.Columns}, "columns", "exact: one column per bin with training rows; a number: bins are "+
		"hashed into this number of columns")
	l.Int(&s.MinCount, "min_count", "minimum number of training rows of a bin; "+
		"smaller bins have no column", param.AtLeast(1))
	l.FewerUnits("min_count")
	l.Value(inputCount{&s.Inputs}, "inputs",
		"number of inputs of each grid, drawn at random; a small number models low-order interactions; the encoded "+
			"columns of one original column are one input")
	l.Choice(&s.InputWeights, "input_weights",
		"probabilities of the drawn inputs: equal, or in proportion to gamma times the standard deviation",
		"uniform", "scales")
	l.Seed(&s.Seed, "seed", "seed of the draws")
	l.Check("columns", func() error {
		if s.Columns != 0 && s.Columns < s.Grids {
			return errors.New(binColumns{&s.Columns}.Constraint())
		}
		return nil
	})
	l.Check("min_count", func() error {
		if s.Columns != 0 && s.MinCount > 1 {
			return errors.New("1 with hashed columns, which are not counted")
		}
		return nil
	})
}

// pitchKernel adapts the kernel of a [Binning] to a parameter. Its error explains why a kernel has
// no bins.
type pitchKernel struct {
	name   *string
	custom *CustomKernel
}

func (k pitchKernel) Set(plain any) error {
	switch v := plain.(type) {
	case string:
		*k.name = v
	case map[string]any:
		if err := k.columns().Set(v); err != nil {
			return err
		}
	default:
		return errors.New(k.Constraint())
	}
	if *k.name == string(kernel.Custom) {
		return nil // Check refuses it without its function
	}
	return k.Check()
}

func (k pitchKernel) Get() any {
	if kernel.Name(*k.name).Summands() != nil {
		return k.columns().Get()
	}
	return *k.name
}

// columns returns the kernel as the parameter of a kernel of columns.
func (k pitchKernel) columns() param.Value {
	return (*kernel.Name)(k.name).Columns(spectral.BinningKernels...)
}

func (k pitchKernel) Constraint() string {
	return suggest.Alternatives(spectral.BinningKernels)
}

func (k pitchKernel) Check() error {
	hasPitch := k.custom != nil && k.custom.Pitch != nil
	if err := checkCustom(kernel.Name(*k.name), k.custom != nil, hasPitch, "Pitch"); err != nil {
		return err
	}
	if list := kernel.Name(*k.name).Summands(); list != nil {
		if err := k.columns().Check(); err != nil {
			return err
		}
		if _, ok := commonKernel(list); !ok {
			return param.FieldError{Constraint: "a product of terms with the same kernel"}
		}
		return nil
	}
	switch {
	case k.custom != nil || slices.Contains(spectral.BinningKernels, *k.name):
		return nil
	case *k.name == "gaussian":
		return param.FieldError{Constraint: k.Constraint(),
			Hint: "the gaussian kernel has no random bins, because it is not convex at 0; use rff for it"}
	case slices.Contains(spectral.FourierKernels, *k.name):
		return param.FieldError{Constraint: k.Constraint(), Hint: "use rff for the " + *k.name + " kernel"}
	}
	if near := suggest.Nearest(*k.name, spectral.BinningKernels); near != "" {
		return param.FieldError{Constraint: k.Constraint(), Hint: "did you mean " + near + "?"}
	}
	return errors.New(k.Constraint())
}

// inputCount adapts a number of inputs to a parameter; 0 means all.
type inputCount struct{ inputs *int }

func (c inputCount) Set(plain any) error {
	*c.inputs = -1
	switch v := plain.(type) {
	case string:
		if v == "all" {
			*c.inputs = 0
		}
	case int:
		*c.inputs = cmp.Or(v, -1)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<31 {
			*c.inputs = cmp.Or(int(v), -1)
		}
	}
	return c.Check()
}

func (c inputCount) Get() any {
	if *c.inputs == 0 {
		return "all"
	}
	return *c.inputs
}

func (c inputCount) Constraint() string { return "all, or an integer ≥ 1" }

func (c inputCount) Check() error {
	if *c.inputs < 0 {
		return errors.New(c.Constraint())
	}
	return nil
}

// Tags returns sparse features. The fit depends on the number of columns only if γ is fixed, columns are hashed, and
// inputs are drawn uniformly.
func (s Binning) Tags() datasets.Tags {
	return datasets.Tags{SparseInvariant: true, SparseOutput: true, FixedWidth: true, DataIndependent: s.Columns != 0 &&
		hasFixedGamma(s.Kernel, s.Gamma) && (s.Inputs == 0 || s.InputWeights == "uniform")}
}

// Fit draws the grids and builds the dictionary of the bins; it returns a [*FittedBinning].
func (s Binning) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitFinite(ctx, "binning", s, data)
}

// FitSource is Fit over a source. It makes one pass for exact columns, one for a rule for γ, and
// one for InputWeights scales.
func (s Binning) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("binning", s, data.Schema()); err != nil {
		return nil, err
	}
	f, err := s.drawGrids(ctx, data)
	if err != nil {
		return nil, err
	}
	if s.Columns == 0 {
		err = f.buildDictionary(ctx, data, s.MinCount)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// drawGrids draws the grids.
func (s Binning) drawGrids(ctx context.Context, data datasets.Source) (*FittedBinning, error) {
	name, err := resolveKernel(ctx, "binning", s.Kernel, data, s.Seed)
	if err != nil {
		return nil, err
	}
	f, list := &FittedBinning{kernelName: string(name)}, name.Summands()
	if list != nil {
		common, _ := commonKernel(list)
		f.kernelName = string(common)
	}
	f.resolveKernel(s.Custom)
	f.kernel.Columns = list != nil
	gamma, err := resolveGamma(ctx, s.Gamma, "binning", f.kernel, data, s.Seed)
	if err != nil {
		return nil, err
	}
	if list != nil {
		multiplyTerms(gamma, list[0].Product)
	}
	if s.Inputs > len(gamma) {
		return nil, fmt.Errorf("transformer: binning: inputs must be at most the number of columns %[2]d, got %[1]d",
			s.Inputs, len(gamma))
	}
	if f.sets, err = s.inputSets(ctx, gamma, data); err != nil {
		return nil, err
	}
	if f.kernel.Smooth && f.sets == nil && len(gamma) > bins.MostSmooth {
		return nil, errTooManySmooth(len(gamma))
	}
	f.bins, err = bins.Draw(ctx, f.kernel, s.Seed, gamma, f.sets, s.Grids, s.Columns)
	if err != nil {
		return nil, wrapError(ctx, "binning", err)
	}
	if most := f.bins.Most(); f.kernel.Smooth && most > bins.MostSmooth {
		return nil, errTooManySmooth(most)
	}
	return f, nil
}

func errTooManySmooth(columns int) error {
	return fmt.Errorf("transformer: binning: the smooth kernel must have at most %[2]d columns, got %[1]d", columns,
		bins.MostSmooth)
}

// commonKernel returns the kernel of all terms of a product. Grids of a product of such terms are those
// of the kernel with γ by column.
func commonKernel(list []kernel.Summand) (kernel.Name, bool) {
	name := list[0].Product[0].Kernel
	ok := len(list) == 1 &&
		!slices.ContainsFunc(list[0].Product, func(t kernel.Term) bool { return t.Kernel != name })
	return name, ok
}

// multiplyTerms multiplies γ of each column by that of its term.
func multiplyTerms(gamma []float64, terms []kernel.Term) {
	for _, t := range terms {
		own, index := t.Gamma.Fixed(), t.Index
		if index == nil { // all columns
			index = make([]int, len(gamma))
			for j := range index {
				index[j] = j
			}
		}
		for i, j := range index {
			gamma[j] *= own[min(i, len(own)-1)]
		}
	}
}

// inputSets returns the distribution of the input sets of grids, or nil if grids use all inputs. It
// scales a γ found by a rule to the number of inputs of a grid.
func (s Binning) inputSets(ctx context.Context, gamma []float64, data datasets.Source) (*bins.Subsets, error) {
	group, inputs := origin.Inputs(data.Schema(), len(gamma))
	if s.Inputs == 0 || s.Inputs >= inputs {
		return nil, nil
	}
	if s.Gamma.Rule() != "" {
		for j := range gamma {
			gamma[j] *= float64(inputs) / float64(s.Inputs)
		}
	}
	weights := slices.Repeat([]float64{1}, inputs)
	if s.InputWeights == "scales" {
		m, _, err := columnMoments(ctx, "binning", weighted{data}, false)
		if err != nil {
			return nil, err
		}
		clear(weights)
		for j, g := range group {
			weights[g] = math.Hypot(weights[g], gamma[j]*m.Deviation(j))
		}
	}
	sets := bins.NewSubsets(weights, s.Inputs)
	if inputs < len(gamma) {
		sets.Group = group
	}
	return sets, nil
}

// buildDictionary builds the dictionary of the bins with at least minCount rows.
func (f *FittedBinning) buildDictionary(ctx context.Context, data datasets.Source, minCount int) error {
	counts := f.bins.Counts()
	_, err := fold(ctx, "binning", data, false, func(first int, X mat.Matrix) error {
		if err := checkEntries("binning", X, data.Schema(), first, f.bins.Limit, false); err != nil {
			return err
		}
		return counts.Add(ctx, X)
	})
	if err != nil {
		return err
	}
	return wrapError(ctx, "binning", f.bins.Number(ctx, counts, minCount))
}

// FeatureBytes returns the memory of the features: a column index for each row and grid, and with
// the smooth kernel a value.
func (s Binning) FeatureBytes(rows, _ int) int64 {
	each := int64(4)
	name := s.Kernel
	if list := name.Summands(); list != nil {
		name, _ = commonKernel(list)
	}
	if name == kernel.Smooth {
		each = 12
	}
	return int64(rows) * (8 + each*int64(s.Grids))
}

// FitTransform is Fit followed by Transform of the same rows. It computes the bins of each row
// once, because building the dictionary of a grid also assigns the rows.
func (s Binning) FitTransform(ctx context.Context, data datasets.Set) (Transformer, mat.Matrix, error) {
	if s.Columns != 0 {
		t, err := s.Fit(ctx, data)
		if err != nil {
			return nil, nil, err
		}
		Z, err := t.Transform(ctx, data.X)
		return t, Z, err
	}
	if err := checkFinite("binning", s, data); err != nil {
		return nil, nil, err
	}
	if err := checkNumeric("binning", data.Schema); err != nil {
		return nil, nil, err
	}
	f, err := s.drawGrids(ctx, data.Source())
	if err != nil {
		return nil, nil, err
	}
	X, err := checkRows("binning", data.X, f.InputWidth())
	if err != nil {
		return nil, nil, err
	}
	if err := checkEntries("binning", X, data.Schema, 0, f.bins.Limit, false); err != nil {
		return nil, nil, err
	}
	columns, err := f.bins.NumberRows(ctx, X, s.MinCount)
	if err != nil {
		return nil, nil, wrapError(ctx, "binning", err)
	}
	Z, err := f.bins.Features(ctx, X, columns)
	if err != nil {
		return nil, nil, wrapError(ctx, "binning", err)
	}
	return f, Z, nil
}

// Measured cost per row and grid, in flops of large matrix products. Dictionary lookups are
// memory-bound.
const (
	binFlops   = 1200
	inputFlops = 27
	newFlops   = 2300 // dictionary construction
)

// Cost returns the cost of mapping the rows and the memory of grids, dictionary and features.
func (s Binning) Cost(shape datasets.Shape) datasets.Cost {
	n, d, p := float64(shape.Rows), float64(shape.Cols), float64(s.Grids)
	entries := shape.Entries()
	rowsInMemory := float64(shape.RowsInMemory())
	each := p * (binFlops + inputFlops*entries)
	c := datasets.Cost{Bytes: int64(24*d*p + 4*rowsInMemory*p + 8*rowsInMemory), OutputWidth: s.Columns, NonZeros: p}
	_, inputs := origin.Inputs(datasets.Schema{Columns: shape.Columns}, shape.Cols)
	if k := float64(s.Inputs); k > 0 && s.Inputs < inputs {
		k *= d / float64(inputs) // columns of k inputs
		each, c.Bytes = p*(binFlops+inputFlops*min(k, entries))+2*d, int64(32*k*p+rowsInMemory*(4*p+8+8*d))
	}
	c.Flops = n * (each + p*newFlops)

	if s.Columns == 0 {
		// Assumes four rows per bin.
		c.OutputWidth, c.WidthEstimated = int(min(max(n, 4)*p/4, math.MaxUint32, math.MaxInt)), true
		// Dictionary, also needed if rows are streamed.
		c.Bytes += int64(20 * float64(c.OutputWidth))
	}
	return c
}

// FittedBinning is a fitted [Binning].
type FittedBinning struct {
	kernelName string
	kernel     spectral.Kernel // resolved from kernelName
	sets       *bins.Subsets   // distribution of the input sets of grids; nil for all inputs
	bins       bins.Map
}

// resolveKernel resolves kernelName and reports whether the kernel is known.
func (f *FittedBinning) resolveKernel(custom *CustomKernel) bool {
	k, ok := spectral.BinningKernel(f.kernelName)
	if f.kernelName == "custom" {
		k, ok = spectral.Kernel{Power: 1, L1: true}, true
		if custom != nil {
			k.Pitch = func(rng *rand.Rand) float64 { return 1 / custom.Pitch(rng) }
			if custom.Exact != nil {
				k.Exact = custom.Exact
			}
		}
	}
	f.kernel = k
	return ok
}

// Transform returns the binning features of X as a *matrices.CSR, with the shared value 1/sqrt(P) or,
// for the smooth kernel, one value for each row and grid.
func (f *FittedBinning) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	X, err := checkRows("binning", X, f.InputWidth())
	if err != nil {
		return nil, err
	}
	if err := checkEntries("binning", X, datasets.Schema{}, 0, f.bins.Limit, false); err != nil {
		return nil, err
	}
	Z, err := f.bins.Transform(ctx, X)
	if err != nil {
		return nil, wrapError(ctx, "binning", err)
	}
	return Z, nil
}

// Export returns an error: bins are identified by 64-bit hashes, which the float64 values of a
// graph cannot represent.
func (f *FittedBinning) Export(*graph.Graph, graph.Value) (graph.Value, error) {
	return graph.Value{}, errors.New("bins are found by hashes of 64 bits, which exports have no operation for; use " +
		"rff or nystroem with kernel: laplacian, bochner auto --exportable, or serve the model file itself")
}

// InputWidth returns the number of input columns.
func (f *FittedBinning) InputWidth() int { return len(f.bins.Gamma) }

// Tags returns the number of input columns.
func (f *FittedBinning) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.InputWidth()} }

// OutputWidth returns the number of columns.
func (f *FittedBinning) OutputWidth() int { return f.bins.Width() }

// OutputSchema returns a schema of numeric columns without names.
func (f *FittedBinning) OutputSchema(in datasets.Schema) datasets.Schema { return in.WithColumns(nil) }

// Grids returns P.
func (f *FittedBinning) Grids() int { return f.bins.Grids }

// GridColumns returns the half-open range of columns of a grid.
func (f *FittedBinning) GridColumns(grid int) (first, end int) {
	return f.bins.First[grid], f.bins.First[grid+1]
}

// Inputs returns the indices of the columns of a grid, ascending.
func (f *FittedBinning) Inputs(grid int) []int {
	list := f.bins.Columns(grid)
	slices.Sort(list)
	return list
}

// InputWeights returns the weight of each column's input in the draw, scaled to a maximum of 1, or
// nil if grids use all inputs.
func (f *FittedBinning) InputWeights() []float64 {
	if f.sets == nil {
		return nil
	}
	weights := slices.Clone(f.sets.Weights())
	if f.sets.Group == nil {
		return weights
	}
	list := make([]float64, len(f.sets.Group))
	for j, g := range f.sets.Group {
		list[j] = weights[g]
	}
	return list
}

// Gamma returns γ for each column.
func (f *FittedBinning) Gamma() []float64 { return slices.Clone(f.bins.Gamma) }

// Kernel returns k(x, y), which the features approximate. It returns an error if the kernel is
// custom and Exact is unknown, as after loading a model file.
func (f *FittedBinning) Kernel(x, y []float64) (float64, error) {
	return kernelOf("binning", f.meanKernel(), f.bins.Gamma, x, y)
}

// meanKernel returns the kernel of the features; if grids use subsets of the inputs, it averages over all
// sets.
func (f *FittedBinning) meanKernel() spectral.Kernel {
	k := f.kernel
	if f.sets == nil || k.Exact == nil {
		return k
	}
	k.Exact = func(delta []float64) float64 {
		values := slices.Repeat([]float64{1}, len(f.sets.Weights()))
		for j := range delta {
			input := j
			if f.sets.Group != nil {
				input = f.sets.Group[j]
			}
			values[input] *= f.kernel.Exact(delta[j : j+1])
		}
		return f.sets.Mean(values)
	}
	return k
}

// KernelMatrix returns the matrix of k(x, y) with a row for each row x of X and a column for each
// row y of Y.
func (f *FittedBinning) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	return kernelMatrix(ctx, "binning", f.meanKernel(), f.bins.Gamma, X, Y)
}

// WithGrids returns the nested map of the first grids. Its columns are the first columns of this
// map, up to scale. The number of hashed columns per grid stays the same.
func (f *FittedBinning) WithGrids(grids int) (*FittedBinning, error) {
	if grids < 1 || grids > f.bins.Grids {
		return nil, fmt.Errorf("transformer: binning: number of grids must be from 1 to %[2]d, got %[1]d", grids,
			f.bins.Grids)
	}
	out := *f
	var err error
	if out.bins, err = f.bins.FirstGrids(grids); err != nil {
		return nil, fmt.Errorf("transformer: binning: %w", err)
	}
	return &out, nil
}

// State serializes the fitted parameters.
func (f *FittedBinning) State(s *model.State) {
	hashes := f.bins.Hashes()
	s.String("kernel", &f.kernelName)
	s.Int("grids", &f.bins.Grids)
	s.Int("hashed", &f.bins.Hashed)
	s.Floats("gamma", &f.bins.Gamma)
	s.Floats("base", &f.bins.Base)
	s.Floats("shift", &f.bins.Shift)
	f.stateOfSets(s)
	s.Uint64s("multipliers", &f.bins.Multipliers)
	s.Ints("first", &f.bins.First)
	s.Uint64s("hashes", &hashes)
	if s.Restoring() && s.Err() == nil {
		f.restore(s, hashes)
	}
}

// stateOfSets serializes the input sets of grids, their weights, and the input of each column if an
// input has several columns.
func (f *FittedBinning) stateOfSets(s *model.State) {
	m := &f.bins
	d := len(m.Gamma)
	if s.Err() != nil || m.Grids < 1 || len(m.Base)/m.Grids >= d {
		return
	}
	var weights []float64
	if f.sets != nil {
		weights = f.sets.Weights()
	}
	s.Floats("input_weights", &weights)
	s.Ints("inputs", &m.Inputs)
	if len(weights) < d {
		s.Ints("input_of_column", &m.Group)
	}
	if !s.Restoring() || s.Err() != nil {
		return
	}
	k := len(m.Inputs) / m.Grids
	s.Require(k > 0 && len(m.Inputs) == m.Grids*k && len(weights) <= d && (len(weights) == d || len(m.Group) == d),
		"inputs and grids do not fit")
	for j, v := range weights {
		s.Require(v >= 0 && v <= 1, fmt.Sprintf("input %d has no weight", j))
	}
	for i, j := range m.Inputs {
		s.Require(j >= 0 && j < len(weights) && (i%max(k, 1) == 0 || j > m.Inputs[i-1]), "the inputs of a grid do not ascend")
	}
	for _, g := range m.Group {
		s.Require(g >= 0 && g < len(weights), "a column is of no input")
	}
	if s.Err() == nil {
		f.sets = bins.NewSubsets(weights, k)
		f.sets.Group = m.Group
		s.Require(f.sets.Size() == k, "grids have more inputs than there are weights")
	}
}

// restore validates the deserialized grids and builds the dictionaries.
func (f *FittedBinning) restore(s *model.State, hashes []uint64) {
	m := &f.bins
	d := len(m.Gamma)
	s.Require(f.resolveKernel(nil), "the kernel is not known")
	s.Require(d > 0 && m.Grids > 0 && m.Grids <= len(m.Base) && len(m.Shift) == len(m.Base) && len(m.Multipliers) == d,
		"grids and columns do not fit")
	s.Require(f.sets != nil || d > 0 && len(m.Base)/d == m.Grids && len(m.Base)%d == 0, "grids and columns do not fit")
	s.Require(allFinite(m.Gamma, m.Base, m.Shift), "the grids are not finite")
	s.Require(m.Hashed == 0 || m.Hashed >= m.Grids && int64(m.Hashed) < math.MaxUint32,
		"the number of columns does not fit")
	if s.Err() != nil {
		return
	}
	for k, v := range m.Base {
		s.Require(v >= 0 && m.Shift[k] >= 0 && m.Shift[k] < 1, "a grid has no positive pitch")
	}
	for _, v := range m.Gamma {
		s.Require(v > 0, "a grid has no positive pitch")
	}
	if m.Hashed == 0 {
		s.Require(len(m.First) == m.Grids+1 && m.First[0] == 0 && slices.IsSorted(m.First) &&
			m.First[m.Grids] == len(hashes) && len(hashes) > 0 && int64(len(hashes)) < math.MaxUint32 &&
			!slices.Contains(hashes, 0), "bins and grids do not fit")
	}
	if s.Err() != nil {
		return
	}
	m.Smooth = f.kernel.Smooth
	if err := m.Restore(hashes); err != nil {
		s.Fail("%v", err)
		return
	}
	s.Require(!f.kernel.Smooth || m.Most() <= bins.MostSmooth, "there are too many columns for the kernel")
}
