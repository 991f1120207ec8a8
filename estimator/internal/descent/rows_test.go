package descent

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// Rows of every kind have the products, the norms and the weights of the dense rows; sparse ones although they
// leave out the columns that one row has alone.
func TestRowsOfEveryKind(t *testing.T) {
	const n, d = 30, 40 // some columns have a single entry, some none
	random := rand.New(rand.NewPCG(3, 3))
	dense := mat.NewDense(n, d, nil)
	for i := range n {
		for range 3 {
			dense.Set(i, random.IntN(d), 0.5)
		}
	}
	csr := matrices.CSRFromDense(dense)
	indptr, indices, _ := csr.Raw()
	shared, err := matrices.NewSharedCSR(n, d, indptr, indices, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	beta := make([]float64, n)
	want := make([]float64, d) // Σ β·x
	for i := range beta {
		beta[i] = random.NormFloat64()
		for j, v := range dense.RawRowView(i) {
			want[j] += beta[i] * v
		}
	}
	for name, X := range map[string]mat.Matrix{"dense": dense, "float32": matrices.CopyDense32(dense), "sparse": csr,
		"shared": shared} {
		all, err := design.FromSet(datasets.Set{X: X})
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewRows(context.Background(), all)
		if err != nil {
			t.Fatal(err)
		}
		w := make([]float64, r.Width())
		for i, b := range beta {
			r.Add(i, b, w)
		}
		got, own := r.weights(w, beta), r.own()
		if _, is := X.(*matrices.CSR); is != (own != nil) || is != (r.Width() < d) {
			t.Errorf("%s: %d columns, left out %v", name, r.Width(), own)
		}
		for j, v := range want {
			if math.Abs(got[j]-v) > 1e-12 {
				t.Errorf("%s: weight %d is %v, want %v", name, j, got[j], v)
			}
		}
		for i := range n {
			square, score := r.Square(i), r.Dot(i, w)
			if own != nil {
				square += own[i]
				score += beta[i] * own[i]
			}
			row := mat.NewVecDense(d, dense.RawRowView(i))
			if v := mat.Dot(row, row); math.Abs(square-v) > 1e-12 {
				t.Errorf("%s: the square of row %d is %v, want %v", name, i, square, v)
			}
			if v := mat.Dot(row, mat.NewVecDense(d, want)); math.Abs(score-v) > 1e-12 {
				t.Errorf("%s: the score of row %d is %v, want %v", name, i, score, v)
			}
		}
	}
}
