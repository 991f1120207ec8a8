package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/journal"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/metrics"
)

// run is a search at work on data.
type run struct {
	search     Search
	stream     *stream // rows that are not held; nil where data has them
	data       datasets.Set
	rows       datasets.Set // those that candidates are fitted to: data, without the targets where they only score
	folds      []datasets.Fold
	candidates []candidate
	all        int // candidates of the search, of which a plan looks at some
	scorer     *scorer
	outcomes   [][]outcome // of each candidate on each fold
	done       int         // outcomes there are
	resumed    int         // outcomes that the journal had
	shared     []string
	lead       lead
	swept      bool                           // the journal has what was shared
	part       func(candidate, fold int) bool // fits that are to be done now, nil for all
	late       bool                           // the budget ended before the search
	broken     error                          // what ended the search from within, such as a journal that cannot be written
	journal    *journal.Journal               // nil where there is none
	knows      bool                           // whether batches are asked what they know of all rows, for the last fit
	known      map[int]estimator.Estimator    // by candidate, what they said: of those not scored on every fold yet, and the best of the others
	knownBest  int                            // of these others, −1 for none
	best       point                          // which of several equally good candidates is chosen, nil for the first
}

// outcome is what became of one candidate on one fold.
type outcome struct {
	done        bool
	scores      []float64 // by every metric, NaN where there is none
	seconds     float64   // of the fit
	failed      string    // why the deciding score is missing
	late        bool      // for the budget ended before
	unconverged bool
	known       bool // whether the batch knew of all rows what the last fit can begin with
}

// prepare checks the search and the data and makes the folds, and at most so many of the candidates.
func (s Search) prepare(data datasets.Set, most int) (*run, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	candidates, all, faults := s.candidates(most)
	list, more := s.metrics(&data)
	if faults = append(faults, more...); len(faults) > 0 {
		return nil, faults
	}
	data, err := s.forTask(data, list)
	if err != nil {
		return nil, err
	}
	r := &run{search: s, data: data, rows: data, candidates: candidates, all: all}
	if s.task(list).Targetless() {
		r.rows = data.WithoutTargets()
	}
	if r.folds, err = s.split(data, s.task(list)); err != nil {
		return nil, err
	}
	if left, ok := s.Splitter.(LeaveOneOut); ok {
		if err := left.Check(s); err != nil {
			return nil, err
		}
	}
	if err := r.fitsMemory(); err != nil {
		return nil, err
	}
	r.scorer = newScorer(list, data, r.folds)
	r.nothingDone()
	return r, nil
}

// nothingDone makes room for the outcomes.
func (r *run) nothingDone() {
	r.outcomes = make([][]outcome, len(r.candidates))
	for i := range r.outcomes {
		r.outcomes[i] = make([]outcome, len(r.folds))
	}
}

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

// evaluate fills in the outcomes, from the journal and by fitting.
func (r *run) evaluate(ctx context.Context) (err error) {
	if err := cause.Err(ctx); err != nil {
		return err
	}
	if r.search.Journal != "" {
		if r.journal, err = openJournal(r); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.journal.Close()) }()
	}
	if r.resumed = r.done; r.resumed > 0 && !r.swept { // killed in a batch, before it could tell
		if _, left := r.search.Splitter.(LeaveOneOut); left {
			r.share([]string{"rows"})
		} else if r.stream == nil {
			_, shared := r.batchCost()
			r.share(shared)
		}
	}
	r.report(Progress{Candidate: -1, Score: math.NaN()})
	if r.done == r.total() {
		return nil
	}
	return r.evaluateWithin(ctx)
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

func (r *run) total() int { return len(r.candidates) * len(r.folds) }

func (r *run) report(p Progress) {
	if r.search.Progress != nil {
		p.Done, p.Total = r.done, r.total()
		r.lead.tell(&p, r.scorer.metrics[0])
		r.search.Progress(p)
	}
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
	if err := r.journal.Write(entryOf(candidate, fold, out)); err != nil {
		return err
	}
	r.outcomes[candidate][fold] = out
	r.done++
	r.lead.see(r, candidate)
	r.forget(candidate)
	r.report(Progress{Candidate: candidate, Fold: fold, Score: out.scores[0], Failed: out.failed})
	return nil
}

