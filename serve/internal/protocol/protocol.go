// Package protocol has the types that the HTTP, gRPC and HTML front ends of package serve share.
package protocol

import (
	"context"
	"math/rand/v2"
	"time"
)

// Platform is the name of the software of the models, for the Open Inference Protocol.
const Platform = "bochner"

// InferRequest is a request of the Open Inference Protocol.
type InferRequest struct {
	Model   string
	Version string // "" is the latest
	ID      string
	Inputs  []Tensor
	Outputs []string // that are wanted; none is all
}

// InferResponse is the answer.
type InferResponse struct {
	Model   string
	Version string
	ID      string
	Outputs []Tensor
}

// RejectedParameter returns why a parameter of the protocol is an error; "" for those that are not, and for unknown ones, which are
// ignored.
func RejectedParameter(parameter string) string {
	switch parameter {
	case "shared_memory_region", "shared_memory_offset", "shared_memory_byte_size":
		return "shared memory is not supported; send the data"
	case "classification":
		return "classification is not supported; request the output probabilities or scores"
	}
	return ""
}

// Transport answers requests until it is shut down.
type Transport interface {
	Serve() error
	Shutdown(ctx context.Context) error // predictionEncoder the requests that have come, or returns an error when the context ends
	Close() error                       // ends all requests
}

// AccessRecord describes the answer to a request, for the metrics and the logs.
type AccessRecord struct {
	RequestID     string // see RequestID
	RemoteAddr    string // address of the client
	Method, Path  string
	Route         string // a word for what was asked
	Model         string // "" where no model has the name that was asked for
	Status        string // of the protocol
	InternalError string // message of an internal error; "" for none
	ServerFault   bool   // whether the server is to blame
	Rows, Bytes   int
	Start         time.Time
}

// RequestID returns the name that a client gives a request, if it is one name that logs can have, or a random one.
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

// MaxPageBytes is the maximum number of bytes of a body that a mounted handler can read.
const MaxPageBytes = 256 << 10
