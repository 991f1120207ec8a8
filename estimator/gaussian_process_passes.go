package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
)

// processSums are the sums of a pass: products of features and targets.
type processSums struct {
	features  *kernelFeatures
	intercept bool
	moments   *leastsquares.Moments // nil before the first rows
	targets   int
}

// mappedRows is the number of rows mapped at a time.
const mappedRows = 512

func (p *processSums) add(ctx context.Context, first int, block datasets.Set) error {
	y, count, weights, err := design.BlockTargetsAndWeights(first, block)
	if err != nil {
		return err
	}
	if p.moments == nil {
		p.targets = count
		p.moments = leastsquares.NewMoments(p.features.outputWidth(), count, p.intercept)
	}
	if count != p.targets {
		return fmt.Errorf("rows from %d: must have %[3]d targets, got %[2]d", first, count, p.targets)
	}
	if p.features.name == linearKernel {
		if p.moments.Add(ctx, block.X, y, weights) != nil {
			return cmp.Or(ctxerr.Check(ctx), design.NonFiniteError(first, block))
		}
		return nil
	}
	n, D := block.Rows(), p.features.outputWidth()
	hold := design.Borrow[float64](min(n, mappedRows) * D)
	defer hold.Release()
	return design.WithFloat64(block.X, func(X mat.Matrix) error {
		for lo := 0; lo < n; lo += mappedRows {
			hi := min(lo+mappedRows, n)
			tile := mat.NewDense(hi-lo, D, hold.Data[:(hi-lo)*D])
			if err := p.features.mapTo(ctx, tile, rowblock.Slice(X, lo, hi)); err != nil {
				return err
			}
			some := weights
			if weights != nil {
				some = weights[lo:hi]
			}
			if p.moments.Add(ctx, tile, y[lo*count:hi*count], some) != nil {
				return cmp.Or(ctxerr.Check(ctx), design.NonFiniteError(first, block))
			}
		}
		return nil
	})
}

func (p *processSums) merge(_ context.Context, other rowSums) error {
	o := other.(*processSums)
	if o.moments == nil {
		return nil
	}
	if p.moments == nil {
		p.targets = o.targets
		p.moments = leastsquares.NewMoments(p.features.outputWidth(), o.targets, p.intercept)
	}
	if p.targets != o.targets {
		return fmt.Errorf("must have %[2]d targets, got %[1]d", o.targets, p.targets)
	}
	p.moments.Merge(o.moments)
	return nil
}

func (p *processSums) next(context.Context) (rowSums, error) { return nil, p.checkSums() }

// checkSums returns an error if the sums do not determine a model.
func (p *processSums) checkSums() error {
	switch {
	case p.moments == nil:
		return fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	case p.moments.Weight == 0:
		return errors.New("every weight is 0")
	}
	return nil
}

func (p *processSums) state(s *model.State) {
	empty := p.moments == nil
	s.Bool("empty", &empty)
	s.Int("targets", &p.targets)
	if s.Require(p.targets >= 0 && p.targets <= 1<<20 && empty == (p.targets == 0),
		"the targets do not fit"); s.Err() != nil {
		return
	}
	if s.Restoring() {
		p.moments = nil
		if !empty {
			p.moments = &leastsquares.Moments{Cols: p.features.outputWidth()}
		}
	}
	if !empty {
		p.moments.State(s.Child("moments"), p.intercept, p.targets)
	}
}

// Start starts the pass of sums. γ must be given, not learned. More rows can be added to the pass
// at any time, as to that of [Ridge]; noise and amplitude are learned from the sums.
func (s GaussianProcess) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	sums, err := s.begin(ctx, schema, cols)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gaussianProcessName, err)
	}
	return newPass(ctx, gaussianProcessName, s, schema, cols, sums)
}

func (s GaussianProcess) begin(ctx context.Context, schema datasets.Schema, cols int) (*processSums, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	if err := rejectClassTarget(schema, "gaussian_process"); err != nil {
		return nil, err
	}
	if err := checkMemory(s, datasets.Shape{Cols: cols, Outputs: schema.Outputs(), Columns: schema.Columns}); err != nil {
		return nil, err
	}
	sums := &processSums{features: &kernelFeatures{name: string(s.Kernel), width: cols}, intercept: s.Intercept}
	if s.Kernel == linearKernel {
		return sums, nil
	}
	if s.Kernel.IsOwn() {
		return nil, fmt.Errorf("%w: kernel %s needs all rows", datasets.ErrNoPasses, s.Kernel)
	}
	errLearned := fmt.Errorf("%w: gamma is learned from rows; give numbers, and optimize: [noise, amplitude]",
		datasets.ErrNoPasses)
	if s.learnsKernel() {
		return nil, errLearned
	}
	noRows := func(func(mat.Matrix) error) error { return errLearned }
	var err error
	if s.Kernel, err = spectral.Resolve(ctx, s.Kernel, schema, cols, s.Seed, noRows); err != nil {
		return nil, err
	}
	k, _ := spectral.FourierKernel(string(s.Kernel), spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	gamma, err := k.ResolveGamma(ctx, s.Gamma, cols, s.Seed, noRows)
	if err != nil {
		return nil, err
	}
	sums.features, err = s.draw(ctx, k, gamma)
	return sums, err
}

// Finish returns the [*FittedGaussianProcess] of the sums.
func (s GaussianProcess) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	sums, err := finishedSums[*processSums](ctx, gaussianProcessName, s, last)
	if err != nil {
		return nil, err
	}
	f, err := s.solve(ctx, sums)
	if err = contextErrorOr(ctx, err); err != nil {
		return nil, fmt.Errorf("%s: %w", gaussianProcessName, err)
	}
	return f, nil
}

// solve makes the model of the sums.
func (s GaussianProcess) solve(ctx context.Context, sums *processSums) (*FittedGaussianProcess, error) {
	if err := sums.checkSums(); err != nil {
		return nil, err
	}
	m := sums.moments
	var given leastsquares.KnownVariances
	given.Noise, given.Amplitude = s.fixedVariances(m.Variance())
	if t := m.ConstantTarget(); t >= 0 && (given.Noise == 0 || given.Amplitude == 0 || m.Variance() == 0 &&
		s.Noise*s.Amplitude == 0) {
		return nil, fmt.Errorf("target %d is constant: there is nothing to learn noise and amplitude from; give them as "+
			"numbers", t)
	}
	v, fitted, factor, err := m.MaximizeEvidence(ctx, given)
	if err != nil {
		return nil, err
	}
	f := &FittedGaussianProcess{processFunction: processFunction{features: sums.features, linear: newLinear(fitted)},
		noise: v.Noise, amplitude: v.Amplitude, evidence: v.LogEvidence, mean: m.Mean(),
		lower: mat.NewDense(m.Cols, m.Cols, factor.Lower)}
	if s.Intercept {
		f.weight = m.Weight
	}
	f.report.Objective = -v.LogEvidence
	switch {
	case v.AtLowerBound:
		f.report.Warnings = append(f.report.Warnings,
			fmt.Sprintf("the evidence grows as the noise falls to 0: it was left at %.3g of the amplitude", v.Ratio))
	case v.AtUpperBound:
		f.report.Warnings = append(f.report.Warnings, "by the evidence, the inputs are irrelevant for the targets")
	}
	return f, nil
}
