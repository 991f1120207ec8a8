package rows

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/document"
)

// decoded returns the spec of a text.
func decoded(t *testing.T, text string) document.Spec {
	t.Helper()
	d := document.Decode("spec.yaml", []byte(text))
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	return d.Spec
}

// sized is a source that says it has many rows.
type sized struct {
	datasets.Source
	rows, cols int
}

func (s sized) Dims() (rows, cols int) { return s.rows, s.cols }

// Rows stay in the file when they are many and the model reads them once, or when the spec says so.
func TestWhenRowsAreStreamed(t *testing.T) {
	t.Chdir(t.TempDir())
	few, many := sized{rows: 1000, cols: 10}, sized{rows: 10_000_000, cols: 20}
	cases := []struct {
		more, model string
		rows        datasets.Source
		want        bool
	}{
		{"", "ridge", few, false},
		{"", "ridge", many, true},
		{", stream: never", "ridge", many, false},
		{", stream: always", "svr", few, true},
	}
	for _, c := range cases {
		s := decoded(t, "data: {train: rows.csv, target: y, drop: [c]"+c.more+"}\npipeline: ["+c.model+"]\n")
		if got := Streams(s, c.rows); got != c.want {
			t.Errorf("%s%s: %v, wanted %v", c.model, c.more, got, c.want)
		}
	}
	s := decoded(t, "data: {train: rows.csv, target: y, drop: [c]}\npipeline: [ridge]\nsearch: {grid: {ridge.alpha: [1, 2]}}\n")
	if Streams(s, many) {
		t.Error("a search does not hold its rows")
	}
}

// How a file is written shows in its first lines.
func TestSniff(t *testing.T) {
	t.Chdir(t.TempDir())
	cases := []struct {
		name, text, format, delimiter string
		header                        document.Header
	}{
		{"plain.csv", "a,b,y\n1,2,no\n", "auto", "", document.Header{Auto: true}},
		{"numbers.csv", "1,2,no\n3,4,yes\n", "auto", "", document.Header{}},
		{"semicolons.csv", "a;b;y\n1;?;no\n2;NA;no\n", "auto", ";", document.Header{Auto: true}},
		{"quoted.csv", "\"a, all\",b\n\"x, y\",2\n", "auto", "", document.Header{Auto: true}},
		{"gaps.csv", "a,b,y\n,,no\n1,,yes\n", "auto", "", document.Header{Auto: true}},
		{"tabs.tsv", "a\tb\n1\t2\n", "auto", "", document.Header{Auto: true}},
		{"tabs.txt", "1\t2\n3\t4\n", "auto", "tab", document.Header{}},
		{"blanks.txt", " 1  2 3\n 4 5   6\n", "auto", "space", document.Header{}},
		{"pairs", "+1 1:0.5 7:1\n-1 2:1 # note\n", "svmlight", "", document.Header{Auto: true}},
		{"attributes", "% note\n@RELATION r\n", "arff", "", document.Header{Auto: true}},
		{"comma.txt", "1,5;2,5\n3,5;4,5\n", "auto", ";", document.Header{}},
		{"many.csv", "a,b,c,d,e\n,,,,\n1,,,,2\n", "auto", "", document.Header{Auto: true}},
		{"anything", "a,b\n1,2\n", "csv", "", document.Header{Auto: true}},
	}
	for _, c := range cases {
		if err := os.WriteFile(c.name, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := document.New().Data
		if err := Sniff(&got, []string{c.name}); err != nil {
			t.Fatal(err)
		}
		if got.Format != c.format || got.CSV.Delimiter != c.delimiter || got.CSV.Header != c.header {
			t.Errorf("%s: format %s, %+v", c.name, got.Format, got.CSV)
		}
	}
}

// Of what comes once nothing is held behind the last pass.
func TestStreamIsNotHeld(t *testing.T) {
	s := NewStream(context.Background(), "-", strings.NewReader(strings.Repeat("1,2\n", 1_500_000)))
	defer s.Close()
	s.LastPass()
	file, err := s.Open("-")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, file); err != nil || n < 4e6 || cap(s.buffer) > 1<<20 {
		t.Errorf("%d bytes held of %d, %v", cap(s.buffer), n, err)
	}
	if _, err := s.Open("-"); err == nil {
		t.Error("it can be read twice")
	}
}
