package serve

import (
	"net/http"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/bochner-ml/bochner/internal/runtime/cputime"
)

// serverMetrics contains the Prometheus metrics of a server.
type serverMetrics struct {
	own, process []*metric // process: those of the Go runtime and the process
	requests     *metric
	seconds      *metric
	rows         *metric
	unknown      *metric
	rejections   *metric
	panics       *metric
	loads        *metric
	loadTime     *metric
	loadedAt     *metric
	fileValid    *metric
}

// newServerMetrics returns the metrics, without observations.
func newServerMetrics(version string, g *limiter, ready func() error) *serverMetrics {
	c := &serverMetrics{process: processMetrics()}
	add := func(kind, name, help string, labels ...string) *metric {
		m := &metric{kind: kind, name: "bochner_" + name, help: help, labels: labels}
		c.own = append(c.own, m)
		return m
	}
	counter := func(name, help string, labels ...string) *metric { return add("counter", name, help, labels...) }
	gauge := func(name, help string, labels ...string) *metric { return add("gauge", name, help, labels...) }
	c.requests = counter("requests_total", "Requests answered, by model, route and status.", "model", "route", "code")
	c.seconds = add("histogram", "request_seconds", "Time from the request's head to its answer, by route.", "route")
	c.seconds.bounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	c.rows = counter("rows_total", "Rows predicted, by model.", "model")
	c.unknown = counter("unknown_categories_total",
		"Predicted rows with a category that the training rows do not have, by model and column.", "model", "column")
	c.rejections = counter("rejected_total",
		"Requests turned away because there were too many (exhausted) or the server ended (unavailable).", "reason")
	c.panics = counter("panics_total", "Requests in which the program failed.")
	c.panics.add(0)
	c.loads = counter("model_loads_total", "Tries to load a model file, by what became of them: loaded or failed.",
		"model", "version", "result")
	c.loadTime = gauge("model_load_seconds", "Time that the last try to load the model took.", "model", "version")
	c.loadedAt = gauge("model_loaded_timestamp_seconds", "When the model that is served was loaded.", "model", "version")
	c.fileValid = gauge("model_file_good",
		"1 if the model file could be loaded as it is now, else 0: then the model before is served, if there was one.",
		"model", "version")
	gauge("build_info", "1, with the versions of the program and of Go.", "version", "go").set(1, version, runtime.Version())
	gauge("requests_in_flight", "Requests that have come and are not answered.").read =
		func() float64 { return float64(g.admitted.Load()) }
	gauge("requests_waiting", "Requests that wait for their turn.").read =
		func() float64 { return float64(g.predictions.Queued() + g.explanations.Queued()) }
	gauge("request_memory_bytes", "Memory that bodies, rows and answers of requests have.").read =
		func() float64 { return float64(g.memory.Load()) }
	gauge("ready", "1 if the server is ready, else 0.").read = func() float64 {
		if ready() != nil {
			return 0
		}
		return 1
	}
	return c
}

// startSeconds is about the start of the process.
var startSeconds = unixSeconds(time.Now())

// processMetrics returns the metrics of the Go runtime and the process, with the names that clients of Prometheus give them.
func processMetrics() []*metric {
	runtimeValue := func(name string) func() float64 {
		return func() float64 {
			sample := []metrics.Sample{{Name: name}}
			if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
				return 0
			}
			return float64(sample[0].Value.Uint64())
		}
	}
	return []*metric{
		{name: "go_goroutines", kind: "gauge", help: "Number of goroutines.", read: runtimeValue("/sched/goroutines:goroutines")},
		{name: "go_memstats_heap_alloc_bytes", kind: "gauge", help: "Bytes of heap objects, live or not collected yet.",
			read: runtimeValue("/memory/classes/heap/objects:bytes")},
		{name: "go_memstats_sys_bytes", kind: "gauge", help: "Bytes that the Go runtime has obtained from the system.",
			read: runtimeValue("/memory/classes/total:bytes")},
		{name: "process_cpu_seconds_total", kind: "counter", help: "User and system CPU time of the process in seconds.",
			read: func() float64 { return cputime.Time().Seconds() }},
		{name: "process_start_time_seconds", kind: "gauge", help: "Start time of the process in seconds since 1970.",
			read: func() float64 { return startSeconds }},
	}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

// ServeHTTP answers with all metrics.
func (c *serverMetrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	writeMetrics(w, append(c.own[:len(c.own):len(c.own)], c.process...)) // the client is gone if it fails
}

// countLoad records an attempt to load a model.
func (c *serverMetrics) countLoad(model, version string, took time.Duration, err error) {
	result, good := "loaded", 1.0
	if err != nil {
		result, good = "failed", 0
	} else {
		c.loadedAt.set(unixSeconds(time.Now()), model, version)
	}
	c.loads.add(1, model, version, result)
	c.loadTime.set(took.Seconds(), model, version)
	c.fileValid.set(good, model, version)
}

// forget deletes the metrics of a removed version.
func (c *serverMetrics) forget(model, version string) {
	for _, m := range []*metric{c.loads, c.loadTime, c.loadedAt, c.fileValid} {
		m.forget(model, version)
	}
}

// statusLabels are the HTTP statuses as strings.
var statusLabels = func() (out [600]string) {
	for code := range out {
		out[code] = strconv.Itoa(code)
	}
	return out
}()
