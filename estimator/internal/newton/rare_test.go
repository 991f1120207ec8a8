package newton

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// rare returns cosines of rows of k clusters with halving class frequencies and little noise.
func rare(n, d, k int) (*mat.Dense, *design.Labels) {
	const cols, places = 6, 3
	random := rand.New(rand.NewPCG(99, 9))
	normal := func(rows, cols int) *mat.Dense {
		m := mat.NewDense(rows, cols, nil)
		m.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, m)
		return m
	}
	at, W, X := normal(places*k, cols), normal(cols, d), normal(n, cols)
	l := &design.Labels{Y: make([]float64, n), Weights: make([]float64, n), Classes: make([]string, k),
		Absent: make([]bool, k)}
	for i := range n {
		c := i
		if i >= k {
			c = min(k-1, int(-math.Log2(1-random.Float64())))
		}
		l.Y[i], l.Weights[i] = float64(c), 1
		place := at.RawRowView(places*c + random.IntN(places))
		for j, v := range X.RawRowView(i) {
			X.Set(i, j, place[j]+0.05*v)
		}
	}
	var Z mat.Dense
	Z.Mul(X, W)
	Z.Apply(func(_, j int, v float64) float64 { return math.Sqrt(2/float64(d)) * math.Cos(v+float64(j)) }, &Z)
	return &Z, l
}

// With many rare, separated classes, steps avoid directions without curvature, and few passes reach
// the minimum.
func TestRareClassesTakeFewPasses(t *testing.T) {
	const n, d, k, C, tol, most = 6000, 50, 24, 30, 1e-4, 100
	X, l := rare(n, d, k)
	rows, err := design.FromSet(datasets.Set{X: X})
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Weights {
		l.Weights[i] = C
	}
	passes, each := 0, rows.Each
	rows.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		passes++
		return each(ctx, yield)
	}
	solved := func(tol float64) (objective float64, converged bool) {
		m, err := Logistic(l, true, tol).Solve(context.Background(), rows, tol, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return m.Report.Objective, m.Report.Converged
	}
	got, converged := solved(tol)
	taken := passes
	if least, _ := solved(1e-9); !converged || taken > most || got > least*(1+10*tol) {
		t.Errorf("objective %v in %d passes, converged %v; least %v, want in %d", got, taken, converged, least, most)
	}
}
