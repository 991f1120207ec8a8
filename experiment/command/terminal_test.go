package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
)

// Names in data cannot move the cursor, set the title of a window or turn a line around.
func TestTerminalShowsControls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shown")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &terminal{File: file}
	for _, text := range []string{"plain é ☃ 👩\u200d🔬\n\ttab\n", "\x1b]0;title\a \x1b[2J", "back\r", "\u009b1m",
		"\u202eabc\u2066", "\xff half \xe2\x98", "\x83 whole"} {
		if n, err := out.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	file.Close()
	got, err := os.ReadFile(path)
	want := "plain é ☃ 👩\u200d🔬\n\ttab\n" + `\x1b]0;title\a \x1b[2Jback\r\u009b1m\u202eabc\u2066` + "\xff half ☃ whole"
	if err != nil || string(got) != want {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}

// A name of a column or a class adds no line and no cell to what the commands print, and shows its
// invisible characters.
func TestNamesShowInvisible(t *testing.T) {
	const name = "a\nwritten: x\tb\u2028c\u200bd\u00ade\u3164é 👩"
	const shown = `a\nwritten: x\tb\u2028c\u200bd\u00ade\u3164é 👩`
	params := map[string]any{"columns": []string{name}}
	r := result.Result{Name: name, Train: map[string]float64{"r2": 1}, Positive: name,
		Findings: result.Findings{PerClass: []result.Class{{Name: name}}},
		Search:   &result.Search{Candidates: 1, Best: result.Candidate{Params: params}}}
	m := experiment.Model{Name: name, Classes: []string{name}}
	m.Columns = slices.Grow(m.Columns, 1)[:1]
	m.Columns[0].Name = name
	plainResult, plainModel := r, m
	plainResult.Name, plainResult.Positive = "plain", "plain"
	plainResult.Findings.PerClass = []result.Class{{Name: "plain"}}
	plainResult.Search = &result.Search{Candidates: 1, Best: result.Candidate{Params: map[string]any{"columns": "plain"}}}
	plainModel.Name, plainModel.Classes = "plain", []string{"plain"}
	plainModel.Columns = slices.Clone(m.Columns)
	plainModel.Columns[0].Name = "plain"
	var got, want strings.Builder
	showResult(&got, r)
	showModel(&got, m)
	showResult(&want, plainResult)
	showModel(&want, plainModel)
	if n, lines := strings.Count(got.String(), "\n"), strings.Count(want.String(), "\n"); n != lines {
		t.Errorf("%d lines, %d with a plain name:\n%s", n, lines, got.String())
	}
	if n, names := strings.Count(got.String(), shown), strings.Count(want.String(), "plain"); n != names || n < 7 {
		t.Errorf("%d names shown, want %d, at least 7:\n%s", n, names, got.String())
	}
}
