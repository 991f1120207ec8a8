package batch

import (
	"context"

	"github.com/bochner-ml/bochner/internal/descent"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/newton"
)

// PenalizedLoss is a candidate that minimises C times a loss, and a penalty.
type PenalizedLoss struct {
	Key       string // all but C
	C, Tol    float64
	MaxIter   int
	Intercept bool
	Invalid   error // what is wrong with the candidate
	// Labels reads the targets and weights of rows.
	Labels func(ctx context.Context, r *design.Rows) (*design.Labels, error)
	// UsesDescent reports whether coordinate descent solves for rows as they are, else Newton's method does.
	UsesDescent func(r *design.Rows, l *design.Labels) bool
	// Descent is what coordinate descent is to solve, C included, and Newton what Newton's method is to minimise,
	// without C.
	Descent func(l *design.Labels) descent.Task
	Newton  func(l *design.Labels) newton.Task
}
