// Package grpc answers over gRPC what the models of a [serve.Server] predict, by the Open Inference Protocol, version 2:
//
//	models, err := serve.New(serve.Options{Models: []string{"adult.bochner"}})
//	err = grpc.Serve(ctx, models, listener, grpc.Options{})
//
// The service is inference.GRPCInferenceService, as Triton and KServe have it, so that their clients may ask. Limits,
// turns, models, token, metrics and the log of requests are those of the server, which may answer over HTTP as well.
// Beside it there are the service of health, grpc.health.v1.Health, and, where it is wanted, that of reflection.
//
// A message is received when it is a request's turn for that: gRPC has a message whole before anybody sees it, so only so
// many come at a time as fit into half of the memory of requests. What a message would take once it is decoded is reckoned
// before it is.
package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // for messages that are packed so
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/bochner-ml/bochner/serve"
)

// Options say how a server is listened to by [Serve]. A zero is the default.
type Options struct {
	Connections int           // at once; more wait until one ends: 1024
	Message     time.Duration // for a request's message to come, waiting for its turn included: 30 s
	Idle        time.Duration // for a connection without a request: two minutes
	Drain       time.Duration // at the end, between being unready and turning requests away: 0
	Grace       time.Duration // at the end, for requests at work: 30 s
	Certificate string        // file of a TLS certificate, "" for none, read again when it changes
	Key         string        // file of its key
	Reflection  bool          // whether the server tells its services and their messages to who asks
}

// withDefaults fills in what is not said.
func (o Options) withDefaults() Options {
	if o.Connections == 0 {
		o.Connections = 1024
	}
	for _, d := range []struct {
		to  *time.Duration
		def time.Duration
	}{{&o.Message, 30 * time.Second}, {&o.Idle, 2 * time.Minute}, {&o.Grace, 30 * time.Second}} {
		if *d.to == 0 {
			*d.to = d.def
		}
	}
	return o
}

// check reports what cannot be.
func (o Options) check() error {
	if o.Connections < 0 || o.Message < 0 || o.Idle < 0 || o.Drain < 0 || o.Grace < 0 {
		return errors.New("grpc: a time or the number of connections is negative")
	}
	if (o.Certificate == "") != (o.Key == "") {
		return errors.New("grpc: TLS needs a certificate and its key, and got one of them")
	}
	return nil
}

// What a client may do with a connection.
const (
	mostStreams = 128              // requests at once
	mostHead    = 16 << 10         // bytes of the metadata of one
	window      = 64 << 10         // bytes that may come of one before it is received
	windows     = 1 << 20          // bytes that may be under way on a connection
	shortest    = 10 * time.Second // between its pings
	handshake   = 5 * time.Second
	ping        = time.Minute // after which a silent one is asked whether it is there
)

// server answers the requests that come to a listener.
type server struct {
	models *serve.Server
	limits serve.Limits
	Options
	turns  *turns // of requests with rows, to receive their message
	asides *turns // of the others
	ending chan struct{}
}

// Serve answers what comes to l over gRPC, with TLS where there is a certificate, until the context ends. Then the server
// is unready for the time of o.Drain and answers all that comes; then it tells clients to go elsewhere, answers the
// requests that it has, and returns. The error is nil if all were answered.
func Serve(ctx context.Context, models *serve.Server, l net.Listener, o Options) error {
	defer l.Close()
	if err := o.check(); err != nil {
		return err
	}
	o = o.withDefaults()
	limits := models.Options().Limits
	s := &server{models: models, limits: limits, Options: o, ending: make(chan struct{})}
	s.turns = newTurns(int(max(1, limits.Memory/2/limits.Body)), limits.Waiting)
	s.asides = newTurns(4, limits.Waiting)
	var config *tls.Config
	if o.Certificate != "" {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		var err error
		if config, err = models.TLS(watching, o.Certificate, o.Key, "h2"); err != nil {
			return err
		}
	}
	g := s.services(config)
	failed := make(chan error, 1)
	go func() { failed <- g.Serve(netutil.LimitListener(l, o.Connections)) }()
	select {
	case err := <-failed:
		g.Stop()
		return fmt.Errorf("grpc: %w", err)
	case <-ctx.Done():
	}
	return s.end(g, failed)
}

// services returns what answers.
func (s *server) services(config *tls.Config) *grpc.Server {
	set := []grpc.ServerOption{
		grpc.StreamInterceptor(s.answer), grpc.UnknownServiceHandler(unknown), grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(int(s.limits.Body)), grpc.MaxConcurrentStreams(mostStreams), grpc.MaxHeaderListSize(mostHead),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(windows), grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: s.Idle, Time: ping}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: shortest, PermitWithoutStream: true}),
	}
	if config != nil {
		set = append(set, grpc.Creds(credentials.NewTLS(config)))
	}
	g := grpc.NewServer(set...)
	for service, methods := range answers {
		d := grpc.ServiceDesc{ServiceName: service, Metadata: files[service]}
		for name, m := range methods {
			d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, Handler: m.handle, ServerStreams: true, ClientStreams: true})
		}
		g.RegisterService(&d, nil)
	}
	if s.Reflection {
		reflection.Register(g)
	}
	return g
}

// end answers what has come and is to come before the end.
func (s *server) end(g *grpc.Server, failed chan error) error {
	s.models.Drain()
	select {
	case err := <-failed:
		g.Stop()
		return fmt.Errorf("grpc: %w", err)
	case <-time.After(s.Drain):
	}
	close(s.ending)
	answered := make(chan struct{})
	go func() {
		g.GracefulStop()
		close(answered)
	}()
	select {
	case <-answered:
		return nil
	case <-time.After(s.Grace):
		g.Stop()
		<-answered
		return fmt.Errorf("grpc: not all requests were answered within %v of the end", s.Grace)
	}
}
