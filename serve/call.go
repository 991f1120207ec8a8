package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/jsonscan"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
	"github.com/bochner-ml/bochner/internal/runtime/queue"
)

// route is a parsed path and its handler.
type route struct {
	name     string // label in the metrics
	method   string // "" allows GET and HEAD
	model    string
	version  string
	handle   func(c *call) error
	public   bool // whether no token is required
	explains bool // whether it takes a slot of explanations
	mounted  bool // whether the handler of Server.Mount performs all checks
}

// call is an HTTP request in progress. Calls are recycled.
type call struct {
	admission
	w         http.ResponseWriter
	r         *http.Request
	start     time.Time
	route     route
	requestID string
	model     string // name of the model, if it exists
	status    int    // HTTP status sent; 0 before the response
	err       *Error // error that was sent
	rows      int

	body   []byte
	out    []byte
	reader rowReader
	scan   jsonscan.JSON
}

// calls recycles the buffers of calls.
var calls = sync.Pool{New: func() any { return &call{scan: jsonscan.JSON{Whole: "body", Deepest: 16}} }}

// maxPooledBytes bounds each buffer that a recycled call retains.
const maxPooledBytes = 64 << 10

// reset prepares the call for a new request.
func (c *call) reset(s *Server, w http.ResponseWriter, r *http.Request, to route) {
	c.admission = admission{s, reservation{limiter: s.limiter}}
	c.w, c.r, c.start, c.route, c.requestID = w, r, time.Now(), to, protocol.RequestID(r.Header["X-Request-Id"])
	c.model, c.status, c.err, c.rows = "", 0, nil, 0
}

// recycle returns the call to the pool unless its buffers are large.
func (c *call) recycle() {
	stringBytes := c.scan.Forget()
	kept := call{body: c.body[:0], out: c.out[:0], reader: rowReader{fieldNumbers: c.reader.fieldNumbers,
		x: c.reader.x[:0]}, scan: c.scan}
	if cap(kept.body) > maxPooledBytes || cap(kept.out) > maxPooledBytes || cap(kept.reader.x) > maxPooledBytes/8 ||
		cap(kept.reader.fieldNumbers) > maxPooledBytes/8 || stringBytes > maxPooledBytes {
		return
	}
	*c = kept
	calls.Put(c)
}

// queue returns the queue of the request.
func (c *call) queue() *queue.Queue {
	if c.route.explains {
		return c.server.limiter.explanations
	}
	return c.server.limiter.predictions
}

// find returns the model that the path names.
func (c *call) find() (*Model, error) {
	m, err := c.server.Model(c.route.model, c.route.version)
	if err == nil || ErrorOf(err).Code != protocol.NotFound {
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

// fail sends an error.
func (c *call) fail(e *Error) {
	if panicked := (*datasets.PanicError)(nil); errors.As(e, &panicked) {
		e = c.server.ReportPanic(c.requestID, panicked)
	}
	h := c.w.Header()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", e.RetryAfterSeconds())
	}
	switch e.Code {
	case protocol.Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case protocol.TooLarge, protocol.RequestTimeout: // the remaining body is unread, so the connection cannot be reused
		h["Connection"] = headerClose
	}
	c.err = e
	c.out = appendString(append(c.out[:0], `{"error":`...), e.Message)
	c.out = append(c.out, '}', '\n')
	c.send(e.Code.HTTP(), headerJSON)
}

// send sends c.out.
func (c *call) send(status int, kind []string) {
	h := c.w.Header()
	h["Content-Type"] = kind
	h["Content-Length"] = []string{strconv.Itoa(len(c.out))}
	c.status = status
	c.w.WriteHeader(status)
	c.w.Write(c.out) // the client is gone if this fails
}

// sendValue sends v as JSON.
func (c *call) sendValue(status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.out = append(append(c.out[:0], text...), '\n')
	c.send(status, headerJSON)
	return nil
}

// forward delegates the request to a handler.
func (c *call) forward(h http.Handler) {
	w := &recorder{ResponseWriter: c.w, status: http.StatusOK}
	h.ServeHTTP(w, c.r)
	c.status = w.status
}

// recorder records the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// end records the request in the log and the metrics. It converts a panic to an error, except
// http.ErrAbortHandler.
func (c *call) end() {
	c.memory.free()
	if value := recover(); value != nil {
		if value == http.ErrAbortHandler {
			panic(value)
		}
		if e := c.server.ReportPanic(c.requestID, value); c.status == 0 {
			c.fail(e)
		}
	}
	record := protocol.AccessRecord{
		RequestID: c.requestID, RemoteAddr: c.r.RemoteAddr, Method: rowerrors.Clip(c.r.Method), Path: c.r.URL.Path,
		Route: c.route.name, Model: c.model, Status: statusLabels[c.status], ServerFault: c.status >= 500,
		Rows: c.rows, Bytes: len(c.out), Start: c.start,
	}
	if c.err != nil && c.err.Code == protocol.Internal {
		record.InternalError = c.err.Message
	}
	c.server.Observe(c.r.Context(), record)
	c.recycle()
}
