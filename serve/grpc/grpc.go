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

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/internal/protocol"
	"github.com/bochner-ml/bochner/serve/internal/queue"
)

// Limits of a connection.
const (
	maxStreams = 128              // concurrent requests
	maxHead    = 16 << 10         // bytes of metadata per request
	window     = 64 << 10         // flow-control window of a request, bytes
	windows    = 1 << 20          // flow-control window of a connection, bytes
	minPing    = 10 * time.Second // minimum time between client pings
	handshake  = 5 * time.Second
	ping       = time.Minute // idle time before a keepalive ping
)

// transport serves gRPC.
type transport struct {
	*grpc.Server
	server   *server
	listener net.Listener
}

// Serve serves gRPC on l, with TLS if there is a certificate, until ctx is done, and shuts down as
// described for [serve.Server.Run]. It returns nil if all requests were answered.
func Serve(ctx context.Context, models *serve.Server, l net.Listener, o serve.ListenOptions) error {
	defer l.Close()
	return models.Run(ctx, o, "h2", func(o serve.ListenOptions, config *tls.Config) protocol.Transport {
		limits := models.Options().Limits
		s := &server{models: models, timeout: o.ReadTimeout, ending: make(chan struct{})}
		s.large = queue.New(int(max(1, limits.MaxMemoryBytes/2/limits.MaxBodyBytes)), limits.MaxQueued)
		s.small = queue.New(4, limits.MaxQueued)
		return &transport{services(s, o, config), s, netutil.LimitListener(l, o.MaxConnections)}
	})
}

// Serve accepts connections.
func (p *transport) Serve() error { return p.Server.Serve(p.listener) }

// Shutdown stops accepting requests and completes the pending ones.
func (p *transport) Shutdown(ctx context.Context) error {
	close(p.server.ending)
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

// services registers all services.
func services(s *server, o serve.ListenOptions, config *tls.Config) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.StreamInterceptor(s.answer), grpc.UnknownServiceHandler(unknown), grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(int(s.models.Options().Limits.MaxBodyBytes)), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHead),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(windows), grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: o.IdleTimeout, Time: ping}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	g := grpc.NewServer(options...)
	for service, methods := range answers {
		d := grpc.ServiceDesc{ServiceName: service, Metadata: files[service]}
		for name, m := range methods {
			handle := func(_ any, stream grpc.ServerStream) error { return m.answer(stream.(*call)) }
			d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, Handler: handle, ServerStreams: true, ClientStreams: true})
		}
		g.RegisterService(&d, nil)
	}
	if o.Reflection {
		reflection.Register(g)
	}
	return g
}

// answer handles a request of any service after it has checked the token.
func (s *server) answer(service any, stream grpc.ServerStream, about *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	given, _ := metadata.FromIncomingContext(stream.Context())
	c := &call{ServerStream: stream, server: s, name: about.FullMethod, method: methodOf(about.FullMethod), begin: time.Now(), id: protocol.RequestID(given["x-request-id"])}
	defer func() {
		if value := recover(); value != nil {
			err = s.models.ReportPanic(c.id, value)
		}
		err = c.end(err)
	}()
	if err := stream.SetHeader(metadata.Pairs("x-request-id", c.id)); err != nil {
		return err
	}
	if !c.method.open {
		if err := s.models.Authorized(strings.Join(given["authorization"], " ")); err != nil {
			return err
		}
	}
	return handle(service, c)
}
