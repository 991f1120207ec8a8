package shardfit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/shardfit"
)

// A job on several files gives one model in any number of shards; their columns may have any order, and a file may
// be empty.
func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(table(t, dir, 9_000))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "parts"), 0o755); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	turned := func(line string) string { // moves the last column to the front
		at := strings.LastIndex(line, ",")
		return strings.TrimSuffix(line[at+1:], "\n") + "," + line[:at] + "\n"
	}
	for k, end := range []int{1000, 1000, 3000, 3001, 9001} {
		var b strings.Builder
		from := []int{1, 1000, 1000, 3000, 3001}[k]
		for _, line := range append([]string{lines[0]}, lines[from:end]...) {
			if k%2 == 0 {
				line = turned(line)
			}
			b.WriteString(line)
		}
		if err := os.WriteFile(filepath.Join(dir, "parts", fmt.Sprintf("part-%d.csv", k+8)), []byte(b.String()),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := load(t, dir, strings.ReplaceAll(specs["pca"], "rows.csv", "'parts/*.csv'"),
		config.Override{Path: "output.dir", Value: filepath.Join(dir, "run")})
	_, want, _ := fitted(t, spec, 1, nil)
	for _, n := range []int{2, 6} {
		if _, got, _ := fitted(t, spec, n, nil); !bytes.Equal(got, want) {
			t.Errorf("in %d shards another model", n)
		}
	}
	spec = load(t, dir, strings.ReplaceAll(specs["pca"], "rows.csv", "'part/*.csv'"))
	if _, err := shardfit.Fit(context.Background(), spec, shardfit.Options{Shards: 1}); err == nil ||
		!strings.Contains(err.Error(), "part/*.csv: no file is called so") {
		t.Error(err)
	}
}
