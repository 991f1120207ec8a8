package main

import (
	"fmt"
	"slices"
	"strings"
)

// work is a row of the table: a task that Bochner and the baseline run.
type work struct {
	name, what string
	// task name of the baseline script, "csv" for pandas, "" without baseline
	peer     string
	f64, f32 []bench // usually one
	optimum  string  // benchmark that reports the distance from the optimum, "" for none
	once     bool    // independent of -repeat
	fits     float64 // fits of the baseline per fit of ours; 0 for 1
	limit    string  // text of the target
	goals    []goal
}

// bench is a Go benchmark by its full name.
type bench struct {
	name string
	time string // its -benchtime, "" for 1x
}

// goal is a part of a target.
type goal struct {
	text  string // text of the verdict if it is missed
	holds func(r result) (holds, known bool)
}

// works returns the rows of the table in order, with small sizes if quick. The targets apply to the
// full sizes.
func works(quick bool) []work {
	n, big, D, search := 100_000, 1_000_000, 2048, "n=20000/D=1000"
	if quick {
		n, big, D, search = 5000, 5000, 256, "n=2000/D=100"
	}
	shape := fmt.Sprintf("n=%d/D=%d", n, D)
	all := slices.Concat(fits(shape), []work{
		{
			name: "file", once: true, what: fmt.Sprintf("ridge from a CSV file, %d / %d rows", n, big),
			f64:   []bench{{name: "RidgeFitFile/" + shape + "/f64"}, {name: fmt.Sprintf("RidgeFitFile/n=%d/D=%d/f64", big, D)}},
			f32:   []bench{{name: "RidgeFitFile/" + shape + "/f32"}, {name: fmt.Sprintf("RidgeFitFile/n=%d/D=%d/f32", big, D)}},
			limit: "memory the same within 10 %, ≤ 300 MiB",
			goals: []goal{memory(300), {"memory grows with the rows", flat}},
		},
		{
			name: "grid", what: "grid search, 5 γ × 10 α × 5 folds", peer: unless(quick, "gridsearch"),
			f64:   []bench{{name: "GridSearch/" + search + "/gamma×alpha/f64"}},
			f32:   []bench{{name: "GridSearch/" + search + "/gamma×alpha/f32"}},
			limit: "≥ 60× f64",
			goals: []goal{faster(60, 0)},
		},
		{
			name: "grid_widths", what: "the same with 4 D as well, per fit", peer: unless(quick, "gridsearch"), fits: 4,
			f64:   []bench{{name: "GridSearch/" + search + "/D×gamma×alpha/f64"}},
			f32:   []bench{{name: "GridSearch/" + search + "/D×gamma×alpha/f32"}},
			limit: "≥ 200× f64",
			goals: []goal{faster(200, 0)},
		},
		{
			name: "predict", what: "predict one row, loaded pipeline", peer: "predict_one",
			f64:   []bench{{fmt.Sprintf("PredictOne/n=5000/D=%d/f64", D), "5000x"}},
			f32:   []bench{{fmt.Sprintf("PredictOne/n=5000/D=%d/f32", D), "5000x"}},
			limit: "≤ 15 µs f64, 1 allocation (the result)",
			goals: []goal{within(15e-6), {"more than one allocation", func(r result) (bool, bool) {
				return every(r.f64, func(s sample) (bool, bool) { return s.metrics["allocs/op"] <= 1, s.known() })
			}}},
		},
		{
			name: "csv", what: "load CSV, 55 columns, all cores", peer: "csv",
			f64:   []bench{{name: fmt.Sprintf("LoadCSV/n=%d/all", n)}, {name: fmt.Sprintf("LoadCSV/n=%d/one", n)}},
			limit: "≥ 150 MB/s on one core",
			goals: []goal{{"below 150 MB/s on one core", func(r result) (bool, bool) {
				one := r.f64[1]
				return one.metrics["MB/s"] >= 150, one.known()
			}}},
		},
		{
			name: "binning", what: "random binning + SVM, covtype subset, P=50 / 400",
			f64:   []bench{{name: "BinningSVM/P=50"}, {name: "BinningSVM/P=400"}},
			limit: "≤ 8.8 % error in 2 s, ≤ 7.5 % in 12 s",
			goals: []goal{{"P=50 misses 8.8 % in 2 s", errorWithin(0, 8.8, 2)},
				{"P=400 misses 7.5 % in 12 s", errorWithin(1, 7.5, 12)}},
		},
	})
	if quick {
		return all[:len(all)-1] // the last has one size, the full one
	}
	return all
}

