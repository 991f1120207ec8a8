package pipeline

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// foldRows contains the rows of folds at a node of the tree.
type foldRows struct {
	set     datasets.Set
	folds   []datasets.Fold
	first   int            // index of the first of the folds
	divided bool           // whether there is one fold, and its training rows precede its test rows
	depth   int            // number of steps that have mapped the rows
	seconds float64        // shared time per candidate and fold
	stages  []*fittedStage // first stages shared by the next steps
}

// whole returns the rows of all folds.
func (s *sweep) whole() foldRows { return foldRows{set: s.Data, folds: s.Folds} }

// onFold returns the rows of a fold of d.
func (d foldRows) onFold(f int) foldRows {
	if !d.divided {
		train, n := len(d.folds[f].Train), len(d.folds[f].Train)+len(d.folds[f].Test)
		d.set = design.Select(d.set, slices.Concat(d.folds[f].Train, d.folds[f].Test))
		d.folds = []datasets.Fold{{Train: rows.Range(0, train), Test: rows.Range(train, n)}}
		d.first, d.divided = d.first+f, true
	}
	return d
}

// trainSet returns the rows that steps are fitted to: all rows if these do not matter.
func (d foldRows) trainSet() datasets.Set {
	if !d.divided {
		return d.set
	}
	return d.set.Slice(0, len(d.folds[0].Train))
}

func (d foldRows) testSet() datasets.Set { return d.set.Slice(len(d.folds[0].Train), d.set.Rows()) }

// mapRows fits spec, the possibly derived step of b, to the training rows, and maps all rows. ok is
// false if the mapped rows would exceed the memory limit.
func (s *sweep) mapRows(ctx context.Context, b *node, spec transformer.Fitter, d foldRows) (_ foldRows,
	ok bool, err error) {
	r, err := rows.Of(d.trainSet(), s.Memory)
	if err != nil {
		return d, false, err
	}
	fitted := &rows.Step{Name: b.step.Name}
	schema := d.set.Schema
	var train mat.Matrix // mapped training rows, if they differ from those of other rows
	if fitter, both := spec.(transformer.Binning); both {
		if fitter.FeatureBytes(d.set.Rows(), d.set.Cols()) > s.Memory {
			return d, false, nil
		}
		if r, err = r.FitTransform(ctx, fitter, fitted); err != nil {
			return d, false, err
		}
		train, schema = r.Set.X, r.Set.Schema
	} else {
		if fitted.Fitted, err = r.Fit(ctx, spec); err != nil {
			return d, false, err
		}
		sample, err := fitted.Learn(ctx, r.Sample())
		if err != nil || rows.BytesOf(sample)*int64(d.set.Rows()) > s.Memory {
			return d, false, err
		}
		schema = rows.Describe(fitted.Fitted, schema)
		if step, differs := fitted.Training(0); differs {
			step.Fitted, step.Train = fitted.Fitted, true
			if train, err = rows.MapAll(ctx, step, r.Set.X); err != nil {
				return d, false, err
			}
		}
	}
	if train == nil {
		d.set.X, err = fitted.MapCached(ctx, d.set.X, b.readers()...)
		d.set.Schema = schema
		return d, true, err
	}
	test, err := rows.MapAll(ctx, fitted, d.testSet().X)
	if err != nil {
		return d, false, d.testSet().Locate(err, 0)
	}
	d.set.X, d.set.Schema = concatRows(train, test), schema
	return d, true, nil
}

// concatRows returns a, which may be nil, and b concatenated by row.
func concatRows(a, b mat.Matrix) mat.Matrix {
	above, ok := a.(*matrices.CSR)
	below, sparseBelow := b.(*matrices.CSR)
	if ok && sparseBelow {
		return above.Append(below)
	}
	switch {
	case a == nil && sparseBelow:
		return below.Append()
	case a == nil:
		return mat.DenseCopyOf(b)
	}
	n, width := a.Dims()
	m, _ := b.Dims()
	out := mat.NewDense(n+m, width, nil)
	rows.Fill(out.Slice(0, n, 0, width).(*mat.Dense), a, 1)
	rows.Fill(out.Slice(n, n+m, 0, width).(*mat.Dense), b, 1)
	return out
}

// fitEstimators fits the estimators of the candidates together, to the maps of a family if it is not
// nil.
func (s *sweep) fitEstimators(ctx context.Context, candidates []int, maps *transformer.Family, d foldRows) {
	job := batch.Job{Data: d.set, Shape: d.set.Shape(), Folds: d.folds, Candidates: s.estimators(candidates),
		LeaveOneOut: s.LeaveOneOut, GCV: s.GCV,
		Include: func(k, f int) bool { return s.Includes(candidates[k], d.first+f) },
		FitOne: func(ctx context.Context, k, f int) batch.Outcome {
			one := d.onFold(f)
			one.seconds = 0 // added to each outcome
			return s.fitOne(ctx, candidates[k], one)
		},
		Yield: func(k, f int, out batch.Outcome) error {
			out.Err = d.set.Locate(locate(s.pipelines[candidates[k]].path(), out.Err), 0)
			out.Seconds += d.seconds
			s.deliver(ctx, candidates[k], d.first+f, out)
			return ctxerr.Check(ctx)
		}}
	switch {
	case maps != nil:
		job.Maps, job.Memory = maps.Maps, s.Memory/int64(max(s.workers, 1))
		setMaps(job.Candidates, maps.Members)
	case !d.divided:
		job.Workers = s.inner
	}
	if maps == nil && d.depth > 0 && len(candidates)*len(d.folds) > 1 {
		s.share("features")
	}
	names, err := estimator.FitBatch(ctx, job)
	if err != nil && ctx.Err() == nil {
		s.cancel(d.set.Locate(locate(s.pipelines[candidates[0]].path(), err), 0))
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

// fitUnshared fits the remaining steps and the estimators of candidates without sharing.
func (s *sweep) fitUnshared(ctx context.Context, candidates []int, d foldRows) {
	for f := range d.folds {
		for _, i := range candidates {
			if ctx.Err() == nil && s.Includes(i, d.first+f) {
				s.deliver(ctx, i, d.first+f, s.fitOne(ctx, i, d.onFold(f)))
			}
		}
	}
}

// fitOne fits the remaining steps and the estimator of candidate i to the rows of one fold, and returns the outcome
// on the test rows.
func (s *sweep) fitOne(ctx context.Context, i int, d foldRows) batch.Outcome {
	spec, shift := s.pipelines[i].Pipeline, &timeShift{}
	spec.Name, spec.Memory, spec.Steps = spec.path(), s.Memory, slices.Clone(spec.Steps[d.depth:])
	if len(d.stages) > 0 {
		spec.Steps[0].Name = spec.Steps[0].Path()
		spec.Steps[0].Fitter, shift = s.deriveStep(spec.Steps[0].Fitter, d.stages, 1)
	}
	out := estimator.FitOne(ctx, batch.Job{Data: d.set, Folds: d.folds, Candidates: batch.Candidates(spec)}, 0, 0)
	out.Seconds += d.seconds + shift.seconds
	return out
}
