package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// On the powers of numbers in [0, 1], a system of condition 1e12, the weights of the sums of products alone
// are off by more than is to be visible; roughness says so, and solve refines them.
func TestWhatIsRefinedIsRough(t *testing.T) {
	const alpha, n, d = 1e-9, 400, 12
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 4))
	x, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		v := rng.Float64()
		for j := range d {
			x.Set(i, j, math.Pow(v, float64(j+1)))
		}
		y[i] = math.Exp(2*v) + 0.1*rng.NormFloat64()
	}
	m := NewMoments(d, 1, true)
	if err := m.Add(ctx, x, y, nil); err != nil {
		t.Fatal(err)
	}
	f, ok := m.Factorise(ctx, alpha)
	if !ok {
		t.Fatal("singular: the test shows nothing")
	}
	w := m.rightSide()
	f.Solve(ctx, w, 1)
	if size, left := precisionOf(false).roughness(w, m.spreads(), m.trace(), leastPivot(f.Lower, d)); size < visible || left > contraction {
		t.Errorf("roughness %.2g leaving %.2g: not refined", size, left)
	}
	rows, err := design.OfSet(datasets.Set{X: x, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	p := NewProblem(Ridge{Alpha: alpha, Intercept: true, Solver: "cholesky"}, rows, design.BlockTargets, design.BlockWeights)
	fine, err := p.Solve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	offset, most := intercepts(w, m.Mean(), m.targetMean()), 0.0
	for i := range n {
		rough := offset[0] + kern.Dot(x.RawRowView(i), w)
		most = max(most, math.Abs(rough-fine.Intercept[0]-kern.Dot(x.RawRowView(i), fine.Weights)))
	}
	if most < 1e-8 {
		t.Errorf("refinement moves predictions by %.2g: the test shows nothing", most)
	}
}
