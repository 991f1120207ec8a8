package sweep

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/transformer"
)

// familyOfFold fits a family on one fold, whose rows depth steps have mapped.
func (s *sweep) familyOfFold(ctx context.Context, family []*node, d foldRows, depth int) {
	candidates := members(family)
	if !s.wants(candidates, d.fold) {
		return
	}
	fold := datasets.Fold{Train: rows.Range(0, d.train), Test: rows.Range(d.train, d.set.Rows())}
	s.family(ctx, family, familyRows{data: d.set, learn: d.trainSet(), folds: []datasets.Fold{fold}, first: d.fold,
		seconds: d.seconds,
		fitOne:  func(ctx context.Context, i, _ int) share.Outcome { return s.predictUnshared(ctx, i, d, depth) }})
}

// familyOfAllFolds fits a family on all folds. Its steps and the preceding ones are
// data-independent.
func (s *sweep) familyOfAllFolds(ctx context.Context, family []*node, steps []rows.Spec) {
	candidates := members(family)
	if !s.wantsAny(candidates) {
		return
	}
	data, err := s.mapOnce(ctx, steps)
	if err != nil {
		for _, i := range candidates {
			for f := range s.Folds {
				s.deliver(ctx, i, f, share.Outcome{Err: err})
			}
		}
		return
	}
	if len(steps) > 0 {
		s.share("prefix")
	}
	s.family(ctx, family, familyRows{data: data, learn: data, folds: s.Folds,
		fitOne: func(ctx context.Context, i, f int) share.Outcome {
			return s.predictUnshared(ctx, i, divide(data, s.Folds[f], f), len(steps))
		}})
}

// familyRows contains the rows and folds of a family.
type familyRows struct {
	data    datasets.Set
	learn   datasets.Set // rows that the steps of the family are fitted to
	folds   []datasets.Fold
	first   int     // index of the first of the folds
	seconds float64 // shared time per candidate
	fitOne  func(ctx context.Context, candidate, fold int) share.Outcome
}

// family fits the candidates of a family by the FitBatch of their estimators.
func (s *sweep) family(ctx context.Context, family []*node, r familyRows) {
	candidates := members(family)
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, r.learn, specs(family))
	if err != nil { // candidates are fitted separately and report their own errors
		for _, i := range candidates {
			for f := range r.folds {
				if s.Includes(i, r.first+f) && ctx.Err() == nil {
					s.deliver(ctx, i, r.first+f, r.fitOne(ctx, i, f))
				}
			}
		}
		return
	}
	s.share(maps.Shared()...)
	job := share.Batch{Data: r.data, Shape: r.data.Shape(), Folds: r.folds, Maps: mapsOf(maps),
		Memory:  s.Memory / int64(max(s.workers, 1)),
		Include: func(k, f int) bool { return s.Includes(candidates[k], r.first+f) },
		FitOne:  func(ctx context.Context, k, f int) share.Outcome { return r.fitOne(ctx, candidates[k], f) },
		Yield: func(k, f int, out share.Outcome) error {
			out.Err = r.data.Locate(locate(s.Pipelines[candidates[k]].Name, out.Err), 0)
			out.Seconds += r.seconds
			s.deliver(ctx, candidates[k], r.first+f, out)
			return ctxerr.Check(ctx)
		}}
	for k, m := range maps.Members() {
		job.Candidates = append(job.Candidates, share.Candidate{
			Estimator: s.Pipelines[candidates[k]].Estimator, Map: m.Map, Width: m.Width, Scale: m.Scale,
			Float32: s.Pipelines[candidates[k]].Float32})
	}
	fitter := s.Pipelines[candidates[0]].Estimator.(share.BatchFitter)
	names, err := fitter.FitBatch(ctx, job)
	if err != nil && ctx.Err() == nil {
		s.cancel(r.data.Locate(locate(s.Pipelines[candidates[0]].Name, err), 0))
	}
	s.share(names...)
}

// mapsOf adapts a family to the maps of a batch.
func mapsOf(family transformer.Family) share.Maps {
	if f, ok := family.(float32Family); ok {
		return float32Maps{denseMaps{f}, f}
	}
	return denseMaps{family}
}

// float32Family is a family of dense maps that also computes float32 features. These equal the
// features of each fitted wide map, so that a float32 search evaluates the models it returns.
type float32Family interface {
	transformer.Family
	EachFloat32(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *single.Dense) error) error
}

// float32Maps adapts a float32Family to the maps of a batch.
type float32Maps struct {
	denseMaps
	family float32Family
}

// EachFloat32 calls yield with float32 tiles.
func (m float32Maps) EachFloat32(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z *single.Dense) error) error {
	return m.family.EachFloat32(ctx, X, which, yield)
}

// denseMaps adapts a family with dense features to the maps of a batch.
type denseMaps struct{ transformer.Family }

// Each calls yield with dense tiles.
func (m denseMaps) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z *mat.Dense) error) error {
	widths := m.Widths()
	return m.Family.Each(ctx, X, which, func(i int, Z mat.Matrix) error {
		d, ok := Z.(*mat.Dense)
		if !ok {
			d = mat.DenseCopyOf(Z)
		}
		if _, cols := d.Dims(); cols != widths[i] {
			return fmt.Errorf("%d features of a map with %d", cols, widths[i])
		}
		return yield(i, d)
	})
}

// locate adds the name of the step to err, unless it already has a location.
func locate(step string, err error) error {
	if _, ok := err.(*place.Error); ok {
		return err
	}
	return place.At("step", step, err)
}
