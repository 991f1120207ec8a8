package protocol

import "net/http"

// Code classifies an error independently of the transport.
type Code int

const (
	// Internal is an error of the server.
	Internal Code = iota
	// InvalidArgument is a malformed request.
	InvalidArgument
	// Unauthenticated is a request without the token.
	Unauthenticated
	// PermissionDenied is a request of a web page of another site.
	PermissionDenied
	// NotFound is a model, a version or a route that does not exist.
	NotFound
	// MethodNotAllowed is a method that the route does not support.
	MethodNotAllowed
	// RequestTimeout means that the body of the request did not arrive in time.
	RequestTimeout
	// TooLarge is a request that exceeds a size limit.
	TooLarge
	// UnsupportedMediaType is a body with an unsupported type or encoding.
	UnsupportedMediaType
	// ResourceExhausted is a request rejected because the queue is full.
	ResourceExhausted
	// Canceled means that the client closed the connection.
	Canceled
	// Unavailable is a model that is not loaded, or a server that is shutting down.
	Unavailable
	// DeadlineExceeded is a request that exceeded the timeout.
	DeadlineExceeded
)

// statusCanceled is the status in logs and metrics when the client closed the connection.
const statusCanceled = 499

// statusCodes maps codes to HTTP statuses and gRPC codes.
var statusCodes = [...]struct {
	http int
	grpc uint32
}{
	Internal: {http.StatusInternalServerError, 13}, InvalidArgument: {http.StatusBadRequest, 3},
	Unauthenticated:  {http.StatusUnauthorized, 16},
	PermissionDenied: {http.StatusForbidden, 7},
	NotFound:         {http.StatusNotFound, 5}, MethodNotAllowed: {http.StatusMethodNotAllowed, 12},
	RequestTimeout: {http.StatusRequestTimeout, 4},
	TooLarge:       {http.StatusRequestEntityTooLarge, 8}, UnsupportedMediaType: {http.StatusUnsupportedMediaType, 12},
	ResourceExhausted: {http.StatusTooManyRequests, 8}, Canceled: {statusCanceled, 1},
	Unavailable:      {http.StatusServiceUnavailable, 14},
	DeadlineExceeded: {http.StatusGatewayTimeout, 4},
}

// HTTP returns the HTTP status.
func (c Code) HTTP() int { return statusCodes[c].http }

// GRPC returns the gRPC code, as numbered by google.golang.org/grpc/codes.
func (c Code) GRPC() uint32 { return statusCodes[c].grpc }
