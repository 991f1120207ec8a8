package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/reader"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// watchful is standardize that counts its fits.
type watchful struct{ transformer.Standardize }

var watched atomic.Int64

func (s *watchful) Params(l *param.List) { s.Standardize.Params(l) }

func (s watchful) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	watched.Add(1)
	return s.Standardize.Fit(ctx, data)
}

func (s watchful) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	watched.Add(1)
	return s.Standardize.FitSource(ctx, data)
}

type fittedWatchful struct{ transformer.FittedScaler }

func (f *fittedWatchful) State(s *model.State) { f.FittedScaler.State(s) }

var registerWatchful = sync.OnceValue(func() error {
	return pipeline.Register(pipeline.Entry{Name: "watchful", Doc: "standardize that is counted",
		New: func() any { return watchful{transformer.NewStandardize()} }, Fitted: func() model.Stateful { return &fittedWatchful{} }})
})

// A plan of a few moments is calculated, for every kind of search: nothing is fitted.
func TestPlanFitsNothing(t *testing.T) {
	if err := registerWatchful(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(240, class))
	text := strings.Replace(halved, "standardize", "watchful", 1)
	for name, more := range map[string][]Override{
		"one fit":       {set("search", "")},
		"streamed":      {set("search", ""), set("data.stream", "always")},
		"a grid":        nil,
		"random":        {set("search.random", "4")},
		"a budget":      {set("search.budget", "1m")},
		"halving":       {set("search.halving.least", "20")},
		"all of it":     {set("search.random", "5"), set("search.budget", "1m"), set("search.halving.least", "10"), set("search.halving.resource", "rff.features")},
		"leave one out": {set("search.folds", "7")},
	} {
		p, err := NewPlan(context.Background(), spec(t, text, more...))
		if err != nil || !(p.Seconds > 0) || p.Fits < 1 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if n := watched.Load(); n > 0 {
		t.Errorf("%d fits", n)
	}
	if execute(t, spec(t, text, set("search", ""))); watched.Load() == 0 {
		t.Error("the fits are not counted")
	}
}

// The phases of a plan add up, and each has what takes its time.
func TestPhasesOfAPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(240, class))
	phases := func(more ...Override) result.Seconds {
		p, err := NewPlan(context.Background(), spec(t, halved, more...))
		if err != nil || p.Phases == nil {
			t.Fatalf("%+v, %v", p, err)
		}
		s := *p.Phases
		if sum := s.Load + s.Search + s.Refit + s.Evaluate + s.Report; math.Abs(sum-s.Total) > 1e-12*sum || p.Seconds != s.Total {
			t.Errorf("%+v are not %v", s, p.Seconds)
		}
		return s
	}
	if s := phases(); !(s.Search > 0 && s.Refit > 0 && s.Evaluate > 0 && s.Report > 0 && s.Load > 0) {
		t.Errorf("a search: %+v", s)
	}
	if s := phases(set("search", "")); s.Search != 0 || !(s.Refit > 0) {
		t.Errorf("one fit: %+v", s)
	}
}

// A step that needs no rows reads none, one that learns from them does, and so does the model.
func TestReadingsOfAStream(t *testing.T) {
	rowless := transformer.NewRFF()
	rowless.Gamma = transformer.FixedGamma(0.1)
	f := forecast{last: pipeline.Steps(transformer.NewStandardize(), rowless).Then(estimator.NewRidge())}
	f.shape = datasets.Shape{Rows: 5000, Cols: 3}
	if n := f.readings(); n != 0 {
		t.Errorf("%d readings of rows in memory", n)
	}
	f.shape.Streamed = true
	if n := f.readings(); n != 2 {
		t.Errorf("%d readings, wanted one to standardize and one to fit", n)
	}
	f.last.Estimator = estimator.NewKernelRidge() // which holds the rows, and goes through them at each step
	if n := f.readings(); n != 2 {
		t.Errorf("%d readings, wanted one to standardize and one to gather", n)
	}
}

// A report reads a file that stays where it is for the rows of simple models, for what these say, and for importance; rows in
// memory it has, and test rows of a file of their own are few.
func TestLooksOfAReport(t *testing.T) {
	f := forecast{last: pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewRidge()), task: datasets.Regression}
	f.shape, f.count.Train, f.count.Test = datasets.Shape{Rows: 5000, Cols: 3, Streamed: true}, 5000, 1000
	looks := func() int { return f.looks() }
	if n := looks(); n != 2 {
		t.Errorf("%d looks without importance", n)
	}
	f.spec.Report.Importance.Repeats = 5
	if n := looks(); n != 3 {
		t.Errorf("%d looks with importance", n)
	}
	f.spec.Data.Test = reader.Paths{"test.csv"}
	if n := looks(); n != 1 {
		t.Errorf("%d looks where test rows have a file", n)
	}
	f.shape.Streamed = false
	if n := looks(); n != 0 {
		t.Errorf("%d looks at rows in memory", n)
	}
}

