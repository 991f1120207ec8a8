package serve

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/internal/jsonscan"
	"github.com/bochner-ml/bochner/internal/rowerrors"
)

// route is what a path asks for.
type route struct {
	word    string // for the metrics
	method  string // "" is GET or HEAD
	model   string
	version string
	answer  func(c *call) error
	open    bool // whether it needs no token
	pages   bool // whether a handler answers that does all checks itself: see Server.Mount
}

// call is a request over HTTP and its answer. Its memory is used again.
type call struct {
	Admission
	w      http.ResponseWriter
	r      *http.Request
	begin  time.Time
	route  route
	id     string
	model  string // name of the model, where it exists
	status int    // of the answer, 0 before it
	failed *Error // that was answered
	rows   int

	body   []byte
	out    []byte
	reader rowReader
	scan   jsonscan.JSON
}

// calls are those whose memory may be used again.
var calls = sync.Pool{New: func() any { return &call{scan: jsonscan.JSON{Whole: "body", Deepest: 16}} }}

// maxReused is the maximum number of bytes of each kind that the next request gets.
const maxReused = 64 << 10

// reset prepares the call for a request.
func (c *call) reset(s *Server, w http.ResponseWriter, r *http.Request, to route) {
	c.Admission = Admission{s, reservation{gate: s.gate}}
	c.w, c.r, c.begin, c.route, c.id = w, r, time.Now(), to, RequestID(r.Header["X-Request-Id"])
	c.model, c.status, c.failed, c.rows = "", 0, nil, 0
}

// recycle leaves the memory to the next request.
func (c *call) recycle() {
	texts := c.scan.Forget()
	kept := call{body: c.body[:0], out: c.out[:0], reader: rowReader{given: c.reader.given, x: c.reader.x[:0]}, scan: c.scan}
	if cap(kept.body) > maxReused || cap(kept.out) > maxReused || cap(kept.reader.x) > maxReused/8 || cap(kept.reader.given) > maxReused/8 || texts > maxReused {
		return
	}
	*c = kept
	calls.Put(c)
}

// find returns the model of the path.
func (c *call) find() (*Model, error) {
	m, err := c.server.Model(c.route.model, c.route.version)
	if err == nil || ErrorOf(err).Code != NotFound {
		c.model = c.route.model
	}
	return m, err
}

// Values of headers that many answers have.
var (
	headerNoSniff = []string{"nosniff"}
	headerNoStore = []string{"no-store"}
	headerClose   = []string{"close"}
	headerJSON    = []string{"application/json"}
	headerBinary  = []string{"application/octet-stream"}
)

// fail answers with an error.
func (c *call) fail(e *Error) {
	h := c.w.Header()
	if e.Retry > 0 {
		h.Set("Retry-After", e.RetrySeconds())
	}
	switch e.Code {
	case Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case TooLarge, RequestTimeout: // the rest of the body is not read
		h["Connection"] = headerClose
	}
	c.failed = e
	c.out = appendText(append(c.out[:0], `{"error":`...), e.Message)
	c.out = append(c.out, '}', '\n')
	c.send(e.Code.HTTP(), headerJSON)
}

// send answers with the content of out.
func (c *call) send(status int, kind []string) {
	h := c.w.Header()
	h["Content-Type"] = kind
	h["Content-Length"] = []string{strconv.Itoa(len(c.out))}
	c.status = status
	c.w.WriteHeader(status)
	c.w.Write(c.out) // an error has no reader
}

// sendValue answers with a value as JSON.
func (c *call) sendValue(status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.out = append(append(c.out[:0], text...), '\n')
	c.send(status, headerJSON)
	return nil
}

// forward lets a handler answer.
func (c *call) forward(h http.Handler) {
	w := &recorder{ResponseWriter: c.w, status: http.StatusOK}
	h.ServeHTTP(w, c.r)
	c.status = w.status
}

// recorder records the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// end logs and counts the answer. A panic is answered, unless the handler was aborted.
func (c *call) end() {
	c.memory.free()
	if value := recover(); value != nil {
		if value == http.ErrAbortHandler {
			panic(value)
		}
		if e := c.server.Failed(c.id, value); c.status == 0 {
			c.fail(e)
		}
	}
	c.server.Observe(c.r.Context(), Answer{
		Request: c.id, Remote: c.r.RemoteAddr, Method: rowerrors.Clip(c.r.Method), Path: c.r.URL.Path, Route: c.route.word, Model: c.model,
		Status: statusTexts[c.status], Error: c.failed, Failed: c.status >= 500, Rows: c.rows, Bytes: len(c.out), Begin: c.begin,
	})
	c.recycle()
}
