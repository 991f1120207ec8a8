package landmarks

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

var forever = context.Background()

// clusters returns rows most of which are in one cluster, so that uniform samples rarely contain
// the others.
func clusters(n, d int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 2))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		center := 0.0
		if i%20 == 0 {
			center = 3 * float64(1+i/20%5)
		}
		for j := range d {
			X.Set(i, j, center+0.3*rng.NormFloat64())
		}
	}
	return X
}

func kernelOf(t *testing.T, name string) *pairwise.Kernel {
	k, ok := pairwise.NewKernel(name, spectral.Shape{Nu: 1.5, Alpha: 1})
	if !ok {
		t.Fatal(name)
	}
	return k
}

func rowsOf[T kern.Float](k *pairwise.Kernel, X mat.Matrix, gamma float64) pairwise.Rows[T] {
	_, d := X.Dims()
	return pairwise.NewRows[T](k.Frame(k.Factors(slices.Repeat([]float64{gamma}, d)), X), X)
}

// matrixOf returns the kernel matrix of some rows with others.
func matrixOf(t *testing.T, k *pairwise.Kernel, x, y pairwise.Rows[float64]) *mat.Dense {
	out := mat.NewDense(x.Len(), y.Len(), nil)
	if err := pairwise.Matrix(forever, kern.Dense(x.Len(), y.Len(), y.Len(), out.RawMatrix().Data), x, y, k); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPivotedFactors checks that F is the Cholesky factor at the pivots, that F·F' is exact there,
// and that the residual has the trace Rest.
func TestPivotedFactors(t *testing.T) {
	X := clusters(400, 4, 1)
	for _, A := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
		for _, name := range []string{"gaussian", "laplacian", "exponential"} {
			k := kernelOf(t, name)
			x := rowsOf[float64](k, A, 0.4)
			p, err := Pivoted(forever, x, k, 150, 3)
			if err != nil {
				t.Fatal(err)
			}
			K := matrixOf(t, k, x, x)
			var left mat.Dense
			F := mat.NewDense(400, p.F.Cols, nil)
			for i := range 400 {
				F.SetRow(i, p.F.Row(i))
			}
			left.Mul(F, F.T())
			left.Sub(K, &left)
			if math.Abs(left.Trace()-p.Rest) > 1e-9*400 {
				t.Errorf("%s: the trace left is %v, Rest %v", name, left.Trace(), p.Rest)
			}
			for j, at := range p.Pivots {
				for i := range 400 {
					if math.Abs(left.At(i, at)) > 1e-7 {
						t.Fatalf("%s: column of pivot %d is off by %g", name, j, left.At(i, at))
					}
				}
				for l, v := range p.F.Row(at) {
					if l > j && v != 0 || l == j && !(v > 0) {
						t.Fatalf("%s: F at pivot %d, column %d is %v", name, j, l, v)
					}
				}
			}
		}
	}
}

// Few pivots are the first of many, and the number of cores changes no bit.
func TestPivotsAreNested(t *testing.T) {
	k := kernelOf(t, "exponential")
	x := rowsOf[float32](k, clusters(3000, 5, 1), 0.3)
	many, _ := Pivoted(forever, x, k, 400, 9)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	few, _ := Pivoted(forever, x, k, 90, 9)
	if len(many.Pivots) != 400 || !slices.Equal(few.Pivots, many.Pivots[:90]) {
		t.Errorf("%v is not the beginning of %v", few.Pivots, many.Pivots)
	}
	again, _ := Pivoted(forever, x, k, 400, 9)
	if !slices.Equal(again.F.Data, many.F.Data) {
		t.Error("F depends on the number of cores")
	}
	for i := range 3000 {
		for j, v := range few.F.Row(i) {
			if math.Abs(float64(v-many.F.At(i, j))) > 1e-4 {
				t.Fatalf("element %d, %d of F is %v and %v", i, j, v, many.F.At(i, j))
			}
		}
	}
}

// Where rows are few times repeated, pivots end with the distinct ones, all of them.
func TestPivotsOfEqualRows(t *testing.T) {
	X := mat.NewDense(300, 3, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
		if i >= 40 {
			copy(X.RawRowView(i), X.RawRowView(i%40))
		}
	}
	k := kernelOf(t, "laplacian")
	for _, n := range []int{40, 300} {
		p, err := Pivoted(forever, rowsOf[float32](k, X, 1), k, n, 5)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for _, at := range p.Pivots {
			seen[at%40] = true
		}
		if len(p.Pivots) != 40 || len(seen) != 40 {
			t.Errorf("%d pivots of %d distinct rows, want 40", len(p.Pivots), len(seen))
		}
	}
}

// TestPivotsAreDrawnByTheirResiduals checks that sampling by proposal and rejection has the same
// distribution as choosing one pivot after the other, for three rows of which two are close.
func TestPivotsAreDrawnByTheirResiduals(t *testing.T) {
	X := mat.NewDense(3, 1, []float64{0, 0.5, 2})
	k := kernelOf(t, "exponential")
	x := rowsOf[float64](k, X, 1)
	K := matrixOf(t, k, x, x)
	const draws = 2000
	count := map[[2]int]float64{}
	for seed := range uint64(draws) {
		p, err := Pivoted(forever, x, k, 2, seed)
		if err != nil || len(p.Pivots) != 2 {
			t.Fatal(p, err)
		}
		count[[2]int{p.Pivots[0], p.Pivots[1]}]++
	}
	for i := range 3 {
		total := 0.0
		for j := range 3 {
			total += 1 - K.At(i, j)*K.At(i, j)
		}
		for j := range 3 {
			want := (1 - K.At(i, j)*K.At(i, j)) / total / 3
			got := count[[2]int{i, j}] / draws
			if math.Abs(got-want) > 4.5*math.Sqrt(want*(1-want)/draws)+1e-12 {
				t.Errorf("pivots %d, %d with probability %v, want %v", i, j, got, want)
			}
		}
	}
}
