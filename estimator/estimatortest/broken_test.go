package estimatortest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// notes is a testing.TB that records whether a check failed.
type notes struct {
	testing.TB
	failed, skipped bool
}

func (n *notes) Helper()               {}
func (n *notes) Logf(string, ...any)   {}
func (n *notes) Error(...any)          { n.failed = true }
func (n *notes) Errorf(string, ...any) { n.failed = true }
func (n *notes) Fatal(...any)          { n.failed = true; runtime.Goexit() }
func (n *notes) Fatalf(string, ...any) { n.failed = true; runtime.Goexit() }
func (n *notes) Skip(...any)           { n.skipped = true; runtime.Goexit() }

// holds runs one check on spec.
func holds(l invariant, spec estimator.Estimator, o Options) *notes {
	n := &notes{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.check(newSuite(spec, o), n)
	}()
	<-done
	return n
}

// bent is a ridge classifier that violates one invariant, or none if breaks is "".
type bent struct {
	breaks string
	fits   *atomic.Int64 // number of fits
}

func (s bent) Tags() (out datasets.Tags) {
	if s.breaks == "tags are true" {
		out.CheckTarget = func(float64) error { return errors.New("any target") }
	}
	return out
}

func (s bent) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	s.fits.Add(1)
	p := &bentFit{breaks: s.breaks}
	_, thin := data.X.(*matrices.CSR)
	_, turned := data.X.(mat.Untransposer)
	spec := estimator.NewRidgeClassifier()
	switch s.breaks {
	case "fit does not modify spec and data":
		data.X.(*mat.Dense).Set(0, 0, 1)
	case "fits are reproducible":
		p.Shift = 1e-9 * float64(s.fits.Load())
	case "weight 2 equals a repeated row":
		data.Weights = nil
	case "weight 0 excludes the row":
		data.Weights = slices.Clone(data.Weights)
		for i, w := range data.Weights {
			data.Weights[i] = max(w, 0.01)
		}
	case "the order of rows does not matter":
		p.Shift = data.X.At(0, 0)
	case "the order of classes does not matter":
		p.Shift = 1
	case "predictions are equivariant under translation":
		spec.Intercept = false
	case "sparse rows equal dense rows":
		p.Shift = map[bool]float64{true: 1}[thin]
	case "any mat.Matrix equals dense rows":
		p.Shift = map[bool]float64{true: 1}[turned]
	case "cancellation":
		ctx = context.WithoutCancel(ctx)
	case "a restored model is bit-identical":
		p.Shift = 1
	case "invalid data are errors that name the cause":
		if data.X != nil && data.Rows() > 0 {
			data.X = filled(data.X)
		}
	}
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	p.FittedLinearClassifier = fitted.(*estimator.FittedLinearClassifier)
	return p, nil
}

func (s bent) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	fitted, err := estimator.NewRidgeClassifier().FitSource(ctx, data)
	if err != nil {
		return nil, err
	}
	p := &bentFit{FittedLinearClassifier: fitted.(*estimator.FittedLinearClassifier), breaks: s.breaks}
	if rows, _ := data.Dims(); rows < 0 && s.breaks == "blocks equal rows in memory" {
		p.Shift = 1
	}
	return p, nil
}

func (s bent) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	invariant := "a batch equals separate fits"
	switch {
	case b.LeaveOneOut:
		invariant = "leave-one-out equals fits without each row"
	case b.HasMaps():
		invariant = "a batch on related maps equals separate fits"
	}
	b.Candidates = slices.Clone(b.Candidates)
	for i := range b.Candidates {
		b.Candidates[i].Estimator = estimator.NewRidgeClassifier()
	}
	yield := b.Yield
	b.Yield = func(candidate, fold int, out batch.Outcome) error {
		if out.Err == nil && s.breaks == invariant {
			out.Scores.Set(0, 0, out.Scores.At(0, 0)+1e-3)
		}
		return yield(candidate, fold, out)
	}
	return estimator.NewRidgeClassifier().FitBatch(ctx, b)
}

func (s bent) PlanBatch(b batch.Job) (int64, error) { return 0, nil }

