package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/scan"
)

// Code says of what kind an [Error] is, whatever the protocol.
type Code int

const (
	// Internal is a fault of the server.
	Internal Code = iota
	// Invalid is a request that says something wrong.
	Invalid
	// Unauthenticated is a request without the token.
	Unauthenticated
	// NotFound is a model, a version or a route that there is not.
	NotFound
	// Method is a route that is asked in another way.
	Method
	// Slow is a request whose body did not come in time.
	Slow
	// TooLarge is a request beyond a limit of its size.
	TooLarge
	// Unsupported is a body of another type, or packed in another way.
	Unsupported
	// Exhausted is a request that comes on top of too many others.
	Exhausted
	// Canceled is a request that nobody waits for any more.
	Canceled
	// Unavailable is a model that is not loaded, or a server that ends.
	Unavailable
	// Deadline is a request that took too long.
	Deadline
)

// statusCanceled is what a log says of a client that went away; nobody reads it as an answer.
const statusCanceled = 499

// codes are the statuses of HTTP and the codes of gRPC.
var codes = [...]struct {
	http int
	grpc uint32
}{
	Internal: {http.StatusInternalServerError, 13}, Invalid: {http.StatusBadRequest, 3}, Unauthenticated: {http.StatusUnauthorized, 16},
	NotFound: {http.StatusNotFound, 5}, Method: {http.StatusMethodNotAllowed, 12}, Slow: {http.StatusRequestTimeout, 4},
	TooLarge: {http.StatusRequestEntityTooLarge, 8}, Unsupported: {http.StatusUnsupportedMediaType, 12},
	Exhausted: {http.StatusTooManyRequests, 8}, Canceled: {statusCanceled, 1}, Unavailable: {http.StatusServiceUnavailable, 14},
	Deadline: {http.StatusGatewayTimeout, 4},
}

// HTTP returns the status of an answer with such an error.
func (c Code) HTTP() int { return codes[c].http }

// GRPC returns the code that gRPC has for such an error, as google.golang.org/grpc/codes numbers them.
func (c Code) GRPC() uint32 { return codes[c].grpc }

// Error is why a request has no other answer.
type Error struct {
	Code    Code
	Message string        // for who asked; it names the place and what was wanted
	Retry   time.Duration // after which to ask again; 0 where that does not help

	cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the [datasets.RowError] that it is about, nil where it is about none.
func (e *Error) Unwrap() error { return e.cause }

// refuse makes an error.
func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrorOf returns what to answer for an error: the [Error] that it is, or one for what models and contexts return.
func ErrorOf(err error) *Error {
	var e *Error
	var row *datasets.RowError
	var wrong scan.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &wrong):
		return &Error{Code: Invalid, Message: wrong.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(Deadline, "the request took longer than the server's limit")
	case errors.Is(err, context.Canceled):
		return refuse(Canceled, "the request was cancelled")
	case errors.As(err, &row): // what a step or a model cannot take
		return &Error{Code: Invalid, Message: row.Error(), cause: row}
	case errors.Is(err, estimator.ErrTooLarge):
		return &Error{Code: Invalid, Message: err.Error()}
	}
	return &Error{Code: Internal, Message: "the model failed: " + err.Error()}
}

// Failed takes note of a fault of the program at a request, which recover has returned, and returns what to answer.
func (s *Server) Failed(request string, fault any) *Error {
	s.metrics.panics.Inc()
	s.log.Error("the program failed", "request", request, "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
	return refuse(Internal, "the server failed; its log says why, for request %s", request)
}

// mostFaults is how many faults of a request an error lists.
const mostFaults = 20

// faults are what is wrong with a request, the same in several rows as one.
type faults struct {
	list []fault
	seen int
	more int
}

// enough is how many faults are looked at.
const enough = 1000

// enough reports whether there is no need to look further.
func (f *faults) enough() bool { return f.seen >= enough }

// fault is one of them.
type fault struct {
	row    int    // -1 where it is about none
	column string // "" where it is about none
	text   string
	more   int // rows
}

// add takes note of a fault that is not about a row.
func (f *faults) add(format string, args ...any) { f.at(-1, "", format, args...) }

// at takes note of a fault.
func (f *faults) at(row int, column, format string, args ...any) {
	if f.seen++; f.seen > enough {
		return
	}
	one := fault{row: row, column: column, text: fmt.Sprintf(format, args...)}
	for k := range f.list {
		if same := &f.list[k]; same.column == one.column && same.text == one.text && same.row >= 0 && row >= 0 {
			same.more++
			return
		}
	}
	if len(f.list) == mostFaults {
		f.more++
		return
	}
	f.list = append(f.list, one)
}

// err returns them as one error.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	var text []string
	for _, one := range f.list {
		text = append(text, one.String())
	}
	switch {
	case f.enough():
		text = append(text, "and more")
	case f.more > 0:
		text = append(text, fmt.Sprintf("and %d more faults", f.more))
	}
	return &Error{Code: Invalid, Message: strings.Join(text, "; ")}
}

// String writes row 3, column "age": what is wrong.
func (f fault) String() string {
	text := f.text
	switch {
	case f.row >= 0 && f.column != "":
		text = fmt.Sprintf("row %d, column %q: %s", f.row, f.column, text)
	case f.row >= 0:
		text = fmt.Sprintf("row %d: %s", f.row, text)
	case f.column != "":
		text = fmt.Sprintf("column %q: %s", f.column, text)
	}
	switch {
	case f.more == 1:
		text += " (and in 1 more row)"
	case f.more > 1:
		text += fmt.Sprintf(" (and in %d more rows)", f.more)
	}
	return text
}

// mostShown is how many bytes of a value a message quotes.
const mostShown = 40

// shown quotes what somebody has sent.
func shown(v []byte) string {
	if len(v) > mostShown {
		return fmt.Sprintf("%q…", v[:mostShown])
	}
	return fmt.Sprintf("%q", v)
}
