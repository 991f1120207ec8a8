//go:build unix

package command

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

// The command serves a model until it is stopped, prints its address and when it is ready, and
// exits with code 0.
func TestServe(t *testing.T) {
	t.Chdir(t.TempDir())
	line(t)
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c, url, log := serving(t, "line.bochner", "--addr", "127.0.0.1:0", "--access-log", "json", "--drain", "10ms")
		answer, err := http.Post(url+"/v1/models/line:predict", "application/json", strings.NewReader(`{"rows":[{"a":3}]}`))
		if err != nil {
			t.Fatalf("%v: %s", err, log)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 200 || !strings.HasPrefix(string(text),
			`{"model":"line","version":"1","predictions":[{"value":`) {
			t.Errorf("%s, %v", text, err)
		}
		if err := c.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v ends it with %v: %s", end, err, log)
		}
		if !strings.Contains(log.String(), `"route":"predict"`) || !strings.Contains(log.String(), `msg="server stopped"`) {
			t.Errorf("the log: %s", log)
		}
	}
}

// TestServeErrors checks that an error at startup is one message and exit code 1.
func TestServeErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "token"), "")
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"none.bochner"}, `model "none": stat none.bochner: no such file or directory`, failure},
		{[]string{dir, "--token-file", filepath.Join(dir, "token")}, "contains no file such as 1.bochner", failure},
		{[]string{dir, "--max-rows=-3"}, "limits must be ≥ 0", failure},
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

// TestServePages checks that --ui serves a page for each model, and that there is none without it.
func TestServePages(t *testing.T) {
	t.Chdir(t.TempDir())
	line(t)
	for _, args := range [][]string{{"--ui"}, nil} {
		c, url, log := serving(t, append([]string{"line.bochner", "--addr", "127.0.0.1:0"}, args...)...)
		answer, err := http.Get(url + "/ui/line?a=3")
		if err != nil {
			t.Fatalf("%v: %s", err, log)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if got := err == nil && answer.StatusCode == 200 && strings.Contains(string(text),
			`<h2 id="result-title">Prediction</h2>`); got != (args != nil) {
			t.Errorf("%v: %d %s", args, answer.StatusCode, text)
		}
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("it ends with %v: %s", err, log)
		}
	}
}