func (s bent) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	p, err := estimator.NewRidgeClassifier().Start(ctx, schema, cols)
	if err != nil {
		return nil, err
	}
	return &bentPass{Pass: p, breaks: s.breaks}, nil
}

func (s bent) Finish(ctx context.Context, last datasets.Pass) (estimator.Predictor, error) {
	if p, ok := last.(*bentPass); ok {
		last = p.Pass
	}
	fitted, err := estimator.NewRidgeClassifier().Finish(ctx, last)
	if err != nil {
		return nil, err
	}
	return &bentFit{FittedLinearClassifier: fitted.(*estimator.FittedLinearClassifier), breaks: s.breaks}, nil
}

// bentPass is a pass of bent.
type bentPass struct {
	datasets.Pass
	breaks string
	length int // number of rows passed to Add
}

func (p *bentPass) Add(ctx context.Context, block datasets.Set) error {
	if p.breaks == "passes can be canceled" {
		ctx = context.WithoutCancel(ctx)
	}
	_ = make([]float64, p.length)
	return p.Pass.Add(ctx, block)
}

func (p *bentPass) Merge(ctx context.Context, other datasets.Pass) error {
	if o, ok := other.(*bentPass); ok {
		other = o.Pass
	}
	err := p.Pass.Merge(ctx, other)
	switch {
	case p.breaks == "only compatible passes merge":
		return nil
	case err == nil && p.breaks == "merged parts equal all rows":
		return p.Pass.Merge(ctx, other)
	}
	return err
}

func (p *bentPass) Next(ctx context.Context) (datasets.Pass, error) {
	next, err := p.Pass.Next(ctx)
	if err != nil || next == nil {
		return nil, err
	}
	return &bentPass{Pass: next, breaks: p.breaks}, nil
}

func (p *bentPass) State(s *model.State) {
	if p.Pass.State(s); p.breaks == "a damaged pass does not panic" {
		s.Int("length", &p.length) // whatever it is
	}
}

// bentFit is a fitted bent, with an offset in the scores of the first class.
type bentFit struct {
	*estimator.FittedLinearClassifier
	Shift  float64
	length int // additional rows in the result of Predict
	breaks string
	calls  atomic.Int64
}

func (p *bentFit) scores(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	n, cols := X.Dims()
	if n == 0 && p.breaks == "no rows give no predictions" {
		return nil, datasets.ErrEmpty
	}
	if cols == 5 && p.breaks == "invalid prediction inputs are errors that name the cause" {
		X = filled(X)
	}
	out, err := p.FittedLinearClassifier.PredictFull(ctx, X, estimator.Request{})
	if err != nil {
		return nil, err
	}
	scores := out.Scores
	for i := range n {
		scores.Set(i, 0, scores.At(i, 0)+p.Shift)
		if n == 1 && p.breaks == "a single row equals a row of a batch" {
			scores.Set(i, 0, scores.At(i, 0)+1e-9)
		}
	}
	return scores, nil
}

func (p *bentFit) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	scores, err := p.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	out := make([]float64, n+p.length)[:n]
	for i := range out {
		out[i] = float64(top(scores.RawRowView(i)))
	}
	switch call := p.calls.Add(1); {
	case n == 0:
	case p.breaks == "a class without rows is never predicted":
		out[0] = 0
	case p.breaks == "predictions agree with scores and probabilities":
		out[0] = float64(int(out[0]+1) % len(p.Outputs().Classes))
	case p.breaks == "concurrent use" && call%3 == 0:
		out[0] = math.Pi
	}
	return out, nil
}

// ExportModel exports the classifier, with the shift.
func (p *bentFit) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := p.FittedLinearClassifier.ExportModel(g, rows)
	if p.breaks == "the exported graph equals the model" {
		out = g.ClassFromScores(g.Add(out.Scores, g.Scalar(1e-11)))
	}
	return out, err
}

// State serializes the classifier and the shift.
func (p *bentFit) State(s *model.State) {
	if s.Restoring() {
		p.FittedLinearClassifier = &estimator.FittedLinearClassifier{}
	}
	p.FittedLinearClassifier.State(s)
	if p.breaks == "serialization does not modify the model" && !s.Restoring() {
		p.Shift++
	}
	if p.breaks != "a restored model is bit-identical" && s.Err() == nil {
		s.Float("shift", &p.Shift)
	}
	s.String("breaks", &p.breaks)
	if p.breaks == "a damaged archive does not panic" {
		s.Int("length", &p.length) // whatever it is
	}
}

