// Package searchloop does the fits of a search. Strategies propose fits and read their outcomes; what they share is
// here: the loop over proposals, the limits of time and memory, the ways to stop, and the journal of finished fits.
package searchloop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Errors of fits that were canceled.
var (
	// ErrEnded ends a search at the end of its time, or when its caller stops it.
	ErrEnded = errors.New("not reached within the time budget")
	// ErrLimit is the error of a proposal that exceeded its own time limit.
	ErrLimit = errors.New("time limit exceeded")
)

// Loop is what the strategies of a search share. It is locked while a strategy proposes fits and reads outcomes.
type Loop struct {
	sync.Mutex
	Workers int             // number of concurrent proposals; 0 means 1
	Stop    <-chan struct{} // closing it cancels the fits
	Memory  int64           // bytes of a fit

	fitBatch func(context.Context, batch.Job) (shared []string, err error)
	journal  *journal.Journal // nil for none
	recorded map[Fit]Outcome  // fits in the journal when it was opened
}

// Proposal is a set of fits to be done together. A strategy embeds its own state by the functions.
type Proposal struct {
	// Job returns the fits, and their time limit, 0 for none. Preparatory work belongs here, because proposals are
	// prepared concurrently. A job without candidates has nothing to be done.
	Job func(ctx context.Context) (batch.Job, time.Duration, error)
	// Until is the time at which the fits are canceled; zero means never.
	Until time.Time
	// Record receives the outcome of each fit of the job. An error ends the search.
	Record func(candidate, fold int, out batch.Outcome) error
	// Done receives the names of shared work and the error of the job: [ErrLimit], [ErrEnded], that of the context of
	// the search, or any other. The search ends with the error that Done returns.
	Done func(shared []string, err error) error
}

// New returns a loop whose fits may take the given number of bytes; 0 means [memory.Budget]. Jobs are fitted by fitBatch.
func New(bytes int64, fitBatch func(context.Context, batch.Job) (shared []string, err error)) *Loop {
	return &Loop{Memory: cmp.Or(bytes, memory.Budget(context.Background())), fitBatch: fitBatch}
}

// Stopped reports whether the caller has stopped the search.
func (l *Loop) Stopped() bool {
	select {
	case <-l.Stop: // never, if nil
		return true
	default:
		return false
	}
}

// Limited returns a context that ends with the cause [ErrEnded] when the search is stopped, and at a time unless it is
// zero.
func (l *Loop) Limited(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
	end := func() {}
	if !until.IsZero() {
		ctx, end = context.WithDeadlineCause(ctx, until, ErrEnded)
	}
	if l.Stop == nil {
		return ctx, end
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-l.Stop:
			cancel(ErrEnded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil); end() }
}

// Run does the fits of proposals 0 to n−1, l.Workers at a time. It calls propose in ascending order; nil proposes
// nothing. It returns the first error.
func (l *Loop) Run(ctx context.Context, n int, propose func(i int) (*Proposal, error)) error {
	workers := min(n, max(l.Workers, 1))
	ctx = memory.WithBudget(ctx, l.Memory/int64(max(workers, 1)))
	var wait sync.WaitGroup
	var failed error
	next := 0
	work := func() {
		l.Lock()
		defer l.Unlock()
		for next < n && failed == nil {
			var p *Proposal
			err := guard.Do(l, "propose", func() (err error) {
				p, err = propose(next)
				return err
			})
			if next++; err == nil && p != nil {
				l.Unlock()
				err = guard.Do(l, "fit", func() error { return l.fit(ctx, p) })
				l.Lock()
			}
			failed = cmp.Or(failed, err)
		}
	}
	for range workers {
		wait.Go(work)
	}
	wait.Wait()
	return failed
}

// fit does the fits of a proposal.
func (l *Loop) fit(parent context.Context, p *Proposal) error {
	ctx, cancel := l.Limited(parent, p.Until)
	defer cancel()
	j, limit, err := p.Job(ctx)
	limited, end := ctx, func() {}
	if limit > 0 {
		limited, end = context.WithTimeout(ctx, limit)
	}
	defer end()
	var shared []string
	var fatal error
	if err == nil && len(j.Candidates) > 0 {
		shared, fatal, err = l.batch(limited, j, p)
	}
	switch {
	case fatal != nil:
		return fatal
	case err == nil:
	case parent.Err() != nil:
		err = ctxerr.Check(parent)
	case ctx.Err() != nil:
		err = ErrEnded
	case limited.Err() != nil:
		err = ErrLimit
	}
	l.Lock()
	defer l.Unlock()
	return p.Done(shared, err)
}

// batch does the fits of a job. fatal is an error that ends the search: one of the strategy, or of a batch that reports
// other fits than those of the job.
func (l *Loop) batch(ctx context.Context, j batch.Job, p *Proposal) (shared []string, fatal, err error) {
	folds := len(j.Folds)
	open := make([]bool, len(j.Candidates)*folds) // fits of the job without an outcome
	for i := range open {
		open[i] = j.Includes(i/folds, i%folds)
	}
	included := slices.Clone(open)
	j.Include = func(candidate, fold int) bool { return included[candidate*folds+fold] }
	j.Yield = func(candidate, fold int, out batch.Outcome) error {
		if ctx.Err() != nil && out.Err != nil {
			return ctxerr.Check(ctx) // an effect of the cancellation
		}
		l.Lock()
		defer l.Unlock()
		at := candidate*folds + fold
		switch {
		case candidate < 0 || candidate >= len(j.Candidates) || fold < 0 || fold >= folds:
			fatal = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d, of %d and %d", j.Candidates[0].Estimator,
				candidate, fold, len(j.Candidates), folds)
		case !open[at]:
			fatal = fmt.Errorf("%T.FitBatch reported candidate %d on fold %d twice, or unasked", j.Candidates[0].Estimator,
				candidate, fold)
		default:
			open[at] = false
			fatal = p.Record(candidate, fold, out)
		}
		return cmp.Or(fatal, ctxerr.Check(ctx))
	}
	shared, err = l.fitBatch(ctx, j)
	if at := slices.Index(open, true); at >= 0 && err == nil {
		err = fmt.Errorf("%T.FitBatch did not report candidate %d on fold %d", j.Candidates[0].Estimator, at/folds, at%folds)
	}
	return shared, fatal, err
}

// TooLarge returns the number of candidates of a job that need more memory than the limit, the first one, and its
// bytes.
func (l *Loop) TooLarge(j batch.Job) (number, first int, bytes int64) {
	for i := range j.Candidates {
		if need := j.FitBytes(i); need > l.Memory {
			if number++; number == 1 {
				first, bytes = i, need
			}
		}
	}
	return number, first, bytes
}
