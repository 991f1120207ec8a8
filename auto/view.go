package auto

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// view contains the first rows of the order, preprocessed and transformed by a representation,
// shared by all its recipes. Preprocessing uses all rows if it does not use their targets. Steps that
// use the targets exclude test rows, see [run.foldViews] and [run.lessons].
type view struct {
	parts      []viewPart
	bytes      int64
	supervised bool // whether preprocessing uses the targets
}

// viewPart contains the rows of some folds.
type viewPart struct {
	data    datasets.Set
	folds   []datasets.Fold
	numbers []int // indices of the folds
}

// viewKey identifies a view.
type viewKey struct {
	representation string
	rows, effort   int
}

// views caches views and fitted representations. Each is computed once, also for concurrent
// callers.
type views struct {
	mu      sync.Mutex
	clean   map[viewKey]*lazyValue[*pipeline.FittedChain]     // preprocessing by scale, fitted to all rows
	views   map[viewKey]*lazyValue[*view]                     // views
	learned map[viewKey]*lazyValue[[]transformer.Transformer] // learned steps by family, one for each part of the view
	bytes   int64
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

// maxViewBytes is the maximum size of the cached views in bytes.
const maxViewBytes = 512 << 20

func newViews() views {
	return views{clean: map[viewKey]*lazyValue[*pipeline.FittedChain]{}, views: map[viewKey]*lazyValue[*view]{},
		learned: map[viewKey]*lazyValue[[]transformer.Transformer]{}}
}

// shrink drops all views if there are too many. No view may be in use.
func (v *views) shrink() {
	if v.bytes > maxViewBytes {
		v.views, v.bytes = map[viewKey]*lazyValue[*view]{}, 0
	}
}

// ready returns a computed view, nil if there is none.
func (v *views) ready(key viewKey) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	if m := v.views[key]; m != nil && m.done.Load() {
		return m.value
	}
	return nil
}

// knows reports whether the learned steps of a view are computed or being computed.
func (v *views) knows(key viewKey) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.learned[key] != nil
}

// cacheEntry returns the cache entry of a key.
func cacheEntry[T any](mu *sync.Mutex, all map[viewKey]*lazyValue[T], key viewKey) *lazyValue[T] {
	mu.Lock()
	defer mu.Unlock()
	m := all[key]
	if m == nil {
		m = &lazyValue[T]{}
		all[key] = m
	}
	return m
}

// viewOf returns the view of a representation. It may be called concurrently.
func (r *run) viewOf(ctx context.Context, p representation, rows, effort int) (*view, error) {
	if p.learn.name == "" {
		effort = 0
	}
	key := viewKey{p.name, rows, effort}
	v := &r.views
	return cacheEntry(&v.mu, v.views, key).get(ctx, func() (out *view, err error) {
		if p.learn.name == "" {
			out, err = r.cleanView(ctx, p, rows)
		} else {
			out, err = r.learnedView(ctx, p, rows, effort)
		}
		if err == nil {
			v.mu.Lock()
			v.bytes += out.bytes
			v.mu.Unlock()
		}
		return out, err
	})
}

// cleanView returns the view of a representation without a learned part.
func (r *run) cleanView(ctx context.Context, p representation, rows int) (*view, error) {
	part, folds, err := r.partAndFolds(rows)
	if err != nil {
		return nil, err
	}
	fitted, err := r.cleaner(ctx, p)
	if err != nil {
		return nil, err
	}
	if supervised(fitted) {
		return r.foldViews(ctx, p, part, folds)
	}
	if part, err = r.clean(ctx, p, part); err != nil {
		return nil, err
	}
	n, d := part.X.Dims()
	return &view{parts: []viewPart{{part, folds, indices(len(folds))}}, bytes: 8 * int64(n) * int64(d)}, nil
}

// clean preprocesses rows for a representation.
func (r *run) clean(ctx context.Context, p representation, rows datasets.Set) (datasets.Set, error) {
	fitted, err := r.cleaner(ctx, p)
	if err != nil || fitted.Len() == 0 {
		return rows, err
	}
	return mapped(ctx, fitted, rows)
}