// filled returns a copy of X with missing and infinite values replaced by 0.
func filled(X mat.Matrix) *mat.Dense {
	out := mat.DenseCopyOf(X)
	out.Apply(func(_, _ int, v float64) float64 {
		if v-v != 0 {
			return 0
		}
		return v
	}, out)
	return out
}

// brokenElsewhere maps the checks that do not apply to bent to the tests that violate them.
var brokenElsewhere = map[string]string{
	"a batch equals separate fits":                              "TestBatchCheck",
	"a batch on related maps equals separate fits":              "TestOtherBatchChecks",
	"candidates that differ in a parameter equal separate fits": "TestForgottenParameter",
	"leave-one-out equals fits without each row":                "TestOtherBatchChecks",
	"unsupervised models ignore targets":                        "TestUnsupervisedChecks",
	"clusters are numbered, anomalies flagged":                  "TestUnsupervisedChecks",
	"unsupervised models are scale invariant":                   "TestUnsupervisedChecks",
	"merged parts equal all rows":                               "package transformertest",
	"only compatible passes merge":                              "package transformertest",
	"passes can be canceled":                                    "package transformertest",
	"a damaged pass does not panic":                             "package transformertest",
	"intervals and sets are nested":                             "TestChecksDetectMore",

	"incremental learning returns a new model":                 "TestIncrementalChecksDetectViolations",
	"incremental learning from a damaged model does not panic": "TestIncrementalChecksDetectViolations",
}

// Every property passes for correct code and fails for broken code.
func TestChecksDetectViolations(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("the invariants of damaged files take long")
	}
	for _, classes := range []int{2, 3} {
		o := Options{Classes: classes}
		for _, l := range invariants {
			n := holds(l, bent{fits: new(atomic.Int64)}, o)
			if n.skipped && brokenElsewhere[l.name] != "" {
				continue
			}
			if n.failed || n.skipped {
				t.Errorf("%d classes: %s: an estimator that satisfies the invariant fails or is skipped", classes, l.name)
			}
			if n := holds(l, bent{breaks: l.name, fits: new(atomic.Int64)}, o); !n.failed {
				t.Errorf("%d classes: %s: an estimator that violates the invariant passes", classes, l.name)
			}
		}
	}
}

// clipped is ridge regression that takes targets above 20 for 20.
type clipped struct{ estimator.Ridge }

func (s clipped) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	data.Y = slices.Clone(data.Y)
	for i, y := range data.Y {
		data.Y[i] = min(y, 20)
	}
	return s.Ridge.Fit(ctx, data)
}

func (p *bentFit) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (out estimator.Prediction,
	err error) {
	if out.Scores, err = p.scores(ctx, X); err == nil {
		out.Values, err = p.Predict(ctx, X)
	}
	if p.breaks == "outputs do not depend on other requested outputs" && want.Outputs != 0 {
		for i := range out.Values {
			out.Scores.Set(i, 0, out.Scores.At(i, 0)+1e-9)
		}
	}
	return out, err
}

// hasty is a ridge classifier that makes do with the blocks before an error of the source.
type hasty struct{ estimator.RidgeClassifier }

func (s hasty) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	var blocks []datasets.Set
	data.Blocks(ctx, func(block datasets.Set) error {
		blocks = append(blocks, cloneSet(block))
		return nil
	})
	return s.Fit(ctx, blocks[len(blocks)-1])
}

// sure is ridge regression whose intervals are not nested.
type sure struct {
	estimator.Ridge
	turned bool
}

type sureFit struct {
	estimator.Predictor
	turned bool
}

func (s sure) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	p, err := s.Ridge.Fit(ctx, data)
	return sureFit{p, s.turned}, err
}

func (p sureFit) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputIntervals}
}

