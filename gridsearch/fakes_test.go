package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
)

// line is an estimator whose fit is plain arithmetic: it predicts Shrink times the weighted least
// squares line of the targets on the first column, plus Shift times the second. Its probe watches
// the fits from outside.
type line struct {
	Shrink float64
	Shift  int
	Mode   string
	probe  *probe
}

func (s *line) Params(l *param.List) {
	l.Float(&s.Shrink, "shrink", "factor of the slope", param.AtLeast(0))
	l.MorePenalty("shrink")
	l.Int(&s.Shift, "shift", "multiple of the second column", param.Any())
	l.Choice(&s.Mode, "mode", "whether to fit at all", "fit", "fail", "nan", "stuck")
	l.Check("shift", func() error {
		if s.Shift == 7 && s.Shrink == 7 {
			return errors.New("anything but 7 where shrink is 7")
		}
		return nil
	})
}

func newLine() line { return line{Shrink: 1, Mode: "fit"} }

func (s line) Cost(shape datasets.Shape) datasets.Cost {
	s.probe.asked()
	return datasets.Cost{Flops: float64(shape.Rows * shape.Cols), Bytes: int64(1000 * (1 + s.Shift))}
}

func (s line) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := param.Check(s); err != nil {
		return nil, err
	}
	defer s.probe.enter(s.Cost(data.Shape()).Bytes)()
	if err := s.probe.wait(ctx); err != nil {
		return nil, err
	}
	if s.Mode == "fail" {
		return nil, errors.New("line: told to fail")
	}
	var sw, sx, sy, sxx, sxy float64
	for i, y := range data.Y {
		w, x := 1.0, data.X.At(i, 0)
		if data.Weights != nil {
			w = data.Weights[i]
		}
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x, sy+w*y, sxx+w*x*x, sxy+w*x*y
	}
	slope := (sxy - sx*sy/sw) / (sxx - sx*sx/sw)
	return &fittedLine{s, slope, (sy - slope*sx) / sw}, nil
}

type fittedLine struct {
	spec         line
	slope, shift float64
}

func (p *fittedLine) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	out := make([]float64, n)
	for i := range out {
		out[i] = p.spec.Shrink*p.slope*X.At(i, 0) + p.shift + float64(p.spec.Shift)*X.At(i, 1)
		if p.spec.Mode == "nan" {
			out[i] = math.NaN()
		}
	}
	if p.spec.probe != nil && p.spec.probe.deaf {
		return out, nil
	}
	return out, ctx.Err()
}

func (p *fittedLine) Report() estimator.Report {
	return estimator.Report{Solver: "closed form", Converged: p.spec.Mode != "stuck", Iterations: 3}
}

// probe counts fits and the bytes they hold; delay makes each last a random while, hang until the
// context ends once that many have passed.
type probe struct {
	mu              sync.Mutex
	fits, running   int
	most            int
	bytes, maxBytes int64
	delay           time.Duration
	hangAfter       int
	after           int // index of the fit that calls then first
	then            func()
	hangUntil       int  // number of the last fit that hangs, 0 for no last one
	costs           int  // number of calls of Cost
	deaf            bool // to the context
}

func (p *probe) enter(bytes int64) (leave func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fits, p.running, p.bytes = p.fits+1, p.running+1, p.bytes+bytes
	if p.fits == p.after {
		p.then()
	}
	p.most, p.maxBytes = max(p.most, p.running), max(p.maxBytes, p.bytes)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running, p.bytes = p.running-1, p.bytes-bytes
	}
}

func (p *probe) asked() {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.costs++
	}
}

func (p *probe) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	hang := p.hangAfter > 0 && p.fits > p.hangAfter && (p.hangUntil == 0 || p.fits <= p.hangUntil)
	p.mu.Unlock()
	if hang {
		<-ctx.Done()
	} else if p.delay > 0 {
		time.Sleep(rand.N(p.delay))
	}
	if p.deaf {
		return nil
	}
	return ctx.Err()
}

// batching is a line that implements BatchFitter and visits candidates and folds in reverse order.
type batching struct {
	line
	problem string
	asked   *[]int // number of requested fits by batch
}

func (s *batching) Params(l *param.List) { s.line.Params(l) }

func (s batching) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	if s.asked != nil {
		want := 0
		for i := range b.Candidates {
			for k := range b.Folds {
				if b.Includes(i, k) {
					want++
				}
			}
		}
		*s.asked = append(*s.asked, want)
	}
	for k := len(b.Folds) - 1; k >= 0; k-- {
		train, test := b.Data.Select(b.Folds[k].Train), b.Data.Select(b.Folds[k].Test)
		for i := len(b.Candidates) - 1; i >= 0; i-- {
			if !b.Includes(i, k) {
				continue
			}
			var out batch.Outcome
			p, err := b.Candidates[i].Estimator.(estimator.Estimator).Fit(ctx, train)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if out.Err = err; err == nil {
				predicted, err := estimator.Predict(ctx, p, test.X, estimator.Request{})
				out.Prediction, out.Err = predicted, err
			}
			candidate := i
			switch {
			case s.problem == "twice" && i == 0:
				candidate = 1
			case s.problem == "outside" && i == 0:
				candidate = len(b.Candidates)
			case s.problem == "missing" && i == 0 && k == 1:
				continue
			}
			if err := b.Yield(candidate, k, out); err != nil {
				return nil, err
			}
		}
	}
	if s.problem == "modest" {
		return []string{"prefix"}, nil
	}
	return []string{"prefix", "folds"}, nil
}

