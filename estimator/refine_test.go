package estimator

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
)

// powers returns rows of the powers 0 … d−1 of numbers in [0, 1], centered, whose condition grows
// like 5^d, and targets that are no polynomial.
func powers(n, d int) datasets.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	x := mat.NewDense(n, d, nil)
	y := make([]float64, n)
	for i := range n {
		v := rng.Float64()
		for j := range d {
			x.Set(i, j, math.Pow(v, float64(j+1)))
		}
		y[i] = math.Exp(2*v) + 0.1*rng.NormFloat64()
	}
	return datasets.Set{X: x, Y: y}
}

// byQR returns the predictions of ridge regression with an intercept by an orthogonal factorization
// of the centered rows with √alpha·I below.
func byQR(t *testing.T, data datasets.Set, alpha float64) []float64 {
	t.Helper()
	n, d := data.X.Dims()
	a, b := mat.NewDense(n+d, d, nil), mat.NewVecDense(n+d, nil)
	mean, meanY := make([]float64, d), 0.0
	for i := range n {
		for j := range d {
			mean[j] += data.X.At(i, j) / float64(n)
		}
		meanY += data.Y[i] / float64(n)
	}
	for i := range n {
		for j := range d {
			a.Set(i, j, data.X.At(i, j)-mean[j])
		}
		b.SetVec(i, data.Y[i]-meanY)
	}
	for j := range d {
		a.Set(n+j, j, math.Sqrt(alpha))
	}
	var qr mat.QR
	qr.Factorize(a)
	w := mat.NewVecDense(d, nil)
	if err := qr.SolveVecTo(w, false, b); err != nil {
		if _, ill := err.(mat.Condition); !ill {
			t.Fatal(err)
		}
	}
	out := make([]float64, n)
	for i := range n {
		out[i] = meanY
		for j := range d {
			out[i] += (data.X.At(i, j) - mean[j]) * w.AtVec(j)
		}
	}
	return out
}

func worst(got, want []float64) float64 {
	largest := 0.0
	for i, v := range want {
		largest = max(largest, math.Abs(got[i]-v))
	}
	return largest
}

// A system of condition 1e12 is solved as an orthogonal factorization of the rows solves it, which
// the sums of products alone do not give.
func TestRidgeRefinesIllConditioned(t *testing.T) {
	const alpha = 1e-9
	data := powers(400, 12)
	want := byQR(t, data, alpha)
	s := NewRidge()
	s.Alpha, s.Solver = alpha, "cholesky"
	for name, set := range map[string]datasets.Set{
		"dense": data, "sparse": {X: matrices.CSRFromDense(data.X.(*mat.Dense)), Y: data.Y}} {
		fitted, err := s.Fit(context.Background(), set)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fitted.Predict(context.Background(), set.X)
		if err != nil {
			t.Fatal(err)
		}
		if e := worst(got, want); e > 1e-9 {
			t.Errorf("%s: predictions are off by %.2g", name, e)
		}
	}
}

