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
	ErrFull   = errors.New("too many requests wait already; ask again later")
	ErrLate   = errors.New("the request waited longer than the server's limit; ask again later")
	ErrClosed = errors.New("the server ends; ask another")
)

// Queue lets a limited number of requests work, lets a limited number wait, and turns the others away.
type Queue struct {
	working    chan struct{}
	waiting    atomic.Int64
	maxWaiting int64
}

// New returns a queue for the given numbers of requests.
func New(maxWorking, maxWaiting int) *Queue {
	return &Queue{working: make(chan struct{}, maxWorking), maxWaiting: int64(maxWaiting)}
}

// Waiting returns how many requests wait.
func (q *Queue) Waiting() int64 { return q.waiting.Load() }

// Full reports whether no further request can wait.
func (q *Queue) Full() bool { return q.waiting.Load() >= q.maxWaiting }

// Enter waits until a request may work, which ends with Leave. The error is ErrFull, ErrLate after the deadline of the
// context, or its cause.
func (q *Queue) Enter(ctx context.Context) error {
	select {
	case q.working <- struct{}{}:
		return nil
	default:
	}
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > q.maxWaiting {
		return ErrFull
	}
	select {
	case q.working <- struct{}{}:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return ErrLate
		}
		return ctxerr.Check(ctx)
	}
}

// Leave ends the work of a request.
func (q *Queue) Leave() { <-q.working }
