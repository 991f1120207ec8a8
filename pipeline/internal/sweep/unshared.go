package sweep

import (
	"context"
	"time"

	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/transformer"
)

// fitUnshared fits the remaining steps and the estimator of candidate i, after depth steps, without
// sharing.
func (s *sweep) fitUnshared(ctx context.Context, i int, d foldRows, depth int) {
	if s.Includes(i, d.fold) {
		s.deliver(ctx, i, d.fold, s.predictUnshared(ctx, i, d, depth))
	}
}

// predictUnshared is fitUnshared that returns the outcome on the test rows.
func (s *sweep) predictUnshared(ctx context.Context, i int, d foldRows, depth int) (out share.Outcome) {
	start := time.Now()
	var next transformer.Fitter
	if len(d.stages) > 0 {
		var late *timeShift
		next, late = s.deriveStep(s.Pipelines[i].Steps[depth].Fitter, d.stages, 1)
		defer func() { out.Seconds += late.seconds }()
	}
	fitted, err := s.Fit(ctx, i, depth, next, d.trainSet())
	return s.predictFold(ctx, fitted, err, d, start)
}
