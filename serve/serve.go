// Package serve answers over HTTP what fitted models predict:
//
//	s, err := serve.New(serve.Options{Models: []string{"adult.bochner"}})
//	err = s.Load(ctx)
//	go s.Watch(ctx)           // loads model files again when they change
//	mux.Handle("/", s)        // a [Server] is an http.Handler
//
// Rows come as JSON by the names of their columns, to /v1/models/adult:predict, or as tensors by the Open Inference
// Transport, version 2, to /v2/models/adult/infer. Either way a row is coded as those that the model has learned from:
// missing values, categories and dates mean what they meant in training.
//
// A model is a file, whose name without its ending is the model's, or a folder with a file for each version. Loading one
// never runs code. A file that changes is loaded beside the model that is there, which answers until the new one is
// serveReady, and goes on where the new one is damaged. A request has one model from its beginning to its end.
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
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve/internal/protocol"
)

// Options are the options of a [Server]. The zero value of each is its default.
type Options struct {
	// Models are files, FILE or NAME=FILE, and directories with a file for each version, which are named likewise. A
	// program may have none, and add its own with [Server.AddModel].
	Models         []string
	ReloadInterval time.Duration // between checks of the files for changes: 5 s
	Limits         Limits
	// TokenFile is a file with the token that requests need as "Authorization: Bearer TOKEN", except for those of health.
	// It is read again when it changes. "" is no token.
	TokenFile string
	Logger    *slog.Logger // events of models; nil for none
	AccessLog *slog.Logger // a line for each request; nil for none
	Version   string       // of the program, for /v2 and the metrics
}

// Server answers requests for models. It is an http.Handler, for any number of goroutines.
type Server struct {
	options  Options
	models   *models
	limiter  *limiter
	token    *token
	metrics  *serverMetrics
	pages    http.Handler // see Mount
	draining atomic.Bool
}

// New returns a server that has found its models and not loaded any: [Server.Load] does. All errors of the options are
// returned as one.
func New(o Options) (*Server, error) {
	if o.ReloadInterval == 0 {
		o.ReloadInterval = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	err := o.Limits.check()
	if o.ReloadInterval < 0 {
		err = errors.Join(err, errors.New("serve: ReloadInterval must be ≥ 0"))
	}
	m, listErr := newModels(o.Models)
	err = errors.Join(err, listErr)
	t, listErr := newToken(o.TokenFile)
	if err = errors.Join(err, listErr); err != nil {
		return nil, err
	}
	o.Limits = o.Limits.withDefaults()
	s := &Server{options: o, models: m, limiter: newLimiter(o.Limits), token: t}
	s.metrics = newServerMetrics(o.Version, s.limiter, s.Ready)
	s.limiter.onReject = func(reason string) { s.metrics.rejections.WithLabelValues(reason).Inc() }
	m.log, m.metrics = o.Logger, s.metrics
	return s, nil
}

// Options returns the options of the server, with the defaults filled in.
func (s *Server) Options() Options { return s.options }

// AddModel serves a model that a program has fitted or loaded itself, instead of the version of that name that was there.
// It must not be changed from then on.
func (s *Server) AddModel(name, version string, m *modelfile.Model) error {
	return s.models.add(name, version, m)
}

// Load reads all model files that have changed since they were read last, which at first are all of them. The error
// joins those of the files; a model that was loaded before is served on.
func (s *Server) Load(ctx context.Context) error { return s.models.load(ctx) }

// Watch reads model files and the token again when they have changed, until the context ends.
func (s *Server) Watch(ctx context.Context) {
	runEvery(ctx, s.options.ReloadInterval, func() {
		s.models.load(ctx) // errors are logged, counted and shown
		s.token.reload(s.options.Logger)
	})
}

// Model returns a version of a model, "" for the latest. The error is an [Error].
func (s *Server) Model(name, version string) (*Model, error) { return s.models.find(name, version) }

// Versions returns the loaded versions of a model, the latest last.
func (s *Server) Versions(name string) []string {
	if v := s.models.loadedVersions(name); v != nil {
		return v.names
	}
	return nil
}

// Status returns the state of all models, loaded or not.
func (s *Server) Status() []ModelStatus { return s.models.status() }

// Ready returns nil when all models are loaded and the server does not end, else an [Error] that names the reasons.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return &Error{Code: protocol.Unavailable, Message: "the server is shutting down"}
	}
	if unready := s.models.unready(); len(unready) > 0 {
		return &Error{Code: protocol.Unavailable, Message: strings.Join(unready, "; "), RetryAfter: retryDelay}
	}
	return nil
}

// Authorized returns nil if the value of a request's Authorization header has the token, or none is needed, else an
// [Error].
func (s *Server) Authorized(header string) error { return s.token.check(header) }

// Describe makes the server a prometheus.Collector, for a program with metrics of its own.
func (s *Server) Describe(to chan<- *prometheus.Desc) {
	for _, c := range s.metrics.collectors {
		c.Describe(to)
	}
}

// Collect makes the server a prometheus.Collector, for a program with metrics of its own.
func (s *Server) Collect(to chan<- prometheus.Metric) {
	for _, c := range s.metrics.collectors {
		c.Collect(to)
	}
}

// Drain makes the server unready, so that load balancers send it no new requests. It answers those that come.
func (s *Server) Drain() { s.draining.Store(true) }

// Close turns new requests away and waits until those at work are answered, or the context ends.
func (s *Server) Close(ctx context.Context) error {
	s.Drain()
	s.limiter.closing.Store(true)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for s.limiter.admitted.Load() > 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("serve: %d requests not completed: %w", s.limiter.admitted.Load(), ctxerr.Check(ctx))
		}
	}
	return nil
}
