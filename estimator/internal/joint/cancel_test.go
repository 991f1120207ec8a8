package joint

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
)

// counted is a matrix that counts accesses to its entries.
type counted struct {
	*mat.Dense
	reads *atomic.Int64
}

func (c counted) At(i, j int) float64 {
	c.reads.Add(1)
	return c.Dense.At(i, j)
}

// A batch whose context is canceled copies the rows of no further fold.
func TestCanceledBatchesCopyNoFold(t *testing.T) {
	const n, cols = 40, 3
	reads := &atomic.Int64{}
	b := batch.Job{
		Data:  datasets.Set{X: counted{mat.NewDense(n, cols, nil), reads}, Y: make([]float64, n)},
		Folds: make([]datasets.Fold, 4), Candidates: make([]batch.Candidate, 2),
	}
	for i := range n {
		for f := range b.Folds {
			if i%4 == f {
				b.Folds[f].Test = append(b.Folds[f].Test, i)
			} else {
				b.Folds[f].Train = append(b.Folds[f].Train, i)
			}
		}
	}
	stop := errors.New("stop")
	for name, fit := range map[string]func(context.Context, Batch) error{
		"descent": func(ctx context.Context, b Batch) error {
			_, err := FitByDescent(ctx, b, []PenalizedLoss{{C: 1}})
			return err
		},
		"ridge one at a time": func(ctx context.Context, b Batch) error {
			return (&ridgeBatch{Batch: b, candidates: make([]Ridge, 1)}).fitEach([]int{0})
		},
		"ridge together": func(ctx context.Context, b Batch) error {
			return (&ridgeBatch{Batch: b, candidates: make([]Ridge, 2)}).fitSharedCG([]int{0, 1})
		},
		"kernel ridge": func(ctx context.Context, b Batch) error {
			_, err := FitKernelRidges(ctx, b, []KernelRidge{{}})
			return err
		},
		"kernel svm": func(ctx context.Context, b Batch) error {
			_, err := FitKernelSVMs(ctx, b, []KernelSVM{{}})
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		copies := 0 // of folds that were handed over
		fitOne := func(int, int, Split) (out batch.Outcome) {
			copies++
			cancel(stop)
			return out
		}
		cancel(stop)
		allowed := int64(0)
		if name == "kernel ridge" {
			allowed = n * cols // converts the rows once, before the folds
		}
		reads.Store(0)
		if err := fit(ctx, New(ctx, b, name, nil, fitOne)); !errors.Is(err, stop) {
			t.Errorf("%s: error %v, want the cause of the cancellation", name, err)
		}
		if got := reads.Load(); got > allowed || copies != 0 {
			t.Errorf("%s: read %d entries, at most %d expected, and %d folds", name, got, allowed, copies)
		}
	}
}
