//go:build unix

package command

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

const killed = `
seed: 7
data: {train: rows.csv, target: y, split: {test: 0.3}}
pipeline: [standardize, {rff: {features: 100}}, logistic]
search:
  grid: {rff.gamma: [0.01, 0.03, 0.1, 0.3], rff.features: [50, 100], logistic.C: [0.1, 1, 10]}
  folds: 4
`

// command starts the command in the working directory.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=yes")
	c.Stderr = new(bytes.Buffer)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// A run killed at any time, any number of times, leaves complete files only, and the final run has
// the result of an undisturbed one, bit for bit, and no other files.
func TestKilledRunsGoOn(t *testing.T) {
	kills, most := 30, 50*time.Second
	if !exhaustive.Tests() {
		kills, most = 5, 15*time.Second
	}
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(2, 2))
	var rows strings.Builder
	rows.WriteString("a,b,c,y\n")
	for range 400 {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&rows, "%.4f,%.4f,%.4f,%s\n", a, b, c, map[bool]string{false: "no", true: "yes"}[a*b+c*c > 0.7])
	}
	for name, text := range map[string]string{"rows.csv": rows.String(), "spec.yaml": killed} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if c := command(t, "run", "spec.yaml", "--quiet", "--set", "output.dir=calm"); c.Wait() != nil {
		t.Fatal(c.Stderr)
	}
	took := time.Since(began)
	want := contents(t, "calm")

	done := 0
	for done < kills && time.Since(began) < most {
		c := command(t, "run", "spec.yaml", "--quiet", "--set", "output.dir=hard")
		if done%2 == 0 {
			time.Sleep(rand.N(took))
		} else {
			writing(rand.N(20*time.Millisecond), 2*took)
		}
		if err := c.Process.Kill(); err != nil && err != os.ErrProcessDone {
			t.Fatal(err)
		}
		c.Wait()
		if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			done++
		} else if !c.ProcessState.Success() {
			t.Fatalf("after %d kills: %s", done, c.Stderr)
		}
		for name, got := range contents(t, "hard") {
			if !reflect.DeepEqual(got, want[name]) {
				t.Fatalf("after %d kills %s is another:\n%.3000v\nwant\n%.3000v", done, name, got, want[name])
			}
		}
	}
	t.Logf("%d kills", done)
	if c := command(t, "run", "spec.yaml", "--quiet", "--set", "output.dir=hard"); c.Wait() != nil {
		t.Fatal(c.Stderr)
	}
	if got := contents(t, "hard"); !reflect.DeepEqual(got, want) {
		t.Error("the result is another")
	}
	left, err := filepath.Glob("hard/*")
	hidden, _ := filepath.Glob("hard/.*")
	if left = append(left, hidden...); err != nil || len(left) != len(want) {
		t.Errorf("there are %v", left)
	}
}

// writing returns a while after outputs are being written, or when that did not happen in time.
func writing(while, most time.Duration) {
	for began := time.Now(); time.Since(began) < most; time.Sleep(time.Millisecond) {
		if files, _ := filepath.Glob("hard/.unfinished-*/*"); len(files) > 0 {
			time.Sleep(while)
			return
		}
	}
}

// contents returns all outputs in a directory without times, and fails if one is incomplete.
func contents(t *testing.T, dir string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, name := range []string{"spec.yaml", "result.json", "cv_results.csv", "predictions.csv", "model.bochner",
		"report.html"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "result.json":
			var r map[string]any
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatalf("%s/%s: %v", dir, name, err)
			}
			for _, key := range []string{"seconds", "peak_memory_bytes", "outputs", "files"} {
				delete(r, key)
			}
			out[name] = r
		case "report.html": // has times
			out[name] = bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>"))
		case "cv_results.csv":
			table, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatalf("%s/%s: %v", dir, name, err)
			}
			seconds := slices.Index(table[0], "fit_seconds")
			for i := range table {
				table[i][seconds] = ""
			}
			out[name] = table
		case "model.bochner":
			out[name] = parts(t, filepath.Join(dir, name))
		default:
			out[name] = strings.ReplaceAll(string(text), "dir: "+dir, "dir: DIR")
		}
	}
	return out
}

// parts returns the files in a model, which can be loaded.
func parts(t *testing.T, path string) map[string]string {
	t.Helper()
	var shown bytes.Buffer
	if code := run(context.Background(), []string{"inspect", path}, &shown, &shown); code != 0 {
		t.Fatalf("%s: %s", path, &shown)
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer archive.Close()
	out := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(r); err != nil {
			t.Fatalf("%s: %s: %v", path, f.Name, err)
		}
		out[f.Name] = text.String()
	}
	return out
}