// What an ensemble of a pipeline says of a row costs what its members say, each with the steps before it.
func TestPredictionOfAnEnsemble(t *testing.T) {
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features = transformer.FixedGamma(1), 300
	member := pipeline.Steps(transformer.NewQuantile(), rff).Then(estimator.NewRidge())
	of := func(last pipeline.Pipeline) (flops, others float64) {
		f := forecast{last: last, task: datasets.Regression, shape: datasets.Shape{Rows: 5000, Cols: 7, Outputs: 1}}
		cost := f.predicted()
		return cost.Flops - saidFlops, cost.Others - saidFlops
	}
	var flops, others [2]float64
	for k, copies := range []int{2, 4} {
		e := meta.NewSeedEnsemble(member, copies)
		e.Weights = "equal"
		flops[k], others[k] = of(pipeline.Pipeline{Estimator: e})
		flops[k] -= 2 * 7 // the product with the row as it is, which every model is taken to have
		flops[k], others[k] = flops[k]/float64(copies), others[k]/float64(copies)
	}
	if math.Abs(flops[1]-flops[0]) > 1e-6*flops[1] || math.Abs(others[1]-others[0]) > 1e-6*others[1] || !(others[0] > 0) {
		t.Errorf("%v flops, %v of them others, for each of two and of four", flops, others)
	}
	if bare, _ := of(member); !(flops[0] > 0.5*bare && flops[0] <= bare) {
		t.Errorf("%v flops of a member, %v without an ensemble", flops[0], bare)
	}
	whole, _ := of(pipeline.Pipeline{Estimator: meta.Intervals{Of: member, Method: "normal"}})
	if whole -= 2 * 7; math.Abs(whole-flops[0]) > 1e-6*whole {
		t.Errorf("%v flops in intervals, %v of a member of an ensemble", whole, flops[0])
	}
}

// A plan of a search halved by rows looks at folds that leave out rows.
func TestPlanOfAFamilyInHalves(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(240, class))
	for _, model := range []string{"logistic", "ridge_classifier", "svm"} {
		text := strings.ReplaceAll(halved, "logistic.C", "rff.features")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "[0.1, 1, 10]", "[10, 20, 40]"), "logistic", model)
		s := spec(t, text, set("search.halving.least", "20"))
		if p, err := NewPlan(context.Background(), s); err != nil || p.Fits != 3*(9+3+1)+1 {
			t.Errorf("%s: %+v, %v", model, p, err)
		}
	}
}

// The memory that classes take is planned, and a run that cannot have it is refused by the same figures.
func TestPlanOfManyClasses(t *testing.T) {
	t.Chdir(t.TempDir())
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for i := range 6000 {
		fmt.Fprintf(&text, "%d,%d,class%d\n", i, i*i%97, i/2)
	}
	put(t, "rows.csv", text.String())
	const yaml = "data: {train: rows.csv, target: y}\npipeline: [standardize, {rff: {features: 30000000}}, MODEL]\n"
	for _, model := range []string{"logistic", "svm", "ridge_classifier"} {
		for _, search := range []string{"", "search: {grid: {rff.gamma: [1, 2]}, folds: 2}"} {
			s := spec(t, strings.Replace(yaml, "MODEL", model, 1)+search)
			p, err := NewPlan(context.Background(), s)
			if err != nil || !errors.Is(p.Refusal(), ErrTooLarge) || p.Bytes < 8*3000*30_000_000 {
				t.Fatalf("%s: %d bytes, %v", model, p.Bytes, err)
			}
			if _, err := Run(context.Background(), s, Options{}); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "memory are wanted and") {
				t.Errorf("%s: the run says %v", model, err)
			}
			set, err := openSet(t, s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Pipeline.Fit(context.Background(), set); !errors.Is(err, memory.ErrTooLarge) {
				t.Errorf("%s: the fit says %v", model, err)
			}
		}
	}
}

// What a run says of every row for every class takes memory, too.
func TestPlanOfPredictions(t *testing.T) {
	shape := datasets.Shape{Rows: 1_000_000, Cols: 3, Outputs: 100_000}
	fit := costOfFit(pipeline.Steps().Then(estimator.NewRidgeClassifier()), shape, result.Rows{Train: 1_000_000})
	if fit.work.Bytes < 8*1_000_000*100_000 {
		t.Errorf("%d bytes", fit.work.Bytes)
	}
}

// openSet returns the training rows in memory.
func openSet(t *testing.T, s Spec) (datasets.Set, error) {
	t.Helper()
	parts, err := rows.Open(context.Background(), s)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Gather(context.Background(), parts.Train)
}
