package sweep

import (
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// CanLeaveOneOut returns an error if the estimator does not support leave-one-out, or a step learns
// from the rows and would therefore differ for each row.
func (p Candidate) CanLeaveOneOut() error {
	fitter, ok := p.Estimator.(share.BatchFitter)
	if !ok {
		return place.At("step", p.Name,
			fmt.Errorf("%T does not support leave-one-out; use ridge, kernel_ridge or their classifiers, or k-fold "+
				"cross-validation", p.Estimator))
	}
	if _, err := fitter.PlanBatch(share.Batch{LeaveOneOut: true, Candidates: share.Candidates(p.Estimator)}); err != nil {
		return place.At("step", p.Name, err)
	}
	for _, s := range p.Steps {
		if r, ok := s.Fitter.(transformer.DataIndependent); !ok || !r.IsDataIndependent() {
			return place.At("step", s.Name,
				fmt.Errorf("it learns from the rows, and would have to be fitted again without each of them; use k folds, or "+
					"fix what it learns"))
		}
	}
	return nil
}

// runLeaveOneOut predicts each row by the models of all other rows.
func (s *sweep) runLeaveOneOut(ctx context.Context) {
	tree := &node{}
	for i, candidate := range s.Pipelines {
		err := place.Here(candidate.Err)
		if err == nil {
			err = candidate.CanLeaveOneOut()
		}
		if need := s.bytes(candidate); err == nil && need > s.Memory {
			err = place.Here(fmt.Errorf("leave-one-out needs %d bytes of features, memory allows %d; use k-fold "+
				"cross-validation or increase memory", need, s.Memory))
		}
		if err != nil {
			s.deliver(ctx, i, 0, share.Outcome{Err: err})
			continue
		}
		tree.add(i, candidate.Steps)
	}
	s.leaveOneOut(ctx, tree, nil)
}

// leaveOneOut processes the candidates below b, whose path is steps.
func (s *sweep) leaveOneOut(ctx context.Context, b *node, steps []rows.Spec) {
	if len(b.leaves) > 0 && ctx.Err() == nil {
		s.leaveOneOutLeaves(ctx, b.leaves, steps)
	}
	for _, n := range b.next {
		s.leaveOneOut(ctx, n, append(slices.Clone(steps), n.step))
	}
}

func (s *sweep) leaveOneOutLeaves(ctx context.Context, ends []int, steps []rows.Spec) {
	data, err := s.mapOnce(ctx, steps)
	if err != nil {
		for _, i := range ends {
			s.deliver(ctx, i, 0, share.Outcome{Err: err})
		}
		return
	}
	if len(steps) > 0 && len(ends) > 1 {
		s.share("prefix", "features")
	}
	s.byKind(ends, func(same []int) {
		name := s.Pipelines[same[0]].Name
		fitter := s.Pipelines[same[0]].Estimator.(share.BatchFitter)
		names, err := fitter.FitBatch(ctx, share.Batch{Data: data, Shape: data.Shape(), Folds: s.Folds,
			Candidates: s.specsOf(same), LeaveOneOut: true, GCV: s.GCV,
			Include: func(k, _ int) bool { return s.Includes(same[k], 0) },
			Yield: func(k, _ int, out share.Outcome) error {
				out.Err = place.At("step", name, out.Err)
				s.deliver(ctx, same[k], 0, out)
				return ctxerr.Check(ctx)
			}})
		if err != nil && ctx.Err() == nil {
			s.cancel(place.At("step", name, err))
		}
		s.share(names...)
	})
}
