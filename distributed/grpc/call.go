package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/queue"
	"github.com/bochner-ml/bochner/serve"
)

// Names of the services.
const (
	inferenceService = "inference.GRPCInferenceService"
	healthService    = "grpc.health.v1.Health"
)

// handler handles the requests of a listener.
type handler struct {
	server     *serve.Server
	timeout    time.Duration // read timeout of a message
	largeQueue *queue.Queue  // for messages with rows
	smallQueue *queue.Queue  // for other messages
	shutdown   chan struct{}
}

// method is a method of a service.
type method struct {
	route  string // label in the metrics
	public bool   // whether no token is required
	handle func(c *call) error
}

// call is a request in progress.
type call struct {
	grpc.ServerStream
	*handler
	name      string // full method name
	method    method
	start     time.Time
	requestID string
	model     string // name of the model, if it exists
	rows      int
	bytes     int // size of the response
}

// find returns a version of a model.
func (c *call) find(name, version string) (*serve.Model, error) {
	m, err := c.server.Model(name, version)
	if err == nil || serve.ErrorOf(err).Code != protocol.NotFound {
		c.model = name
	}
	return m, err
}

// receive waits for a slot and returns the encoded message.
func (c *call) receive(slots *queue.Queue) ([]byte, error) {
	ctx, stop := context.WithTimeout(c.Context(), c.timeout)
	defer stop()
	if err := slots.Acquire(ctx); err != nil {
		return nil, err
	}
	defer slots.Release()
	var m message
	if err := c.receiveMessage(ctx, &m, nil); err != nil {
		return nil, err
	}
	return m, nil
}

// receiveMessage receives a message until ctx is done or the server shuts down.
func (c *call) receiveMessage(ctx context.Context, m any, end <-chan struct{}) error {
	received := make(chan error, 1)
	go func() { received <- c.ServerStream.RecvMsg(m) }() // ends when the handler returns
	select {
	case err := <-received:
		if err == io.EOF && end == nil {
			return &serve.Error{Code: protocol.InvalidArgument, Message: "the request contains no message"}
		}
		return err
	case <-end:
		return queue.ErrClosed
	case <-ctx.Done():
		if c.Context().Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &serve.Error{Code: protocol.RequestTimeout, Message: "the message did not arrive within the read timeout"}
		}
		return ctxerr.Check(ctx)
	}
}

// RecvMsg receives a message for services of other packages. Their streams end at shutdown.
func (c *call) RecvMsg(m any) error { return c.receiveMessage(c.Context(), m, c.shutdown) }

// maxSmallBytes bounds the size of a message without rows, in bytes.
const maxSmallBytes = 16 << 10

// read receives and decodes a small message.
func (c *call) read(m proto.Message) error {
	b, err := c.receive(c.smallQueue)
	if err != nil {
		return err
	}
	if len(b) > maxSmallBytes {
		return &serve.Error{Code: protocol.TooLarge, Message: fmt.Sprintf("message size: must be at most %d bytes, got %d",
			maxSmallBytes, len(b))}
	}
	return decode(b, m)
}

// send sends a response.
func (c *call) send(m proto.Message) error {
	c.bytes += proto.Size(m)
	return c.SendMsg(m)
}

// end records the request in the log and the metrics, and returns the gRPC status of err.
func (c *call) end(err error) error {
	code, remote := codes.OK, ""
	var failed *serve.Error
	if s, is := status.FromError(err); err != nil && is { // returned by a service of another package
		code = s.Code()
	} else if err != nil {
		failed = serve.ErrorOf(err)
		code = codes.Code(failed.Code.GRPC())
		if failed.RetryAfter > 0 {
			c.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(failed.RetryAfter.Milliseconds(), 10)))
		}
		err = status.Error(code, truncate(failed.Message))
	}
	if p, is := peer.FromContext(c.Context()); is {
		remote = p.Addr.String()
	}
	record := protocol.AccessRecord{
		RequestID: c.requestID, RemoteAddr: remote, Method: "gRPC", Path: c.name, Route: c.method.route, Model: c.model,
		Status: code.String(),
		ServerFault: code == codes.Internal || code == codes.Unavailable || code == codes.DeadlineExceeded ||
			code == codes.Unknown,
		Rows: c.rows, Bytes: c.bytes, Start: c.start,
	}
	if failed != nil && failed.Code == protocol.Internal {
		record.InternalError = failed.Message
	}
	c.server.Observe(c.Context(), record)
	return err
}

// maxErrorBytes bounds the text of an error, because trailers are limited.
const maxErrorBytes = 4 << 10

// truncate shortens a string to maxMessage bytes.
func truncate(text string) string {
	if len(text) <= maxErrorBytes {
		return text
	}
	at := maxErrorBytes
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + "…"
}
