package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// GaussianProcess is Gaussian process regression, which predicts numbers with their uncertainty.
// The covariance is a kernel, approximated by random Fourier features z. A target is
//
//	y = b + f(x) + e,  f = z(x)'w,  w ~ N(0, amplitude·I),  e ~ N(0, noise)
//
// with a flat prior for the intercept b, so that f has approximately the covariance amplitude·k(x,
// x'); the error decreases with Features. Given rows of weights s, with ρ = noise/amplitude,
// centered features z̃ and targets ỹ, and A = Z̃'SZ̃ + ρI:
//
//	mean       b + z̃(x)'A⁻¹Z̃'Sỹ
//	deviation  sqrt(noise·(1 + 1/Σs + z̃(x)'A⁻¹z̃(x)))     of a new observation
//
// The features are part of the model, because their kernel is optimized with it. Kernel, Gamma, Nu
// and Shape are those of [KernelRidge]; kernel linear uses the inputs, such as the features of a
// preceding step. Standardize the inputs first.
//
// Kernels of the caller, which are precomputed (the training rows are a Gram matrix) and those of
// [kernel.Register], are used exactly: z are their Nyström features with all training rows as landmarks, or
// with Features rows that randomly pivoted Cholesky selects. Noise and amplitude can be learned, γ cannot.
// The deviations add amplitude·(k(x, x) − z(x)'z(x)), what the landmarks leave of the variance; for
// precomputed k(x, x) must be the same number for all rows. Sampled functions do not have it.
//
// Optimize names the parameters that maximize the evidence, which is the marginal likelihood of the
// targets:
//
//	gamma      one factor on γ
//	scales     γ of each input separately (automatic relevance determination)
//	noise      the variance of the noise, unless Noise is a number
//	amplitude  the variance of the function, unless Amplitude is a number
//
// The optimization starts at Gamma; with scales, a rule uses standardized inputs. gamma and scales
// are learned from a sample of at most Rows rows; the linear kernel has none. For at most 1,000
// dense rows and a kernel of ‖x − x'‖₂ (gaussian, exponential, matern, rational_quadratic), the
// exact kernel is used: L-BFGS from the scales of Gamma, a third of them and twice them, with at
// most Steps steps each. Otherwise, Steps steps of Adam on up to 600 features, redrawn in each
// step, as in transformer.ARD. These also run if the features of the model imply more than twice
// the noise of the exact kernel on the sample, or if Noise is a number; the solution with more
// evidence on them is used. Noise and amplitude then maximize the evidence of all rows on the
// features of the model: their ratio is the root of a scalar equation, with X'SX in tridiagonal
// form. If not optimized, auto means the variance of the targets for the amplitude, and a tenth of
// it for the noise.
//
// Several targets share kernel and features. If both noise and amplitude are learned, the targets
// have a common ratio of them, and target t has noise_t = ỹ_t'S(ỹ_t − Z̃w_t)/N with N = Σs − 1, or
// Σs without an intercept; its deviation is scaled accordingly. Otherwise all targets have the same
// noise and amplitude.
//
// Row weights count rows: a row of weight 2 counts as two rows. Only the sample, in which rows of
// positive weight are equally likely, depends on the order of the rows.
//
// Shapes: n×d inputs, n×t targets. Cost: n·D² + 2D³ flops and 3D² numbers for the fit, in one pass
// over the rows, plus two for a sample and one for a rule of γ. An optimization step costs that of
// ARD, or n³ + 4n²·d flops and 4n² numbers with the exact kernel of n rows. A mean costs d·D flops
// per row, a deviation D² more.
//
// Fit returns an error for a categorical column, a missing or infinite value, no rows, constant
// targets if their noise is learned, a list of γ whose length is not the number of columns, and a
// kernel of the caller that is not finite, symmetric and positive definite at the landmarks.
//
// Sources: Rasmussen and Williams, "Gaussian processes for machine learning", 2006, chapters 2 and
// 5; Lázaro-Gredilla et al., "Sparse spectrum gaussian process regression", JMLR 2010; Liu and
// Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical
// Programming 1989. Use [NewGaussianProcess]: the zero value is invalid.
type GaussianProcess struct {
	Kernel    kernel.Name
	Gamma     kernel.Gamma
	Nu        float64 // ν of the matern kernel
	Shape     float64 // a of the rational_quadratic kernel
	Features  int     // D, even
	Noise     Variance
	Amplitude Variance
	Optimize  []string // of gamma, scales, noise and amplitude
	Rows      int      // of the sample
	Steps     int      // of the descent
	Intercept bool
	Seed      uint64
}

