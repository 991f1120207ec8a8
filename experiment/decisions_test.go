package experiment

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
	"github.com/bochner-ml/bochner/internal/exhaustive"
	"github.com/bochner-ml/bochner/internal/golden"
	"github.com/bochner-ml/bochner/pipeline"
)

// Costs that are mended for the sake of plans leave alone what runs do: which of the experiments that bench/curves has looked at have models
// of fewer rows in their reports. One that changes here makes runs longer or shorter: be sure that it is wanted.
func TestMendedCostsDecideNothingAnew(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("reads many files")
	}
	golden.Path(t, "data")
	t.Chdir("..")
	want := strings.Fields(`a9a-bins a9a-logistic a9a-triples attacks census-axes census-prices concrete-machine cpu-random
		digits-bins digits-steps energy-axes kin-leave-one mushrooms power-plant power-process protein-sets rings usps-logistic waves`)
	paths, err := filepath.Glob("bench/curves/specs/seen/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	ctx := context.Background()
	var got []string
	for _, path := range paths {
		spec, err := Load(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		if spec.Given("report.learning_curve.points") {
			continue
		}
		parts, err := rows.Open(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		train, count, err := outlines(ctx, spec, parts)
		if err != nil {
			t.Fatal(err)
		}
		of := lastPipeline(spec, spec.Pipeline, train.Shape(), false)
		if w, ok := of.Estimator.(meta.Intervals); ok {
			if whole, ok := w.Of.(pipeline.Pipeline); ok {
				of = whole
			}
		}
		if !parts.Task.Targetless() && !rows.Streams(spec, parts.Train) && count.Test > 0 && learns(spec, of, train.Shape()) {
			got = append(got, strings.TrimSuffix(filepath.Base(path), ".yaml"))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%v, wanted %v", got, want)
	}
}
