package svg

import (
	"strings"
	"testing"
)

// A text that is cut is the longest beginning that the length has place for, of any text in linear time.
func TestCut(t *testing.T) {
	const length = 130
	for _, s := range []string{"short", strings.Repeat("mile", 25_000), strings.Repeat("漢字", 50_000),
		"…" + strings.Repeat("i", 400)} {
		got := truncate(s, length)
		if textLength(got) > length || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Errorf("%.60q of %.20q", got, s)
		}
		if kept := []rune(strings.TrimSuffix(got, "…")); got != s &&
			textLength(string([]rune(s)[:len(kept)+1])+"…") <= length {
			t.Errorf("%.60q could be longer", got)
		}
	}
	if got := truncate("wide", 1); got != "w…" {
		t.Errorf("%q of no length at all", got)
	}
}
