package estimator

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/landmarks"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// FittedGaussianProcess is a fitted [GaussianProcess]: the weights of its features with their
// covariance.
type FittedGaussianProcess struct {
	processFunction
	noise, amplitude []float64 // of each target
	evidence         float64
	relevance        []float64  // of each input, empty where scales were not learned
	mean             []float64  // of the features; zeros without an intercept
	weight           float64    // Σ s, 0 without an intercept
	lower            *mat.Dense // L, LL' = Z̃'SZ̃ + ρI
}

// Noise returns the variance of the noise of each target.
func (f *FittedGaussianProcess) Noise() []float64 { return slices.Clone(f.noise) }

// Amplitude returns the variance of the latent function of each target.
func (f *FittedGaussianProcess) Amplitude() []float64 { return slices.Clone(f.amplitude) }

// Gamma returns γ of each input, nil for the linear kernel.
func (f *FittedGaussianProcess) Gamma() []float64 { return slices.Clone(f.features.gamma) }

// Relevance returns the learned scale of each standardized input relative to the largest one; nil
// if scales were not learned.
func (f *FittedGaussianProcess) Relevance() []float64 { return slices.Clone(f.relevance) }

// Tags returns the number of input columns and their relevance.
func (f *FittedGaussianProcess) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: f.InputWidth(), Relevance: f.Relevance()}
}

// LogMarginalLikelihood returns the log density of the training targets, all weights and functions integrated out,
// summed over the targets: the logarithm of the evidence. With an intercept it is that of their differences, for its
// prior is flat.
func (f *FittedGaussianProcess) LogMarginalLikelihood() float64 { return f.evidence }

// Outputs returns values, targets and standard deviations.
func (f *FittedGaussianProcess) Outputs() Outputs {
	return Outputs{Has: OutputValues | OutputTargets | OutputStd}
}

// PredictFull returns the mean of a new observation of weight 1 of each target at each row of X, and its standard
// deviation, which includes the noise. Cost d·D + D² flops a row, d·D without standard deviations.
func (f *FittedGaussianProcess) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	n, _ := X.Dims()
	if n == 0 {
		return emptyPrediction(f.Outputs().Has), ctxerr.Check(ctx)
	}
	if !want.Wants(OutputStd) {
		return f.processFunction.PredictFull(ctx, X, want)
	}
	t := f.outputs()
	mean, std := mat.NewDense(n, t, nil), mat.NewDense(n, t, nil)
	parts, err := f.unexplained(ctx, X)
	if err != nil {
		return Prediction{}, err
	}
	err = f.each(ctx, X, func(lo int, Z mat.Matrix) error {
		m, _ := Z.Dims()
		if err := f.score(ctx, mean.RawMatrix().Data[lo*t:(lo+m)*t], Z); err != nil {
			return err
		}
		left := parts[lo : lo+m]
		for i := range m {
			if left[i] > 0 {
				row := Z.(*mat.Dense).RawRowView(i)
				left[i] = max(0, left[i]-f.amplitude[0]/f.noise[0]*kern.Dot(row, row))
			}
		}
		return relativeVariances(ctx, left, Z, f.mean, f.weight, f.lower)
	})
	if err != nil {
		return Prediction{}, err
	}
	for i, v := range parts {
		for k, noise := range f.noise {
			std.Set(i, k, math.Sqrt(noise*v))
		}
	}
	if !kern.AllFinite(std.RawMatrix().Data) {
		return Prediction{}, errTooLarge
	}
	return Prediction{Values: mat.Col(nil, 0, mean), Targets: mean, Std: mat.Col(nil, 0, std), StdTargets: std}, nil
}

// unexplained returns amplitude/noise·k(x, x) of the rows of X for a kernel of the caller, of which the features
// have a part only, and zeros for other kernels.
func (f *FittedGaussianProcess) unexplained(ctx context.Context, X mat.Matrix) (out []float64, err error) {
	n, _ := X.Dims()
	k := f.features
	switch {
	case k.own == nil:
		return make([]float64, n), nil
	case k.name == string(kernel.Precomputed):
		out = slices.Repeat([]float64{k.diagonal}, n)
	default:
		if X, err = checkInputs(ctx, X, f.InputWidth()); err != nil {
			return nil, err
		}
		if out, err = k.own.Diagonal(design.ToFloat64(X)); err != nil {
			return nil, err
		}
	}
	kern.Scale(f.amplitude[0]/f.noise[0], out) // the ratio of all targets
	return out, nil
}

