package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// Listening says how a server is listened to by [Server.Serve]. A zero is the default.
type Listening struct {
	Handler     http.Handler  // what answers, for a server that is wrapped; nil is the server itself
	Connections int           // at once; more wait until one ends: 1024
	Head        time.Duration // for the head of a request: 5 s
	Body        time.Duration // for a request in all: 30 s
	Answer      time.Duration // from the head of a request until its answer is read: a minute
	Idle        time.Duration // for a connection without a request: two minutes
	Drain       time.Duration // at the end, between being unready and not listening any more: 0
	Grace       time.Duration // at the end, for requests at work: 30 s
	Certificate string        // file of a TLS certificate, "" for none, read again when it changes
	Key         string        // file of its key
}

// mostHead is how many bytes the head of a request may have.
const mostHead = 16 << 10

// withDefaults fills in what is not said.
func (o Listening) withDefaults() Listening {
	if o.Connections == 0 {
		o.Connections = 1024
	}
	for _, d := range []struct {
		to  *time.Duration
		def time.Duration
	}{{&o.Head, 5 * time.Second}, {&o.Body, 30 * time.Second}, {&o.Answer, time.Minute}, {&o.Idle, 2 * time.Minute}, {&o.Grace, 30 * time.Second}} {
		if *d.to == 0 {
			*d.to = d.def
		}
	}
	return o
}

// check reports what cannot be.
func (o Listening) check() error {
	if o.Connections < 0 || o.Head < 0 || o.Body < 0 || o.Answer < 0 || o.Idle < 0 || o.Drain < 0 || o.Grace < 0 {
		return errors.New("serve: a time or the number of connections is negative")
	}
	if (o.Certificate == "") != (o.Key == "") {
		return errors.New("serve: TLS needs a certificate and its key, and got one of them")
	}
	return nil
}

// Serve answers what comes to l over HTTP/1.1, with TLS where there is a certificate, until the context ends. Then the
// server is unready for the time of o.Drain and answers all that comes, each answer being the last of its connection;
// then it listens no more, answers the requests that it has, and returns. The error is nil if all were answered.
func (s *Server) Serve(ctx context.Context, l net.Listener, o Listening) error {
	defer l.Close()
	if err := o.check(); err != nil {
		return err
	}
	o = o.withDefaults()
	server := &http.Server{
		Handler: o.Handler, ReadHeaderTimeout: o.Head, ReadTimeout: o.Body, WriteTimeout: o.Answer, IdleTimeout: o.Idle,
		MaxHeaderBytes: mostHead, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn), Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	if server.Handler == nil {
		server.Handler = s
	}
	limited := newListener(l, o.Connections)
	l = limited
	if o.Certificate != "" {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		config, err := s.TLS(watching, o.Certificate, o.Key, "http/1.1")
		if err != nil {
			return err
		}
		l = tls.NewListener(l, config)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return s.end(server, limited, failed, o)
}

// end answers what has come and is to come before the end.
func (s *Server) end(server *http.Server, l *listener, failed chan error, o Listening) error {
	s.Drain()
	s.log.Info("the server ends", "drain", o.Drain, "in_flight", s.gate.inside.Load())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(o.Drain):
	}
	ctx, stop := context.WithTimeout(context.Background(), o.Grace)
	defer stop()
	// Shutdown drops connections whose requests are not read yet, so it comes last.
	l.Close()
	for ctx.Err() == nil && l.open() {
		server.SetKeepAlivesEnabled(false) // closes idle connections
		time.Sleep(waiting / 4)
	}
	l.end()
	if err := server.Shutdown(ctx); err != nil {
		left := s.gate.inside.Load()
		server.Close()
		return fmt.Errorf("serve: %d requests were not answered within %v of the end", left, o.Grace)
	}
	s.log.Info("the server has ended")
	return nil
}

// TLS returns how the protocols are spoken over TLS with a certificate and its key from files, which are read again when
// they change, until the context ends.
func (s *Server) TLS(ctx context.Context, cert, key string, protocols ...string) (*tls.Config, error) {
	pair, err := newCertificate(cert, key)
	if err != nil {
		return nil, err
	}
	go pair.watch(ctx, s.options.Period, s.log)
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get, NextProtos: protocols}, nil
}

// certificate is a TLS certificate with its key, from files.
type certificate struct {
	files [2]string
	infos [2]fs.FileInfo
	pair  atomic.Pointer[tls.Certificate]
}

// newCertificate reads both files.
func newCertificate(cert, key string) (*certificate, error) {
	c := &certificate{files: [2]string{cert, key}}
	infos, err := c.look()
	if err == nil {
		err = c.read(infos)
	}
	return c, err
}

// look asks how the files are.
func (c *certificate) look() (infos [2]fs.FileInfo, err error) {
	for k, name := range c.files {
		if infos[k], err = os.Stat(name); err == nil && !infos[k].Mode().IsRegular() {
			err = fmt.Errorf("%s is no regular file", name)
		}
		if err != nil {
			return infos, fmt.Errorf("serve: TLS: %w", err)
		}
	}
	return infos, nil
}

// read reads the files.
func (c *certificate) read(infos [2]fs.FileInfo) error {
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return fmt.Errorf("serve: TLS: %w", err)
	}
	c.infos = infos
	c.pair.Store(&pair)
	return nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil }

// watch reads the files again when one has changed. The pair before stays while they do not go together.
func (c *certificate) watch(ctx context.Context, period time.Duration, log *slog.Logger) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		infos, err := c.look()
		if err == nil && sameFile(infos[0], c.infos[0]) && sameFile(infos[1], c.infos[1]) {
			continue
		}
		if err == nil {
			err = c.read(infos)
		}
		switch {
		case err == nil:
			said = ""
			log.Info("certificate read again", "file", c.files[0])
		case err.Error() != said:
			said = err.Error()
			log.Error("certificate not read again; the one before is used", "error", err)
		}
	}
}
