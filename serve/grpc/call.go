package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/serve"
)

// call is a request and its answer.
type call struct {
	grpc.ServerStream
	*server
	name  string // of the method, with its service
	asked method
	begin time.Time
	id    string
	found string // name of the model, where there is one
	rows  int
	bytes int // of the answer
}

// answer looks who asks, answers, and takes note of the answer. Every request comes by it.
func (s *server) answer(service any, stream grpc.ServerStream, about *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	given, _ := metadata.FromIncomingContext(stream.Context())
	c := &call{ServerStream: stream, server: s, name: about.FullMethod, asked: methodOf(about.FullMethod), begin: time.Now(), id: serve.RequestID(given["x-request-id"])}
	defer func() {
		if fault := recover(); fault != nil {
			err = s.models.Failed(c.id, fault)
		}
		err = c.end(err)
	}()
	if err := stream.SetHeader(metadata.Pairs("x-request-id", c.id)); err != nil {
		return err
	}
	if !c.asked.open {
		if err := s.models.Authorized(strings.Join(given["authorization"], " ")); err != nil {
			return err
		}
	}
	return handle(service, c)
}

// end takes note of the answer, and returns the status for an error.
func (c *call) end(err error) error {
	code := codes.OK
	if err != nil {
		if s, is := status.FromError(err); is { // of a service that is not ours
			code = s.Code()
		} else {
			e := serve.ErrorOf(err)
			code = codes.Code(e.Code.GRPC())
			if e.Retry > 0 {
				c.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(e.Retry.Milliseconds(), 10)))
			}
			if code == codes.Internal {
				c.models.Options().Log.Error("a request failed", "request", c.id, "model", c.found, "error", e.Message)
			}
			err = status.Error(code, cut(e.Message))
		}
	}
	took := time.Since(c.begin)
	c.models.Observe(c.found, c.asked.route, code.String(), took)
	if access := c.models.Options().Access; access != nil {
		c.logAccess(access, code, took)
	}
	return err
}

// mostMessage is how many bytes of an error are told, as trailers have to be short.
const mostMessage = 4 << 10

// cut shortens a message.
func cut(text string) string {
	if len(text) <= mostMessage {
		return text
	}
	at := mostMessage
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + "…"
}

// logAccess writes a line about the request.
func (c *call) logAccess(to *slog.Logger, code codes.Code, took time.Duration) {
	level, remote := slog.LevelInfo, ""
	switch code {
	case codes.Internal, codes.Unavailable, codes.DeadlineExceeded, codes.Unknown:
		level = slog.LevelError
	}
	if p, is := peer.FromContext(c.Context()); is {
		remote = p.Addr.String()
	}
	to.LogAttrs(c.Context(), level, "request",
		slog.String("request", c.id), slog.String("remote", remote), slog.String("method", "gRPC"), slog.String("path", c.name[:min(len(c.name), 256)]),
		slog.String("route", c.asked.route), slog.String("model", c.found), slog.String("status", code.String()), slog.Int("rows", c.rows),
		slog.Int("bytes", c.bytes), slog.Float64("seconds", took.Seconds()))
}

// errors that a stream comes to.
var (
	errEnds = &serve.Error{Code: serve.Unavailable, Message: "the server ends; ask another", Retry: time.Second}
	errFull = &serve.Error{Code: serve.Exhausted, Message: "too many requests wait already; ask again later", Retry: time.Second}
	errSlow = &serve.Error{Code: serve.Slow, Message: "the message did not come within the server's limit of time"}
	errLate = &serve.Error{Code: serve.Unavailable, Message: "the request waited longer than the server's limit; ask again later", Retry: time.Second}
	errNone = &serve.Error{Code: serve.Invalid, Message: "the request has no message"}
)

// receive waits for its turn, and for the message, of which it returns the bytes.
func (c *call) receive(turns *turns) ([]byte, error) {
	ctx, stop := context.WithTimeout(c.Context(), c.Message)
	defer stop()
	if err := turns.take(ctx); err != nil {
		return nil, err
	}
	defer turns.leave()
	var m message
	if err := c.await(ctx, &m, nil); err != nil {
		return nil, err
	}
	return m, nil
}

// await receives what comes, until the context or the server ends.
func (c *call) await(ctx context.Context, m any, end <-chan struct{}) error {
	came := make(chan error, 1)
	go func() { came <- c.ServerStream.RecvMsg(m) }() // which ends with the stream, that is with the answer
	select {
	case err := <-came:
		if err == io.EOF && end == nil {
			return errNone
		}
		return err
	case <-end:
		return errEnds
	case <-ctx.Done():
		if c.Context().Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errSlow
		}
		return cause.Err(ctx)
	}
}

// RecvMsg is for services that are not ours, whose streams end with the server.
func (c *call) RecvMsg(m any) error { return c.await(c.Context(), m, c.ending) }

// mostAside is how many bytes a message without rows may have.
const mostAside = 16 << 10

// read receives a small message and decodes it.
func (c *call) read(m proto.Message) error {
	b, err := c.receive(c.asides)
	if err != nil {
		return err
	}
	if len(b) > mostAside {
		return &serve.Error{Code: serve.TooLarge, Message: fmt.Sprintf("the message has %d bytes, wanted at most %d", len(b), mostAside)}
	}
	return decode(b, m)
}

// send answers.
func (c *call) send(m proto.Message) error {
	c.bytes += proto.Size(m)
	return c.SendMsg(m)
}
