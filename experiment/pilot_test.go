package experiment

import (
	"context"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/newton"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// longFit is a forecast of a fit that takes long, at a speed that makes a pilot of it wanted.
func longFit(t *testing.T, last pipeline.Pipeline) (forecast, *rows.Parts) {
	t.Helper()
	set, err := synthetic.Make("moons", 30_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := forecast{last: last, shape: set.Shape(), pace: datasets.Pace{Products: 1e9, Others: 1e9, Cores: 2}, times: 1}
	f.fit = costOfFit(last, f.shape, f.count)
	return f, &rows.Parts{Train: set.Source(), Task: datasets.Classification}
}

// Where a model reads its rows until it is done some of them are fitted, and a model that reads them once is left alone.
func TestPilotIsOfIterations(t *testing.T) {
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features = transformer.FixedGamma(1), 100
	f, parts := longFit(t, pipeline.Steps(rff).Then(estimator.NewLogistic()))
	p, err := f.pilot(context.Background(), parts, gridsearch.Plan{})
	if err != nil || p == nil || p.Rows < pilotLeast || p.Rows > 15_000 || !(p.Seconds > 0) {
		t.Fatalf("%+v, %v", p, err)
	}
	if passes := p.Times * newton.Passes; !(passes >= 3 && passes <= 200) || math.Abs(passes-math.Round(passes)) > 1e-9 {
		t.Errorf("%v passes over %d rows", passes, p.Rows)
	}
	f, parts = longFit(t, pipeline.Steps(rff).Then(estimator.NewRidgeClassifier()))
	if p, err := f.pilot(context.Background(), parts, gridsearch.Plan{}); p != nil || err != nil {
		t.Errorf("%+v, %v for one pass", p, err)
	}
}

// What a pilot finds multiplies that part of the fits which depends on it, and nothing else.
func TestPilotMultipliesFits(t *testing.T) {
	f, _ := longFit(t, pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewLogistic()))
	f.count.Train = f.shape.Rows
	search := gridsearch.Plan{Known: true, SharedFlops: 10, Pace: f.pace, Lone: datasets.Cost{Flops: 100}, Together: datasets.Cost{Flops: 10, Iterated: 5}}
	once := f.phases(search)
	f.times = 3
	thrice := f.phases(search)
	if want := once.Refit + 2*f.fit.work.Iterated/f.pace.Others; thrice.Search != 2*once.Search || math.Abs(thrice.Refit-want) > 1e-9*want || thrice.Evaluate != once.Evaluate || thrice.Load != once.Load {
		t.Errorf("%+v and %+v", once, thrice)
	}
}

// Rows of a pilot weigh as much as all, in the proportions they had.
func TestPilotStandsForAll(t *testing.T) {
	f := forecast{shape: datasets.Shape{Rows: 60}}
	set, err := synthetic.Make("moons", 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	given := []float64{1, 2, 0}
	set.Weights = given
	f.standFor(&set)
	if w := set.Weights; w[0] != 20 || w[1] != 40 || w[2] != 0 || given[0] != 1 {
		t.Errorf("%v of %v", w, given)
	}
}

// Where the fit of a pilot is cancelled, so is the plan.
func TestPilotStops(t *testing.T) {
	f, parts := longFit(t, pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewLogistic()))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if p, err := f.pilot(ctx, parts, gridsearch.Plan{}); err == nil {
		t.Errorf("%+v", p)
	}
}

// A wrapper that fits its model to folds is piloted by the model: it reads its rows as often as in the wrapper's place.
func TestPilotOfFolds(t *testing.T) {
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features = transformer.FixedGamma(1), 100
	var found []Pilot
	for _, model := range []estimator.Estimator{estimator.NewLogistic(), meta.NewThreshold(meta.NewCalibrated(estimator.NewLogistic()))} {
		f, parts := longFit(t, pipeline.Steps(rff).Then(estimator.NewLogistic()))
		f.last = pipeline.Steps(rff).Then(model)
		p, err := f.pilot(context.Background(), parts, gridsearch.Plan{})
		if err != nil || p == nil {
			t.Fatal(p, err)
		}
		p.Seconds = 0
		found = append(found, *p)
	}
	if found[0] != found[1] {
		t.Errorf("%+v of the model, %+v of the model in its wrappers", found[0], found[1])
	}
	if kernel := unfolded(pipeline.Pipeline{Estimator: estimator.NewKernelRidge()}, 50_000).Estimator.(estimator.KernelRidge); kernel.Way(100) != "cg" {
		t.Errorf("few rows of many by %s", kernel.Way(100))
	}
}
