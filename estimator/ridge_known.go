package estimator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/solve"
)

// knownRidge is a Ridge whose sums of all rows are known. It reads these only where the solution has to be refined.
type knownRidge struct {
	Ridge
	sums func() *leastsquares.Moments
}

// Fit is [Ridge.Fit] for the rows of the sums.
func (s knownRidge) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := design.OfSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return s.fit(ctx, r)
}

// FitSource is Fit for rows as a stream.
func (s knownRidge) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := design.OfSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return s.fit(ctx, r)
}

func (s knownRidge) fit(ctx context.Context, r *design.Rows) (Predictor, error) {
	return s.fitBy(r, func(p *leastsquares.Problem) (solve.Linear, error) {
		sums := s.sums()
		if r.N >= 0 && r.N != sums.Rows() || r.Cols != sums.Cols {
			return solve.Linear{}, fmt.Errorf("sums of %d rows and %d columns, to be fitted to %d and %d", sums.Rows(), sums.Cols, r.N, r.Cols)
		}
		model, err := p.SolveMoments(ctx, sums)
		return model, cmp.Or(cause.Err(ctx), err)
	})
}
