package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// stepping returns a classifier that reads rows once, in their order.
func stepping(loss string) estimator.SGDClassifier {
	s := estimator.NewSGDClassifier()
	s.Loss, s.Epochs, s.Shuffle, s.Penalty, s.LearningRate, s.Eta0, s.Alpha = loss, 1, false, "elasticnet", "invscaling",
		0.5, 0.01
	return s
}

// output returns all outputs of a model for rows.
func output(t *testing.T, p estimator.Predictor, data datasets.Set) []float64 {
	t.Helper()
	all, err := estimator.Predict(context.Background(), p, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	out := all.Values
	if all.Scores != nil {
		out = all.Scores.RawMatrix().Data
	}
	if all.Probabilities != nil {
		out = append(out, all.Probabilities.RawMatrix().Data...)
	}
	return out
}

// Incremental learning of the remaining rows equals one pass over all rows, after steps that are
// independent of the data; a model that was saved in between continues as the one in memory.
func TestContinueIsOneReadingOfAllRows(t *testing.T) {
	ctx := context.Background()
	bins := transformer.NewBinning()
	bins.Gamma, bins.Grids, bins.Columns = kernel.FixedGamma(0.5), 20, 400
	regress := estimator.NewSGDRegressor()
	regress.Epochs, regress.Shuffle = 1, false
	auto := stepping("hinge") // its scale is measured on the first rows, all of them in the first part
	auto.LearningRate, auto.Eta0 = "auto", 0
	small := stepping("hinge")
	small.Eta0 = 1e-5
	single := pipeline.Steps(fourier(30)).Then(stepping("log_loss"))
	single.Precision = pipeline.Float32
	classes := func(data datasets.Set) datasets.Set {
		y := make([]float64, data.Rows())
		for i := range y {
			y[i] = float64(int(math.Abs(data.X.At(i, 0))) % 3)
		}
		data.Y = y
		data.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
			Categories: []string{"a", "b", "c"}}}
		return data
	}
	for name, c := range map[string]struct {
		spec  pipeline.Pipeline
		data  datasets.Set
		first int
	}{
		"fourier":  {pipeline.Steps(fourier(30)).Then(stepping("squared_hinge")), classes(numbers(500, 2)), 320},
		"float32":  {single, classes(numbers(500, 2)), 320},
		"sparse":   {pipeline.Steps(bins).Then(stepping("modified_huber")), classes(numbers(500, 2)), 320},
		"auto":     {pipeline.Steps(fourier(30)).Then(auto), classes(numbers(3000, 2)), 2048},
		"amounts":  {pipeline.Steps(fourier(30)).Then(regress), numbers(3000, 2), 2048},
		"no steps": {pipeline.Steps().Then(small), classes(numbers(500, 2)), 320},
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := c.spec.Fit(ctx, c.data)
			if err != nil {
				t.Fatal(err)
			}
			part, err := c.spec.Fit(ctx, c.data.Slice(0, c.first))
			if err != nil {
				t.Fatal(err)
			}
			before := output(t, part, c.data)
			rest := c.data.Slice(c.first, c.data.Rows()).Source()
			more := c.spec
			more.Estimator = withEpochs(more.Estimator, 9) // which do not matter
			got, err := more.PartialFit(ctx, part, rest)
			if err != nil {
				t.Fatal(err)
			}
			want := output(t, whole, c.data)
			tolerance := 1e-10
			if name == "float32" {
				tolerance = 1e-6
			}
			for i, v := range output(t, got, c.data) {
				if math.Abs(v-want[i]) > tolerance*(1+math.Abs(want[i])) {
					t.Fatalf("number %d is %v, want %v", i, v, want[i])
				}
			}
			if !reflect.DeepEqual(output(t, part, c.data), before) {
				t.Error("the model before has changed")
			}
			if estimator.FittedTags(got).RowsLearned != c.data.Rows() {
				t.Errorf("it has not learned from %d rows", c.data.Rows())
			}
			again, err := c.spec.PartialFit(ctx, loaded(t, part), rest)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(output(t, loaded(t, again), c.data), output(t, got, c.data)) {
				t.Error("a loaded model continues differently")
			}
		})
	}
}

