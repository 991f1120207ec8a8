// Package rows represents the training rows of a step or a model in a pipeline: in memory, or
// mapped by the previous steps in each pass. [FitSteps] fits a sequence of steps to them.
package rows

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/transformer"
)

// Rows are the training rows at one position of a chain: in memory, or mapped in each pass.
type Rows struct {
	Set     datasets.Set
	src     datasets.Source // nil if the rows are in Set
	sample  mat.Matrix      // first row
	memory  int64           // memory limit of cached mapped rows, in bytes
	Float32 bool            // whether the last step computes float32 features
}

// Of returns rows in memory, with a memory limit for the cached output of steps in bytes.
func Of(set datasets.Set, memory int64) (Rows, error) {
	if err := set.Check(); err != nil {
		return Rows{}, err
	}
	return Rows{Set: set, sample: rowblock.Slice(set.X, 0, 1), memory: memory}, nil
}

// FromSample returns the rows of a source with a known first row.
func FromSample(src datasets.Source, sample mat.Matrix) Rows { return Rows{src: src, sample: sample} }

// From returns the rows of a source.
func From(ctx context.Context, src datasets.Source, memory int64) (Rows, error) {
	switch src.(type) {
	case *peekedSource, mappedSource, columnSubset:
	default:
		p, err := peek(ctx, src)
		if err != nil {
			return Rows{}, err
		}
		src = p
	}
	first, err := firstRows(ctx, src, 1)
	if err != nil {
		return Rows{}, err
	}
	return Rows{src: src, sample: first.X, memory: memory}, nil
}

// Source returns the rows as a source.
func (r Rows) Source() datasets.Source {
	if r.src != nil {
		return r.src
	}
	return r.Set.Source()
}

// Gather returns the rows in memory, without a limit.
func (r Rows) Gather(ctx context.Context) (datasets.Set, error) {
	if r.src == nil {
		return r.Set, nil
	}
	return datasets.ReadAll(ctx, r.src)
}

// Fit fits a step to the rows. It reads streamed rows into memory if the step requires it.
func (r Rows) Fit(ctx context.Context, f transformer.Fitter) (transformer.Transformer, error) {
	if b, ok := f.(transformer.BlockFitter); ok && r.src != nil {
		return guard.Call(f, "FitSource", func() (transformer.Transformer, error) { return b.FitSource(ctx, r.src) })
	}
	set, err := r.Gather(ctx)
	if err != nil {
		return nil, err
	}
	return guard.Call(f, "Fit", func() (transformer.Transformer, error) { return f.Fit(ctx, set) })
}

// mapBy returns the rows mapped by a fitted step: in memory if the rows are in memory, caching is
// selected and they fit, else lazily. next is the consumer, nil for an estimator. It sets the width
// of the step.
func (r Rows) mapBy(ctx context.Context, s *Step, cache Cache, next transformer.Fitter) (Rows, error) {
	sample, err := s.Learn(ctx, r.sample)
	if err != nil {
		return Rows{}, err
	}
	out := Rows{sample: sample, memory: r.memory, Float32: r.Float32}
	size := BytesOf(sample)
	if s.Float32 {
		size = 4 * int64(s.Width)
	}
	if cache == CachedFloat32 && s.Dense && !s.Float32 {
		out.src, err = r.withFloat32(ctx, s)
		return out, err
	}
	if r.src != nil || cache == NoCache || size*int64(r.Set.Rows()) > r.memory {
		out.src = Mapped(r.Source(), s)
		return out, nil
	}
	out.Set = r.Set
	out.Set.Schema = Describe(s.Fitted, r.Set.Schema)
	out.Set.X, err = s.MapCached(ctx, r.Set.X, next)
	return out, err
}

// FitThrough fits a step and returns the mapped rows, like Fit followed by through. Random
// binning computes the features of its training rows as a by-product: if they fit in memory, they are cached.
func (r Rows) FitThrough(ctx context.Context, f transformer.Fitter, s *Step, cache Cache,
	next transformer.Fitter) (Rows, error) {
	var err error
	fitter, ok := f.(transformer.Binning)
	if ok && r.src == nil && fitter.FeatureBytes(r.Set.Rows(), r.Set.Cols()) <= r.memory {
		return r.FitTransform(ctx, fitter, s)
	}
	if s.Fitted, err = r.Fit(ctx, f); err != nil {
		return Rows{}, err
	}
	if cache == CachedFloat32 && (r.src != nil || !CachesFloat32(CostOf(f, r.Set.Shape()), r.Set.Shape(), r.memory)) {
		cache = Cached
	}
	return r.mapBy(ctx, s, cache, next)
}

// FitTransform fits random binning by FitTransform and returns the mapped rows.
func (r Rows) FitTransform(ctx context.Context, f transformer.Binning, s *Step) (Rows, error) {
	var Z mat.Matrix
	t, err := guard.Call(f, "FitTransform", func() (t transformer.Transformer, err error) {
		t, Z, err = f.FitTransform(ctx, r.Set)
		return t, err
	})
	if err != nil {
		return Rows{}, err
	}
	s.Fitted = t
	out := Rows{Set: r.Set, memory: r.memory, Float32: r.Float32}
	if out.sample, err = s.Learn(ctx, r.sample); err != nil {
		return Rows{}, err
	}
	if err := checkOutput(f, "FitTransform", Z, r.Set.Rows(), s.Width); err != nil {
		return Rows{}, err
	}
	out.Set.Schema = Describe(t, r.Set.Schema)
	out.Set.X = Z
	if s.Float32 {
		narrow := matrices.NewDense32(r.Set.Rows(), s.Width, nil)
		round(narrow, Z.(*mat.Dense))
		out.Set.X = narrow
	}
	return out, nil
}

// Columns returns the rows with the columns of the given indices, nil for all.
func (r Rows) Columns(index []int) Rows {
	if index == nil {
		return r
	}
	r.sample = new(rowblock.Picker).Columns(r.sample, index)
	if r.src != nil {
		r.src = columnSubset{base: r.src, index: index, schema: pick.Schema(r.src.Schema(), index)}
		return r
	}
	r.Set.X = new(rowblock.Picker).Columns(r.Set.X, index)
	r.Set.Schema = pick.Schema(r.Set.Schema, index)
	return r
}

// Sample returns the first row.
func (r Rows) Sample() mat.Matrix { return r.sample }

// FitEstimator fits e to the rows.
func (r Rows) FitEstimator(ctx context.Context, e estimator.Estimator) (estimator.Predictor, error) {
	if b, ok := e.(estimator.BlockEstimator); ok && r.src != nil {
		return guard.Call(e, "FitSource", func() (estimator.Predictor, error) { return b.FitSource(ctx, r.src) })
	}
	set, err := r.Gather(ctx)
	if err != nil {
		return nil, err
	}
	return guard.Call(e, "Fit", func() (estimator.Predictor, error) { return e.Fit(ctx, set) })
}
