package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
)

// FitBatch over rows prepares the training rows of a fold once for all candidates solved by
// coordinate descent, and follows C from the smallest to the largest with warm starts
// (regularization path). Each is solved to its own Tol, so predictions agree with a separate fit to
// that tolerance. Candidates for newton are fitted separately. Folds run concurrently. A path
// always starts at its smallest C, whatever is included.
//
// On related maps it shares work as [Logistic.FitBatch] does, for losses solved by newton.
func (s SVM) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch supports batches on unmapped rows, and on related maps if the solver is newton.
func (s SVM) PlanBatch(b batch.Job) (int64, error) { return pathBytes(b) }

// FitBatch on unmapped rows shares work as [SVM.FitBatch] does.
//
// On related maps it maps the rows once for all candidates of a map. For each fold, it proceeds
// from few features to many and from small C to large, with warm starts and zeros for new features.
// Every problem is solved to its own tolerance, relative to the gradient at 0 as in Fit, so that
// results agree with those of Fit to that tolerance. A path always starts at its smallest C, so
// results do not depend on what is included. The rows of folds are not copied. Folds run
// concurrently.
func (s Logistic) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch is [SVM.PlanBatch].
func (s Logistic) PlanBatch(b batch.Job) (int64, error) { return pathBytes(b) }

// FitBatch on unmapped rows shares work as [SVM.FitBatch] does, between candidates of equal
// Epsilon.
func (s SVR) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch supports batches on unmapped rows.
func (s SVR) PlanBatch(b batch.Job) (int64, error) { return pathBytes(b) }

// Shared returns the spec without C.
func (s SVM) Shared() any { s.C = 0; return s }

// Shared returns the spec without C.
func (s SVR) Shared() any { s.C = 0; return s }

// Shared returns the spec without C.
func (s Logistic) Shared() any { s.C = 0; return s }

// Shared returns the spec without the amount of Alpha.
func (s Huber) Shared() any { s.Alpha = presence(s.Alpha); return s }

// Shared returns the spec without the amount of Alpha.
func (s Poisson) Shared() any { s.Alpha = presence(s.Alpha); return s }

// Shared returns the spec without the amount of Alpha.
func (s GammaRegression) Shared() any { s.Alpha = presence(s.Alpha); return s }

// Shared returns the spec without the amount of Alpha.
func (s Tweedie) Shared() any { s.Alpha = presence(s.Alpha); return s }

// presence returns 1 for a penalty and 0 for none: then the objective has no factor of the loss.
func presence(alpha float64) float64 {
	if alpha == 0 {
		return 0
	}
	return 1
}

// fitPenalized is FitBatch of candidates of the type of kind.
func fitPenalized[S interface {
	penalized
	batch.Fitter
}](ctx context.Context, b batch.Job, kind S) ([]string, error) {
	specs, err := specsOf[S](b, kind.name())
	if err != nil {
		return nil, err
	}
	list := make([]joint.PenalizedLoss, len(specs))
	for i, s := range specs {
		list[i] = s.plain()
		list[i].Independent = b.Data.Targets != nil || b.HasMaps() && !datasets.TagsOf(s).SharedMaps
	}
	fit := joint.FitByDescent
	if b.HasMaps() {
		fit = joint.FitByNewton
	}
	return fitJointly(ctx, b, kind.name(), kind.fitted, fit, list)
}

// pathBytes is the memory of a batch: on related maps that of the paths, else that of a fit.
func pathBytes(b batch.Job) (int64, error) {
	if b.HasMaps() {
		return joint.FitByNewtonBytes(b), nil
	}
	return b.MaxFitBytes(), nil
}
