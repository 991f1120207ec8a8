package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The figures of the pages show the stored numbers, and the program reproduces them: one panel and
// one draw of each are measured again, with fewer seeds and features.
func TestFiguresShowMeasurements(t *testing.T) {
	list, err := read("errors.csv")
	if err != nil {
		t.Fatal(err)
	}
	for name := range pictures {
		kept, err := os.ReadFile(filepath.Join("..", "..", "docs", name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if string(kept) != picture(name, list) {
			t.Errorf("docs/%s.svg is another picture: go run ./bench/draws -out . -drawn", name)
		}
		panels, err := panelsOf(name)
		if err != nil {
			t.Fatal(err)
		}
		for k, p := range panels[:2] {
			draw := draws[1+2*k]
			again, err := measure(context.Background(), p, draw, []int{64, 256}, 4)
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for _, e := range list {
				for _, a := range again {
					if e.picture == name && e.panel == p.name && e.draw == draw && e.features == a.features {
						seen++
						if ratio := a.rms / e.rms; ratio < 0.6 || ratio > 1.7 || math.Abs(a.expected/e.expected-1) > 1e-4 {
							t.Errorf("%s %s %d: an error of %v, kept are %v", p.name, draw, e.features, a.rms, e.rms)
						}
					}
				}
			}
			if seen != 2 {
				t.Errorf("%s %s: %d numbers are kept", p.name, draw, seen)
			}
		}
	}
}
