package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/pipeline"
)

// written are the outputs of an experiment below specs, run in this process.
func written(t *testing.T, name string, set ...experiment.Override) map[string][]byte {
	t.Helper()
	folder := t.TempDir()
	if _, err := prepare(folder); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(folder, "out")
	spec, err := experiment.Load(context.Background(), filepath.Join(folder, name+".yaml"),
		append(set, experiment.Override{Path: "output.dir", Value: out})...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Run(context.Background(), spec, experiment.Options{}); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range []string{"result.json", "cv_results.csv", "predictions.csv", "model.bochner"} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err == nil {
			files[name] = text
		}
	}
	return files
}

// TestCompare checks that two runs of one program compare equal, and that another penalty or seed
// is reported where it has an effect.
func TestCompare(t *testing.T) {
	first := written(t, "numbers-ridge-grid")
	again, err := compare(first, written(t, "numbers-ridge-grid"))
	if err != nil || len(again) > 0 {
		t.Fatalf("the same experiment differs from itself: %v, %v", again, err)
	}
	other, err := compare(first, written(t, "numbers-ridge-grid", experiment.Override{Path: "seed", Value: "8"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cv_results.csv: ", "model.bochner/model.json: ", "predictions.csv: ", "result.json: "} {
		if !strings.Contains(strings.Join(other, "\n"), want) {
			t.Errorf("another seed is not seen in %s: got %q", want, other)
		}
	}
}

// A single differing number is reported with its size.
func TestCompareDifferences(t *testing.T) {
	old := map[string][]byte{"predictions.csv": []byte("row,prediction\n0,1.5\n1,2.5\n")}
	for _, c := range []struct{ now, want string }{
		{"row,prediction\n0,1.5\n1,2.5\n", ""},
		{"row,prediction\n0,1.5\n1,2.500025\n", "predictions.csv: 1 of 4 numbers differ, by 1e-05 of the largest at most"},
		{"row,prediction\n0,yes\n1,2.5\n", "predictions.csv: other content from byte 17"},
		{"", "predictions.csv: is not written any more"},
	} {
		now := map[string][]byte{"predictions.csv": []byte(c.now)}
		if c.now == "" {
			now = nil
		}
		got, err := compare(old, now)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got, "\n"); (c.want == "") != (text == "") || !strings.HasPrefix(text, c.want) {
			t.Errorf("%q: got %q, want %q", c.now, text, c.want)
		}
	}
}

// Every step of the registry is in one of the experiments, so that none can change unseen.
func TestSpecsHaveEveryStep(t *testing.T) {
	entries, err := specs.ReadDir("specs")
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, entry := range entries {
		text, err := specs.ReadFile("specs/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, step := range pipeline.Registered() {
		used := regexp.MustCompile(`(?m)[-{\[ ] ?` + step.Name + `([:,}\]]|$)`)
		if step.Name != "steps" && !used.Match(all.Bytes()) {
			t.Errorf("no experiment below specs has the step %s", step.Name)
		}
	}
}
