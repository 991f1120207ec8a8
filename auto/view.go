package auto

import (
	"context"
	"fmt"
	"hash"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// cleaning names the preprocessing of a representation.
func (p representation) cleaning() string { return p.scale.name + " " + p.encode }

// memo stores values by key, each a *lazyValue. Each is computed once, also for concurrent callers.
type memo struct {
	mu     sync.Mutex
	values map[string]any
}

// lazyValue is a value computed by the first caller while others wait.
type lazyValue[T any] struct {
	mu    sync.Mutex
	done  bool
	value T
	err   error
}

// stored returns the value of a key, which make computes. If the context ends, the next caller computes it again.
func stored[T any](ctx context.Context, m *memo, key string, make func() (T, error)) (T, error) {
	m.mu.Lock()
	v, ok := m.values[key].(*lazyValue[T])
	if !ok {
		v = &lazyValue[T]{}
		m.values[key] = v
	}
	m.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.done {
		v.value, v.err = make()
		v.done = v.err == nil || ctx.Err() == nil
	}
	return v.value, v.err
}

// fitLast fits steps one after the other and returns the last one.
func fitLast(ctx context.Context, steps pipeline.Sequence, data datasets.Set) (transformer.Transformer, error) {
	fitted, err := pipeline.Chain{Steps: steps}.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	chain := fitted.(*pipeline.FittedChain)
	_, last := chain.Step(chain.Len() - 1)
	return last, nil
}

// cleaner returns the preprocessing steps of a representation, fitted to all rows.
func (r *run) cleaner(ctx context.Context, p representation) (*pipeline.FittedChain, error) {
	return stored(ctx, &r.memo, "cleaner "+p.cleaning(), func() (*pipeline.FittedChain, error) {
		steps, err := r.cleaned(p)
		if err != nil || len(steps) == 0 {
			return &pipeline.FittedChain{}, err
		}
		fitted, err := pipeline.Chain{Steps: steps}.Fit(ctx, r.data)
		chain, _ := fitted.(*pipeline.FittedChain)
		return chain, err
	})
}

// shapeOf returns the shape of a few rows that were preprocessed for a representation.
func (r *run) shapeOf(ctx context.Context, p representation) (datasets.Shape, error) {
	const rows = 100 // of which the nonzeros of all are estimated
	return stored(ctx, &r.memo, "shape "+p.cleaning(), func() (datasets.Shape, error) {
		fitted, err := r.cleaner(ctx, p)
		some := r.first(rows)
		if err == nil && fitted.Len() > 0 {
			some.Schema.Columns = nil
			some.X, err = fitted.Inference().Transform(ctx, some.X)
		}
		if err != nil {
			return datasets.Shape{}, err
		}
		return some.Shape(), nil
	})
}

// learnStep returns the learning step of a representation, nil if there is none.
func (r *run) learnStep(p representation) (transformer.Fitter, error) {
	if p.learn.name == "" {
		return nil, nil
	}
	more := p.quick
	if p.careful {
		more = p.slow
	}
	return p.learn.fitter(more.with(param.Setting{Path: "rows", Value: r.lessonCount()}, r.seeded("learn")).settings...)
}

// learned is the learning step of a representation that is fitted once to the same rows.
type learned struct {
	transformer.Fitter
	run *run
	representation
}

// Fit fits the step and notes its pace, or returns an earlier fit.
func (l learned) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	key := learnedFromAll(l.representation) + journal.Sum(func(h hash.Hash) { journal.Rows(h, data) })
	return stored(ctx, &l.run.memo, key, func() (transformer.Transformer, error) {
		began := time.Now()
		t, err := l.Fitter.Fit(ctx, data)
		if err == nil {
			l.run.notePace("learn "+l.name, costOf(l.Fitter, data.Shape()), time.Since(began).Seconds())
		}
		return t, err
	})
}

// learnedFromAll is the key of a learned step that is fitted to all rows.
func learnedFromAll(p representation) string { return fmt.Sprint("learned ", p.name, p.careful) }

// indices returns 0 … n−1.
func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
