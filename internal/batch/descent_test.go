package batch

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// Once a batch is cancelled, no further fold is copied.
func TestCancelledDescentCopiesNoFold(t *testing.T) {
	const n, d = 4000, 64
	data := datasets.Set{X: mat.NewDense(n, d, nil), Y: make([]float64, n)}
	folds, err := datasets.KFold{Folds: 8}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := Batch{Data: data, Folds: folds, Wants: func(int, int) bool { return true }}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Descents(ctx, b, []Penalised{{Key: "a", C: 1}})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*n*d/2 {
		t.Errorf("%d bytes are allocated after the cancellation, a fold has %d", got, 8*n*d)
	}
}