// relativeVariances adds 1 + 1/weight + x̃'(LL')⁻¹x̃ for each row x of X to dst: the variance of
// a new observation relative to that of the noise. Weight 0 means no intercept.
func relativeVariances(ctx context.Context, dst []float64, X mat.Matrix, mean []float64, weight float64,
	lower *mat.Dense) error {
	n, d := X.Dims()
	const tile = 256
	hold := design.Borrow[float64](min(tile, n) * d)
	defer hold.Release()
	for lo := 0; lo < n; lo += tile {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		m := min(tile, n-lo)
		x := kern.Dense(m, d, d, hold.Data[:m*d])
		for i := range m {
			design.WriteRow(x.Row(i), X, lo+i)
			kern.Axpy(-1, mean, x.Row(i))
		}
		if err := kern.SolveLower(ctx, design.View(lower), x.T()); err != nil {
			return err
		}
		for i := range m {
			variance := 1 + kern.Dot(x.Row(i), x.Row(i))
			if weight > 0 {
				variance += 1 / weight
			}
			dst[lo+i] += variance
		}
	}
	return nil
}

// Sample returns the values at the rows of X, rows × n, of n functions drawn from the posterior of
// the first target. The functions of a seed are the same in every call, also where n is larger.
// They have no noise.
func (f *FittedGaussianProcess) Sample(ctx context.Context, X mat.Matrix, n int, seed uint64) (*mat.Dense, error) {
	functions, err := f.SampleFunctions(ctx, 0, n, seed)
	if err != nil {
		return nil, err
	}
	all, err := functions.PredictFull(ctx, X, Request{})
	return all.Targets, err
}

// SampleFunctions returns a model whose targets are n functions sampled from the posterior of a
// target. It draws the weights, w ~ N(ŵ, noise·A⁻¹), and, with an intercept, the level at the mean
// of the features, N(ȳ, noise/Σs), so that the joint distribution at any rows is exactly that of
// the model. Function i depends on the seed and on i only. Cost: D² flops each.
func (f *FittedGaussianProcess) SampleFunctions(ctx context.Context, target, n int, seed uint64) (FullPredictor,
	error) {
	if target < 0 || target >= f.outputs() {
		return nil, fmt.Errorf("estimator: gaussian_process: target: must be an integer from 0 to %[2]d, got %[1]d", target,
			f.outputs()-1)
	}
	if n < 1 {
		return nil, fmt.Errorf("estimator: gaussian_process: n: must be an integer ≥ 1, got %d", n)
	}
	D := len(f.mean)
	coef, intercept := mat.NewDense(n, D, nil), make([]float64, n)
	rng, sd := spectral.NewStream(), math.Sqrt(f.noise[target])
	for i := range n {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		rng.At(seed, spectral.Functions, i)
		level := 0.0
		for k := 0; k <= target; k++ { // targets are independent of each other
			level = rng.NormFloat64()
			spectral.Normal(rng.Rand, sd, coef.RawRowView(i))
		}
		if f.weight > 0 {
			intercept[i] = sd * level / math.Sqrt(f.weight)
		}
	}
	if err := f.solveTransposed(ctx, coef); err != nil {
		return nil, err
	}
	for i := range n {
		row := coef.RawRowView(i)
		intercept[i] += f.intercept[target] - kern.Dot(row, f.mean)
		kern.Axpy(1, f.coef.RawRowView(target), row)
	}
	drawn := linear{coef: coef, intercept: intercept}
	drawn.setFloat32()
	return &sampledFunctions{processFunction{features: f.features, linear: drawn}}, nil
}

// solveTransposed overwrites rows with L⁻ᵀ times them, in groups of fixed size, so that the bits of a row
// do not depend on the others.
func (f *FittedGaussianProcess) solveTransposed(ctx context.Context, coef *mat.Dense) error {
	const together = 32
	n, D := coef.Dims()
	block := kern.Dense(together, D, D, make([]float64, together*D))
	for lo := 0; lo < n; lo += together {
		hi := min(lo+together, n)
		clear(block.Data)
		copy(block.Data, coef.RawMatrix().Data[lo*D:hi*D])
		if err := kern.SolveLowerT(ctx, design.View(f.lower), block.T()); err != nil {
			return err
		}
		copy(coef.RawMatrix().Data[lo*D:hi*D], block.Data)
	}
	return nil
}

