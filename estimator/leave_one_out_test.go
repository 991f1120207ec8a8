package estimator

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
)

func gaussians(seed uint64, n, d int) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.NormFloat64())
		}
		y[i] = rng.NormFloat64() + 3
	}
	return datasets.Set{X: x, Y: y}
}

// withAlike makes three rows the same.
func withAlike(data datasets.Set) datasets.Set {
	x := data.X.(*mat.Dense)
	x.SetRow(3, x.RawRowView(7))
	x.SetRow(4, x.RawRowView(7))
	return data
}

// withOwnColumn adds a last column that is nonzero in one row only.
func withOwnColumn(data datasets.Set) datasets.Set {
	x := data.X.(*mat.Dense)
	n, d := x.Dims()
	for i := range n {
		x.Set(i, d-1, 0)
	}
	x.Set(n/2, d-1, 1)
	return data
}

// Leave-one-out predictions equal fits without the row in extended precision, for any shape,
// condition and penalty, to 1e-6 of the largest error; otherwise there is an error with the reason.
func TestLeaveOneOutEqualsExactRefits(t *testing.T) {
	for name, c := range map[string]struct {
		data    datasets.Set
		refuses float64 // up to this alpha
		off     float64
	}{
		"fewer rows":                   {data: gaussians(3, 12, 24), off: 1e-12},
		"a row for each column":        {data: gaussians(4, 12, 12), off: 1e-9},
		"one row more than columns":    {data: gaussians(5, 13, 12), off: 1e-9},
		"two rows more than columns":   {data: gaussians(6, 14, 12), off: 1e-9},
		"powers":                       {data: powers(22, 10), off: 1e-7},
		"powers, fewer rows":           {data: powers(10, 14), off: 1e-7},
		"rows alike":                   {data: withAlike(gaussians(1, 10, 16)), refuses: 1e-12, off: 1e-5},
		"a row with a column":          {data: withOwnColumn(gaussians(2, 18, 5)), refuses: 1e-12, off: 1e-5},
		"a row with a column, tenfold": {data: withOwnColumn(gaussians(7, 40, 4)), refuses: 1e-12, off: 1e-5},
	} {
		rng := rand.New(rand.NewPCG(9, 9))
		weights := make([]float64, c.data.Rows())
		for i := range weights {
			weights[i] = 0.1 + 3*rng.Float64()
		}
		for _, intercept := range []bool{true, false} {
			for _, alpha := range []float64{1e-12, 1e-9, 1e-6, 0.01} {
				s := NewRidge()
				s.Intercept = intercept
				at := fmt.Sprintf("%s, intercept %v, alpha %v", name, intercept, alpha)
				data := c.data
				if intercept {
					data.Weights = weights
				}
				got, err := s.LeaveOneOut(context.Background(), data, []float64{alpha})
				if (err != nil) != (alpha <= c.refuses) {
					t.Errorf("%s: error %v", at, err)
				}
				if err == nil {
					if off := offExactRefits(t, data, alpha, intercept, got); off > c.off {
						t.Errorf("%s: off by %.1g of the largest error", at, off)
					}
				}
			}
		}
	}
}

// offExactRefits returns the difference between predictions and exact refits without each row,
// relative to the largest error of these.
func offExactRefits(t *testing.T, data datasets.Set, alpha float64, intercept bool, got *leaveOneOut) float64 {
	t.Helper()
	largest, norm := 0.0, 0.0
	for i := range data.Rows() {
		var others []int
		for k := range data.Rows() {
			if k != i {
				others = append(others, k)
			}
		}
		want := newExactRidge(t, data.Select(others), alpha, intercept).predict(data, i)
		largest = max(largest, math.Abs(want-got.Predictions[0].At(i, 0)))
		norm = max(norm, math.Abs(want-data.Y[i]))
	}
	return largest / norm
}

// With fewer rows than columns the generalized cross-validation score keeps its digits as alpha goes to
// 0, where both ‖e‖² and 1 − df/n go to 0: it is ‖a‖²/n over the square of the mean of M's diagonal, and
// has a limit, which alpha 0 takes.
func TestGCVKeepsItsDigits(t *testing.T) {
	data := gaussians(8, 12, 30)
	scores := map[float64]float64{}
	for _, alpha := range []float64{1, 1e-3, 1e-12, 0} {
		got, err := leastsquares.LeaveOneOut(context.Background(), leastsquares.Ridge(NewRidge()), data, []float64{alpha})
		if err != nil {
			t.Fatal(err)
		}
		scores[alpha] = got.GCV[0]
		even, mse := got.GCVPredictions(0, data.Y), 0.0
		for i, y := range data.Y {
			mse += (y - even.At(i, 0)) * (y - even.At(i, 0)) / 12
		}
		if math.Abs(mse-got.GCV[0]) > 1e-12*mse {
			t.Errorf("alpha %v: GCV %v, mean squared error of its predictions %v", alpha, got.GCV[0], mse)
		}
		if alpha == 0 {
			continue
		}
		model := newExactRidge(t, data, alpha, true)
		plain, freedom := exactOf(0), exactFreedom(t, data, alpha)
		for i, y := range data.Y {
			e := exactOf(0).Set(model.offset)
			for j, w := range model.coef {
				e.Add(e, exactOf(0).Mul(w, exactOf(data.X.At(i, j))))
			}
			e.Sub(e, exactOf(y))
			plain.Add(plain, e.Mul(e, e))
		}
		slack := exactOf(0).Sub(exactOf(12), freedom)
		want, _ := plain.Mul(plain, exactOf(12)).Quo(plain, slack.Mul(slack, slack)).Float64()
		if math.Abs(got.GCV[0]-want) > 1e-11*want {
			t.Errorf("alpha %v: GCV %v, want %v", alpha, got.GCV[0], want)
		}
	}
	if math.Abs(scores[0]-scores[1e-12]) > 1e-10*scores[0] {
		t.Errorf("GCV %v with alpha 0, %v near it", scores[0], scores[1e-12])
	}
}

// exactFreedom returns tr H, the derivatives of the predictions by their targets.
func exactFreedom(t *testing.T, data datasets.Set, alpha float64) *big.Float {
	t.Helper()
	sum, unit := exactOf(0), data
	for i := range data.Y {
		unit.Y = make([]float64, len(data.Y))
		unit.Y[i] = 1
		model := newExactRidge(t, unit, alpha, true)
		sum.Add(sum, model.offset)
		for j, w := range model.coef {
			sum.Add(sum, exactOf(0).Mul(w, exactOf(data.X.At(i, j))))
		}
	}
	return sum
}
