package joint

import (
	"context"

	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/lasso"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
)

// PenalizedLoss is a candidate that minimizes C times a loss plus a penalty.
type PenalizedLoss struct {
	C, Tol    float64
	MaxIter   int
	Intercept bool
	Invalid   error // validation error of the candidate
	// Independent reports whether nothing is shared, as for several labels.
	Independent bool
	// Labels reads the labels of rows.
	Labels func(ctx context.Context, r *design.Rows) (*design.Labels, error)
	// UsesDescent reports whether coordinate descent solves for unmapped rows, rather than Newton's
	// method; nil means never.
	UsesDescent func(r *design.Rows, l *design.Labels) bool
	// Descent returns the task of coordinate descent, including C. Newton returns the task of
	// Newton's method, without C.
	Descent func(l *design.Labels) descent.Task
	Newton  func(l *design.Labels) newton.Task
	// Path starts a path of a number of candidates on rows in memory; nil for solvers without.
	Path func(ctx context.Context, r *design.Rows, l *design.Labels, candidates int) (Next, error)
	// SumsPath starts a path on sums of products, which folds share; nil if there is none.
	SumsPath func(m *lasso.Problem) Next
}

// Next solves for a C from the solution before, whose C was smaller.
type Next func(ctx context.Context, C float64) (solve.Linear, error)
