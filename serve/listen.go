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

	"golang.org/x/net/netutil"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
)

// ListenOptions configures [Server.Serve] and package distributed/grpc. A zero field selects its default.
type ListenOptions struct {
	Handler           http.Handler  // HTTP handler that wraps the server; nil is the server itself
	Hosts             []string      // public host names that HTTP requests may name if no token is required
	MaxConnections    int           // open connections; default 1024
	ReadHeaderTimeout time.Duration // for HTTP request headers; default 5 s
	ReadTimeout       time.Duration // for a whole request, including the queue; default 30 s
	WriteTimeout      time.Duration // from the HTTP headers to the end of the response; default 1 min
	IdleTimeout       time.Duration // for a connection without a request; default 2 min
	DrainDelay        time.Duration // between not ready and shutdown; default 0
	ShutdownTimeout   time.Duration // for pending requests at shutdown; default 30 s
	CertFile          string        // TLS certificate, reloaded when it changes; "" for plain text
	KeyFile           string        // private key of the certificate
	Reflection        bool          // whether to enable gRPC server reflection
}

// maxHeaderBytes bounds the headers of a request, in bytes.
const maxHeaderBytes = 16 << 10

// withDefaults replaces zeros by the defaults.
func (o ListenOptions) withDefaults() ListenOptions {
	o.MaxConnections = cmp.Or(o.MaxConnections, 1024)
	o.ReadHeaderTimeout, o.ReadTimeout, o.WriteTimeout = cmp.Or(o.ReadHeaderTimeout, 5*time.Second),
		cmp.Or(o.ReadTimeout, 30*time.Second), cmp.Or(o.WriteTimeout, time.Minute)
	o.IdleTimeout, o.ShutdownTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute), cmp.Or(o.ShutdownTimeout, 30*time.Second)
	return o
}

// check rejects invalid options.
func (o ListenOptions) check() error {
	if o.MaxConnections < 0 || o.ReadHeaderTimeout < 0 || o.ReadTimeout < 0 || o.WriteTimeout < 0 || o.IdleTimeout < 0 ||
		o.DrainDelay < 0 || o.ShutdownTimeout < 0 {
		return errors.New("serve: durations and MaxConnections must be ≥ 0")
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return errors.New("serve: CertFile and KeyFile must be set together")
	}
	return nil
}

// Run serves by the transport that open returns until ctx is done, then shuts down: the server is
// not ready for o.DrainDelay, and pending requests have o.ShutdownTimeout to complete. Open
// receives the options with defaults and the TLS configuration, nil without a certificate; name is
// the ALPN protocol.
func (s *Server) Run(ctx context.Context, o ListenOptions, name string,
	open func(o ListenOptions, config *tls.Config) protocol.Transport) error {
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
		return fmt.Errorf("serve: %d requests not completed within the shutdown timeout of %v", s.limiter.admitted.Load(),
			o.ShutdownTimeout)
	}
	s.options.Logger.Info("server stopped", "protocol", name)
	return nil
}

// Serve serves HTTP/1.1 on l, with TLS if there is a certificate, until ctx is done, and shuts down
// as described for [Server.Run]. It returns nil if all requests were answered.
func (s *Server) Serve(ctx context.Context, l net.Listener, o ListenOptions) error {
	defer l.Close()
	return s.Run(ctx, o, "http/1.1", func(o ListenOptions, config *tls.Config) protocol.Transport {
		p := &httpProtocol{listener: netutil.LimitListener(l, o.MaxConnections), Server: http.Server{
			Handler: o.Handler, ReadHeaderTimeout: o.ReadHeaderTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
			IdleTimeout:    o.IdleTimeout,
			BaseContext:    func(net.Listener) context.Context { return withHosts(o.Hosts) },
			MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelWarn),
			Protocols: new(http.Protocols),
		}}
		p.Protocols.SetHTTP1(true)
		if p.Handler == nil {
			p.Handler = s
		}
		if config != nil {
			p.listener = tls.NewListener(p.listener, config)
		}
		return p
	})
}

// httpProtocol is an HTTP server with its listener.
type httpProtocol struct {
	http.Server
	listener net.Listener
}

// Serve accepts connections.
func (p *httpProtocol) Serve() error { return p.Server.Serve(p.listener) }
