package serve

import (
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/internal/scan"
)

// call is a request and its answer, with the memory that they take, which is used again.
type call struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	begin time.Time
	asked asked
	id    string
	found string // name of the model, where there is one
	code  int    // of the answer, 0 before it
	rows  int

	room   share
	body   []byte
	out    []byte
	reader rowReader
	scan   scan.JSON
}

// calls are those whose memory may be used again.
var calls = sync.Pool{New: func() any { return &call{scan: scan.JSON{Whole: "body", Deepest: 16}} }}

// mostReused is how many bytes of each kind are left to the next request, which has them whatever its size.
const mostReused = 64 << 10

// asked is what a path asks for.
type asked struct {
	route   string // a word for the metrics
	method  string
	name    string
	version string
	answer  func(c *call) error
	open    bool // whether it needs no token
	pages   bool // whether it is for a handler that [Server.Mount] has got, which sees to the rest itself
}

// routes are the answers by the end of a path.
var (
	noRoute = asked{route: "none", answer: func(c *call) error {
		return refuse(NotFound, "there is nothing at this path; models are below /v1/models and /v2/models")
	}}
	fixedRoutes = map[string]asked{
		"v1/models":       {route: "models", answer: (*call).listModels},
		"v2":              {route: "server", answer: (*call).serverMetadata},
		"v2/health/live":  {route: "live", answer: (*call).live, open: true},
		"v2/health/ready": {route: "ready", answer: (*call).ready, open: true},
		"metrics":         {route: "metrics", answer: (*call).prometheus},
	}
	v1Routes = map[string]asked{
		"":        {route: "model", answer: (*call).describe},
		"predict": {route: "predict", method: http.MethodPost, answer: (*call).predictRows},
	}
	v2Routes = map[string]asked{
		"":      {route: "metadata", answer: (*call).metadata},
		"ready": {route: "model_ready", answer: (*call).modelReady},
		"infer": {route: "infer", method: http.MethodPost, answer: (*call).inferTensors},
	}
)

// parsePath says what a path asks for.
func parsePath(path string) asked {
	path = strings.TrimPrefix(path, "/")
	if path == "" || path == "ui" || strings.HasPrefix(path, "ui/") {
		return pagesOf(path)
	}
	path = strings.TrimSuffix(path, "/")
	if a, ok := fixedRoutes[path]; ok {
		return a
	}
	var a asked
	var known bool
	var rest, verb string
	if rest, known = strings.CutPrefix(path, "v1/models/"); known {
		rest, verb, _ = strings.Cut(rest, ":")
		a, known = v1Routes[verb]
		a.name, rest, _ = strings.Cut(rest, "/")
	} else if rest, known = strings.CutPrefix(path, "v2/models/"); known {
		a.name, rest, _ = strings.Cut(rest, "/")
		head, tail, more := strings.Cut(rest, "/")
		switch {
		case head == "versions" && more:
			head, verb, _ = strings.Cut(tail, "/")
			rest = "versions/" + head
		case !more:
			verb, rest = head, ""
		}
		name := a.name
		a, known = v2Routes[verb]
		a.name = name
	}
	if rest != "" {
		version, is := strings.CutPrefix(rest, "versions/")
		known = known && is && version != "" && !strings.Contains(version, "/")
		a.version = version
	}
	if !known || a.name == "" {
		return noRoute
	}
	return a
}

// Route returns a word for what a request asks for, as the metrics have it: predict, infer, model, and none where the path
// leads nowhere.
func Route(r *http.Request) string { return parsePath(r.URL.Path).route }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := calls.Get().(*call)
	c.Server, c.w, c.r, c.begin, c.room = s, w, r, time.Now(), share{gate: s.gate}
	c.asked, c.id, c.found, c.code, c.rows = parsePath(r.URL.Path), RequestID(r.Header["X-Request-Id"]), "", 0, 0
	defer c.end()
	h := w.Header()
	h["X-Request-Id"] = []string{c.id}
	h["X-Content-Type-Options"] = headerNoSniff
	h["Cache-Control"] = headerNoStore
	if s.draining.Load() {
		h["Connection"] = headerClose // the next request goes elsewhere
	}
	if err := c.answer(); err != nil {
		c.fail(s.turnedAway(err))
	}
}

