package agop

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
)

// scored is how many rows, at most, the machine is fitted to whose errors are compared. Its arithmetic is
// float64: what wide kernels and small penalties lose to float32 would count as an error of the map.
const scored = 1500

// The penalties and widths that are tried, in steps: where the first round begins, and the ends.
const (
	firstAlpha, leastAlpha, mostAlpha, alphaStep = 1e-2, 1e-7, 16, 4
	firstWidth, leastWidth, mostWidth, widthStep = 1, 1. / 8, 8, 2
)

// judge compares maps by how well kernel ridge regression behind them predicts the rows that are held out.
type judge struct {
	kernel *pairwise.Kernel
	held   int
	y      kern.View[float64] // n×t, centred
	fixed  bool               // whether the width is not to be chosen

	alpha, width float64 // those of the last map: where the next one begins
}

// score returns the least error for mapped rows, and leaves in alpha and width what it takes.
func (j *judge) score(ctx context.Context, u *mat.Dense) (least float64, err error) {
	n, d := u.Dims()
	size := min(scored, n-j.held)
	least = math.Inf(1)
	start := j.alpha
	of := func(width float64) (float64, error) {
		frame := pairwise.Frame{Factor: equal(d, 1/width)}
		rows := pairwise.NewRows[float64](frame, u.Slice(0, j.held+size, 0, d))
		e, alpha, err := j.penalise(ctx, rows, start)
		if err != nil {
			return 0, err
		}
		if start = alpha; e < least {
			least, j.alpha, j.width = e, alpha, width
		}
		return e, nil
	}
	if j.fixed {
		_, err = of(j.width)
	} else {
		_, _, err = walk(j.width, leastWidth, mostWidth, widthStep, of)
	}
	return least, err
}

// penalise returns the least error of any penalty, and that penalty.
func (j *judge) penalise(ctx context.Context, rows pairwise.Rows[float64], start float64) (least, alpha float64, err error) {
	size, t := rows.Len()-j.held, j.y.Cols
	unseen, seen := rows.Slice(0, j.held), rows.Slice(j.held, rows.Len())
	K, across := newView[float64](size, size), newView[float64](j.held, size)
	if err := pairwise.Matrix(ctx, K, seen, seen, j.kernel); err != nil {
		return 0, 0, err
	}
	if err := pairwise.Matrix(ctx, across, unseen, seen, j.kernel); err != nil {
		return 0, 0, err
	}
	factor, weights, predicted := newView[float64](size, size), newView[float64](size, t), newView[float64](j.held, t)
	return walk(start, leastAlpha, mostAlpha, alphaStep, func(alpha float64) (float64, error) {
		copy(factor.Data, K.Data)
		copy(weights.Data, j.y.Data[j.held*t:])
		ok, err := solve(ctx, factor, weights, alpha)
		if err != nil || !ok {
			return math.Inf(1), err
		}
		kern.Mul(predicted, across, weights, false)
		return loss(predicted, j.y), nil
	})
}

// walk returns the least error and where it is, from start on downwards, or upwards, until it grows.
func walk(start, lowest, highest, step float64, errorOf func(v float64) (float64, error)) (least, at float64, err error) {
	at = start
	if least, err = errorOf(start); err != nil {
		return 0, 0, err
	}
	for _, factor := range []float64{1 / step, step} {
		moved := false
		for next := at * factor; lowest <= next && next <= highest; next *= factor {
			e, err := errorOf(next)
			if err != nil {
				return 0, 0, err
			}
			if !(e < least) && !math.IsInf(least, 1) {
				break
			}
			least, at, moved = e, next, true
		}
		if moved {
			break
		}
	}
	return least, at, nil
}

// loss returns the mean squared difference of predictions and the first rows of the targets.
func loss(predicted, y kern.View[float64]) float64 {
	sum := 0.0
	for i := range predicted.Rows {
		for c := range predicted.Cols {
			e := predicted.At(i, c) - y.At(i, c)
			sum += e * e
		}
	}
	if sum /= float64(predicted.Rows * predicted.Cols); sum != sum {
		return math.Inf(1)
	}
	return sum
}

// solve overwrites b with (K + alpha·I)⁻¹b, and the lower triangle of K with its factor; ok is false where
// rounding makes K singular.
func solve[T kern.Float](ctx context.Context, K, b kern.View[T], alpha float64) (ok bool, err error) {
	for i := range K.Rows {
		K.Set(i, i, K.At(i, i)+T(alpha))
	}
	if _, ok, err = kern.Cholesky(ctx, K); err != nil || !ok {
		return false, err
	}
	return true, kern.SolveCholesky(ctx, K, b)
}

// equal returns a list of equal numbers.
func equal(n int, v float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

func newView[T kern.Float](rows, cols int) kern.View[T] {
	return kern.Dense(rows, cols, cols, make([]T, rows*cols))
}