// NewGaussianProcess returns the spec of 1000 features of the gaussian kernel, of which scales, noise and amplitude
// are learned, with an intercept.
func NewGaussianProcess() GaussianProcess {
	return GaussianProcess{Kernel: "gaussian", Gamma: kernel.GammaScale(), Nu: 1.5, Shape: 1, Features: 1000,
		Optimize: []string{"scales", "noise", "amplitude"}, Rows: 3000, Steps: 70, Intercept: true}
}

// linearKernel takes the inputs as features.
const linearKernel = "linear"

// Params declares the hyperparameters.
func (s *GaussianProcess) Params(l *param.List) {
	s.Kernel.Declare(l, "covariance of the function; linear: inner products of the inputs",
		append(slices.Clip(spectral.FourierKernels), linearKernel, string(kernel.Precomputed))...)
	l.Value(&s.Gamma, "gamma", "initial scale γ of the kernel")
	l.Rougher("gamma")
	l.Float(&s.Nu, "nu", "smoothness ν of the matern kernel", param.Positive())
	l.Float(&s.Shape, "shape", "shape of the rational_quadratic kernel", param.Positive())
	l.Int(&s.Features, "features", "number of random features of the kernel", param.Between(2, 1<<20))
	l.MoreUnits("features")
	l.Value(&s.Noise, "noise", "variance of the noise; auto learns it")
	l.MorePenalty("noise")
	l.Value(&s.Amplitude, "amplitude", "variance of the function; auto learns it")
	l.Names(&s.Optimize, "optimize", "parameters to learn: gamma or scales (γ of each input), noise, amplitude")
	l.Int(&s.Rows, "rows", "number of sampled rows for learning gamma or scales", param.AtLeast(2))
	l.Int(&s.Steps, "steps", "number of optimizer steps for gamma or scales; with the exact kernel, the maximum for "+
		"each of three starts", param.AtLeast(1))
	l.Bool(&s.Intercept, "intercept", "whether to estimate a constant mean, with a flat prior, instead of 0")
	l.Seed(&s.Seed, "seed", "seed of the features and of the sample")
	l.Check("features", func() error {
		if s.Features%2 != 0 {
			return errors.New("an even number")
		}
		return nil
	})
	l.Check("optimize", func() error {
		names := []string{"gamma", "scales", "noise", "amplitude"}
		for _, name := range s.Optimize {
			if slices.Contains(names, name) {
				continue
			}
			problem := param.FieldError{Constraint: "a list of gamma, scales, noise and amplitude"}
			if near := suggest.Nearest(name, names); near != "" {
				problem.Hint = "did you mean " + near + "?"
			}
			return problem
		}
		width := s.learns("gamma") || s.learns("scales")
		if s.Kernel.IsOwn() && width && !slices.Equal(s.Optimize, NewGaussianProcess().Optimize) {
			return fmt.Errorf("noise and amplitude for kernel: %s, which has no gamma", s.Kernel)
		}
		return nil
	})
}

// learns reports whether the named parameter is optimized.
func (s GaussianProcess) learns(name string) bool { return slices.Contains(s.Optimize, name) }

// learnsKernel reports whether the evidence chooses γ.
func (s GaussianProcess) learnsKernel() bool {
	return s.Kernel != linearKernel && !s.Kernel.IsOwn() && (s.learns("gamma") || s.learns("scales"))
}

// learnsNoise and learnsAmplitude report whether the evidence chooses these.
func (s GaussianProcess) learnsNoise() bool { return s.learns("noise") && s.Noise == 0 }

func (s GaussianProcess) learnsAmplitude() bool {
	return s.learns("amplitude") && s.Amplitude == 0
}

// fixedVariances returns the fixed values of noise and amplitude for targets of the given variance; 0 if
// learned.
func (s GaussianProcess) fixedVariances(variance float64) (noise, amplitude float64) {
	const share = 0.1
	if !s.learnsNoise() {
		noise = cmp.Or(float64(s.Noise), share*variance)
	}
	if !s.learnsAmplitude() {
		amplitude = cmp.Or(float64(s.Amplitude), variance)
	}
	return noise, amplitude
}

// gaussianProcessName is the prefix of errors.
const gaussianProcessName = "estimator: gaussian_process"

// Fit fits the model to data in memory; the result is a [*FittedGaussianProcess].
func (s GaussianProcess) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := design.FromSet(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gaussianProcessName, err)
	}
	return s.fit(ctx, r, data.Source())
}

// FitSource fits the model to a stream; the result is a [*FittedGaussianProcess].
func (s GaussianProcess) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := design.FromSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gaussianProcessName, err)
	}
	return s.fit(ctx, r, data)
}

