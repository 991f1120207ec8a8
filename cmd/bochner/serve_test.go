//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner"
)

// The command serves a model until it is told to end, says where and when it is ready, and ends with code 0.
func TestServe(t *testing.T) {
	t.Chdir(t.TempDir())
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
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := exec.Command(os.Args[0], "serve", "line.bochner", "--addr", "127.0.0.1:0", "--access-log", "json", "--drain", "10ms")
		c.Env = append(os.Environ(), asCommand+"=yes")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		log := new(strings.Builder)
		c.Stderr = log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var url string
		for lines.Scan() && lines.Text() != "ready" {
			fmt.Sscanf(lines.Text(), "listening on %s", &url)
		}
		answer, err := http.Post(url+"/v1/models/line:predict", "application/json", strings.NewReader(`{"rows":[{"a":3}]}`))
		if err != nil {
			t.Fatalf("%v: %s", err, log)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 200 || !strings.HasPrefix(string(text), `{"model":"line","version":"1","predictions":[{"value":`) {
			t.Errorf("%s, %v", text, err)
		}
		if err := c.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v ends it with %v: %s", end, err, log)
		}
		if !strings.Contains(log.String(), `"route":"predict"`) || !strings.Contains(log.String(), `msg="the server has ended"`) {
			t.Errorf("the log: %s", log)
		}
	}
}

// What cannot be served is one message and code 1.
func TestServeNothing(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "token"), "")
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"none.bochner"}, `model "none": stat none.bochner: no such file or directory`, failure},
		{[]string{dir, "--token-file", filepath.Join(dir, "token")}, "has no file such as 1.bochner", failure},
		{[]string{dir, "--max-rows=-3"}, "a limit is negative", failure},
		{nil, `expected "<model> ..."`, misuse},
		{[]string{"a", "--access-log", "xml"}, "must be one of", misuse},
	} {
		var out, errs strings.Builder
		code := run(t.Context(), append([]string{"serve"}, c.args...), &out, &errs)
		if code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%v: code %d, %s", c.args, code, errs.String())
		}
	}
}
