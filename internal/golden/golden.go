// Package golden finds the reference cases and real data sets that lie beside a checkout, for tests.
//
// The folder ../shared, seen from the module's root, is not part of the module. A test that needs
// it is skipped, with a message that says so, where it is absent.
package golden

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a file or folder below ../shared, or skips the test where it is absent.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("golden: no go.mod above the working directory")
		}
		dir = parent
	}
	path := filepath.Join(append([]string{dir, "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("golden: %s is not on this machine", filepath.Join(append([]string{"../shared"}, elem...)...))
	}
	return path
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
