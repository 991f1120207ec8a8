package gridsearch

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// split returns the folds of the splitter after validating them.
func (s Search) split(data datasets.Set, task datasets.Task) ([]datasets.Fold, error) {
	splitter := s.Splitter
	switch {
	case splitter != nil:
	case task == datasets.Classification, task == datasets.Anomaly && data.Y != nil:
		splitter = datasets.StratifiedKFold{Folds: defaultFolds}
	default:
		splitter = datasets.KFold{Folds: defaultFolds}
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

// fitAll fits a spec to all rows.
func (r *run) fitAll(ctx context.Context, spec estimator.Estimator) (estimator.Predictor, error) {
	if r.stream != nil {
		return estimator.FitSource(ctx, spec, r.stream.Source)
	}
	return guard.Call(spec, "Fit", func() (estimator.Predictor, error) { return spec.Fit(ctx, r.rows) })
}

// propose returns the pending fits of some candidates of the round, nil if there are none.
func (r *run) propose(from, to int, shares bool) *searchloop.Proposal {
	j := r.job()
	j.Include = func(candidate, fold int) bool {
		i := r.firstNew + candidate
		return from <= i && i < to && r.pending(i, fold)
	}
	if !slices.ContainsFunc(seq(len(j.Candidates)), j.IncludesAny) {
		return nil
	}
	if !shares || r.stream != nil { // pipelines have their own limits
		j.Workers, j.Memory, j.Predict = r.search.workers(), r.Memory, r.scorer.predict
	}
	return &searchloop.Proposal{
		Until: r.deadline,
		Job:   func(context.Context) (batch.Job, time.Duration, error) { return j, 0, nil },
		Record: func(candidate, fold int, out batch.Outcome) error {
			return r.record(r.firstNew+candidate, fold, out)
		},
		Done: func(shared []string, err error) error {
			if err != nil || !shares && r.stream == nil {
				return err
			}
			r.addShared(shared)
			return r.WriteShared(r.round, shared)
		},
	}
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
	tooLarge, first, bytes := r.TooLarge(r.jobOf(candidates))
	if tooLarge == 0 {
		return nil
	}
	c := candidates[first]
	return fmt.Errorf("%d of %d candidates need more memory than the bound of %s; the first, %d (%s), needs about %s: "+
		"raise the bound or leave them out",
		tooLarge, len(candidates), memory.Size(r.Memory), first, formatSettings(c.settings), memory.Size(bytes))
}
