package estimator

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/evidence"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/sample"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

const (
	learningLists = 8    // lists of frequencies, used cyclically by the steps
	learningMost  = 600  // maximum number of features of a list
	exactMost     = 1000 // maximum number of rows for the exact kernel
	// maximum ratio of the noise on the features of the model to that of the exact kernel, above
	// which scales are learned by features
	carried = 2
)

// learningFeatures returns the number of features on which gamma or scales are learned.
func (s GaussianProcess) learningFeatures() int { return min(s.Features, learningMost) }

// learnedWidths contains γ of each input and the report of its optimization.
type learnedWidths struct {
	gamma     []float64
	relevance []float64 // nil where scales were not learned
	steps     int       // steps of the optimizer
	noiseless bool      // whether the optimizer ended at the minimum noise
}

// features returns the feature map of the model, and the learned γ.
func (s GaussianProcess) features(ctx context.Context, r *design.Rows, src datasets.Source,
	each func(yield func(mat.Matrix) error) error) (*kernelFeatures, learnedWidths, error) {
	if s.Kernel == linearKernel {
		return &kernelFeatures{name: string(s.Kernel), width: r.Cols}, learnedWidths{}, nil
	}
	if s.Kernel.IsOwn() {
		f, err := s.ownFeatures(ctx, src)
		return f, learnedWidths{}, err
	}
	k, _ := spectral.FourierKernel(string(s.Kernel), spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	var w learnedWidths
	var err error
	if s.learnsKernel() {
		w, err = s.learn(ctx, k, src)
	} else {
		w.gamma, err = k.ResolveGamma(ctx, s.Gamma, r.Cols, s.Seed, each)
	}
	if err != nil {
		return nil, learnedWidths{}, err
	}
	f, err := s.draw(ctx, k, w.gamma)
	return f, w, err
}

// ownFeatures returns the features of a kernel of the caller.
func (s GaussianProcess) ownFeatures(ctx context.Context, src datasets.Source) (*kernelFeatures, error) {
	set, err := datasets.ReadAll(ctx, src)
	if err != nil {
		return nil, err
	}
	own, rows, err := kernelridge.NewOwnFeatures(ctx, s.Kernel, set, s.Features, s.Seed)
	if err != nil {
		return nil, err
	}
	f := &kernelFeatures{name: string(s.Kernel), nu: s.Nu, shape: s.Shape, gamma: rows.Gamma, own: own}
	if s.Kernel != kernel.Precomputed {
		return f, nil
	}
	diagonal, err := own.Diagonal(rows.X)
	if err != nil {
		return nil, err
	}
	f.diagonal = diagonal[0]
	for i, v := range diagonal {
		if math.Abs(v-f.diagonal) > pairwise.SymmetryTol*math.Abs(f.diagonal) {
			err := fmt.Errorf("kernel: precomputed: the diagonal of the Gram matrix must be the same number for all rows, got "+
				"%v and %v; divide each value by the root of the two on the diagonal", f.diagonal, v)
			return nil, set.Locate(&datasets.RowError{Row: i, Err: err}, 0)
		}
	}
	return f, nil
}

// draw draws the features for a γ of each input.
func (s GaussianProcess) draw(ctx context.Context, k spectral.Kernel, gamma []float64) (*kernelFeatures, error) {
	draws, err := fourier.Draw(ctx, k, s.Seed, len(gamma), s.Features/2, true)
	if err != nil {
		return nil, err
	}
	f := &kernelFeatures{name: string(s.Kernel), nu: s.Nu, shape: s.Shape, gamma: gamma}
	return f, f.finish(k, draws)
}

// gammaProblem is the training problem of γ.
type gammaProblem struct {
	kernel    spectral.Kernel
	sample    sample.Sample
	problem   evidence.Problem // start of the optimization
	point     evidence.Point   // that a descent starts from
	factor    []float64        // factor of each standardized input before its scale
	deviation []float64        // of each input
	start     []float64        // initial scale of each standardized input
}

// learn maximizes the evidence of a sample of the rows over γ of each input.
func (s GaussianProcess) learn(ctx context.Context, k spectral.Kernel, src datasets.Source) (learnedWidths, error) {
	l, err := s.gammaProblem(ctx, k, src)
	if err != nil {
		return learnedWidths{}, err
	}
	rows, _ := l.problem.X.Dims()
	_, isDense := l.problem.X.(*mat.Dense)
	if exact, ok := s.exactKernel(); ok && isDense && rows <= exactMost {
		return s.learnExact(ctx, exact, l)
	}
	learned, err := s.optimizeOnFeatures(ctx, l)
	if err != nil {
		return learnedWidths{}, err
	}
	return s.widths(l, learned), nil
}

// learnExact uses the exact kernel, and then features if those of the model do not reproduce the
// result.
func (s GaussianProcess) learnExact(ctx context.Context, k *pairwise.Kernel, l gammaProblem) (learnedWidths, error) {
	exactly, err := s.optimizeExact(ctx, k, l)
	if err != nil {
		return learnedWidths{}, err
	}
	w := s.widths(l, exactly)
	first, err := s.likelihood(ctx, l, w.gamma)
	if err != nil {
		return learnedWidths{}, err
	}
	if noise := kern.Sum(first.Noise) / float64(len(first.Noise)); !l.problem.KeepNoise && noise <= carried*exactly.Noise {
		return w, nil
	}
	onFeatures, err := s.optimizeOnFeatures(ctx, l)
	if err != nil {
		return learnedWidths{}, err
	}
	other := s.widths(l, onFeatures)
	second, err := s.likelihood(ctx, l, other.gamma)
	if err != nil {
		return learnedWidths{}, err
	}
	if second.LogEvidence > first.LogEvidence {
		return other, nil
	}
	return w, nil
}

// gammaProblem samples and standardizes rows for learning γ.
func (s GaussianProcess) gammaProblem(ctx context.Context, k spectral.Kernel, src datasets.Source) (gammaProblem,
	error) {
	from := sample.From{Name: "sample", Source: src, Check: finiteInputs, Common: !s.learnsNoise() || !s.learnsAmplitude()}
	taken, err := sample.Take(ctx, from, s.Rows, s.Seed)
	if err != nil {
		return gammaProblem{}, err
	}
	_, d := taken.X.Dims()
	each := make([]int, d)
	for j := range each {
		each[j] = j
	}
	X, deviation, err := sample.Standardized(ctx, taken.X, each, src.Schema())
	if err != nil {
		return gammaProblem{}, err
	}
	start, err := s.start(ctx, k, taken.X, X, deviation)
	if err != nil {
		return gammaProblem{}, err
	}
	l := gammaProblem{kernel: k, sample: taken, deviation: deviation, start: start, factor: make([]float64, d)}
	l.problem = evidence.Problem{X: X, Y: taken.Y, KeepNoise: !s.learnsNoise(), KeepAmplitude: !s.learnsAmplitude()}
	unit := taken.Units[0] * taken.Units[0]
	noise, amplitude := s.fixedVariances(unit)
	l.point = evidence.Point{Scales: start, Noise: 0.3, Amplitude: 1}
	if l.problem.KeepNoise {
		l.point.Noise = noise / unit
	}
	if l.problem.KeepAmplitude {
		l.point.Amplitude = amplitude / unit
	}
	if !s.learns("scales") { // one factor on those of the start
		l.problem.Group, l.point.Scales = make([]int, d), []float64{1}
		copy(l.factor, start)
		return l, nil
	}
	for j := range l.factor {
		l.factor[j] = 1
	}
	return l, nil
}

// fixedVariances returns the fixed values of noise and amplitude; 0 if learned.
func (l gammaProblem) fixedVariances() (g leastsquares.KnownVariances) {
	if l.problem.KeepNoise {
		g.Noise = l.point.Noise
	}
	if l.problem.KeepAmplitude {
		g.Amplitude = l.point.Amplitude
	}
	return g
}

// likelihood returns noise, amplitude and evidence of the sample on the features of the model with
// the given γ. If the optimization fails, all variance is noise.
func (s GaussianProcess) likelihood(ctx context.Context, l gammaProblem, gamma []float64) (leastsquares.Variances,
	error) {
	features, err := s.draw(ctx, l.kernel, gamma)
	if err != nil {
		return leastsquares.Variances{}, err
	}
	sums := &processSums{features: features, intercept: s.Intercept}
	if err := sums.add(ctx, 0, datasets.Set{X: l.sample.X, Targets: l.sample.Y}); err != nil {
		return leastsquares.Variances{}, err
	}
	v, _, _, err := sums.moments.MaximizeEvidence(ctx, l.fixedVariances())
	if err != nil { // the fit that follows reports it if it has the same error
		return leastsquares.Variances{Noise: []float64{math.Inf(1)}, LogEvidence: math.Inf(-1)}, ctxerr.Check(ctx)
	}
	return v, nil
}

// exactKernel returns the kernel as a function of ‖x − x'‖₂, if it is one.
func (s GaussianProcess) exactKernel() (*pairwise.Kernel, bool) {
	k, ok := pairwise.NewKernel(string(s.Kernel), spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	return k, ok && k.Metric == pairwise.Squared
}

// optimizeExact learns scales with the exact kernel from three starts, because the evidence of few
// rows has several local maxima.
func (s GaussianProcess) optimizeExact(ctx context.Context, k *pairwise.Kernel, l gammaProblem) (evidence.Result,
	error) {
	g := l.fixedVariances()
	e := evidence.Exact{X: mat.DenseCopyOf(l.problem.X), Y: l.problem.Y, Kernel: k, Group: l.problem.Group,
		Intercept: s.Intercept,
		Noise:     g.Noise, Amplitude: g.Amplitude}
	n, _ := e.X.Dims()
	for i := range n {
		for j, f := range l.factor {
			e.X.Set(i, j, f*e.X.At(i, j))
		}
	}
	var starts []evidence.Point
	for _, times := range []float64{1, 1.0 / 3, 2} {
		start := l.point
		start.Scales = slices.Clone(start.Scales)
		kern.Scale(times, start.Scales)
		starts = append(starts, start)
	}
	return e.Minimize(ctx, starts, s.Steps)
}

// start returns the scale that each standardized input starts from.
func (s GaussianProcess) start(ctx context.Context, k spectral.Kernel, given, standardized mat.Matrix,
	deviation []float64) ([]float64, error) {
	X, own := given, s.Gamma.Rule() != "" && s.learns("scales") && !k.Columns
	if own {
		X = standardized
	}
	gamma, err := k.ResolveGammaOf(ctx, s.Gamma, X, s.Seed)
	if err != nil {
		return nil, err
	}
	out := k.Factors(gamma)
	for j, sd := range deviation {
		if !own && sd > 0 {
			out[j] *= sd
		}
	}
	return out, nil
}

// optimizeOnFeatures learns scales on features whose frequencies are fixed draws times one factor per input.
func (s GaussianProcess) optimizeOnFeatures(ctx context.Context, l gammaProblem) (evidence.Result, error) {
	d, m := len(l.factor), s.learningFeatures()/2
	draws, err := fourier.Draw(ctx, l.kernel, s.Seed, d, learningLists*m, true)
	if err != nil {
		return evidence.Result{}, err
	}
	lists := make([]*mat.Dense, learningLists)
	for i := range lists {
		lists[i] = mat.DenseCopyOf(draws.Base.Slice(0, d, i*m, (i+1)*m))
		for j, f := range l.factor {
			kern.Scale(f, lists[i].RawRowView(j))
		}
	}
	learned, err := evidence.Minimize(ctx, l.problem, lists, l.point, 1, s.Steps)
	learned.Steps = s.Steps
	return learned, err
}

// widths returns γ of the original inputs, given the scales of the standardized ones.
func (s GaussianProcess) widths(l gammaProblem, learned evidence.Result) learnedWidths {
	w := learnedWidths{gamma: make([]float64, len(l.factor)), steps: learned.Steps, noiseless: learned.AtMinNoise}
	for j, sd := range l.deviation {
		scale := l.factor[j] * learned.Scales[min(j, len(learned.Scales)-1)]
		if s.learns("scales") {
			w.relevance = append(w.relevance, scale)
		}
		if sd > 0 {
			scale /= sd
		} else {
			scale = l.start[j]
			if w.relevance != nil {
				w.relevance[j] = 0
			}
		}
		w.gamma[j] = min(max(math.Pow(scale, 1/l.kernel.Power), math.SmallestNonzeroFloat64), math.MaxFloat64)
	}
	if w.relevance != nil {
		largest := slices.Max(w.relevance)
		for j := range w.relevance {
			w.relevance[j] /= largest
		}
	}
	return w
}

// finiteInputs refuses a block with inputs that are not finite numbers.
func finiteInputs(first int, block datasets.Set) error {
	return design.WithFloat64(design.Native(block.X), func(X mat.Matrix) error {
		if m, ok := X.(*matrices.CSR); ok {
			shared, _ := m.Shared()
			if _, _, values := m.Raw(); !kern.AllFinite(values) || shared-shared != 0 {
				return design.NonFiniteError(first, block)
			}
			return nil
		}
		n, _ := X.Dims()
		for i := range n {
			if !kern.AllFinite(X.(*mat.Dense).RawRowView(i)) {
				return design.NonFiniteError(first, block)
			}
		}
		return nil
	})
}
