package serve

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// batch predicts rows of several requests together, which takes a few of them hardly longer than one. Nobody waits for
// others to come: who comes first lets those run that the processor has ready, and takes along the rows that they have
// left by then.
type batch struct {
	mu   sync.Mutex
	rows []*single // left since somebody came first; nil where nobody has
}

// single is a row that waits for its prediction.
type single struct {
	x    []float64
	said estimator.Prediction
	err  error
	done chan struct{}
}

// singles are those that may be used again.
var singles = sync.Pool{New: func() any { return &single{done: make(chan struct{}, 1)} }}

// predict returns what the model says of a row. A row that another request takes along needs no turn of its own: wait
// is called before it waits.
func (b *batch) predict(m *loaded, x []float64, wait func()) (estimator.Prediction, error) {
	s := singles.Get().(*single)
	s.x = x
	b.mu.Lock()
	first := len(b.rows) == 0
	b.rows = append(b.rows, s)
	b.mu.Unlock()
	if first {
		runtime.Gosched()
		b.mu.Lock()
		rows := b.rows
		b.rows = nil
		b.mu.Unlock()
		m.predictAll(rows)
	} else {
		wait()
	}
	<-s.done
	said, err := s.said, s.err
	s.x, s.said, s.err = nil, estimator.Prediction{}, nil
	singles.Put(s)
	return said, err
}

// predictAll predicts rows together, or each by itself where the model does not take one of them. All of them are done
// behind it, whatever happens.
func (m *loaded) predictAll(rows []*single) {
	defer func() {
		for _, s := range rows {
			if s.said.Values == nil && s.err == nil {
				s.err = refuse(Internal, "the server failed at a request that was predicted together with this one")
			}
			s.done <- struct{}{}
		}
	}()
	ctx := context.Background() // they are few, and belong to several requests
	x := make([]float64, 0, len(rows)*m.width)
	for _, s := range rows {
		x = append(x, s.x...)
	}
	all, err := estimator.Predict(ctx, m.model.Predictor, mat.NewDense(len(rows), m.width, x))
	for i, s := range rows {
		switch {
		case err == nil:
			s.said = rowOf(all, i)
		case len(rows) == 1:
			s.err = err
		default:
			s.said, s.err = estimator.Predict(ctx, m.model.Predictor, mat.NewDense(1, m.width, s.x))
		}
	}
}

// rowOf returns what is said of row i.
func rowOf(all estimator.Prediction, i int) (one estimator.Prediction) {
	for _, l := range []struct{ to, from *[]float64 }{
		{&one.Values, &all.Values}, {&one.Std, &all.Std}, {&one.Lower, &all.Lower}, {&one.Upper, &all.Upper}, {&one.Anomaly, &all.Anomaly},
	} {
		if *l.from != nil {
			*l.to = (*l.from)[i : i+1 : i+1]
		}
	}
	for _, l := range []struct{ to, from **mat.Dense }{
		{&one.Targets, &all.Targets}, {&one.Scores, &all.Scores}, {&one.Probabilities, &all.Probabilities}, {&one.Sets, &all.Sets},
		{&one.StdTargets, &all.StdTargets}, {&one.LowerTargets, &all.LowerTargets}, {&one.UpperTargets, &all.UpperTargets},
	} {
		if *l.from != nil {
			*l.to = (*l.from).Slice(i, i+1, 0, (*l.from).RawMatrix().Cols).(*mat.Dense)
		}
	}
	return one
}

// trialRows is how many rows a model is tried with.
const trialRows = 12

// together reports whether the model says of rows together, to the last bit, what it says of each alone. Only then may
// what a request gets depend on who else asks. It is tried on rows that are drawn.
func (m *loaded) together() bool {
	rng := rand.New(rand.NewPCG(1, uint64(m.width)))
	x := make([]float64, trialRows*m.width)
	for k := range x {
		x[k] = rng.NormFloat64() * math.Pow(10, float64(k/m.width%3-1))
		if c := m.model.Schema.Column(k % m.width); c.Kind == datasets.Categorical && len(c.Levels) > 0 {
			x[k] = float64(rng.IntN(len(c.Levels)))
		}
	}
	ctx := context.Background()
	all, err := estimator.Predict(ctx, m.model.Predictor, mat.NewDense(trialRows, m.width, x))
	if err != nil {
		return false
	}
	for _, n := range []int{1, 2, 5} {
		for lo := 0; lo+n <= trialRows; lo += n {
			some, err := estimator.Predict(ctx, m.model.Predictor, mat.NewDense(n, m.width, x[lo*m.width:(lo+n)*m.width]))
			if err != nil {
				return false
			}
			for i := range n {
				if !slices.Equal(numbersIn(rowOf(some, i)), numbersIn(rowOf(all, lo+i))) {
					return false
				}
			}
		}
	}
	return true
}

// numbersIn returns all that is said of a row.
func numbersIn(one estimator.Prediction) (out []float64) {
	for _, l := range [][]float64{one.Values, one.Std, one.Lower, one.Upper, one.Anomaly} {
		out = append(out, l...)
	}
	for _, l := range []*mat.Dense{one.Targets, one.Scores, one.Probabilities, one.StdTargets, one.LowerTargets, one.UpperTargets, one.Sets} {
		if l != nil {
			out = append(out, l.RawRowView(0)...)
		}
	}
	return out
}
