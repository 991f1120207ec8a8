package inspection

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
)

// function is a regression model that evaluates a function of a row.
type function func(row []float64) float64

func (f function) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, d := X.Dims()
	out, row := make([]float64, n), make([]float64, d)
	for i := range out {
		for j := range row {
			row[j] = X.At(i, j)
		}
		out[i] = f(row)
	}
	return out, ctx.Err()
}

func drawn(n, d int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 0))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
	}
	return X
}

func of(X mat.Matrix, f function) datasets.Set {
	y, _ := f.Predict(context.Background(), X)
	return datasets.Set{X: X, Y: y}
}

// Results match scikit-learn on the same function and rows: importances within four standard
// errors, effects exactly.
func TestPeer(t *testing.T) {
	text, err := os.ReadFile("testdata/peer.json")
	if err != nil {
		t.Fatal(err)
	}
	var peer struct {
		X            [][]float64
		Y, Mean, Std []float64
		Effects      []struct{ Values, Mean []float64 }
		ScikitLearn  string `json:"scikit_learn"`
	}
	if err := json.Unmarshal(text, &peer); err != nil {
		t.Fatal(err)
	}
	X := mat.NewDense(len(peer.X), 4, slices.Concat(peer.X...))
	f := function(func(x []float64) float64 { return math.Sin(3*x[0]) + x[1]*x[2] })
	found, err := Permutation(context.Background(), f, datasets.Set{X: X, Y: peer.Y}, Options{Metric: "r2",
		Repeats: 2000, Rows: 80})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range found.Inputs {
		j := in.Column
		if off := math.Abs(in.Mean - peer.Mean[j]); off > 4*math.Sqrt2*peer.Std[j]/math.Sqrt(2000)+1e-12 {
			t.Errorf("input %d: %v ± %v, scikit-learn %v ± %v", j, in.Mean, in.Std, peer.Mean[j], peer.Std[j])
		}
		if math.Abs(in.Std-peer.Std[j]) > 0.1*peer.Std[j]+1e-12 {
			t.Errorf("input %d: spread %v, scikit-learn %v", j, in.Std, peer.Std[j])
		}
	}
	for j, want := range peer.Effects {
		v := newColumnEditor(X)
		for k, value := range want.Values {
			v.fill(j, value)
			output, _ := estimator.Predict(context.Background(), f, v.matrix(), estimator.Request{})
			if got, _ := meanOutputs(output, nil); math.Abs(got[0]-want.Mean[k]) > 1e-8 {
				t.Errorf("input %d at %v: %v, scikit-learn %v", j, value, got[0], want.Mean[k])
			}
		}
	}
}

