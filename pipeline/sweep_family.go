package pipeline

import (
	"context"
	"fmt"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

// isFamilyStep reports whether the last step of p may share its draws with that of other settings,
// and the estimator their features.
func isFamilyStep(p Pipeline) bool {
	if len(p.Steps) == 0 {
		return false
	}
	last := p.Steps[len(p.Steps)-1]
	_, ok := last.Fitter.(transformer.FamilyFitter)
	return ok && dense(last) && takesMaps(p.Estimator)
}

// takesMaps reports whether an estimator learns from related maps of the same rows.
func takesMaps(e estimator.Estimator) bool {
	fitter, ok := e.(estimator.BatchFitter)
	if !ok {
		return false
	}
	_, _, err := fitter.BatchCost(estimator.Batch{Candidates: []estimator.Candidate{{Estimator: e, Width: 1, Scale: 1}}})
	return err == nil
}

// families divides branches that begin at the same place into those which end with steps of the same
// draws, before estimators of the same type that profit, and the others. A family has at least two
// fits, on that many folds.
func (s *sweep) families(next []*branch, folds int) (families [][]*branch, others []*branch) {
	for _, b := range next {
		if !s.endsInFamily(b) {
			others = append(others, b)
			continue
		}
		joined := false
		for k, family := range families {
			joined = related(family[0].step, b.step) && sameType(s.settings[family[0].ends[0]].Estimator, s.settings[b.ends[0]].Estimator)
			if joined {
				families[k] = append(family, b)
				break
			}
		}
		if !joined {
			families = append(families, []*branch{b})
		}
	}
	kept := families[:0]
	for _, family := range families {
		if len(members(family))*folds > 1 {
			kept = append(kept, family)
		} else {
			others = append(others, family...)
		}
	}
	return kept, others
}

// endsInFamily reports whether b is one step, the last of all its settings, of a family.
func (s *sweep) endsInFamily(b *branch) bool {
	if len(b.next) > 0 {
		return false
	}
	for _, i := range b.ends {
		if !isFamilyStep(s.settings[i]) || !sameType(s.settings[i].Estimator, s.settings[b.ends[0]].Estimator) {
			return false
		}
	}
	return true
}

func sameType(a, b any) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }

// members returns the settings of a family in the order of its branches.
func members(family []*branch) (settings []int) {
	for _, b := range family {
		settings = append(settings, b.ends...)
	}
	return settings
}

// specs returns the last step of each member of a family.
func specs(family []*branch) (out []transformer.Fitter) {
	for _, b := range family {
		for range b.ends {
			out = append(out, b.step.Fitter)
		}
	}
	return out
}

// familyOfFold does a family on one fold, whose rows depth steps have mapped.
func (s *sweep) familyOfFold(ctx context.Context, family []*branch, d division, depth int) {
	settings := members(family)
	if !s.wants(settings, d.fold) {
		return
	}
	fold := datasets.Fold{Train: count(0, d.train), Test: count(d.train, d.set.Rows())}
	s.family(ctx, family, familyRows{data: d.set, learn: d.trainSet(), folds: []datasets.Fold{fold}, first: d.fold, seconds: d.seconds,
		alone: func(ctx context.Context, i, _ int) estimator.Outcome { return s.fitAlone(ctx, s.settings[i], d, depth) }})
}

// familyOfAllFolds does a family whose steps, and those before, learn nothing from the rows.
func (s *sweep) familyOfAllFolds(ctx context.Context, family []*branch, steps []Step) {
	settings := members(family)
	if !s.wantsAny(settings) {
		return
	}
	data, err := s.mapOnce(ctx, steps)
	if err != nil {
		for _, i := range settings {
			for f := range s.folds {
				s.give(ctx, i, f, estimator.Outcome{Err: err})
			}
		}
		return
	}
	if len(steps) > 0 {
		s.share("prefix")
	}
	s.family(ctx, family, familyRows{data: data, learn: data, folds: s.folds,
		alone: func(ctx context.Context, i, f int) estimator.Outcome {
			return s.fitAlone(ctx, s.settings[i], divide(data, s.folds[f], f), len(steps))
		}})
}

// familyRows is where a family is done.
type familyRows struct {
	data    datasets.Set
	learn   datasets.Set // rows that the family's steps are fitted to
	folds   []datasets.Fold
	first   int     // number of the first of the folds
	seconds float64 // of shared work, for each setting
	alone   func(ctx context.Context, setting, fold int) estimator.Outcome
}

// family leaves the settings of a family to the FitBatch of their estimators.
func (s *sweep) family(ctx context.Context, family []*branch, at familyRows) {
	settings := members(family)
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, at.learn, specs(family))
	if err != nil { // each setting says for itself what is wrong
		for _, i := range settings {
			for f := range at.folds {
				if s.wanted(i, at.first+f) && ctx.Err() == nil {
					s.give(ctx, i, at.first+f, at.alone(ctx, i, f))
				}
			}
		}
		return
	}
	s.share(maps.Shared()...)
	job := estimator.Batch{Data: at.data, Shape: at.data.Shape(), Folds: at.folds, Maps: denseMaps{maps}, Memory: s.memory / int64(max(s.workers, 1)),
		Wanted: func(k, f int) bool { return s.wanted(settings[k], at.first+f) },
		Lone:   func(ctx context.Context, k, f int) estimator.Outcome { return at.alone(ctx, settings[k], f) },
		Yield: func(k, f int, out estimator.Outcome) error {
			out.Err = at.data.Locate(placed(s.settings[settings[k]].path(), out.Err), 0)
			out.Seconds += at.seconds
			s.give(ctx, settings[k], at.first+f, out)
			return ctx.Err()
		}}
	for k, m := range maps.Members() {
		job.Candidates = append(job.Candidates, estimator.Candidate{
			Estimator: s.settings[settings[k]].Estimator, Map: m.Map, Width: m.Width, Scale: m.Scale,
			Float32: s.settings[settings[k]].Precision == Float32})
	}
	fitter := s.settings[settings[0]].Estimator.(estimator.BatchFitter)
	names, err := fitter.FitBatch(ctx, job)
	if err != nil && ctx.Err() == nil {
		s.cancel(at.data.Locate(placed(s.settings[settings[0]].path(), err), 0))
	}
	s.share(names...)
}

// denseMaps is a family of dense maps, as estimators read it.
type denseMaps struct{ transformer.Family }

// Each hands dense tiles to yield.
func (m denseMaps) Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *mat.Dense) error) error {
	widths := m.Widths()
	return m.Family.Each(ctx, X, which, func(i int, Z mat.Matrix) error {
		d, ok := Z.(*mat.Dense)
		if !ok {
			d = mat.DenseCopyOf(Z)
		}
		if _, cols := d.Dims(); cols != widths[i] {
			return fmt.Errorf("%d features of a map with %d", cols, widths[i])
		}
		return yield(i, d)
	})
}

// placed says that err happened at the named step, unless it says already where.
func placed(step string, err error) error {
	if _, ok := err.(*located); ok {
		return err
	}
	return at("step", step, err)
}
