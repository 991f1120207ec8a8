package estimator

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/model"
)

// Posterior is ridge regression read as Bayesian linear regression, which on random features is a
// gaussian process: weights w ~ N(0, (noise/Alpha)·I), a flat prior for the intercept, and
// observations y_i ~ N(w'x_i + b, noise/s_i). Its mean is ridge's prediction.
type Posterior struct {
	linear
	noise    float64
	evidence float64
	mean     []float64  // of the inputs; zeros without an intercept
	weight   float64    // Σ s, 0 without an intercept
	lower    *mat.Dense // L, LL' = X̃'SX̃ + Alpha·I
}

var (
	_ FullPredictor  = (*Posterior)(nil)
	_ Reporter       = (*Posterior)(nil)
	_ model.Stateful = (*Posterior)(nil)
)

// FitPosterior learns from one target, given the variance of the noise of an observation of weight
// 1. Alpha is noise over the prior variance of a weight, so that Alpha = noise is the prior N(0, I).
// It reads the data once, as the solver cholesky does: nd² + d³/3 flops, d² numbers in memory.
// (Rasmussen & Williams 2006, section 2.1.)
func (s Ridge) FitPosterior(ctx context.Context, data datasets.Set, noise float64) (*Posterior, error) {
	return s.FitPosteriorSource(ctx, data.Source(), noise)
}

// FitPosteriorSource is FitPosterior for rows that come as a stream of blocks.
func (s Ridge) FitPosteriorSource(ctx context.Context, data datasets.Source, noise float64) (*Posterior, error) {
	p, err := s.posterior(ctx, data, noise)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // whatever else there is comes of stopping
		return nil, fmt.Errorf("estimator: ridge: posterior: %w", err)
	}
	return p, nil
}

func (s Ridge) posterior(ctx context.Context, data datasets.Source, noise float64) (*Posterior, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	if err := rejectClassTarget(data.Schema(), "ridge"); err != nil {
		return nil, err
	}
	if s.Alpha == 0 || !(noise > 0) || math.IsInf(noise, 0) {
		return nil, fmt.Errorf("alpha and noise: must be numbers > 0, got %v and %v", s.Alpha, noise)
	}
	r, err := design.FromSource(ctx, data)
	if err != nil {
		return nil, err
	}
	rows, logWeights := 0, 0.0
	watched := func(first int, block datasets.Set) ([]float64, int, []float64, error) {
		y, count, weights, err := design.BlockTargetsAndWeights(first, block)
		if err == nil && count != 1 {
			err = fmt.Errorf("must have one target, got %d", count)
		}
		rows += block.Rows()
		for _, w := range weights {
			if w == 0 {
				rows--
			} else {
				logWeights += math.Log(w)
			}
		}
		return y, count, weights, err
	}
	m, err := leastsquares.NewProblem(leastsquares.Ridge(s), r, watched).Moments(ctx)
	if err != nil {
		return nil, err
	}
	out, err := m.Posterior(ctx, s.Alpha, noise, rows, logWeights)
	if err != nil {
		return nil, err
	}
	return &Posterior{linear: newLinear(out.Linear), noise: noise, evidence: out.Evidence, mean: out.Mean,
		weight: out.Weight,
		lower:  mat.NewDense(m.Cols, m.Cols, out.Lower)}, nil
}

// LogMarginalLikelihood returns the log density of the training targets, all unknowns integrated
// out; with an intercept, that of their differences (the restricted likelihood), for its prior is
// flat. Compare it between kernels, widths, penalties and noises.
func (p *Posterior) LogMarginalLikelihood() float64 { return p.evidence }

// Predict returns the mean of the target of each row of X.
func (p *Posterior) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	out := make([]float64, n)
	if err := p.score(ctx, out, X); err != nil {
		return nil, err
	}
	return out, nil
}

// Outputs returns values and standard deviations.
func (p *Posterior) Outputs() Outputs { return Outputs{Has: Values | Std} }

// PredictFull returns the mean of a new observation of weight 1 at each row of X, and its standard
// deviation sqrt(noise·(1 + 1/Σs + x̃'(X̃'SX̃ + Alpha·I)⁻¹x̃)), the 1/Σs being the intercept's. Cost d²
// flops for each row.
func (p *Posterior) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	mean, err := p.Predict(ctx, X)
	if err != nil || !want.Wants(Std) {
		return Prediction{Values: mean}, err
	}
	std := make([]float64, len(mean))
	if err := unexplained(ctx, std, X, p.mean, p.weight, p.lower); err != nil {
		return Prediction{}, err
	}
	for i, v := range std {
		std[i] = math.Sqrt(p.noise * v)
	}
	if !kern.AllFinite(std) {
		return Prediction{}, errTooLarge
	}
	return Prediction{Values: mean, Std: std}, nil
}

// unexplained writes 1 + 1/weight + x̃'(LL')⁻¹x̃ of each row x of X to dst: the variance of a new
// observation in parts of the noise. Without a weight there is no intercept.
func unexplained(ctx context.Context, dst []float64, X mat.Matrix, mean []float64, weight float64,
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
			dst[lo+i] = variance
		}
	}
	return nil
}

// State is the model's state for a model file.
func (p *Posterior) State(s *model.State) {
	p.state(s)
	s.Float("noise", &p.noise)
	s.Float("evidence", &p.evidence)
	s.Float("weight", &p.weight)
	s.Floats("mean", &p.mean)
	s.Matrix("lower", &p.lower)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	d := p.coef.RawMatrix().Cols
	s.Require(p.outputs() == 1 && len(p.mean) == d && p.lower != nil && p.lower.RawMatrix().Rows == d &&
		p.lower.RawMatrix().Cols == d,
		"the parts of the posterior differ in width")
	if s.Err() != nil {
		return
	}
	s.Require(p.weight >= 0, "the weight of the posterior is below 0")
	for i := range d {
		s.Require(p.lower.At(i, i) > 0, "the factor of the posterior is singular")
	}
	s.Require(p.noise > 0 && kern.AllFinite([]float64{p.noise, p.weight, p.evidence}) && kern.AllFinite(p.mean) &&
		kern.AllFinite(p.lower.RawMatrix().Data), "the posterior has numbers that are not finite")
}
