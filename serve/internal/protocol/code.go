package protocol

import "net/http"

// Code is the kind of an [Error], independent of the protocol.
type Code int

const (
	// Internal is a failure of the server.
	Internal Code = iota
	// InvalidArgument is a malformed request.
	InvalidArgument
	// Unauthenticated is a request without the token.
	Unauthenticated
	// NotFound is a model, a version or a route that does not exist.
	NotFound
	// MethodNotAllowed is a method that the route does not have.
	MethodNotAllowed
	// RequestTimeout is a request whose body did not arrive in time.
	RequestTimeout
	// TooLarge is a request beyond a limit of its size.
	TooLarge
	// UnsupportedMediaType is a body of another type or encoding.
	UnsupportedMediaType
	// ResourceExhausted is a request that is one too many.
	ResourceExhausted
	// Canceled is a request whose client went away.
	Canceled
	// Unavailable is a model that is not loaded, or a server that ends.
	Unavailable
	// DeadlineExceeded is a request that took too long.
	DeadlineExceeded
)

// statusCanceled is the status of a client that went away, as logs and metrics have it.
const statusCanceled = 499

// statusCodes are the statuses of HTTP and the codes of gRPC.
var statusCodes = [...]struct {
	http int
	grpc uint32
}{
	Internal: {http.StatusInternalServerError, 13}, InvalidArgument: {http.StatusBadRequest, 3}, Unauthenticated: {http.StatusUnauthorized, 16},
	NotFound: {http.StatusNotFound, 5}, MethodNotAllowed: {http.StatusMethodNotAllowed, 12}, RequestTimeout: {http.StatusRequestTimeout, 4},
	TooLarge: {http.StatusRequestEntityTooLarge, 8}, UnsupportedMediaType: {http.StatusUnsupportedMediaType, 12},
	ResourceExhausted: {http.StatusTooManyRequests, 8}, Canceled: {statusCanceled, 1}, Unavailable: {http.StatusServiceUnavailable, 14},
	DeadlineExceeded: {http.StatusGatewayTimeout, 4},
}

// HTTP returns the status of an answer with such an error.
func (c Code) HTTP() int { return statusCodes[c].http }

// GRPC returns the code of gRPC for such an error, as google.golang.org/grpc/codes numbers them.
func (c Code) GRPC() uint32 { return statusCodes[c].grpc }
