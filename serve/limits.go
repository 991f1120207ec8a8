package serve

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/internal/cause"
)

// Limits bound what requests may take. A zero is the default.
type Limits struct {
	Body    int64         // bytes of a request's body, unpacked: 8 MiB
	Rows    int           // rows of a request: 10,000
	Time    time.Duration // of a request at work, waiting included: 10 s
	Working int           // requests at work at once: two for each core
	Waiting int           // requests that wait for those: 256
	Memory  int64         // bytes that bodies, rows and answers of all requests have together: 256 MiB
}

// withDefaults fills in what is not said.
func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		to  *int64
		def int64
	}{{&l.Body, 8 << 20}, {&l.Memory, 256 << 20}} {
		if *d.to == 0 {
			*d.to = d.def
		}
	}
	for _, d := range []struct {
		to  *int
		def int
	}{{&l.Rows, 10_000}, {&l.Working, 2 * runtime.GOMAXPROCS(0)}, {&l.Waiting, 256}} {
		if *d.to == 0 {
			*d.to = d.def
		}
	}
	if l.Time == 0 {
		l.Time = 10 * time.Second
	}
	return l
}

// check reports limits that let nothing through.
func (l Limits) check() error {
	if l.Body < 0 || l.Rows < 0 || l.Time < 0 || l.Working < 0 || l.Waiting < 0 || l.Memory < 0 {
		return errors.New("serve: a limit is negative, wanted numbers ≥ 0; 0 is the default")
	}
	return nil
}

// gate lets some requests work, lets some wait, and turns the others away at once.
type gate struct {
	limits  Limits
	working chan struct{}
	waiting atomic.Int64
	memory  atomic.Int64
	inside  atomic.Int64 // requests that have come and are not answered
	closing atomic.Bool
}

func newGate(l Limits) *gate {
	return &gate{limits: l, working: make(chan struct{}, l.Working)}
}

// retry is after how many seconds one who was turned away may ask again.
const retry = time.Second

func (g *gate) closed() error {
	return &Error{Code: Unavailable, Message: "the server ends; ask another", Retry: retry}
}

func (g *gate) full() error {
	return &Error{Code: Exhausted, Message: "too many requests wait already; ask again later", Retry: retry}
}

// come lets a request in, of which nothing has been read. Who has come goes.
func (g *gate) come() error {
	g.inside.Add(1)
	var err error
	switch {
	case g.closing.Load():
		err = g.closed()
	case g.waiting.Load() >= int64(g.limits.Waiting):
		err = g.full()
	default:
		return nil
	}
	g.inside.Add(-1)
	return err
}

func (g *gate) gone() { g.inside.Add(-1) }

// enter waits until the request may work. Who has entered leaves.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.working <- struct{}{}:
		return nil
	default:
	}
	if g.waiting.Add(1) > int64(g.limits.Waiting) {
		g.waiting.Add(-1)
		return g.full()
	}
	defer g.waiting.Add(-1)
	select {
	case g.working <- struct{}{}:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &Error{Code: Unavailable, Message: "the request waited longer than the server's limit; ask again later", Retry: retry}
		}
		return cause.Err(ctx)
	}
}

func (g *gate) leave() { <-g.working }

// share is what a request has of the memory of all.
type share struct {
	gate  *gate
	bytes int64
}

// take makes room for so many bytes more, or turns the request away.
func (s *share) take(bytes int64) error {
	if s.bytes+bytes > s.gate.limits.Memory {
		return refuse(TooLarge, "the request needs more memory than the server has for all of them; send fewer rows at a time")
	}
	if s.gate.memory.Add(bytes) > s.gate.limits.Memory {
		s.gate.memory.Add(-bytes)
		return &Error{Code: Exhausted, Message: "other requests have the server's memory for requests; ask again later", Retry: retry}
	}
	s.bytes += bytes
	return nil
}

// free gives all back.
func (s *share) free() {
	s.gate.memory.Add(-s.bytes)
	s.bytes = 0
}
