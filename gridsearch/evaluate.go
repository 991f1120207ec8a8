package gridsearch

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/memory"
)

// split makes the folds and checks what a splitter may have got wrong.
func (s Search) split(data datasets.Set, task datasets.Task) ([]datasets.Fold, error) {
	splitter := s.Splitter
	switch {
	case splitter != nil:
	case task == datasets.Classification, task == datasets.Anomaly && data.Y != nil:
		splitter = datasets.StratifiedKFold{Folds: DefaultFolds}
	default:
		splitter = datasets.KFold{Folds: DefaultFolds}
	}
	folds, err := splitter.Split(data)
	if err != nil {
		return nil, err
	}
	if len(folds) == 0 {
		return nil, fmt.Errorf("%T made no folds", splitter)
	}
	outside := func(i int) bool { return i < 0 || i >= data.Rows() }
	for k, f := range folds {
		if len(f.Train) == 0 || len(f.Test) == 0 {
			return nil, fmt.Errorf("fold %d has %d rows to train on and %d to test on", k, len(f.Train), len(f.Test))
		}
		if slices.ContainsFunc(f.Train, outside) || slices.ContainsFunc(f.Test, outside) {
			return nil, fmt.Errorf("fold %d has rows outside the %d of the data", k, data.Rows())
		}
	}
	return folds, nil
}

// work fits what is not done.
func (r *run) work(ctx context.Context) error {
	if r.stream != nil {
		return r.fitStream(ctx)
	}
	if fitter, ok := r.search.Estimator.(estimator.BatchFitter); ok {
		return r.fitBatch(ctx, fitter)
	}
	return r.fitEach(ctx)
}

// record takes in what a candidate predicts for a fold. Its error ends the search.
func (r *run) record(candidate, fold int, result estimator.Outcome) error {
	out := outcome{done: true, seconds: result.Seconds}
	out.unconverged = result.Err == nil && result.Report.Solver != "" && !result.Report.Converged
	if !finite(out.seconds) {
		out.seconds = 0
	}
	failed := r.data.Locate(result.Err, 0)
	if failed == nil {
		var fatal error
		if out.scores, failed, fatal = r.scorer.score(fold, result); fatal != nil {
			return fatal
		}
	} else {
		out.scores = slices.Repeat([]float64{math.NaN()}, len(r.scorer.metrics))
	}
	if failed != nil {
		out.failed = failed.Error()
	}
	if out.known = r.knows && fold == 0 && result.Known != nil; out.known {
		r.known[candidate] = result.Known
	}
	if err := r.journal.Write(entryOf(place{r.round, candidate, fold}, out)); err != nil {
		return err
	}
	r.outcomes[candidate][fold] = out
	r.done++
	r.lead.see(r, candidate)
	r.forget(candidate)
	r.report(Progress{Candidate: candidate, Fold: fold, Score: out.scores[0], Failed: out.failed})
	return nil
}

// fitBatch hands the estimator all candidates of the round, and says which fits are wanted: what is not done yet, of
// the part that is asked for now.
func (r *run) fitBatch(ctx context.Context, fitter estimator.BatchFitter) error {
	folds, candidates := len(r.folds), len(r.candidates)-r.first
	seen := make([]bool, candidates*folds) // what is not to be reported, or has been
	for i, row := range r.outcomes[r.first:] {
		for k := range row {
			seen[i*folds+k] = !r.wants(r.first+i, k)
		}
	}
	unwanted := slices.Clone(seen)
	b := r.filled()
	b.Wanted = func(candidate, fold int) bool { return !unwanted[candidate*folds+fold] }
	b.Yield = func(candidate, fold int, out estimator.Outcome) error {
		if ctx.Err() != nil && out.Err != nil {
			return cause.Err(ctx) // whatever it says comes of stopping
		}
		at := candidate*folds + fold
		switch {
		case candidate < 0 || candidate >= candidates || fold < 0 || fold >= folds:
			r.broken = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d, of %d and %d", fitter, candidate, fold, candidates, folds)
		case seen[at]:
			r.broken = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d twice, or unasked", fitter, candidate, fold)
		default:
			seen[at] = true
			r.broken = r.record(r.first+candidate, fold, out)
		}
		if r.broken != nil {
			return r.broken
		}
		return cause.Err(ctx)
	}
	shared, err := fitter.FitBatch(ctx, b)
	if err != nil {
		return err
	}
	if at := slices.Index(seen, false); at >= 0 {
		return fmt.Errorf("%T.FitBatch did not report candidate %d on fold %d", fitter, at/folds, at%folds)
	}
	r.share(shared)
	return r.journal.Write(entry{Round: r.round, Shared: shared})
}

// batch is the current round, without its rows.
func (r *run) batch() estimator.Batch {
	b := estimator.Batch{Shape: r.rows.Shape(), Folds: r.folds, Known: r.knows}
	for _, c := range r.candidates[r.first:] {
		b.Candidates = append(b.Candidates, estimator.Candidate{Estimator: c.spec})
	}
	if left, ok := r.search.Splitter.(LeaveOneOut); ok {
		b.OneOut, b.GCV = true, left.GCV
	}
	return b
}

// filled is the batch with its rows, of which the metrics may need no more than squared errors.
func (r *run) filled() estimator.Batch {
	b := r.batch()
	b.Data, b.Squares = r.rows, r.scorer.squares()
	return b
}

