package newton

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
)

// waves returns cosines of rows of overlapping classes.
func waves(n, d, k int) (*mat.Dense, *design.Labels) {
	X, l := classes(n, 4, k)
	random := rand.New(rand.NewPCG(9, 9))
	var W, Z mat.Dense
	W.CloneFrom(mat.NewDense(4, d, nil))
	W.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, &W)
	Z.Mul(X, &W)
	Z.Apply(func(_, j int, v float64) float64 { return math.Sqrt(2/float64(d)) * math.Cos(v+float64(j)) }, &Z)
	for i := range l.Weights {
		l.Weights[i]++
	}
	return &Z, l
}

// The preconditioner is the inverse of the minimum over τ, which bounds the Hessian from above.
func TestCoupledIsTheInverseOfTheLeastOverShifts(t *testing.T) {
	const n, d, k = 500, 6, 3
	X, l := waves(n, d, k)
	random := rand.New(rand.NewPCG(2, 3))
	p := make([]float64, n*k)
	for i := range n {
		row := p[i*k : (i+1)*k]
		for c := range row {
			row[c] = 0.2 + random.Float64()
		}
		kern.Scale(1/kern.Sum(row), row)
	}
	c := newCoupled(d, k, true)
	if err := c.add(context.Background(), X, 0, 1, p, l.Weights); err != nil || !c.factorize(context.Background()) {
		t.Fatal("no factor", err)
	}
	M := minOverShifts(X, l.Weights, p, k)
	v, got, back := make([]float64, (d+1)*k), make([]float64, (d+1)*k), make([]float64, (d+1)*k)
	for i := range v {
		v[i] = random.NormFloat64()
	}
	v[d*k+k-1] = -kern.Sum(v[d*k : d*k+k-1]) // the mean of the intercepts is not penalized
	if err := c.solve(context.Background(), got, v, true); err != nil {
		t.Fatal(err)
	}
	mat.NewVecDense(len(v), back).MulVec(M, mat.NewVecDense(len(v), got))
	for i, want := range v {
		if math.Abs(back[i]-want) > 1e-3 {
			t.Errorf("entry %d of M·(M⁻¹v) is %v, v has %v", i, back[i], want)
		}
	}
}

// minOverShifts is M with variables in the order cols × classes.
func minOverShifts(X *mat.Dense, weights, p []float64, k int) *mat.Dense {
	n, d := X.Dims()
	size := (d + 1) * k
	B, shifted, all := mat.NewDense(size, size, nil), mat.NewDense(size, d+1, nil), mat.NewDense(d+1, d+1, nil)
	at := func(i, j int) float64 {
		if j == d {
			return 1
		}
		return X.At(i, j)
	}
	for i := range n {
		for a := range d + 1 {
			for b := range d + 1 {
				for c := range k {
					v := weights[i] * p[i*k+c] * at(i, a) * at(i, b)
					B.Set(a*k+c, b*k+c, B.At(a*k+c, b*k+c)+v)
					shifted.Set(a*k+c, b, shifted.At(a*k+c, b)+v)
					all.Set(a, b, all.At(a, b)+v)
				}
			}
		}
	}
	var inverse, half, M mat.Dense
	if err := inverse.Inverse(all); err != nil {
		panic(err)
	}
	half.Mul(shifted, &inverse)
	M.Mul(&half, shifted.T())
	M.Sub(B, &M)
	for i := range d * k {
		M.Set(i, i, M.At(i, i)+1)
	}
	return &M
}

// With many products, a matrix per class is used: the minimum is the same, and incremental passes
// and any number of cores give the same bits.
func TestClassesApartLeadToTheSameMinimum(t *testing.T) {
	const n, d, k, C = 1500, 64, 3, 1e4
	X, l := waves(n, d, k)
	kern.Scale(C, l.Weights)
	task := Logistic(l, true, 1e-9)
	task.ObjectiveBound = math.Inf(1)
	r, err := design.FromSet(datasets.Set{X: X})
	if err != nil {
		t.Fatal(err)
	}
	var want solve.Linear
	for _, cores := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(cores)
		got, err := task.Solve(context.Background(), r, 1e-9, 200)
		runtime.GOMAXPROCS(before)
		if err != nil || !got.Report.Converged {
			t.Fatalf("%v, %+v", err, got.Report)
		}
		if want.Weights == nil {
			want = got
		}
		if !slices.Equal(got.Weights, want.Weights) {
			t.Fatalf("other bits on %d cores", cores)
		}
	}
	byPasses, apart := solveByPasses(t, task, X, l)
	if !apart {
		t.Error("no step was long enough for matrices of classes")
	}
	if !slices.Equal(byPasses.Weights, want.Weights) || !slices.Equal(byPasses.Intercept, want.Intercept) {
		t.Errorf("by passes the weights are off by %.2g", off(byPasses, want))
	}
	o := task.batch(context.Background(), r, n, l.Weights)
	o.setCurves(make([]float64, n*k))
	o.preconditioners.coupledAfter = 0 // one matrix for all classes
	if err := o.Solve(1e-9, 500); err != nil {
		t.Fatal(err)
	}
	for i, v := range o.Model(0, 1, 1e-9).Weights {
		if math.Abs(v-want.Weights[i]) > 1e-4 {
			t.Fatalf("weight %d is %v, with one matrix %v", i, want.Weights[i], v)
		}
	}
}

// solveByPasses serializes each pass before and after its rows, and reports whether a pass used
// matrices per class.
func solveByPasses(t *testing.T, task Task, X *mat.Dense, l *design.Labels) (got solve.Linear, apart bool) {
	t.Helper()
	n, d := X.Dims()
	plan := IncrementalOptions{Cols: d, Rows: n, Tol: 1e-9, MaxIter: 200,
		Block: func(int, datasets.Set) ([]float64, []float64, error) { return l.Y, l.Weights, nil }}
	m, err := task.Begin(context.Background(), plan)
	for err == nil {
		apart = apart || m.request.coupled
		var next *IncrementalNewton
		m = carried(t, task, plan, m)
		if err = m.Add(context.Background(), 0, datasets.Set{X: X}); err != nil {
			break
		}
		m = carried(t, task, plan, m)
		if next, err = m.Next(context.Background()); err == nil && next == nil {
			got, err = m.Solution(context.Background())
			break
		}
		m = next
	}
	if err != nil {
		t.Fatal(err)
	}
	return got, apart
}

// carried returns a pass after serialization.
func carried(t *testing.T, task Task, plan IncrementalOptions, m *IncrementalNewton) *IncrementalNewton {
	t.Helper()
	state, err := model.Record(m)
	if err != nil {
		t.Fatal(err)
	}
	out, err := task.Begin(context.Background(), plan)
	if err == nil {
		err = model.Restore(state, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
