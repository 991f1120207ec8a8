package pipeline

import (
	"reflect"

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
