package serve

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/runtime/queue"
)

// Limits bounds the resources of requests. A zero field selects its default.
type Limits struct {
	MaxBodyBytes   int64         // size of a body after decompression; default 8 MiB
	MaxRows        int           // rows per request; default 10,000
	Timeout        time.Duration // time per request, including the queue; default 10 s
	MaxConcurrent  int           // concurrent requests without explanations; default two per core
	MaxExplaining  int           // concurrent explanations; default one per two cores, at least one
	MaxQueued      int           // queued requests; default 256
	MaxMemoryBytes int64         // bodies, rows and responses of all requests together; default 256 MiB
}

// withDefaults replaces zeros by the defaults.
func (l Limits) withDefaults() Limits {
	return Limits{
		MaxBodyBytes: cmp.Or(l.MaxBodyBytes, 8<<20), MaxRows: cmp.Or(l.MaxRows, 10_000),
		Timeout:       cmp.Or(l.Timeout, 10*time.Second),
		MaxConcurrent: cmp.Or(l.MaxConcurrent, 2*runtime.GOMAXPROCS(0)), MaxQueued: cmp.Or(l.MaxQueued, 256),
		MaxExplaining:  cmp.Or(l.MaxExplaining, max(1, runtime.GOMAXPROCS(0)/2)),
		MaxMemoryBytes: cmp.Or(l.MaxMemoryBytes, 256<<20),
	}
}

// check rejects negative limits.
func (l Limits) check() error {
	if l.MaxBodyBytes < 0 || l.MaxRows < 0 || l.Timeout < 0 || l.MaxConcurrent < 0 || l.MaxExplaining < 0 ||
		l.MaxQueued < 0 || l.MaxMemoryBytes < 0 {
		return errors.New("serve: limits must be ≥ 0; 0 selects the default")
	}
	return nil
}

// limiter admits requests within the limits and rejects the others.
type limiter struct {
	limits       Limits
	predictions  *queue.Queue
	explanations *queue.Queue // a queue of their own, because each takes as long as many predictions
	memory       atomic.Int64
	admitted     atomic.Int64 // requests in progress
	closing      atomic.Bool
	onReject     func(reason string) // counts a rejected request
}

func newLimiter(l Limits) *limiter {
	return &limiter{limits: l, predictions: queue.New(l.MaxConcurrent, l.MaxQueued),
		explanations: queue.New(l.MaxExplaining, l.MaxQueued)}
}

// reject counts a rejected request and returns its error.
func (g *limiter) reject(err error) error {
	e := ErrorOf(err)
	switch {
	case e.Code == protocol.ResourceExhausted:
		g.onReject("exhausted")
	case e.Code == protocol.Unavailable && g.closing.Load():
		g.onReject("unavailable")
	}
	return e
}

// admit admits a request of a queue before its body is read. The caller must call finish.
func (g *limiter) admit(q *queue.Queue) error {
	g.admitted.Add(1) // before the checks, so that Close waits for requests that miss the flag
	switch {
	case g.closing.Load():
		g.finish()
		return g.reject(queue.ErrClosed)
	case q.Full():
		g.finish()
		return g.reject(queue.ErrFull)
	}
	return nil
}

func (g *limiter) finish() { g.admitted.Add(-1) }

// acquire waits for a slot of a queue. The first call of leave releases it. The returned context has
// the deadline of the request.
func (g *limiter) acquire(parent context.Context, q *queue.Queue) (ctx context.Context, leave func(), err error) {
	ctx, stop := context.WithTimeout(parent, g.limits.Timeout)
	if err := q.Acquire(ctx); err != nil {
		stop()
		return nil, nil, g.reject(err)
	}
	released := false
	return ctx, func() {
		if !released {
			released = true
			q.Release()
			stop()
		}
	}, nil
}

// reservation is the memory reserved by a request.
type reservation struct {
	limiter *limiter
	bytes   int64
}

// reserve reserves more bytes or returns an error.
func (r *reservation) reserve(bytes int64) error {
	if r.bytes+bytes > r.limiter.limits.MaxMemoryBytes {
		return newError(protocol.TooLarge, "request memory: must be at most %d bytes; split the request",
			r.limiter.limits.MaxMemoryBytes)
	}
	if r.limiter.memory.Add(bytes) > r.limiter.limits.MaxMemoryBytes {
		r.limiter.memory.Add(-bytes)
		return r.limiter.reject(&Error{Code: protocol.ResourceExhausted,
			Message: "other requests have the server's memory for requests; ask again later", RetryAfter: retryDelay})
	}
	r.bytes += bytes
	return nil
}

// free releases all reserved memory.
func (r *reservation) free() {
	r.limiter.memory.Add(-r.bytes)
	r.bytes = 0
}
