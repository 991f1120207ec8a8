package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Beside each fit stands the fastest one of the other side that is as good, to four digits.
func TestAsGood(t *testing.T) {
	list := []fitted{{"a", 1, 0.90004, true}, {"b", 5, 0.95, true}, {"c", 2, 0.9, false}, {"d", 3, 0.94, false}}
	for k, want := range []string{"2.00, c", "not reached", "1.00, a", "5.00, b"} {
		if got := asGood(list, list[k]); got != want {
			t.Errorf("%s: %q, wanted %q", list[k].What, got, want)
		}
	}
	page := filepath.Join(t.TempDir(), "page.md")
	os.WriteFile(page, []byte("above\n"+begin+"old\n"+end+"\nbelow\n"), 0o644)
	if err := write(page, sets[0].table(list)); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(page)
	if text := string(got); strings.Contains(text, "old") || !strings.Contains(text, "| Bochner, b | 5.00 | 0.9500 | not reached |") || !strings.HasSuffix(text, end+"\nbelow\n") {
		t.Errorf("%s", got)
	}
}
