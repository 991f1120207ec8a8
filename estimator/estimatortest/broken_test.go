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

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/exhaustive"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/sparse"
)

// notes is a testing.TB that remembers whether a law found something.
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

// holds runs one law on spec.
func holds(l law, spec estimator.Estimator, o Options) *notes {
	n := &notes{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.hold(newSuite(spec, o), n)
	}()
	<-done
	return n
}

// bent is a ridge classifier that breaks one law, or none where breaks is "".
type bent struct {
	breaks string
	fits   *atomic.Int64 // how many there were
}

func (s bent) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	s.fits.Add(1)
	p := &bentFit{breaks: s.breaks}
	_, thin := data.X.(*sparse.CSR)
	_, turned := data.X.(mat.Untransposer)
	spec := estimator.NewRidgeClassifier()
	switch s.breaks {
	case "fit leaves spec and data as they were":
		data.X.(*mat.Dense).Set(0, 0, 1)
	case "fit twice gives the same bits":
		p.Shift = 1e-9 * float64(s.fits.Load())
	case "weight 2 is the row twice":
		data.Weights = nil
	case "weight 0 is the row left out":
		data.Weights = slices.Clone(data.Weights)
		for i, w := range data.Weights {
			data.Weights[i] = max(w, 0.01)
		}
	case "the order of rows does not matter":
		p.Shift = data.X.At(0, 0)
	case "the order of classes does not matter":
		p.Shift = 1
	case "moving the inputs or targets moves the predictions":
		spec.Intercept = false
	case "sparse rows are the same rows":
		p.Shift = map[bool]float64{true: 1}[thin]
	case "any matrix is the same rows":
		p.Shift = map[bool]float64{true: 1}[turned]
	case "cancellation":
		ctx = context.WithoutCancel(ctx)
	case "save and load keep every bit":
		p.Shift = 1
	case "bad data are refused by name":
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
	if rows, _ := data.Dims(); rows < 0 && s.breaks == "block by block is all at once" {
		p.Shift = 1
	}
	return p, nil
}

func (s bent) FitBatch(ctx context.Context, b share.Batch) ([]string, error) {
	law := "a batch is its fits one by one"
	switch {
	case b.LeaveOneOut:
		law = "leaving one out is fitting without each row"
	case b.HasMaps():
		law = "a batch on related maps is its fits one by one"
	}
	b.Candidates = slices.Clone(b.Candidates)
	for i := range b.Candidates {
		b.Candidates[i].Estimator = estimator.NewRidgeClassifier()
	}
	yield := b.Yield
	b.Yield = func(candidate, fold int, out share.Outcome) error {
		if out.Err == nil && s.breaks == law {
			out.Scores.Set(0, 0, out.Scores.At(0, 0)+1e-3)
		}
		return yield(candidate, fold, out)
	}
	return estimator.NewRidgeClassifier().FitBatch(ctx, b)
}

func (s bent) PlanBatch(b share.Batch) (int64, error) { return 0, nil }

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
	length int // of what Add makes
}