func withEpochs(e estimator.Estimator, epochs int) estimator.Estimator {
	switch s := e.(type) {
	case estimator.SGDClassifier:
		s.Epochs = epochs
		return s
	case estimator.SGDRegressor:
		s.Epochs = epochs
		return s
	}
	return e
}

// loaded is a model that was in a file.
func loaded(t *testing.T, p estimator.Predictor) estimator.Predictor {
	t.Helper()
	m, err := modelfile.New(p)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	if m, err = modelfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len())); err != nil {
		t.Fatal(err)
	}
	return m.Predictor
}

// TestContinueKeepsTheSteps checks that fitted steps do not change: new rows are mapped like the
// old ones.
func TestContinueKeepsTheSteps(t *testing.T) {
	ctx := context.Background()
	spec := pipeline.Steps(encoder()).Then(stepping("hinge"))
	data := people(900, 1)
	first, err := spec.Fit(ctx, data.Slice(0, 300))
	if err != nil {
		t.Fatal(err)
	}
	got, err := spec.PartialFit(ctx, first, data.Slice(300, 900).Source())
	if err != nil {
		t.Fatal(err)
	}
	a, b := pipeline.Find(first), pipeline.Find(got)
	if a.Chain() != b.Chain() {
		t.Error("the steps are others")
	}
	if reflect.DeepEqual(output(t, first, data), output(t, got, data)) {
		t.Error("nothing was learned")
	}
}

func TestContinueRefuses(t *testing.T) {
	ctx := context.Background()
	data := numbers(300, 2)
	amounts := estimator.NewSGDRegressor()
	spec := pipeline.Steps(fourier(30)).Then(amounts)
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	ridge, err := pipeline.Steps(fourier(30)).Then(estimator.NewRidge()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	other := amounts
	other.Alpha = 0.5
	renamed := data
	renamed.Schema.Columns = make([]datasets.Column, data.Cols())
	for j := range renamed.Schema.Columns {
		renamed.Schema.Columns[j].Name = "other"
	}
	kernel := pipeline.Steps(fourier(30)).Then(estimator.NewKernelRidge())
	all := "fit it to all rows, or use sgd_classifier or sgd_regressor"
	for _, c := range []struct {
		spec pipeline.Pipeline
		from estimator.Predictor
		data datasets.Set
		want []string
	}{
		{pipeline.Steps(fourier(30)).Then(estimator.NewRidge()), ridge, data,
			[]string{"ridge learns from sums", "keep its pass"}},
		{kernel, fitted, data, []string{"kernel_ridge does not support incremental learning; fit it to all rows, or use " +
			"sgd_classifier or sgd_regressor", all}},
		{pipeline.Steps(fourier(30)).Then(estimator.NewLogistic()), fitted, data,
			[]string{"logistic does not support incremental learning; fit it to all rows, or use sgd_classifier or " +
				"sgd_regressor", all}},
		{pipeline.Steps(fourier(30)).Then(estimator.NewSVR()), fitted, data,
			[]string{"svr does not support incremental learning; fit it to all rows, or use sgd_classifier or sgd_regressor",
				all}},
		{pipeline.Steps(fourier(40)).Then(other), fitted, data,
			[]string{"incremental learning requires the pipeline of the model, except for epochs: ",
				"rff.features is 40, and the model's 30", "sgd_regressor.alpha is 0.5, and the model's 0.0001"}},
		{pipeline.Steps().Then(amounts), fitted, data, []string{"it is sgd_regressor, and the model's rff → sgd_regressor"}},
		{spec, fitted, renamed, []string{"column", "must be as in the fit (numeric", "named other"}},
	} {
		_, err := c.spec.PartialFit(ctx, c.from, c.data.Source())
		for _, text := range c.want {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("error %v, want %q", err, text)
			}
		}
	}
}
