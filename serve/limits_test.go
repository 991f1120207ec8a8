package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
)

// tame is a model that is controlled by the first column of a row.
type tame struct {
	held    chan struct{} // which it waits for, if not nil
	at      *atomic.Int64 // how many rows wait
	predict func(v float64) (float64, error)
}

func (m tame) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return m, nil }

func (m tame) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	if n > 1 { // its rows are not to be predicted together
		return nil, errors.New("one row at a time")
	}
	out := make([]float64, n)
	for i := range out {
		if m.held != nil {
			m.at.Add(1)
			select {
			case <-m.held:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			m.at.Add(-1)
		}
		var err error
		if out[i], err = m.predict(X.At(i, 0)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// serving returns a server with the model m.
func serving(t *testing.T, m tame, o serve.Options) *serve.Server {
	t.Helper()
	if m.predict == nil {
		m.predict = func(v float64) (float64, error) { return v, nil }
	}
	f, err := pipeline.Steps().Then(m).Fit(ctx, datasets.Set{X: mat.NewDense(1, 1, nil), Y: []float64{0}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := modelfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(o)
	if err == nil {
		err = s.AddModel("m", "1", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const one = `{"rows":[{"x0":1}]}`

// Requests beyond the slots and the queue are rejected immediately; the others are answered.
func TestTooManyRequests(t *testing.T) {
	m := tame{held: make(chan struct{}), at: new(atomic.Int64)}
	s := serving(t, m, serve.Options{Limits: serve.Limits{MaxConcurrent: 2, MaxQueued: 3}})
	var asked sync.WaitGroup
	var answered atomic.Int64
	send := func(n int) {
		for range n {
			asked.Go(func() {
				if got := ask(s, "POST", "/v1/models/m:predict", one); got.code == 200 {
					answered.Add(1)
				} else {
					t.Errorf("%d %s", got.code, got.body)
				}
			})
		}
	}
	send(2)
	until(t, func() bool { return m.at.Load() == 2 })
	send(3)
	until(t, func() bool {
		return strings.Contains(ask(s, "GET", "/metrics", "").body, "bochner_requests_waiting 3\n")
	})
	for _, path := range []string{"/v1/models/m:predict", "/v2/models/m/infer"} {
		got := ask(s, "POST", path, "this is not read")
		if got.code != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" ||
			!strings.Contains(got.body, "too many queued requests") {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	var full *serve.Error
	if _, err := inferDirect(s, &protocol.InferRequest{Model: "m"}); !errors.As(err, &full) ||
		full.Code != protocol.ResourceExhausted || full.Code.GRPC() != 8 {
		t.Errorf("%v", err)
	}
	if got := ask(s, "GET", "/v2/health/ready", ""); got.code != 200 {
		t.Error("a full server is not ready")
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Close(ctx) }()
	until(t, func() bool { return s.Ready() != nil })
	close(m.held)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if asked.Wait(); answered.Load() != 5 {
		t.Errorf("%d of 5 were answered", answered.Load())
	}
	metrics := ask(s, "GET", "/metrics", "").body
	for _, want := range []string{`bochner_rejected_total{reason="exhausted"} 3`,
		`bochner_requests_total{model="m",route="infer",code="429"} 1`, `bochner_rows_total{model="m"} 5`,
		"bochner_requests_waiting 0\n", "bochner_requests_in_flight 0\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

// Timeouts in the queue and during prediction, and canceled requests.
func TestTimeOfRequests(t *testing.T) {
	m := tame{held: make(chan struct{}), at: new(atomic.Int64)}
	s := serving(t, m, serve.Options{Limits: serve.Limits{MaxConcurrent: 1, Timeout: 300 * time.Millisecond}})
	codes := make(chan reply, 2)
	go func() { codes <- ask(s, "POST", "/v1/models/m:predict", one) }()
	until(t, func() bool { return m.at.Load() == 1 })
	go func() { codes <- ask(s, "POST", "/v1/models/m:predict", one) }()
	got := map[int]string{}
	for range 2 {
		r := <-codes
		got[r.code] = r.body
	}
	if !strings.Contains(got[504], "exceeded the server's timeout") || len(got) == 2 &&
		!strings.Contains(got[503], "timed out in the queue") {
		t.Error(got)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	r := httptest.NewRequestWithContext(gone, "POST", "/v1/models/m:predict", strings.NewReader(one))
	if got := do(s, r); got.code != 499 {
		t.Errorf("a client that went away: %d %s", got.code, got.body)
	}
}

// Memory is limited for each request and in total.
func TestMemoryOfRequests(t *testing.T) {
	s := started(t, serve.Options{Limits: serve.Limits{MaxMemoryBytes: 500_000, MaxBodyBytes: 1 << 20}})
	long := `{"rows":[` + strings.Repeat(`{"a":1,"b":2,"c":3},`, 12000) + `{"a":1,"b":2,"c":3}]}`
	if got := ask(s, "POST", "/v1/models/nrent:predict", long); got.code != 413 ||
		!strings.Contains(got.body, "request memory: must be at most") {
		t.Errorf("%d %s", got.code, got.body)
	}
	if got := ask(s, "POST", "/v2/models/nrent/infer",
		`{"inputs":[{"name":"X","shape":[9000,3],"datatype":"INT8","data":[`+strings.Repeat("0,", 26999)+
			`0]}]}`); got.code != 413 {
		t.Errorf("%d %s", got.code, got.body)
	}
	reader, writer := io.Pipe() // a body of which most does not come
	go writer.Write([]byte(strings.Repeat(" ", 200_000)))
	first := make(chan reply)
	go func() { first <- do(s, httptest.NewRequest("POST", "/v1/models/nrent:predict", reader)) }()
	short := `{"rows":[` + strings.Repeat(`{"a":1,"b":2,"c":3},`, 2499) + `{"a":1,"b":2,"c":3}]}`
	until(t, func() bool { // the buffer has capacity for all received data
		_, rest, _ := strings.Cut(ask(s, "GET", "/metrics", "").body, "\nbochner_request_memory_bytes ")
		value, _, _ := strings.Cut(rest, "\n")
		held, err := strconv.ParseFloat(value, 64)
		return err == nil && held >= 200_000
	})
	if got := ask(s, "POST", "/v1/models/nrent:predict", short); got.code != 429 ||
		!strings.Contains(got.body, "other requests have the server's memory") {
		t.Errorf("%d %s", got.code, got.body)
	}
	writer.CloseWithError(io.ErrUnexpectedEOF)
	<-first
	if got := ask(s, "POST", "/v1/models/nrent:predict", short); got.code != 200 {
		t.Errorf("%d %s", got.code, got.body)
	}
	if got := ask(s, "GET", "/metrics", "").body; !strings.Contains(got, "bochner_request_memory_bytes 0\n") {
		t.Error("memory is not given back")
	}
}

// Panics are reported, counted and logged; invalid predictions are client errors.
func TestModelErrors(t *testing.T) {
	var log bytes.Buffer
	m := tame{predict: func(v float64) (float64, error) {
		switch v {
		case 1:
			panic("broken")
		case 2:
			return 0, errors.New("out of order")
		case 3:
			return math.NaN(), nil
		case 4:
			return 0, &datasets.RowError{Row: 0, Column: "x0", Err: errors.New("too large")}
		}
		return v, nil
	}}
	s := serving(t, m, serve.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for value, want := range map[string]struct {
		code int
		text string
	}{
		"0": {200, `[{"value":0}]`}, "1": {500, "internal server error; see the server log for request mine"},
		"2": {500, "out of order"},
		"3": {400, "row 0: the prediction is not finite"}, "4": {400, "row 0, column x0: too large"},
		"5": {200, `[{"value":5}]`},
	} {
		got := ask(s, "POST", "/v1/models/m:predict", `{"rows":[{"x0":`+value+`}]}`, "X-Request-Id", "mine")
		if got.code != want.code || !strings.Contains(got.body, want.text) {
			t.Errorf("%s: %d %s, want %d %s", value, got.code, got.body, want.code, want.text)
		}
	}
	metrics := ask(s, "GET", "/metrics", "").body
	for _, want := range []string{"bochner_panics_total 1\n", "bochner_requests_in_flight 0\n",
		"bochner_request_memory_bytes 0\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	if text := log.String(); !strings.Contains(text, `panic=broken`) || !strings.Contains(text, "limits_test.go") ||
		!strings.Contains(text, "request=mine") {
		t.Error(text)
	}
}

// Every request has an ID and one log record.
func TestAccessLog(t *testing.T) {
	var log bytes.Buffer
	s := serving(t, tame{}, serve.Options{AccessLog: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, given := range []string{"", "order-7", "a b", strings.Repeat("x", 200), "line\nbreak"} {
		log.Reset()
		got := ask(s, "POST", "/v1/models/m:predict", one, "X-Request-Id", given)
		var line struct {
			Request, Route, Model, Method, Path string
			Status, Rows                        int
			Seconds                             float64
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		id := got.header.Get("X-Request-Id")
		if line.Request != id || line.Route != "predict" || line.Model != "m" || line.Method != "POST" ||
			line.Path != "/v1/models/m:predict" || line.Status != 200 || line.Rows != 1 || line.Seconds <= 0 {
			t.Errorf("%s", log.String())
		}
		if given == "order-7" != (id == given) || id == "" {
			t.Errorf("%q is called %q", given, id)
		}
	}
	log.Reset()
	ask(s, "GET", "/none", "")
	if !strings.Contains(log.String(), `"route":"none"`) || !strings.Contains(log.String(), `"status":404`) {
		t.Error(log.String())
	}
}

// The metrics follow the rules of the Prometheus text format and of its names.
func TestMetricsAreWellFormed(t *testing.T) {
	s := serving(t, tame{}, serve.Options{Version: "1.0 \"β\"\n\\"})
	dir := t.TempDir()
	files, err := serve.New(serve.Options{Models: []string{save(t, dir, "flat.bochner", "nrent")}})
	if err == nil {
		err = files.Load(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*serve.Server{s, files} {
		ask(s, "POST", "/v1/models/m:predict", one)
		ask(s, "POST", "/v1/models/m:predict", "")
		w := ask(s, "GET", "/metrics", "")
		if got := w.header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
			t.Error(got)
		}
		checkExposition(t, w.body)
		var own strings.Builder
		if err := s.WriteMetrics(&own); err != nil || strings.Count(own.String(), "# TYPE ") !=
			strings.Count(w.body, "# TYPE bochner_") {
			t.Errorf("%v: %s", err, own.String())
		}
	}
	text := ask(s, "GET", "/metrics", "").body
	for _, want := range []string{
		`bochner_build_info{version="1.0 \"β\"\n\\",go="` + runtime.Version() + "\"} 1\n",
		`bochner_request_seconds_bucket{route="predict",le="+Inf"} 2` + "\n",
		`bochner_requests_total{model="m",route="predict",code="200"} 1` + "\n",
		"bochner_panics_total 0\n", "bochner_ready 1\n", "\ngo_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

var (
	sample = regexp.MustCompile(`^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$`)
	bound  = regexp.MustCompile(`,?le="([^"]*)"$`)
)

// checkExposition checks a text in the Prometheus format: HELP and TYPE before the samples of a family, no sample
// twice, names by the kinds of metrics, and histograms with ascending buckets that end in the number of observations.
func checkExposition(t *testing.T, text string) {
	t.Helper()
	seen, families, family, kind := map[string]bool{}, map[string]bool{}, "", ""
	var last, lastBound, inf float64 // of the buckets of one series
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if help, is := strings.CutPrefix(line, "# HELP "); is {
			family, help, _ = strings.Cut(help, " ")
			if families[family] || help == "" {
				t.Errorf("%s: repeated, or without a text", family)
			}
			families[family], kind = true, ""
			continue
		}
		if of, is := strings.CutPrefix(line, "# TYPE "+family+" "); is {
			kind = of
			if (kind == "counter") != strings.HasSuffix(family, "_total") {
				t.Errorf("%s is a %s", family, kind)
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || kind == "" {
			t.Errorf("no sample: %q", line)
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil || value < 0 && kind != "gauge" || seen[m[1]+m[2]] {
			t.Errorf("%q: %v", line, err)
		}
		seen[m[1]+m[2]] = true
		part, is := strings.CutPrefix(m[1], family)
		if !is || part != "" != (kind == "histogram") {
			t.Errorf("%q: a sample of another family", line)
		}
		switch part {
		case "_bucket":
			le, err := strconv.ParseFloat(bound.FindStringSubmatch(m[2])[1], 64)
			if err != nil || last > 0 && lastBound < le && value < last {
				t.Errorf("%q: %v", line, err)
			}
			if last, lastBound = value, le; math.IsInf(le, 1) {
				inf, last = value, 0
			}
		case "_count":
			if value != inf {
				t.Errorf("%q: the last bucket has %v", line, inf)
			}
		}
	}
	if len(families) < 10 {
		t.Errorf("%d metrics", len(families))
	}
}

// Shutdown loses no accepted request.
func TestEndLosesNoRequest(t *testing.T) {
	m := tame{held: make(chan struct{}), at: new(atomic.Int64)}
	s := serving(t, m, serve.Options{Limits: serve.Limits{MaxConcurrent: 64}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(running, l, serve.ListenOptions{DrainDelay: time.Second}) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	url := "http://" + l.Addr().String()
	codes := make(chan int, 64)
	send := func(n int) {
		for range n {
			go func() {
				r, err := client.Post(url+"/v1/models/m:predict", "application/json", strings.NewReader(one))
				if err != nil {
					t.Error(err)
					codes <- 0
					return
				}
				r.Body.Close()
				codes <- r.StatusCode
			}()
		}
	}
	send(20)
	until(t, func() bool { return m.at.Load() == 20 })
	end()
	until(t, func() bool { return s.Ready() != nil })
	send(20) // while it drains
	until(t, func() bool { return m.at.Load() == 40 })
	until(t, func() bool { // it listens until its time to drain is over
		open, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			open.Close()
		}
		return err != nil
	})
	select {
	case err := <-ended:
		t.Fatalf("it ended with requests at work: %v", err)
	default:
	}
	close(m.held)
	for range 40 {
		if code := <-codes; code != 200 {
			t.Errorf("status %d", code)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
}

// Shutdown reports requests that exceed the timeout.
func TestEndHasALimit(t *testing.T) {
	m := tame{held: make(chan struct{}), at: new(atomic.Int64)}
	s := serving(t, m, serve.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(running, l, serve.ListenOptions{ShutdownTimeout: 20 * time.Millisecond}) }()
	lost := make(chan error, 1)
	go func() {
		_, err := http.Post("http://"+l.Addr().String()+"/v1/models/m:predict", "application/json", strings.NewReader(one))
		lost <- err
	}()
	until(t, func() bool { return m.at.Load() == 1 })
	end()
	if err := <-ended; err == nil || !strings.Contains(err.Error(),
		"1 requests not completed within the shutdown timeout of 20ms") {
		t.Errorf("error %v", err)
	}
	if err := <-lost; err == nil {
		t.Error("the request was answered")
	}
}
