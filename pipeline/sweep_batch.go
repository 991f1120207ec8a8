package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// fitRows contains the rows that estimators are fitted to.
type fitRows struct {
	data    datasets.Set
	folds   []datasets.Fold
	first   int     // index of the first of the folds
	depth   int     // number of steps that have mapped the rows
	seconds float64 // shared time per candidate
	workers int     // maximum number of concurrent separate fits
}

// estimate fits the estimators of the candidates to rows that all of them share.
func (s *sweep) estimate(ctx context.Context, candidates []int, d foldRows, depth int) {
	if len(candidates) > 1 {
		s.share("features")
	}
	s.fitEstimators(ctx, candidates, nil, fitRows{data: d.set, folds: d.folds(), first: d.fold, depth: depth,
		seconds: d.seconds})
}

// fitEstimators fits the estimators of the candidates together, to the maps of a family if it is not
// nil.
func (s *sweep) fitEstimators(ctx context.Context, candidates []int, maps transformer.Family, r fitRows) {
	job := batch.Job{Data: r.data, Shape: r.data.Shape(), Folds: r.folds, Candidates: s.estimators(candidates),
		LeaveOneOut: s.LeaveOneOut, GCV: s.GCV, Workers: r.workers,
		Include: func(k, f int) bool { return s.Includes(candidates[k], r.first+f) },
		FitOne: func(ctx context.Context, k, f int) batch.Outcome {
			return s.fitOne(ctx, candidates[k], divide(r.data, r.folds[f], r.first+f), r.depth)
		},
		Yield: func(k, f int, out batch.Outcome) error {
			out.Err = r.data.Locate(locate(s.pipelines[candidates[k]].path(), out.Err), 0)
			out.Seconds += r.seconds
			s.deliver(ctx, candidates[k], r.first+f, out)
			return ctxerr.Check(ctx)
		}}
	if maps != nil {
		job.Maps, job.Memory = maps, s.Memory/int64(max(s.workers, 1))
		setMaps(job.Candidates, maps.Members())
	}
	names, err := estimator.FitBatch(ctx, job)
	if err != nil && ctx.Err() == nil {
		s.cancel(r.data.Locate(locate(s.pipelines[candidates[0]].path(), err), 0))
	}
	s.share(names...)
}

// estimators returns the estimators of the candidates.
func (s *sweep) estimators(candidates []int) []batch.Candidate {
	out := make([]batch.Candidate, len(candidates))
	for k, i := range candidates {
		out[k] = batch.Candidate{Estimator: s.pipelines[i].Estimator, Float32: s.pipelines[i].Precision == Float32}
	}
	return out
}

// setMaps sets the features of candidates.
func setMaps(candidates []batch.Candidate, members []transformer.FamilyMember) {
	for k, m := range members {
		candidates[k].Map, candidates[k].Width, candidates[k].Scale = m.Map, m.Width, m.Scale
	}
}

// locate adds the name of the step to err, unless it already has a location.
func locate(step string, err error) error {
	if _, ok := err.(*place.Error); ok {
		return err
	}
	return place.At("step", step, err)
}

// fitAllFolds fits candidates with the same data-independent steps on all folds.
func (s *sweep) fitAllFolds(ctx context.Context, steps []rows.Spec, candidates []int) {
	if !s.wantsAny(candidates) {
		return
	}
	if s.bytes(s.pipelines[candidates[0]]) > s.Memory { // fall back to one candidate and fold at a time
		for f := range s.Folds {
			for _, i := range candidates {
				s.fitUnshared(ctx, i, s.foldRows(f), 0)
			}
		}
		return
	}
	start := time.Now()
	data, err := s.mapOnce(ctx, steps, candidates)
	if err != nil {
		return
	}
	if len(steps) > 0 && len(candidates)*len(s.Folds) > 1 {
		s.share("prefix", "features")
	}
	s.fitEstimators(ctx, candidates, nil, fitRows{data: data, folds: s.Folds, depth: len(steps), workers: s.inner,
		seconds: time.Since(start).Seconds() / float64(len(candidates)*max(len(s.Folds), 1))})
}

// mapOnce returns all rows mapped by the data-independent steps of candidates. It delivers an error to
// all of them.
func (s *sweep) mapOnce(ctx context.Context, steps []rows.Spec, candidates []int) (out datasets.Set, err error) {
	r, err := rows.Of(s.Data, s.Memory)
	if err != nil {
		err = place.Here(err)
	} else if _, r, err = rows.FitSteps(ctx, steps, r, func(int) rows.Cache { return rows.Cached }); err == nil {
		out, err = r.Gather(ctx)
	}
	if err != nil {
		for _, i := range candidates {
			for f := range s.Folds {
				s.deliver(ctx, i, f, batch.Outcome{Err: err})
			}
		}
	}
	return out, err
}

// fitUnshared fits the remaining steps and the estimator of candidate i, after depth steps, without
// sharing.
func (s *sweep) fitUnshared(ctx context.Context, i int, d foldRows, depth int) {
	if s.Includes(i, d.fold) {
		s.deliver(ctx, i, d.fold, s.fitOne(ctx, i, d, depth))
	}
}

// fitOne is fitUnshared that returns the outcome on the test rows.
func (s *sweep) fitOne(ctx context.Context, i int, d foldRows, depth int) batch.Outcome {
	spec, shift := s.pipelines[i].Pipeline, &timeShift{}
	spec.Name, spec.Memory, spec.Steps = spec.path(), s.Memory, slices.Clone(spec.Steps[depth:])
	if len(d.stages) > 0 {
		spec.Steps[0].Name = spec.Steps[0].Path()
		spec.Steps[0].Fitter, shift = s.deriveStep(spec.Steps[0].Fitter, d.stages, 1)
	}
	out := estimator.FitOne(ctx, batch.Job{Data: d.set, Folds: d.folds(), Candidates: batch.Candidates(spec)}, 0, 0)
	out.Seconds += d.seconds + shift.seconds
	return out
}
