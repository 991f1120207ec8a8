package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/bochner-ml/bochner/serve/internal/protocol"
)

// ListenOptions are the options of [Server.Serve], and of package serve/grpc. A zero is the default.
type ListenOptions struct {
	Handler           http.Handler  // what answers over HTTP, for a server that is wrapped; nil is the server itself
	MaxConnections    int           // at once; more wait until one ends: 1024
	ReadHeaderTimeout time.Duration // for the head of a request over HTTP: 5 s
	ReadTimeout       time.Duration // for a request to arrive, waiting for its turn included: 30 s
	WriteTimeout      time.Duration // from the head of a request over HTTP until its answer is read: a minute
	IdleTimeout       time.Duration // for a connection without a request: two minutes
	DrainDelay        time.Duration // at the end, between being unready and not listening any more: 0
	ShutdownTimeout   time.Duration // at the end, for requests at work: 30 s
	CertFile          string        // file of a TLS certificate, "" for none, read again when it changes
	KeyFile           string        // file of its key
	Reflection        bool          // whether gRPC answers questions for its services and their messages
}

// maxHead is the maximum number of bytes of the head of a request.
const maxHead = 16 << 10

// withDefaults returns the options with the default for each zero.
func (o ListenOptions) withDefaults() ListenOptions {
	o.MaxConnections = cmp.Or(o.MaxConnections, 1024)
	o.ReadHeaderTimeout, o.ReadTimeout, o.WriteTimeout = cmp.Or(o.ReadHeaderTimeout, 5*time.Second), cmp.Or(o.ReadTimeout, 30*time.Second), cmp.Or(o.WriteTimeout, time.Minute)
	o.IdleTimeout, o.ShutdownTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute), cmp.Or(o.ShutdownTimeout, 30*time.Second)
	return o
}

// check returns an error for options that are invalid.
func (o ListenOptions) check() error {
	if o.MaxConnections < 0 || o.ReadHeaderTimeout < 0 || o.ReadTimeout < 0 || o.WriteTimeout < 0 || o.IdleTimeout < 0 || o.DrainDelay < 0 || o.ShutdownTimeout < 0 {
		return errors.New("serve: durations and MaxConnections must be ≥ 0")
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return errors.New("serve: CertFile and KeyFile must be set together")
	}
	return nil
}

// Run answers by the protocol that open returns, until the context ends. Then the server is unready for the time of o.Drain
// and answers all that comes; then Run shuts the protocol down. Open gets the options with the defaults filled in and, if
// there is a certificate, the configuration of TLS, with the name that the protocol has there.
func (s *Server) Run(ctx context.Context, o ListenOptions, name string, open func(o ListenOptions, config *tls.Config) protocol.Transport) error {
	if err := o.check(); err != nil {
		return err
	}
	o = o.withDefaults()
	var config *tls.Config
	if o.CertFile != "" {
		pair, err := newCertificate(o.CertFile, o.KeyFile)
		if err != nil {
			return err
		}
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go runEvery(watching, s.options.ReloadInterval, func() { pair.reload(s.options.Logger) })
		config = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get, NextProtos: []string{name}}
	}
	p := open(o, config)
	failed := make(chan error, 1)
	go func() { failed <- p.Serve() }()
	defer p.Close()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.Drain()
	s.options.Logger.Info("shutting down", "protocol", name, "drain", o.DrainDelay, "in_flight", s.limiter.admitted.Load())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(o.DrainDelay):
	}
	grace, stop := context.WithTimeout(context.Background(), o.ShutdownTimeout)
	defer stop()
	if err := p.Shutdown(grace); err != nil {
		return fmt.Errorf("serve: %d requests not completed within the shutdown timeout of %v", s.limiter.admitted.Load(), o.ShutdownTimeout)
	}
	s.options.Logger.Info("server stopped", "protocol", name)
	return nil
}

// Serve answers what comes to l over HTTP/1.1, with TLS if there is a certificate, until the context ends, and ends as
// [Server.Run] does. The error is nil if all requests were answered.
func (s *Server) Serve(ctx context.Context, l net.Listener, o ListenOptions) error {
	defer l.Close()
	return s.Run(ctx, o, "http/1.1", func(o ListenOptions, config *tls.Config) protocol.Transport {
		p := &httpProtocol{limited: newListener(l, o.MaxConnections), Server: http.Server{
			Handler: o.Handler, ReadHeaderTimeout: o.ReadHeaderTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, IdleTimeout: o.IdleTimeout,
			MaxHeaderBytes: maxHead, ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelWarn), Protocols: new(http.Protocols),
		}}
		p.Protocols.SetHTTP1(true)
		if p.Handler == nil {
			p.Handler = s
		}
		if p.listener = p.limited; config != nil {
			p.listener = tls.NewListener(p.limited, config)
		}
		return p
	})
}

// httpProtocol is a server of HTTP that answers every connection that it has accepted.
type httpProtocol struct {
	http.Server
	limited  *listener
	listener net.Listener // limited, with TLS
}

// Serve answers the connections of the listener.
func (p *httpProtocol) Serve() error { return p.Server.Serve(p.listener) }

// Shutdown answers the requests of all connections before http.Server.Shutdown, which drops those that are not read yet.
func (p *httpProtocol) Shutdown(ctx context.Context) error {
	p.limited.Close()
	for ctx.Err() == nil && p.limited.open() {
		p.SetKeepAlivesEnabled(false) // closes idle connections
		time.Sleep(acceptTimeout / 4)
	}
	p.limited.end()
	return p.Server.Shutdown(ctx)
}
