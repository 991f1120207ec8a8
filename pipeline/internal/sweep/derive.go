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

// Children describes the steps inside a step.
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

// sharedStage is the first stage of a step, or of a step inside it, which several nodes with the
// same input rows share.
type sharedStage struct {
	// before contains the specs that determine the input rows of the step: the enclosing and the
	// preceding steps.
	before []any
	spec   transformer.Fitter
	sparse bool // whether mostly zero rows are passed as sparse matrices

	nodes, candidates int // numbers of nodes and candidates that use it
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

// replaceFunc returns the replacement of a step with a shared first stage, nil for the step itself.
// whole returns the spec of the first stage with the steps inside it replaced.
type replaceFunc func(l sharedStage, step transformer.Fitter, whole func() transformer.Fitter) transformer.Fitter

// replace returns step with all steps that have a shared first stage replaced, possibly itself.
// before contains the specs that determine its input rows.
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

// replaceInside is replace for the steps inside a step. A type that embeds a composite has its
// children, but cannot be rebuilt with others.
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

// fittedStage is a first stage fitted to the rows of one fold.
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

// timeShift is the adjustment of the times of candidates that share a first stage: its fit time is
// divided equally among them.
type timeShift struct {
	candidates int
	seconds    float64
}

// derivedStep finishes the fit of a shared first stage. If that is impossible, the step is fitted,
// which reports the error.
type derivedStep struct {
	sweep *sweep
	step  transformer.TwoStageFitter
	whole transformer.Fitter // spec of the first stage
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

// learn fits the first stage if that has not been done, and divides its time. Nested first stages
// may have shifted some of it already.
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

// Cost returns the cost of the step: fits use its width and memory to decide what to cache.
func (d derivedStep) Cost(shape datasets.Shape) datasets.Cost { return rows.CostOf(d.step, shape) }

// TakesSparse returns the property of the step.
func (d derivedStep) TakesSparse() bool { return rows.TakesSparse(d.step) }
