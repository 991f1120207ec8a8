package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

// leavesOneOut says why none of the pipelines of a batch can predict each row by the model of all the
// others, and nil where one can.
func (p Pipeline) leavesOneOut(b estimator.Batch) error {
	var first error
	for _, c := range b.Candidates {
		setting, ok := c.Estimator.(Pipeline)
		if !ok {
			continue
		}
		err := setting.canLeaveOneOut()
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// canLeaveOneOut refuses an estimator that cannot, and a step that learns from the rows and would be
// another without each.
func (p Pipeline) canLeaveOneOut() error {
	fitter, ok := p.Estimator.(estimator.BatchFitter)
	if !ok {
		return at("step", p.path(), fmt.Errorf("%T cannot leave one out, as ridge and ridge_classifier can; use k folds", p.Estimator))
	}
	if _, _, err := fitter.BatchCost(estimator.Batch{OneOut: true, Candidates: estimator.Candidates(p.Estimator)}); err != nil {
		return at("step", p.path(), err)
	}
	for _, s := range p.Steps {
		if r, ok := s.Fitter.(transformer.Rowless); !ok || !r.FitsWithoutRows() {
			return at("step", s.Path(), fmt.Errorf("it learns from the rows, and would have to be fitted again without each of them; use k folds, or fix what it learns"))
		}
	}
	return nil
}

// runOneOut predicts each row by the models of all the others.
func (s *sweep) runOneOut(ctx context.Context, gcv bool) {
	tree := &branch{}
	for i, setting := range s.settings {
		err := here(setting.check())
		if err == nil {
			err = setting.canLeaveOneOut()
		}
		if need := s.bytes(setting); err == nil && need > s.memory {
			err = here(fmt.Errorf("leave one out holds %d bytes of features, %d are allowed; use k folds or allow more", need, s.memory))
		}
		if err != nil {
			s.give(ctx, i, 0, estimator.Outcome{Err: err})
			continue
		}
		tree.grow(i, setting.Steps)
	}
	s.oneOut(ctx, tree, nil, gcv)
}

// oneOut does the settings below b, whose steps are those given.
func (s *sweep) oneOut(ctx context.Context, b *branch, steps []Step, gcv bool) {
	if len(b.ends) > 0 && ctx.Err() == nil {
		s.oneOutEnds(ctx, b.ends, steps, gcv)
	}
	for _, n := range b.next {
		s.oneOut(ctx, n, append(slices.Clone(steps), n.step), gcv)
	}
}

func (s *sweep) oneOutEnds(ctx context.Context, ends []int, steps []Step, gcv bool) {
	data, err := s.mapOnce(ctx, steps)
	if err != nil {
		for _, i := range ends {
			s.give(ctx, i, 0, estimator.Outcome{Err: err})
		}
		return
	}
	if len(steps) > 0 && len(ends) > 1 {
		s.share("prefix", "features")
	}
	s.byKind(ends, func(same []int) {
		name := s.settings[same[0]].path()
		fitter := s.settings[same[0]].Estimator.(estimator.BatchFitter)
		names, err := fitter.FitBatch(ctx, estimator.Batch{Data: data, Shape: data.Shape(), Folds: s.folds, Candidates: s.candidates(same), OneOut: true, GCV: gcv,
			Wanted: func(k, _ int) bool { return s.wanted(same[k], 0) },
			Yield: func(k, _ int, out estimator.Outcome) error {
				out.Err = at("step", name, out.Err)
				s.give(ctx, same[k], 0, out)
				return ctx.Err()
			}})
		if err != nil && ctx.Err() == nil {
			s.cancel(at("step", name, err))
		}
		s.share(names...)
	})
}
