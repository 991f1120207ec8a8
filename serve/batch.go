package serve

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
)

// predictor predicts n rows.
type predictor func(rows []float64, n int) (estimator.Prediction, error)

// batch predicts single rows of several requests together, because a matrix product of a few rows
// costs little more than one row. The first request yields the processor once, and then predicts
// all rows that other requests have added in the meantime.
type batch struct {
	width   int // number of columns
	predict predictor
	mu      sync.Mutex
	pending []*pendingRow // rows added since the first request
}

// pendingRow is a row that waits for its prediction.
type pendingRow struct {
	x          []float64
	prediction estimator.Prediction
	err        error
	done       chan struct{}
}

// pendingRows recycles pending rows.
var pendingRows = sync.Pool{New: func() any { return &pendingRow{done: make(chan struct{}, 1)} }}

// predictRow predicts one row. It calls wait before it waits for another request.
func (b *batch) predictRow(x []float64, wait func()) (estimator.Prediction, error) {
	w := pendingRows.Get().(*pendingRow)
	w.x = x
	b.mu.Lock()
	first := len(b.pending) == 0
	b.pending = append(b.pending, w)
	b.mu.Unlock()
	if first {
		runtime.Gosched()
		b.mu.Lock()
		rows := b.pending
		b.pending = nil
		b.mu.Unlock()
		b.predictAll(rows)
	} else {
		wait()
	}
	<-w.done
	prediction, err := w.prediction, w.err
	w.x, w.prediction, w.err = nil, estimator.Prediction{}, nil
	pendingRows.Put(w)
	return prediction, err
}

// predictAll predicts rows together, or independently if the model rejects one of them. All rows
// are done when it returns, even after a panic.
func (b *batch) predictAll(rows []*pendingRow) {
	defer func() {
		for _, w := range rows {
			if w.prediction.Values == nil && w.err == nil {
				w.err = newError(protocol.Internal, "internal error while predicting a batch that contains this request")
			}
			w.done <- struct{}{}
		}
	}()
	x := make([]float64, 0, len(rows)*b.width)
	for _, w := range rows {
		x = append(x, w.x...)
	}
	all, err := b.predict(x, len(rows))
	for i, w := range rows {
		switch {
		case err == nil:
			w.prediction = predictionRow(all, i)
		case len(rows) == 1:
			w.err = err
		default:
			w.prediction, w.err = b.predict(w.x, 1)
		}
	}
}

// trialRows is the number of rows that isBatchInvariant predicts.
const trialRows = 12

// isBatchInvariant reports whether random rows have the same predictions, bit for bit, in batches
// of 1, 2, 5 and 12 rows. Only such models are batched.
func (b *batch) isBatchInvariant(schema datasets.Schema) bool {
	rng := rand.New(rand.NewPCG(1, uint64(b.width)))
	x := make([]float64, trialRows*b.width)
	for k := range x {
		x[k] = rng.NormFloat64() * math.Pow(10, float64(k/b.width%3-1))
		if c := schema.Column(k % b.width); c.Kind == datasets.Categorical && len(c.Categories) > 0 {
			x[k] = float64(rng.IntN(len(c.Categories)))
		}
	}
	all, err := b.predict(x, trialRows)
	if err != nil {
		return false
	}
	for _, n := range []int{1, 2, 5} {
		for lo := 0; lo+n <= trialRows; lo += n {
			predicted, err := b.predict(x[lo*b.width:(lo+n)*b.width], n)
			if err != nil {
				return false
			}
			for i := range n {
				if !equalRows(predicted, i, all, lo+i) {
					return false
				}
			}
		}
	}
	return true
}
