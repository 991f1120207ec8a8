package experiment

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// A path that ends in .* is an axis for each element of a list or a map; one of those that are there can be set.
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
		"[1, 1, 1, 1]":                     "scale.factors.0 scale.factors.1 scale.factors.2 scale.factors.3 ridge_classifier.alpha",
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
	spec, err := Parse(ctx, "spec.yaml", text("{petal_width: 3}"), Override{Path: "pipeline.scale.factors.petal_width", Value: "0.25"})
	if got := fmt.Sprint(spec.Pipeline.Steps[1].Fitter); err != nil || !strings.Contains(got, "0.25") {
		t.Errorf("step %s, error %v", got, err)
	}
	for factors, want := range map[string]string{
		"1":                 "search.grid.scale.factors.*",
		"[1, 1, 1, 1, 1]":   "scale: 4 columns come to it, and scale has 5 factors",
		"{petal_width: -1}": "wanted a number ≥ 0",
	} {
		if _, err := Parse(ctx, "spec.yaml", text(factors)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("factors %s give the error %v, want %q in it", factors, err, want)
		}
	}
}
