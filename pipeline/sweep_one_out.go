package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

var _ estimator.OneOutSweeper = Pipeline{}

// CanLeaveOneOut says why the pipeline cannot predict each row by the model of all the others: an
// estimator that cannot, or a step that learns from the rows and would be another without each.
func (p Pipeline) CanLeaveOneOut() error {
	if _, ok := p.Estimator.(estimator.OneOutSweeper); !ok {
		return at("step", p.path(), fmt.Errorf("leave one out is for ridge and ridge_classifier; use k folds"))
	}
	for _, s := range p.Steps {
		if r, ok := s.Fitter.(transformer.Rowless); !ok || !r.FitsWithoutRows() {
			return at("step", s.Path(), fmt.Errorf("it learns from the rows, and would have to be fitted again without each of them; use k folds, or fix what it learns"))
		}
	}
	return nil
}

// SweepOneOut maps the rows once for all settings with the same steps and leaves the rest to the
// estimators. The mapped rows are held in memory.
func (p Pipeline) SweepOneOut(ctx context.Context, data datasets.Set, settings []estimator.Estimator, gcv bool,
	yield func(setting int, held estimator.Held) error) ([]string, error) {
	if err := data.Check(); err != nil {
		return nil, here(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &sweep{data: data, rows: data.Rows(), cols: data.Cols(), shape: data.Shape(), memory: p.memory(), cancel: cancel, shared: map[string]bool{},
		wanted: func(int, int) bool { return true }, yield: func(setting, _ int, held estimator.Held) error { return yield(setting, held) }}
	tree := &branch{}
	for i, e := range settings {
		setting, ok := e.(Pipeline)
		if !ok {
			return nil, here(fmt.Errorf("setting %d is a %T, wanted a Pipeline", i, e))
		}
		s.settings = append(s.settings, setting)
		err := here(setting.check())
		if err == nil {
			err = setting.CanLeaveOneOut()
		}
		if need := s.bytes(setting); err == nil && need > s.memory {
			err = here(fmt.Errorf("leave one out holds %d bytes of features, %d are allowed; use k folds or allow more", need, s.memory))
		}
		if err != nil {
			s.give(ctx, i, 0, estimator.Held{Err: err})
			continue
		}
		tree.grow(i, setting.Steps)
	}
	s.oneOut(ctx, tree, nil, gcv)
	return slices.Sorted(maps.Keys(s.shared)), context.Cause(ctx)
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
			s.give(ctx, i, 0, estimator.Held{Err: err})
		}
		return
	}
	if len(steps) > 0 && len(ends) > 1 {
		s.share("prefix", "features")
	}
	s.byKind(ends, func(same []int) {
		specs := make([]estimator.Estimator, len(same))
		for k, i := range same {
			specs[k] = s.settings[i].Estimator
		}
		name := s.settings[same[0]].path()
		names, err := specs[0].(estimator.OneOutSweeper).SweepOneOut(ctx, data, specs, gcv, func(k int, held estimator.Held) error {
			held.Err = at("step", name, held.Err)
			s.give(ctx, same[k], 0, held)
			return ctx.Err()
		})
		if err != nil && ctx.Err() == nil {
			s.cancel(at("step", name, err))
		}
		s.share(names...)
	})
}
