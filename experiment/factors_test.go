package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestAxisForEachFactor checks that a path that ends in .* is an axis for each element of a list or
// a map, and that a single element can be set.
func TestAxisForEachFactor(t *testing.T) {
	ctx := context.Background()
	text := func(factors string) []byte {
		return []byte(`data: {dataset: iris}
pipeline: [standardize, {scale: {factors: ` + factors + `}}, ridge_classifier]
search: {grid: {scale.factors.*: [0.5, 2], ridge_classifier.alpha: [1, 2]}, random: 3}
output: {dir: ` + t.TempDir() + `}
`)
	}
	for factors, want := range map[string]string{
		"{sepal_width: 1, petal_width: 3}": "scale.factors.petal_width scale.factors.sepal_width ridge_classifier.alpha",
		"[1, 1, 1, 1]": "scale.factors.0 scale.factors.1 scale.factors.2 scale.factors.3 " +
			"ridge_classifier.alpha",
	} {
		spec, err := Parse(ctx, "spec.yaml", text(factors), Override{Path: "search.random", Value: "7"})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, a := range spec.Search.Grid {
			paths = append(paths, a.Path)
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("axes %s, want %s", got, want)
		}
		result, err := Run(ctx, spec, Options{})
		if err != nil || result.Search.Candidates != 7 || len(result.Search.Best.Params) != len(paths) {
			t.Errorf("search %+v, error %v", result.Search, err)
		}
	}
	spec, err := Parse(ctx, "spec.yaml", text("{petal_width: 3}"),
		Override{Path: "pipeline.scale.factors.petal_width", Value: "0.25"})
	if got := fmt.Sprint(spec.Pipeline.Steps[1].Fitter); err != nil || !strings.Contains(got, "0.25") {
		t.Errorf("step %s, error %v", got, err)
	}
	for factors, want := range map[string]string{
		"1":                 "search.grid.scale.factors.*",
		"[1, 1, 1, 1, 1]":   "scale: 4 columns come to it, and scale has 5 factors",
		"{petal_width: -1}": "must be a number ≥ 0",
		"{petal_widht: 1, sepal_width: 1, age: 2}": "scale: no column petal_widht comes to it, and scale has a factor of " +
			"it (did you mean petal_width?)",
		"{age: 2, sepal_width: 1}": "scale: no column age comes to it, and scale has a factor of it",
	} {
		if _, err := Parse(ctx, "spec.yaml", text(factors)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("factors %s give the error %v, want %q in it", factors, err, want)
		}
	}
}

// TestFactorsAfterUnknownColumns checks that after a step with unknown output columns, no factor is
// rejected for a missing column.
func TestFactorsAfterUnknownColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(60, class))
	for _, factors := range []string{"[1, 1, 1, 1, 1]", "{a: 2, 'c=blue': 3}"} {
		_, err := Parse(context.Background(), "spec.yaml",
			[]byte(`data: {train: rows.csv, target: y, drop: [g], csv: {missing: '?'}}
pipeline: [{columns: [{select: numeric, steps: [impute]}, {select: categorical, steps: [onehot]}]}, {scale: {factors: `+factors+`}}, logistic]
`))
		if err != nil {
			t.Errorf("factors %s: %v", factors, err)
		}
	}
}

// wave has a target that two of six inputs make.
func wave(rows int) string {
	rng := rand.New(rand.NewPCG(4, 2))
	text := "a,b,c,d,e,f,y\n"
	for range rows {
		var x [6]float64
		for k := range x {
			x[k] = rng.NormFloat64()
			text += fmt.Sprintf("%.6f,", x[k])
		}
		text += fmt.Sprintf("%.6f\n", x[1]*x[4]+x[1]+0.05*rng.NormFloat64())
	}
	return text
}

// TestSearchOfFactorsAlongTheAxes checks that a coordinate search over the factors of all inputs
// selects the relevant inputs, removes the others, scores better than a common scale, and respects
// the upper bound on fits in its plan.
func TestSearchOfFactorsAlongTheAxes(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	put(t, "rows.csv", wave(240))
	text := `
data: {train: rows.csv, target: y}
pipeline: [standardize, {scale: {factors: [1, 1, 1, 1, 1, 1]}}, {rff: {features: 100, gamma: 0.1}}, {ridge: {alpha: 0.01}}]
search: {grid: {scale.factors.*: [0, 0.3, 1, 2]}, folds: 3, strategy: coordinate}
`
	s := spec(t, text)
	p, err := NewPlan(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if !p.AtMost || p.Candidates != 1+3*6*3 || p.Fits != 3*p.Candidates+1 {
		t.Errorf("planned %+v", p)
	}
	var last [2]int
	found, err := Run(ctx, s, Options{Progress: func(phase string, done, total int) {
		if phase == "search" || phase == "refit" {
			last = [2]int{done, total}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	one := execute(t, spec(t, text, set("search.grid", "{scale.factors.0: [1]}"), set("output.dir", "one"))).Search
	best := found.Search.Best
	if 1-best.Mean > (1-one.Best.Mean)/10 {
		t.Errorf("r2 %v, with one scale %v", best.Mean, one.Best.Mean)
	}
	for k := range 6 {
		factor := best.Params[fmt.Sprintf("scale.factors.%d", k)].(float64)
		if relevant := k == 1 || k == 4; relevant != (factor > 0.1) {
			t.Errorf("input %d has the factor %v", k, factor)
		}
	}
	if n := found.Search.Fits; n > p.Fits || n != 3*found.Search.Candidates || last != [2]int{n, n} {
		t.Errorf("%d fits of %d candidates, planned %d, last progress %v", n, found.Search.Candidates, p.Fits, last)
	}
	if len(found.Search.OnGridEdge) > 2 {
		t.Errorf("factors of 0 are on an edge: %v", found.Search.OnGridEdge)
	}
	again, err := Run(ctx, s, Options{Force: true})
	if err != nil || !reflect.DeepEqual(untimed(again.Search), untimed(found.Search)) {
		t.Errorf("again %+v, %v", again.Search, err)
	}
	resolved, err := s.Encode("spec.yaml")
	if err != nil || !strings.Contains(string(resolved), "strategy: coordinate") ||
		!strings.Contains(string(resolved), "rounds: 3") {
		t.Errorf("%s, %v", resolved, err)
	}
	if plain, err := spec(t, text, set("search.strategy", "grid")).Encode("spec.yaml"); err != nil ||
		strings.Contains(string(plain), "strategy") || strings.Contains(string(plain), "rounds") {
		t.Errorf("%s, %v", plain, err)
	}
}

// A coordinate search with leave-one-out works on a grid that is too large to enumerate.
func TestCoordinateSearchByLOO(t *testing.T) {
	t.Chdir(t.TempDir())
	s := spec(t, `
data: {dataset: iris}
pipeline: [{scale: {factors: [1, 1, 1, 1]}}, {rff: {features: 20, gamma: 0.1}}, ridge_classifier]
search: {grid: {scale.factors.*: {lin: [0, 4, 41]}}, cv: {kind: loo}, strategy: coordinate, rounds: 1}
`)
	if r := execute(t, s).Search; r.Candidates != 1+4*40 || r.Folds != 1 {
		t.Errorf("%+v", r)
	}
}
