package auto

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/sparse"
	"github.com/bochner-ml/bochner/transformer"
)

// view contains the first rows of the order, preprocessed and transformed by a representation, shared by all its
// recipes: one part for all folds, or one for each. Preprocessing uses all rows if it does not use their targets.
// Steps that use the targets are fitted to the training rows of each fold, or to rows that no fold tests on.
type view []viewPart

// viewPart contains the rows of some folds, of which the first has a number.
type viewPart struct {
	data  datasets.Set
	folds []datasets.Fold
	first int
}

// viewKey identifies a view; cleanKey and shapeKey preprocessing and its output, learnedKey a learned step.
type (
	viewKey struct {
		representation string
		rows, effort   int
	}
	cleanKey   struct{ scale, encode string }
	shapeKey   cleanKey
	learnedKey struct {
		representation string
		effort         int
	}
)

// memo stores values by key, each a *lazyValue. Each is computed once, also for concurrent callers.
type memo struct {
	mu     sync.Mutex
	values map[any]any
}

// lazyValue is a value computed by the first caller while others wait. If the context ends, the next
// caller computes it again.
type lazyValue[T any] struct {
	mu    sync.Mutex
	done  atomic.Bool
	value T
	err   error
}

func (m *lazyValue[T]) get(ctx context.Context, make func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done.Load() {
		return m.value, m.err
	}
	value, err := make()
	if err != nil && ctx.Err() != nil {
		return value, err
	}
	m.value, m.err = value, err
	m.done.Store(true)
	return value, err
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

// dropViews drops the views of other numbers of rows. None may be in use.
func (m *memo) dropViews(rows int) {
	for key := range m.values {
		if v, ok := key.(viewKey); ok && v.rows != rows {
			delete(m.values, key)
		}
	}
}

// viewOf returns the view of a representation of the given rows. It may be called concurrently.
func (r *run) viewOf(ctx context.Context, p representation, rows, effort int) (view, error) {
	if p.learn.name == "" {
		effort = 0
	}
	return stored(ctx, &r.memo, viewKey{p.name, rows, effort}, func() (view, error) {
		if p.learn.name != "" {
			return r.learnedView(ctx, p, rows, effort)
		}
		return r.cleanView(ctx, p, rows)
	})
}

// cleanView returns the view of a representation without a learned part.
func (r *run) cleanView(ctx context.Context, p representation, rows int) (out view, err error) {
	d, err := r.divide(rows)
	if err != nil {
		return nil, err
	}
	fitted, err := r.cleaner(ctx, p)
	if err != nil {
		return nil, err
	}
	if !supervised(fitted) {
		data, err := mapped(ctx, fitted, d.data)
		return view{{data, d.folds, 0}}, err
	}
	steps, err := r.cleaned(p)
	for k, f := range d.folds {
		if err != nil {
			return nil, err
		}
		part := viewPart{folds: d.folds[k : k+1], first: k}
		part.data, err = crossFitted(ctx, steps, d.data, f.Train)
		out = append(out, part)
	}
	return out, err
}

// learnedView returns the view of a representation with a learned part.
func (r *run) learnedView(ctx context.Context, p representation, rows, effort int) (out view, err error) {
	cleaned, err := r.viewOf(ctx, p.unlearned(), rows, 0)
	if err != nil {
		return nil, err
	}
	step, shared, err := r.learner(ctx, p, effort)
	if err != nil {
		return nil, err
	}
	for _, part := range cleaned {
		if shared {
			t, err := r.learnedFromAll(ctx, p, effort)
			if err != nil {
				return nil, err
			}
			part.data, err = mapped(ctx, t, part.data)
			return view{part}, err
		}
		for k, f := range part.folds {
			t, err := r.learn(ctx, p, step, part.data.Select(f.Train))
			if err != nil {
				return nil, err
			}
			data, err := mapped(ctx, t, part.data)
			if err != nil {
				return nil, err
			}
			out = append(out, viewPart{data, part.folds[k : k+1], part.first + k})
		}
	}
	return out, nil
}

// cleaner returns the preprocessing steps of a representation, fitted to all rows.
func (r *run) cleaner(ctx context.Context, p representation) (*pipeline.FittedChain, error) {
	return stored(ctx, &r.memo, cleanKey{p.scale.name, p.encode}, func() (*pipeline.FittedChain, error) {
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
	return stored(ctx, &r.memo, shapeKey{p.scale.name, p.encode}, func() (datasets.Shape, error) {
		fitted, err := r.cleaner(ctx, p)
		if err != nil {
			return datasets.Shape{}, err
		}
		some, err := mapped(ctx, fitted, r.first(rows))
		return some.Shape(), err
	})
}

// fittedSteps returns the steps of a representation, fitted to all rows. Steps that map training rows by the targets
// of others are not fitted.
func (r *run) fittedSteps(ctx context.Context, p representation, effort int) (pipeline.Sequence, error) {
	chain, err := r.cleaner(ctx, p)
	if err != nil {
		return nil, err
	}
	steps, err := r.cleaned(p)
	if err != nil {
		return nil, err
	}
	step, _, err := r.learner(ctx, p, effort)
	if err != nil {
		return nil, err
	}
	if !supervised(chain) {
		for i := range steps {
			_, fitted := chain.Step(i)
			steps[i].Fitter = pipeline.Frozen{Spec: steps[i].Fitter, Fitted: fitted}
		}
		if step != nil {
			learned, err := r.learnedFromAll(ctx, p, effort)
			return append(steps, pipeline.Step{Fitter: pipeline.Frozen{Spec: step, Fitted: learned}}), err
		}
	}
	if step != nil {
		steps = append(steps, pipeline.Step{Fitter: step})
	}
	return steps, nil
}

// unlearned returns the representation without its learned part.
func (p representation) unlearned() representation {
	at := slices.IndexFunc(representations, func(q representation) bool {
		return q.learn.name == "" && q.scale.name == p.scale.name && q.encode == p.encode
	})
	if at < 0 {
		return representation{name: "unlearned " + p.name, scale: p.scale, encode: p.encode}
	}
	return representations[at]
}

// learner returns the learning step of a representation, nil if there is none, and whether all folds share it.
func (r *run) learner(ctx context.Context, p representation, effort int) (step transformer.Fitter, shared bool,
	err error) {
	if step, err = r.learnStep(p, effort); step == nil || err != nil {
		return nil, false, err
	}
	chain, err := r.cleaner(ctx, p)
	return step, r.lessonRows != nil && err == nil && !supervised(chain), err
}

// learnStep returns the learning step of a representation, nil if there is none.
func (r *run) learnStep(p representation, effort int) (transformer.Fitter, error) {
	if p.learn.name == "" {
		return nil, nil
	}
	return p.learn.fitter(append(slices.Clone(p.effort[effort]), param.Setting{Path: "rows", Value: r.lessonCount()},
		r.seeded("learn"))...)
}

// learning reports whether the learned part of a representation is known or being learned: that for a view of the given
// rows or, if rows is 0 or all folds share it, that from all rows.
func (r *run) learning(p representation, rows, effort int) (known bool) {
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	if _, known = r.memo.values[learnedKey{p.name, effort}]; !known && rows > 0 {
		_, known = r.memo.values[viewKey{p.name, rows, effort}]
	}
	return known
}

// learnedFromAll returns the learned step of a representation, fitted to all rows.
func (r *run) learnedFromAll(ctx context.Context, p representation, effort int) (transformer.Transformer, error) {
	return stored(ctx, &r.memo, learnedKey{p.name, effort}, func() (transformer.Transformer, error) {
		chain, err := r.cleaner(ctx, p)
		if err != nil {
			return nil, err
		}
		data, err := mapped(ctx, chain, r.data)
		if err != nil {
			return nil, err
		}
		step, _, err := r.learner(ctx, p, effort)
		if err != nil {
			return nil, err
		}
		return r.learn(ctx, p, step, data)
	})
}

// learn fits the learning step of a representation and notes its pace.
func (r *run) learn(ctx context.Context, p representation, step transformer.Fitter, data datasets.Set) (
	transformer.Transformer, error) {
	began := time.Now()
	t, err := step.Fit(ctx, data)
	if err == nil {
		r.notePace(p.learn.name, costOf(step, data.Shape()), time.Since(began).Seconds())
	}
	return t, err
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

// supervised reports whether preprocessing maps its training rows by their targets.
func supervised(fitted *pipeline.FittedChain) bool { return fitted.Training(0) != nil }

// crossFitted returns all rows mapped by steps that are fitted to the training rows, which are mapped by the targets
// of other training rows, as in the fit of a pipeline.
func crossFitted(ctx context.Context, steps pipeline.Sequence, rows datasets.Set, train []int) (datasets.Set, error) {
	from := rows.Select(train)
	chain, err := pipeline.Chain{Steps: steps}.Fit(ctx, from)
	if err != nil {
		return rows, err
	}
	fitted := chain.(*pipeline.FittedChain)
	out, err := mapped(ctx, fitted.Inference(), rows)
	training := fitted.Training(0)
	if err != nil || training == nil {
		return out, err
	}
	own, err := training.Transform(ctx, from.X)
	if err != nil {
		return rows, err
	}
	if dense, ok := out.X.(*mat.Dense); ok {
		for k, i := range train {
			dense.SetRow(i, own.(*mat.Dense).RawRowView(k))
		}
		return out, nil
	}
	order := indices(rows.Rows())
	for i := range order {
		order[i] += len(train)
	}
	for k, i := range train {
		order[i] = k
	}
	out.X = sparse.Concat([]*sparse.CSR{own.(*sparse.CSR), out.X.(*sparse.CSR)}).Select(order)
	return out, nil
}

// indices returns 0 … n−1.
func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
