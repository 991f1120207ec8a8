package singular

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// sample draws rows that are not negative.
func sample(n, d int) (*mat.Dense, []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	X, weights := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		weights[i] = float64(rng.IntN(3))
		for j := range d {
			if rng.IntN(3) == 0 {
				X.Set(i, j, float64(float32(rng.ExpFloat64()/float64(1+j))))
			}
		}
		X.Set(i, i%d, 1)
	}
	return X, weights
}

// dense computes A by its definition.
func dense(X *mat.Dense, weights []float64) *mat.SymDense {
	n, d := X.Dims()
	A := mat.NewSymDense(d, nil)
	for i := range n {
		degree := 0.0
		for j := range n {
			degree += weights[j] * mat.Dot(X.RowView(i), X.RowView(j))
		}
		A.SymRankOne(A, weights[i]/degree, X.RowView(i))
	}
	return A
}

// TestAgainstDecomposition compares the vectors with a full decomposition, for dense, sparse and
// float32 rows of all widths.
func TestAgainstDecomposition(t *testing.T) {
	for d, n := range map[int]int{3: 300, 12: 300, 80: 300, 70: 40} {
		X, weights := sample(n, d)
		var eigen mat.EigenSym
		if !eigen.Factorize(dense(X, weights), true) {
			t.Fatal("no decomposition")
		}
		want := eigen.Values(nil)
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		for name, A := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X), "float32": matrices.CopyDense32(X)} {
			r, err := design.FromSet(datasets.Set{X: A, Weights: weights})
			if err != nil {
				t.Fatal(err)
			}
			v, err := Task{Count: 3, Tol: 1e-9, MaxIter: 300}.Find(context.Background(), r)
			if err != nil || !v.Converged {
				t.Fatalf("%s: %v, %+v", name, err, v)
			}
			for c := range 3 {
				if math.Abs(v.Values[c]-want[d-1-c]) > 1e-10 {
					t.Errorf("%s, %d columns: value %d is %v, want %v", name, d, c, v.Values[c], want[d-1-c])
				}
				cosine := mat.Dot(mat.NewVecDense(d, v.Vectors[c*d:(c+1)*d]), vectors.ColView(d-1-c))
				if math.Abs(math.Abs(cosine)-1) > 1e-7 {
					t.Errorf("%s, %d columns: vector %d has cosine %v", name, d, c, cosine)
				}
			}
			if math.Abs(v.Values[0]-1) > 1e-10 {
				t.Errorf("the first value is %v", v.Values[0])
			}
		}
	}
}

func TestCores(t *testing.T) {
	for _, shape := range [][2]int{{3000, 60}, {300, 600}} {
		sameForAllCores(t, shape[0], shape[1])
	}
}

func sameForAllCores(t *testing.T, n, d int) {
	X, weights := sample(n, d)
	r, err := design.FromSet(datasets.Set{X: matrices.CSRFromDense(X), Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	find := func(cores int) []float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		v, err := Task{Count: 4, Tol: 1e-6, MaxIter: 100}.Find(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		return v.Vectors
	}
	if one := find(1); !slices.Equal(one, find(3)) {
		t.Errorf("%d × %d: three cores give other bits", n, d)
	}
}

func TestErrors(t *testing.T) {
	for want, X := range map[string]*mat.Dense{
		"row 1: the sum of its products with all rows must be > 0": mat.NewDense(3, 1, []float64{1, -0.5, 2}),
		"must have rank at least 2 for as many clusters, got 1":    mat.NewDense(3, 2, []float64{1, 1, 2, 2, 3, 3}),
	} {
		r, err := design.FromSet(datasets.Set{X: X})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Task{Count: 2, Tol: 1e-6, MaxIter: 10}).Find(context.Background(), r); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