func (s GaussianProcess) fit(ctx context.Context, r *design.Rows, src datasets.Source) (Predictor, error) {
	f, err := s.fitted(ctx, r, src)
	if err = contextErrorOr(ctx, err); err != nil {
		return nil, fmt.Errorf("%s: %w", gaussianProcessName, err)
	}
	return f, nil
}

func (s GaussianProcess) fitted(ctx context.Context, r *design.Rows, src datasets.Source) (*FittedGaussianProcess,
	error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	if err := rejectClassTarget(r.Schema, "gaussian_process"); err != nil {
		return nil, err
	}
	if err := checkMemory(s, r.Shape(r.N, r.TargetCount())); err != nil {
		return nil, err
	}
	each := func(yield func(mat.Matrix) error) error {
		return r.Each(ctx, func(first int, block datasets.Set) error {
			if block = design.WithoutZeroWeights(first, block); block.Rows() == 0 {
				return nil
			}
			return design.WithFloat64(block.X, yield)
		})
	}
	var err error
	if s.Kernel, err = spectral.Resolve(ctx, s.Kernel, r.Schema, r.Cols, s.Seed, each); err != nil {
		return nil, err
	}
	features, learned, err := s.features(ctx, r, src, each)
	if err != nil {
		return nil, err
	}
	sums := &processSums{features: features, intercept: s.Intercept}
	err = r.Each(ctx, func(first int, block datasets.Set) error { return sums.add(ctx, first, block) })
	if err != nil {
		return nil, err
	}
	f, err := s.solve(ctx, sums)
	if err != nil {
		return nil, err
	}
	f.relevance, f.report.Iterations = learned.relevance, learned.steps
	if learned.noiseless {
		f.report.Warnings = append(f.report.Warnings, noiselessWarning)
	}
	return f, nil
}

const noiselessWarning = "gamma was learned with next to no noise: the targets have none, or rows are repeated; " +
	"then give noise as a number"

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s GaussianProcess) Requirements() []datasets.Requirement {
	if s.Kernel == linearKernel {
		return numericComplete
	}
	return spectral.Requirements(s.Kernel, s.Gamma)
}

// Cost estimates a fit to rows of a shape.
func (s GaussianProcess) Cost(shape datasets.Shape) datasets.Cost {
	n, D, t := float64(shape.Rows), float64(s.Features), float64(max(shape.Outputs, 1))
	mapped := 2*shape.Entries()*D/2 + 20*D
	if s.Kernel == linearKernel {
		D, mapped = float64(shape.Cols), 0
	}
	const values = 10 // of D³, for eigenvalues; measured
	if s.Kernel.IsOwn() {
		const value = 250 // flops of a kernel value
		D = min(D, max(n, 1))
		mapped = D*(value+D) + D*D*D/max(n, 1)
	}
	cost := datasets.Cost{OutputWidth: max(shape.Outputs, 1), Passes: 1}
	cost.Flops = n*(mapped+D*D) + values*D*D*D + 2*D*t*(n+D)
	numbers := 3*D*D + 6*D*t + 1024*D + float64(shape.Cols)*D
	if !s.learnsKernel() {
		if s.Gamma.Rule() != "" && s.Kernel != linearKernel || s.Kernel.IsOwn() {
			cost.Passes++
		}
		cost.Bytes = design.Float64Bytes(numbers)
		return cost
	}
	cost.Passes += 2
	some := float64(min(shape.Rows, s.Rows))
	exactly := 0.0
	m, d := float64(s.learningFeatures()), float64(shape.Cols)
	order := min(some, m)
	if _, ok := s.exactKernel(); ok && some <= exactMost && shape.NonZeros == 0 {
		// Number of starts; evaluations per start with few parameters; cost of small factorizations
		// and inverses relative to large products; single-threaded fraction of it. The features of
		// the model usually confirm the result and then need no optimization.
		const starts, soon, small, alone = 3, 16, 2.5, 0.3
		evaluations := float64(s.Steps)
		if !s.learns("scales") {
			evaluations = min(evaluations, soon)
		}
		learned := starts * evaluations * some * some * (small*some + 4*d + 100)
		cost.Flops += learned + some*(mapped+D*D) + values*D*D*D

		exactly = 4*some*some + 5*some*d
	} else {
		step := 1.5*some*m*order + some*shape.Entries()*m + 1.5*order*order*order + 300*order*order + 100*some*m
		cost.Flops += step * float64(s.Steps+1)
	}
	cost.Bytes = int64(min(8*numbers+8*exactly+6*some*m+24*order*order+(14+8*learningLists)*d*m+24*some*d,
		math.MaxInt64/2))
	return cost
}
