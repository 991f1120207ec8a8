package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/jsonscan"
	"github.com/bochner-ml/bochner/internal/rowerrors"
	"github.com/bochner-ml/bochner/serve/internal/queue"
)

// Code is the kind of an [Error], independent of the protocol.
type Code int

const (
	// Internal is a failure of the server.
	Internal Code = iota
	// Invalid is a malformed request.
	Invalid
	// Unauthenticated is a request without the token.
	Unauthenticated
	// NotFound is a model, a version or a route that does not exist.
	NotFound
	// Method is a method that the route does not have.
	Method
	// RequestTimeout is a request whose body did not arrive in time.
	RequestTimeout
	// TooLarge is a request beyond a limit of its size.
	TooLarge
	// Unsupported is a body of another type or encoding.
	Unsupported
	// Exhausted is a request that is one too many.
	Exhausted
	// Canceled is a request whose client went away.
	Canceled
	// Unavailable is a model that is not loaded, or a server that ends.
	Unavailable
	// Deadline is a request that took too long.
	Deadline
)

// statusCanceled is the status of a client that went away, as logs and metrics have it.
const statusCanceled = 499

// codes are the statuses of HTTP and the codes of gRPC.
var codes = [...]struct {
	http int
	grpc uint32
}{
	Internal: {http.StatusInternalServerError, 13}, Invalid: {http.StatusBadRequest, 3}, Unauthenticated: {http.StatusUnauthorized, 16},
	NotFound: {http.StatusNotFound, 5}, Method: {http.StatusMethodNotAllowed, 12}, RequestTimeout: {http.StatusRequestTimeout, 4},
	TooLarge: {http.StatusRequestEntityTooLarge, 8}, Unsupported: {http.StatusUnsupportedMediaType, 12},
	Exhausted: {http.StatusTooManyRequests, 8}, Canceled: {statusCanceled, 1}, Unavailable: {http.StatusServiceUnavailable, 14},
	Deadline: {http.StatusGatewayTimeout, 4},
}

// HTTP returns the status of an answer with such an error.
func (c Code) HTTP() int { return codes[c].http }

// GRPC returns the code of gRPC for such an error, as google.golang.org/grpc/codes numbers them.
func (c Code) GRPC() uint32 { return codes[c].grpc }

// Error is the error that answers a request.
type Error struct {
	Code    Code
	Message string        // for the client; it names the place and the requirement
	Retry   time.Duration // after which to ask again; 0 where that does not help

	cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the [datasets.RowError] that the error reports, or nil.
func (e *Error) Unwrap() error { return e.cause }

// RetrySeconds returns Retry for the header Retry-After.
func (e *Error) RetrySeconds() string {
	return strconv.Itoa(int((e.Retry + time.Second - 1) / time.Second))
}

// retryAfter is the time after which a request that was turned away may be sent again.
const retryAfter = time.Second

// refuse returns an error.
func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrorOf returns the [Error] that err is, or one for an error of a model or a context.
func ErrorOf(err error) *Error {
	var e *Error
	var row *datasets.RowError
	var wrong jsonscan.Error
	var invalid rowerrors.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &wrong), errors.As(err, &invalid), errors.Is(err, estimator.ErrTooLarge):
		return &Error{Code: Invalid, Message: err.Error()}
	case errors.Is(err, queue.ErrFull):
		return &Error{Code: Exhausted, Message: err.Error(), Retry: retryAfter}
	case errors.Is(err, queue.ErrLate), errors.Is(err, queue.ErrClosed):
		return &Error{Code: Unavailable, Message: err.Error(), Retry: retryAfter}
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(Deadline, "the request took longer than the server's limit")
	case errors.Is(err, context.Canceled):
		return refuse(Canceled, "the request was cancelled")
	case errors.As(err, &row):
		return &Error{Code: Invalid, Message: row.Error(), cause: row}
	}
	return &Error{Code: Internal, Message: "the model failed: " + err.Error()}
}
