package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// canLeaveOneOut returns an error if the estimator does not support leave-one-out, or a step learns
// from the rows and would therefore differ for each row.
func (p candidate) canLeaveOneOut() error {
	err := batch.Job{LeaveOneOut: true, Candidates: batch.Candidates(p.Estimator)}.CheckTags()
	if err != nil {
		return place.At("step", p.path(), err)
	}
	for _, s := range p.steps {
		if !datasets.TagsOf(s.Fitter).DataIndependent {
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
	for i, one := range s.pipelines {
		err := place.Here(one.err)
		if err == nil {
			err = one.canLeaveOneOut()
		}
		if need := s.bytes(one); err == nil && need > s.Memory {
			err = place.Here(fmt.Errorf("leave-one-out needs %d bytes of features, memory allows %d; use k-fold "+
				"cross-validation or increase memory", need, s.Memory))
		}
		if err != nil {
			s.deliver(ctx, i, 0, batch.Outcome{Err: err})
			continue
		}
		tree.add(i, one.steps)
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
	data, err := s.mapOnce(ctx, steps, ends)
	if err != nil {
		return
	}
	if len(steps) > 0 && len(ends) > 1 {
		s.share("prefix", "features")
	}
	s.fitEstimators(ctx, ends, nil, fitRows{data: data, folds: s.Folds, depth: len(steps)})
}
