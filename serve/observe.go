package serve

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"time"
)

// Answer describes the answer to a request, for the metrics and the logs.
type Answer struct {
	Request      string // see RequestID
	Remote       string // address of the client
	Method, Path string
	Route        string // a word for what was asked
	Model        string // "" where no model has the name that was asked for
	Status       string // of the protocol
	Error        *Error // nil for none
	Failed       bool   // whether the server is to blame
	Rows, Bytes  int
	Begin        time.Time
}

// Observe counts and logs the answer to a request. Other protocols than HTTP call it.
func (s *Server) Observe(ctx context.Context, a Answer) {
	took := time.Since(a.Begin)
	s.counts.requests.WithLabelValues(a.Model, a.Route, a.Status).Inc()
	s.counts.seconds.WithLabelValues(a.Route).Observe(took.Seconds())
	if a.Error != nil && a.Error.Code == Internal {
		s.options.Log.Error("a request failed", "request", a.Request, "model", a.Model, "error", a.Error.Message)
	}
	if s.options.Access == nil {
		return
	}
	status, level := slog.String("status", a.Status), slog.LevelInfo
	if code, err := strconv.Atoi(a.Status); err == nil {
		status = slog.Int("status", code)
	}
	if a.Failed {
		level = slog.LevelError
	}
	s.options.Access.LogAttrs(ctx, level, "request",
		slog.String("request", a.Request), slog.String("remote", a.Remote), slog.String("method", a.Method), slog.String("path", a.Path[:min(len(a.Path), 256)]),
		slog.String("route", a.Route), slog.String("model", a.Model), status, slog.Int("rows", a.Rows),
		slog.Int("bytes", a.Bytes), slog.Float64("seconds", took.Seconds()))
}

// Failed logs and counts a panic at a request, whose value recover has returned, and returns the error of the answer.
func (s *Server) Failed(request string, value any) *Error {
	s.counts.panics.Inc()
	s.options.Log.Error("the program failed", "request", request, "fault", fmt.Sprint(value), "stack", string(debug.Stack()))
	return refuse(Internal, "the server failed; its log says why, for request %s", request)
}

// RequestID returns the name that a client gives a request, if it is one name that logs can have, or a random one.
func RequestID(given []string) string {
	if len(given) == 1 && 0 < len(given[0]) && len(given[0]) <= 128 {
		fine := true
		for i := range len(given[0]) {
			fine = fine && '!' <= given[0][i] && given[0][i] <= '~'
		}
		if fine {
			return given[0]
		}
	}
	const digits = "0123456789abcdef"
	var id [16]byte
	for i, v := 0, rand.Uint64(); i < len(id); i++ {
		id[i] = digits[v&15]
		v >>= 4
	}
	return string(id[:])
}