// For a linear function of independent inputs, permuting one increases the mean squared error by
// 2·β²·Var(x).
func TestLinearInClosedForm(t *testing.T) {
	beta := []float64{2, 0, -1, 0.5}
	f := function(func(x []float64) (y float64) {
		for j, b := range beta {
			y += b * x[j]
		}
		return y
	})
	data := of(drawn(2000, 4, 1), f)
	found, err := Permutation(context.Background(), f, data, Options{Metric: "mean_squared_error", Repeats: 20,
		Rows: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if order := []int{found.Inputs[0].Column, found.Inputs[1].Column, found.Inputs[2].Column,
		found.Inputs[3].Column}; !slices.Equal(order, []int{0, 2, 3, 1}) {
		t.Errorf("order %v", order)
	}
	for _, in := range found.Inputs {
		variance, col := 0.0, mat.Col(nil, in.Column, data.X)
		mean := 0.0
		for _, x := range col {
			mean += x / 2000
		}
		for _, x := range col {
			variance += (x - mean) * (x - mean) / 2000
		}
		want := 2 * beta[in.Column] * beta[in.Column] * variance
		if math.Abs(in.Mean-want) > 0.03*want+1e-12 { // its standard error is 0.5 %
			t.Errorf("input %d: %v, want %v", in.Column, in.Mean, want)
		}
	}
	if found.Baseline != 0 || found.Rows != 2000 || found.Repeats != 20 {
		t.Errorf("%+v", found)
	}
}

// Sparse storage does not change the result; rows of weight 0 are ignored.
func TestSparseAndWeights(t *testing.T) {
	X := drawn(300, 5, 3)
	for i := range 300 {
		for j := range 5 {
			if (i+j)%3 != 0 {
				X.Set(i, j, 0)
			}
		}
	}
	f := function(func(x []float64) float64 { return x[0] + 2*x[1]*x[3] })
	data := of(X, f)
	data.Y[7] += 1
	dense, err := Permutation(context.Background(), f, data, Options{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	thin := data
	thin.X = matrices.CSRFromDense(X)
	got, err := Permutation(context.Background(), f, thin, Options{Seed: 4})
	if err != nil || !reflect.DeepEqual(got, dense) {
		t.Errorf("sparse: %+v, dense: %+v (%v)", got, dense, err)
	}
	one, err := PartialDependence(context.Background(), f, thin, 1, Options{})
	two, _ := PartialDependence(context.Background(), f, data, 1, Options{})
	if err != nil || !reflect.DeepEqual(one, two) {
		t.Errorf("effects of sparse rows: %v and %v (%v)", one, two, err)
	}
	ones := data
	ones.Weights = slices.Repeat([]float64{2}, 300)
	if got, _ := Permutation(context.Background(), f, ones,
		Options{Seed: 4}); math.Abs(got.Inputs[0].Mean-dense.Inputs[0].Mean) > 1e-12 {
		t.Error("equal weights matter")
	}
}

// Missing values are permuted with their rows; unused and constant inputs have importance 0;
// results are reproducible.
func TestOddColumns(t *testing.T) {
	X := drawn(200, 3, 5)
	for i := range 200 {
		X.Set(i, 1, 7)
		if i%4 == 0 {
			X.Set(i, 2, math.NaN())
		}
	}
	f := function(func(x []float64) float64 {
		if math.IsNaN(x[2]) {
			return x[0]
		}
		return x[0] + x[2]
	})
	data := of(X, f)
	a, err := Permutation(context.Background(), f, data, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Permutation(context.Background(), f, data, Options{Seed: 1})
	c, _ := Permutation(context.Background(), f, data, Options{Seed: 2})
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Error("the seed has no effect")
	}
	if last := a.Inputs[2]; last.Column != 1 || last.Mean != 0 || last.Std != 0 || last.Name != "x1" {
		t.Errorf("a column of one value: %+v", last)
	}
	if !(a.Inputs[0].Mean > 0.1) || !(a.Inputs[1].Mean > 0.1) {
		t.Errorf("%+v", a)
	}
	e, err := PartialDependence(context.Background(), f, data, 1, Options{})
	if err != nil || !slices.Equal(e[0].Values, []float64{7}) {
		t.Errorf("%+v %v", e, err)
	}
}

// chance is a classifier whose probabilities depend on the first input.
type chance struct{ classes int }

func (c chance) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := c.PredictFull(ctx, X, estimator.Request{})
	return out.Values, err
}

func (c chance) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputScores | estimator.OutputProbabilities, Classes: []string{"a",
		"b", "c", "d", "e"}[:c.classes]}
}

func (c chance) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction, error) {
	p, err := c.probabilities(ctx, X)
	n, _ := X.Dims()
	out := estimator.Prediction{Values: make([]float64, n), Scores: p, Probabilities: p}
	for i := range n {
		row := p.RawRowView(i)
		out.Values[i] = float64(slices.Index(row, slices.Max(row)))
	}
	if c.classes == 2 {
		out.Scores = mat.NewDense(n, 1, mat.Col(nil, 1, p))
		out.Scores.Apply(func(_, _ int, v float64) float64 { return v - 0.5 }, out.Scores)
	}
	return out, err
}

func (c chance) probabilities(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	n, _ := X.Dims()
	out := mat.NewDense(n, c.classes, nil)
	for i := range n {
		rest := 1.0
		for k := 1; k < c.classes; k++ {
			v := (0.5 + 0.5*math.Tanh(X.At(i, 0))) * math.Pow(0.5, float64(k))
			out.Set(i, k, v)
			rest -= v
		}
		out.Set(i, 0, rest)
	}
	return out, ctx.Err()
}

