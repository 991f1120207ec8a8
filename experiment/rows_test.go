package experiment

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// An error about a row names it by its number in the file, as predictions.csv does, whether it is one of
// a part, of a fold, or of rows that stay in the file.
func TestRowsOfTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const bad = 25
	var b strings.Builder
	b.WriteString("a,y\n")
	for i := range 60 {
		a := fmt.Sprint(i % 7)
		if i == bad {
			a = "1e308"
		}
		fmt.Fprintf(&b, "%s,%s\n", a, class(i))
	}
	put(t, "rows.csv", b.String())
	const text = "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline: [{rff: {features: 10, gamma: 1}}, " +
		"logistic]\noutput: {dir: out}\n"
	seen := map[string]bool{}
	for _, seed := range []string{"1", "2", "3", "4", "5"} { // the row is in either part
		for name, more := range map[string][]Override{
			"in memory": nil,
			"streamed":  {set("data.stream", "always")},
			"a search":  {set("search.grid.logistic.C", "[1, 2]")},
		} {
			_, err := Run(context.Background(), spec(t, text, append(more, set("seed", seed))...), Options{Force: true})
			if want := fmt.Sprintf("row %d, column x0: 1e+308 is too large", bad); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s, seed %s: %v, want %s", name, seed, err, want)
			} else {
				seen[err.Error()] = true
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("one error for all: %v", seen)
	}
}
