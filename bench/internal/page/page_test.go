package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/bench/internal/page"
)

// TestPageIsKept checks that only the text in the place is replaced, and that a missing place is an
// error that names it.
func TestPageIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	one, two, none := page.Place{File: file, Command: "one"}, page.Place{File: file, Command: "two"},
		page.Place{File: file, Command: "none"}
	around := "above\n" + one.Begin() + "old" + page.End + "\nbetween\n" + two.Begin() + "kept" + page.End + "\nbelow\n"
	if err := os.WriteFile(file, []byte(around), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := page.Check(one, two); err != nil {
		t.Error(err)
	}
	if err := page.Check(one, none); err == nil || !strings.Contains(err.Error(), "made by none") {
		t.Errorf("of a place that is not there: %v", err)
	}
	if err := one.Write("new\n"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if want := strings.Replace(around, "old", "\nnew\n", 1); err != nil || string(text) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, text, want)
	}
	if none.Write("new") == nil || one.Replace(strings.ToUpper) != nil {
		t.Error("a string without a place was written, or one with a place not")
	}
	if text, _ = os.ReadFile(file); !strings.Contains(string(text), "NEW\n"+page.End) {
		t.Errorf("got\n%s", text)
	}
}
