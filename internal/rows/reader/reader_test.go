package reader

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
)

// How a file is written shows in its first lines.
func TestSniff(t *testing.T) {
	t.Chdir(t.TempDir())
	cases := []struct {
		name, text, format, delimiter string // of names with quote, quotes are ordinary characters
		header                        Header
	}{
		{"plain.csv", "a,b,y\n1,2,no\n", "auto", "", Header{Auto: true}},
		{"numbers.csv", "1,2,no\n3,4,yes\n", "auto", "", Header{}},
		{"semicolons.csv", "a;b;y\n1;?;no\n2;NA;no\n", "auto", ";", Header{Auto: true}},
		{"quoted.csv", "\"a, all\",b\n\"x, y\",2\n", "auto", "", Header{Auto: true}},
		{"quote.tsv", "a \"b\" c\t1\nd \"e\t2\n", "auto", "", Header{}},
		{"several.csv", "a,b\n\"x\ny \"\"z\"\"\",2\n", "auto", "", Header{Auto: true}},
		{"gaps.csv", "a,b,y\n,,no\n1,,yes\n", "auto", "", Header{Auto: true}},
		{"tabs.tsv", "a\tb\n1\t2\n", "auto", "", Header{Auto: true}},
		{"tabs.txt", "1\t2\n3\t4\n", "auto", "tab", Header{}},
		{"blanks.txt", " 1  2 3\n 4 5   6\n", "auto", "space", Header{}},
		{"pairs", "+1 1:0.5 7:1\n-1 2:1 # note\n", "svmlight", "", Header{Auto: true}},
		{"attributes", "% note\n@RELATION r\n", "arff", "", Header{Auto: true}},
		{"comma.txt", "1,5;2,5\n3,5;4,5\n", "auto", ";", Header{}},
		{"many.csv", "a,b,c,d,e\n,,,,\n1,,,,2\n", "auto", "", Header{Auto: true}},
		{"anything", "a,b\n1,2\n", "csv", "", Header{Auto: true}},
	}
	for _, c := range cases {
		if err := os.WriteFile(c.name, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := NewFiles()
		if err := got.Sniff([]string{c.name}); err != nil {
			t.Fatal(err)
		}
		if got.Format != c.format || got.CSV.Delimiter != c.delimiter || got.CSV.Header != c.header ||
			(got.CSV.Quote == "none") != strings.HasPrefix(c.name, "quote.") {
			t.Errorf("%s: format %s, %+v", c.name, got.Format, got.CSV)
		}
	}
}

// TestStreamIsNotBuffered checks that a stream does not buffer the last pass.
func TestStreamIsNotBuffered(t *testing.T) {
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

// Some NUL bytes do not make a file UTF-16, and lines that end with \r alone are an error.
func TestSniffOddBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"a,y\n1,2\n2,3\x00\n":                        "utf-8",
		"\xff\xfea\x00,\x00y\x00\n\x00":              "utf-16",
		"a\x00,\x00y\x00\n\x001\x00,\x002\x00\n\x00": "utf-16",
	} {
		os.WriteFile("rows.csv", []byte(text), 0o600)
		f := NewFiles()
		if err := f.Sniff([]string{"rows.csv"}); err != nil || f.CSV.Encoding != want {
			t.Errorf("%q: %s, %v, want %s", text, f.CSV.Encoding, err, want)
		}
	}
	os.WriteFile("rows.csv", []byte("a,y\r1,2\r2,3\r"), 0o600)
	f := NewFiles()
	if err := f.Sniff([]string{"rows.csv"}); err == nil || !strings.Contains(err.Error(), `got \r alone`) {
		t.Error(err)
	}
}
