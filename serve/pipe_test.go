//go:build unix

package serve_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/serve"
)

// A named pipe in place of a model file is an error and does not block other models.
func TestPipeIsNoModel(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe.bochner"), filepath.Join(dir, "rent.bochner")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := fitted()["rent"].Save(file); err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Models: []string{pipe, file}})
	if err != nil {
		t.Fatal(err)
	}
	loaded := make(chan error, 1)
	go func() { loaded <- s.Load(ctx) }()
	select {
	case err := <-loaded:
		if err == nil || !strings.Contains(err.Error(), "pipe.bochner: must be a regular file") {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the pipe is waited for")
	}
	if r := ask(s, "GET", "/v2/models/rent/ready", ""); r.code != 200 {
		t.Errorf("the other model: %d", r.code)
	}
}

// An endless token file is an error.
func TestTokenHasAnEnd(t *testing.T) {
	large := filepath.Join(t.TempDir(), "token")
	write(t, large, strings.Repeat("x", 5000))
	for path, want := range map[string]string{"/dev/zero": "/dev/zero: must be a regular file",
		large: "must have at most 4096 bytes"} {
		if _, err := serve.New(serve.Options{TokenFile: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
