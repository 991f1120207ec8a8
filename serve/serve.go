// Package serve answers over HTTP what fitted models predict:
//
//	s, err := serve.New(serve.Options{Models: []string{"adult.bochner"}})
//	err = s.Load(ctx)
//	go s.Watch(ctx)           // loads model files again when they change
//	mux.Handle("/", s)        // a [Server] is an http.Handler
//
// Rows come as JSON by the names of their columns, to /v1/models/adult:predict, or as tensors by the Open Inference
// Protocol, version 2, to /v2/models/adult/infer. Either way a row is coded as those that the model has learned from:
// missing values, categories and dates mean what they meant in training.
//
// A model is a file, whose name without its ending is the model's, or a folder with a file for each version. Loading one
// never runs code. A file that changes is loaded beside the model that is there, which answers until the new one is
// ready, and goes on where the new one is damaged. A request has one model from its beginning to its end.
//
// What a request may take is bounded by [Limits]: so many work at once, so many wait, and those on top of them are turned
// away before anything of them is read. Nothing in a request is a path, is written anywhere, or is executed.
//
// What the protocols share is [Server.Infer], which takes and returns tensors, with errors whose [Code] HTTP and gRPC
// both have.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/internal/cause"
)

// Options say what is served and how. The zero value of each is its default.
type Options struct {
	// Models are files, FILE or NAME=FILE, and folders with a file for each version, which are called likewise. A program
	// may do without, and put its own with [Server.Put].
	Models []string
	Period time.Duration // after which files are looked at again: 5 s
	Limits Limits
	// TokenFile has the token that requests need as "Authorization: Bearer TOKEN", but for those of health. It is read
	// again when it changes. "" lets everybody in.
	TokenFile string
	Log       *slog.Logger // what happens to models; nil for nothing
	Access    *slog.Logger // a line for each request; nil for none
	Version   string       // of the program, for /v2 and the metrics
}

// Server answers requests for models. It is an http.Handler, for any number of goroutines.
type Server struct {
	options  Options
	models   *models
	gate     *gate
	token    *token
	metrics  *counts
	log      *slog.Logger
	pages    http.Handler // see Mount
	loading  sync.Mutex
	draining atomic.Bool
}

// New returns a server that has looked for its models and not loaded any: [Server.Load] does. All faults of the options
// are one error.
func New(o Options) (*Server, error) {
	if o.Period == 0 {
		o.Period = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	wrong := o.Limits.check()
	if o.Period < 0 {
		wrong = errors.Join(wrong, errors.New("serve: the period is negative"))
	}
	m, err := newModels(o.Models)
	wrong = errors.Join(wrong, err)
	t, err := newToken(o.TokenFile)
	if wrong = errors.Join(wrong, err); wrong != nil {
		return nil, wrong
	}
	o.Limits = o.Limits.withDefaults()
	s := &Server{options: o, models: m, gate: newGate(o.Limits), token: t, log: o.Log}
	s.metrics = newCounts(s)
	s.metrics.publish(s)
	return s, nil
}

// Options returns what the server is run by, with the defaults filled in.
func (s *Server) Options() Options { return s.options }

// Drain makes the server unready, so that nobody sends it new requests who asks. It answers those that come.
func (s *Server) Drain() { s.draining.Store(true) }

// Close turns new requests away and waits until those at work are answered, or the context ends.
func (s *Server) Close(ctx context.Context) error {
	s.Drain()
	s.gate.closing.Store(true)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for s.gate.inside.Load() > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("serve: %d requests are not answered yet: %w", s.gate.inside.Load(), cause.Err(ctx))
		}
	}
	return nil
}

// turn waits for the turn of a request, which ends with leave; once is enough.
func (s *Server) turn(ctx context.Context) (_ context.Context, leave func(), err error) {
	ctx, stop := context.WithTimeout(ctx, s.options.Limits.Time)
	if err := s.gate.enter(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	left := false
	return ctx, func() {
		if !left {
			left = true
			s.gate.leave()
			stop()
		}
	}, nil
}
