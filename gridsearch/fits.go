package gridsearch

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
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

// prepare checks the search and the data, and makes the folds. It combines at most limit
// candidates.
func (s Search) prepare(data datasets.Set, limit int) (*run, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	r, list, err := s.newRun(data, limit)
	if err != nil {
		return nil, err
	}
	if r.rows = r.data; s.task(list).Unsupervised() {
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

// fit runs the pending fits; with a budget in parts, if the estimator shares work. The candidates of a
// part are neighbors in the grid and share most of their work.
func (r *run) fit(ctx context.Context) error {
	_, shares := r.search.Estimator.(batch.Fitter)
	if _, left := r.search.Splitter.(LeaveOneOut); !shares || left || r.stream != nil || r.deadline.IsZero() {
		return r.fitBatch(ctx, shares || r.stream != nil)
	}
	defer func() { r.include = nil }()
	for _, part := range budgetParts(len(r.candidates)-r.firstNew, r.search.Seed) {
		from, to := r.firstNew+part[0], r.firstNew+part[1]
		r.include = func(candidate, _ int) bool { return from <= candidate && candidate < to }
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if slices.ContainsFunc(seq(len(r.candidates)), r.hasPending) {
			if err := r.fitBatch(ctx, shares); err != nil {
				return err
			}
		}
	}
	return nil
}

// fitAll fits a spec to all rows.
func (r *run) fitAll(ctx context.Context, spec estimator.Estimator) (estimator.Predictor, error) {
	if r.stream != nil {
		return estimator.FitSource(ctx, spec, r.stream.Source)
	}
	return guard.Call(spec, "Fit", func() (estimator.Predictor, error) { return spec.Fit(ctx, r.rows) })
}

// fitBatch fits all candidates of the round; Include selects the pending fits of the current part.
func (r *run) fitBatch(ctx context.Context, shares bool) error {
	folds, candidates := len(r.folds), len(r.candidates)-r.firstNew
	seen := make([]bool, candidates*folds) // fits that were reported or must not be
	for i, row := range r.outcomes[r.firstNew:] {
		for k := range row {
			seen[i*folds+k] = !r.pending(r.firstNew+i, k)
		}
	}
	unwanted := slices.Clone(seen)
	j := r.job()
	j.Include = func(candidate, fold int) bool { return !unwanted[candidate*folds+fold] }
	j.Yield = func(candidate, fold int, out batch.Outcome) error {
		if ctx.Err() != nil && out.Err != nil {
			return ctxerr.Check(ctx) // an effect of the cancellation
		}
		at := candidate*folds + fold
		switch {
		case candidate < 0 || candidate >= candidates || fold < 0 || fold >= folds:
			r.fatal = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d, of %d and %d", r.search.Estimator, candidate,
				fold, candidates, folds)
		case seen[at]:
			r.fatal = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d twice, or unasked", r.search.Estimator,
				candidate, fold)
		default:
			seen[at] = true
			r.fatal = r.record(r.firstNew+candidate, fold, out)
		}
		if r.fatal != nil {
			return r.fatal
		}
		return ctxerr.Check(ctx)
	}
	if !shares || r.stream != nil { // pipelines have their own limits
		j.Workers, j.Memory, j.Predict = r.search.workers(), r.memory, r.scorer.predict
	}
	shared, err := estimator.FitBatch(ctx, j)
	if err != nil || !shares {
		return err
	}
	if at := slices.Index(seen, false); at >= 0 {
		return fmt.Errorf("%T.FitBatch did not report candidate %d on fold %d", r.search.Estimator, at/folds, at%folds)
	}
	r.addShared(shared)
	return r.journal.Write(entry{Round: r.round, Shared: shared})
}

// job returns the candidates of the current round.
func (r *run) job() batch.Job {
	j := r.jobOf(r.candidates[r.firstNew:])
	if left, ok := r.search.Splitter.(LeaveOneOut); ok {
		j.LeaveOneOut, j.GCV = true, left.GCV
	}
	return j
}

// jobOf returns a job of some candidates.
func (r *run) jobOf(candidates []candidate) batch.Job {
	j := batch.Job{Data: r.rows, Stream: r.stream, Shape: r.shape(), Folds: r.folds}
	for _, c := range candidates {
		j.Candidates = append(j.Candidates, batch.Candidate{Estimator: c.spec})
	}
	return j
}

func (s Search) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// refuse returns an error if a candidate needs more memory than the limit. On a stream, it is checked when it
// starts.
func (r *run) refuse(candidates []candidate) error {
	if r.stream != nil {
		return nil
	}
	tooLarge, first, j := 0, -1, r.jobOf(candidates)
	for i := range candidates {
		if j.FitBytes(i) > r.memory {
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
		tooLarge, len(candidates), memory.Size(r.memory), first, formatSettings(c.settings), memory.Size(j.FitBytes(first)))
}
