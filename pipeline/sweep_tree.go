package pipeline

import (
	"reflect"
	"slices"

	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// node is a node of the tree of common steps.
type node struct {
	step       rows.Spec
	next       []*node
	candidates []int // candidates whose steps begin with the path to this node
	leaves     []int // candidates whose steps end here
}

// add adds candidate i with the given remaining steps.
func (b *node) add(i int, steps []rows.Spec) {
	b.candidates = append(b.candidates, i)
	if len(steps) == 0 {
		b.leaves = append(b.leaves, i)
		return
	}
	for _, n := range b.next {
		if n.step.Name == steps[0].Name && reflect.DeepEqual(n.step.Fitter, steps[0].Fitter) {
			n.add(i, steps[1:])
			return
		}
	}
	n := &node{step: steps[0]}
	n.add(i, steps[1:])
	b.next = append(b.next, n)
}

// readers returns the consumers of the output of b: the steps of its children, and nil for an
// estimator.
func (b *node) readers() (next []transformer.Fitter) {
	if len(b.leaves) > 0 {
		next = append(next, nil)
	}
	for _, n := range b.next {
		next = append(next, n.step.Fitter)
	}
	return next
}

// candidatesOf returns the candidates of all nodes.
func candidatesOf(nodes []*node) (all []int) {
	for _, b := range nodes {
		all = append(all, b.candidates...)
	}
	return all
}

// stepsOf returns the step of each node.
func stepsOf(nodes []*node) (out []transformer.Fitter) {
	for _, b := range nodes {
		out = append(out, b.step.Fitter)
	}
	return out
}

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
