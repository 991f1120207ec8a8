package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// Strategy is a [Halving] or a [Coordinate]: it proposes the candidates of each round of a search
// from the results of the previous rounds. Nil means one round with all points of the grid.
type Strategy interface {
	// begin returns the rounds of s over the grid, or all errors. It combines at most limit of the
	// points that are known in advance.
	begin(s Search, grid axes, limit int) (proposer, param.FieldErrors)
}

// proposer proposes the rounds of a search.
type proposer interface {
	// known returns the candidates that are checked before any work.
	known() []candidate
	// next proposes a round given the results in r. ok is false after the last round.
	next(r *run) (p proposal, ok bool, err error)
	// cut returns a warning about missing results if the budget ended in the current round, or "".
	cut(r *run) string
}

// proposal is a round of fits to be done.
type proposal struct {
	candidates []candidate
	number     int  // number of candidates; a plan also counts those represented by others
	resource   int  // resource of each fit in a Halving, 0 for no limit
	rows       bool // whether the resource is training rows
	left       int  // maximum number of candidates that may follow with the same resource
}

// stage contains the candidates with one resource and their outcomes, in the order of evaluation.
// Each round adds candidates.
type stage struct {
	resource   int
	folds      []datasets.Fold
	candidates []candidate
	outcomes   [][]outcome // outcome of each candidate on each fold
	firstNew   int         // first candidate of the current round
	done       int         // number of outcomes
	leader     leader
}

// run is the state of a search.
type run struct {
	*searchloop.Loop
	search    Search
	proposer  proposer
	data      datasets.Set  // without rows for a stream
	rows      datasets.Set  // training rows: data, without the targets if they only score
	stream    *batch.Stream // nil if the rows are in memory
	fullFolds []datasets.Fold
	scorer    *scorer
	planOnly  bool // whether the run only plans, without fits

	stage                  // of the current round
	earlierStages []stage  // with less of the resource
	round         int      // number of the current round, −1 before the first
	proposal      proposal // the current round

	began       time.Time    // when the search began
	deadline    time.Time    // of the budget; zero if there is none
	timedOut    bool         // whether the budget ended before the search
	sharedKnown map[int]bool // rounds whose shared work the journal has recorded
	resumed     int          // outcomes taken from the journal
	shared      []string
	include     func(candidate, fold int) bool // selects the fits to do, nil for all
	lastTotal   int                            // Total of the last progress
}

type outcome = searchloop.Outcome

// grid is the default strategy of a search.
type grid struct{}

func (grid) begin(s Search, a axes, limit int) (proposer, param.FieldErrors) {
	starts, errs := s.startPoints(a)
	if len(errs) > 0 {
		return nil, errs
	}
	if starts != nil {
		return s.around(a, starts[:min(startCandidates, len(starts))])
	}
	points, total, errs := s.samplePoints(a, limit)
	if len(errs) > 0 {
		return nil, errs
	}
	candidates, errs := s.candidates(a, points)
	return oneRound{candidates, total}, errs
}

// oneRound tries all of its candidates.
type oneRound struct {
	candidates []candidate
	number     int
}

func (o oneRound) known() []candidate { return o.candidates }

func (o oneRound) next(r *run) (proposal, bool, error) {
	return proposal{candidates: o.candidates, number: o.number}, r.round < 0, nil
}

func (oneRound) cut(*run) string { return "" }

// begin returns the proposer of the search, or all errors.
func (s Search) begin(limit int) (proposer, param.FieldErrors) {
	axes, errs := s.axes()
	if len(errs) > 0 {
		return nil, errs
	}
	strategy := s.Strategy
	if strategy == nil {
		strategy = grid{}
	}
	return strategy.begin(s, axes, limit)
}

// newRun returns a run after checking candidates and metrics against the data.
func (s Search) newRun(data datasets.Set, limit int) (r *run, list []metrics.Metric, err error) {
	r = &run{Loop: searchloop.New(s.Memory, estimator.FitBatch), search: s, round: -1}
	proposer, errs := s.begin(limit)
	list, more := s.metrics(&data)
	if errs = append(errs, more...); len(errs) > 0 {
		return nil, nil, errs
	}
	r.proposer = proposer
	r.data, err = s.prepareTargets(data, list)
	return r, list, err
}

