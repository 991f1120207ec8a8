package serve

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/serve/internal/protocol"
	"github.com/bochner-ml/bochner/serve/internal/queue"
)

// Limits bound the resources of requests. A zero is the default.
type Limits struct {
	MaxBodyBytes   int64         // bytes of a request's body, unpacked: 8 MiB
	MaxRows        int           // rows of a request: 10,000
	Timeout        time.Duration // of a request, waiting included: 10 s
	MaxConcurrent  int           // requests that work at once: two for each core
	MaxQueued      int           // requests that wait for those: 256
	MaxMemoryBytes int64         // bytes of the bodies, rows and answers of all requests together: 256 MiB
}

// withDefaults returns the limits with the default for each zero.
func (l Limits) withDefaults() Limits {
	return Limits{
		MaxBodyBytes: cmp.Or(l.MaxBodyBytes, 8<<20), MaxRows: cmp.Or(l.MaxRows, 10_000), Timeout: cmp.Or(l.Timeout, 10*time.Second),
		MaxConcurrent: cmp.Or(l.MaxConcurrent, 2*runtime.GOMAXPROCS(0)), MaxQueued: cmp.Or(l.MaxQueued, 256), MaxMemoryBytes: cmp.Or(l.MaxMemoryBytes, 256<<20),
	}
}

// check returns an error for negative limits.
func (l Limits) check() error {
	if l.MaxBodyBytes < 0 || l.MaxRows < 0 || l.Timeout < 0 || l.MaxConcurrent < 0 || l.MaxQueued < 0 || l.MaxMemoryBytes < 0 {
		return errors.New("serve: limits must be ≥ 0; 0 selects the default")
	}
	return nil
}

// limiter admits requests within the limits and turns the others away.
type limiter struct {
	limits   Limits
	queue    *queue.Queue
	memory   atomic.Int64
	admitted atomic.Int64 // requests that are not answered yet
	closing  atomic.Bool
	onReject func(reason string) // serverMetrics a request that is turned away
}

func newLimiter(l Limits) *limiter {
	return &limiter{limits: l, queue: queue.New(l.MaxConcurrent, l.MaxQueued)}
}

// reject returns the error of a request that is turned away.
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

// admit admits a request of which nothing has been read; release ends it.
func (g *limiter) admit() error {
	g.admitted.Add(1) // first, so that Close waits for requests that do not see it
	switch {
	case g.closing.Load():
		g.finish()
		return g.reject(queue.ErrClosed)
	case g.queue.Full():
		g.finish()
		return g.reject(queue.ErrFull)
	}
	return nil
}

func (g *limiter) finish() { g.admitted.Add(-1) }

// acquire waits for the turn of a request, which ends with the first call of leave. The context ends with the limit of time.
func (g *limiter) acquire(parent context.Context) (ctx context.Context, leave func(), err error) {
	ctx, stop := context.WithTimeout(parent, g.limits.Timeout)
	if err := g.queue.Acquire(ctx); err != nil {
		stop()
		return nil, nil, g.reject(err)
	}
	left := false
	return ctx, func() {
		if !left {
			left = true
			g.queue.Release()
			stop()
		}
	}, nil
}

// reservation is the memory of a request.
type reservation struct {
	limiter *limiter
	bytes   int64
}

// reserve reserves further bytes, or turns the request away.
func (r *reservation) reserve(bytes int64) error {
	if r.bytes+bytes > r.limiter.limits.MaxMemoryBytes {
		return newError(protocol.TooLarge, "request memory: must be at most %d bytes; split the request",
			r.limiter.limits.MaxMemoryBytes)
	}
	if r.limiter.memory.Add(bytes) > r.limiter.limits.MaxMemoryBytes {
		r.limiter.memory.Add(-bytes)
		return r.limiter.reject(&Error{Code: protocol.ResourceExhausted, Message: "other requests have the server's memory for requests; ask again later", RetryAfter: retryDelay})
	}
	r.bytes += bytes
	return nil
}

// free releases all of it.
func (r *reservation) free() {
	r.limiter.memory.Add(-r.bytes)
	r.bytes = 0
}
