// Package queue limits how many requests work at once and how many wait for them.
package queue

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// Errors of requests that are turned away.
var (
	ErrFull   = errors.New("too many queued requests; retry later")
	ErrLate   = errors.New("the request timed out in the queue; retry later")
	ErrClosed = errors.New("the server is shutting down")
)

// Queue lets a limited number of requests work, lets a limited number wait, and turns the others away.
type Queue struct {
	slots     chan struct{}
	queued    atomic.Int64
	maxQueued int64
}

// New returns a queue for the given numbers of requests.
func New(maxConcurrent, maxQueued int) *Queue {
	return &Queue{slots: make(chan struct{}, maxConcurrent), maxQueued: int64(maxQueued)}
}

// Queued returns how many requests wait.
func (q *Queue) Queued() int64 { return q.queued.Load() }

// Full reports whether no further request can wait.
func (q *Queue) Full() bool { return q.queued.Load() >= q.maxQueued }

// Acquire waits until a request may work, which ends with Leave. The error is ErrFull, ErrLate after the deadline of the
// context, or its cause.
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

// Release ends the work of a request.
func (q *Queue) Release() { <-q.slots }
