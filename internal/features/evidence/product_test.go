package evidence

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/matrices"
)

// mixed returns the product of a gaussian, a laplacian and a Matérn kernel of four groups of five inputs
// of n rows, and its values by their definition.
func mixed(t *testing.T, n int) (p *Product, X *mat.Dense, value func(point []float64, i, l int) float64) {
	rng := rand.New(rand.NewPCG(5, 1))
	X = mat.NewDense(n, 5, nil)
	X.Apply(func(_, _ int, _ float64) float64 { return 2 + rng.NormFloat64() }, X)
	for i := 0; i < n; i += 2 { // sparse columns
		X.Set(i, 0, 0)
		X.Set(i, 2, 0)
	}
	kernels := []*pairwise.Kernel{exactKernel(t, "gaussian", 0, 0), exactKernel(t, "laplacian", 0, 0),
		exactKernel(t, "matern", 1.5, 0)}
	groups := []Group{{Term: 0, Scale: 0, Inputs: []int{0, 2}, Factor: 0.5},
		{Term: 1, Scale: 1, Inputs: []int{1}, Factor: 2},
		{Term: 2, Scale: 2, Inputs: []int{3}, Factor: 1}, {Term: 0, Scale: 3, Inputs: []int{4}, Factor: 1}}
	p, err := NewProduct(context.Background(), matrices.CSRFromDense(X), n, [][]*pairwise.Kernel{kernels}, []float64{1}, groups)
	if err != nil {
		t.Fatal(err)
	}
	value = func(point []float64, i, l int) float64 {
		of := make([]float64, len(kernels))
		for g, group := range groups {
			for _, j := range group.Inputs {
				delta := math.Exp(point[g]) * group.Factor * math.Abs(X.At(i, j)-X.At(l, j))
				if group.Term != 1 {
					delta *= delta
				}
				of[group.Term] += delta
			}
		}
		r := math.Sqrt(3 * of[2])
		return math.Exp(-of[0]-of[1]) * (1 + r) * math.Exp(-r)
	}
	return p, X, value
}

// TestProduct compares the covariance of a product with its definition, with a scale of 0, and the mean
// distances of its start with 1.
func TestProduct(t *testing.T) {
	const n = 90
	p, _, value := mixed(t, n)
	point := []float64{-0.5, -1.2, math.Inf(-1), 0.3, 0}
	e := Exact{Y: mat.NewDense(n, 1, nil), Product: p}
	o := newExact(e)
	if err := p.compute(context.Background(), o.factored, point, 0.25); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for l := range i + 1 {
			want := value(point, i, l)
			if i == l {
				want += 0.25
			}
			if got := o.factored.At(i, l); !close(got, want, 1e-6) {
				t.Fatalf("M(%d, %d) = %v, want %v", i, l, got, want)
			}
		}
	}
	sum, start := 0.0, p.Start().Scales
	for g, d := range p.groups {
		sum += math.Pow(start[g], p.power(g)) * d.center
	}
	if !close(sum, 1, 1e-12) {
		t.Errorf("the mean distances sum to %v, want 1", sum)
	}
}

// TestSumOfProducts compares the covariance of a weighted mean of products, in which scales are shared by kernels of
// two metrics, with its definition.
func TestSumOfProducts(t *testing.T) {
	const n = 70
	p, X := mixedSum(t, n)
	point := []float64{-0.5, -1.2, -0.4, 0.3, 0}
	o := newExact(Exact{Y: mat.NewDense(n, 1, nil), Product: p})
	if err := p.compute(context.Background(), o.factored, point, 0.25); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for l := range i {
			delta := make([]float64, 5) // scaled
			for j, scale := range []int{0, 1, 0, 2, 3} {
				delta[j] = math.Exp(point[scale]) * math.Abs(X.At(i, j)-X.At(l, j))
			}
			r := math.Sqrt(3) * delta[1]
			want := 0.75*math.Exp(-delta[0]*delta[0]-delta[2]*delta[2]-delta[4]*delta[4]-delta[1]) +
				0.25*(1+r)*math.Exp(-r-delta[3]-delta[4])
			if got := o.factored.At(i, l); !close(got, want, 1e-6) {
				t.Fatalf("M(%d, %d) = %v, want %v", i, l, got, want)
			}
		}
		if got := o.factored.At(i, i); got != 1.25 {
			t.Fatalf("M(%d, %d) = %v, want 1.25", i, i, got)
		}
	}
}

