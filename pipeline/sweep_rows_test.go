package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestSweepNamesRows checks that an error within a fold gives the row's index in the rows passed to
// the search, and in the rows they were selected from, regardless of shared computations.
func TestSweepNamesRows(t *testing.T) {
	const bad, all = 37, 60
	rng := rand.New(rand.NewPCG(3, 1))
	file := datasets.Set{X: mat.NewDense(2*all, 3, nil), Y: make([]float64, 2*all)}
	for i := range 2 * all {
		for j := range 3 {
			file.X.(*mat.Dense).Set(i, j, rng.NormFloat64())
		}
		file.Y[i] = float64(i / 2 % 2)
	}
	file.X.(*mat.Dense).Set(2*bad+1, 1, math.NaN())
	odd := make([]int, all)
	for k := range odd {
		odd[k] = 2*k + 1
	}
	part := file.Select(odd)
	whole := datasets.Set{X: rowblock.Select(file.X, odd), Y: part.Y} // without origin
	map1, map2 := transformer.NewRFF(), transformer.NewBinning()
	map1.Features, map2.Grids = 20, 10
	for name, p := range map[string]pipeline.Pipeline{
		"learned steps":     pipeline.Steps(transformer.NewStandardize(), map1).Then(estimator.NewRidge()),
		"no steps":          pipeline.Steps().Then(estimator.NewRidge()),
		"a family":          pipeline.Steps(map1).Then(estimator.NewRidge()),
		"a Newton family":   pipeline.Steps(map1).Then(estimator.NewLogistic()),
		"bins":              pipeline.Steps(transformer.NewStandardize(), map2).Then(estimator.NewSVM()),
		"a classifier":      pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewLogistic()),
		"principal columns": pipeline.Steps(transformer.NewPCA()).Then(estimator.NewLogistic()),
	} {
		for where, data := range map[string]datasets.Set{"37": whole, "75": part} {
			t.Run(name+" "+where, func(t *testing.T) { namesRow(t, p, data, "row "+where+", column x1: missing value") })
		}
	}
}

func namesRow(t *testing.T, p pipeline.Pipeline, data datasets.Set, want string) {
	folds, err := datasets.KFold{Folds: 3, Shuffle: true}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	var settings []estimator.Estimator
	for _, value := range []float64{0.5, 2} {
		path := map[bool]string{true: "ridge.alpha", false: "C"}[strings.Contains(fmt.Sprintf("%T", p.Estimator), "Ridge")]
		if path == "C" {
			path = map[bool]string{true: "svm.C", false: "logistic.C"}[strings.Contains(fmt.Sprintf("%T", p.Estimator), "SVM")]
		}
		s, err := param.With(p, param.Setting{Path: path, Value: value})
		if err != nil {
			t.Fatal(err)
		}
		settings = append(settings, s.(pipeline.Pipeline))
	}
	reported := 0
	check := func(err error) {
		if err == nil {
			t.Error("no error")
			return
		}
		reported++
		var row *datasets.RowError
		if !strings.Contains(err.Error(), want) || !errors.As(err, &row) || !strings.HasPrefix(row.Error(), want) {
			t.Errorf("output %v, want %s", err, want)
		}
	}
	_, err = fitAll(context.Background(), p, data, folds, settings, func(setting, fold int, outcome batch.Outcome) error {
		check(outcome.Err)
		return nil
	})
	if err != nil {
		check(err)
	}
	if reported == 0 {
		t.Error("no report")
	}
}
