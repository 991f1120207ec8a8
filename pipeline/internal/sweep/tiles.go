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

// familyOfFold fits a family on one fold, after depth steps.
func (s *sweep) familyOfFold(ctx context.Context, family []*node, d foldRows, depth int) {
	candidates := members(family)
	if !s.wants(candidates, d.fold) {
		return
	}
	fold := datasets.Fold{Train: rows.Range(0, d.train), Test: rows.Range(d.train, d.set.Rows())}
	s.family(ctx, family, familyRows{data: d.set, learn: d.trainSet(), folds: []datasets.Fold{fold}, first: d.fold,
		seconds: d.seconds,
		lone:    func(ctx context.Context, i, _ int) share.Outcome { return s.predictUnshared(ctx, i, d, depth) }})
}

// familyOfAllFolds fits a family of data-independent maps, after data-independent steps, on all
// folds.
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
		lone: func(ctx context.Context, i, f int) share.Outcome {
			return s.predictUnshared(ctx, i, divide(data, s.Folds[f], f), len(steps))
		}})
}

// familyRows is where a family is done.
type familyRows struct {
	data    datasets.Set
	learn   datasets.Set // rows that the family's steps are fitted to
	folds   []datasets.Fold
	first   int     // number of the first of the folds
	seconds float64 // of shared work, for each candidate
	lone    func(ctx context.Context, candidate, fold int) share.Outcome
}

// family leaves the candidates of a family to the FitBatch of their estimators.
func (s *sweep) family(ctx context.Context, family []*node, at familyRows) {
	candidates := members(family)
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, at.learn, specs(family))
	if err != nil { // each candidate reports its own error
		for _, i := range candidates {
			for f := range at.folds {
				if s.Includes(i, at.first+f) && ctx.Err() == nil {
					s.deliver(ctx, i, at.first+f, at.lone(ctx, i, f))
				}
			}
		}
		return
	}
	s.share(maps.Shared()...)
	job := share.Batch{Data: at.data, Shape: at.data.Shape(), Folds: at.folds, Maps: mapsOf(maps),
		Memory:  s.Memory / int64(max(s.workers, 1)),
		Include: func(k, f int) bool { return s.Includes(candidates[k], at.first+f) },
		FitOne:  func(ctx context.Context, k, f int) share.Outcome { return at.lone(ctx, candidates[k], f) },
		Yield: func(k, f int, out share.Outcome) error {
			out.Err = at.data.Locate(placed(s.Pipelines[candidates[k]].Name, out.Err), 0)
			out.Seconds += at.seconds
			s.deliver(ctx, candidates[k], at.first+f, out)
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
		s.cancel(at.data.Locate(placed(s.Pipelines[candidates[0]].Name, err), 0))
	}
	s.share(names...)
}

// mapsOf returns a family as estimators read it.
func mapsOf(family transformer.Family) share.Maps {
	if f, ok := family.(singleFamily); ok {
		return singleMaps{denseMaps{f}, f}
	}
	return denseMaps{family}
}

// singleFamily is a family of dense maps that also computes float32 features, equal to those of
// each wide map, so that a float32 search scores what is fitted.
type singleFamily interface {
	transformer.Family
	EachSingle(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *single.Dense) error) error
}

// singleMaps is a family of maps in either precision.
type singleMaps struct {
	denseMaps
	family singleFamily
}

// EachSingle yields tiles in float32.
func (m singleMaps) EachSingle(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z *single.Dense) error) error {
	return m.family.EachSingle(ctx, X, which, yield)
}

// denseMaps is a family of dense maps, as estimators read it.
type denseMaps struct{ transformer.Family }

// Each yields dense tiles.
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

// placed adds the name of the step to err, unless it has a location.
func placed(step string, err error) error {
	if _, ok := err.(*place.Error); ok {
		return err
	}
	return place.At("step", step, err)
}
