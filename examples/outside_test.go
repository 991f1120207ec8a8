// Package examples_test runs the tests of examples/outside, which is a separate module.
package examples_test

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	// Dependencies of the module's tests: a change there invalidates the cached result.
	_ "github.com/bochner-ml/bochner/datasets/pass"
	_ "github.com/bochner-ml/bochner/estimator/estimatortest"
	_ "github.com/bochner-ml/bochner/experiment"
	_ "github.com/bochner-ml/bochner/transformer/transformertest"
)

// The module vets and passes its tests.
func TestOutside(t *testing.T) {
	files, err := filepath.Glob("outside/*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files { // the test cache depends on files that are read
		if strings.HasSuffix(file, ".go") {
			publicOnly(t, file)
		} else if info, err := os.Stat(file); err == nil && !info.IsDir() {
			_, _ = os.ReadFile(file)
		}
	}
	program, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command to test examples/outside with: ", err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = "outside", append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s in examples/outside: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// publicOnly fails on an import of an internal package.
func publicOnly(t *testing.T, file string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); strings.Contains(path, "/internal") {
			t.Errorf("%s imports %s", file, path)
		}
	}
}