// mixedSum returns a mean of two products of kernels of four scales, and n rows.
func mixedSum(t *testing.T, n int) (*Product, *mat.Dense) {
	_, X, _ := mixed(t, n)
	products := [][]*pairwise.Kernel{{exactKernel(t, "gaussian", 0, 0), exactKernel(t, "laplacian", 0, 0)},
		{exactKernel(t, "matern", 1.5, 0), exactKernel(t, "laplacian", 0, 0)}}
	p, err := NewProduct(context.Background(), X, n, products, []float64{3, 1}, []Group{
		{Term: 0, Scale: 0, Inputs: []int{0, 2}, Factor: 1}, {Term: 1, Scale: 1, Inputs: []int{1}, Factor: 1},
		{Term: 2, Scale: 1, Inputs: []int{1}, Factor: 1}, {Term: 3, Scale: 2, Inputs: []int{3}, Factor: 1},
		{Term: 0, Scale: 3, Inputs: []int{4}, Factor: 1}, {Term: 3, Scale: 3, Inputs: []int{4}, Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return p, X
}

// looByRefits returns the objective of the leave-one-out errors by n fits to the other rows.
func looByRefits(t *testing.T, M *mat.SymDense, Y *mat.Dense, intercept bool) float64 {
	n, q := Y.Dims()
	sum := 0.0
	for out := range n {
		var rest []int
		for i := range n {
			if i != out {
				rest = append(rest, i)
			}
		}
		K := mat.NewSymDense(n-1, nil)
		for a, i := range rest {
			for b, l := range rest[:a+1] {
				K.SetSym(a, b, M.At(i, l))
			}
		}
		var c mat.Cholesky
		if !c.Factorize(K) {
			t.Fatal("not positive definite")
		}
		ones := mat.NewVecDense(n-1, slices.Repeat([]float64{1}, n-1))
		var level mat.VecDense
		if err := c.SolveVecTo(&level, ones); err != nil {
			t.Fatal(err)
		}
		for k := range q {
			y := mat.NewVecDense(n-1, nil)
			for a, i := range rest {
				y.SetVec(a, Y.At(i, k))
			}
			mean := 0.0
			if intercept {
				mean = mat.Dot(&level, y) / mat.Dot(&level, ones)
			}
			y.AddScaledVec(y, -mean, ones)
			var alpha mat.VecDense
			if err := c.SolveVecTo(&alpha, y); err != nil {
				t.Fatal(err)
			}
			predicted := mean
			for a, i := range rest {
				predicted += alpha.AtVec(a) * M.At(i, out)
			}
			sum += (predicted - Y.At(out, k)) * (predicted - Y.At(out, k))
		}
	}
	size := float64(n * q)
	return size / 2 * math.Log(sum/size)
}

// TestLOOEqualsRefits compares the leave-one-out error with refits, for one kernel and a product.
func TestLOOEqualsRefits(t *testing.T) {
	const n = 25
	p, X, value := mixed(t, n)
	Y := mat.NewDense(n, 2, nil)
	Y.Apply(func(i, k int, _ float64) float64 { return math.Sin(X.At(i, k)) + float64(k)*X.At(i, 4) }, Y)
	for _, intercept := range []bool{false, true} {
		for _, product := range []*Product{nil, p} {
			point := []float64{-0.5, -1.2, -0.4, 0.3, math.Log(0.2)}
			e := Exact{X: X, Y: Y, Kernel: exactKernel(t, "gaussian", 0, 0), Group: []int{0, 1, 2, 3, 3}, Product: product,
				Intercept: intercept, LeaveOneOut: true}
			M := mat.NewSymDense(n, nil)
			for i := range n {
				for l := range i + 1 {
					k := 0.0
					for j := range 5 {
						delta := math.Exp(point[e.Group[j]]) * (X.At(i, j) - X.At(l, j))
						k += delta * delta
					}
					if k = math.Exp(-k); product != nil {
						k = value(point, i, l)
					}
					if i == l {
						k += 0.2
					}
					M.SetSym(i, l, k)
				}
			}
			got, err := newExact(e).at(context.Background(), point, make([]float64, 5))
			if want := looByRefits(t, M, Y, intercept); err != nil || !close(got, want, 1e-6) {
				t.Errorf("intercept %v, product %v: %v (%v), by refits %v", intercept, product != nil, got, err, want)
			}
		}
	}
}

// TestProductGradientAgainstDifferences compares the gradients of both objectives of a product, and that of the
// leave-one-out error of one kernel, with finite differences.
func TestProductGradientAgainstDifferences(t *testing.T) {
	const n, h = 60, 1e-3
	ctx := context.Background()
	p, X, _ := mixed(t, n)
	sum, _ := mixedSum(t, n)
	Y := mat.NewDense(n, 2, nil)
	Y.Apply(func(i, k int, _ float64) float64 { return math.Sin(X.At(i, k)) + float64(k)*X.At(i, 4) }, Y)
	for _, e := range []Exact{{Product: sum}, {Product: sum, Intercept: true, LeaveOneOut: true},
		{Product: p}, {Product: p, Intercept: true}, {Product: p, Intercept: true, LeaveOneOut: true},
		{Product: p, LeaveOneOut: true}, {LeaveOneOut: true, Intercept: true, Kernel: exactKernel(t, "laplacian", 0, 0)},
		{LeaveOneOut: true, Kernel: exactKernel(t, "matern", 2.5, 0)}} {
		e.Y = Y
		if e.Product == nil {
			e.X, e.Group = X, []int{0, 1, 2, 3, 3}
		}
		point := []float64{-0.5, -1.2, -0.4, 0.3, math.Log(0.2)}
		o, gradient, other := newExact(e), make([]float64, 5), make([]float64, 5)
		if _, err := o.at(ctx, point, gradient); err != nil {
			t.Fatal(err)
		}
		for j, g := range gradient {
			value := func(step float64) float64 {
				moved := slices.Clone(point)
				moved[j] += step
				v, err := o.at(ctx, moved, other)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			want := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
			if !close(g, want, 1e-6) {
				t.Errorf("product %v, intercept %v, leave-one-out %v: derivative %d is %v, by differences %v", e.Product != nil,
					e.Intercept, e.LeaveOneOut, j, g, want)
			}
		}
	}
}

// TestHeldOutErrors compares the objective of held-out rows with the errors of their predictions by the definition of
// the kernel, with and without leave-one-out errors, and that of the first half of the rows.
func TestHeldOutErrors(t *testing.T) {
	const rows = 60
	full, X, value := mixed(t, rows)
	Y := mat.NewDense(rows, 2, nil)
	Y.Apply(func(i, k int, _ float64) float64 { return math.Sin(X.At(i, k)) + float64(k)*X.At(i, 4) }, Y)
	point := []float64{-0.5, -1.2, -0.4, 0.3, math.Log(0.2)}
	for _, n := range []int{25, 40} {
		var kernels []*pairwise.Kernel
		var groups []Group
		for g, d := range full.groups {
			inputs := [][]int{{0, 2}, {1}, {3}, {4}}[g]
			groups = append(groups, Group{Term: d.term, Scale: g, Inputs: inputs, Factor: []float64{0.5, 2, 1, 1}[g]})
		}
		kernels = append(kernels, full.terms...)
		p, err := NewProduct(context.Background(), X, n, [][]*pairwise.Kernel{kernels}, []float64{1}, groups)
		if err != nil {
			t.Fatal(err)
		}
		for _, used := range []int{n, n / 2} { // all rows of M, or half
			M := mat.NewSymDense(used, nil)
			for i := range used {
				for l := range i + 1 {
					M.SetSym(i, l, value(point, i, l))
				}
				M.SetSym(i, i, 1.2)
			}
			var c mat.Cholesky
			if !c.Factorize(M) {
				t.Fatal("not positive definite")
			}
			head := Y.Slice(0, used, 0, 2).(*mat.Dense)
			var alpha mat.Dense
			if err := c.SolveTo(&alpha, head); err != nil {
				t.Fatal(err)
			}
			held, sum, count := Y.Slice(n, rows, 0, 2).(*mat.Dense), 0.0, rows-n
			for i := range count {
				for k := range 2 {
					e := held.At(i, k)
					for l := range used {
						e -= value(point, n+i, l) * alpha.At(l, k)
					}
					sum += e * e
				}
			}
			if count < used { // the objective of leave-one-out errors alone gives their sum
				size := float64(2 * used)
				sum += size * math.Exp(2/size*looByRefits(t, M, head, false))
				count += used
			}
			e := Exact{Y: Y.Slice(0, n, 0, 2).(*mat.Dense), Product: p, LeaveOneOut: true, Held: held}.head(used)
			got, ok, err := newExact(e).value(context.Background(), point)
			if want := float64(count) * math.Log(sum/float64(2*count)); err != nil || !ok || !close(got, want, 1e-5) {
				t.Errorf("%d of %d rows: %v (%v, %v), want %v", used, n, got, ok, err, want)
			}
		}
	}
}
