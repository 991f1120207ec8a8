// Package grpc serves the models of a [serve.Server] over gRPC by the Open Inference Protocol,
// version 2:
//
//	models, err := serve.New(serve.Options{Models: []string{"adult.bochner"}})
//	err = grpc.Serve(ctx, models, listener, serve.ListenOptions{})
//
// The service inference.GRPCInferenceService is compatible with clients of Triton and KServe.
// Limits, queue, models, token, metrics and access log are shared with the HTTP server. The health
// service grpc.health.v1.Health is always available, server reflection is optional.
//
// gRPC delivers messages as a whole. To bound memory, messages are received only while a slot is
// free: as many at a time as fit into half of the request memory. The decoded size of a message is
// estimated before it is decoded.
package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // compression of messages
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/queue"
	"github.com/bochner-ml/bochner/serve"
)

// Limits of a connection.
const (
	maxStreams       = 128              // concurrent requests
	maxMetadataBytes = 16 << 10         // bytes of metadata per request
	requestWindow    = 64 << 10         // flow-control window of a request, bytes
	connectionWindow = 1 << 20          // flow-control window of a connection, bytes
	minPingInterval  = 10 * time.Second // minimum time between client pings
	handshakeTimeout = 5 * time.Second
	keepaliveTime    = time.Minute // idle time before a keepalive ping
)

// transport serves gRPC.
type transport struct {
	*grpc.Server
	server   *handler
	listener net.Listener
}

// Serve serves gRPC on l, with TLS if there is a certificate, until ctx is done, and shuts down as
// described for [serve.Server.Run]. It returns nil if all requests were answered.
func Serve(ctx context.Context, models *serve.Server, l net.Listener, o serve.ListenOptions) error {
	defer l.Close()
	return models.Run(ctx, o, "h2", func(o serve.ListenOptions, config *tls.Config) protocol.Transport {
		limits := models.Options().Limits
		s := &handler{server: models, timeout: o.ReadTimeout, shutdown: make(chan struct{})}
		s.largeQueue = queue.New(int(max(1, limits.MaxMemoryBytes/2/limits.MaxBodyBytes)), limits.MaxQueued)
		s.smallQueue = queue.New(4, limits.MaxQueued)
		return &transport{newGRPCServer(s, o, config), s, netutil.LimitListener(l, o.MaxConnections)}
	})
}

// Serve accepts connections.
func (p *transport) Serve() error { return p.Server.Serve(p.listener) }

// Shutdown stops accepting requests and completes the pending ones.
func (p *transport) Shutdown(ctx context.Context) error {
	close(p.server.shutdown)
	answered := make(chan struct{})
	go func() {
		p.GracefulStop()
		close(answered)
	}()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctxerr.Check(ctx)
	}
}

// Close aborts all requests.
func (p *transport) Close() error {
	p.Stop()
	return nil
}

// newGRPCServer registers all services.
func newGRPCServer(s *handler, o serve.ListenOptions, config *tls.Config) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.StreamInterceptor(s.handle), grpc.UnknownServiceHandler(unknownMethod), grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(int(s.server.Options().Limits.MaxBodyBytes)), grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxMetadataBytes),
		grpc.InitialWindowSize(requestWindow), grpc.InitialConnWindowSize(connectionWindow),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: o.IdleTimeout, Time: keepaliveTime}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	g := grpc.NewServer(options...)
	for service, methods := range methods {
		d := grpc.ServiceDesc{ServiceName: service, Metadata: protoFiles[service]}
		for name, m := range methods {
			handle := func(_ any, stream grpc.ServerStream) error { return m.handle(stream.(*call)) }
			d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, Handler: handle, ServerStreams: true,
				ClientStreams: true})
		}
		g.RegisterService(&d, nil)
	}
	if o.Reflection {
		reflection.Register(g)
	}
	return g
}

// handle handles a request of any service after it has checked the token.
func (s *handler) handle(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handle grpc.StreamHandler) (err error) {
	given, _ := metadata.FromIncomingContext(stream.Context())
	c := &call{ServerStream: stream, handler: s, name: info.FullMethod, method: methodOf(info.FullMethod),
		start: time.Now(), requestID: protocol.RequestID(given["x-request-id"])}
	defer func() {
		if value := recover(); value != nil {
			err = s.server.ReportPanic(c.requestID, value)
		}
		if panicked := (*datasets.PanicError)(nil); errors.As(err, &panicked) {
			err = s.server.ReportPanic(c.requestID, panicked)
		}
		err = c.end(err)
	}()
	if err := stream.SetHeader(metadata.Pairs("x-request-id", c.requestID)); err != nil {
		return err
	}
	if !c.method.public {
		if err := s.server.Authorized(strings.Join(given["authorization"], " ")); err != nil {
			return err
		}
	}
	return handle(service, c)
}
