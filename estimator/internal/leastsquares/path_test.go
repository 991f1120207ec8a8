package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A band gives the same weights, intercepts and failures as a factor per alpha. This includes
// leading columns, several targets, a constant column and refinement.
func TestManyAlphasAreAsFew(t *testing.T) {
	ctx := context.Background()
	const n, d, targets = 700, 400, 2
	rng := rand.New(rand.NewPCG(7, 8))
	x, y := mat.NewDense(n, d, nil), make([]float64, n*targets)
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		row[5], row[9] = 3, row[8]*(1+1e-7*rng.NormFloat64())
		for k := range targets {
			y[i*targets+k] = row[0] + float64(k)*row[1] + 0.1*rng.NormFloat64()
		}
	}
	sums := NewMoments(d, targets, true)
	if err := sums.Add(ctx, x, y, nil); err != nil {
		t.Fatal(err)
	}
	alphas := []float64{1e-16, 1e-9, 1e-3, 1e-2, 0.1, 1, 10, 1e3, 1e6}
	for _, width := range []int{385, d} {
		few, err := NewPath(ctx, sums, width, make([]float64, width*width), 1)
		if err != nil {
			t.Fatal(err)
		}
		many, err := NewPath(ctx, sums, width, make([]float64, width*width), 20)
		if err != nil || many.band == nil || few.band != nil {
			t.Fatal(err)
		}
		before := runtime.GOMAXPROCS(1)
		onOneCore, err := NewPath(ctx, sums, width, make([]float64, width*width), 20)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		want, rough := few.Solve(alphas)
		got, also := many.Solve(alphas)
		solved := 0
		for k, alpha := range alphas {
			if (got[k] == nil) != (want[k] == nil) || also[k] != rough[k] {
				t.Errorf("%d columns, alpha %v: weights %v, rough %v, want %v and %v", width, alpha, got[k] != nil, also[k],
					want[k] != nil, rough[k])
			}
			if want[k] == nil || rough[k] {
				continue
			}
			solved++
			for i, w := range want[k] {
				if math.Abs(got[k][i]-w) > 1e-9*(1+math.Abs(w)) || i/targets == 5 && got[k][i] != 0 {
					t.Fatalf("%d columns, alpha %v: weight %d is %v, want %v", width, alpha, i, got[k][i], w)
				}
			}
			a, b := many.Model(got[k]), few.Model(want[k])
			if math.Abs(a.Intercept[0]-b.Intercept[0]) > 1e-9 ||
				math.Abs(a.Report.Objective-b.Report.Objective) > 1e-9*(1+b.Report.Objective) {
				t.Errorf("%d columns, alpha %v: %v and %v", width, alpha, a, b)
			}
			if alone, _ := onOneCore.Solve(alphas[k : k+1]); !same(alone[0], got[k]) {
				t.Errorf("%d columns, alpha %v: other bits on one core, without the others", width, alpha)
			}
		}
		if solved < 6 {
			t.Errorf("%d columns: %d alphas compared", width, solved)
		}
	}
}

func same(a, b []float64) bool {
	for i, v := range a {
		if v != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
