package serve

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/serve/internal/queue"
)

// Limits bound the resources of requests. A zero is the default.
type Limits struct {
	Body    int64         // bytes of a request's body, unpacked: 8 MiB
	Rows    int           // rows of a request: 10,000
	Time    time.Duration // of a request, waiting included: 10 s
	Working int           // requests that work at once: two for each core
	Waiting int           // requests that wait for those: 256
	Memory  int64         // bytes of the bodies, rows and answers of all requests together: 256 MiB
}

// withDefaults returns the limits with the default for each zero.
func (l Limits) withDefaults() Limits {
	return Limits{
		Body: cmp.Or(l.Body, 8<<20), Rows: cmp.Or(l.Rows, 10_000), Time: cmp.Or(l.Time, 10*time.Second),
		Working: cmp.Or(l.Working, 2*runtime.GOMAXPROCS(0)), Waiting: cmp.Or(l.Waiting, 256), Memory: cmp.Or(l.Memory, 256<<20),
	}
}

// check returns an error for negative limits.
func (l Limits) check() error {
	if l.Body < 0 || l.Rows < 0 || l.Time < 0 || l.Working < 0 || l.Waiting < 0 || l.Memory < 0 {
		return errors.New("serve: a limit is negative, wanted numbers ≥ 0; 0 is the default")
	}
	return nil
}

// gate admits requests within the limits and turns the others away.
type gate struct {
	limits   Limits
	turns    *queue.Queue
	memory   atomic.Int64
	admitted atomic.Int64 // requests that are not answered yet
	closing  atomic.Bool
	rejected func(reason string) // counts a request that is turned away
}

func newGate(l Limits) *gate { return &gate{limits: l, turns: queue.New(l.Working, l.Waiting)} }

// reject returns the error of a request that is turned away.
func (g *gate) reject(err error) error {
	e := ErrorOf(err)
	switch {
	case e.Code == Exhausted:
		g.rejected("exhausted")
	case e.Code == Unavailable && g.closing.Load():
		g.rejected("unavailable")
	}
	return e
}

// admit admits a request of which nothing has been read; release ends it.
func (g *gate) admit() error {
	g.admitted.Add(1) // first, so that Close waits for requests that do not see it
	switch {
	case g.closing.Load():
		g.release()
		return g.reject(queue.ErrClosed)
	case g.turns.Full():
		g.release()
		return g.reject(queue.ErrFull)
	}
	return nil
}

func (g *gate) release() { g.admitted.Add(-1) }

// enter waits for the turn of a request, which ends with the first call of leave. The context ends with the limit of time.
func (g *gate) enter(parent context.Context) (ctx context.Context, leave func(), err error) {
	ctx, stop := context.WithTimeout(parent, g.limits.Time)
	if err := g.turns.Enter(ctx); err != nil {
		stop()
		return nil, nil, g.reject(err)
	}
	left := false
	return ctx, func() {
		if !left {
			left = true
			g.turns.Leave()
			stop()
		}
	}, nil
}

// reservation is the memory of a request.
type reservation struct {
	gate  *gate
	bytes int64
}

// take reserves further bytes, or turns the request away.
func (r *reservation) take(bytes int64) error {
	if r.bytes+bytes > r.gate.limits.Memory {
		return refuse(TooLarge, "the request needs more memory than the server has for all of them; send fewer rows at a time")
	}
	if r.gate.memory.Add(bytes) > r.gate.limits.Memory {
		r.gate.memory.Add(-bytes)
		return r.gate.reject(&Error{Code: Exhausted, Message: "other requests have the server's memory for requests; ask again later", Retry: retryAfter})
	}
	r.bytes += bytes
	return nil
}

// free releases all of it.
func (r *reservation) free() {
	r.gate.memory.Add(-r.bytes)
	r.bytes = 0
}
