package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/sparse"
	"github.com/bochner-ml/bochner/transformer"
)

// relatives divides branches that begin at the same place into those whose sparse maps are of one
// family, and those that have none.
func relatives(next []*branch) (out [][]*branch) {
	for _, b := range next {
		k := slices.IndexFunc(out, func(family []*branch) bool { return related(family[0].step, b.step) && !dense(b.step) })
		if k >= 0 {
			out[k] = append(out[k], b)
		} else {
			out = append(out, []*branch{b})
		}
	}
	return out
}

// related reports whether two steps make their maps from the same draws.
func related(a, b Step) bool {
	f, ok := a.Fitter.(transformer.FamilyFitter)
	return ok && a.Path() == b.Path() && f.Related(b.Fitter)
}

// dense reports whether the features of a step's family are dense.
func dense(s Step) bool {
	f, ok := s.Fitter.(transformer.FamilyFitter)
	if !ok {
		return true
	}
	_, cost, _ := f.FamilyCost(datasets.Shape{Rows: 1, Cols: 1}, []transformer.Fitter{s.Fitter})
	return cost.Filled == 0
}

// settingsOf returns all settings that pass one of the branches.
func settingsOf(branches []*branch) (all []int) {
	for _, b := range branches {
		all = append(all, b.settings...)
	}
	return all
}

// stepsOf returns the step of each branch.
func stepsOf(branches []*branch) (out []transformer.Fitter) {
	for _, b := range branches {
		out = append(out, b.step.Fitter)
	}
	return out
}

// relatives descends branches whose sparse maps are of one family: each wide map makes the rows once.
func (s *sweep) relatives(ctx context.Context, family []*branch, d division, depth int) {
	if len(family) == 1 {
		s.descend(ctx, family[0], d, depth)
		return
	}
	all := settingsOf(family)
	if !s.wants(all, d.fold) {
		return
	}
	start := time.Now()
	maps, err := s.fitFamily(ctx, family, d)
	if err != nil || maps == nil { // each says for itself what is wrong, or does with less memory
		for _, b := range family {
			s.descend(ctx, b, d, depth)
		}
		return
	}
	s.share(maps.Shared()...)
	for which := range maps.Widths() {
		wide, err := s.wideRows(ctx, maps, which, d)
		wide.seconds = d.seconds + time.Since(start).Seconds()/float64(len(all))
		for k, m := range maps.Members() {
			switch {
			case m.Map != which || ctx.Err() != nil || !s.wants(family[k].settings, d.fold):
			case err != nil:
				s.descend(ctx, family[k], d, depth)
			default:
				s.member(ctx, family[k], m, wide, depth)
			}
		}
		start = time.Now()
	}
}

// fitFamily fits a family to the rows to train on. It returns nil where the rows that its widest map
// makes would not fit into memory.
func (s *sweep) fitFamily(ctx context.Context, family []*branch, d division) (transformer.Family, error) {
	if familyBytes(family, datasets.Shape{Rows: d.set.Rows(), Cols: d.set.Cols()}) > s.memory {
		return nil, nil
	}
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, d.trainSet(), stepsOf(family))
	if err == nil && len(maps.Members()) != len(family) {
		err = fmt.Errorf("a family of %d maps has %d members", len(family), len(maps.Members()))
	}
	return maps, err
}

// wideRows returns the rows as a wide map makes them.
func (s *sweep) wideRows(ctx context.Context, maps transformer.Family, which int, d division) (division, error) {
	learned, rest := maps.Fitted(which), d.heldOut()
	if learned == nil {
		rest = d.set
	}
	var whole mat.Matrix
	err := maps.Each(ctx, rest.X, []int{which}, func(_ int, Z mat.Matrix) error {
		whole = stacked(learned, Z)
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

// member does the settings of b, whose map is part of the wide one that has made rows.
func (s *sweep) member(ctx context.Context, b *branch, m transformer.FamilyMember, wide division, depth int) {
	start := time.Now()
	X, err := leading(wide.set.X, m.Width, m.Scale)
	if err != nil {
		s.refuse(ctx, b, wide, err)
		return
	}
	part := wide
	part.set.X = X
	part.seconds += time.Since(start).Seconds() / float64(len(b.settings))
	s.below(ctx, b, part, depth)
}

// familyBytes estimates what the features of the widest map of a family take.
func familyBytes(family []*branch, shape datasets.Shape) int64 {
	members, _, _ := family[0].step.Fitter.(transformer.FamilyFitter).FamilyCost(shape, stepsOf(family))
	widest := 0
	for k, m := range members {
		if m.Width > members[widest].Width {
			widest = k
		}
	}
	step := family[widest].step
	if _, ok := step.Fitter.(transformer.FitTransformer); ok {
		return featureBytes(step, shape)
	}
	return int64(12 * float64(shape.Rows) * shape.After(costOf(step.Fitter, shape)).Entries())
}

// refuse says that the step of b failed.
func (s *sweep) refuse(ctx context.Context, b *branch, d division, err error) {
	for _, i := range b.settings {
		s.give(ctx, i, d.fold, estimator.Outcome{Err: d.set.Locate(at("step", b.step.Path(), err), 0)})
	}
}

// stacked returns the rows of a, nil for none, above those of b, which both came out of one step.
func stacked(a, b mat.Matrix) mat.Matrix {
	above, ok := a.(*sparse.CSR)
	below, also := b.(*sparse.CSR)
	if ok && also {
		return sparse.Stack([]*sparse.CSR{above, below})
	}
	switch {
	case a == nil && also:
		return sparse.Stack([]*sparse.CSR{below})
	case a == nil:
		return mat.DenseCopyOf(b)
	}
	n, width := a.Dims()
	m, _ := b.Dims()
	out := mat.NewDense(n+m, width, nil)
	fill(out.Slice(0, n, 0, width).(*mat.Dense), a, 1)
	fill(out.Slice(n, n+m, 0, width).(*mat.Dense), b, 1)
	return out
}
