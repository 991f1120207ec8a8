package pipeline

import (
	"context"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// descend fits the step of b to rows that depth steps have mapped, and continues with its children.
func (s *sweep) descend(ctx context.Context, b *node, d foldRows, depth int) {
	if !s.wants(b.candidates, d.fold) {
		return
	}
	if len(b.candidates) == 1 {
		s.fitUnshared(ctx, b.candidates[0], d, depth)
		return
	}
	mapped, fit, err := s.applyStep(ctx, b, d)
	if err != nil {
		s.deliverError(ctx, b, d, err)
		return
	}
	if fit == nil {
		for _, i := range b.candidates {
			s.fitUnshared(ctx, i, d, depth)
		}
		return
	}
	s.continueBelow(ctx, b, mapped, depth)
}

// continueBelow fits the candidates of b to the rows mapped by its step.
func (s *sweep) continueBelow(ctx context.Context, b *node, mapped foldRows, depth int) {
	if len(b.candidates) > 1 {
		s.share("prefix")
	}
	if len(b.leaves) > 0 {
		s.estimate(ctx, b.leaves, mapped, depth+1)
	}
	families, others := s.families(b.next, 1)
	for _, family := range families {
		s.familyOfFold(ctx, family, mapped, depth+1)
	}
	for _, group := range s.groups(others) {
		if ctx.Err() == nil {
			s.group(ctx, group, mapped, depth+1)
		}
	}
}

// sparseFamily descends nodes whose sparse maps form a family. Each wide map computes its features
// once.
func (s *sweep) sparseFamily(ctx context.Context, family []*node, d foldRows, depth int) {
	all := candidatesOf(family)
	if !s.wants(all, d.fold) {
		return
	}
	start := time.Now()
	maps, err := s.fitFamily(ctx, family, d)
	if err != nil || maps == nil { // candidates are fitted separately: they need less memory and report their own errors
		for _, b := range family {
			s.descend(ctx, b, d, depth)
		}
		return
	}
	s.share(maps.Shared...)
	for which := range maps.Widths() {
		wide, err := s.wideRows(ctx, maps, which, d)
		wide.seconds = d.seconds + time.Since(start).Seconds()/float64(len(all))
		for k, m := range maps.Members {
			switch {
			case m.Map != which || ctx.Err() != nil || !s.wants(family[k].candidates, d.fold):
			case err != nil:
				s.descend(ctx, family[k], d, depth)
			default:
				s.member(ctx, family[k], m, wide, depth)
			}
		}
		start = time.Now()
	}
}

// member fits the candidates of b, whose features are the leading columns of wide.
func (s *sweep) member(ctx context.Context, b *node, m transformer.FamilyMember, wide foldRows, depth int) {
	start := time.Now()
	X, err := rows.Leading(wide.set.X, m.Width, m.Scale)
	if err != nil {
		s.deliverError(ctx, b, wide, err)
		return
	}
	part := wide
	part.set.X = X
	part.seconds += time.Since(start).Seconds() / float64(len(b.candidates))
	s.continueBelow(ctx, b, part, depth)
}

// deliverError delivers an error of the step of b to all its candidates.
func (s *sweep) deliverError(ctx context.Context, b *node, d foldRows, err error) {
	for _, i := range b.candidates {
		s.deliver(ctx, i, d.fold, batch.Outcome{Err: d.set.Locate(place.At("step", b.step.Name, err), 0)})
	}
}
