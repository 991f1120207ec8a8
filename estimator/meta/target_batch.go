package meta

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
)

// FitBatch transforms the targets, passes them to FitBatch of the inner estimators, and transforms
// the predictions back. If the transform and the limits do not depend on the training rows, one batch serves all
// folds, and leave-one-out is as exact as that of the inner estimators; else there is one batch per
// fold. Several transforms of a model that is linear in its targets, as Ridge and KernelRidge are, are
// right-hand sides of one fit; one that depends on the training rows is another right-hand side for each
// fold. Candidates with Smear, which uses training residuals, or Limits auto are fitted individually.
func (s Target) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	specs, err := batch.Specs[Target](b)
	if err != nil {
		return nil, s.named(err)
	}
	if b.Maps == nil {
		b.FitOne = nil // the inner estimators are fitted to the rows
	}
	groups, err := groupBy(b, func(i int) (any, error) {
		spec := specs[i]
		wrong := spec.check(b.Data.Schema)
		if wrong == nil && b.LeaveOneOut {
			wrong = spec.checkLeaveOneOut(b.GCV)
		}
		return spec.transformOnly(), spec.named(wrong)
	})
	if err != nil {
		return nil, err
	}
	groups, shared, err = fitJointly(ctx, b, specs, groups)
	if err != nil {
		return shared, err
	}
	for _, which := range groups {
		names, err := specs[which[0]].fitSameTransform(ctx, b.Select(which))
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

// fitSameTransform fits candidates with the transform of s.
func (s Target) fitSameTransform(ctx context.Context, b batch.Job) (shared []string, err error) {
	if s.individual() {
		return nil, estimator.FitSeparately(ctx, b)
	}
	if !s.learns() {
		if learned, mapped, err := s.transformed(b.Data); err == nil {
			return s.fitTransformed(ctx, b, mapped, learned.backOf)
		}
	}
	for f := range b.Folds {
		part := b.OnFold(f)
		learned, mapped, failed := s.transformedFold(b.Data, b.Folds[f].Train)
		if failed != nil {
			for i := range b.Candidates {
				if err := part.YieldError(i, s.named(failed)); err != nil {
					return shared, err
				}
			}
			continue
		}
		names, err := s.fitTransformed(ctx, part, mapped, learned.backOf)
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

// transformedFold fits the transforms to the training rows of a fold and applies them. The targets
// of other rows, which are not used, are set to 0.
func (s Target) transformedFold(data datasets.Set, train []int) (transforms, datasets.Set, error) {
	own := datasets.Set{X: data.X, Y: data.Y, Targets: data.Targets, Weights: data.Weights, Schema: data.Schema}
	y, count, err := design.BlockTargets(0, own)
	if err != nil {
		return nil, data, err
	}
	z, w := make([]float64, 0, len(train)*count), []float64(nil)
	for _, i := range train {
		if z = append(z, y[i*count:(i+1)*count]...); data.Weights != nil {
			w = append(w, data.Weights[i])
		}
	}
	learned := s.learnTransforms(z, count, w)
	out := make([]float64, len(y))
	for _, i := range train {
		for j := range count {
			if out[i*count+j], err = learned.forward(y[i*count+j], data, i, j); err != nil {
				return nil, data, err
			}
		}
	}
	return learned, withTargets(data, out, count), nil
}

// fitTransformed fits a batch to transformed targets; back transforms the prediction of a candidate.
func (s Target) fitTransformed(ctx context.Context, b batch.Job, mapped datasets.Set,
	back func(candidate, fold int, p estimator.Prediction) (estimator.Prediction, error)) (shared []string, err error) {
	data := b.Data
	b.Data = mapped
	return fitInner(ctx, b, innerCandidates(b.Candidates, s.modelOf),
		func(candidate, fold int, out batch.Outcome) batch.Outcome {
			if out.Err == nil {
				out.Prediction, out.Err = back(candidate, fold, out.Prediction)
				out.Err = data.AtRows(out.Err, b.Folds[fold].Test)
			}
			out.Err = s.named(out.Err)
			return out
		})
}

// withTargets returns data with other targets, rows × count.
func withTargets(data datasets.Set, y []float64, count int) datasets.Set {
	if data.Targets == nil {
		data.Y = y
		return data
	}
	data.Targets = mat.NewDense(len(y)/count, count, y)
	return data
}

// transformOnly returns s without its model, equal for specs with the same transform.
func (s Target) transformOnly() Target {
	s.Estimator = nil
	if s.Transform != "power" {
		s.Exponent = 0
	}
	return s
}

// sharesFits reports whether candidates with other transforms can share the fits of s.
func (s Target) sharesFits() bool {
	return !s.individual() && datasets.TagsOf(s.Estimator).LinearInTargets
}

// rightHandSides are the transformed targets of some candidates.
type rightHandSides struct {
	which   []int        // candidates
	learned []transforms // by fold
	first   []int        // first column of each fold
}

// fitJointly fits the groups of candidates with one transform each that share fits, if there are several: each
// distinct inner estimator once, to the targets of all transforms. It returns the other groups.
func fitJointly(ctx context.Context, b batch.Job, specs []Target, groups [][]int) (rest [][]int,
	shared []string, err error) {
	var joint []rightHandSides
	var columns [][]float64
	group := map[int]int{} // by candidate
	var all []int
	for _, which := range groups {
		one := rightHandSides{which: which}
		own, failed := [][]float64(nil), slices.ContainsFunc(which, func(i int) bool { return !specs[i].sharesFits() })
		for f := 0; f < len(b.Folds) && !failed; f++ {
			spec, mapped, learned := specs[which[0]], datasets.Set{}, transforms(nil)
			switch {
			case spec.learns():
				learned, mapped, err = spec.transformedFold(b.Data, b.Folds[f].Train)
			case f == 0:
				learned, mapped, err = spec.transformed(b.Data)
			default:
				one.learned, one.first = append(one.learned, one.learned[0]), append(one.first, one.first[0])
				continue
			}
			if failed = err != nil; failed {
				break // each fold reports its own error
			}
			y, count, _ := design.BlockTargets(0, mapped)
			one.learned, one.first = append(one.learned, learned), append(one.first, len(columns)+len(own))
			for j := range count {
				column := make([]float64, len(y)/count)
				for i := range column {
					column[i] = y[i*count+j]
				}
				own = append(own, column)
			}
		}
		if failed {
			rest = append(rest, which)
			continue
		}
		for _, i := range which {
			group[len(all)] = len(joint)
			all = append(all, i)
		}
		joint, columns = append(joint, one), append(columns, own...)
	}
	if len(joint) < 2 {
		return groups, nil, nil
	}
	wide := mat.NewDense(b.Data.Rows(), len(columns), nil)
	for j, column := range columns {
		wide.SetCol(j, column)
	}
	mapped := b.Data
	mapped.Y, mapped.Targets, mapped.Schema.Targets = nil, wide, make([]datasets.Column, len(columns))
	shared, err = Target{}.fitTransformed(ctx, b.Select(all), mapped,
		func(i, fold int, p estimator.Prediction) (estimator.Prediction, error) {
			g := joint[group[i]]
			return g.learned[fold].ofColumns(p.Targets, g.first[fold])
		})
	return rest, append(shared, "targets"), err
}

// backOf transforms the prediction of any candidate back.
func (m transforms) backOf(_, _ int, p estimator.Prediction) (estimator.Prediction, error) {
	return m.back(p)
}

// ofColumns returns the prediction for the targets whose transforms begin at a column of wide.
func (m transforms) ofColumns(wide *mat.Dense, first int) (estimator.Prediction, error) {
	n, _ := wide.Dims()
	return m.back(estimator.Prediction{Values: mat.Col(nil, first, wide),
		Targets: mat.DenseCopyOf(wide.Slice(0, n, first, first+len(m)))})
}

// modelOf returns the inner estimator of a candidate.
func (Target) modelOf(c batch.Candidate) estimator.Estimator {
	return c.Estimator.(Target).Estimator
}

// checkLeaveOneOut returns an error if a spec does not support leave-one-out.
func (s Target) checkLeaveOneOut(gcv bool) error {
	switch {
	case s.learns() || s.Smear:
		return errors.New("what it learns from the targets would be another without each row; use k folds")
	case gcv:
		return errors.New("generalized cross-validation scores transformed targets; use loo or k-fold cross-validation")
	}
	return nil
}

// PlanBatch returns the plan of the inner estimators, unless the transform depends on the rows left
// out.
func (s Target) PlanBatch(b batch.Job) (int64, error) {
	specs, err := batch.Specs[Target](b)
	if err != nil {
		return 0, s.named(err)
	}
	columns := map[Target]int{} // of transforms that share fits
	for _, spec := range specs {
		if spec.sharesFits() {
			columns[spec.transformOnly()] = 1
			if spec.learns() {
				columns[spec.transformOnly()] = len(b.Folds)
			}
		}
		if err = checkModel(spec, spec.Estimator); err == nil && b.LeaveOneOut {
			err = spec.checkLeaveOneOut(b.GCV)
		}
		if err != nil {
			return 0, s.named(err)
		}
	}
	b.Candidates = innerCandidates(b.Candidates, s.modelOf)
	if len(columns) > 1 {
		all := 0
		for _, n := range columns {
			all += n
		}
		b.Shape.Outputs = all * max(b.Shape.Outputs, 1)
	}
	bytes, err := estimator.PlanBatch(b)
	return bytes, s.named(err)
}
