package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/bench/internal/page"
)

func TestParseLine(t *testing.T) {
	s, ok := parseLine("BenchmarkLoadCSV/n=5000/one-2 \t 1\t 25821328 ns/op\t 118.85 MB/s\n")
	if !ok || s.name != "BenchmarkLoadCSV/n=5000/one-2" || s.seconds != 0.025821328 || s.metrics["MB/s"] != 118.85 {
		t.Errorf("got %+v, %v", s, ok)
	}
	for _, line := range []string{"", "PASS", "BenchmarkTransform", "BenchmarkTransform/phase/n=5000/D=256/f32",
		"goos: linux a b"} {
		if s, ok := parseLine(line); ok {
			t.Errorf("%q is no result, got %+v", line, s)
		}
	}
}

// TestWorksAreBenchmarks checks that every benchmark named in a row is a function of directory
// bench.
func TestWorksAreBenchmarks(t *testing.T) {
	text := ""
	files, err := filepath.Glob("../*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(source)
	}
	for _, quick := range []bool{false, true} {
		for _, w := range works(quick) {
			for _, b := range append(w.f64, w.f32...) {
				name, _, _ := strings.Cut(b.name, "/")
				if !strings.Contains(text, "func Benchmark"+name+"(b *testing.B)") {
					t.Errorf("%s: there is no Benchmark%s", w.name, name)
				}
			}
		}
	}
}

// A target is met, missed or unknown; a miss has its reason.
func TestVerdict(t *testing.T) {
	fast, slow := sample{seconds: 1, peak: 100}, sample{seconds: 10, peak: 400}
	w := work{goals: []goal{faster(2.5, 4.5), memory(300)}}
	for _, c := range []struct {
		r    result
		want string
	}{
		{result{peer64: slow, f64: []sample{fast}, f32: []sample{fast}, fits: 1}, "yes"},
		{result{peer64: slow, f64: []sample{slow}, f32: []sample{fast}, fits: 1}, "**no**: too slow, too much memory"},
		{result{peer64: slow, f64: []sample{fast}, f32: []sample{{}}, fits: 1}, "not all measured"},
		{result{f64: []sample{fast}, f32: []sample{fast}, fits: 1}, "not all measured"},
		{result{failed: true}, "**failed**"},
	} {
		if got := w.verdict(c.r); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.r, got, c.want)
		}
	}
}

// TestWriteTable checks that a page keeps handwritten text, and rows of the same host that were not
// measured again.
func TestWriteTable(t *testing.T) {
	line := func(what, seconds string) row {
		return row{[]string{what, "9, 80 / 2 f32", seconds, "–", "3× / 2×", "≥ 4×", "yes", "2026-01-01 00:00"}}
	}
	all := works(false)
	first, second := all[0].what, all[1].what
	file := filepath.Join(t.TempDir(), "page.md")
	place, _, kernels := places(file)
	summary := page.Place{File: filepath.Join(t.TempDir(), "summary.md"), Command: "summary"}
	if err := os.WriteFile(summary.File, []byte(summary.Begin()+page.End), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("before\n"+place.Begin()+page.End+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		machine     string
		rows, stand []row
	}{
		{"one", []row{line(first, "1"), line(second, "2")}, []row{line(first, "1"), line(second, "2")}},
		{"one", []row{line(second, "3")}, []row{line(first, "1"), line(second, "3")}},
		{"another", []row{line(second, "4")}, []row{line(second, "4")}},
	} {
		if err := writeTable(summary, place, step.machine, step.rows); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := parseTable(string(text)); !reflect.DeepEqual(got, step.stand) {
			t.Errorf("on %s: got %v, want %v", step.machine, got, step.stand)
		}
		if text, err := os.ReadFile(summary.File); err != nil || !strings.Contains(string(text),
			fmt.Sprintf("| %s | 9, 80 | %s | 3× |\n", second, step.stand[len(step.stand)-1].cells[2])) {
			t.Errorf("%v, on %s the summary is\n%s", err, step.machine, text)
		}
		if !strings.HasPrefix(string(text), "before\n") || !strings.HasSuffix(string(text), "\nafter\n") ||
			!strings.Contains(string(text), step.machine) {
			t.Errorf("on %s the page is\n%s", step.machine, text)
		}
	}
	if err := page.Check(place, kernels); err == nil {
		t.Error("a page without a place for the kernels is taken")
	}
}
