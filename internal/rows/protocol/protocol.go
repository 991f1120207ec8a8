// Package protocol defines the types shared by the HTTP, gRPC and HTML front ends of package serve.
package protocol

import (
	"context"
	"math/rand/v2"
	"time"
)

// Platform is the platform name in the model metadata.
const Platform = "bochner"

// InferRequest is an inference request of the Open Inference Protocol.
type InferRequest struct {
	Model   string
	Version string // "" is the latest
	ID      string
	Inputs  []Tensor
	Outputs []string // requested outputs; empty for all
}

// InferResponse is the response to an [InferRequest].
type InferResponse struct {
	Model   string
	Version string
	ID      string
	Outputs []Tensor
}

// RejectedParameter returns why a request parameter is not supported; "" for supported and for
// unknown parameters, which are ignored.
func RejectedParameter(parameter string) string {
	switch parameter {
	case "shared_memory_region", "shared_memory_offset", "shared_memory_byte_size":
		return "shared memory is not supported; send the data"
	case "classification":
		return "classification is not supported; request the output probabilities or scores"
	}
	return ""
}

// Transport serves requests until it is shut down.
type Transport interface {
	Serve() error
	// Shutdown waits for the responses to pending requests, or returns an error when the context
	// ends.
	Shutdown(ctx context.Context) error
	Close() error // aborts all requests
}

// AccessRecord describes a completed request, for the metrics and the access log.
type AccessRecord struct {
	RequestID     string // see [RequestID]
	RemoteAddr    string // client address
	Method, Path  string
	Route         string // route label
	Model         string // "" for an unknown model
	Status        string // HTTP status or gRPC code
	InternalError string // message of an internal error; "" for none
	ServerFault   bool   // whether the server caused the error
	Rows, Bytes   int
	Start         time.Time
}

// RequestID returns the client's request ID if it is a single header of 1 to 128 printable ASCII
// characters without spaces, otherwise a random ID.
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

// MaxPageBytes bounds the body that a mounted handler can read.
const MaxPageBytes = 256 << 10