// fitBatch hands the estimator the whole grid, and says which of it is wanted: what is not done yet, of
// the part that is asked for now.
func (r *run) fitBatch(ctx context.Context, fitter estimator.BatchFitter) error {
	folds := len(r.folds)
	seen := make([]bool, len(r.candidates)*folds) // what is not to be reported, or has been
	for i, row := range r.outcomes {
		for k := range row {
			seen[i*folds+k] = row[k].done || r.part != nil && !r.part(i, k)
		}
	}
	wanted := slices.Clone(seen)
	b := r.filled()
	b.Wanted = func(candidate, fold int) bool { return !wanted[candidate*folds+fold] }
	b.Yield = func(candidate, fold int, out estimator.Outcome) error {
		if ctx.Err() != nil && out.Err != nil {
			return cause.Err(ctx) // whatever it says comes of stopping
		}
		if r.broken = r.take(fitter, seen, candidate, fold, out); r.broken != nil {
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
	return r.journal.Write(entry{Shared: shared})
}

// batch is the whole grid, without its rows.
func (r *run) batch() estimator.Batch {
	b := estimator.Batch{Shape: r.rows.Shape(), Folds: r.folds, Known: r.knows}
	for _, c := range r.candidates {
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

// take takes in an outcome and refuses one that was not asked for.
func (r *run) take(fitter estimator.BatchFitter, seen []bool, candidate, fold int, out estimator.Outcome) error {
	if candidate < 0 || candidate >= len(r.candidates) || fold < 0 || fold >= len(r.folds) {
		return fmt.Errorf("%T.FitBatch reported candidate %d on fold %d, of %d and %d", fitter, candidate, fold, len(r.candidates), len(r.folds))
	}
	at := candidate*len(r.folds) + fold
	if seen[at] {
		return fmt.Errorf("%T.FitBatch reported candidate %d on fold %d twice, or unasked", fitter, candidate, fold)
	}
	seen[at] = true
	return r.record(candidate, fold, out)
}

// share adds to the names of what was shared.
func (r *run) share(names []string) {
	for _, n := range names {
		if !slices.Contains(r.shared, n) {
			r.shared = append(r.shared, n)
		}
	}
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
	for i, c := range r.candidates {
		bytes := r.bytes(c)
		for k := range r.folds {
			if !r.outcomes[i][k].done && (r.part == nil || r.part(i, k)) {
				out = append(out, fit{i, k, bytes})
			}
		}
	}
	return out
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
	} else if err == nil {
		err = estimator.CheckPredictor(model)
	}
	if err != nil {
		out.Err = train.Locate(err, 0)
		return out
	}
	var m estimator.Reporter
	if estimator.AsWithin(model, &m) {
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
func (r *run) fitsMemory() error {
	bound := r.search.Memory
	if bound == 0 {
		bound = memory.Available()
	}
	tooLarge, first := 0, -1
	for i, c := range r.candidates {
		if r.bytes(c) > bound {
			if tooLarge++; first < 0 {
				first = i
			}
		}
	}
	if tooLarge == 0 {
		return nil
	}
	c := r.candidates[first]
	return fmt.Errorf("%d of %d candidates need more memory than the bound of %s; the first, %d (%s), needs about %s: raise the bound or leave them out",
		tooLarge, len(r.candidates), memory.Size(bound), first, label(c.settings), memory.Size(r.bytes(c)))
}

// lead is the best candidate so far: of those with the most folds the one with the best mean over these.
type lead struct {
	scored   int // candidates with a score on every fold
	folds    int
	best     float64
	settings string // "" for none
}

// see looks at a candidate that has a fold more.
func (l *lead) see(r *run, candidate int) {
	var one lead
	sum := 0.0
	for _, o := range r.outcomes[candidate] {
		if o.done {
			one.folds++
			sum += o.scores[0]
		}
	}
	if one.folds == len(r.folds) {
		one.scored = 1
	}
	if mean := sum / float64(one.folds); finite(mean) {
		one.best, one.settings = mean, Candidate{Settings: r.candidates[candidate].settings}.String()
	}
	*l = l.with(one, r.scorer.metrics[0])
}

// with joins what is known of some candidates and of others.
func (l lead) with(other lead, m metrics.Metric) lead {
	l.scored += other.scored
	if other.settings != "" && (l.settings == "" || other.folds > l.folds || other.folds == l.folds && m.Better(other.best, l.best)) {
		l.folds, l.best, l.settings = other.folds, other.best, other.settings
	}
	return l
}

// tell notes it in the progress of a search by a metric.
func (l lead) tell(p *Progress, m metrics.Metric) {
	if p.Scored, p.Folds, p.Best, p.Settings, p.Metric = l.scored, l.folds, l.best, l.settings, m.Name; l.settings == "" {
		p.Best = math.NaN()
	}
}
