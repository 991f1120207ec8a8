package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// Numeric columns have mean 0 and variance 1. Missing values become the mean, categories are
// omitted, and constant columns are 0.
func TestStandardize(t *testing.T) {
	nan := math.NaN()
	data := datasets.Set{
		X: mat.NewDense(4, 4, []float64{
			1e9 + 1, 0, 5e15, nan,
			1e9 + 2, 1, 5e15, nan,
			nan, 2, 5e15, nan,
			1e9 + 3, 0, 5e15, nan}),
		Schema: datasets.Schema{Columns: []datasets.Column{{}, {Kind: datasets.Categorical, Categories: []string{"a", "b",
			"c"}}, {}, {}}},
	}
	r := math.Sqrt(1.5)
	want := mat.NewDense(4, 3, []float64{-r, 0, 0, 0, 0, 0, 0, 0, 0, r, 0, 0})
	if got := standardize(data); !mat.EqualApprox(got, want, 1e-12) {
		t.Errorf("got %v", mat.Formatted(got))
	}
	data.Schema.Columns = []datasets.Column{{Kind: datasets.Categorical}, {Kind: datasets.Categorical},
		{Kind: datasets.Categorical}, {Kind: datasets.Categorical}}
	if got := standardize(data); got != nil {
		t.Errorf("of categories alone: %v", got)
	}
}

// TestStandardizeSparse checks that sparse rows stay sparse with the distances of dense rows, and
// that weights count rows.
func TestStandardizeSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 30, 6
	dense := mat.NewDense(n, d, nil)
	data := datasets.Set{X: dense, Weights: make([]float64, n)}
	var twice []int
	for i := range n {
		data.Weights[i] = float64(rng.IntN(3))
		for range int(data.Weights[i]) {
			twice = append(twice, i)
		}
		for j := range d {
			if rng.IntN(3) == 0 {
				dense.Set(i, j, 3+rng.NormFloat64())
			}
		}
	}
	thin := data
	thin.X = matrices.CSRFromDense(dense)
	ones := datasets.Set{X: matrices.CSRFromDense(mat.NewDense(2, 2, []float64{1, 0, 0, 1}))}
	if _, isSparse := standardize(thin).(*matrices.CSR); !isSparse {
		t.Fatal("sparse rows became dense")
	}
	of := data.Select(twice)
	of.Weights = nil
	repeated := standardize(of)
	a, b := standardize(data), standardize(thin)
	apart := func(m mat.Matrix, i, k int) (sum float64) {
		for j := range d {
			sum += math.Pow(m.At(i, j)-m.At(k, j), 2)
		}
		return sum
	}
	for i := range twice {
		k := (i + 7) % len(twice)
		want := apart(repeated, i, k)
		for _, m := range []mat.Matrix{a, b} {
			if got := apart(m, twice[i], twice[k]); math.Abs(got-want) > 1e-9*(1+want) {
				t.Fatalf("rows %d and %d: %v, want %v", twice[i], twice[k], got, want)
			}
		}
	}
	if got := standardize(ones); got.At(0, 0) != 2 || got.At(0, 1) != 0 { // variance 1/4
		t.Errorf("of one shared value: %v", mat.Formatted(got))
	}
}
