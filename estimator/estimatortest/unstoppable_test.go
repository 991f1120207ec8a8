package estimatortest

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// zeros predicts 0. Its fit and its predictions check their context twice; the deaf ones ignore a
// cancellation at the second check.
type zeros struct{ deafFit, deafPredict bool }

func look(ctx context.Context, deaf bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := ctx.Err(); !deaf {
		return err
	}
	return nil
}

func (z zeros) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := look(ctx, z.deafFit); err != nil {
		return nil, err
	}
	return z, nil
}

func (z zeros) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	if err := look(ctx, z.deafPredict); err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	return make([]float64, n), nil
}

// TestUnstoppable checks that the check of cancellation detects exactly the violations.
func TestUnstoppable(t *testing.T) {
	s := &suite{}
	data := s.sample(1, 20)
	if found := cancellationErrors(zeros{}, data, data.X); len(found) > 0 {
		t.Errorf("an estimator that stops violates the invariant: %v", found)
	}
	for what, spec := range map[string]zeros{"Fit": {deafFit: true}, "Predict": {deafPredict: true}} {
		if found := cancellationErrors(spec, data, data.X); found[what] == nil {
			t.Errorf("a %s that continues when cancelled satisfies the invariant", what)
		}
	}
}
