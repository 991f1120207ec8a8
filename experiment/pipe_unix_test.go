//go:build unix

package experiment

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// predict reads a named pipe once; run requires a file, and does not wait.
func TestNamedPipes(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	for _, name := range []string{"in.csv", "out.csv", "silent"} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip(err)
		}
	}
	want := predicted(t, "rows.csv", Options{})
	go os.WriteFile("in.csv", []byte(sample(120, class)), 0)
	got := make(chan string)
	go func() {
		text, _ := os.ReadFile("out.csv")
		got <- string(text)
	}()
	if _, err := (Options{}).PredictFile(context.Background(), "model", "in.csv", "out.csv"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != want {
		t.Errorf("through pipes it predicts\n%.200s", text)
	}
	if info, err := os.Stat("out.csv"); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe is %v, %v", info, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Predict(ctx, "model", "silent", io.Discard, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	_, err := Parse(context.Background(), "pipe.yaml", []byte("data: {train: in.csv, target: y}\npipeline: [logistic]\n"))
	if err == nil || !strings.Contains(err.Error(), "in.csv: not a regular file but a pipe") {
		t.Error(err)
	}
}
