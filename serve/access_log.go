package serve

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
)

// Observe records a request in the metrics and the access log. Other transports call it.
func (s *Server) Observe(ctx context.Context, a protocol.AccessRecord) {
	took := time.Since(a.Start)
	s.metrics.requests.add(1, a.Model, a.Route, a.Status)
	s.metrics.seconds.observe(took.Seconds(), a.Route)
	if a.InternalError != "" {
		s.options.Logger.Error("request failed", "request", a.RequestID, "model", a.Model, "error", a.InternalError)
	}
	if s.options.AccessLog == nil {
		return
	}
	status, level := slog.String("status", a.Status), slog.LevelInfo
	if code, err := strconv.Atoi(a.Status); err == nil {
		status = slog.Int("status", code)
	}
	if a.ServerFault {
		level = slog.LevelError
	}
	s.options.AccessLog.LogAttrs(ctx, level, "request",
		slog.String("request", a.RequestID), slog.String("remote", a.RemoteAddr), slog.String("method", a.Method),
		slog.String("path", a.Path[:min(len(a.Path), 256)]),
		slog.String("route", a.Route), slog.String("model", a.Model), status, slog.Int("rows", a.Rows),
		slog.Int("bytes", a.Bytes), slog.Float64("seconds", took.Seconds()))
}

// ReportPanic logs and counts a recovered panic, or a [*datasets.PanicError] of a model, and returns the error for
// the client.
func (s *Server) ReportPanic(request string, value any) *Error {
	stack := debug.Stack()
	if p, ok := value.(*datasets.PanicError); ok {
		value, stack = p.Value, p.Stack
	}
	s.metrics.panics.add(1)
	s.options.Logger.Error("panic while handling a request", "request", request, "panic", fmt.Sprint(value), "stack",
		string(stack))
	return newError(protocol.Internal, "internal server error; see the server log for request %s", request)
}