// complete does all rounds and refits the chosen candidate.
func (r *run) complete(ctx context.Context) (*Result, error) {
	began := time.Now()
	if err := r.evaluate(ctx); err != nil {
		return nil, failed(ctx, err)
	}
	out, err := r.result()
	if err != nil {
		return nil, failed(ctx, err)
	}
	out.Seconds = time.Since(began).Seconds()
	if err := r.refit(ctx, out); err != nil {
		return nil, failed(ctx, fmt.Errorf("refit of %s: %w", out.Best(), err))
	}
	return out, nil
}

// refit fits the chosen candidate to all rows.
func (r *run) refit(ctx context.Context, out *Result) (err error) {
	if r.search.Refit == RefitNone {
		return nil
	}
	began := time.Now()
	last := r.candidates[out.BestIndex].spec
	if r.search.RefitEstimator != nil {
		last = r.search.RefitEstimator(last)
	}
	out.Model, err = r.fitAll(ctx, last)
	out.RefitSeconds = time.Since(began).Seconds()
	return err
}

// evaluate does all rounds, as far as the budget allows.
func (r *run) evaluate(ctx context.Context) (err error) {
	if r.began = time.Now(); r.search.Budget > 0 {
		r.deadline = r.began.Add(r.search.Budget)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for !r.timedOut {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		more, err := r.next()
		if err != nil {
			return err
		}
		if !more {
			r.finish()
			break
		}
		if r.round == 0 && r.search.Journal != "" {
			if err := r.openJournal(); err != nil {
				return err
			}
		}
		r.resume()
		if r.firstNew == 0 {
			r.report(Progress{Candidate: -1, Score: math.NaN()})
		}
		if r.done < r.total() {
			if err := r.fit(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// next starts the next round, if there is one.
func (r *run) next() (more bool, err error) {
	p, more, err := r.proposer.next(r)
	if err != nil || !more {
		return false, err
	}
	if r.round++; r.round == 0 || p.resource != r.resource {
		if r.round > 0 {
			r.earlierStages = append(r.earlierStages, r.stage)
		}
		r.stage = stage{resource: p.resource, folds: r.fullFolds}
		if p.rows {
			r.folds = r.subsampleFolds(p.resource)
		}
	}
	r.proposal, r.firstNew = p, len(r.candidates)
	r.candidates = append(r.candidates, p.candidates...)
	for range p.candidates {
		r.outcomes = append(r.outcomes, make([]outcome, len(r.folds)))
	}
	return true, r.refuse(p.candidates)
}

// resume takes the outcomes of the round from the journal.
func (r *run) resume() {
	before := r.resumed
	for i := r.firstNew; i < len(r.candidates); i++ {
		for k := range r.folds {
			if o, ok := r.Recorded(r.fitAt(i, k)); ok {
				r.outcomes[i][k] = o
				r.done, r.resumed = r.done+1, r.resumed+1
				r.leader.update(r, i)
			}
		}
	}
	if _, left := r.search.Splitter.(LeaveOneOut); left && r.resumed > before && !r.sharedKnown[r.round] {
		r.addShared([]string{"rows"}) // interrupted before the batch reported what it shared
	}
}

// pending reports whether a fit has to be done.
func (r *run) pending(candidate, fold int) bool {
	return !r.outcomes[candidate][fold].Done && (r.include == nil || r.include(candidate, fold))
}

// fitAt returns the identity of a fit of the current round.
func (r *run) fitAt(candidate, fold int) searchloop.Fit {
	return searchloop.Fit{Round: r.round, Candidate: candidate, Fold: fold}
}

// record stores the outcome of a candidate on a fold. An error ends the search.
func (r *run) record(candidate, fold int, result batch.Outcome) error {
	out := outcome{Done: true, Seconds: result.Seconds}
	out.Unconverged = result.Err == nil && result.Report.Solver != "" && !result.Report.Converged
	if !finite(out.Seconds) {
		out.Seconds = 0
	}
	failed := r.data.Locate(result.Err, 0)
	if failed == nil {
		var fatal error
		if out.Scores, failed, fatal = r.scorer.score(fold, result); fatal != nil {
			return fatal
		}
	} else {
		out.Scores = slices.Repeat([]float64{math.NaN()}, len(r.scorer.metrics))
	}
	if failed != nil {
		out.Failed, out.Err = failed.Error(), failed
	}
	if err := r.Write(r.fitAt(candidate, fold), out); err != nil {
		return err
	}
	r.outcomes[candidate][fold] = out
	r.done++
	r.leader.update(r, candidate)
	r.report(Progress{Candidate: candidate, Fold: fold, Score: out.Scores[0], Failed: out.Failed})
	return nil
}

// addShared adds names of shared work.
func (r *run) addShared(names []string) { r.shared = union(r.shared, names) }

// union appends the names that are not present yet.
func union(names, more []string) []string {
	for _, n := range more {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// trainRows is the most rows that any fold trains on.
func (r *run) trainRows() int {
	rows := 0
	for _, f := range r.folds {
		rows = max(rows, len(f.Train))
	}
	return rows
}

// subsampleFolds returns the folds with a random subset of the training rows. Subsets of equal seed
// are nested: a larger one contains a smaller one.
func (r *run) subsampleFolds(rows int) []datasets.Fold {
	rank := rand.New(rand.NewPCG(r.search.Seed, rowStream)).Perm(r.data.Rows())
	out := make([]datasets.Fold, len(r.fullFolds))
	for k, fold := range r.fullFolds {
		train := slices.Clone(fold.Train)
		slices.SortFunc(train, func(a, b int) int { return rank[a] - rank[b] })
		train = train[:min(rows, len(train))]
		slices.Sort(train)
		out[k] = datasets.Fold{Train: train, Test: fold.Test}
	}
	return out
}

// total returns the number of fits of the candidates.
func (r *run) total() int { return len(r.candidates) * len(r.folds) }

// report passes the progress of the current resource to the callback.
func (r *run) report(p Progress) {
	if r.search.Progress != nil {
		p.Phase, p.Done, p.Total = "search", r.done, r.total()+r.proposal.left*len(r.folds)
		p.Elapsed, p.Budget = time.Since(r.began), r.search.Budget
		r.lastTotal = p.Total
		r.leader.fill(&p, r.scorer.metrics[0])
		r.search.Progress(p)
	}
}

// finish reports that no fits follow, where more might have.
func (r *run) finish() {
	if r.proposal.left = 0; r.lastTotal != r.total() {
		r.report(Progress{Candidate: -1, Score: math.NaN()})
	}
}

// leader is the best candidate so far: among those with the most evaluated folds, the one with the
// best mean.
type leader struct {
	scored   int // candidates with a score on every fold
	folds    int
	best     float64
	settings string // "" for none
}

// update includes a candidate with one more fold.
func (l *leader) update(r *run, candidate int) {
	folds, sum := 0, 0.0
	for _, o := range r.outcomes[candidate] {
		if o.Done {
			folds++
			sum += o.Scores[0]
		}
	}
	if folds == len(r.folds) {
		l.scored++
	}
	mean := sum / float64(folds)
	if finite(mean) && (l.settings == "" || folds > l.folds || folds == l.folds &&
		r.scorer.metrics[0].Better(mean, l.best)) {
		l.folds, l.best, l.settings = folds, mean, Candidate{Settings: r.candidates[candidate].settings}.String()
	}
}

// fill notes it in the progress of a search by a metric.
func (l leader) fill(p *Progress, m metrics.Metric) {
	if p.Scored, p.Folds, p.Best, p.Settings, p.Metric = l.scored, l.folds, l.best, l.settings, m.Name; l.settings == "" {
		p.Best = math.NaN()
	}
}
