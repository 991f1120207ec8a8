// Package serve predicts with fitted models over HTTP:
//
//	s, err := serve.New(serve.Options{Models: []string{"adult.bochner"}})
//	err = s.Load(ctx)
//	go s.Watch(ctx)           // reloads model files that change
//	mux.Handle("/", s)        // a [Server] is an http.Handler
//
// Clients send rows as JSON objects to /v1/models/adult:predict, or tensors of the Open Inference
// Protocol, version 2, to /v2/models/adult/infer. Missing values, categories and dates are encoded
// as in training.
//
// A model is a file, named after the file without its extension, or a directory with one file per
// version. Loading a model never runs code. A changed file is loaded while the previous model still
// answers; if the new file is damaged, the previous model stays. A request uses one model
// throughout.
//
// [Limits] bounds the number of concurrent and queued requests, their rows and their memory.
// Requests beyond the limits are rejected before their body is read. The content of a request is
// never used as a path, written to a file or executed.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Options configures a [Server]. A zero field selects its default.
type Options struct {
	// Models lists files, as FILE or NAME=FILE, and directories with one file per version, named
	// likewise. It may be empty if models are added with [Server.AddModel].
	Models         []string
	ReloadInterval time.Duration // between checks for changed files; default 5 s
	Limits         Limits
	// TokenFile contains the token that clients must send as "Authorization: Bearer TOKEN", except
	// to the health endpoints. It is reloaded when it changes. An empty name disables
	// authentication.
	TokenFile string
	Logger    *slog.Logger // loads, failures and shutdown; nil discards them
	AccessLog *slog.Logger // one record per request; nil discards them
	Version   string       // version of the program, reported by /v2 and the metrics
}

// Server serves models over HTTP. It implements http.Handler and is safe for concurrent use.
type Server struct {
	options  Options
	models   *models
	limiter  *limiter
	token    *token
	metrics  *serverMetrics
	pages    http.Handler // see Mount
	draining atomic.Bool
}

// New returns a server for the models of o without loading them; call [Server.Load] next. The error
// joins all errors of the options.
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
	s.limiter.onReject = func(reason string) { s.metrics.rejections.add(1, reason) }
	m.log, m.metrics = o.Logger, s.metrics
	return s, nil
}

// Options returns the options of the server, with defaults filled in.
func (s *Server) Options() Options { return s.options }

// AddModel serves a model that the program has fitted or loaded. It replaces the version of the
// same name. The caller must not modify m afterwards.
func (s *Server) AddModel(name, version string, m *modelfile.Model) error {
	return s.models.add(name, version, m)
}

// Load loads all model files that are new or have changed. The error joins the errors of all files.
// A model that was loaded before remains available if its reload fails.
func (s *Server) Load(ctx context.Context) error { return s.models.load(ctx) }

// Watch reloads changed model files and the token until ctx is done.
func (s *Server) Watch(ctx context.Context) {
	runEvery(ctx, s.options.ReloadInterval, func() {
		s.models.load(ctx) // errors are logged, counted and shown
		s.token.reload(s.options.Logger)
	})
}

// Model returns the given version of a model, or the latest version if version is empty. The error
// is an [*Error].
func (s *Server) Model(name, version string) (*Model, error) { return s.models.find(name, version) }

// Versions returns the loaded versions of a model in ascending order.
func (s *Server) Versions(name string) []string {
	if v := s.models.loadedVersions(name); v != nil {
		return v.names
	}
	return nil
}

// Status returns the state of all models, including those that failed to load.
func (s *Server) Status() []modelStatus { return s.models.status() }

// Ready returns nil if all models are loaded and the server is not shutting down, otherwise an
// [*Error] with the reasons.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return &Error{Code: protocol.Unavailable, Message: "the server is shutting down"}
	}
	if unready := s.models.unready(); len(unready) > 0 {
		return &Error{Code: protocol.Unavailable, Message: strings.Join(unready, "; "), RetryAfter: retryDelay}
	}
	return nil
}

// Authorized checks the value of an Authorization header. It returns an [*Error] if a token is
// required and missing or wrong.
func (s *Server) Authorized(header string) error { return s.token.check(header) }

// WriteMetrics writes the metrics of the server, without those of the process, in the Prometheus text format. A
// program calls it to add them to its own metrics.
func (s *Server) WriteMetrics(w io.Writer) error { return writeMetrics(w, s.metrics.own) }

// Drain marks the server as not ready, so that load balancers stop sending requests. New requests
// are still answered.
func (s *Server) Drain() { s.draining.Store(true) }

// Close rejects new requests and waits until all pending requests are answered or ctx is done.
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
