package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// Every kind of search is planned, by samples of the rows.
func TestPlanOfEverySearch(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(240, class))
	for name, more := range map[string][]Override{
		"one fit":  {set("search", "")},
		"streamed": {set("search", ""), set("data.stream", "always")},
		"a grid":   nil,
		"random":   {set("search.random", "4")},
		"a budget": {set("search.budget", "1m")},
		"halving":  {set("search.halving.min_resources", "20")},
		"all of it": {set("search.random", "5"), set("search.budget", "1m"), set("search.halving.min_resources", "10"),
			set("search.halving.resource", "rff.features")},
		"leave-one-out": {set("search.folds", "7")},
	} {
		p, err := NewPlan(context.Background(), spec(t, halved, more...))
		if err != nil || !(p.Seconds > 0) || p.Fits < 1 || len(p.Samples) != 1 || p.Samples[0].Rows != p.Rows.Train {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// A slow first sample does not end the measurement.
func TestEnoughSamples(t *testing.T) {
	samples := []planSample{{250, 3}, {500, 1.5}, {1000, 1.6}}
	for n, want := range []bool{false, false, false, true} {
		if got := samplesSuffice(samples[:n]); got != want {
			t.Errorf("%d samples are enough: %v", n, got)
		}
	}
	if samplesSuffice([]planSample{{250, 3}, {500, 0.1}, {1000, 0.2}}) {
		t.Error("fast samples are enough")
	}
}

// The time grows by the power of the rows that the samples but the first show, within bounds.
func TestExtrapolated(t *testing.T) {
	for _, c := range []struct {
		samples []planSample
		rows    int
		want    float64
	}{
		{[]planSample{{100, 1}}, 1000, 10},
		{[]planSample{{100, 1}, {200, 100}}, 400, 200},
		{[]planSample{{50, 9}, {100, 1}, {200, 4}}, 400, 16},
		{[]planSample{{50, 9}, {100, 1}, {200, 1}}, 800, 2},
		{[]planSample{{50, 9}, {100, 1}, {200, 100}}, 800, 3200},
		{[]planSample{{50, 9}, {100, 1}, {200, 2}, {300, 3}}, 300, 3},
	} {
		power, known := growth(c.samples)
		if known != (len(c.samples) > 2) {
			t.Errorf("%v: growth known: %v", c.samples, known)
		}
		if got := extrapolated(c.samples, c.rows, power); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%v for %d rows: %v, want %v", c.samples, c.rows, got, c.want)
		}
	}
}

// The time of a plan is a range where the samples leave it open, and the plan has the reason.
func TestSecondsOfAPlan(t *testing.T) {
	few := []planSample{{250, 2}}
	grown := []planSample{{250, 9}, {500, 1}, {1000, 2}}
	shares, folds := []string{"alpha", "folds"}, []string{"folds"}
	for _, c := range []struct {
		samples         []planSample
		candidates      int
		sampled, shared []string
		low, mid, high  float64
		unknown         string
	}{
		{grown, 12, shares, shares, 9, 9, 9, ""},
		{grown, 144, folds, folds, 97, 97, 97, ""},
		{grown, 144, shares, shares, 9, 97, 97, "12 of 144 were measured"},
		{grown, 24, shares, nil, 17, 17, 17, "streamed search"},
		{few, 1, nil, nil, 9, 33, 2049, "250 of 4000 rows"},
		{few, 24, shares, shares, 9, 65, 4097, "250 of 4000 rows"},
		{[]planSample{{4000, 8}}, 12, nil, nil, 9, 9, 9, ""},
	} {
		p := Plan{Rows: result.Rows{Train: 4000}, Candidates: c.candidates, Samples: c.samples, Shared: c.shared}
		p.setSeconds(Spec{}, c.sampled, 1)
		got, why := []float64{p.SecondsLow, p.Seconds, p.SecondsHigh}, strings.Join(p.Unknown, "; ")
		if !floats.EqualApprox(got, []float64{c.low, c.mid, c.high}, 1e-9) || !strings.Contains(why, c.unknown) ||
			(why == "") != (c.unknown == "") {
			t.Errorf("%+v: %v, %q", c, got, why)
		}
	}
}

// A plan of halving by rows uses folds with fewer rows.
func TestPlanOfAFamilyInHalves(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(240, class))
	for _, model := range []string{"logistic", "ridge_classifier", "svm"} {
		text := strings.ReplaceAll(halved, "logistic.C", "rff.features")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "[0.1, 1, 10]", "[10, 20, 40]"), "logistic", model)
		s := spec(t, text, set("search.halving.min_resources", "20"))
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
			if err != nil || !errors.Is(p.Refusal(), memory.ErrTooLarge) || p.Bytes < 8*3000*30_000_000 {
				t.Fatalf("%s: %d bytes, %v", model, p.Bytes, err)
			}
			if _, err := Run(context.Background(), s, Options{}); !errors.Is(err, memory.ErrTooLarge) ||
				!strings.Contains(err.Error(), "insufficient memory") {
				t.Errorf("%s: the run reports %v", model, err)
			}
			set, err := openSet(t, s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Pipeline.Fit(context.Background(), set); !errors.Is(err, memory.ErrTooLarge) {
				t.Errorf("%s: the foutput %v", model, err)
			}
		}
	}
}

// Predictions of every row for every class are part of the memory of a plan.
func TestPlanOfPredictions(t *testing.T) {
	shape := datasets.Shape{Rows: 1_000_000, Cols: 3, Outputs: 100_000}
	_, bytes := memoryOfFit(pipeline.Steps().Then(estimator.NewRidgeClassifier()), shape, result.Rows{Train: 1_000_000})
	if bytes < 8*1_000_000*100_000 {
		t.Errorf("%d bytes", bytes)
	}
}

// openSet returns the training rows in memory.
func openSet(t *testing.T, s Spec) (datasets.Set, error) {
	t.Helper()
	parts, err := dataload.Open(context.Background(), s)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.ReadAll(context.Background(), parts.Train)
}

// A plan counts the terms of a text, and both a plan and a run refuse terms beyond the memory.
func TestPlanOfText(t *testing.T) {
	t.Chdir(t.TempDir())
	var rows strings.Builder
	rows.WriteString("text,y\n")
	for i := range 3000 {
		fmt.Fprintf(&rows, "all a%d b%d c%d d%d,%c\n", i, i, i, i, 'a'+i%2)
	}
	put(t, "rows.csv", rows.String())
	const text = "data: {train: rows.csv, target: y, kinds: {text: text}}\npipeline: [{columns: [{select: text, steps: [tfidf]}]}, " +
		"logistic]\n"
	for name, stream := range map[string]string{"in memory": "never", "streamed": "always"} {
		p, err := NewPlan(context.Background(), spec(t, text, set("data.stream", stream)))
		if err != nil || math.Abs(float64(p.Steps[0].Width)-12001) > 600 {
			t.Errorf("%s: %+v, %v", name, p.Steps, err)
		}
	}
	long := spec(t, text, set("columns.text.tfidf.hashing", "67108864"), set("output.dir", "out"))
	before := debug.SetMemoryLimit(1 << 30)
	defer debug.SetMemoryLimit(before)
	p, err := NewPlan(context.Background(), long)
	if err != nil || !errors.Is(p.Refusal(), memory.ErrTooLarge) || p.Steps[0].Bytes < 1<<31 {
		t.Errorf("plan: %v, %v, %+v", p.Refusal(), err, p.Steps)
	}
	if _, err := Run(context.Background(), long, Options{}); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("run: %v", err)
	}
}