// fits are the rows of maps and fits of one shape.
func fits(shape string) []work {
	return []work{
		{
			name: "transform", what: "transform, the peer's map", peer: "transform",
			f64:   []bench{{name: "Transform/phase/" + shape + "/f64"}},
			f32:   []bench{{name: "Transform/phase/" + shape + "/f32"}},
			limit: "≥ 4× / ≥ 4×",
			goals: []goal{faster(4, 4)},
		},
		{
			name: "paired", what: "transform, the map by default", peer: "transform",
			f64:   []bench{{name: "Transform/paired/" + shape + "/f64"}},
			f32:   []bench{{name: "Transform/paired/" + shape + "/f32"}},
			limit: "≥ 4× / ≥ 4×",
			goals: []goal{faster(4, 4)},
		},
		{
			name: "tiles", what: "transform, into a tile used again", peer: "transform",
			f64:   []bench{{name: "Transform/tiles/" + shape + "/f64"}},
			f32:   []bench{{name: "Transform/tiles/" + shape + "/f32"}},
			limit: "≥ 4× / ≥ 4×",
			goals: []goal{faster(4, 4)},
		},
		{
			name: "ridge", what: "fit features → ridge", peer: "ridge",
			f64:   []bench{{name: "RidgeFit/" + shape + "/f64"}},
			f32:   []bench{{name: "RidgeFit/" + shape + "/f32"}},
			limit: "≥ 2.5× / ≥ 4.5×, ≤ 300 MiB",
			goals: []goal{faster(2.5, 4.5), memory(300)},
		},
		{
			name: "logistic", what: "fit features → logistic, C=1", peer: "logistic",
			f64: []bench{{name: "LogisticFit/" + shape + "/f64"}}, f32: []bench{{name: "LogisticFit/" + shape + "/f32"}},
			optimum: "LogisticFit/" + shape,
			limit:   "≥ 3× / ≥ 5×, objective within 1e-4",
			goals:   []goal{faster(3, 5), optimal},
		},
		{
			name: "svm", what: "fit features → squared-hinge SVM, C=1", peer: "svm",
			f64: []bench{{name: "SVMFit/" + shape + "/f64"}}, f32: []bench{{name: "SVMFit/" + shape + "/f32"}},
			optimum: "SVMFit/" + shape,
			limit:   "≥ 8× / ≥ 12×, objective within 1e-4",
			goals:   []goal{faster(8, 12), optimal},
		},
	}
}

func unless(quick bool, peer string) string {
	if quick {
		return "" // it has one size, the full one
	}
	return peer
}

// faster requires ratios of the baseline's time to ours, 0 for no requirement.
func faster(f64, f32 float64) goal {
	return goal{"too slow", func(r result) (bool, bool) {
		a, aKnown := r.ratio64()
		b, bKnown := r.ratio32()
		return a >= f64 && (b >= f32 || f32 == 0), aKnown && (bKnown || f32 == 0)
	}}
}

// within requires a maximum time in seconds, in double precision.
func within(seconds float64) goal {
	return goal{"too slow", func(r result) (bool, bool) {
		return every(r.f64, func(s sample) (bool, bool) { return s.seconds <= seconds, s.known() })
	}}
}

// memory requires a maximum peak in MiB.
func memory(mib float64) goal {
	return goal{"too much memory", func(r result) (bool, bool) {
		return every(slices.Concat(r.f64, r.f32), func(s sample) (bool, bool) {
			return s.peak <= mib, s.known() && s.peak > 0
		})
	}}
}

// flat requires that memory does not grow with the number of rows.
func flat(r result) (bool, bool) {
	holds := func(s []sample) bool { return s[1].peak <= 1.1*s[0].peak }
	known := func(s []sample) bool { return s[0].peak > 0 && s[1].peak > 0 }
	return holds(r.f64) && holds(r.f32), known(r.f64) && known(r.f32)
}

// optimal requires objectives within 1e-4 of the optimum, relatively.
var optimal = goal{"not at the optimum", func(r result) (bool, bool) {
	for _, ppm := range r.above {
		if !(ppm <= 100) {
			return false, true
		}
	}
	return true, len(r.above) > 0
}}

func errorWithin(k int, percent, seconds float64) func(r result) (bool, bool) {
	return func(r result) (bool, bool) {
		s := r.f64[k]
		return s.metrics["%error"] <= percent && s.seconds <= seconds, s.known()
	}
}

// every reports whether the check holds for all samples, and is known for all.
func every(samples []sample, check func(s sample) (holds, known bool)) (holds, known bool) {
	holds, known = true, len(samples) > 0
	for _, s := range samples {
		h, k := check(s)
		holds, known = holds && h, known && k
	}
	return holds, known
}

// verdict states whether the target is met, or which parts are missed.
func (w work) verdict(r result) string {
	if r.failed {
		return "**failed**"
	}
	var missed []string
	unknown := false
	for _, g := range w.goals {
		holds, known := g.holds(r)
		switch {
		case !known:
			unknown = true
		case !holds:
			missed = append(missed, g.text)
		}
	}
	switch {
	case len(missed) > 0:
		return "**no**: " + strings.Join(missed, ", ")
	case unknown:
		return "not all measured"
	}
	return "yes"
}
