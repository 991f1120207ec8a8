package sweep

import (
	"context"
	"time"

	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/transformer"
)

// lone fits what is left of a candidate after depth steps, and shares nothing.
func (s *sweep) lone(ctx context.Context, i int, d foldRows, depth int) {
	if s.Includes(i, d.fold) {
		s.deliver(ctx, i, d.fold, s.fitLone(ctx, i, d, depth))
	}
}

// fitLone fits what is left of a candidate after depth steps and judges it.
func (s *sweep) fitLone(ctx context.Context, i int, d foldRows, depth int) (out share.Outcome) {
	start := time.Now()
	var next transformer.Fitter
	if len(d.learned) > 0 {
		var late *shift
		next, late = s.deriving(s.Pipelines[i].Steps[depth].Fitter, d.learned, 1)
		defer func() { out.Seconds += late.seconds }()
	}
	fitted, err := s.Fit(ctx, i, depth, next, d.trainSet())
	return s.judge(ctx, fitted, err, d, start)
}
