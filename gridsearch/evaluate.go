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
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/metrics"
)

// run is a search at work on data.
type run struct {
	search     Search
	data       datasets.Set
	folds      []datasets.Fold
	candidates []candidate
	all        int // candidates of the search, of which a plan looks at some
	scorer     *scorer
	outcomes   [][]outcome // of each candidate on each fold
	done       int         // outcomes there are
	resumed    int         // outcomes that the journal had
	shared     []string
	swept      bool     // the journal has what was shared
	part       []bool   // candidates that a sweep is asked for now, nil for all
	late       bool     // the budget ended before the search
	broken     error    // what ended the search from within, such as a journal that cannot be written
	journal    *journal // nil where there is none
}

// outcome is what became of one candidate on one fold.
type outcome struct {
	done        bool
	scores      []float64 // by every metric, NaN where there is none
	seconds     float64   // of the fit
	failed      string    // why the deciding score is missing
	late        bool      // for the budget ended before
	unconverged bool
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
	data, err := forTask(data, list[0])
	if err != nil {
		return nil, err
	}
	r := &run{search: s, data: data, candidates: candidates, all: all}
	if r.folds, err = s.split(data, list[0].Task); err != nil {
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
	r.outcomes = make([][]outcome, len(candidates))
	for i := range r.outcomes {
		r.outcomes[i] = make([]outcome, len(r.folds))
	}
	return r, nil
}

// forTask checks that the targets are what the metric scores.
func forTask(data datasets.Set, m metrics.Metric) (datasets.Set, error) {
	switch {
	case data.Y == nil && data.Targets == nil:
		return data, errors.New("the data has no targets")
	case m.Task == metrics.Classification:
		return withClasses(data)
	case len(data.Schema.Classes()) > 0:
		return data, fmt.Errorf("score %s is for %s, but the target has classes", m.Name, m.Task)
	}
	return data, nil
}

// split makes the folds and checks what a splitter may have got wrong.
func (s Search) split(data datasets.Set, task metrics.Task) ([]datasets.Fold, error) {
	splitter := s.Splitter
	switch {
	case splitter != nil:
	case task == metrics.Classification:
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
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.search.Journal != "" {
		if r.journal, err = openJournal(r); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.journal.close()) }()
	}
	if r.resumed = r.done; r.resumed > 0 && !r.swept { // killed in a sweep, before it could tell
		if _, left := r.search.Splitter.(LeaveOneOut); left {
			r.share([]string{"rows"})
		} else {
			_, shared := r.sweepCost()
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
	if left, ok := r.search.Splitter.(LeaveOneOut); ok {
		return r.leaveOneOut(ctx, left)
	}
	if sweeper, ok := r.search.Estimator.(estimator.Sweeper); ok {
		return r.sweep(ctx, sweeper)
	}
	return r.fitEach(ctx)
}

func (r *run) total() int { return len(r.candidates) * len(r.folds) }

func (r *run) report(p Progress) {
	if r.search.Progress != nil {
		p.Done, p.Total = r.done, r.total()
		r.search.Progress(p)
	}
}

// record takes in what a candidate predicts for a fold. Its error ends the search.
func (r *run) record(candidate, fold int, held estimator.Held) error {
	out := outcome{done: true, seconds: held.Seconds}
	out.unconverged = held.Err == nil && held.Report.Solver != "" && !held.Report.Converged
	if !finite(out.seconds) {
		out.seconds = 0
	}
	failed := r.data.Locate(held.Err, 0)
	if failed == nil {
		var fatal error
		if out.scores, failed, fatal = r.scorer.score(fold, held.Prediction); fatal != nil {
			return fatal
		}
	} else {
		out.scores = slices.Repeat([]float64{math.NaN()}, len(r.scorer.metrics))
	}
	if failed != nil {
		out.failed = failed.Error()
	}
	if r.journal != nil {
		if err := r.journal.write(entryOf(candidate, fold, out)); err != nil {
			return err
		}
	}
	r.outcomes[candidate][fold] = out
	r.done++
	r.report(Progress{Candidate: candidate, Fold: fold, Score: out.scores[0], Failed: out.failed})
	return nil
}

// sweep hands the estimator what is not done: to a Resumer the whole grid and which of it is wanted, to
// any other Sweeper every candidate that lacks a fold, with the folds that any of them lacks.
func (r *run) sweep(ctx context.Context, sweeper estimator.Sweeper) error {
	resumer, resumes := sweeper.(estimator.Resumer)
	var open, missing []int // numbers of candidates and folds
	for i, row := range r.outcomes {
		if resumes || slices.ContainsFunc(row, func(o outcome) bool { return !o.done }) {
			open = append(open, i)
		}
	}
	for k := range r.folds {
		if resumes || slices.ContainsFunc(r.outcomes, func(row []outcome) bool { return !row[k].done }) {
			missing = append(missing, k)
		}
	}
	part := sweepPart{run: r, sweeper: sweeper, open: open, missing: missing, seen: make([]bool, len(open)*len(missing))}
	var shared []string
	var err error
	if resumes {
		done := make([]bool, len(part.seen))
		for at := range done {
			done[at] = r.outcomes[open[at/len(missing)]][missing[at%len(missing)]].done
		}
		part.seen = slices.Clone(done) // what the journal has is not to be reported
		if r.part != nil {
			for at := range done {
				done[at] = done[at] || !r.part[open[at/len(missing)]]
			}
			part.seen = slices.Clone(done)
		}
		wanted := func(setting, fold int) bool { return !done[setting*len(missing)+fold] }
		shared, err = resumer.Resume(ctx, r.data, part.folds(), part.settings(), wanted, part.yield(ctx))
	} else {
		shared, err = sweeper.Sweep(ctx, r.data, part.folds(), part.settings(), part.yield(ctx))
	}
	if err != nil {
		return err
	}
	if at := slices.Index(part.seen, false); at >= 0 {
		return fmt.Errorf("%T.Sweep did not report setting %d on fold %d", sweeper, at/len(missing), at%len(missing))
	}
	r.share(shared)
	if r.journal != nil {
		return r.journal.write(entry{Shared: shared})
	}
	return nil
}

// sweepPart is the part of a grid that a sweeper is asked for.
type sweepPart struct {
	*run
	sweeper       estimator.Sweeper
	open, missing []int // numbers of its candidates and folds
	seen          []bool
}

func (p sweepPart) settings() []estimator.Estimator {
	out := make([]estimator.Estimator, len(p.open))
	for i, c := range p.open {
		out[i] = p.candidates[c].spec
	}
	return out
}

func (p sweepPart) folds() []datasets.Fold {
	out := make([]datasets.Fold, len(p.missing))
	for i, k := range p.missing {
		out[i] = p.run.folds[k]
	}
	return out
}

// yield returns what takes in the results and refuses those that were not asked for.
func (p sweepPart) yield(ctx context.Context) func(setting, fold int, held estimator.Held) error {
	return func(setting, fold int, held estimator.Held) error {
		if ctx.Err() != nil && held.Err != nil {
			return ctx.Err() // whatever it says comes of stopping
		}
		if p.broken = p.take(setting, fold, held); p.broken != nil {
			return p.broken
		}
		return ctx.Err()
	}
}

func (p sweepPart) take(setting, fold int, held estimator.Held) error {
	if setting < 0 || setting >= len(p.open) || fold < 0 || fold >= len(p.missing) {
		return fmt.Errorf("%T.Sweep reported setting %d on fold %d, of %d and %d", p.sweeper, setting, fold, len(p.open), len(p.missing))
	}
	at := setting*len(p.missing) + fold
	if p.seen[at] {
		return fmt.Errorf("%T.Sweep reported setting %d on fold %d twice", p.sweeper, setting, fold)
	}
	p.seen[at] = true
	candidate, fold := p.open[setting], p.missing[fold]
	if p.outcomes[candidate][fold].done { // by the journal, while another candidate lacks this fold
		return nil
	}
	return p.record(candidate, fold, held)
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
		held estimator.Held
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
		if r.broken != nil || ctx.Err() != nil && e.held.Err != nil {
			continue // whatever it says comes of stopping
		}
		if r.broken = r.record(e.candidate, e.fold, e.held); r.broken != nil {
			cancel()
		}
	}
	if r.broken != nil {
		return r.broken
	}
	return ctx.Err()
}

func (s Search) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// admits reports whether a fit of that many bytes may start beside those that hold some already.
func (r *run) admits(held, bytes int64) bool {
	return r.search.Memory == 0 || bytes <= r.search.Memory-held
}

func (r *run) todo() []fit {
	var out []fit
	for i, c := range r.candidates {
		bytes := r.bytes(c)
		for k := range r.folds {
			if !r.outcomes[i][k].done {
				out = append(out, fit{i, k, bytes})
			}
		}
	}
	return out
}

// fit fits one candidate to one fold's training rows and predicts its test rows.
func (r *run) fit(ctx context.Context, f fit) (held estimator.Held) {
	fold := r.folds[f.fold]
	train := r.data.Select(fold.Train)
	start := time.Now()
	model, err := r.candidates[f.candidate].spec.Fit(ctx, train)
	held.Seconds = time.Since(start).Seconds()
	if err == nil && model == nil {
		err = fmt.Errorf("%T.Fit returned no model", r.candidates[f.candidate].spec)
	}
	if err != nil {
		held.Err = train.Locate(err, 0)
		return held
	}
	if m, ok := model.(estimator.Reporter); ok {
		held.Report = m.Report()
	}
	held.Prediction, err = r.scorer.predict(ctx, model, datasets.SelectRows(r.data.X, fold.Test))
	held.Err = r.data.AtRows(err, fold.Test)
	return held
}

// bytes is what fitting a candidate to a fold holds: what its estimator says it needs, as far as it
// says so, and a copy of the fold's rows.
func (r *run) bytes(c candidate) int64 {
	held := sizeOf(r.data.X) + 8*int64(r.data.Rows())
	if k := r.data.Schema.Outputs(); k > 1 {
		held += 8 * int64(r.data.Rows()) * int64(k) / int64(max(len(r.folds), 1)) // predictions
	}
	if coster, ok := c.spec.(datasets.Coster); ok {
		held += coster.Cost(r.shape(r.trainRows())).Bytes
	}
	return held
}

// shape is that of so many of the rows.
func (r *run) shape(rows int) datasets.Shape {
	out := r.data.Shape()
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
