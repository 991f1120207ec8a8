package sweep

import (
	"context"
	"time"

	"github.com/bochner-ml/bochner/estimator"
)

// lone fits what is left of a candidate after depth steps, and shares nothing.
func (s *sweep) lone(ctx context.Context, i int, d foldRows, depth int) {
	if s.Wants(i, d.fold) {
		s.deliver(ctx, i, d.fold, s.fitLone(ctx, i, d, depth))
	}
}

// fitLone fits what is left of a candidate after depth steps and judges it.
func (s *sweep) fitLone(ctx context.Context, i int, d foldRows, depth int) estimator.Outcome {
	start := time.Now()
	fitted, err := s.Fit(ctx, i, depth, d.fitted, d.trainSet())
	return s.judge(ctx, fitted, err, d, start)
}