// TestRidgeFamilyRefinesIllConditioned checks that refining the ill-conditioned specs of a family
// jointly gives the results of separate fits.
func TestRidgeFamilyRefinesIllConditioned(t *testing.T) {
	data := powers(500, 12)
	data.Weights = make([]float64, 500)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range data.Weights {
		data.Weights[i] = 3 * rng.Float64()
	}
	folds, err := datasets.KFold{Folds: 4, Shuffle: true, Seed: 1}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	f := batch.Job{Data: data, Folds: folds, Maps: columnsAsTheyAre(12), Memory: 1 << 30}
	for _, intercept := range []bool{true, false} {
		for _, width := range []int{7, 12} {
			for _, alpha := range []float64{1e-10, 1e-9, 1e-8, 1} {
				s := NewRidge()
				s.Alpha, s.Intercept, s.Solver = alpha, intercept, "cholesky"
				f.Candidates = append(f.Candidates, batch.Candidate{Estimator: s, Width: width, Scale: 1})
			}
		}
	}
	alone, done := 0, 0
	own := func(k, fold int) batch.Outcome {
		train := data.Select(folds[fold].Train)
		train.X = train.X.(*mat.Dense).Slice(0, train.Rows(), 0, f.Candidates[k].Width)
		fitted, err := f.Candidates[k].Estimator.(Estimator).Fit(context.Background(), train)
		if err != nil {
			t.Fatal(err)
		}
		test := rowblock.Select(data.X, folds[fold].Test).(*mat.Dense)
		n, _ := test.Dims()
		one := batch.Outcome{}
		predicted, err := Predict(context.Background(), fitted, test.Slice(0, n, 0, f.Candidates[k].Width), Request{})
		one.Prediction, one.Err = predicted, err
		return one
	}
	f.FitOne = func(_ context.Context, k, fold int) batch.Outcome { alone++; return own(k, fold) }
	f.Yield = func(k, fold int, one batch.Outcome) error {
		done++
		want := own(k, fold).Prediction.Values
		// Both are accurate to visible, relative to the root of the spread of all targets; further
		// digits depend on the order of summation, and so on the instruction set.
		spread := 0.0
		train := data.Select(folds[fold].Train)
		for i, s := range train.Weights {
			spread += s * train.Y[i] * train.Y[i]
		}
		for i := range folds[fold].Test {
			if e := math.Abs(one.Prediction.Values[i] - want[i]); e > 2e-9*math.Sqrt(spread) {
				return fmt.Errorf("%+v, fold %d, row %d: off by %.2g", f.Candidates[k], fold, i, e)
			}
		}
		return one.Err
	}
	if _, err := NewRidge().FitBatch(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if done != len(f.Candidates)*len(folds) || alone > 0 {
		t.Errorf("%d results of %d, %d fitted alone", done, len(f.Candidates)*len(folds), alone)
	}
}

// shortColumns are the same maps in float32.
type shortColumns struct {
	columnsAsTheyAre
	tiles int // in float32
}

func (m *shortColumns) EachFloat32(_ context.Context, X mat.Matrix, _ []int,
	yield func(int, *matrices.Dense32) error) error {
	m.tiles++
	return yield(0, matrices.CopyDense32(X))
}

// Float32 candidates are fitted on shared sums of the features, down to alphas that require float64
// features, and none separately.
func TestRidgeFamilyOfSinglePrecisionFitsNoneAlone(t *testing.T) {
	data := powers(500, 12)
	folds := []datasets.Fold{{Train: upTo(0, 400), Test: upTo(400, 500)}, {Train: upTo(100, 500), Test: upTo(0, 100)}}
	for _, alphas := range [][]float64{{1, 100}, {1e-3, 1}} {
		maps := &shortColumns{columnsAsTheyAre: 12}
		f := batch.Job{Data: data, Folds: folds, Maps: maps, Memory: 1 << 30}
		for _, width := range []int{7, 12} {
			for _, alpha := range alphas {
				s := NewRidge()
				s.Alpha, s.Solver = alpha, "cholesky"
				f.Candidates = append(f.Candidates, batch.Candidate{Estimator: s, Width: width, Scale: 1, Float32: true})
			}
		}
		done := 0
		f.FitOne = func(_ context.Context, k, fold int) batch.Outcome {
			t.Errorf("candidate %d is fitted alone on fold %d", k, fold)
			return batch.Outcome{}
		}
		f.Yield = func(k, fold int, one batch.Outcome) error {
			done++
			short := matrices.CopyDense32(data.X.(*mat.Dense).Slice(0, 500, 0, f.Candidates[k].Width))
			train := datasets.Set{X: short.Select(folds[fold].Train), Y: data.Select(folds[fold].Train).Y}
			fitted, err := f.Candidates[k].Estimator.(Estimator).Fit(context.Background(), train)
			if err != nil {
				return err
			}
			want, err := Predict(context.Background(), fitted, short.Select(folds[fold].Test), Request{})
			if err != nil {
				return err
			}
			for i, v := range want.Values {
				if e := math.Abs(one.Prediction.Values[i] - v); e > 1e-3*(1+math.Abs(v)) {
					return fmt.Errorf("%+v, fold %d, row %d: got %v, want %v", f.Candidates[k], fold, i, one.Prediction.Values[i], v)
				}
			}
			return one.Err
		}
		if _, err := NewRidge().FitBatch(context.Background(), f); err != nil {
			t.Fatal(err)
		}
		if done != len(f.Candidates)*len(folds) || maps.tiles == 0 {
			t.Errorf("%d results of %d, %d tiles", done, len(f.Candidates)*len(folds), maps.tiles)
		}
	}
}

func upTo(lo, hi int) (list []int) {
	for i := lo; i < hi; i++ {
		list = append(list, i)
	}
	return list
}

// columnsAsTheyAre is an identity map of the given width.
type columnsAsTheyAre int

func (m columnsAsTheyAre) Widths() []int { return []int{int(m)} }

func (m columnsAsTheyAre) Each(_ context.Context, X mat.Matrix, _ []int, yield func(int, mat.Matrix) error) error {
	return yield(0, mat.DenseCopyOf(X))
}
