package estimator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
)

// lassoReference is testdata/lasso.json.
type lassoReference struct {
	X                        [][]float64
	Number, Classes, Weights []float64
	Nets                     []struct {
		Weighted, Intercept bool
		Alpha               float64
		L1Ratio             float64 `json:"l1_ratio"`
		Coef                []float64
		B                   float64
	}
	Logistic []struct {
		Weighted, Intercept bool
		Classes             int
		C                   float64
		L1Ratio             float64 `json:"l1_ratio"`
		Coef                [][]float64
		B                   []float64
	}
}

func readLassoReference(t *testing.T) (in lassoReference) {
	t.Helper()
	file, err := os.ReadFile("testdata/lasso.json")
	if err == nil {
		err = json.Unmarshal(file, &in)
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestElasticNetEqualsReference(t *testing.T) {
	in := readLassoReference(t)
	for _, want := range in.Nets {
		data := datasets.Set{X: matrix(in.X), Y: in.Number}
		if want.Weighted {
			data.Weights = in.Weights
		}
		net := estimator.NewElasticNet()
		net.Alpha, net.L1Ratio, net.Intercept, net.Tol = want.Alpha, want.L1Ratio, want.Intercept, 1e-12
		specs := []estimator.Estimator{net}
		if want.L1Ratio == 1 {
			specs = append(specs, estimator.Lasso{Alpha: want.Alpha, Intercept: want.Intercept, Tol: 1e-12, MaxIter: 1000})
		}
		for _, s := range specs {
			for _, sparse := range []bool{false, true} {
				if sparse {
					data.X = matrices.CSRFromDense(matrix(in.X))
				}
				f := fit(t, s, data).(*estimator.FittedLinear)
				near(t, fmt.Sprintf("coef of %+v", s), f.Coef().RawMatrix().Data, want.Coef, 1e-8)
				near(t, "intercept", f.Intercept(), []float64{want.B}, 1e-8)
			}
		}
	}
}

func TestLogisticL1EqualsReference(t *testing.T) {
	in := readLassoReference(t)
	for _, want := range in.Logistic {
		data := datasets.Set{X: matrix(in.X), Y: make([]float64, len(in.Classes))}
		for i, y := range in.Classes {
			data.Y[i] = min(y, float64(want.Classes-1))
		}
		if want.Weighted {
			data.Weights = in.Weights
		}
		s := estimator.NewLogistic()
		s.C, s.L1Ratio, s.Intercept, s.Tol = want.C, want.L1Ratio, want.Intercept, 1e-13
		for _, sparse := range []bool{false, true} {
			if sparse {
				data.X = matrices.CSRFromDense(matrix(in.X))
			}
			f := fit(t, s, data).(linearModel)
			if r := f.Report(); !r.Converged || r.Iterations == 0 {
				t.Errorf("%+v: %+v", s, r)
			}
			mean := 0.0
			for _, b := range want.B {
				mean += b / float64(len(want.B))
			}
			for c, coef := range want.Coef {
				near(t, fmt.Sprintf("coef of %+v", s), f.Coef().RawRowView(c), coef, 1e-6)
				if len(want.B) > 1 {
					want.B[c] -= mean
				}
			}
			near(t, "intercept", f.Intercept(), want.B, 1e-6)
			if violated := logisticViolation(t, f, data, s); violated > 1e-8 {
				t.Errorf("%+v: the optimality conditions are violated by %v", s, violated)
			}
		}
	}
	s := estimator.NewLogistic()
	s.C, s.L1Ratio = 0.2, 1
	x := matrix(in.X)
	two, list := mat.NewDense(len(in.X), 2, nil), []float64{}
	for i, y := range in.Classes {
		two.Set(i, 0, min(y, 1))
		two.Set(i, 1, max(y-1, 0))
	}
	labels := fit(t, s, datasets.Set{X: x, Y: mat.Col(nil, 0, two), Targets: two}).(linearModel)
	for j := range 2 {
		one := fit(t, s, datasets.Set{X: x, Y: mat.Col(nil, j, two)}).(linearModel)
		list = append(list, one.Coef().RawRowView(0)...)
	}
	near(t, "coef of two labels", labels.Coef().RawMatrix().Data, list, 1e-12)
	_, err := s.Start(context.Background(), datasets.Schema{}, 3)
	if !errors.Is(err, datasets.ErrNoPasses) {
		t.Errorf("error %v of passes", err)
	}
	s.Solver = "dual"
	if err := param.Check(s); err == nil || !strings.Contains(err.Error(), "auto, which an l1_ratio needs") {
		t.Errorf("error %v", err)
	}
}

// logisticViolation returns how far a model is from the optimality conditions, relative to the penalty.
func logisticViolation(t *testing.T, f linearModel, data datasets.Set,
	s estimator.Logistic) (worst float64) {
	t.Helper()
	full, err := f.PredictFull(context.Background(), data.X, estimator.Request{Outputs: estimator.OutputProbabilities})
	if err != nil {
		t.Fatal(err)
	}
	classes, cols := f.Coef().Dims()
	for c := range classes {
		of := c
		if classes == 1 {
			of = 1
		}
		for j := range cols {
			g, w := 0.0, f.Coef().At(c, j)
			for i, y := range data.Y {
				r := -full.Probabilities.At(i, of)
				if int(y) == of {
					r++
				}
				if data.Weights != nil {
					r *= data.Weights[i]
				}
				g += s.C * r * data.X.At(i, j)
			}
			if g -= (1 - s.L1Ratio) * w; w == 0 {
				worst = max(worst, math.Abs(g)-s.L1Ratio)
			} else {
				worst = max(worst, math.Abs(g-math.Copysign(s.L1Ratio, w)))
			}
		}
	}
	return worst
}

// Of orthonormal columns, the weights are those of least squares, shrunk by alpha.
func TestLassoOfOrthonormalColumnsIsTheSoftThreshold(t *testing.T) {
	const n = 64
	x, y := mat.NewDense(n, n-1, nil), make([]float64, n)
	for i := range n {
		for j := range n - 1 { // a Hadamard matrix without its constant column
			x.Set(i, j, 1)
			for bits := i & (j + 1); bits > 0; bits &= bits - 1 {
				x.Set(i, j, -x.At(i, j))
			}
		}
		y[i] = math.Sin(float64(i*i)) + float64(i)/10
	}
	s := estimator.NewElasticNet()
	s.Alpha, s.L1Ratio = 0.2, 0.4
	f := fit(t, s, datasets.Set{X: x, Y: y}).(*estimator.FittedLinear)
	want, zeros := make([]float64, n-1), 0
	for j := range want {
		mean := 0.0
		for i := range n {
			mean += x.At(i, j) * y[i] / n
		}
		if over := math.Abs(mean) - 0.2*0.4; over > 0 {
			want[j] = math.Copysign(over, mean) / (1 + 0.2*0.6)
			continue
		}
		if zeros++; f.Coef().At(0, j) != 0 {
			t.Errorf("weight %d is %v, want 0", j, f.Coef().At(0, j))
		}
	}
	if zeros < 5 || zeros > n-5 {
		t.Fatalf("%d weights are 0", zeros)
	}
	near(t, "coef", f.Coef().RawMatrix().Data, want, 1e-12)
}

// A path has the bits of separate fits where supports are solved exactly.
func TestLassoPathEqualsSeparateFits(t *testing.T) {
	in := readLassoReference(t)
	data := datasets.Set{X: matrix(in.X), Y: in.Number}
	var specs []estimator.Lasso
	for _, alpha := range []float64{0.01, 1, 0.1, 0.3} {
		s := estimator.NewLasso()
		s.Alpha = alpha
		specs = append(specs, s)
	}
	folds, err := datasets.KFold{Folds: 3, Shuffle: true, Seed: 1}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := specs[0].FitBatch(context.Background(), batch.Job{Data: data, Shape: data.Shape(), Folds: folds,
		Candidates: batch.Candidates(specs...), Yield: func(candidate, fold int, out batch.Outcome) error {
			f := fit(t, specs[candidate], data.Select(folds[fold].Train))
			want, err := f.Predict(context.Background(), data.Select(folds[fold].Test).X)
			if err != nil {
				return err
			}
			near(t, "prediction", out.Values, want, 1e-13)
			return out.Err
		}})
	if err != nil || !slices.Equal(shared, []string{"path", "folds"}) {
		t.Errorf("shared %q, error %v", shared, err)
	}
}

// Folds share sums of products. The models are those of separate fits up to the tolerance, also with weights, constant
// and equal columns, a large support, and a fold whose training rows have no weight.
func TestLassoFoldsShareSums(t *testing.T) {
	const n, p = 500, 275
	rng := rand.New(rand.NewPCG(5, 6))
	x, y, weights := mat.NewDense(n, p, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		for j := range p {
			x.Set(i, j, rng.NormFloat64()+5*float64(j%2))
		}
		x.Set(i, 7, 3)
		x.Set(i, 9, x.At(i, 8))
		y[i], weights[i] = 1000+x.At(i, 0)-2*x.At(i, 8)+3*rng.NormFloat64(), float64(1+i%3)
	}
	for _, intercept := range []bool{true, false} {
		var specs []estimator.ElasticNet
		for _, alpha := range []float64{0.002, 0.1, 0.5} {
			s := estimator.NewElasticNet()
			s.Alpha, s.L1Ratio, s.Intercept, s.Tol, s.MaxIter = alpha, 0.9, intercept, 1e-8, 10_000
			specs = append(specs, s)
		}
		data := datasets.Set{X: x, Y: y, Weights: weights}
		folds, err := datasets.KFold{Folds: 4, Shuffle: true, Seed: 1}.Split(data)
		if err != nil {
			t.Fatal(err)
		}
		largest := 0
		shared, err := specs[0].FitBatch(context.Background(), batch.Job{Data: data, Folds: folds,
			Candidates: batch.Candidates(specs...), Yield: func(candidate, fold int, out batch.Outcome) error {
				f := fit(t, specs[candidate], data.Select(folds[fold].Train))
				want, err := f.Predict(context.Background(), data.Select(folds[fold].Test).X)
				if err != nil {
					return err
				}
				near(t, "prediction", out.Values, want, 1e-5)
				support := 0
				for _, w := range f.(*estimator.FittedLinear).Coef().RawMatrix().Data {
					if w != 0 {
						support++
					}
				}
				largest = max(largest, support)
				return out.Err
			}})
		if err != nil || !slices.Equal(shared, []string{"path", "folds"}) || largest <= 256 {
			t.Errorf("shared %q, support of at most %d, error %v", shared, largest, err)
		}
	}
}

func ExampleLasso() {
	x := mat.NewDense(6, 3, []float64{1, 0, 2, 2, 1, 0, 3, 0, 1, 4, 1, 1, 5, 0, 0, 6, 1, 2})
	y := []float64{2, 4, 6, 8, 10, 12}
	s := estimator.NewLasso()
	s.Alpha = 0.5
	model, err := s.Fit(context.Background(), datasets.Set{X: x, Y: y})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", mat.Formatted(model.(*estimator.FittedLinear).Coef()))
	// Output: [1.83  0.00  0.00]
}
