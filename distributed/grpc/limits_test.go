package grpc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/bochner-ml/bochner/distributed/grpc/internal/inference"
	"github.com/bochner-ml/bochner/serve"
)

// certify writes a self-signed certificate for the name models.
func certify(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "models"},
		DNSNames: []string{"models"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, b := range map[string][]byte{"tls.crt": text, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
		Bytes: secret})} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// begin starts a prediction and returns a channel for its error.
func begin(ctx context.Context, c *grpc.ClientConn, v float64, o ...grpc.CallOption) chan error {
	got := make(chan error, 1)
	go func() { got <- call(ctx, c, "ModelInfer", number(v), &inference.ModelInferResponse{}, o...) }()
	return got
}

// Requests beyond the limits are rejected with a retry delay.
func TestTooMany(t *testing.T) {
	s, m := slowly(t, serve.Options{Limits: serve.Limits{MaxConcurrent: 1, MaxQueued: 1}})
	addr, _ := listening(t, s, serve.ListenOptions{})
	c := client(t, addr)
	first := begin(t.Context(), c, 1)
	until(t, func() bool { return m.at.Load() == 1 })
	second := begin(t.Context(), c, 2)
	until(t, func() bool { return hasMetrics(t, s, "bochner_requests_waiting 1") })
	var trailer metadata.MD
	if err := <-begin(t.Context(), c, 3, grpc.Trailer(&trailer)); status.Code(err) != codes.ResourceExhausted ||
		!strings.Contains(err.Error(), "too many queued requests") {
		t.Error(err)
	}
	if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != "1000" {
		t.Errorf("ask again after %v", got)
	}
	close(m.may)
	for _, got := range []chan error{first, second} {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	if !hasMetrics(t, s, `bochner_rejected_total{reason="exhausted"} 1`) {
		t.Error("the rejection is not counted")
	}
}

// Canceled and late requests stop their computation.
func TestEndsOfContexts(t *testing.T) {
	s, m := slowly(t, serve.Options{Limits: serve.Limits{Timeout: 200 * time.Millisecond}})
	addr, _ := listening(t, s, serve.ListenOptions{})
	c := client(t, addr)
	if err := <-begin(t.Context(), c, 1); status.Code(err) != codes.DeadlineExceeded ||
		!strings.Contains(err.Error(), "the server's timeout") {
		t.Error(err)
	}
	until(t, func() bool { return m.at.Load() == 0 })
	idle(t, s)

	s, m = slowly(t, serve.Options{})
	addr, _ = listening(t, s, serve.ListenOptions{})
	ctx, stop := context.WithCancel(t.Context())
	got := begin(ctx, client(t, addr), 1)
	until(t, func() bool { return m.at.Load() == 1 })
	stop()
	if err := <-got; status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	until(t, func() bool { return m.at.Load() == 0 })
	idle(t, s)
}

// A message that does not arrive times out and frees its slot.
func TestMissingMessage(t *testing.T) {
	// one message at a time
	s := started(t, serve.Options{Limits: serve.Limits{MaxMemoryBytes: 1 << 21, MaxBodyBytes: 1 << 20}})
	addr, _ := listening(t, s, serve.ListenOptions{ReadTimeout: 50 * time.Millisecond})
	c := client(t, addr)
	stream, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true},
		"/inference.GRPCInferenceService/ModelInfer")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&inference.ModelInferResponse{}); status.Code(err) != codes.DeadlineExceeded ||
		!strings.Contains(err.Error(), "the message did not arrive") {
		t.Error(err)
	}
	infer(t, c, matrix(1, 2, 3))
	idle(t, s)
}

// Panics are reported and counted.
func TestFault(t *testing.T) {
	s, m := slowly(t, serve.Options{})
	close(m.may)
	addr, _ := listening(t, s, serve.ListenOptions{})
	c := client(t, addr)
	if err := <-begin(t.Context(), c, -1); status.Code(err) != codes.Internal ||
		!strings.Contains(err.Error(), "internal server error; see the server log") {
		t.Error(err)
	}
	if err := <-begin(t.Context(), c, 1); err != nil {
		t.Error(err)
	}
	idle(t, s)
}

// Shutdown completes all requests and leaks nothing.
func TestEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	s, m := slowly(t, serve.Options{})
	addr, end := listening(t, s, serve.ListenOptions{DrainDelay: time.Second})
	c, other := client(t, addr), client(t, addr)
	first := begin(t.Context(), c, 1)
	until(t, func() bool { return m.at.Load() == 1 })
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	until(t, func() bool { return s.Ready() != nil })
	second := begin(t.Context(), other, 2) // while it drains
	until(t, func() bool { return m.at.Load() == 2 })
	until(t, func() bool {
		open, err := net.Dial("tcp", addr)
		if err == nil {
			open.Close()
		}
		return err != nil
	})
	if err := <-begin(t.Context(), client(t, addr), 3); status.Code(err) != codes.Unavailable {
		t.Errorf("the end: %v", err)
	}
	close(m.may)
	for _, got := range []chan error{first, second, ended} {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	c.Close()
	other.Close()
	until(t, func() bool { return runtime.NumGoroutine() <= before+4 })
}

// Shutdown reports requests that exceed the timeout.
func TestGrace(t *testing.T) {
	s, m := slowly(t, serve.Options{})
	addr, end := listening(t, s, serve.ListenOptions{ShutdownTimeout: 20 * time.Millisecond})
	got := begin(t.Context(), client(t, addr), 1)
	until(t, func() bool { return m.at.Load() == 1 })
	if err := end(); err == nil || !strings.Contains(err.Error(),
		"1 requests not completed within the shutdown timeout of 20ms") {
		t.Error(err)
	}
	if err := <-got; err == nil {
		t.Error("it is answered")
	}
	until(t, func() bool { return m.at.Load() == 0 })
}
