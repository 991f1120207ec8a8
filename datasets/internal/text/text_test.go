package text

import (
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// standard is the reference for Number: strconv, for plain finite decimal numbers.
func standard(s string) (float64, bool) {
	s = strings.Trim(s, " \t")
	if s == "" || strings.ContainsAny(s, "_xXpPiInN") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

func check(t *testing.T, s string) {
	t.Helper()
	want, wantOK := standard(s)
	got, ok := Number([]byte(s))
	if ok != wantOK || math.Float64bits(got) != math.Float64bits(want) && ok {
		t.Errorf("%q: %v %v, want %v %v", s, got, ok, want, wantOK)
	}
	for _, behind := range []string{"", ",", ";3,1415926535", "\n1", " ", "x"} { // what follows does not matter
		if v, n := Leading([]byte(s + behind)); n == len(s) && n > 0 && math.Float64bits(v) != math.Float64bits(want) {
			t.Errorf("%q begins with %v, want %v", s+behind, v, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, s := range []string{"", "+", ".", "-.", "e5", "1e", "1e+", "0", "-0", "1.", ".5", "+1", " 1\t", "1 2", "0x1p-2",
		"1_000", "inf", "nan", "-Infinity",
		"9007199254740992", "9007199254740993", "9007199254740993.0000000000000000000001", "1e22", "1e23", "8.5e22", "1e-22",
		"1e-23", "123e-400", "1e400", "-1e400",
		"2.2250738585072011e-308", "5e-324", "2e-324", "1.7976931348623157e308", "1.7976931348623159e308",
		"0e99999999999999999999", "1e-99999999999999999999", "1e99999999999999999999",
		"18446744073709551616", "00000000000000000000000000000001.5", "0.000000000000000000000000000001234567890123456789",
		"184467440737095516160", "1--1", "1e5.", "1e5e5", "٣"} {
		check(t, s)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range many(200_000) {
		v := math.Float64frombits(rng.Uint64())
		if v-v != 0 {
			continue
		}
		check(t, strconv.FormatFloat(v, "efg"[rng.IntN(3)], rng.IntN(20)-1, 64))
		check(t, strconv.FormatFloat(rng.NormFloat64(), 'g', rng.IntN(18)-1, 64))
	}
}

// many is n, or a tenth of it where tests are to be short.
func many(n int) int {
	if !exhaustive.Tests() {
		return n / 10
	}
	return n
}

// TestNumberHalfway checks that numbers at and next to the midpoint of two float64 are rounded
// correctly.
func TestNumberHalfway(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range many(100_000) {
		digits := strconv.FormatUint(rng.Uint64()%1e19, 10)
		at := rng.IntN(len(digits) + 1)
		check(t, digits[:at]+"."+digits[at:])
		m := rng.Uint64()>>11 | 1<<52
		half := strconv.FormatUint(2*m+1, 10) // of 54 bits: in the middle
		check(t, half)
		check(t, half+"."+strings.Repeat("0", rng.IntN(3)))
		check(t, half+".1")
		k := 1 + rng.IntN(9) // (2m+1)/2^k is a decimal number with k digits after the point
		x := new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(2*rng.Uint32())+1), new(big.Int).Lsh(big.NewInt(1), uint(k)))
		check(t, x.FloatString(k))
	}
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1.5", "-2e-3", "9007199254740993", " 7 ", "1e23"} {
		f.Add(s)
	}
	f.Fuzz(check)
}

func TestNumberDoesNotAllocate(t *testing.T) {
	for _, s := range []string{"1.25", "-0.12345678901234567"} {
		b := []byte(s)
		if n := testing.AllocsPerRun(100, func() { Number(b) }); n != 0 {
			t.Errorf("%s: %v allocations", s, n)
		}
	}
}

func BenchmarkNumber(b *testing.B) {
	for _, s := range []string{"42", "-0.1234", "0.4608690142631531", "-0.12345678901234567"} {
		b.Run(s, func(b *testing.B) {
			text := []byte(s)
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				Number(text)
			}
		})
	}
}

// TestLines checks that lines do not depend on how the reader splits the text, up to the bound.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	text := "a\r\n\n" + long + "\nlast\r"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text),
		"halves": iotest.HalfReader(strings.NewReader(text)), "with EOF": iotest.DataErrReader(strings.NewReader(text))} {
		w := NewWindow(r, 0)
		for _, want := range []string{"a", "", long, "last"} {
			if line, err := w.Line(); err != nil || string(line) != want {
				t.Fatalf("%s: line %.20q, %v; want %.20q", name, line, err, want)
			}
		}
		if _, err := w.Line(); err != io.EOF {
			t.Errorf("%s: %v at the end", name, err)
		}
	}
	w := NewWindow(strings.NewReader(text), 1<<20)
	w.Line()
	w.Line()
	if _, err := w.Line(); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v for a line longer than the bound", err)
	}
	broken := errors.New("broken")
	if _, err := NewWindow(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), 0).Line(); err != broken {
		t.Errorf("%v from a reader that fails", err)
	}
}
