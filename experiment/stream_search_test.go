package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
)

// streamed lists searches over streamed rows: with shared sums, after fitted steps, with several
// passes, in float32, without support of passes, for classes, and in rounds.
var streamed = map[string]struct {
	text      string
	tolerance float64
}{
	"sums": {`
data: {train: rows.csv, target: y, drop: [c]}
pipeline: [{rff: {features: 40}}, ridge]
search: {grid: {rff.gamma: [0.1, 1], ridge.alpha: [0.01, 1, 100]}, folds: 3, cv: {kind: hash}}
`, 1e-9},
	"steps": {`
data: {train: rows.csv, target: y, drop: [c]}
pipeline: [standardize, {rff: {features: 40}}, ridge]
search: {grid: {rff.gamma: [0.1, 1], ridge.alpha: [0.01, 1]}, folds: 4, cv: {kind: hash}, score: mae}
`, 1e-9},
	"passes": {`
data: {train: rows.csv, target: c, drop: [y]}
pipeline: [standardize, {rff: {features: 30}}, {logistic: {tol: 1.0e-10}}]
search: {grid: {logistic.C: [0.1, 10]}, folds: 3, cv: {kind: hash}, score: log_loss}
`, 1e-7},
	"float32": {`
data: {train: rows.csv, target: c, drop: [y]}
precision: float32
pipeline: [standardize, {rff: {features: 30}}, ridge_classifier]
search: {grid: {ridge_classifier.alpha: [0.1, 10]}, folds: 3, cv: {kind: hash}, score: roc_auc}
`, 1e-4},
	"coordinate": {`
data: {train: rows.csv, target: y, drop: [c]}
pipeline: [{rff: {features: 40}}, ridge]
search: {grid: {rff.gamma: [0.1, 1], ridge.alpha: [0.01, 1, 100]}, folds: 3, cv: {kind: hash}, strategy: coordinate}
`, 1e-9},
	"halving": {`
data: {train: rows.csv, target: y, drop: [c]}
pipeline: [{rff: {features: 40}}, ridge]
search: {grid: {rff.gamma: [0.1, 1], ridge.alpha: [0.01, 1, 100]}, folds: 3, cv: {kind: hash}, halving: {resource: rff.features, min_resources: 10}}
`, 1e-9},
	"alone": {`
data: {train: rows.csv, target: y, drop: [c]}
pipeline: [standardize, {nystroem: {landmarks: 20, gamma: 0.3}}, ridge]
search: {grid: {ridge.alpha: [0.1, 10]}, folds: 3, cv: {kind: hash}}
`, 1e-6},
}

// TestStreamedSearch checks that a search over a stream finds the same as one in memory on the same
// folds, with the same model.
func TestStreamedSearch(t *testing.T) {
	for name, c := range streamed {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			rng := rand.New(rand.NewPCG(1, 2))
			var b strings.Builder
			b.WriteString("a,b,y,c\n")
			for range 5000 {
				a, z := rng.NormFloat64(), rng.NormFloat64()
				y := math.Sin(2*a) + 0.5*z + 0.2*rng.NormFloat64()
				fmt.Fprintf(&b, "%.6f,%.6f,%.6f,%v\n", a, z, y, y > 0)
			}
			if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			run := func(stream string) result.Result {
				t.Helper()
				path := filepath.Join(dir, "search.yaml")
				if err := os.WriteFile(path, []byte(strings.TrimSpace(c.text)+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				spec, err := Load(context.Background(), path, Override{Path: "data.stream", Value: stream},
					Override{Path: "output.dir", Value: filepath.Join(dir, stream)})
				if err != nil {
					t.Fatal(err)
				}
				found, err := Run(context.Background(), spec, Options{Searching: func(SearchProgress) {}})
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			want, got := run("never"), run("always")
			if len(got.Search.All) != len(want.Search.All) ||
				fmt.Sprint(got.Search.Best.Params) != fmt.Sprint(want.Search.Best.Params) || got.Search.Fits != want.Search.Fits {
				t.Fatalf("%+v, in memory %+v", got.Search, want.Search)
			}
			for k, one := range got.Search.All {
				for f, score := range one.Folds {
					if other := want.Search.All[k].Folds[f]; math.IsNaN(score) ||
						math.Abs(score-other) > c.tolerance*(1+math.Abs(other)) {
						t.Errorf("candidate %d, fold %d: %v, in memory %v (%s)", k, f, score, other, one.Failed)
					}
				}
			}
			for metric, score := range got.Train {
				if other := want.Train[metric]; math.Abs(score-other) > max(c.tolerance, 1e-3)*(1+math.Abs(other)) {
					t.Errorf("%s of the model: %v, in memory %v", metric, score, other)
				}
			}
		})
	}
}
