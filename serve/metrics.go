package serve

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serverMetrics contains the Prometheus metrics of a server.
type serverMetrics struct {
	handler    http.Handler
	collectors []prometheus.Collector
	requests   *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	rows       *prometheus.CounterVec
	unknown    *prometheus.CounterVec
	rejections *prometheus.CounterVec
	panics     prometheus.Counter
	loads      *prometheus.CounterVec
	loadTime   *prometheus.GaugeVec
	loadedAt   *prometheus.GaugeVec
	fileValid  *prometheus.GaugeVec
}

// newServerMetrics registers the metrics.
func newServerMetrics(version string, g *limiter, ready func() error) *serverMetrics {
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "bochner", Name: name, Help: help}
	}
	counter := func(n, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts(name(n, help)), labels)
	}
	gauge := func(n, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts(name(n, help)), labels)
	}
	now := func(n, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts(name(n, help)), value)
	}
	c := &serverMetrics{
		requests: counter("requests_total", "Requests answered, by model, route and status.", "model", "route", "code"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "bochner", Name: "request_seconds", Help: "Time from the request's head to its answer, by route.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
		rows: counter("rows_total", "Rows predicted, by model.", "model"),
		unknown: counter("unknown_categories_total",
			"Predicted rows with a category that the training rows do not have, by model and column.", "model", "column"),
		rejections: counter("rejected_total",
			"Requests turned away because there were too many (exhausted) or the server ended (unavailable).", "reason"),
		panics: prometheus.NewCounter(prometheus.CounterOpts(name("panics_total", "Requests in which the program failed."))),
		loads: counter("model_loads_total", "Tries to load a model file, by what became of them: loaded or failed.",
			"model", "version", "result"),
		loadTime: gauge("model_load_seconds", "Time that the last try to load the model took.", "model", "version"),
		loadedAt: gauge("model_loaded_timestamp_seconds", "When the model that is served was loaded.", "model", "version"),
		fileValid: gauge("model_file_good",
			"1 if the model file could be loaded as it is now, else 0: then the model before is served, if there was one.",
			"model", "version"),
	}
	build := gauge("build_info", "1, with the versions of the program and of Go.", "version", "go")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	c.collectors = []prometheus.Collector{
		c.requests, c.seconds, c.rows, c.unknown, c.rejections, c.panics, c.loads, c.loadTime, c.loadedAt, c.fileValid, build,
		now("requests_in_flight", "Requests that have come and are not answered.",
			func() float64 { return float64(g.admitted.Load()) }),
		now("requests_waiting", "Requests that wait for their turn.", func() float64 { return float64(g.predictions.Queued() + g.explanations.Queued()) }),
		now("request_memory_bytes", "Memory that bodies, rows and answers of requests have.",
			func() float64 { return float64(g.memory.Load()) }),
		now("ready", "1 if the server is ready, else 0.", func() float64 {
			if ready() != nil {
				return 0
			}
			return 1
		}),
	}
	all := prometheus.NewRegistry()
	all.MustRegister(c.collectors...)
	all.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	c.handler = promhttp.HandlerFor(all, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return c
}

// countLoad records an attempt to load a model.
func (c *serverMetrics) countLoad(model, version string, took time.Duration, err error) {
	result, good := "loaded", 1.0
	if err != nil {
		result, good = "failed", 0
	} else {
		c.loadedAt.WithLabelValues(model, version).SetToCurrentTime()
	}
	c.loads.WithLabelValues(model, version, result).Inc()
	c.loadTime.WithLabelValues(model, version).Set(took.Seconds())
	c.fileValid.WithLabelValues(model, version).Set(good)
}

// forget deletes the metrics of a removed version.
func (c *serverMetrics) forget(model, version string) {
	labels := prometheus.Labels{"model": model, "version": version}
	c.loads.DeletePartialMatch(labels)
	for _, g := range []*prometheus.GaugeVec{c.loadTime, c.loadedAt, c.fileValid} {
		g.Delete(labels)
	}
}

// statusLabels are the HTTP statuses as strings.
var statusLabels = func() (out [600]string) {
	for code := range out {
		out[code] = strconv.Itoa(code)
	}
	return out
}()
