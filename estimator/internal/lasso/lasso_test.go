package lasso

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// sample returns rows with correlated features, far from 0 and in unequal units, and a target.
func sample(seed uint64, n, p int, sparse bool) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y, w := mat.NewDense(n, p, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		row, common := x.RawRowView(i), rng.NormFloat64()
		for j := range row {
			row[j] = 5*float64(j%3) + (1+float64(j%4))*(rng.NormFloat64()+0.5*common)
			if sparse && rng.IntN(8) > 0 {
				row[j] = 0
			}
		}
		y[i] = 3 + row[0] - 2*row[p/2] + row[p-1]/3 + rng.NormFloat64()
		w[i] = rng.Float64()
	}
	w[n/2] = 0
	set := datasets.Set{X: x, Y: y, Weights: w}
	if sparse {
		set.X = matrices.CSRFromDense(x)
	}
	return set
}

func problem(t *testing.T, data datasets.Set, intercept bool) *Problem {
	t.Helper()
	r, err := design.FromSet(data)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.ReadLabels(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(context.Background(), r, l, intercept)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// violation returns how far a model is from the optimality conditions, by its residuals, relative
// to the penalty.
func violation(data datasets.Set, m solve.Linear, alpha, ratio float64, intercept bool) float64 {
	n, p := data.X.Dims()
	total, sum, worst := 0.0, 0.0, 0.0
	g := make([]float64, p)
	for i := range n {
		z := data.Y[i] - m.Intercept[0]
		for j := range p {
			z -= data.X.At(i, j) * m.Weights[j]
		}
		total, sum = total+data.Weights[i], sum+data.Weights[i]*z
		for j := range p {
			g[j] += data.Weights[i] * z * data.X.At(i, j)
		}
	}
	for j, w := range m.Weights {
		v := g[j]/total - alpha*(1-ratio)*w
		if w == 0 {
			worst = max(worst, math.Abs(v)-alpha*ratio)
		} else {
			worst = max(worst, math.Abs(v-math.Copysign(alpha*ratio, w)))
		}
	}
	if intercept {
		worst = max(worst, math.Abs(sum)/total)
	}
	return worst / alpha
}

func TestPathSatisfiesTheOptimalityConditions(t *testing.T) {
	for _, c := range []struct {
		n, p      int
		sparse    bool
		intercept bool
		ratio     float64
	}{{80, 20, false, true, 1}, {80, 20, true, true, 0.5}, {300, 150, false, true, 0.3}, {60, 200, false, true, 1},
		{60, 200, true, true, 0.9}, {90, 140, true, false, 1}, {90, 140, false, false, 0.2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			data := sample(uint64(c.n), c.n, c.p, c.sparse)
			m := problem(t, data, c.intercept)
			path := NewPath(m, Options{L1Ratio: c.ratio, Tol: 1e-10, MaxIter: 100_000}, 20)
			top := path.last * m.unit / c.ratio
			for alpha := top; alpha > 1e-3*top; alpha *= 0.7 {
				got, err := path.Solve(context.Background(), alpha)
				if err != nil || !got.Report.Converged {
					t.Fatal(err, got.Report)
				}
				if v := violation(data, got, alpha, c.ratio, c.intercept); v > 1e-8 {
					t.Fatalf("alpha %v: the optimality conditions are violated by %v of it: %+v", alpha, v, got.Report)
				}
			}
		})
	}
}

// A large support is found with residuals where that takes few sweeps, and with products where it takes
// many.
func TestLargeSupportSatisfiesTheOptimalityConditions(t *testing.T) {
	const n, p, ratio = 3000, 900, 0.95
	for _, sparse := range []bool{false, true} {
		data := sample(7, n, p, sparse)
		for i := range n {
			data.Y[i] += 4 * math.Sin(float64(i*i))
		}
		m := problem(t, data, true)
		path := NewPath(m, Options{L1Ratio: ratio, Tol: 1e-12, MaxIter: 10_000}, 1)
		alpha := path.last * m.unit / 300
		got, err := path.Solve(context.Background(), alpha)
		if err != nil || !got.Report.Converged {
			t.Fatal(err, got.Report)
		}
		if count := path.q.support(); count < 500 || (m.gram == nil) != sparse {
			t.Errorf("%d weights are nonzero, %d features have their products summed", count, len(m.gram))
		}
		if v := violation(data, got, alpha, ratio, true); v > 1e-4 {
			t.Errorf("the optimality conditions are violated by %v after %d sweeps", v, got.Report.Iterations)
		}
	}
}

// Of many sparse columns the products with all features are not stored: the gradient takes a pass.
func TestPathOfManyColumnsSatisfiesTheOptimalityConditions(t *testing.T) {
	const n, p, entries, alpha, ratio = 8500, 8500, 5, 2e-3, 0.8
	rng := rand.New(rand.NewPCG(4, 4))
	indptr, columns, values, y := []int{0}, []uint32{}, []float64{}, make([]float64, n)
	for i := range n {
		for e := range entries {
			j := uint32(e*p/entries) + uint32(rng.IntN(p/entries)>>rng.IntN(8))
			columns, values = append(columns, j), append(values, rng.NormFloat64()+1)
			y[i] += math.Cos(float64(j)) * values[len(values)-1]
		}
		indptr = append(indptr, len(columns))
	}
	X, err := matrices.NewCSR(n, p, indptr, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	m := problem(t, datasets.Set{X: X, Y: y}, true)
	if m.storesRows() {
		t.Fatal("the products are stored")
	}
	path := NewPath(m, Options{L1Ratio: ratio, Tol: 1e-10, MaxIter: 10_000}, 1)
	got, err := path.Solve(context.Background(), alpha)
	if err != nil || !got.Report.Converged || path.q.support() < 20 {
		t.Fatal(err, got.Report, path.q.support())
	}
	g, sum := make([]float64, p), 0.0
	for i := range n {
		at, v := X.Row(i)
		z := y[i] - got.Intercept[0]
		for e, j := range at {
			z -= v[e] * got.Weights[j]
		}
		sum += z
		for e, j := range at {
			g[j] += z * v[e] / n
		}
	}
	if math.Abs(sum) > 1e-8*n {
		t.Errorf("the residuals sum to %v", sum)
	}
	for j, w := range got.Weights {
		v := g[j] - alpha*(1-ratio)*w
		if w == 0 && math.Abs(v) > alpha*ratio*(1+1e-7) || w != 0 && math.Abs(v-math.Copysign(alpha*ratio, w)) > 1e-7*alpha {
			t.Fatalf("weight %d is %v, its gradient %v", j, w, v)
		}
	}
}
