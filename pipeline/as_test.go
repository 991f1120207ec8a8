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

// bayes is ridge that knows how sure it is.
type bayes struct{ ridge estimator.Ridge }

func (s bayes) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return s.ridge.FitPosterior(ctx, data, 0.1)
}

// hedged is a wrapper of a third party: it makes every probability one half, and rows stay as they are.
type hedged struct{ estimator.Predictor }

func (h hedged) Unwrap() (estimator.Predictor, bool) { return h.Predictor, true }

func (h hedged) Probabilities(_ context.Context, X mat.Matrix) (*mat.Dense, error) {
	n, _ := X.Dims()
	return mat.NewDense(n, 2, slices.Repeat([]float64{0.5}, 2*n)), nil
}

// shifted is a wrapper that changes rows and says nothing else, against the rule.
type shifted struct{ estimator.Predictor }

func (s shifted) Unwrap() (estimator.Predictor, bool) { return s.Predictor, false }

// What the model within can do is found behind steps and searches, on rows as they go in.
func TestAsLooksThroughWrappers(t *testing.T) {
	data := numbers(80, 3)
	steps := []transformer.Fitter{transformer.NewStandardize(), fourier(8)}
	ridge := bayes{ridge: estimator.NewRidge()}
	found, err := gridsearch.NewSearch(pipeline.Steps(steps...).Then(ridge)).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	inside := pipeline.Find(found)
	alone, err := ridge.Fit(ctx, datasets.Set{X: transform(t, inside.Chain(), data.X), Y: data.Y})
	if err != nil {
		t.Fatal(err)
	}
	mean, std, err := as[estimator.StdPredictor](found).PredictStd(ctx, data.X)
	wantMean, wantStd, err2 := alone.(*estimator.Posterior).PredictStd(ctx, transform(t, inside.Chain(), data.X))
	if err != nil || err2 != nil || !slices.Equal(mean, wantMean) || !slices.Equal(std, wantStd) {
		t.Errorf("%v, %v: the deviations are others", err, err2)
	}
	all, err := estimator.Predict(ctx, found, data.X)
	if err != nil || !slices.Equal(all.Std, wantStd) || !slices.Equal(all.Values, wantMean) {
		t.Errorf("%v: all at once are others", err)
	}
	if reportOf(found).Solver != "cholesky" || as[*estimator.Posterior](found) == nil || as[*pipeline.FittedPipeline](found) != inside {
		t.Error("the report, the posterior or the pipeline is not found")
	}
	if estimator.As(found, new(estimator.Classifier)) || estimator.As(nil, new(estimator.Classifier)) {
		t.Error("a regression, or nothing, is a classifier")
	}
}

func TestAsOfTheWrappersOwn(t *testing.T) {
	data := people(80, 4)
	fitted, err := pipeline.Steps(encoder()).Then(estimator.NewLogistic()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	h := hedged{fitted}
	p, err := as[estimator.Probabilistic](h).Probabilities(ctx, data.X)
	if err != nil || p.At(3, 1) != 0.5 {
		t.Errorf("%v: the wrapper's own probabilities are not found", err)
	}
	scores, err := as[estimator.Classifier](h).Decision(ctx, data.X)
	want, err2 := as[estimator.Classifier](fitted).Decision(ctx, data.X)
	if err != nil || err2 != nil || !mat.Equal(scores, want) {
		t.Errorf("%v, %v: the scores are others", err, err2)
	}
	all, err := estimator.Predict(ctx, h, data.X)
	if err != nil || all.Probabilities.At(3, 1) != 0.5 || !mat.Equal(all.Scores, want) {
		t.Errorf("%v: all at once are others", err)
	}
	// What a model file would lose is not taken for the pipeline.
	if _, err := modelfile.New(stateful{h}); err == nil {
		t.Error("a wrapper with a state of its own is saved as the pipeline in it")
	}
}

// stateful is a wrapper with a state.
type stateful struct{ hedged }

func (stateful) State(*model.State) {}

// An interface of others is found behind steps where it is asked for by AsWithin.
func TestAsOfInterfacesOfOthers(t *testing.T) {
	type named interface{ Coef() *mat.Dense }
	type scoring interface {
		Decision(ctx context.Context, X mat.Matrix) (*mat.Dense, error)
	}
	data := people(80, 5)
	fitted, err := pipeline.Steps(encoder()).Then(estimator.NewLogistic()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if !estimator.AsWithin(hedged{fitted}, new(named)) || estimator.As(hedged{fitted}, new(named)) {
		t.Error("coefficients are not found by AsWithin, or by As")
	}
	if estimator.As(fitted, new(scoring)) || estimator.As(shifted{fitted}, new(estimator.Classifier)) {
		t.Error("what is found takes other rows than it is given")
	}
	_, within := pipeline.Find(fitted).Model()
	if !estimator.As(hedged{within}, new(scoring)) {
		t.Error("scores on the same rows are not found")
	}
	defer func() {
		if recover() == nil {
			t.Error("a target that is no pointer passes")
		}
	}()
	estimator.As(fitted, estimator.NewRidge())
}
