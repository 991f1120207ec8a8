package sweep

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Children is what is inside a step that holds steps.
type Children struct {
	Parts []rows.Spec
	// Parallel means that the parts get the same rows; otherwise each gets the output of the
	// previous one.
	Parallel bool
	// Fixed means that parts cannot be replaced by other steps.
	Fixed bool
	// With returns the step with specs in the place of the first of its parts, and without the others.
	With func(specs []transformer.Fitter) transformer.Fitter
}

// sharedStage is a step that learns what others are derived from, at a place inside the steps of nodes that begin with
// the same rows.
type sharedStage struct {
	// before is what the rows depend on that come to the step: the steps around it and before it.
	before []any
	spec   transformer.Fitter
	sparse bool // whether rows that are nearly all 0 come to it sparse

	nodes, candidates int // whose steps are derived from it
}

func (l sharedStage) same(other sharedStage) bool {
	return l.sparse == other.sparse && reflect.DeepEqual(l.spec, other.spec) && reflect.DeepEqual(l.before, other.before)
}

// sharedStageOf returns the first stage of a step, nil if there is none or it does not depend on
// the rows.
func sharedStageOf(step transformer.Fitter) transformer.Fitter {
	spec := firstStageOf(step)
	if r, ok := spec.(transformer.DataIndependent); ok && r.IsDataIndependent() {
		return nil
	}
	return spec
}

// firstStageOf returns the first stage of a step, nil if it has none. A type that embeds a step but
// fits differently inherits the method, which then does not apply.
func firstStageOf(step transformer.Fitter) transformer.Fitter {
	if d, ok := step.(transformer.TwoStageFitter); ok {
		if spec := d.FirstStage(); sameType(spec, step) {
			return spec
		}
	}
	return nil
}

// sharedStagesOf returns the learners of the step of a node, and of the steps inside it.
func (s *sweep) sharedStagesOf(b *node) (out []sharedStage) {
	s.replace(b.step.Fitter, nil, func(l sharedStage, _ transformer.Fitter,
		_ func() transformer.Fitter) transformer.Fitter {
		l.nodes, l.candidates = 1, len(b.candidates)
		out = append(out, l)
		return nil
	})
	return out
}

// replaceFunc returns what is to stand in the place of a step with a learner, nil for the step.
// Whole returns the spec of the learner in which the steps inside it are replaced.
type replaceFunc func(l sharedStage, step transformer.Fitter, whole func() transformer.Fitter) transformer.Fitter

// replace returns a step in which those with a learner, and perhaps the step itself, are replaced. Before is what the
// rows depend on that come to it.
func (s *sweep) replace(step transformer.Fitter, before []any, by replaceFunc) (out transformer.Fitter, replaced bool) {
	if spec := sharedStageOf(step); spec != nil {
		whole := func() transformer.Fitter {
			out, _ := s.replaceInside(spec, before, by)
			return out
		}
		if other := by(sharedStage{before: before, spec: spec, sparse: rows.TakesSparse(step)}, step, whole); other != nil {
			return other, true
		}
	}
	return s.replaceInside(step, before, by)
}

// replaceInside is replace of the steps inside a step. A type that embeds a composite has the parts of what it embeds,
// but cannot be made of others.
func (s *sweep) replaceInside(step transformer.Fitter, before []any, by replaceFunc) (out transformer.Fitter,
	replaced bool) {
	in, ok := s.Inside(step)
	if !ok {
		return step, false
	}
	around := in.With(nil)
	if !sameType(around, step) {
		return step, false
	}
	if spec := firstStageOf(around); spec != nil {
		around = spec
	}
	specs := make([]transformer.Fitter, len(in.Parts))
	for i, part := range in.Parts {
		own := append(slices.Clone(before), around, i)
		if !in.Parallel {
			own = append(own, in.Parts[:i])
		}
		inside := s.replace
		if in.Fixed {
			inside = s.replaceInside
		}
		var changed bool
		specs[i], changed = inside(part.Fitter, own, by)
		replaced = replaced || changed
	}
	if !replaced {
		return step, false
	}
	return in.With(specs), true
}

// fittedStage is what a learner has learned from the rows of one fold.
type fittedStage struct {
	sharedStage
	fitted  transformer.Transformer
	err     error
	seconds float64 // that it took
}

// fittedStage returns the learners that serve several nodes, none of which has learned yet.
func (g *group) sharedStages() (out []*fittedStage) {
	for _, l := range g.learners {
		if l.nodes > 1 {
			out = append(out, &fittedStage{sharedStage: l})
		}
	}
	return out
}

// deriveStep returns a step whose fit finishes the shared first stages, and the adjustment of the
// times of the candidates that share them.
func (s *sweep) deriveStep(step transformer.Fitter, from []*fittedStage, candidates int) (transformer.Fitter,
	*timeShift) {
	late := &timeShift{candidates: candidates}
	out, _ := s.replace(step, nil, func(l sharedStage, step transformer.Fitter,
		whole func() transformer.Fitter) transformer.Fitter {
		k := slices.IndexFunc(from, func(f *fittedStage) bool { return f.same(l) })
		if k < 0 {
			return nil
		}
		return derivedStep{sweep: s, step: step.(transformer.TwoStageFitter), whole: whole(), from: from[k], late: late}
	})
	return out, late
}

// timeShift is the time to be added to that of candidates because they share what is learned: what
// the first has spent on it is divided among all.
type timeShift struct {
	candidates int
	seconds    float64
}

// derivedStep finishes the fit of a shared first stage. If that is impossible, the step is fitted,
// which reports the error.
type derivedStep struct {
	sweep *sweep
	step  transformer.TwoStageFitter
	whole transformer.Fitter // the learner
	from  *fittedStage
	late  *timeShift
}

// Fit derives the step, after learning from the rows if that has not been done.
func (d derivedStep) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return d.fit(func(spec transformer.Fitter) (transformer.Transformer, error) { return spec.Fit(ctx, data) })
}

// FitSource is Fit of rows as a stream.
func (d derivedStep) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	return d.fit(func(spec transformer.Fitter) (transformer.Transformer, error) {
		return rows.Begun(data, nil).Fit(ctx, spec)
	})
}

func (d derivedStep) fit(fit func(spec transformer.Fitter) (transformer.Transformer, error)) (transformer.Transformer,
	error) {
	d.learn(fit)
	if d.from.err == nil {
		d.sweep.share("prefix")
		if fitted, err := d.step.FinishFit(d.from.fitted); err == nil {
			return fitted, nil
		}
	}
	return fit(d.step)
}

// learn fits the learner if that has not been done, and divides the time. A learner inside of the learner may have
// shifted some of its own.
func (d derivedStep) learn(fit func(spec transformer.Fitter) (transformer.Transformer, error)) {
	if d.from.fitted == nil && d.from.err == nil {
		start, before := time.Now(), d.late.seconds
		d.from.fitted, d.from.err = fit(d.whole)
		spent := time.Since(start).Seconds()
		d.from.seconds = spent + d.late.seconds - before
		d.late.seconds = before - spent
	}
	d.late.seconds += d.from.seconds * float64(d.late.candidates) / float64(d.from.candidates)
}

// Cost is that of the step, by whose width and memory a fit decides what it caches.
func (d derivedStep) Cost(shape datasets.Shape) datasets.Cost { return rows.CostOf(d.step, shape) }

// TakesSparse returns the property of the step.
func (d derivedStep) TakesSparse() bool { return rows.TakesSparse(d.step) }
