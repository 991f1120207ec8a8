package estimator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
)

// reference is the output of testdata/sgd_reference.py.
type reference struct {
	Few, Many referenceRows
	Steps     []struct {
		Loss, Penalty, Target                 string
		Alpha, L1Ratio, Eta0, PowerT, Epsilon float64
		LearningRate                          string
		Average                               any
		Coef                                  [][]float64
		Intercept                             []float64
	}
	Least []struct {
		Loss, Penalty string
		Objective     float64
	}
}

type referenceRows struct {
	X                           [][]float64
	Number, Two, Three, Weights []float64
}

func readReference(t *testing.T) (out reference) {
	t.Helper()
	text, err := os.ReadFile("testdata/sgd_reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	for _, s := range plain["steps"].([]any) { // names that Go's fields do not match
		step := s.(map[string]any)
		for from, to := range map[string]string{"l1_ratio": "L1Ratio", "power_t": "PowerT", "learning_rate": "LearningRate"} {
			step[to] = step[from]
		}
	}
	if text, err = json.Marshal(plain); err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || len(out.Steps) < 100 || len(out.Least) != 24 {
		t.Fatalf("%v; %d runs, %d objectives", err, len(out.Steps), len(out.Least))
	}
	return out
}

// set returns the rows with one of the targets.
func (r referenceRows) set(target string) datasets.Set {
	X := mat.NewDense(len(r.X), len(r.X[0]), nil)
	for i, row := range r.X {
		X.SetRow(i, row)
	}
	out := datasets.Set{X: X, Y: r.Number, Weights: r.Weights,
		Schema: datasets.Schema{Targets: []datasets.Column{{Name: "y"}}}}
	levels := map[string][]string{"two": {"0", "1"}, "three": {"0", "1", "2"}}[target]
	if levels != nil {
		out.Y = map[string][]float64{"two": r.Two, "three": r.Three}[target]
		out.Schema.Targets[0] = datasets.Column{Name: "y", Kind: datasets.Categorical, Categories: levels}
	}
	return out
}

// sgdOf returns the spec of a loss with few epochs.
func sgdOf(loss, penalty, rate string, set func(c *estimator.SGDClassifier,
	r *estimator.SGDRegressor)) estimator.Estimator {
	c, r := estimator.NewSGDClassifier(), estimator.NewSGDRegressor()
	c.Loss, c.Penalty, c.LearningRate = loss, penalty, rate
	r.Loss, r.Penalty, r.LearningRate = loss, penalty, rate
	set(&c, &r)
	if slices.Contains([]string{"hinge", "squared_hinge", "log_loss", "modified_huber", "perceptron"}, loss) {
		return c
	}
	return r
}

// TestSGDStepsAreThoseOfScikitLearn checks that with one row per step, in order, the steps are
// those of scikit-learn, for every loss, penalty and rate, with weights, and for dense and sparse
// rows.
func TestSGDStepsAreThoseOfScikitLearn(t *testing.T) {
	ref := readReference(t)
	for _, s := range ref.Steps {
		from := 0
		if k, ok := s.Average.(float64); ok {
			from = int(k)
		}
		spec := sgdOf(s.Loss, s.Penalty, s.LearningRate, func(c *estimator.SGDClassifier, r *estimator.SGDRegressor) {
			c.Alpha, c.L1Ratio, c.Eta0, c.PowerT, c.Average, c.AverageFrom = s.Alpha, s.L1Ratio, s.Eta0, s.PowerT, from > 0, from
			r.Alpha, r.L1Ratio, r.Eta0, r.PowerT, r.Average, r.AverageFrom = s.Alpha, s.L1Ratio, s.Eta0, s.PowerT, from > 0, from
			c.Batch, c.Shuffle, c.Epochs, c.Tol = 1, false, 2, 0
			r.Batch, r.Shuffle, r.Epochs, r.Tol, r.Epsilon = 1, false, 2, 0, s.Epsilon
		})
		data := ref.Few.set(s.Target)
		thin := data
		thin.X = matrices.CSRFromDense(data.X)
		for form, rows := range map[string]datasets.Set{"dense": data, "sparse": thin} {
			name := fmt.Sprintf("%s of %s, %s, %s, average %v, %s", s.Loss, s.Target, s.Penalty, s.LearningRate, s.Average, form)
			p, err := spec.Fit(context.Background(), rows)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			l := p.(interface {
				Coef() *mat.Dense
				Intercept() []float64
			})
			got, b := l.Coef(), l.Intercept()
			for c, row := range s.Coef {
				for j, want := range row {
					if v := got.At(c, j); math.Abs(v-want) > 1e-9*(1+math.Abs(want)) {
						t.Errorf("%s: weight %d, %d is %.12g, want %.12g", name, c, j, v, want)
					}
				}
				if math.Abs(b[c]-s.Intercept[c]) > 1e-9*(1+math.Abs(s.Intercept[c])) {
					t.Errorf("%s: intercept %d is %.12g, want %.12g", name, c, b[c], s.Intercept[c])
				}
			}
		}
	}
}

// TestSGDMinimizesObjective checks that after many epochs the objective is within 0.1 % of
// the minimum, with averaged weights and shuffled minibatches, and within some 0.1 % with step
// sizes as large as scikit-learn's.
func TestSGDMinimizesObjective(t *testing.T) {
	ref := readReference(t)
	for _, least := range ref.Least {
		for _, rate := range []string{"auto", "optimal"} {
			if rate == "optimal" && strings.HasPrefix(least.Loss, "squared_") {
				continue // its first steps are too large for these
			}
			spec := sgdOf(least.Loss, least.Penalty, rate, func(c *estimator.SGDClassifier, r *estimator.SGDRegressor) {
				c.Alpha, c.L1Ratio, c.Epochs, c.Tol, c.Batch = 0.05, 0.3, 600, 0, 8
				r.Alpha, r.L1Ratio, r.Epochs, r.Tol, r.Batch, r.Epsilon = 0.05, 0.3, 600, 0, 8, 0.2
			})
			target := "number"
			if _, ok := spec.(estimator.SGDClassifier); ok {
				target = "two"
			}
			name := fmt.Sprintf("%s, %s, %s", least.Loss, least.Penalty, rate)
			p, err := spec.Fit(context.Background(), ref.Many.set(target))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got := p.(estimator.Reporter).Report().Objective
			near := map[string]float64{"auto": 1e-3, "optimal": 5e-3}[rate]
			if excess := got/least.Objective - 1; !(excess >= -1e-6 && excess <= near) {
				t.Errorf("%s: objective %.8g, the least is %.8g: %.2g of it above", name, got, least.Objective, excess)
			}
		}
	}
}
