package leastsquares

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Smoother is a ridge regression as a linear map of its targets:
//
//	f(x) = Σ l_i(x)·y_i,  l(x) = Share + V(x − Mean)
//
// V has rows s_i·A⁻¹x̃_i with A = X̃ᵀSX̃ + α·I. Share is MeanWeights, s_i/Σs, or 0 without an
// intercept.
type Smoother struct {
	Rows        []int     // rows of the data with positive weight
	V           []float64 // rows × cols
	Mean        []float64 // of the inputs; zeros without an intercept
	MeanWeights []float64 // by row
	Residuals   []float64 // leave-one-out residuals, rows × targets
}

// NewSmoother returns the smoother of s on rows in memory: rows·cols values, for rows·cols² flops
// in addition to leave-one-out, or rows²·cols if there are at most as many rows as columns.
func NewSmoother(ctx context.Context, s Ridge, data datasets.Set) (*Smoother, error) {
	l, err := newLOOSolver(ctx, s, data)
	if err != nil {
		return nil, err
	}
	if _, err := l.solve(s.Alpha); err != nil {
		return nil, err
	}
	out := &Smoother{}
	for i, m := range l.oneMinusH {
		if l.weight(i) == 0 {
			continue
		}
		out.Rows = append(out.Rows, i)
		for j := range l.targets {
			out.Residuals = append(out.Residuals, l.residual[i*l.targets+j]/m)
		}
	}
	write := l.smoothPrimal
	if l.dual != nil {
		write = l.smoothDual
	}
	out.V, out.MeanWeights = make([]float64, len(out.Rows)*l.rows.Cols), make([]float64, len(out.Rows))
	if err := write(out); err != nil {
		return nil, err
	}
	if !kern.AllFinite(out.V) || !kern.AllFinite(out.Residuals) {
		return nil, errPredictions
	}
	return out, ctxerr.Check(ctx)
}

// smoothPrimal computes V by the factor of A.
func (l *looSolver) smoothPrimal(out *Smoother) error {
	d := l.sums.Cols
	out.Mean = l.sums.Mean()
	lower := kern.Dense(d, d, d, l.factor.Lower)
	const tile = 512
	for lo := 0; lo < len(out.Rows); lo += tile {
		hi := min(lo+tile, len(out.Rows))
		v := kern.Dense(hi-lo, d, d, out.V[lo*d:hi*d])
		for k := lo; k < hi; k++ {
			row, s := v.Row(k-lo), l.weight(out.Rows[k])
			design.WriteRow(row, l.rows.Set.X, out.Rows[k])
			kern.Axpy(-1, out.Mean, row)
			for j, is := range l.factor.constant {
				if is {
					row[j] = 0
				}
			}
			kern.Scale(s, row)
			if l.problem.Intercept {
				out.MeanWeights[k] = s / l.sums.Weight
			}
		}
		if err := kern.SolveCholesky(l.ctx, lower, v.T()); err != nil {
			return err
		}
	}
	return nil
}

// smoothDual computes V by the factor of K + α·I: X̃ᵀS^½(K + α·I)⁻¹S^½ has the rows of V as
// columns.
func (l *looSolver) smoothDual(out *Smoother) error {
	d := l.dual
	out.Mean = d.mean
	v := kern.Dense(d.n, d.cols, d.cols, out.V)
	for i := range d.n {
		d.centeredRow(v.Row(i), i, 0)
	}
	if err := kern.SolveCholesky(l.ctx, kern.Dense(d.n, d.n, d.n, l.factor.Lower), v); err != nil {
		return err
	}
	for i, s := range d.weights {
		kern.Scale(math.Sqrt(s), v.Row(i))
		if l.problem.Intercept {
			out.MeanWeights[i] = s / d.total
		}
	}
	return nil
}
