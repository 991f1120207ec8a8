package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/ui"
)

type serveCommand struct {
	Models []string `arg:"" files:"" name:"model" help:"Model file, NAME=FILE to set its name, or a directory with a file for each version."`

	Addr      string        `default:"localhost:8080" placeholder:"HOST:PORT" help:"Address to listen on; :8080 is all addresses of the host. Default: ${default}."`
	GRPCAddr  string        `name:"grpc-addr" placeholder:"HOST:PORT" help:"Address of the gRPC server, in the complete command. Default: none."`
	Period    time.Duration `default:"5s" help:"Interval of the checks for changed model files. Default: ${default}."`
	TokenFile string        `files:"" placeholder:"FILE" help:"File with the token required by all requests except health checks."`
	Host      []string      `placeholder:"NAME" help:"Public host name of the server that requests may use without a token."`
	TLSCert   string        `name:"tls-cert" files:"" placeholder:"FILE" help:"TLS certificate; reloaded when it changes."`
	TLSKey    string        `name:"tls-key" files:"" placeholder:"FILE" help:"Private key of the certificate."`
	AccessLog string        `enum:"none,text,json" default:"none" help:"Log every request: ${enum}. Default: ${default}."`

	UI             bool `name:"ui" help:"Serve pages to try the models in a browser, at / and below /ui/."`
	GRPCReflection bool `name:"grpc-reflection" help:"Enable gRPC server reflection."`

	Traces string `placeholder:"URL" help:"Collector of OpenTelemetry traces, OTLP over HTTP, in the complete command: http://localhost:4318/v1/traces."`

	MaxBody     int64         `default:"8388608" placeholder:"BYTES" help:"Maximum size of a request body, uncompressed. Default: ${default}."`
	MaxRows     int           `default:"10000" placeholder:"N" help:"Maximum number of rows of a request. Default: ${default}."`
	Timeout     time.Duration `default:"10s" help:"Time limit of a request. Default: ${default}."`
	Working     int           `default:"0" placeholder:"N" help:"Maximum number of concurrent requests without explanations. Default: two per core."`
	Explaining  int           `default:"0" placeholder:"N" help:"Maximum number of concurrent explanations. Default: one per two cores."`
	Waiting     int           `default:"256" placeholder:"N" help:"Maximum number of queued requests; more are rejected. Default: ${default}."`
	Memory      int64         `default:"268435456" placeholder:"BYTES" help:"Maximum memory of all requests. Default: ${default}."`
	Connections int           `default:"1024" placeholder:"N" help:"Maximum number of connections. Default: ${default}."`

	Drain time.Duration `default:"0s" help:"On shutdown, time to continue serving while not ready. Default: ${default}."`
	Grace time.Duration `default:"30s" help:"On shutdown, time limit of pending requests. Default: ${default}."`
}

func (serveCommand) Help() string {
	return `Serves predictions over HTTP and, with --grpc-addr, over gRPC, for rows as JSON and for tensors of the Open
Inference Protocol. Models are reloaded when their files change. See docs/serving.md.
SIGTERM and Ctrl-C shut it down after pending requests.

Example:
  bochner serve runs/adult/model.bochner
  curl localhost:8080/v1/models

Example: bochner serve runs/adult/model.bochner --ui

Example: bochner serve adult=runs/adult/model.bochner rents/ --addr :8443 --tls-cert tls.crt --tls-key tls.key --token-file token --drain 5s`
}

// servingGarbage is the GOGC percentage for small heaps, see collectOften.
const servingGarbage = 400

func (c serveCommand) Run(s *session) error {
	switch {
	case c.GRPCAddr != "" && s.ServeGRPC == nil:
		return fmt.Errorf("--grpc-addr: %w", errLeftOut)
	case c.Traces != "" && s.Trace == nil:
		return fmt.Errorf("--traces: %w", errLeftOut)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(servingGarbage)
	}
	log := slog.New(slog.NewTextHandler(s.err, nil))
	o := serve.Options{
		Models: c.Models, ReloadInterval: c.Period, TokenFile: c.TokenFile, Logger: log,
		Version: experiment.Version().Bochner,
		Limits: serve.Limits{MaxBodyBytes: c.MaxBody, MaxRows: c.MaxRows, Timeout: c.Timeout, MaxConcurrent: c.Working,
			MaxExplaining: c.Explaining, MaxQueued: c.Waiting, MaxMemoryBytes: c.Memory},
	}
	switch c.AccessLog {
	case "text":
		o.AccessLog = log
	case "json":
		o.AccessLog = slog.New(slog.NewJSONHandler(s.err, nil))
	}
	if s.quiet {
		o.Logger = nil
	}
	server, err := serve.New(o)
	if err != nil {
		return err
	}
	if c.UI {
		server.Mount(ui.New(server))
	}
	l, err := c.listen(s)
	if err != nil {
		return err
	}
	defer l.close()
	watching, stop := context.WithCancel(s.ctx)
	defer stop()
	go func() {
		if err := server.Load(watching); err == nil { // Load logs the reason of a failure
			s.printf("ready\n")
		}
		server.Watch(watching)
	}()
	var handler http.Handler = server
	if c.Traces != "" {
		var end func()
		if handler, end, err = s.Trace(s.ctx, server, c.Traces, o.Version); err != nil {
			return err
		}
		defer end()
	}
	return c.answer(s, server, handler, l)
}

// listeners are the listeners of the server; grpc is nil if not enabled.
type listeners struct{ http, grpc net.Listener }

// close closes them.
func (l listeners) close() {
	for _, one := range []net.Listener{l.http, l.grpc} {
		if one != nil {
			one.Close()
		}
	}
}

// listen opens the listeners and prints their addresses.
func (c serveCommand) listen(s *session) (l listeners, err error) {
	if l.http, err = net.Listen("tcp", c.Addr); err != nil {
		return l, err
	}
	if c.GRPCAddr != "" {
		if l.grpc, err = net.Listen("tcp", c.GRPCAddr); err != nil {
			l.close()
			return l, err
		}
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	s.printf("listening on %s://%s\n", scheme, l.http.Addr())
	if l.grpc != nil {
		s.printf("listening for gRPC on %s\n", l.grpc.Addr())
	}
	return l, nil
}

// answer serves requests until the context ends or one of the protocols fails.
func (c serveCommand) answer(s *session, models *serve.Server, handler http.Handler, l listeners) error {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	o := serve.ListenOptions{Handler: handler, Hosts: c.Host, MaxConnections: c.Connections, DrainDelay: c.Drain,
		ShutdownTimeout: c.Grace, CertFile: c.TLSCert, KeyFile: c.TLSKey, Reflection: c.GRPCReflection}
	other := make(chan error, 1)
	go func() {
		if l.grpc == nil {
			other <- nil
			return
		}
		err := s.ServeGRPC(ctx, models, l.grpc, o)
		if err != nil {
			stop()
		}
		other <- err
	}()
	err := models.Serve(ctx, l.http, o)
	stop()
	return errors.Join(err, <-other)
}