// cleaner returns the preprocessing steps of a representation, fitted to all rows.
func (r *run) cleaner(ctx context.Context, p representation) (*pipeline.FittedChain, error) {
	return cacheEntry(&r.views.mu, r.views.clean, viewKey{representation: p.scale.name + " " + p.encode}).get(ctx,
		func() (*pipeline.FittedChain, error) {
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

// fittedSteps returns the steps of a representation, fitted to all rows.
func (r *run) fittedSteps(ctx context.Context, p representation, effort int) (pipeline.Sequence, error) {
	chain, err := r.cleaner(ctx, p)
	if err != nil {
		return nil, err
	}
	steps, err := r.cleaned(p)
	if err != nil {
		return nil, err
	}
	if supervised(chain) { // the fit maps its training rows by the targets of others
		if p.learn.name == "" {
			return steps, nil
		}
		learn, err := r.learner(p, effort)
		return append(steps, pipeline.Step{Fitter: learn}), err
	}
	for i := range steps {
		_, fitted := chain.Step(i)
		steps[i].Fitter = pipeline.Frozen{Spec: steps[i].Fitter, Fitted: fitted}
	}
	if p.learn.name == "" {
		return steps, nil
	}
	learn, err := r.learner(p, effort)
	if err != nil {
		return nil, err
	}
	learned, err := r.learnFrom(ctx, viewKey{p.familyName(), 0, effort}, p, learn,
		func() ([]datasets.Set, error) { return r.allRows(ctx, p) })
	if err != nil {
		return nil, err
	}
	return append(steps, pipeline.Step{Fitter: pipeline.Frozen{Spec: learn, Fitted: learned[0]}}), nil
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

// familyName returns the common name of all representations that learn the same.
func (p representation) familyName() string {
	if p.family != "" {
		return p.family
	}
	return p.name
}

// learner returns the learning step of a representation.
func (r *run) learner(p representation, effort int) (transformer.Fitter, error) {
	return p.learn.fitter(append(slices.Clone(p.effort[effort]), param.Setting{Path: "rows", Value: r.lessonCount()},
		r.seeded("learn"))...)
}

// learnedView learns a representation once for all folds from reserved rows, or from the training
// rows of each fold.
func (r *run) learnedView(ctx context.Context, p representation, rows, effort int) (*view, error) {
	cleaned, err := r.viewOf(ctx, p.unlearned(), rows, 0)
	if err != nil {
		return nil, err
	}
	learn, err := r.learner(p, effort)
	if err != nil {
		return nil, err
	}
	fitted, err := r.learnFrom(ctx, r.learnedKey(cleaned, p, rows, effort), p, learn,
		func() ([]datasets.Set, error) { return r.lessons(ctx, p, cleaned) })
	if err != nil {
		return nil, err
	}
	out := &view{supervised: cleaned.supervised}
	for k, t := range fitted {
		part := cleaned.parts[min(k, len(cleaned.parts)-1)]
		if len(fitted) > len(cleaned.parts) {
			part.folds, part.numbers = part.folds[k:k+1], []int{k}
		}
		if part.data, err = mapped(ctx, t, part.data); err != nil {
			return nil, err
		}
		out.parts = append(out.parts, part)
		out.bytes += cleaned.bytes
	}
	return out, nil
}

// learnedKey identifies the learned part of a representation: if rows are reserved for it, it does
// not depend on the folds.
func (r *run) learnedKey(cleaned *view, p representation, rows, effort int) viewKey {
	if r.lessonRows != nil && !cleaned.supervised {
		rows = 0
	}
	return viewKey{p.familyName(), rows, effort}
}

// lessons returns the rows for representation learning: all rows, from which the step samples those
// that no fold tests on, or the training rows of each fold.
func (r *run) lessons(ctx context.Context, p representation, cleaned *view) (out []datasets.Set, err error) {
	if cleaned.supervised {
		for _, part := range cleaned.parts {
			out = append(out, part.data.Select(part.folds[0].Train))
		}
		return out, nil
	}
	if r.lessonRows != nil {
		return r.allRows(ctx, p)
	}
	whole := cleaned.parts[0]
	for _, f := range whole.folds {
		out = append(out, whole.data.Select(f.Train))
	}
	return out, nil
}

// allRows returns all rows, preprocessed.
func (r *run) allRows(ctx context.Context, p representation) ([]datasets.Set, error) {
	data, err := r.clean(ctx, p, r.data)
	return []datasets.Set{data}, err
}

// learnFrom fits a step to each of its lessons. Steps of one family share the first stage of their
// fits.
func (r *run) learnFrom(ctx context.Context, key viewKey, p representation, step transformer.Fitter,
	lessons func() ([]datasets.Set, error)) ([]transformer.Transformer, error) {
	derived, derives := step.(transformer.TwoStageFitter)
	learner := step
	if derives {
		learner = derived.FirstStage()
	}
	learned, err := cacheEntry(&r.views.mu, r.views.learned, key).get(ctx,
		func() (out []transformer.Transformer, err error) {
			from, err := lessons()
			if err != nil {
				return nil, err
			}
			began, work := time.Now(), 0.0
			for _, data := range from {
				t, err := learner.Fit(ctx, data)
				if err != nil {
					return nil, err
				}
				out = append(out, t)
				work += costOf(learner, data.Shape())
			}
			r.notePace(p.learn.name, work, time.Since(began).Seconds())
			return out, nil
		})
	if err != nil || !derives {
		return learned, err
	}
	out := make([]transformer.Transformer, len(learned))
	for k, t := range learned {
		if out[k], err = derived.FinishFit(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mapped returns a set with the transformed inputs.
func mapped(ctx context.Context, t transformer.Transformer, data datasets.Set) (datasets.Set, error) {
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
