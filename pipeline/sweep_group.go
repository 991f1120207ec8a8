package pipeline

import (
	"context"
	"slices"
)

// group is a set of sibling nodes that are processed together: a sparse feature family, nodes with
// common first stages, or a single node.
type group struct {
	nodes  []*node
	stages []sharedStage // first stages in the steps of the nodes
}

// groups partitions sibling nodes into groups.
func (s *sweep) groups(next []*node) (out []*group) {
	for _, b := range next {
		single := &group{nodes: []*node{b}, stages: s.sharedStagesOf(b)}
		var joined *group
		rest := out[:0]
		for _, g := range out {
			switch {
			case !g.belongsWith(single):
				rest = append(rest, g)
			case joined == nil:
				joined = g
				rest = append(rest, g)
			default: // the node connects two groups
				joined.add(g)
			}
		}
		if out = rest; joined == nil {
			out = append(out, single)
		} else {
			joined.add(single)
		}
	}
	return out
}

func (g *group) belongsWith(other *group) bool {
	a, b := g.nodes[0].step, other.nodes[0].step
	if !dense(a) || !dense(b) {
		return related(a, b) && !dense(b)
	}
	return slices.ContainsFunc(other.stages, func(l sharedStage) bool { return slices.ContainsFunc(g.stages, l.same) })
}

func (g *group) add(other *group) {
	g.nodes = append(g.nodes, other.nodes...)
	for _, l := range other.stages {
		if k := slices.IndexFunc(g.stages, l.same); k >= 0 {
			g.stages[k].nodes += l.nodes
			g.stages[k].candidates += l.candidates
		} else {
			g.stages = append(g.stages, l)
		}
	}
}

// group fits the candidates of the nodes of g.
func (s *sweep) group(ctx context.Context, g *group, d foldRows, depth int) {
	switch {
	case len(g.nodes) == 1:
		s.descend(ctx, g.nodes[0], d, depth)
	case !dense(g.nodes[0].step):
		s.sparseFamily(ctx, g.nodes, d, depth)
	case s.wants(candidatesOf(g.nodes), d.fold):
		d.stages = g.sharedStages()
		for _, b := range g.nodes {
			if ctx.Err() == nil {
				s.descend(ctx, b, d, depth)
			}
		}
	}
}
