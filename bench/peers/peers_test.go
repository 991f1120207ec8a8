package main

import (
	"strings"
	"testing"
)

// TestAsGood checks that the table lists the fastest model of the other library with an equal
// score, to four digits.
func TestAsGood(t *testing.T) {
	list := []fitted{{"a", 1, 0.90004, true}, {"b", 5, 0.95, true}, {"c", 2, 0.9, false}, {"d", 3, 0.94, false}}
	for k, want := range []string{"2.00, c", "not reached", "1.00, a", "5.00, b"} {
		if got := fastestEqual(list, list[k]); got != want {
			t.Errorf("%s: %q, want %q", list[k].What, got, want)
		}
	}
	if text := sets[0].table(list); !strings.Contains(text, "| Bochner, b | 5.00 | 0.9500 | not reached |") {
		t.Errorf("%s", text)
	}
}