func (p sureFit) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (out estimator.Prediction,
	err error) {
	out.Values, err = p.Predict(ctx, X)
	level := want.Level
	if p.turned {
		level = 1 - level
	}
	for _, v := range out.Values {
		out.Lower, out.Upper = append(out.Lower, v-level), append(out.Upper, v+level)
	}
	return out, err
}

// crowded is a classifier whose sets are not nested.
type crowded struct {
	estimator.RidgeClassifier
	turned bool
}

type crowdedFit struct {
	estimator.FullPredictor
	turned bool
}

func (s crowded) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	p, err := s.RidgeClassifier.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	return crowdedFit{p.(estimator.FullPredictor), s.turned}, nil
}

func (p crowdedFit) Outputs() estimator.Outputs {
	out := p.FullPredictor.Outputs()
	out.Has |= estimator.OutputSets
	return out
}

func (p crowdedFit) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	out, err := p.FullPredictor.PredictFull(ctx, X, want)
	n, _ := X.Dims()
	classes := len(p.Outputs().Classes)
	out.Sets = mat.NewDense(n, classes, nil)
	for i := range n {
		for k := range classes {
			if !p.turned || want.Level < 0.6 {
				out.Sets.Set(i, k, 1)
			}
		}
	}
	return out, err
}

// vague is a ridge regression that exports a graph with other predictions.
type vague struct {
	estimator.Ridge
	way string
}

type vagueFit struct {
	*estimator.FittedLinear
	way string
}

func (s vague) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	p, err := s.Ridge.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	return vagueFit{p.(*estimator.FittedLinear), s.way}, nil
}

func (p vagueFit) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := p.FittedLinear.ExportModel(g, rows)
	switch p.way {
	case "off":
		out.Values = g.Mul(out.Values, g.Scalar(1+1e-9))
	case "more":
		out.Scores = out.Values
	case "nothing":
		out = graph.Prediction{}
	case "refusal":
		err = errors.New("no")
	case "invalid graph":
		g.Add(rows, g.Row([]float64{1, 2}))
	}
	return out, err
}

func TestExportCheck(t *testing.T) {
	invariant := invariants[slices.IndexFunc(invariants,
		func(l invariant) bool { return l.name == "the exported graph equals the model" })]
	for _, way := range []string{"off", "more", "nothing", "refusal", "invalid graph"} {
		if n := holds(invariant, vague{estimator.NewRidge(), way}, Options{}); !n.failed {
			t.Errorf("%s: a model that violates the invariant passes", way)
		}
	}
	if n := holds(invariant, vague{estimator.NewRidge(), ""}, Options{}); n.failed || n.skipped {
		t.Error("a model that satisfies the invariant fails or is skipped")
	}
	for way, failed := range map[string]bool{"": true, "refusal": false} {
		if n := holds(invariant, vague{estimator.NewRidge(), way}, Options{Unexported: "no"}); n.failed != failed {
			t.Errorf("%q, which is to be refused: %v", way, n.failed)
		}
	}
}

// Secondary checks of an invariant are made as well.
func TestChecksDetectMore(t *testing.T) {
	for _, c := range []struct {
		invariant string
		good      estimator.Estimator
		bad       estimator.Estimator
		o         Options
	}{
		{"predictions are equivariant under translation", estimator.NewRidge(), clipped{estimator.NewRidge()},
			Options{}},
		{"invalid data are errors that name the cause", estimator.NewRidgeClassifier(), hasty{estimator.NewRidgeClassifier()},
			Options{Classes: 2}},
		{"intervals and sets are nested", sure{Ridge: estimator.NewRidge()}, sure{estimator.NewRidge(), true}, Options{}},
		{"intervals and sets are nested", crowded{RidgeClassifier: estimator.NewRidgeClassifier()},
			crowded{estimator.NewRidgeClassifier(), true}, Options{Classes: 3}},
	} {
		i := slices.IndexFunc(invariants, func(l invariant) bool { return l.name == c.invariant })
		if n := holds(invariants[i], c.good, c.o); n.failed || n.skipped {
			t.Errorf("%s: an estimator that satisfies the invariant fails or is skipped", c.invariant)
		}
		if n := holds(invariants[i], c.bad, c.o); !n.failed {
			t.Errorf("%s: %T violates the invariant and passes", c.invariant, c.bad)
		}
	}
}
