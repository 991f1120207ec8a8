package pipeline_test

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// hedged is a custom wrapper: it sets every probability to one half, and does not transform rows.
type hedged struct{ estimator.Predictor }

func (h hedged) Unwrap() (estimator.Predictor, bool) { return h.Predictor, true }

func (h hedged) Outputs() estimator.Outputs { return estimator.OutputsOf(h.Predictor) }

func (h hedged) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	out, err := estimator.Predict(ctx, h.Predictor, X, want)
	n, _ := X.Dims()
	out.Probabilities = mat.NewDense(n, 2, slices.Repeat([]float64{0.5}, 2*n))
	return out, err
}

// shifted is a wrapper that changes the rows.
type shifted struct{ estimator.Predictor }

func (s shifted) Unwrap() (estimator.Predictor, bool) { return s.Predictor, false }

// TestAsLooksThroughWrappers checks that capabilities of the inner model are found through steps
// and searches, for input rows.
func TestAsLooksThroughWrappers(t *testing.T) {
	data := numbers(80, 3)
	steps := []transformer.Fitter{transformer.NewStandardize(), fourier(8)}
	ridge := estimator.NewGaussianProcess()
	ridge.Kernel, ridge.Noise, ridge.Amplitude, ridge.Optimize = "linear", 0.1, 0.1, nil
	found, err := gridsearch.NewSearch(pipeline.Steps(steps...).Then(ridge)).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	inside := pipeline.Find(found)
	alone, err := ridge.Fit(ctx, datasets.Set{X: transform(t, inside.Chain(), data.X), Y: data.Y})
	if err != nil {
		t.Fatal(err)
	}
	all, err := estimator.Predict(ctx, found, data.X, estimator.Request{})
	want, err2 := alone.(*estimator.FittedGaussianProcess).PredictFull(ctx, transform(t, inside.Chain(), data.X),
		estimator.Request{})
	if err != nil || err2 != nil || !slices.Equal(all.Std, want.Std) || !slices.Equal(all.Values, want.Values) {
		t.Errorf("%v, %v: the outputs are not those of the model within", err, err2)
	}
	if reportOf(found).Solver != "cholesky" || as[*estimator.FittedGaussianProcess](found) == nil ||
		as[*pipeline.FittedPipeline](found) != inside {
		t.Error("the report, the posterior or the pipeline is not found")
	}
	if estimator.OutputsOf(found).Classes != nil || estimator.OutputsOf(nil).Has != estimator.OutputValues ||
		estimator.As(nil, new(*estimator.FittedGaussianProcess)) {
		t.Error("a regression, or nothing, has other outputs than it has")
	}
}

func TestAsOfWrapper(t *testing.T) {
	data := people(80, 4)
	fitted, err := pipeline.Steps(encoder()).Then(estimator.NewLogistic()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	h := hedged{fitted}
	want, err2 := estimator.Predict(ctx, fitted, data.X, estimator.Request{})
	all, err := estimator.Predict(ctx, h, data.X, estimator.Request{})
	if err != nil || err2 != nil || all.Probabilities.At(3, 1) != 0.5 || !mat.Equal(all.Scores, want.Scores) {
		t.Errorf("%v, %v: the probabilities are not the wrapper's, or the scores not those of the model within", err, err2)
	}
	// A wrapper with state cannot be saved as the pipeline in it.
	if _, err := modelfile.New(stateful{h}); err == nil {
		t.Error("a wrapper with a state of its own is saved as the pipeline in it")
	}
}

// stateful is a wrapper with a state.
type stateful struct{ hedged }

func (stateful) State(*model.State) {}

// TestAsOfInterfacesOfOthers checks that custom interfaces are found through steps.
func TestAsOfInterfacesOfOthers(t *testing.T) {
	type named interface{ Coef() *mat.Dense }
	fitted, err := pipeline.Steps(encoder()).Then(estimator.NewLogistic()).Fit(ctx, people(80, 5))
	if err != nil {
		t.Fatal(err)
	}
	if !estimator.As(hedged{fitted}, new(named)) {
		t.Error("coefficients are not found")
	}
	if estimator.OutputsOf(shifted{fitted}).Has != estimator.OutputValues {
		t.Error("a wrapper without outputs has those of the inner model, which has other rows")
	}
	defer func() {
		if recover() == nil {
			t.Error("a target that is no pointer passes")
		}
	}()
	estimator.As(fitted, estimator.NewRidge())
}
