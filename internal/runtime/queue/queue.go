// Package queue limits the number of concurrent and queued requests.
package queue

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Errors of rejected requests.
var (
	ErrFull   = errors.New("too many queued requests; retry later")
	ErrLate   = errors.New("the request timed out in the queue; retry later")
	ErrClosed = errors.New("the server is shutting down")
)

// Queue is a semaphore with a bounded number of waiting callers.
type Queue struct {
	slots     chan struct{}
	queued    atomic.Int64
	maxQueued int64
}

// New returns a queue with the given limits.
func New(maxConcurrent, maxQueued int) *Queue {
	return &Queue{slots: make(chan struct{}, maxConcurrent), maxQueued: int64(maxQueued)}
}

// Queued returns the number of waiting callers.
func (q *Queue) Queued() int64 { return q.queued.Load() }

// Full reports whether no further caller can wait.
func (q *Queue) Full() bool { return q.queued.Load() >= q.maxQueued }

// Acquire waits for a slot, which the caller returns by Release. The error is ErrFull, ErrLate
// after the deadline of ctx, or the cause of its cancellation.
func (q *Queue) Acquire(ctx context.Context) error {
	select {
	case q.slots <- struct{}{}:
		return nil
	default:
	}
	defer q.queued.Add(-1)
	if q.queued.Add(1) > q.maxQueued {
		return ErrFull
	}
	select {
	case q.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return ErrLate
		}
		return ctxerr.Check(ctx)
	}
}

// Release returns a slot.
func (q *Queue) Release() { <-q.slots }
