//go:build unix

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner"
)

// line saves a model as line.bochner.
func line(t *testing.T) {
	t.Helper()
	put(t, "rows.csv", "a,y\n1,2\n2,4\n3,6\n4,8\n5,10.5\n6,12\n7,14\n8,16\n9,18\n10,20\n11,22\n12,24\n")
	rows, err := bochner.Load(t.Context(), "rows.csv", "y")
	if err != nil {
		t.Fatal(err)
	}
	m, err := bochner.Fit(t.Context(), bochner.KernelMachine(rows), rows)
	if err == nil {
		err = m.Save("line.bochner")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serving starts the command, and returns its address once it is ready.
func serving(t *testing.T, args ...string) (c *exec.Cmd, url string, log *strings.Builder) {
	t.Helper()
	c, log = exec.Command(os.Args[0], append([]string{"serve"}, args...)...), new(strings.Builder)
	c.Env, c.Stderr = append(os.Environ(), asCommand+"=yes"), log
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		fmt.Sscanf(lines.Text(), "listening on %s", &url)
	}
	return c, url, log
}

// TestServeGRPC checks that the command also serves gRPC, and that an error of either listener is
// one message.
func TestServeGRPC(t *testing.T) {
	t.Chdir(t.TempDir())
	line(t)
	c, _, log := serving(t, "line.bochner", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--access-log", "text")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(log.String(), "server stopped") {
		t.Errorf("it ends with %v: %s", err, log)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out, errs strings.Builder
	if code := parts.Run(t.Context(), []string{"serve", "line.bochner", "--addr", "127.0.0.1:0", "--grpc-addr",
		l.Addr().String()}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "address already in use") {
		t.Errorf("code %d, %s", code, errs.String())
	}
}

// Spans of requests go to a collector, as parts of the trace that the request names, and none of the probes.
func TestServeTraces(t *testing.T) {
	t.Chdir(t.TempDir())
	line(t)
	var mu sync.Mutex
	var sent []byte
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		text, err := io.ReadAll(body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, text...)
	}))
	defer collector.Close()
	c, url, log := serving(t, "line.bochner", "--addr", "127.0.0.1:0", "--traces", collector.URL+"/v1/traces")
	trace := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for path, method := range map[string]string{"/v1/models/line:predict": "POST", "/v2/health/ready": "GET"} {
		r, err := http.NewRequest(method, url+path, strings.NewReader(`{"rows":[{"a":3}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("traceparent", fmt.Sprintf("00-%x-0102030405060708-01", trace))
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%+v, %v: %s", answer, err, log)
		}
		answer.Body.Close()
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, log)
	}
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(sent, trace[:]) || !bytes.Contains(sent, []byte("predict")) ||
		!bytes.Contains(sent, []byte("service.name")) || bytes.Contains(sent, []byte("health")) {
		t.Errorf("the collector got %q", sent)
	}
}
