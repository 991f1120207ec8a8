package estimator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
)

// LeaveOneOut contains the leave-one-out predictions of ridge regression for several penalties, and
// statistics of them.
type leaveOneOut struct {
	Alphas []float64
	// Predictions has, for each alpha, rows × targets predictions of models that have not seen the
	// row. A row of weight 0 is seen by no model.
	Predictions []*mat.Dense
	// Errors has, for each alpha, the mean over the rows, by weight, and over the targets of the
	// squared error of Predictions.
	Errors []float64
	// GCV has, for each alpha, the generalized cross-validation score (1/n)‖e‖² / (1 − df/n)², a
	// mean squared error that treats all rows alike. (Golub, Heath & Wahba, Technometrics 1979.)
	// With weights s_i it is (Σ s_i·e_i² / Σ s_i) / (1 − df/n)², n the number of rows of weight > 0.
	GCV []float64
	// Freedom has, for each alpha, the effective degrees of freedom tr(H), the intercept's included.
	Freedom []float64
	// Best is the number of the alpha of the smallest of Errors, the first where several are.
	Best int
}

// LeaveOneOut computes exact leave-one-out predictions for each of alphas, which replace s.Alpha,
// without refits: with residual e_i and leverage h_i,
//
//	y_i − ŷ₋ᵢ = e_i / (1 − h_i),  h_i = s_i·(1/Σs + x̃_i'(X̃'SX̃ + α·I)⁻¹x̃_i),
//
// where x̃ is centered, and the term 1/Σs present, only with an intercept. If the rows do not
// outnumber the columns and the intercept, 1 − h cancels; then it uses the n×n matrix K =
// S^½X̃X̃'S^½,
//
//	y_i − ŷ₋ᵢ = a_i / (√s_i·M_ii),  M = P(K + α·I)⁻¹P,  a = M·S^½(y − ȳ),
//
// where P projects out the intercept. It makes one pass for the sums and one for each alpha, and
// costs nd² + a·(d³/3 + nd²) flops for a alphas. Ill-conditioned systems need two or three more
// passes for each alpha. It returns an error if the model without a row is not determined, up to
// rounding. The result has Predictions, Errors, GCV, Freedom and Best, as described at its type.
// (Allen, Technometrics 1974.)
func (s Ridge) LeaveOneOut(ctx context.Context, data datasets.Set, alphas []float64) (*leaveOneOut, error) {
	if err := rejectClassTarget(data.Schema, "ridge"); err != nil {
		return nil, fmt.Errorf("estimator: ridge: leave-one-out: %w", err)
	}
	out, err := s.leaveOneOut(ctx, data, alphas)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // a cancellation causes other errors
		return nil, fmt.Errorf("estimator: ridge: leave-one-out: %w", err)
	}
	return out, nil
}

func (s Ridge) leaveOneOut(ctx context.Context, data datasets.Set, alphas []float64) (*leaveOneOut, error) {
	if len(alphas) == 0 {
		return nil, fmt.Errorf("no alphas")
	}
	for _, a := range alphas {
		s.Alpha = a
		if err := specs.CheckFit(s); err != nil {
			return nil, err
		}
	}
	out, err := leastsquares.LeaveOneOut(ctx, leastsquares.Ridge(s), data, alphas)
	if err != nil {
		return nil, err
	}
	return &leaveOneOut{slices.Clone(alphas), out.Predictions, out.Errors, out.GCV, out.DegreesOfFreedom, out.Best},
		nil
}
