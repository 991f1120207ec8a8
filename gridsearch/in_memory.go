package gridsearch

import (
	"context"
	"fmt"
	"hash"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/guard"
	"github.com/bochner-ml/bochner/internal/journal"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/metricinput"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/internal/share"
)

// split returns the folds of the splitter after validating them.
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

// inMemory runs fits on rows in memory.
type inMemory struct {
	*run
	rows datasets.Set // training rows: data, without the targets if they only score
}

// prepare checks the search and the data, and makes the folds. It combines at most limit
// candidates.
func (s Search) prepare(data datasets.Set, limit int) (*inMemory, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	checked, list, err := s.newRun(data, limit)
	if err != nil {
		return nil, err
	}
	r := &inMemory{checked, checked.data}
	r.fitter = r
	if s.task(list).Unsupervised() {
		r.rows = r.data.WithoutTargets()
	}
	if r.fullFolds, err = s.split(r.data, s.task(list)); err != nil {
		return nil, err
	}
	if left, ok := s.Splitter.(LeaveOneOut); ok {
		if err := left.Check(s); err != nil {
			return nil, err
		}
	}
	r.folds = r.fullFolds
	if err := r.refuse(r.proposer.known()); err != nil {
		return nil, err
	}
	r.scorer = newScorer(list, r.data, r.fullFolds)
	r.scorer.setCosts(metricinput.Costs(s.Estimator, r.data.Schema.Classes()))
	return r, nil
}