// Binary models have an effect on the second class, multiclass models on those that change most;
// categories are named.
func TestEffectsOfClasses(t *testing.T) {
	X := drawn(100, 2, 8)
	for i := range 100 {
		X.Set(i, 1, float64(i%3%2))
	}
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "size"}, {Name: "kind", Kind: datasets.Categorical,
		Categories: []string{"plain", "odd", "never"}}}}
	two, err := PartialDependence(context.Background(), chance{2}, datasets.Set{Schema: schema, X: X}, 0, Options{})
	if err != nil || len(two) != 1 || two[0].Class != "b" || two[0].Output != "probability" || len(two[0].Values) != 20 {
		t.Fatalf("%+v, %v", two, err)
	}
	for k, v := range two[0].Values {
		if want := 0.25 + 0.25*math.Tanh(v); math.Abs(two[0].Mean[k]-want) > 1e-12 {
			t.Errorf("at %v: %v, want %v", v, two[0].Mean[k], want)
		}
	}
	many, err := PartialDependence(context.Background(), chance{5}, datasets.Set{Schema: schema, X: X}, 0, Options{})
	if err != nil || len(many) != 3 || many[0].Class != "a" || many[1].Class != "b" || many[2].Class != "c" {
		t.Errorf("%+v, %v", many, err)
	}
	kinds, err := PartialDependence(context.Background(), chance{2}, datasets.Set{Schema: schema, X: X}, 1, Options{})
	if err != nil || !slices.Equal(kinds[0].Categories, []string{"plain", "odd"}) || kinds[0].Values != nil {
		t.Errorf("%+v, %v", kinds, err)
	}
	data := datasets.Set{Schema: schema, X: X, Y: make([]float64, 100)}
	data.Y, _ = chance{5}.Predict(context.Background(), X)
	if found, err := Permutation(context.Background(), chance{5}, data,
		Options{}); err != nil || found.Metric != "accuracy" || found.Inputs[1].Mean != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// Errors list all problems at once.
func TestErrors(t *testing.T) {
	f := function(func(x []float64) float64 { return x[0] })
	data := of(drawn(10, 1, 1), f)
	ctx := context.Background()
	for _, c := range []struct {
		data datasets.Set
		o    Options
		want string
	}{
		{data, Options{Metric: "nonsense"}, `unknown metric "nonsense"`},
		{data, Options{Metric: "accuracy"}, "metric accuracy supports classification, but the model is for regression"},
		{data, Options{Metric: "nlpd"}, "requires standard deviations, which the model does not have"},
		{datasets.Set{X: data.X}, Options{}, "requires targets"},
		{datasets.Set{}, Options{Repeats: -1, Rows: -2}, "repeats must be ≥ 1, or 0 for 5, got -1\n" +
			"inspection: rows must be ≥ 1, or 0 for the default, got -2\ninspection: X must not be empty"},
	} {
		if _, err := Permutation(ctx, f, c.data, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, err := PartialDependence(ctx, f, data, 1, Options{}); err == nil || !strings.Contains(err.Error(),
		"column must be 0 to 0, got 1") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Permutation(ended, f, data, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := PartialDependence(ended, f, data, 0, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Plots contain names, numbers and alternative text.
func TestPlots(t *testing.T) {
	found := Importances{Metric: "roc_auc", Inputs: []importance{{Name: "age", Mean: 0.25, Std: 0.01},
		{Name: "none", Mean: -0.001}}}
	levels := Effect{Input: "kind", Class: "a", Output: "probability", Categories: []string{"plain", "odd"},
		Mean: []float64{0.25, 0.75}}
	other := levels
	other.Class, other.Mean = "b", []float64{0.5, 0.125}
	line := Effect{Input: "age", Target: "price", Output: "prediction", Values: []float64{1, 2, 4},
		Mean: []float64{3, 5, 4}}
	for _, c := range []struct {
		picture string
		want    []string
	}{
		{found.SVG(), []string{`aria-label="Permutation importance: age 0.25, none −0.001"`, ">age<",
			">decrease of roc auc<"}},
		{levels.SVG(), []string{`aria-label="Partial dependence on kind: a from 0.25 to 0.75"`, ">odd<", ">0.75<",
			">mean probability of a<"}},
		{Effects{levels, other}.SVG(), []string{">plain · a<", ">odd · b<", ">0.125<",
			"a from 0.25 to 0.75; b from 0.125 to 0.5"}},
		{line.SVG(), []string{">mean prediction of price<", "price from 3 to 5"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.picture, want) {
				t.Errorf("%s is not in %s", want, c.picture)
			}
		}
	}
}
