package meta_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func TestCalibratedConformance(t *testing.T) {
	svm := estimator.NewSVM()
	svm.Tol, svm.MaxIter = 1e-11, 20_000
	for _, method := range []string{"sigmoid", "isotonic", "temperature"} {
		for _, classes := range []int{2, 3} {
			for _, folds := range []int{0, 4} {
				t.Run(method, func(t *testing.T) {
					estimatortest.Run(t, calibrated(method, folds, estimator.NewRidgeClassifier()),
						estimatortest.Options{Classes: classes, Folds: true})
				})
			}
		}
	}
	t.Run("of balanced classes", func(t *testing.T) { // which are fitted with their whole pipeline behind related maps
		balanced := estimator.NewRidgeClassifier()
		balanced.ClassWeight.Balanced = true
		estimatortest.Run(t, calibrated("sigmoid", 3, balanced), estimatortest.Options{Classes: 3, Folds: true})
	})
	t.Run("of svm", func(t *testing.T) {
		estimatortest.Run(t, calibrated("sigmoid", 3, svm), estimatortest.Options{Classes: 2, Folds: true, Tolerance: 1e-4})
	})
}

// TestCalibratedMatchesScikitLearn compares with scikit-learn's CalibratedClassifierCV with
// ensemble=False.
func TestCalibratedMatchesScikitLearn(t *testing.T) {
	raw, err := os.ReadFile("testdata/calibrated_sklearn.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		X       [][]float64
		Two     []float64 `json:"y_two"`
		Three   []float64 `json:"y_three"`
		Weights []float64
		Test    [][]float64 `json:"X_test"`
		Cases   []struct {
			Classes, Method string
			Weighted        bool
			Probabilities   [][]float64
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	matrix := func(rows [][]float64) *mat.Dense {
		return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
	}
	if len(doc.Cases) != 12 {
		t.Fatalf("%d cases", len(doc.Cases))
	}
	for _, c := range doc.Cases {
		data := datasets.Set{X: matrix(doc.X), Y: doc.Two}
		if c.Classes == "three" {
			data.Y = doc.Three
		}
		if c.Weighted {
			data.Weights = doc.Weights
		}
		of := estimator.NewRidgeClassifier()
		of.Alpha = 0.7
		got := predicted(t, calibrated(c.Method, 5, of), data, matrix(doc.Test)).Probabilities
		tolerance := 1e-9
		if c.Method != "isotonic" {
			tolerance = 2e-4 // tolerance of the optimizer in scikit-learn
		}
		alike(t, fmt.Sprintln(c.Classes, c.Method, c.Weighted), got.RawMatrix().Data, slices.Concat(c.Probabilities...),
			tolerance)
	}
}

func logLoss(p *mat.Dense, y []float64) (sum float64) {
	for i, c := range y {
		sum -= math.Log(max(p.At(i, int(c)), 1e-15)) / float64(len(y))
	}
	return sum
}

// TestCalibratedProbabilitiesAreTrue checks that on new rows the probabilities are about as
// accurate as those of logistic regression, the true model, by folds and by leave-one-out; and that
// a model which memorizes its training rows gets even odds.
func TestCalibratedProbabilitiesAreTrue(t *testing.T) {
	train, test := overlapping(1, 1200), overlapping(2, 4000)
	best := logLoss(predicted(t, estimator.NewLogistic(), train, test.X).Probabilities, test.Y)
	for _, folds := range []int{0, 5} {
		for _, method := range []string{"sigmoid", "isotonic", "temperature"} {
			if got := logLoss(predicted(t, calibrated(method, folds, estimator.NewRidgeClassifier()), train,
				test.X).Probabilities, test.Y); got > best+0.05 {
				t.Errorf("%s, %d folds: log loss %v, that of logistic is %v", method, folds, got, best)
			}
		}
	}
	noise := overlapping(3, 150)
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range noise.Y {
		noise.Y[i] = float64(rng.IntN(2))
	}
	wide := pipeline.Steps(wideFeatures()).Then(weakClassifier())
	if got := logLoss(predicted(t, calibrated("sigmoid", 0, wide), noise, noise.X).Probabilities, noise.Y); got < 0.5 {
		t.Errorf("log loss %v of the rows themselves, where the targets are noise", got)
	}
}

func wideFeatures() transformer.RFF {
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features, rff.Seed = kernel.FixedGamma(2), 400, 5
	return rff
}

func weakClassifier() estimator.RidgeClassifier {
	s := estimator.NewRidgeClassifier()
	s.Alpha = 1e-3
	return s
}

// Leave-one-out equals n folds.
func TestCalibratedByLeaveOneOut(t *testing.T) {
	data := overlapping(4, 60)
	probe := overlapping(5, 20).X
	for _, of := range []estimator.Estimator{estimator.NewRidgeClassifier(),
		pipeline.Steps(wideFeatures()).Then(estimator.NewRidgeClassifier())} {
		got := predicted(t, calibrated("sigmoid", 0, of), data, probe).Probabilities.RawMatrix().Data
		alike(t, "probabilities", got, predicted(t, calibrated("sigmoid", 60, of), data,
			probe).Probabilities.RawMatrix().Data, 1e-7)
	}
	// With groups no row may be tested by a model that has seen others of its group.
	alone := predicted(t, calibrated("sigmoid", 5, estimator.NewRidgeClassifier()), data, probe).Probabilities
	data.Groups = make([]int, 60)
	for i := range data.Groups {
		data.Groups[i] = i % 7
	}
	alike(t, "groups", predicted(t, calibrated("sigmoid", 0, estimator.NewRidgeClassifier()), data,
		probe).Probabilities.RawMatrix().Data,
		predicted(t, calibrated("sigmoid", 5, estimator.NewRidgeClassifier()), data, probe).Probabilities.RawMatrix().Data, 0)
	if mat.Equal(alone, predicted(t, calibrated("sigmoid", 5, estimator.NewRidgeClassifier()), data,
		probe).Probabilities) {
		t.Error("groups change nothing")
	}
}

// A class of a single row, and one of two, are no reason to fail.
func TestCalibratedOfRareClasses(t *testing.T) {
	data := overlapping(6, 80)
	data.Schema.Targets[0].Categories = []string{"no", "yes", "one", "two"}
	data.Y[3], data.Y[11], data.Y[70] = 2, 3, 3
	for _, folds := range []int{0, 4} {
		for _, method := range []string{"sigmoid", "isotonic", "temperature"} {
			p := predicted(t, calibrated(method, folds, estimator.NewRidgeClassifier()), data, data.X).Probabilities
			if n, _ := p.Dims(); n != 80 {
				t.Errorf("%d rows", n)
			}
			for i := range 80 {
				if p.At(i, 2) > 0.2 || p.At(i, 3) > 0.3 {
					t.Errorf("%s: probabilities %v of row %d", method, p.RawRowView(i), i)
				}
			}
		}
	}
}

// TestCalibratedRefuses checks that regressors cannot be calibrated, and that numeric targets are
// an error.
func TestCalibratedRefuses(t *testing.T) {
	numbers := overlapping(1, 40)
	numbers.Schema.Targets = []datasets.Column{{Name: "price"}}
	for _, c := range []struct {
		spec meta.Calibrated
		data datasets.Set
		want string
	}{
		{calibrated("sigmoid", 3, nil), overlapping(1, 40), "estimator is missing"},
		{calibrated("sigmoid", 1, estimator.NewSVM()), overlapping(1, 40), "folds: must be 0, or an integer ≥ 2, got 1"},
		{calibrated("platt", 3, estimator.NewSVM()), overlapping(1, 40), "method"},
		{calibrated("sigmoid", 3, target("sqrt", estimator.NewRidge())), overlapping(1, 40),
			"the target y has classes, and transforms are for numbers"},
		{calibrated("sigmoid", 3, normal{}), overlapping(1, 40), "no scores of classes"},
		{calibrated("sigmoid", 3, estimator.NewSVM()), numbers, "the target price is a number"},
		{calibrated("sigmoid", 50, estimator.NewSVM()), overlapping(1, 40), "40 rows are fewer than the 50 folds"},
	} {
		if _, err := c.spec.Fit(context.Background(), c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
