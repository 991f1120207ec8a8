package sweep

import (
	"context"
	"reflect"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/guard"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// estimate fits the estimators of the candidates to rows that all of them share.
func (s *sweep) estimate(ctx context.Context, candidates []int, d foldRows) {
	if len(candidates) > 1 {
		s.share("features")
	}
	fold := datasets.Fold{Train: rows.Range(0, d.train), Test: rows.Range(d.train, d.set.Rows())}
	s.byKind(candidates, func(same []int) {
		if fitter, ok := s.Pipelines[same[0]].Estimator.(share.BatchFitter); ok {
			s.fitEstimators(ctx, fitter, same, d.set, []datasets.Fold{fold}, func(int) int { return d.fold }, d.seconds)
			return
		}
		for _, i := range same {
			if ctx.Err() == nil {
				s.fitEstimator(ctx, i, d)
			}
		}
	})
}

func (s *sweep) fitEstimator(ctx context.Context, i int, d foldRows) {
	if !s.Includes(i, d.fold) {
		return
	}
	start := time.Now()
	p := s.Pipelines[i]
	fitted, err := guard.Call(p.Estimator, "Fit", func() (estimator.Predictor, error) {
		return p.Estimator.Fit(ctx, d.trainSet())
	})
	s.deliver(ctx, i, d.fold, s.predictFold(ctx, fitted, place.At("step", p.Name, err), d, start))
}

// byKind calls f for the candidates with each type of estimator.
func (s *sweep) byKind(candidates []int, f func(same []int)) {
	var kinds []reflect.Type
	groups := map[reflect.Type][]int{}
	for _, i := range candidates {
		kind := reflect.TypeOf(s.Pipelines[i].Estimator)
		if groups[kind] == nil {
			kinds = append(kinds, kind)
		}
		groups[kind] = append(groups[kind], i)
	}
	for _, kind := range kinds {
		f(groups[kind])
	}
}

// fitEstimators fits the estimators of the candidates by their FitBatch.
func (s *sweep) fitEstimators(ctx context.Context, fitter share.BatchFitter, candidates []int, data datasets.Set,
	folds []datasets.Fold, fold func(int) int, seconds float64) {
	names, err := fitter.FitBatch(ctx, share.Batch{Data: data, Shape: data.Shape(), Folds: folds,
		Candidates: s.specsOf(candidates),
		Include:    func(k, f int) bool { return s.Includes(candidates[k], fold(f)) },
		Yield: func(k, f int, out share.Outcome) error {
			out.Err = data.Locate(place.At("step", s.Pipelines[candidates[k]].Name, out.Err), 0)
			out.Seconds += seconds
			s.deliver(ctx, candidates[k], fold(f), out)
			return ctxerr.Check(ctx)
		}})
	if err != nil && ctx.Err() == nil {
		s.cancel(data.Locate(place.At("step", s.Pipelines[candidates[0]].Name, err), 0))
	}
	s.share(names...)
}

// specsOf returns the estimators of the candidates.
func (s *sweep) specsOf(candidates []int) []share.Candidate {
	out := make([]share.Candidate, len(candidates))
	for k, i := range candidates {
		out[k].Estimator = s.Pipelines[i].Estimator
	}
	return out
}

// fitAllFolds fits candidates with the same data-independent steps on all folds.
func (s *sweep) fitAllFolds(ctx context.Context, steps []rows.Spec, candidates []int) {
	if !s.wantsAny(candidates) {
		return
	}
	if s.bytes(s.Pipelines[candidates[0]]) > s.Memory { // fall back to one candidate and fold at a time
		for f := range s.Folds {
			for _, i := range candidates {
				s.fitUnshared(ctx, i, s.foldRows(f), 0)
			}
		}
		return
	}
	start := time.Now()
	data, err := s.mapOnce(ctx, steps)
	if err != nil {
		for _, i := range candidates {
			for f := range s.Folds {
				s.deliver(ctx, i, f, share.Outcome{Err: err})
			}
		}
		return
	}
	seconds := time.Since(start).Seconds() / float64(len(candidates)*max(len(s.Folds), 1))
	if len(steps) > 0 && len(candidates)*len(s.Folds) > 1 {
		s.share("prefix", "features")
	}
	s.byKind(candidates, func(same []int) {
		if fitter, ok := s.Pipelines[same[0]].Estimator.(share.BatchFitter); ok {
			s.fitEstimators(ctx, fitter, same, data, s.Folds, func(f int) int { return f }, seconds)
			return
		}
		parallel(ctx, s.inner, len(s.Folds), func(f int) {
			d := divide(data, s.Folds[f], f)
			d.seconds = seconds
			for _, i := range same {
				if ctx.Err() == nil {
					s.fitEstimator(ctx, i, d)
				}
			}
		})
	})
}

// mapOnce returns all rows mapped by data-independent steps.
func (s *sweep) mapOnce(ctx context.Context, steps []rows.Spec) (datasets.Set, error) {
	r, err := rows.Of(s.Data, s.Memory)
	if err != nil {
		return datasets.Set{}, place.Here(err)
	}
	_, out, err := rows.FitSteps(ctx, steps, r, func(int) rows.Cache { return rows.Cached })
	if err != nil {
		return datasets.Set{}, err
	}
	return out.Gather(ctx)
}
