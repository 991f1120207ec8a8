package leastsquares

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Smoother is a ridge regression as what it does to targets, to which its predictions are linear:
//
//	f(x) = Σ l_i(x)·y_i,  l(x) = Share + V(x − Mean)
//
// With row weights s, V has the rows s_i·A⁻¹x̃_i, A = X̃'SX̃ + α·I, and Share is s_i/Σs, or 0 without an
// intercept.
type Smoother struct {
	Rows        []int     // the rows of the data that there is a weight for: those with a weight above 0
	V           []float64 // rows × cols
	Mean        []float64 // of the inputs; zeros without an intercept
	MeanWeights []float64 // rows
	Residuals   []float64 // rows × targets: what the targets are above what the models of all other rows predict
}

// NewSmoother returns the smoother that s is on rows in memory: rows·cols numbers, for rows·cols² flops beyond what
// leaving one out takes, or rows²·cols where there are no more rows than columns.
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

// smoothPrimal writes V by the factor of A.
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

// smoothDual writes V by the factor of the n×n matrix: X̃'S^½(K + α·I)⁻¹S^½ has its rows for columns.
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
