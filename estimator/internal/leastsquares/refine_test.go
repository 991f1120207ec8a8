package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// For powers of numbers in [0, 1], of condition 1e12, the Cholesky solution is inaccurate.
// roundingBound reports this, and solve refines it.
func TestOnlyInaccurateModelsAreRefined(t *testing.T) {
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
	f, ok := m.Factorize(ctx, alpha)
	if !ok {
		t.Fatal("singular: the test shows nothing")
	}
	w := m.rightSide()
	f.Solve(ctx, w, 1)
	if size, left := precisionOf(false).roundingBound(w, m.sumSquares(), m.trace(),
		minPivot(f.Lower, d)); size < visibleTol || left > maxContraction {
		t.Errorf("roughness %.2g leaving %.2g: not refined", size, left)
	}
	rows, err := design.FromSet(datasets.Set{X: x, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	p := NewProblem(Ridge{Alpha: alpha, Intercept: true, Solver: "cholesky"}, rows, design.BlockTargetsAndWeights)
	fine, err := p.Solve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	offset, largest := intercepts(w, m.Mean(), m.TargetMean()), 0.0
	for i := range n {
		rough := offset[0] + kern.Dot(x.RawRowView(i), w)
		largest = max(largest, math.Abs(rough-fine.Intercept[0]-kern.Dot(x.RawRowView(i), fine.Weights)))
	}
	if largest < 1e-9 { // predictions accurate to 1e-12
		t.Errorf("refinement moves predictions by %.2g: the test shows nothing", largest)
	}
}

// TestCoarseRowsAreSummedOnce checks that if float32 sums are too inaccurate, only the first rows
// are read twice and the weights are bit-identical to those of float64 sums. Otherwise no row is
// read twice.
func TestCoarseRowsAreSummedOnce(t *testing.T) {
	const n, d, block = 6000, 40, 100
	ctx := context.Background()
	for name, c := range map[string]struct {
		spread float64 // of frequencies: the smaller, the more columns nearly depend on others
		wide   bool
	}{"smooth": {1, true}, "rough": {300, false}} {
		rng := rand.New(rand.NewPCG(3, 4))
		x, y := matrices.NewDense32(n, d, nil), make([]float64, n)
		frequency, phase := make([]float64, d), make([]float64, d)
		for j := range d {
			frequency[j], phase[j] = c.spread*rng.NormFloat64(), 2*math.Pi*rng.Float64()
		}
		for i := range n {
			v := rng.Float64()
			for j := range d {
				x.Row(i)[j] = float32(math.Cos(v*frequency[j] + phase[j]))
			}
			y[i] = math.Exp(2*v) + 0.1*rng.NormFloat64()
		}
		read := 0
		rows := &design.Rows{N: n, Cols: d, Float32: true, Each: func(_ context.Context,
			yield func(int, datasets.Set) error) error {
			for first := 0; first < n; first += block {
				read += block
				part := x.Slice(first, first+block)
				if err := yield(first, datasets.Set{X: part, Y: y[first : first+block]}); err != nil {
					return err
				}
			}
			return nil
		}}
		p := NewProblem(Ridge{Alpha: 1e-3, Intercept: true, Solver: "cholesky"}, rows, design.BlockTargetsAndWeights)
		got, err := p.Solve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		once := read
		read = 0
		m, err := p.Moments(ctx)
		if err != nil || !m.Float32 {
			t.Fatal(err, m)
		}
		want, err := p.SolveMoments(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		// means are more accurate
		if !slices.Equal(got.Weights, want.Weights) || math.Abs(got.Intercept[0]-want.Intercept[0]) > 1e-4 {
			t.Errorf("%s: the solution is another one: %v and %v", name, got, want)
		}
		if saved := read - once; c.wide && saved != n-2*block || !c.wide && saved != 0 {
			t.Errorf("%s: %d rows were read, without looking ahead %d", name, once, read)
		}
	}
}