func (s batching) PlanBatch(batch.Job) (int64, error) { return 77, nil }

// logit scores two classes by Slope times the distance of the first column from its mean.
type logit struct{ Slope float64 }

func (s *logit) Params(l *param.List) { l.Float(&s.Slope, "slope", "of the score", param.Any()) }

func (s logit) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	total := 0.0
	for i := range data.Rows() {
		total += data.X.At(i, 0)
	}
	return &fittedLogit{s.Slope, total / float64(data.Rows()), data.Schema.Classes()}, nil
}

type fittedLogit struct {
	slope, center float64
	classes       []string
}

func (p *fittedLogit) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputScores | estimator.OutputProbabilities, Classes: p.classes}
}

func (p *fittedLogit) PredictFull(_ context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction, error) {
	n, _ := X.Dims()
	out := estimator.Prediction{Values: make([]float64, n), Scores: mat.NewDense(n, 1, nil),
		Probabilities: mat.NewDense(n, 2, nil)}
	for i := range n {
		score := p.slope * (X.At(i, 0) - p.center)
		if out.Scores.Set(i, 0, score); score > 0 {
			out.Values[i] = 1
		}
		q := 1 / (1 + math.Exp(-score))
		out.Probabilities.SetRow(i, []float64{1 - q, q})
	}
	return out, nil
}

func (p *fittedLogit) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := p.PredictFull(ctx, X, estimator.Request{})
	return out.Values, err
}

// several predicts the mean of each of several targets, times Scale.
type several struct{ Scale float64 }

func (s *several) Params(l *param.List) { l.Float(&s.Scale, "scale", "of the means", param.Any()) }

func (s several) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	n, t := data.Targets.Dims()
	p := &fittedSeveral{make([]float64, t)}
	for j := range t {
		p.means[j] = s.Scale * mat.Sum(data.Targets.ColView(j)) / float64(n)
	}
	return p, nil
}

type fittedSeveral struct{ means []float64 }

func (*fittedSeveral) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputTargets}
}

func (p *fittedSeveral) PredictFull(_ context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction,
	error) {
	n, _ := X.Dims()
	out := mat.NewDense(n, len(p.means), nil)
	for i := range n {
		out.SetRow(i, p.means)
	}
	return estimator.Prediction{Values: mat.Col(nil, 0, out), Targets: out}, nil
}

func (p *fittedSeveral) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := p.PredictFull(ctx, X, estimator.Request{})
	return out.Values, err
}

// quantities are rows of two columns whose target is nearly a line in the first.
func quantities(rows int) datasets.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	set := datasets.Set{X: mat.NewDense(rows, 2, nil), Y: make([]float64, rows), Weights: make([]float64, rows)}
	for i := range rows {
		x := rng.NormFloat64()
		set.X.(*mat.Dense).SetRow(i, []float64{x, rng.NormFloat64()})
		set.Y[i] = 2*x + 1 + 0.3*rng.NormFloat64()
		set.Weights[i] = 0.5 + rng.Float64()
	}
	return set
}

// labels is quantities with two classes for a target.
func labels(rows int) datasets.Set {
	set := quantities(rows)
	for i, y := range set.Y {
		set.Y[i] = 0
		if y > 0.8 {
			set.Y[i] = 1
		}
	}
	set.Schema.Targets = []datasets.Column{{Name: "side", Kind: datasets.Categorical,
		Categories: []string{"left", "right"}}}
	return set
}

// lineSearch is 4×3 candidates on 3 folds, scored by squared error.
func lineSearch(p *probe) Search {
	spec := newLine()
	spec.probe = p
	s := NewSearch(spec,
		Axis{Path: "shrink", Values: []any{0.5, 0.9, 1.0, 1.5}},
		Axis{Path: "shift", Values: []any{0, 1, 2}})
	s.Splitter = datasets.KFold{Folds: 3}
	s.Score = "mean_squared_error"
	return s
}

func mustRun(t testing.TB, s Search, data datasets.Set) *Result {
	t.Helper()
	r, err := s.Run(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// table writes everything of a result that must not depend on scheduling or resuming, scores to
// the bit.
func table(r *Result) string {
	out := fmt.Sprintln(r.Score, r.Folds, r.BestIndex, r.OnGridEdge, r.Fits, r.Warnings)
	for _, c := range r.Candidates {
		out += fmt.Sprintln(c, c.Rank, c.Failed)
		for _, s := range append([]Summary{c.Summary}, c.OtherScores...) {
			out += s.Name
			for _, v := range append(append([]float64{}, s.Folds...), s.Mean, s.Std) {
				if math.IsNaN(v) {
					v = math.NaN()
				}
				out += fmt.Sprintf(" %x", math.Float64bits(v))
			}
			out += "\n"
		}
	}
	return out
}