func (p *bentPass) Add(ctx context.Context, block datasets.Set) error {
	if p.breaks == "a pass stops when cancelled" {
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
	case p.breaks == "only passes begun alike are merged":
		return nil
	case err == nil && p.breaks == "parts of the rows are the whole":
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
	if p.Pass.State(s); p.breaks == "a damaged pass is refused, or goes on without a panic" {
		s.Int("length", &p.length) // whatever it is
	}
}

// bentFit is what bent has fitted, with something added to the scores of the first class.
type bentFit struct {
	*estimator.FittedLinearClassifier
	Shift  float64
	length int // of what Predict makes beyond the rows
	breaks string
	calls  atomic.Int64
}

func (p *bentFit) scores(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	n, cols := X.Dims()
	if n == 0 && p.breaks == "no rows give no predictions" {
		return nil, datasets.ErrEmpty
	}
	if cols == 5 && p.breaks == "bad inputs of a prediction are refused by name" {
		X = filled(X)
	}
	out, err := p.FittedLinearClassifier.PredictFull(ctx, X, estimator.Request{})
	if err != nil {
		return nil, err
	}
	scores := out.Scores
	for i := range n {
		scores.Set(i, 0, scores.At(i, 0)+p.Shift)
		if n == 1 && p.breaks == "one row is the same row in a batch" {
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
	if p.breaks == "a model that exports computes what it exports" {
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
	if p.breaks == "writing leaves the model as it is" && !s.Restoring() {
		p.Shift++
	}
	if p.breaks != "save and load keep every bit" && s.Err() == nil {
		s.Float("shift", &p.Shift)
	}
	s.String("breaks", &p.breaks)
	if p.breaks == "a damaged archive is refused, or predicts without a panic" {
		s.Int("length", &p.length) // whatever it is
	}
}

// filled returns X with 0 for what is missing or infinite.
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

// brokenElsewhere are the laws about what bent is not, by what has the examples that break them.
var brokenElsewhere = map[string]string{
	"a batch is its fits one by one":                                     "TestBatchLaw",
	"a batch on related maps is its fits one by one":                     "TestOtherBatchLaws",
	"leaving one out is fitting without each row":                        "TestOtherBatchLaws",
	"a model without targets looks at none":                              "TestLawsWithoutTargets",
	"clusters are numbered, anomalies flagged":                           "TestLawsWithoutTargets",
	"the scale of all inputs does not matter to a model without targets": "TestLawsWithoutTargets",
	"parts of the rows are the whole":                                    "package transformertest",
	"only passes begun alike are merged":                                 "package transformertest",
	"a pass stops when cancelled":                                        "package transformertest",
	"a damaged pass is refused, or goes on without a panic":              "package transformertest",
	"a higher level holds more":                                          "TestLawsFindMore",

	"learning on makes another model, from a file too":         "TestLawsOfLearningOnFindWhatBreaksThem",
	"a damaged model is refused, or learns on without a panic": "TestLawsOfLearningOnFindWhatBreaksThem",
}

// Every property passes for correct code and fails for broken code.
func TestLawsFindWhatBreaksThem(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("the laws of damaged files take long")
	}
	for _, classes := range []int{2, 3} {
		o := Options{Classes: classes}
		for _, l := range laws {
			n := holds(l, bent{fits: new(atomic.Int64)}, o)
			if n.skipped && brokenElsewhere[l.name] != "" {
				continue
			}
			if n.failed || n.skipped {
				t.Errorf("%d classes: %s: an estimator that keeps the law fails or is skipped", classes, l.name)
			}
			if n := holds(l, bent{breaks: l.name, fits: new(atomic.Int64)}, o); !n.failed {
				t.Errorf("%d classes: %s: an estimator that breaks the law passes", classes, l.name)
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
	if p.breaks == "each output is the same alone and with others" && want.Outputs != 0 {
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
		blocks = append(blocks, copied(block))
		return nil
	})
	return s.Fit(ctx, blocks[len(blocks)-1])
}

// sure is ridge regression with intervals that are the wider the less, or the more, is asked of them.
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
	return estimator.Outputs{Has: estimator.Values | estimator.Intervals}
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

// crowded is a classifier with sets that hold all classes, or nearly none where much is asked of them.
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
	out.Has |= estimator.Sets
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

// vague is a ridge regression that exports what it does not compute.
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
	case "fault":
		g.Add(rows, g.Row([]float64{1, 2}))
	}
	return out, err
}

func TestLawOfExportingFindsEachFault(t *testing.T) {
	law := laws[slices.IndexFunc(laws,
		func(l law) bool { return l.name == "a model that exports computes what it exports" })]
	for _, way := range []string{"off", "more", "nothing", "refusal", "fault"} {
		if n := holds(law, vague{estimator.NewRidge(), way}, Options{}); !n.failed {
			t.Errorf("%s: a model that breaks the law passes", way)
		}
	}
	if n := holds(law, vague{estimator.NewRidge(), ""}, Options{}); n.failed || n.skipped {
		t.Error("a model that keeps the law fails or is skipped")
	}
	for way, failed := range map[string]bool{"": true, "refusal": false} {
		if n := holds(law, vague{estimator.NewRidge(), way}, Options{Unexported: "no"}); n.failed != failed {
			t.Errorf("%q, which is to be refused: %v", way, n.failed)
		}
	}
}

// Secondary checks of an invariant are made as well.
func TestLawsFindMore(t *testing.T) {
	for _, c := range []struct {
		law  string
		good estimator.Estimator
		bad  estimator.Estimator
		o    Options
	}{
		{"moving the inputs or targets moves the predictions", estimator.NewRidge(), clipped{estimator.NewRidge()},
			Options{}},
		{"bad data are refused by name", estimator.NewRidgeClassifier(), hasty{estimator.NewRidgeClassifier()},
			Options{Classes: 2}},
		{"a higher level holds more", sure{Ridge: estimator.NewRidge()}, sure{estimator.NewRidge(), true}, Options{}},
		{"a higher level holds more", crowded{RidgeClassifier: estimator.NewRidgeClassifier()},
			crowded{estimator.NewRidgeClassifier(), true}, Options{Classes: 3}},
	} {
		i := slices.IndexFunc(laws, func(l law) bool { return l.name == c.law })
		if n := holds(laws[i], c.good, c.o); n.failed || n.skipped {
			t.Errorf("%s: an estimator that keeps the law fails or is skipped", c.law)
		}
		if n := holds(laws[i], c.bad, c.o); !n.failed {
			t.Errorf("%s: %T breaks the law and passes", c.law, c.bad)
		}
	}
}
