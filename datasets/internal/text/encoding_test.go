package text

import (
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// TestDecode checks that text in all encodings is converted to UTF-8, and that invalid bytes remain
// invalid in place.
func TestDecode(t *testing.T) {
	for _, c := range []struct{ encoding, in, want string }{
		{"", "a\xe9", "a\xe9"},
		{"utf-8", "é", "é"},
		{"latin-1", "caf\xe9 \x80", "café \u0080"},
		{"windows-1252", "caf\xe9 \x80\x99\xff", "café €™ÿ"},
		{"windows-1252", "a\x81b", "a\xffb"},
		{"utf-16", "\xff\xfea\x00\xe9\x00", "aé"},
		{"utf-16", "\xfe\xff\x00a\x20\xac", "a€"},
		{"utf-16", "a\x00\n\x00", "a\n"},
		{"utf-16", "\x00a\x00\n", "a\n"},
		{"utf-16", "\xff\xfe\x3d\xd8\x00\xde.\x00", "😀."},
		{"utf-16", "\xff\xfe\x3d\xd8.\x00", "\xff."},
		{"utf-16", "\xff\xfe\x00\xdex\x00", "\xffx"},
		{"utf-16", "\xff\xfea\x00b", "a\xff"},
		{"utf-16", "\xff\xfea\x00\x3d\xd8", "a\xff"},
		{"utf-16", "", ""},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(c.in),
			"bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
			decoded, err := Decode(r, c.encoding)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(decoded)
			if err != nil || string(got) != c.want {
				t.Errorf("%s %s %q: %q, %v; want %q", name, c.encoding, c.in, got, err, c.want)
			}
		}
	}
	long := strings.Repeat("é\n", 200_000)
	decoded, _ := Decode(strings.NewReader(strings.ReplaceAll(long, "é", "\xe9")), "latin-1")
	if got, err := io.ReadAll(iotest.OneByteReader(decoded)); err != nil || string(got) != long {
		t.Errorf("a long text comes out as %d bytes, %v", len(got), err)
	}
	if _, err := Decode(strings.NewReader(""), "ebcdic"); err == nil ||
		!strings.Contains(err.Error(), "utf-8, latin-1, windows-1252, utf-16") {
		t.Errorf("an unknown encoding: %v", err)
	}
}

func TestInvalid(t *testing.T) {
	for in, want := range map[string]int{"": -1, "aé€😀\ufffd": -1, "aé\xe9": 3, "\xff": 0, "ab\xc3": 2} {
		if got := Invalid([]byte(in)); got != want || (want < 0) != utf8.ValidString(in) {
			t.Errorf("%q is invalid at %d, want %d", in, got, want)
		}
	}
}

// TestNotation checks that separators are accepted only in valid positions.
func TestNotation(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		n    Notation
		in   string
		want float64
	}{
		{Notation{}, "1.5", 1.5},
		{Notation{}, "1,5", none},
		{Notation{Decimal: '.'}, "1.5", 1.5},
		{Notation{Decimal: ','}, "1,5", 1.5},
		{Notation{Decimal: ','}, " -0,25e1 ", -2.5},
		{Notation{Decimal: ','}, "7", 7},
		{Notation{Decimal: ','}, "1.5", none},
		{Notation{Decimal: ','}, "1,5,2", none},
		{Notation{',', '.'}, "1.234.567,25", 1234567.25},
		{Notation{',', '.'}, "1234567,25", 1234567.25},
		{Notation{',', '.'}, "-12.345", -12345},
		{Notation{',', '.'}, "1.5", none},
		{Notation{',', '.'}, "0.123", none},
		{Notation{',', '.'}, "-1.023", -1023},
		{Notation{',', '.'}, "1234.567", none},
		{Notation{',', '.'}, ".123", none},
		{Notation{',', '.'}, "1.23,5", none},
		{Notation{',', '.'}, "1,234.5", none},
		{Notation{Thousands: ','}, "1,234.5", 1234.5},
		{Notation{Thousands: ','}, "1,234e2", 123400},
		{Notation{Thousands: ','}, "1,23e2", none},
		{Notation{'.', '\''}, "1'000", 1000},
		{Notation{'.', ' '}, "1 000 000", 1e6},
		{Notation{'.', ' '}, "1 0 0", none},
		{Notation{',', '.'}, "", none},
		{Notation{',', '.'}, "x", none},
	} {
		got, ok := c.n.Number([]byte(c.in))
		if ok == math.IsNaN(c.want) || ok && got != c.want {
			t.Errorf("%+v: %q is %v %v, want %v", c.n, c.in, got, ok, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Notation{',', '.'}.Number([]byte("1.234,5")) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
