package transformer

import (
	"context"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// TestMergedSparseParts checks that if one part of the rows is sparse, zeros must
// map to zeros in all.
func TestMergedSparseParts(t *testing.T) {
	ctx, spec := context.Background(), NewStandardize()
	X := mat.NewDense(4, 1, []float64{1, 2, 0, 4})
	var parts []datasets.Pass
	for _, rows := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
		p, err := spec.Start(ctx, datasets.Schema{}, 1)
		if err == nil {
			err = p.Add(ctx, datasets.Set{X: rows})
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := parts[0].Merge(ctx, parts[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := spec.Finish(ctx, parts[0]); err == nil || !strings.Contains(err.Error(), "sparse input") {
		t.Errorf("error %v", err)
	}
}
