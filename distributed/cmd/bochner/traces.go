package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/bochner-ml/bochner/serve"
)

// traced returns the server with a span for each request except health and metrics requests; it is a child
// of the span that the request names, if any. Spans are sent to the collector at url. The returned
// function flushes the remaining ones.
func traced(ctx context.Context, server *serve.Server, url, version string) (http.Handler, func(), error) {
	out, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url), otlptracehttp.WithTimeout(5*time.Second))
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "bochner"),
		attribute.String("service.version", version))
	provider := trace.NewTracerProvider(trace.WithBatcher(out), trace.WithResource(about))
	want := func(r *http.Request) bool {
		switch server.RouteName(r) {
		case "live", "ready", "model_ready", "metrics":
			return false
		}
		return true
	}
	h := otelhttp.NewHandler(server, "bochner", otelhttp.WithTracerProvider(provider),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(want), otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
			return server.RouteName(r)
		}))
	end := func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		provider.Shutdown(ctx) // a rejecting collector has no traces
	}
	return h, end, nil
}