// share adds to the names of what was shared.
func (r *run) share(names []string) { r.shared = union(r.shared, names) }

// union adds names to those that are there.
func union(names, more []string) []string {
	for _, n := range more {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// fit is one candidate to fit on one fold.
type fit struct {
	candidate, fold int
	bytes           int64
}

// fitEach fits what is not done, in the order of the table, as many side by side as workers and
// memory allow. It returns when every fit it has started has ended.
func (r *run) fitEach(ctx context.Context) error {
	type ended struct {
		fit
		out estimator.Outcome
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := r.todo()
	results := make(chan ended)
	var bytes int64
	for running := 0; ; {
		for len(todo) > 0 && running < r.search.workers() && r.admits(bytes, todo[0].bytes) && ctx.Err() == nil {
			f := todo[0]
			go func() { results <- ended{f, r.fit(ctx, f)} }()
			todo, running, bytes = todo[1:], running+1, bytes+f.bytes
		}
		if running == 0 {
			break
		}
		e := <-results
		running, bytes = running-1, bytes-e.bytes
		if r.broken != nil || ctx.Err() != nil && e.out.Err != nil {
			continue // whatever it says comes of stopping
		}
		if r.broken = r.record(e.candidate, e.fold, e.out); r.broken != nil {
			cancel()
		}
	}
	if r.broken != nil {
		return r.broken
	}
	return cause.Err(ctx)
}

func (s Search) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// admits reports whether a fit of that many bytes may start beside those that hold some already.
func (r *run) admits(used, bytes int64) bool {
	return r.search.Memory == 0 || bytes <= r.search.Memory-used
}

func (r *run) todo() []fit {
	var out []fit
	for i := r.first; i < len(r.candidates); i++ {
		if !r.open(i) {
			continue
		}
		bytes := r.bytes(r.candidates[i])
		for k := range r.folds {
			if r.wants(i, k) {
				out = append(out, fit{i, k, bytes})
			}
		}
	}
	return out
}

// wants reports whether a fit is to be done now.
func (r *run) wants(candidate, fold int) bool {
	return !r.outcomes[candidate][fold].done && (r.part == nil || r.part(candidate, fold))
}

// open reports whether a candidate has a fit to be done now.
func (r *run) open(candidate int) bool {
	return slices.ContainsFunc(count(len(r.folds)), func(fold int) bool { return r.wants(candidate, fold) })
}

// fit fits one candidate to one fold's training rows and predicts its test rows.
func (r *run) fit(ctx context.Context, f fit) (out estimator.Outcome) {
	fold := r.folds[f.fold]
	train := r.rows.Select(fold.Train)
	start := time.Now()
	model, err := r.candidates[f.candidate].spec.Fit(ctx, train)
	out.Seconds = time.Since(start).Seconds()
	if err == nil && model == nil {
		err = fmt.Errorf("%T.Fit returned no model", r.candidates[f.candidate].spec)
	}
	if err != nil {
		out.Err = train.Locate(err, 0)
		return out
	}
	var m estimator.Reporter
	if estimator.As(model, &m) {
		out.Report = m.Report()
	}
	out.Prediction, err = r.scorer.predict(ctx, model, datasets.SelectRows(r.data.X, fold.Test))
	out.Err = r.data.AtRows(err, fold.Test)
	return out
}

// bytes is what fitting a candidate to a fold holds: what its estimator says it needs, as far as it
// says so, and a copy of the fold's rows.
func (r *run) bytes(c candidate) int64 {
	used := sizeOf(r.data.X) + 8*int64(r.data.Rows())
	if k := r.rows.Schema.Outputs(); k > 1 {
		used += 8 * int64(r.data.Rows()) * int64(k) / int64(max(len(r.folds), 1)) // predictions
	}
	if coster, ok := c.spec.(datasets.Coster); ok {
		used += coster.Cost(r.shape(r.trainRows())).Bytes
	}
	return used
}

// shape is that of so many of the rows.
func (r *run) shape(rows int) datasets.Shape {
	out := r.rows.Shape()
	out.Rows = rows
	return out
}

// trainRows is the most rows that any fold trains on.
func (r *run) trainRows() int {
	rows := 0
	for _, f := range r.folds {
		rows = max(rows, len(f.Train))
	}
	return rows
}

func sizeOf(X mat.Matrix) int64 {
	n, d := X.Dims()
	if m, ok := X.(interface{ NNZ() int }); ok { // sparse: a row's start, and an entry's column and value
		return 8*int64(n) + 12*int64(m.NNZ())
	}
	return 8 * int64(n) * int64(d)
}

// fitsMemory refuses candidates that could not be fitted within the bound one by one.
func (r *run) fitsMemory(candidates []candidate) error {
	if r.stream != nil {
		return nil
	}
	bound := r.search.Memory
	if bound == 0 {
		bound = memory.Available()
	}
	tooLarge, first := 0, -1
	for i, c := range candidates {
		if r.bytes(c) > bound {
			if tooLarge++; first < 0 {
				first = i
			}
		}
	}
	if tooLarge == 0 {
		return nil
	}
	c := candidates[first]
	return fmt.Errorf("%d of %d candidates need more memory than the bound of %s; the first, %d (%s), needs about %s: raise the bound or leave them out",
		tooLarge, len(candidates), memory.Size(bound), first, label(c.settings), memory.Size(r.bytes(c)))
}
