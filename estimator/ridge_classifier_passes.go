package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
)

// Start starts the pass of sums. If the schema names no classes, or class weights are balanced, a
// counting pass precedes it. The solver is as for [Ridge.Start].
func (s RidgeClassifier) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	const name = "estimator: ridge_classifier"
	if err := s.ridge().checkPasses(name, s, schema, cols); err != nil {
		return nil, err
	}
	if err := rejectLabels(schema); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	sums := &counted{counts: newCounts(schema, false), begin: func(c *counts) (rowSums, error) { return s.sums(cols, c) }}
	if len(schema.Classes()) > 0 && !s.ClassWeight.Balanced {
		var err error
		if sums.sums, err = s.sums(cols, sums.counts); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return newPass(ctx, name, s, schema, cols, sums)
}

// sums returns the sums of the regression on the class codes. They count the classes if no pass has
// counted them.
func (s RidgeClassifier) sums(cols int, c *counts) (*ridgeSums, error) {
	factors, err := c.factors(s.ClassWeight)
	if err != nil {
		return nil, err
	}
	out := &ridgeSums{classes: c.classes()}
	if c.rows == 0 {
		out.mass = make([]float64, len(out.classes))
	}
	out.Sums = leastsquares.NewSums(leastsquares.Ridge(s.ridge()), cols, codedBlocks(out.classes, factors, nil))
	return out, nil
}

// codedBlocks returns the ±1 codes of the classes of a block, and the weights of its rows, which it
// adds to the mass of each class unless that is nil.
func codedBlocks(classes []string, factors, mass []float64) func(first int, block datasets.Set) ([]float64, int,
	[]float64, error) {
	return func(first int, block datasets.Set) ([]float64, int, []float64, error) {
		given, err := design.BlockWeights(first, block)
		if err != nil {
			return nil, 0, nil, err
		}
		l, err := design.BlockLabels(first, block, classes)
		if err != nil {
			return nil, 0, nil, block.Locate(err, first)
		}
		weights := make([]float64, len(l.Y))
		for i, y := range l.Y {
			weights[i] = 1
			if given != nil {
				weights[i] = given[i]
			}
			if mass != nil {
				mass[int(y)] += weights[i]
			}
			if factors != nil {
				weights[i] *= factors[int(y)]
			}
		}
		return l.Signs(make([]float64, len(l.Y)*l.Outputs()), 0), l.Outputs(), weights, nil
	}
}

// Finish returns the [*FittedLinearClassifier] that solves for the sums.
func (s RidgeClassifier) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	const name = "estimator: ridge_classifier"
	all, err := finishedSums[*counted](ctx, name, s, last)
	if err != nil {
		return nil, err
	}
	sums := all.sums.(*ridgeSums)
	model, err := sums.Solution(ctx)
	if err = contextErrorOr(ctx, err); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &FittedLinearClassifier{linear: newLinear(model), classes: sums.classes}, nil
}
