package sweep

import (
	"reflect"

	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// node is steps that candidates have in common, as a tree.
type node struct {
	step       rows.Spec
	next       []*node
	candidates []int // all that pass here
	ends       []int // candidates without further steps
}

// add adds candidate number i with the given steps.
func (b *node) add(i int, steps []rows.Spec) {
	b.candidates = append(b.candidates, i)
	if len(steps) == 0 {
		b.ends = append(b.ends, i)
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

// readers returns the steps that rows go to which the step of b has mapped, nil for an estimator.
func (b *node) readers() (next []transformer.Fitter) {
	if len(b.ends) > 0 {
		next = append(next, nil)
	}
	for _, n := range b.next {
		next = append(next, n.step.Fitter)
	}
	return next
}

// candidatesOf returns all candidates that pass one of the nodes.
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
