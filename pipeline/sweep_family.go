package pipeline

import (
	"reflect"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// isFamilyStep reports whether the last step of p may share its draws with other candidates, and
// its estimator their features.
func isFamilyStep(p candidate) bool {
	if len(p.steps) == 0 {
		return false
	}
	last := p.steps[len(p.steps)-1]
	_, ok := last.Fitter.(transformer.FamilyFitter)
	return ok && dense(last) && datasets.TagsOf(p.Estimator).SharedMaps
}

// dense reports whether the step's family, if any, has dense features.
func dense(s rows.Spec) bool {
	_, ok := s.Fitter.(transformer.FamilyFitter)
	return !ok || !datasets.TagsOf(s.Fitter).SparseOutput
}

// related reports whether two steps belong to the same feature family.
func related(a, b rows.Spec) bool {
	f, ok := a.Fitter.(transformer.FamilyFitter)
	return ok && a.Name == b.Name && f.SameFamily(b.Fitter)
}

func sameType(a, b any) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }

// families partitions sibling nodes into feature families and the others. The members of a family
// end in the family step and have estimators that accept related maps. A family
// has at least two fits over the given number of folds.
func (s *sweep) families(next []*node, folds int) (families [][]*node, others []*node) {
	for _, b := range next {
		if !s.endsInFamily(b) {
			others = append(others, b)
			continue
		}
		joined := false
		for k, family := range families {
			if joined = related(family[0].step, b.step); joined {
				families[k] = append(family, b)
				break
			}
		}
		if !joined {
			families = append(families, []*node{b})
		}
	}
	shared := families[:0]
	for _, family := range families {
		if len(members(family))*folds > 1 {
			shared = append(shared, family)
		} else {
			others = append(others, family...)
		}
	}
	return shared, others
}

// endsInFamily reports whether all candidates of b end with its step, which belongs to a family.
func (s *sweep) endsInFamily(b *node) bool {
	if len(b.next) > 0 {
		return false
	}
	for _, i := range b.leaves {
		if !isFamilyStep(s.pipelines[i]) {
			return false
		}
	}
	return true
}

// members returns the candidates of a family, in the order of its nodes.
func members(family []*node) (candidates []int) {
	for _, b := range family {
		candidates = append(candidates, b.leaves...)
	}
	return candidates
}

// familySpecs returns the last step of each member of a family.
func familySpecs(family []*node) (out []transformer.Fitter) {
	for _, b := range family {
		for range b.leaves {
			out = append(out, b.step.Fitter)
		}
	}
	return out
}
