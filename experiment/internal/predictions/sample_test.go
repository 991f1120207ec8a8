package predictions

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// counting assigns rows to clusters by their first column, the row number.
type counting struct{}

func (counting) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	out := mat.Col(nil, 0, X)
	for i, v := range out {
		out[i] = float64(int(v) / 40_000)
	}
	return out, nil
}

var _ estimator.Predictor = counting{}

// TestSample checks that the sample of many rows is evenly spaced and does not depend on the
// blocks, and that each row has its own prediction and weight.
func TestSample(t *testing.T) {
	const n = 100_000
	set := datasets.Set{X: mat.NewDense(n, 1, nil), Weights: make([]float64, n)}
	for i := range n {
		set.X.(*mat.Dense).Set(i, 0, float64(i))
		set.Weights[i] = float64(1 + i%7)
	}
	var first *sample
	for name, source := range map[string]datasets.Source{"one block": whole{set}, "many blocks": set.Source()} {
		v, err := Judge(context.Background(), counting{}, datasets.Clustering, source, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &v.seen
		if len(s.at) > maxCompared || len(s.at) < maxCompared/2 || s.at[0] != 0 {
			t.Fatalf("%s: %d rows from %d on", name, len(s.at), s.at[0])
		}
		if first == nil {
			first = s
		} else if !slices.Equal(s.at, first.at) {
			t.Errorf("%s: other rows", name)
		}
		in, err := s.input(v.predicted.Values)
		if err != nil {
			t.Fatal(err)
		}
		all, err := datasets.ReadAll(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		for k, at := range s.at {
			if at%s.stride != 0 || all.X.At(k, 0) != float64(at) || in.YPred[k] != float64(at/40_000) ||
				in.Weights[k] != float64(1+at%7) {
				t.Fatalf("%s: row %d of the sample is row %d, %v with %v of weight %v", name, k, at, all.X.At(k, 0), in.YPred[k],
					in.Weights[k])
			}
		}
		scores, _, err := v.Score("v_measure")
		if err != nil {
			t.Fatal(err)
		}
		if _, truth := scores["v_measure"]; truth || in.YPred == nil || in.Rows == nil ||
			!(scores["silhouette"] > 0.4) {
			t.Errorf("%s: scores %v", name, scores)
		}
		if sizes := v.Clusters(); !slices.Equal(sizes, []int{40_000, 40_000, 20_000}) {
			t.Errorf("%s: sizes %v", name, sizes)
		}
	}
}

// whole is a source with a single block.
type whole struct{ set datasets.Set }

func (w whole) Schema() datasets.Schema { return w.set.Schema }

func (w whole) Dims() (rows, cols int) { return w.set.Rows(), w.set.Cols() }

func (w whole) Blocks(_ context.Context, yield func(datasets.Set) error) error { return yield(w.set) }