// sampledFunctions is a model whose targets are functions sampled from a Gaussian process.
type sampledFunctions struct{ processFunction }

// processFunction is one or several functions of the inputs that are linear in features.
type processFunction struct {
	features *kernelFeatures
	linear
}

// Predict returns the first target, or function, at each row of X.
func (f *processFunction) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictFull(ctx, X, Request{Outputs: OutputValues})
	return all.Values, err
}

// Outputs returns values and targets.
func (f *processFunction) Outputs() Outputs { return Outputs{Has: OutputValues | OutputTargets} }

// PredictFull returns every target, or function, at each row of X.
func (f *processFunction) PredictFull(ctx context.Context, X mat.Matrix, _ Request) (Prediction, error) {
	n, _ := X.Dims()
	if n == 0 {
		return emptyPrediction(OutputValues | OutputTargets), ctxerr.Check(ctx)
	}
	t := f.outputs()
	out := mat.NewDense(n, t, nil)
	return predictTargets(out, f.each(ctx, X, func(lo int, Z mat.Matrix) error {
		m, _ := Z.Dims()
		return f.score(ctx, out.RawMatrix().Data[lo*t:(lo+m)*t], Z)
	}))
}

// each passes the features of the rows of X to yield in blocks. X must have rows.
func (f *processFunction) each(ctx context.Context, X mat.Matrix, yield func(lo int, Z mat.Matrix) error) error {
	n, _ := X.Dims()
	X, err := checkInputs(ctx, X, f.InputWidth())
	if err != nil {
		return err
	}
	if f.features.name == linearKernel {
		return yield(0, X)
	}
	D := f.features.outputWidth()
	hold := design.Borrow[float64](min(n, mappedRows) * D)
	defer hold.Release()
	return design.WithFloat64(X, func(X mat.Matrix) error {
		for lo := 0; lo < n; lo += mappedRows {
			hi := min(lo+mappedRows, n)
			tile := mat.NewDense(hi-lo, D, hold.Data[:(hi-lo)*D])
			if err := f.features.mapTo(ctx, tile, rowblock.Slice(X, lo, hi)); err != nil {
				return err
			}
			if !kern.AllFinite(tile.RawMatrix().Data) {
				return errTooLarge
			}
			if err := yield(lo, tile); err != nil {
				return err
			}
		}
		return nil
	})
}

// InputWidth returns the number of input columns.
func (f *processFunction) InputWidth() int {
	if f.features.name == linearKernel {
		return f.features.width
	}
	return len(f.features.gamma)
}

// Tags returns the number of input columns.
func (f *processFunction) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.InputWidth()} }

// String describes the model in a line.
func (f *processFunction) String() string {
	return fmt.Sprintf("gaussian process on %d features of a %s kernel, %d inputs and %d outputs",
		f.features.outputWidth(), kernel.Name(f.features.name), f.InputWidth(), f.outputs())
}

// kernelFeatures are the features of a kernel, or the inputs themselves.
type kernelFeatures struct {
	name      string
	width     int // of the linear kernel
	nu, shape float64
	gamma     []float64
	of        fourier.Map

	own      *kernelridge.OwnFeatures // of a kernel of the caller, nil for others
	diagonal float64                  // k(x, x) of precomputed
}

// finish makes the map of the draws.
func (k *kernelFeatures) finish(kernel spectral.Kernel, draws fourier.Draws) (err error) {
	k.of, err = draws.Map(kernel.Factors(k.gamma))
	return err
}

// outputWidth returns D.
func (k *kernelFeatures) outputWidth() int {
	if k.name == linearKernel {
		return k.width
	}
	if k.own != nil {
		return k.own.Width()
	}
	return k.of.Width()
}

// mapTo writes the features of rows, dense in float64 or sparse.
func (k *kernelFeatures) mapTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	if k.own != nil {
		return k.own.Transform(ctx, dst, X)
	}
	return k.of.Float64.Transform(ctx, design.View(dst), X)
}

