package sweep

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// groups divides nodes that begin at the same place into those whose sparse maps are of one family, those whose
// steps learn the same, and those by themselves.
func groups(next []*node) (out [][]*node) {
	for _, b := range next {
		k := slices.IndexFunc(out, func(group []*node) bool { return grouped(group[0].step, b.step) })
		if k >= 0 {
			out[k] = append(out[k], b)
		} else {
			out = append(out, []*node{b})
		}
	}
	return out
}

func grouped(a, b rows.Spec) bool {
	if !dense(a) || !dense(b) {
		return related(a, b) && !dense(b)
	}
	return learnTheSame(a, b)
}

// learnTheSame reports whether what two steps learn differs in nothing.
func learnTheSame(a, b rows.Spec) bool {
	one, other := learner(a), learner(b)
	return one != nil && a.Name == b.Name && reflect.DeepEqual(one, other)
}

// learner returns the spec of what a step learns, nil where it cannot be derived from that. A type that embeds a
// step, and fits in another way, has the learner of what it embeds, which is not its own.
func learner(s rows.Spec) transformer.Fitter {
	if d, ok := s.Fitter.(transformer.Deriver); ok {
		if l := d.Learner(); sameType(l, s.Fitter) {
			return l
		}
	}
	return nil
}

// group does the candidates of nodes that groups has put together.
func (s *sweep) group(ctx context.Context, group []*node, d foldRows, depth int) {
	switch {
	case len(group) == 1:
		s.descend(ctx, group[0], d, depth)
	case dense(group[0].step):
		s.learnOnce(ctx, group, d, depth)
	default:
		s.sparseFamily(ctx, group, d, depth)
	}
}

// learnOnce descends nodes whose steps learn the same, and derives each step from what was learned. One that
// cannot be derived is fitted, which says what is wrong.
func (s *sweep) learnOnce(ctx context.Context, group []*node, d foldRows, depth int) {
	all := candidatesOf(group)
	if !s.wants(all, d.fold) {
		return
	}
	start := time.Now()
	learned, err := s.learn(ctx, learner(group[0].step), d)
	if err == nil {
		s.share("prefix")
		d.seconds += time.Since(start).Seconds() / float64(len(all))
	}
	for _, b := range group {
		if ctx.Err() != nil {
			return
		}
		own := d
		if err == nil {
			if derived, wrong := b.step.Fitter.(transformer.Deriver).Derive(learned); wrong == nil {
				own.fitted = derived
			}
		}
		s.descend(ctx, b, own, depth)
	}
}

// learn fits a step to the rows to train on.
func (s *sweep) learn(ctx context.Context, spec transformer.Fitter, d foldRows) (transformer.Transformer, error) {
	r, err := rows.Of(d.trainSet(), s.Memory)
	if err != nil {
		return nil, err
	}
	return r.Fit(ctx, spec)
}

// groupCost is what nodes cost on one fold that groups has put together.
func (s *sweep) groupCost(group []*node, fold datasets.Fold, shape datasets.Shape, depth int) datasets.Cost {
	switch {
	case len(group) == 1:
		return s.nodeCost(group[0], fold, shape, depth)
	case dense(group[0].step):
		return s.learnOnceCost(group, fold, shape, depth)
	}
	return s.sparseFamilyCost(group, fold, shape, depth)
}

// learnOnceCost is what nodes cost on one fold whose steps learn the same: what learning costs, and mapping the
// rows, which is counted once too, for it is little beside that.
func (s *sweep) learnOnceCost(group []*node, fold datasets.Fold, shape datasets.Shape, depth int) (sum datasets.Cost) {
	shape = of(shape, rowsOfFold(fold))
	besideTime(&sum, rows.CostOf(learner(group[0].step), shape))
	s.share("prefix")
	for _, b := range group {
		if s.goesAlone(b, shape) {
			mapped := shape.After(rows.CostOf(b.step.Fitter, shape))
			besideTime(&sum, s.loneCost(b.candidates, fold, mapped, depth+1))
			continue
		}
		besideTime(&sum, s.belowCost(b, fold, shape, depth))
	}
	return sum
}
