// Package golden locates the reference cases and real data sets next to a checkout, for tests.
//
// The directory ../shared, relative to the module root, is not part of the module. Tests that need
// it are skipped with a message if it is absent. The gate, .ci/run, sets BOCHNER_REFERENCE to a
// file name if the directory exists. Missing data are then failures, and the names of the requested
// reference cases are written to that file, so that the gate finds cases that no test reads.
package golden

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// NotYet is the reference cases that no test reads, each with the capability to come that it is for.
// It is the one place to list them; the gate fails on a case that is neither read nor listed, and on
// one that is both.
var NotYet = map[string]string{}

// Path returns the path of a file or directory below ../shared; it skips the test if it does not
// exist.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{shared(t)}, elem...)...)
	if record := os.Getenv("BOCHNER_REFERENCE"); record != "" {
		if err := note(record, path); err != nil {
			t.Fatalf("golden: %v", err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		skipOrFail(t, "golden: %s is not on this machine", filepath.Join(append([]string{"../shared"}, elem...)...))
	}
	return path
}

// shared returns the path of ../shared.
func shared(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("golden: no go.mod above the working directory")
		}
		dir = parent
	}
}

// skipOrFail skips the test, or fails it if BOCHNER_REFERENCE forbids skips.
func skipOrFail(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("BOCHNER_REFERENCE") != "" {
		t.Fatalf(format, args...)
		return
	}
	t.Skipf(format, args...)
}

// note appends the name of the reference case of a path to the record.
func note(record, path string) error {
	name, isCase := caseOf(path)
	if !isCase {
		return nil
	}
	f, err := os.OpenFile(record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(name + "\n")
	return errors.Join(err, f.Close())
}

// caseOf returns the name of the reference case at a path.
func caseOf(path string) (name string, ok bool) {
	if filepath.Base(filepath.Dir(path)) != "reference" {
		return "", false
	}
	return strings.CutSuffix(filepath.Base(path), ".json")
}

// Load decodes reference case name into input and expect, pointers to structs of the test's own.
func Load(t testing.TB, name string, input, expect any) {
	t.Helper()
	raw, err := os.ReadFile(Path(t, "reference", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Input, Expect json.RawMessage }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("golden: %s: %v", name, err)
	}
	if err := json.Unmarshal(doc.Input, input); err != nil {
		t.Fatalf("golden: %s: input: %v", name, err)
	}
	if err := json.Unmarshal(doc.Expect, expect); err != nil {
		t.Fatalf("golden: %s: expect: %v", name, err)
	}
}
