package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/result"
)

// TestPlannedMemoryOfAStreamDoesNotGrow checks that the planned memory of a stream does not depend
// on its length, because the output of its steps is not stored.
func TestPlannedMemoryOfAStreamDoesNotGrow(t *testing.T) {
	spec, err := Parse(t.Context(), "long.yaml", []byte(`
name: long
data: {dataset: iris}
pipeline:
  - standardize
  - pca: {components: 10}
  - rff: {features: 1024, gamma: 0.1}
  - ridge_classifier
output: {dir: out}
`))
	if err != nil {
		t.Fatal(err)
	}
	bytes := func(rows int, streamed bool) int64 {
		shape := datasets.Shape{Rows: rows, Cols: 20, Outputs: 1, Streamed: streamed}
		_, bytes := memoryOfFit(finalPipeline(spec, spec.Pipeline, shape, streamed), shape, result.Rows{})
		return bytes
	}
	small, large := bytes(1_000_000, true), bytes(1_000_000_000, true)
	if small != large || large > 500<<20 {
		t.Errorf("10⁶ rows take %d bytes and 10⁹ rows %d, want the same and less than 500 MiB", small, large)
	}
	// For rows in memory, the output of all steps but the last is stored, and the features only for
	// estimators with several passes.
	held := bytes(1_000_000, false)
	if held < 8*10*1_000_000 || held > 8*1024*1_000_000/10 {
		t.Errorf("rows in memory take %d bytes, want their components and no features", held)
	}
	spec.Pipeline.Estimator = estimator.NewLogistic()
	if again := bytes(100_000, false); again < 4*1024*100_000 {
		t.Errorf("rows in memory that are read again take %d bytes, want their features at least", again)
	}
}

// TestPlannedStreamSearchShares checks that candidates on a streamed file share their
// sums, except after a step that does not support passes: those are fitted separately with their
// own passes.
func TestPlannedStreamSearchShares(t *testing.T) {
	dir := t.TempDir()
	text := "a,b,y\n"
	for i := range 400 {
		text += fmt.Sprintf("%d,%d,%d\n", i, i*i%101, i%37)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := func(step string) Plan {
		spec, err := Parse(t.Context(), filepath.Join(dir, "long.yaml"), []byte(`
name: long
data: {train: rows.csv, target: y, stream: always}
pipeline: [standardize, `+step+`, ridge]
search: {grid: {ridge.alpha: [0.1, 1, 10]}, folds: 3}
output: {dir: out}
`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	together, apart := plan("{rff: {features: 64, gamma: 0.1}}"), plan("{softmax_features: {features: 64}}")
	if !slices.Contains(together.Shared, "alpha") || len(apart.Shared) > 0 {
		t.Errorf("%v is shared behind rff, %v behind softmax_features", together.Shared, apart.Shared)
	}
}
