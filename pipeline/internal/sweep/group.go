package sweep

import (
	"context"
	"slices"
)

// group contains sibling nodes that are fitted jointly: those with sparse maps of one family, those
// with a common first stage, or a single one.
type group struct {
	nodes    []*node
	learners []sharedStage // in the steps of the nodes
}

// groups divides sibling nodes into groups.
func (s *sweep) groups(next []*node) (out []*group) {
	for _, b := range next {
		own := &group{nodes: []*node{b}, learners: s.sharedStagesOf(b)}
		var joined *group
		rest := out[:0]
		for _, g := range out {
			switch {
			case !g.belongsWith(own):
				rest = append(rest, g)
			case joined == nil:
				joined = g
				rest = append(rest, g)
			default: // the node joins two groups
				joined.add(g)
			}
		}
		if out = rest; joined == nil {
			out = append(out, own)
		} else {
			joined.add(own)
		}
	}
	return out
}

func (g *group) belongsWith(other *group) bool {
	a, b := g.nodes[0].step, other.nodes[0].step
	if !dense(a) || !dense(b) {
		return related(a, b) && !dense(b)
	}
	return slices.ContainsFunc(other.learners, func(l sharedStage) bool { return slices.ContainsFunc(g.learners, l.same) })
}

func (g *group) add(other *group) {
	g.nodes = append(g.nodes, other.nodes...)
	for _, l := range other.learners {
		if k := slices.IndexFunc(g.learners, l.same); k >= 0 {
			g.learners[k].nodes += l.nodes
			g.learners[k].candidates += l.candidates
		} else {
			g.learners = append(g.learners, l)
		}
	}
}

// group does the candidates of the nodes of g.
func (s *sweep) group(ctx context.Context, g *group, d foldRows, depth int) {
	switch {
	case len(g.nodes) == 1:
		s.descend(ctx, g.nodes[0], d, depth)
	case !dense(g.nodes[0].step):
		s.sparseFamily(ctx, g.nodes, d, depth)
	case s.wants(candidatesOf(g.nodes), d.fold):
		d.learned = g.sharedStages()
		for _, b := range g.nodes {
			if ctx.Err() == nil {
				s.descend(ctx, b, d, depth)
			}
		}
	}
}
