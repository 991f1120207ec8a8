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

// Keys of [memo]: of the preprocessing of a representation, its shape and its rows, and of a learned step for some rows.
type (
	cleanKey   struct{ scale, encode string }
	shapeKey   cleanKey
	rowsKey    cleanKey
	learnedKey struct {
		representation string
		careful        bool
		rows           string
	}
)

func (p representation) cleanKey() cleanKey { return cleanKey{p.scale.name, p.encode} }

// memo stores values by key, each a *lazyValue. Each is computed once, also for concurrent callers.
type memo struct {
	mu     sync.Mutex
	values map[any]any
}

// lazyValue is a value computed by the first caller while others wait. If the context ends, the next
// caller computes it again.
type lazyValue[T any] struct {
	mu    sync.Mutex
	done  bool
	value T
	err   error
}

func (m *lazyValue[T]) get(ctx context.Context, make func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.done {
		m.value, m.err = make()
		m.done = m.err == nil || ctx.Err() == nil
	}
	return m.value, m.err
}

// stored returns the value of a key, which make computes.
func stored[T any](ctx context.Context, m *memo, key any, make func() (T, error)) (T, error) {
	m.mu.Lock()
	value, ok := m.values[key].(*lazyValue[T])
	if !ok {
		value = &lazyValue[T]{}
		m.values[key] = value
	}
	m.mu.Unlock()
	return value.get(ctx, make)
}

// cleaner returns the preprocessing steps of a representation, fitted to all rows.
func (r *run) cleaner(ctx context.Context, p representation) (*pipeline.FittedChain, error) {
	return stored(ctx, &r.memo, p.cleanKey(), func() (*pipeline.FittedChain, error) {
		steps, err := r.cleaned(p)
		if err != nil || len(steps) == 0 {
			return &pipeline.FittedChain{}, err
		}
		fitted, err := pipeline.Chain{Steps: steps}.Fit(ctx, r.data)
		if err != nil {
			return nil, err
		}
		return fitted.(*pipeline.FittedChain), nil
	})
}

// shapeOf returns the shape of a few rows that were preprocessed for a representation.
func (r *run) shapeOf(ctx context.Context, p representation) (datasets.Shape, error) {
	const rows = 100 // of which the nonzeros of all are estimated
	return stored(ctx, &r.memo, shapeKey(p.cleanKey()), func() (datasets.Shape, error) {
		fitted, err := r.cleaner(ctx, p)
		if err != nil {
			return datasets.Shape{}, err
		}
		some, err := mapped(ctx, fitted.Inference(), r.first(rows))
		return some.Shape(), err
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
	return p.learn.fitter(append(more.settings[:len(more.settings):len(more.settings)],
		param.Setting{Path: "rows", Value: r.lessonCount()}, r.seeded("learn"))...)
}

// learned is a learning step that is fitted once to the same rows.
type learned struct {
	transformer.Fitter
	run *run
	key learnedKey
}

// Fit fits the step, or returns an earlier fit.
func (l learned) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	l.key.rows = journal.Sum(func(h hash.Hash) { journal.Rows(h, data) })
	return l.run.learn(ctx, l.key, l.Fitter, data)
}

// learnedFromAll returns the learned step of a representation, fitted to all rows.
func (r *run) learnedFromAll(ctx context.Context, p representation, step transformer.Fitter) (
	transformer.Transformer, error) {
	chain, err := r.cleaner(ctx, p)
	if err != nil {
		return nil, err
	}
	data, err := stored(ctx, &r.memo, rowsKey(p.cleanKey()), func() (datasets.Set, error) {
		return mapped(ctx, chain, r.data)
	})
	if err != nil {
		return nil, err
	}
	return r.learn(ctx, learnedKey{p.name, p.careful, ""}, step, data)
}

// learn fits the learning step of a representation and notes its pace.
func (r *run) learn(ctx context.Context, key learnedKey, step transformer.Fitter, data datasets.Set) (
	transformer.Transformer, error) {
	return stored(ctx, &r.memo, key, func() (transformer.Transformer, error) {
		began := time.Now()
		t, err := step.Fit(ctx, data)
		if err == nil {
			r.notePace("learn "+key.representation, costOf(step, data.Shape()), time.Since(began).Seconds())
		}
		return t, err
	})
}

// mapped returns a set with the transformed inputs.
func mapped(ctx context.Context, t transformer.Transformer, data datasets.Set) (datasets.Set, error) {
	if chain, ok := t.(*pipeline.FittedChain); ok && chain.Len() == 0 {
		return data, nil
	}
	X, err := t.Transform(ctx, data.X)
	if err != nil {
		return data, err
	}
	n, d := X.Dims()
	if rows, _ := data.X.Dims(); n != rows {
		return data, fmt.Errorf("%T made %d rows of %d", t, n, rows)
	}
	targets := data.Schema.Targets
	if described, ok := t.(transformer.Describer); ok {
		data.Schema = described.OutputSchema(data.Schema)
	} else if d != data.Cols() {
		data.Schema = datasets.Schema{}
	}
	data.X, data.Schema.Targets = X, targets
	return data, nil
}

// indices returns 0 … n−1.
func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
