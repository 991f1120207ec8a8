package main

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
)

// Every estimator can be fitted at the first point of each of its curves, and its plan says something.
func TestEveryCurveBegins(t *testing.T) {
	for _, w := range works(true) {
		for _, axis := range axes {
			points := w.along(axis, 2)
			if len(points) == 0 {
				continue
			}
			p := points[0]
			p.Rows = min(p.Rows, 120)
			if p.Candidates > 0 || p.Cores == 1 {
				continue // the same fit
			}
			machine, err := w.pipeline(max(p.Width&^1, 2))
			if err != nil {
				t.Fatalf("%s: %v", w.name, err)
			}
			set := rows(p, w.task)
			if _, width := set.X.Dims(); set.Rows() != p.Rows || width != p.Inputs {
				t.Errorf("%s: rows of %v", w.name, p)
			}
			if !(machine.Cost(set.Shape()).Flops > 0) {
				t.Errorf("%s: no plan of %v", w.name, p)
			}
		}
	}
}

// A point that is measured has a time, a plan, and as many outputs as it says.
func TestAPointIsMeasured(t *testing.T) {
	list := works(true)
	p := list[0].base
	p.Rows, p.Width, p.Cores, p.Outputs = 200, 20, 1, 3
	m, err := list[0].measure(context.Background(), p)
	if err != nil || !(m.Seconds > 0 && m.Planned > 0 && m.MiB > 0) {
		t.Errorf("%+v, %v", m, err)
	}
	if set := rows(point{Rows: 500, Inputs: 4, Outputs: 5}, datasets.Classification); set.Schema.Outputs() != 5 || set.Y[0] != math.Floor(set.Y[0]) {
		t.Errorf("%d classes", set.Schema.Outputs())
	}
}

// The exponent is the slope of the last two points.
func TestSlope(t *testing.T) {
	if got := slope([]float64{1, 2, 4}, []float64{9, 3, 12}); math.Abs(got-2) > 1e-12 {
		t.Errorf("%v, wanted 2", got)
	}
}

// The table of the specs says how far each plan is off, and how many are near.
func TestComparedCounts(t *testing.T) {
	text := compared([]outcome{{name: "one", planned: phases{Total: 2}, ran: phases{Total: 1}}})
	for _, want := range []string{"| one | 2.0 | 1.0 | 2.00 |", "0 of 1 are within"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
