package serve

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/jsonscan"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
	"github.com/bochner-ml/bochner/internal/runtime/queue"
)

// Error is an error that is sent to the client. Code.HTTP() is its HTTP status, Code.GRPC() its
// gRPC code.
type Error struct {
	Code       protocol.Code
	Message    string        // sent to the client
	RetryAfter time.Duration // delay before a retry; 0 if a retry cannot succeed

	cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the [*datasets.RowError] or [*datasets.PanicError] that caused the error, or nil.
func (e *Error) Unwrap() error { return e.cause }

// RetryAfterSeconds returns the value of the header Retry-After: RetryAfter in whole seconds,
// rounded up.
func (e *Error) RetryAfterSeconds() string {
	return strconv.Itoa(int((e.RetryAfter + time.Second - 1) / time.Second))
}

// retryDelay is the delay reported to rejected clients.
const retryDelay = time.Second

// newError returns an [*Error] with a formatted message.
func newError(code protocol.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrorOf converts an error of a model, a parser or a context to an [*Error].
func ErrorOf(err error) *Error {
	var e *Error
	var row *datasets.RowError
	var wrong jsonscan.Error
	var invalid rowerrors.Error
	var panicked *datasets.PanicError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &panicked):
		return &Error{Code: protocol.Internal, Message: err.Error(), cause: panicked}
	case errors.As(err, &wrong), errors.As(err, &invalid), errors.Is(err, estimator.ErrTooLarge):
		return &Error{Code: protocol.InvalidArgument, Message: err.Error()}
	case errors.Is(err, queue.ErrFull):
		return &Error{Code: protocol.ResourceExhausted, Message: err.Error(), RetryAfter: retryDelay}
	case errors.Is(err, queue.ErrLate), errors.Is(err, queue.ErrClosed):
		return &Error{Code: protocol.Unavailable, Message: err.Error(), RetryAfter: retryDelay}
	case errors.Is(err, context.DeadlineExceeded):
		return newError(protocol.DeadlineExceeded, "the request exceeded the server's timeout")
	case errors.Is(err, context.Canceled):
		return newError(protocol.Canceled, "the request was canceled")
	case errors.As(err, &row):
		return &Error{Code: protocol.InvalidArgument, Message: row.Error(), cause: row}
	}
	return &Error{Code: protocol.Internal, Message: "prediction failed: " + err.Error()}
}
