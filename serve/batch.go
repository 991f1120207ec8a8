package serve

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// predictor returns the prediction of n rows.
type predictor func(rows []float64, n int) (estimator.Prediction, error)

// batch predicts rows of several requests together, which takes little longer than a single row. The first request
// yields the processor once and then predicts all rows that other requests have added by then.
type batch struct {
	width   int // of a row
	predict predictor
	mu      sync.Mutex
	rows    []*waiter // added since the first request; nil where there is none
}

// waiter is a row that waits for its prediction.
type waiter struct {
	x          []float64
	prediction estimator.Prediction
	err        error
	done       chan struct{}
}

// waiters are those that may be used again.
var waiters = sync.Pool{New: func() any { return &waiter{done: make(chan struct{}, 1)} }}

// row returns the prediction of a row. It calls wait before it waits for the work of another request.
func (b *batch) row(x []float64, wait func()) (estimator.Prediction, error) {
	w := waiters.Get().(*waiter)
	w.x = x
	b.mu.Lock()
	first := len(b.rows) == 0
	b.rows = append(b.rows, w)
	b.mu.Unlock()
	if first {
		runtime.Gosched()
		b.mu.Lock()
		rows := b.rows
		b.rows = nil
		b.mu.Unlock()
		b.predictAll(rows)
	} else {
		wait()
	}
	<-w.done
	prediction, err := w.prediction, w.err
	w.x, w.prediction, w.err = nil, estimator.Prediction{}, nil
	waiters.Put(w)
	return prediction, err
}

// predictAll predicts rows together, or one by one if the model refuses one of them. All rows are done when it returns,
// also by a panic.
func (b *batch) predictAll(rows []*waiter) {
	defer func() {
		for _, w := range rows {
			if w.prediction.Values == nil && w.err == nil {
				w.err = refuse(Internal, "the server failed at a request that was predicted together with this one")
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
			w.prediction = rowOf(all, i)
		case len(rows) == 1:
			w.err = err
		default:
			w.prediction, w.err = b.predict(w.x, 1)
		}
	}
}

// trialRows is the number of rows that exact tries.
const trialRows = 12

// exact reports whether the prediction of a row does not depend, to the last bit, on the rows that are predicted with it,
// for random rows of the schema. Other models are not batched.
func (b *batch) exact(schema datasets.Schema) bool {
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
			some, err := b.predict(x[lo*b.width:(lo+n)*b.width], n)
			if err != nil {
				return false
			}
			for i := range n {
				if !equalRow(some, i, all, lo+i) {
					return false
				}
			}
		}
	}
	return true
}