// state serializes the draws and the parameters of the kernel.
func (k *kernelFeatures) state(s *model.State) {
	s.String("kernel", &k.name)
	s.Int("width", &k.width)
	s.Float("nu", &k.nu)
	s.Float("shape", &k.shape)
	s.Floats("gamma", &k.gamma)
	if s.Err() == nil && k.name == linearKernel {
		s.Require(k.width > 0, "there are no inputs")
		return
	}
	kernel, known := spectral.FourierKernel(k.name, spectral.Shape{Nu: k.nu, Alpha: k.shape})
	if s.Err() == nil && !known {
		k.ownState(s)
		return
	}
	draws := k.of.Draws
	s.Matrix("base", &draws.Base)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(spectral.IsResolved(k.name, len(k.gamma)), "the kernel is not known")
	s.Require(draws.Base != nil && len(k.gamma) > 0 && draws.Base.RawMatrix().Rows == len(k.gamma),
		"frequencies and gamma do not fit")
	s.Require(!slices.ContainsFunc(append([]float64{k.nu, k.shape}, k.gamma...),
		func(v float64) bool { return !param.Positive().Contains(v) }), "gamma, nu and shape are not all positive")
	if s.Err() != nil {
		return
	}
	s.Require(kern.AllFinite(draws.Base.RawMatrix().Data), "frequencies are not finite")
	draws.Paired = true
	if s.Err() == nil {
		if err := k.finish(kernel, draws); err != nil {
			s.Fail("%v", err)
		}
	}
}

// ownState serializes the landmarks of a kernel of the caller.
func (k *kernelFeatures) ownState(s *model.State) {
	stored := landmarks.Stored{}
	if !s.Restoring() {
		stored = k.own.Stored()
	}
	stored.State(s)
	s.Float("diagonal", &k.diagonal)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	var err error
	if k.own, err = kernelridge.RestoreOwnFeatures(kernel.Name(k.name), stored); err != nil {
		s.Fail("%v", err)
		return
	}
	s.Require(len(k.gamma) == k.own.Inputs(), "landmarks and gamma do not fit")
	s.Require(k.diagonal >= 0 && k.diagonal <= math.MaxFloat64, "the diagonal is not a number ≥ 0")
}

// State serializes the model.
func (f *FittedGaussianProcess) State(s *model.State) {
	if s.Restoring() || f.features == nil {
		f.features = &kernelFeatures{gamma: []float64{}}
	}
	f.features.state(s.Child("features"))
	f.state(s.Child("weights"))
	s.Floats("noise", &f.noise)
	s.Floats("amplitude", &f.amplitude)
	s.Float("evidence", &f.evidence)
	relevance := append([]float64{}, f.relevance...)
	s.Floats("relevance", &relevance)
	s.Floats("mean", &f.mean)
	s.Float("weight", &f.weight)
	s.Matrix("lower", &f.lower)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	D, t := f.features.outputWidth(), f.outputs()
	s.Require(f.lower != nil && f.coef.RawMatrix().Cols == D && len(f.mean) == D && f.lower.RawMatrix().Rows == D &&
		f.lower.RawMatrix().Cols == D,
		"the parts of the gaussian process differ in width")
	s.Require(len(f.noise) == t && len(f.amplitude) == t, "noise and amplitude are not those of the targets")
	s.Require(len(relevance) == 0 || len(relevance) == f.InputWidth(), "the relevance is not that of the inputs")
	if s.Err() != nil {
		return
	}
	for i := range D {
		s.Require(f.lower.At(i, i) > 0, "the factor of the gaussian process is singular")
	}
	s.Require(!slices.ContainsFunc(append(slices.Clone(f.noise), f.amplitude...),
		func(v float64) bool { return !param.Positive().Contains(v) }), "noise and amplitude are not all positive")
	s.Require(f.weight >= 0 && kern.AllFinite([]float64{f.weight, f.evidence}) && kern.AllFinite(relevance) &&
		kern.AllFinite(f.mean) && kern.AllFinite(f.lower.RawMatrix().Data),
		"the gaussian process has numbers that are not finite")
	if f.relevance = nil; len(relevance) > 0 {
		f.relevance = relevance
	}
}