// fit runs the pending fits: concurrently, or by the batch fitter of the estimator; with a budget
// in parts. The candidates of a part are neighbors in the grid and share most of their work.
func (r *inMemory) fit(ctx context.Context) error {
	fitter, ok := r.search.Estimator.(share.BatchFitter)
	if !ok {
		return r.fitEach(ctx)
	}
	if _, left := r.search.Splitter.(LeaveOneOut); left || r.deadline.IsZero() {
		return r.fitBatch(ctx, fitter)
	}
	defer func() { r.include = nil }()
	for _, part := range budgetParts(len(r.candidates)-r.firstNew, r.search.Seed) {
		from, to := r.firstNew+part[0], r.firstNew+part[1]
		r.include = func(candidate, _ int) bool { return from <= candidate && candidate < to }
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if slices.ContainsFunc(seq(len(r.candidates)), r.hasPending) {
			if err := r.fitBatch(ctx, fitter); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *inMemory) refit(ctx context.Context, spec estimator.Estimator) (estimator.Predictor, error) {
	return guard.Call(spec, "Fit", func() (estimator.Predictor, error) { return spec.Fit(ctx, r.rows) })
}

func (r *inMemory) identify(sums map[string]string) {
	sums["folds"] = journal.Sum(func(w hash.Hash) {
		for _, f := range r.folds {
			journal.Numbers(w, f.Train)
			journal.Numbers(w, f.Test)
		}
	})
	sums["data"] = journal.Sum(func(w hash.Hash) { journal.Rows(w, r.data) })
}

// fitBatch passes all candidates of the round to the estimator; Include selects the pending fits of
// the current part.
func (r *inMemory) fitBatch(ctx context.Context, fitter share.BatchFitter) error {
	folds, candidates := len(r.folds), len(r.candidates)-r.firstNew
	seen := make([]bool, candidates*folds) // fits that were reported or must not be
	for i, row := range r.outcomes[r.firstNew:] {
		for k := range row {
			seen[i*folds+k] = !r.pending(r.firstNew+i, k)
		}
	}
	unwanted := slices.Clone(seen)
	b := r.batchWithData()
	b.Include = func(candidate, fold int) bool { return !unwanted[candidate*folds+fold] }
	b.Yield = func(candidate, fold int, out share.Outcome) error {
		if ctx.Err() != nil && out.Err != nil {
			return ctxerr.Check(ctx) // an effect of the cancellation
		}
		at := candidate*folds + fold
		switch {
		case candidate < 0 || candidate >= candidates || fold < 0 || fold >= folds:
			r.fatal = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d, of %d and %d", fitter, candidate, fold,
				candidates, folds)
		case seen[at]:
			r.fatal = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d twice, or unasked", fitter, candidate, fold)
		default:
			seen[at] = true
			r.fatal = r.record(r.firstNew+candidate, fold, out)
		}
		if r.fatal != nil {
			return r.fatal
		}
		return ctxerr.Check(ctx)
	}
	var shared []string
	err := guard.Do(fitter, "FitBatch", func() (err error) {
		shared, err = fitter.FitBatch(ctx, b)
		return err
	})
	if err != nil {
		return err
	}
	if at := slices.Index(seen, false); at >= 0 {
		return fmt.Errorf("%T.FitBatch did not report candidate %d on fold %d", fitter, at/folds, at%folds)
	}
	r.addShared(shared)
	return r.journal.Write(entry{Round: r.round, Shared: shared})
}

// batch returns the current round without its rows.
func (r *inMemory) batch() share.Batch {
	b := share.Batch{Shape: r.rows.Shape(), Folds: r.folds}
	for _, c := range r.candidates[r.firstNew:] {
		b.Candidates = append(b.Candidates, share.Candidate{Estimator: c.spec})
	}
	if left, ok := r.search.Splitter.(LeaveOneOut); ok {
		b.LeaveOneOut, b.GCV = true, left.GCV
	}
	return b
}

// batchWithData returns the current round with its rows.
func (r *inMemory) batchWithData() share.Batch {
	b := r.batch()
	b.Data = r.rows
	return b
}

// fit is a candidate to fit on one fold.
type fit struct {
	candidate, fold int
	bytes           int64
}

// fitEach runs the pending fits in grid order, concurrently as far as Workers and Memory allow. It
// returns when all of its fits have ended.
func (r *inMemory) fitEach(ctx context.Context) error {
	type ended struct {
		fit
		out share.Outcome
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := r.pendingFits()
	results := make(chan ended)
	var bytes int64
	for running := 0; ; {
		for len(todo) > 0 && running < r.search.workers() && r.fitsMemory(bytes, todo[0].bytes) && ctx.Err() == nil {
			f := todo[0]
			go func() { results <- ended{f, r.fitOne(ctx, f)} }()
			todo, running, bytes = todo[1:], running+1, bytes+f.bytes
		}
		if running == 0 {
			break
		}
		e := <-results
		running, bytes = running-1, bytes-e.bytes
		if r.fatal != nil || ctx.Err() != nil && e.out.Err != nil {
			continue // an effect of the cancellation
		}
		if r.fatal = r.record(e.candidate, e.fold, e.out); r.fatal != nil {
			cancel()
		}
	}
	if r.fatal != nil {
		return r.fatal
	}
	return ctxerr.Check(ctx)
}

func (s Search) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// fitsMemory reports whether a fit of that size may start while the running ones use used bytes.
func (r *inMemory) fitsMemory(used, bytes int64) bool {
	return r.search.Memory == 0 || bytes <= r.search.Memory-used
}

func (r *inMemory) pendingFits() []fit {
	var out []fit
	for i := r.firstNew; i < len(r.candidates); i++ {
		if !r.hasPending(i) {
			continue
		}
		bytes := r.fitBytes(r.candidates[i])
		for k := range r.folds {
			if r.pending(i, k) {
				out = append(out, fit{i, k, bytes})
			}
		}
	}
	return out
}

// fitOne fits a candidate to the training rows of a fold and predicts the test rows.
func (r *inMemory) fitOne(ctx context.Context, f fit) (out share.Outcome) {
	fold := r.folds[f.fold]
	train := r.rows.Select(fold.Train)
	start := time.Now()
	spec := r.candidates[f.candidate].spec
	model, err := guard.Call(spec, "Fit", func() (estimator.Predictor, error) { return spec.Fit(ctx, train) })
	out.Seconds = time.Since(start).Seconds()
	if err != nil {
		out.Err = train.Locate(err, 0)
		return out
	}
	var m estimator.Reporter
	if estimator.As(model, &m) {
		out.Report = share.Report(m.Report())
	}
	predicted, err := r.scorer.predict(ctx, model, rowblock.Select(r.data.X, fold.Test))
	out.Prediction = share.Prediction(predicted)
	out.Err = r.data.AtRows(err, fold.Test)
	return out
}

// fitBytes returns the memory of a fit: what the estimator declares, and a copy of the rows of the
// fold.
func (r *inMemory) fitBytes(c candidate) int64 {
	used := matrixBytes(r.data.X) + 8*int64(r.data.Rows())
	if k := r.rows.Schema.Outputs(); k > 1 {
		used += 8 * int64(r.data.Rows()) * int64(k) / int64(max(len(r.folds), 1)) // predictions
	}
	if coster, ok := c.spec.(datasets.CostEstimator); ok {
		used += coster.Cost(r.shape(r.trainRows())).Bytes
	}
	return used
}

// shape returns the shape of the given number of rows.
func (r *inMemory) shape(rows int) datasets.Shape {
	out := r.rows.Shape()
	out.Rows = rows
	return out
}

func matrixBytes(X mat.Matrix) int64 {
	n, d := X.Dims()
	if m, ok := X.(interface{ NNZ() int }); ok { // sparse: row starts, and column and value of each entry
		return 8*int64(n) + 12*int64(m.NNZ())
	}
	return 8 * int64(n) * int64(d)
}

// refuse returns an error if a candidate needs more memory than available.
func (r *inMemory) refuse(candidates []candidate) error {
	bound := r.search.Memory
	if bound == 0 {
		bound = memory.Available()
	}
	tooLarge, first := 0, -1
	for i, c := range candidates {
		if r.fitBytes(c) > bound {
			if tooLarge++; first < 0 {
				first = i
			}
		}
	}
	if tooLarge == 0 {
		return nil
	}
	c := candidates[first]
	return fmt.Errorf("%d of %d candidates need more memory than the bound of %s; the first, %d (%s), needs about %s: "+
		"raise the bound or leave them out",
		tooLarge, len(candidates), memory.Size(bound), first, formatSettings(c.settings), memory.Size(r.fitBytes(c)))
}
