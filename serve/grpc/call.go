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

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/internal/protocol"
	"github.com/bochner-ml/bochner/serve/internal/queue"
)

// Names of the services.
const (
	inferenceService = "inference.GRPCInferenceService"
	healthService    = "grpc.health.v1.Health"
)

// server answers the requests that come to a listener.
type server struct {
	models  *serve.Server
	timeout time.Duration // for a message to arrive
	large   *queue.Queue  // of requests with rows, which receive their message
	small   *queue.Queue  // of the others
	ending  chan struct{}
}

// method is a method of a service.
type method struct {
	route  string // a word for the metrics
	open   bool   // whether it needs no token
	answer func(c *call) error
}

// call is a request and its answer.
type call struct {
	grpc.ServerStream
	*server
	name   string // of the method, with its service
	method method
	begin  time.Time
	id     string
	model  string // name of the model, where it exists
	rows   int
	bytes  int // of the answer
}

// find returns a version of a model.
func (c *call) find(name, version string) (*serve.Model, error) {
	m, err := c.models.Model(name, version)
	if err == nil || serve.ErrorOf(err).Code != protocol.NotFound {
		c.model = name
	}
	return m, err
}

// receive waits for its turn and for the message, whose bytes it returns.
func (c *call) receive(turns *queue.Queue) ([]byte, error) {
	ctx, stop := context.WithTimeout(c.Context(), c.timeout)
	defer stop()
	if err := turns.Acquire(ctx); err != nil {
		return nil, err
	}
	defer turns.Release()
	var m message
	if err := c.await(ctx, &m, nil); err != nil {
		return nil, err
	}
	return m, nil
}

// await receives a message, until the context or the server ends.
func (c *call) await(ctx context.Context, m any, end <-chan struct{}) error {
	received := make(chan error, 1)
	go func() { received <- c.ServerStream.RecvMsg(m) }() // ends with the stream, that is with the answer
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

// RecvMsg receives a message for services of other packages, whose streams end with the server.
func (c *call) RecvMsg(m any) error { return c.await(c.Context(), m, c.ending) }

// maxSmall is the maximum number of bytes of a message without rows.
const maxSmall = 16 << 10

// read receives a small message and decodes it.
func (c *call) read(m proto.Message) error {
	b, err := c.receive(c.small)
	if err != nil {
		return err
	}
	if len(b) > maxSmall {
		return &serve.Error{Code: protocol.TooLarge, Message: fmt.Sprintf("message size: must be at most %d bytes, got %d", maxSmall, len(b))}
	}
	return decode(b, m)
}

// send answers.
func (c *call) send(m proto.Message) error {
	c.bytes += proto.Size(m)
	return c.SendMsg(m)
}

// end logs and counts the answer, and returns the status for an error.
func (c *call) end(err error) error {
	code, remote := codes.OK, ""
	var failed *serve.Error
	if s, is := status.FromError(err); err != nil && is { // of a service of another package
		code = s.Code()
	} else if err != nil {
		failed = serve.ErrorOf(err)
		code = codes.Code(failed.Code.GRPC())
		if failed.RetryAfter > 0 {
			c.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(failed.RetryAfter.Milliseconds(), 10)))
		}
		err = status.Error(code, cut(failed.Message))
	}
	if p, is := peer.FromContext(c.Context()); is {
		remote = p.Addr.String()
	}
	record := protocol.AccessRecord{
		RequestID: c.id, RemoteAddr: remote, Method: "gRPC", Path: c.name, Route: c.method.route, Model: c.model, Status: code.String(),
		ServerFault: code == codes.Internal || code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Unknown,
		Rows:        c.rows, Bytes: c.bytes, Start: c.begin,
	}
	if failed != nil && failed.Code == protocol.Internal {
		record.InternalError = failed.Message
	}
	c.models.Observe(c.Context(), record)
	return err
}

// maxMessage is the maximum number of bytes of the text of an error, as trailers are short.
const maxMessage = 4 << 10

// cut shortens a string.
func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	at := maxMessage
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + "…"
}
