package transformer_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/passtest"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer"
)

// documents returns n sparse rows with d columns, of which a few are frequent, as of words.
func documents(n, d, terms int) *matrices.CSR {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	indptr, columns, values := []int{0}, []uint32{}, []float64{}
	for i := range n {
		row := map[uint32]float64{}
		for range terms {
			row[uint32(float64(d)*math.Pow(rng.Float64(), 1+float64(i%3)))]++
		}
		for j := range uint32(d) {
			if v := row[j]; v > 0 {
				columns, values = append(columns, j), append(values, v/float64(terms))
			}
		}
		indptr = append(indptr, len(columns))
	}
	X, err := matrices.NewCSR(n, d, indptr, columns, values)
	if err != nil {
		panic(err)
	}
	return X
}

// Components of wide sparse rows are singular vectors: their squares are those of an exact decomposition, X'Xv = λv, and
// the number of cores does not change them.
func TestPCAOfSparseRowsIsTruncatedSVD(t *testing.T) {
	const n, d, count = 300, 900, 12
	X := documents(n, d, 30)
	data := datasets.Set{X: X}
	spec := transformer.PCA{Components: count}
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	f := fitted.(*transformer.FittedPCA)
	var square mat.SymDense
	square.SymOuterK(1, mat.DenseCopyOf(X))
	var exact mat.EigenSym
	exact.Factorize(&square, false)
	values, V := exact.Values(nil), f.Components()
	var product mat.Dense
	product.Mul(X.T(), mulDense(X, V))
	for k, v := range f.ExplainedVariance() {
		want := values[n-1-k]
		if math.Abs(v*(n-1)-want) > 1e-5*want {
			t.Errorf("λ%d is %v, want %v", k, v*(n-1), want)
		}
		for j := range d {
			if math.Abs(product.At(j, k)-want*V.At(j, k)) > 2e-3*want {
				t.Fatalf("X'Xv is not λv: component %d, column %d: %v, want %v", k, j, product.At(j, k), want*V.At(j, k))
			}
		}
	}
	for j, m := range f.Mean() {
		if m != 0 {
			t.Fatalf("the mean of column %d is %v, want 0", j, m)
		}
	}
	Z, err := f.Transform(context.Background(), X)
	if err != nil || !mat.EqualApprox(Z, mulDense(X, V), 1e-12) {
		t.Errorf("the outputs are not X·V, %v", err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, err := spec.Fit(context.Background(), data)
	if err != nil || !mat.Equal(again.(*transformer.FittedPCA).Components(), V) {
		t.Errorf("another number of cores gives other components, %v", err)
	}
}

// Merged and saved passes give the components of all rows.
func TestTruncatedSVDOfParts(t *testing.T) {
	X := documents(40, 520, 10)
	data, spec := datasets.Set{X: X}, transformer.PCA{Components: 2}
	output := func(f transformer.Transformer) ([]float64, error) {
		Z, err := f.Transform(context.Background(), X)
		return mat.DenseCopyOf(Z).RawMatrix().Data, err
	}
	f, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := output(f)
	if err != nil {
		t.Fatal(err)
	}
	learner := passtest.Learner[transformer.Transformer]{Start: spec.Start, Finish: spec.Finish,
		Other: transformer.NewStandardize().Start, Says: output}
	if err := learner.Parts(data, whole, 1e-7); err != nil {
		t.Error(err)
	}
}

// Fewer rows than components, and rows in a space of few dimensions.
func TestPCAOfFewSparseRows(t *testing.T) {
	X := documents(5, 700, 20)
	if _, err := (transformer.PCA{Components: 6}).Fit(context.Background(), datasets.Set{X: X}); err == nil {
		t.Error("6 components of 5 rows")
	}
	f, err := transformer.PCA{Components: 5, Whiten: true}.Fit(context.Background(), datasets.Set{X: X})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, share := range f.(*transformer.FittedPCA).ExplainedVarianceRatio() {
		sum += share
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("5 components explain %v of 5 rows", sum)
	}
}

// mulDense returns X·V.
func mulDense(X mat.Matrix, V *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(X, V)
	return &out
}
