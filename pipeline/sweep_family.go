package pipeline

import (
	"context"
	"fmt"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
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
	return ok && dense(last) && takesMaps(p.Estimator)
}

// takesMaps reports whether an estimator accepts related maps of the same rows.
func takesMaps(e estimator.Estimator) bool {
	_, err := estimator.PlanBatch(batch.Job{Candidates: []batch.Candidate{{Estimator: e, Width: 1, Scale: 1}}})
	return err == nil
}

// dense reports whether the step's family, if any, has dense features.
func dense(s rows.Spec) bool {
	_, ok := s.Fitter.(transformer.FamilyFitter)
	return !ok || rows.CostOf(s.Fitter, datasets.Shape{Rows: 1, Cols: 1}).NonZeros == 0
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
		if len(candidatesOf(family))*folds > 1 {
			shared = append(shared, family)
		} else {
			others = append(others, family...)
		}
	}
	return shared, others
}

// endsInFamily reports whether all candidates of b end with its step, which belongs to a family, and
// can be fitted to its features.
func (s *sweep) endsInFamily(b *node) bool {
	if s.LeaveOneOut || len(b.next) > 0 {
		return false
	}
	for _, i := range b.leaves {
		if !isFamilyStep(s.pipelines[i]) {
			return false
		}
	}
	return true
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

// family fits the candidates of a family together.
func (s *sweep) family(ctx context.Context, family []*node, d foldRows) {
	candidates := candidatesOf(family)
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, d.trainSet(), familySpecs(family))
	if err != nil { // candidates are fitted separately and report their own errors
		d.seconds = 0
		s.fitUnshared(ctx, candidates, d)
		return
	}
	s.share(maps.Shared()...)
	s.fitEstimators(ctx, candidates, maps, d)
}

// fitFamily fits a family to the training rows. It returns nil if the features of its widest map
// would exceed the memory limit.
func (s *sweep) fitFamily(ctx context.Context, family []*node, d foldRows) (transformer.Family, error) {
	if familyBytes(family, datasets.Shape{Rows: d.set.Rows(), Cols: d.set.Cols()}) > s.Memory {
		return nil, nil
	}
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, d.trainSet(), stepsOf(family))
	if err == nil && len(maps.Members()) != len(family) {
		err = fmt.Errorf("a family of %d maps has %d members", len(family), len(maps.Members()))
	}
	return maps, err
}

// wideRows returns the rows mapped by a wide map of the family.
func (s *sweep) wideRows(ctx context.Context, maps transformer.Family, which int, d foldRows) (foldRows, error) {
	learned, rest := maps.Fitted(which), d.testSet()
	if learned == nil {
		rest = d.set
	}
	var whole mat.Matrix
	err := maps.Each(ctx, rest.X, []int{which}, func(_ int, Z mat.Matrix) error {
		whole = concatRows(learned, Z)
		if n, width := whole.Dims(); n != d.set.Rows() || width != maps.Widths()[which] {
			return fmt.Errorf("%d×%d features for %d rows, %d were promised", n, width, d.set.Rows(), maps.Widths()[which])
		}
		return nil
	})
	if err != nil {
		return d, err
	}
	d.set.X, d.set.Schema = whole, d.set.Schema.WithColumns(nil)
	return d, nil
}