// Values of headers that many answers have.
var (
	headerNoSniff = []string{"nosniff"}
	headerNoStore = []string{"no-store"}
	headerClose   = []string{"close"}
	headerJSON    = []string{"application/json"}
	headerBinary  = []string{"application/octet-stream"}
)

// answer checks who asks and how, and answers.
func (c *call) answer() error {
	if !c.asked.open {
		if err := c.Authorized(c.r.Header.Get("Authorization")); err != nil {
			return err
		}
	}
	if c.asked.pages {
		return c.asked.answer(c)
	}
	if want := c.asked.method; want != "" && c.r.Method != want {
		c.w.Header().Set("Allow", want)
		return refuse(Method, "got %s, wanted %s", clip(c.r.Method), want)
	} else if want == "" && c.asked.route != "none" && c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		c.w.Header().Set("Allow", "GET, HEAD")
		return refuse(Method, "got %s, wanted GET", clip(c.r.Method))
	}
	return c.asked.answer(c)
}

// end takes note of the answer, and of a fault of the program, which it answers.
func (c *call) end() {
	c.room.free()
	if fault := recover(); fault != nil {
		if fault == http.ErrAbortHandler {
			panic(fault)
		}
		if e := c.Failed(c.id, fault); c.code == 0 {
			c.fail(e)
		}
	}
	took := time.Since(c.begin)
	c.Observe(c.found, c.asked.route, statusTexts[c.code], took)
	if c.options.Access != nil {
		c.logAccess(took)
	}
	c.forget()
}

// forget leaves the memory to the next request.
func (c *call) forget() {
	texts := c.scan.Forget()
	kept := call{body: c.body[:0], out: c.out[:0], reader: rowReader{given: c.reader.given, x: c.reader.x[:0]}, scan: c.scan}
	if cap(kept.body) > mostReused || cap(kept.out) > mostReused || cap(kept.reader.x) > mostReused/8 || cap(kept.reader.given) > mostReused/8 || texts > mostReused {
		return
	}
	*c = kept
	calls.Put(c)
}

// logAccess writes a line about the request.
func (c *call) logAccess(took time.Duration) {
	level := slog.LevelInfo
	if c.code >= 500 {
		level = slog.LevelError
	}
	c.options.Access.LogAttrs(c.r.Context(), level, "request",
		slog.String("request", c.id), slog.String("remote", c.r.RemoteAddr), slog.String("method", clip(c.r.Method)), slog.String("path", c.r.URL.Path[:min(len(c.r.URL.Path), 256)]),
		slog.String("route", c.asked.route), slog.String("model", c.found), slog.Int("status", c.code), slog.Int("rows", c.rows),
		slog.Int("bytes", len(c.out)), slog.Float64("seconds", took.Seconds()))
}

// RequestID returns what a request is called by who asks, if that is one name that can be written into a log, or makes a
// name.
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

// fail answers with an error.
func (c *call) fail(e *Error) {
	h := c.w.Header()
	if e.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.Retry+time.Second-1)/time.Second)))
	}
	switch e.Code {
	case Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case TooLarge, Slow: // the rest of the body is not read
		h["Connection"] = headerClose
	case Internal:
		c.log.Error("a request failed", "request", c.id, "model", c.found, "error", e.Message)
	}
	c.out = appendText(append(c.out[:0], `{"error":`...), e.Message)
	c.out = append(c.out, '}', '\n')
	c.send(e.Code.HTTP(), headerJSON)
}

// send answers with what is in out.
func (c *call) send(code int, kind []string) {
	h := c.w.Header()
	h["Content-Type"] = kind
	h["Content-Length"] = []string{strconv.Itoa(len(c.out))}
	c.code = code
	c.w.WriteHeader(code)
	c.w.Write(c.out) // nobody is there to be told an error
}

// sendValue answers with a value as JSON.
func (c *call) sendValue(code int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.out = append(append(c.out[:0], text...), '\n')
	c.send(code, headerJSON)
	return nil
}

// prometheus answers with the metrics.
func (c *call) prometheus() error {
	w := &watched{ResponseWriter: c.w, code: http.StatusOK}
	c.metrics.page.ServeHTTP(w, c.r)
	c.code = w.code
	return nil
}

// watched remembers the status of an answer.
type watched struct {
	http.ResponseWriter
	code int
}

func (w *watched) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}
