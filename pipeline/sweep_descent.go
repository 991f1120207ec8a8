package pipeline

import (
	"context"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// below returns the work on the children of a node, for rows of a number of folds that its step has mapped.
func (s *sweep) below(b *node, folds int) (work []func(ctx context.Context, d foldRows)) {
	add := func(nodes []*node, do func(ctx context.Context, d foldRows)) {
		work = append(work, func(ctx context.Context, d foldRows) {
			if ctx.Err() == nil && s.wants(candidatesOf(nodes), d) {
				do(ctx, d)
			}
		})
	}
	families, others := s.families(b.next, folds)
	for _, family := range families {
		add(family, func(ctx context.Context, d foldRows) { s.family(ctx, family, d) })
	}
	for _, g := range s.groups(others) {
		add(g.nodes, func(ctx context.Context, d foldRows) { s.group(ctx, g, d) })
	}
	return work
}

// group fits the candidates of the nodes of g.
func (s *sweep) group(ctx context.Context, g *group, d foldRows) {
	if len(g.nodes) > 1 && !dense(g.nodes[0].step) {
		s.sparseFamily(ctx, g.nodes, d)
		return
	}
	d.stages = g.sharedStages()
	for _, b := range g.nodes {
		s.descend(ctx, b, d)
	}
}

// descend fits the step of b to the rows, and continues with its children.
func (s *sweep) descend(ctx context.Context, b *node, d foldRows) {
	if ctx.Err() != nil || !s.wants(b.candidates, d) {
		return
	}
	if len(b.candidates) == 1 {
		s.fitUnshared(ctx, b.candidates, d)
		return
	}
	start := time.Now()
	spec, shift := s.deriveStep(b.step.Fitter, d.stages, len(b.candidates))
	mapped, ok, err := s.mapRows(ctx, b, spec, d)
	mapped.stages = nil
	mapped.seconds += (time.Since(start).Seconds() + shift.seconds) / float64(len(b.candidates))
	switch {
	case err != nil:
		s.deliverStepError(ctx, b, d, err)
	case !ok:
		s.fitUnshared(ctx, b.candidates, d)
	default:
		s.continueBelow(ctx, b, mapped)
	}
}

// continueBelow fits the candidates of b to the rows mapped by its step.
func (s *sweep) continueBelow(ctx context.Context, b *node, mapped foldRows) {
	mapped.depth++
	if len(b.candidates) > 1 {
		s.share("prefix")
	}
	if len(b.leaves) > 0 {
		s.fitEstimators(ctx, b.leaves, nil, mapped)
	}
	for _, work := range s.below(b, 1) {
		work(ctx, mapped)
	}
}

// sparseFamily descends nodes whose sparse maps form a family. Each wide map computes its features
// once.
func (s *sweep) sparseFamily(ctx context.Context, family []*node, d foldRows) {
	all, start := candidatesOf(family), time.Now()
	maps, err := s.fitFamily(ctx, family, d)
	if err != nil || maps == nil { // candidates are fitted separately: they need less memory and report their own errors
		for _, b := range family {
			s.descend(ctx, b, d)
		}
		return
	}
	s.share(maps.Shared()...)
	for which := range maps.Widths() {
		wide, err := s.wideRows(ctx, maps, which, d)
		wide.seconds = d.seconds + time.Since(start).Seconds()/float64(len(all))
		for k, m := range maps.Members() {
			switch {
			case m.Map != which || ctx.Err() != nil || !s.wants(family[k].candidates, d):
			case err != nil:
				s.descend(ctx, family[k], d)
			default:
				s.member(ctx, family[k], m, wide)
			}
		}
		start = time.Now()
	}
}

// member fits the candidates of b, whose features are the leading columns of wide.
func (s *sweep) member(ctx context.Context, b *node, m transformer.FamilyMember, wide foldRows) {
	start := time.Now()
	X, err := rows.Leading(wide.set.X, m.Width, m.Scale)
	if err != nil {
		s.deliverStepError(ctx, b, wide, err)
		return
	}
	own := wide
	own.set.X = X
	own.seconds += time.Since(start).Seconds() / float64(len(b.candidates))
	s.continueBelow(ctx, b, own)
}

// deliverStepError delivers an error of the step of b to all its candidates.
func (s *sweep) deliverStepError(ctx context.Context, b *node, d foldRows, err error) {
	s.deliverError(ctx, b.candidates, d, d.set.Locate(place.At("step", b.step.Name, err), 0))
}

// deliverError delivers an error to candidates on the folds of d.
func (s *sweep) deliverError(ctx context.Context, candidates []int, d foldRows, err error) {
	for _, i := range candidates {
		for f := range d.folds {
			s.deliver(ctx, i, d.first+f, batch.Outcome{Err: err})
		}
	}
}
