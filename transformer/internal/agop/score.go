package agop

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
)

// scored is the maximum number of rows of the machines whose errors are compared; searched is the
// number of rows that preselect map, penalty and width. They use float64: float32 errors of wide
// kernels and small penalties would be attributed to the map.
const scored, searched = 1500, 750

// setting contains the hyperparameters of a machine, except its map.
type setting struct {
	alpha float64 // penalty
	width float64 // of the kernel, in median distances
}

// first is the setting of the first round.
var first = setting{1e-2, 1}

// Bounds and steps of the search.
const (
	minAlpha, maxAlpha, alphaStep = 1e-7, 16, 4
	minWidth, maxWidth, widthStep = 1. / 8, 8, 2
)

// validator compares maps by the error of kernel ridge regression on held-out rows.
type validator struct {
	kernel *pairwise.Kernel
	held   int
	y      kern.View[float64] // n×t, centered
	fixed  bool               // whether the width is fixed

	// of the current machine
	u         *mat.Dense // mapped rows
	rows      pairwise.Rows[float64]
	size      int                // number of training rows
	width     float64            // kernel width of K and across, 0 for none
	K, across kern.View[float64] // kernels of the training rows, and of the held-out rows with these
	factor    kern.View[float64]
}

func newJudge(k *pairwise.Kernel, y kern.View[float64], held int, fixed bool) *validator {
	size := min(scored, y.Rows-held)
	return &validator{kernel: k, held: held, y: y, fixed: fixed,
		K: newView[float64](size, size), across: newView[float64](held, size), factor: newView[float64](size, size)}
}

// selectRows selects a machine on at most the given number of mapped training rows.
func (j *validator) selectRows(u *mat.Dense, most int) {
	n, _ := u.Dims()
	j.u, j.size, j.width = u, min(most, n-j.held), 0
}

// best returns a local optimum of the setting, starting at from, and its held-out error. It
// searches the penalty, then the width, and the penalty again if the width has changed.
func (j *validator) best(ctx context.Context, u *mat.Dense, from setting) (at setting, least float64, err error) {
	j.selectRows(u, searched)
	at = from
	if least, err = j.error(ctx, at); err != nil {
		return at, 0, err
	}
	alpha := func(v float64) (float64, error) { return j.error(ctx, setting{v, at.width}) }
	width := func(v float64) (float64, error) { return j.error(ctx, setting{at.alpha, v}) }
	if at.alpha, least, err = minimizeAlong(at.alpha, least, minAlpha, maxAlpha, alphaStep, alpha); err != nil || j.fixed {
		return at, least, err
	}
	before := at.width
	if at.width, least, err = minimizeAlong(at.width, least, minWidth, maxWidth, widthStep, width); err != nil ||
		at.width == before {
		return at, least, err
	}
	at.alpha, least, err = minimizeAlong(at.alpha, least, minAlpha, maxAlpha, alphaStep, alpha)
	return at, least, err
}

// error returns the mean squared error of the machine with a setting on the held-out rows.
func (j *validator) error(ctx context.Context, s setting) (float64, error) {
	if j.width != s.width {
		if err := j.kernels(ctx, s.width); err != nil {
			return 0, err
		}
	}
	size, t := j.size, j.y.Cols
	factor := j.factor.Slice(0, size, 0, size)
	for i := range size {
		copy(factor.Row(i)[:i+1], j.K.Row(i)[:i+1])
	}
	weights, predicted := newView[float64](size, t), newView[float64](j.held, t)
	copy(weights.Data, j.y.Data[j.held*t:])
	if ok, err := solve(ctx, factor, weights, s.alpha); err != nil || !ok {
		return math.Inf(1), err
	}
	kern.Mul(predicted, j.across.Slice(0, j.held, 0, size), weights, false)
	return loss(predicted, j.y), nil
}

// kernels makes K and across for a width.
func (j *validator) kernels(ctx context.Context, width float64) error {
	_, d := j.u.Dims()
	j.rows.Prepare(pairwise.Frame{Factor: equal(d, 1/width)}, j.u, 0, j.held+j.size)
	unseen, seen := j.rows.Slice(0, j.held), j.rows.Slice(j.held, j.held+j.size)
	if err := lowerOf(ctx, j.K.Slice(0, j.size, 0, j.size), seen, j.kernel); err != nil {
		return err
	}
	j.width = width
	return pairwise.Matrix(ctx, j.across.Slice(0, j.held, 0, j.size), unseen, seen, j.kernel)
}

// minimizeAlong searches from at, with error least, downwards or else upwards until the error increases; it
// returns the minimum and its error.
func minimizeAlong(at, least, lowest, highest, step float64, errorOf func(v float64) (float64, error)) (float64,
	float64, error) {
	for _, factor := range []float64{1 / step, step} {
		moved := false
		for next := at * factor; lowest <= next && next <= highest; next *= factor {
			e, err := errorOf(next)
			if err != nil {
				return at, 0, err
			}
			if e < least {
				least, at, moved = e, next, true
			} else if !math.IsInf(least, 1) {
				break
			}
		}
		if moved {
			break
		}
	}
	return at, least, nil
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
