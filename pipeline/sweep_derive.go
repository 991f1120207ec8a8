package pipeline

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// sharedStage is a first stage of a step or of a nested step in nodes that start from the same
// rows.
type sharedStage struct {
	// before identifies the input of the stage: the enclosing and preceding steps.
	before []any
	spec   transformer.Fitter
	sparse bool // whether nearly empty input is stored sparse

	nodes, candidates int // number of nodes and candidates that use the stage
}

func (l sharedStage) same(other sharedStage) bool {
	return l.sparse == other.sparse && reflect.DeepEqual(l.spec, other.spec) && reflect.DeepEqual(l.before, other.before)
}

// sharedStageOf returns the first stage of a step, or nil if there is none or it is
// data-independent.
func sharedStageOf(step transformer.Fitter) transformer.Fitter {
	spec := firstStageOf(step)
	if datasets.TagsOf(spec).DataIndependent {
		return nil
	}
	return spec
}

// firstStageOf returns the first stage of a step, or nil if it has none. A type that embeds a step
// inherits the method, but FirstStage then returns the embedded type and does not apply.
func firstStageOf(step transformer.Fitter) transformer.Fitter {
	if d, ok := step.(transformer.TwoStageFitter); ok {
		if spec := d.FirstStage(); sameType(spec, step) {
			return spec
		}
	}
	return nil
}

// sharedStagesOf returns the first stages of the step of a node and of its nested steps.
func (s *sweep) sharedStagesOf(b *node) (out []sharedStage) {
	s.replace(b.step.Fitter, nil, func(l sharedStage, _ transformer.Fitter,
		_ func() transformer.Fitter) transformer.Fitter {
		l.nodes, l.candidates = 1, len(b.candidates)
		out = append(out, l)
		return nil
	})
	return out
}

// replaceFunc returns the replacement of a step with a first stage, or nil to keep the step. whole
// returns the first stage with its own nested steps replaced.
type replaceFunc func(l sharedStage, step transformer.Fitter, whole func() transformer.Fitter) transformer.Fitter

// replace returns step with every step that has a first stage replaced, possibly step itself.
// before identifies the input of step.
func (s *sweep) replace(step transformer.Fitter, before []any, by replaceFunc) (out transformer.Fitter, replaced bool) {
	if spec := sharedStageOf(step); spec != nil {
		whole := func() transformer.Fitter {
			out, _ := s.replaceInside(spec, before, by)
			return out
		}
		if other := by(sharedStage{before: before, spec: spec, sparse: datasets.TagsOf(step).SparseInvariant}, step, whole); other != nil {
			return other, true
		}
	}
	return s.replaceInside(step, before, by)
}

// replaceInside replaces the nested steps of step only. It skips types that embed a composite,
// because they cannot be rebuilt from other children.
func (s *sweep) replaceInside(step transformer.Fitter, before []any, by replaceFunc) (out transformer.Fitter,
	replaced bool) {
	c, ok := step.(Composite)
	if !ok {
		return step, false
	}
	holds, children := c.Holds(), slices.Clone(c.Children())
	outer := c.WithChildren(children[:0:0])
	if !sameType(outer, step) {
		return step, false
	}
	if spec := firstStageOf(outer); spec != nil {
		outer = spec
	}
	inside := s.replaceInside
	if holds.Kind == nil { // children may be replaced by other steps
		inside = s.replace
		for i, child := range children {
			children[i].Name = child.NameAt(i)
		}
	}
	others := slices.Clone(children)
	for i, child := range children {
		input := append(slices.Clone(before), outer, i)
		if !holds.Parallel {
			input = append(input, children[:i])
		}
		var changed bool
		others[i].Fitter, changed = inside(child.Fitter, input, by)
		replaced = replaced || changed
	}
	if !replaced {
		return step, false
	}
	return c.WithChildren(others), true
}

// fittedStage is a first stage fitted to the rows of one fold.
type fittedStage struct {
	sharedStage
	fitted  transformer.Transformer
	err     error
	seconds float64 // time of the fit
}

// sharedStages returns the first stages that several nodes use, not fitted yet.
func (g *group) sharedStages() (out []*fittedStage) {
	for _, l := range g.stages {
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
	shift := &timeShift{candidates: candidates}
	out, _ := s.replace(step, nil, func(l sharedStage, step transformer.Fitter,
		whole func() transformer.Fitter) transformer.Fitter {
		k := slices.IndexFunc(from, func(f *fittedStage) bool { return f.same(l) })
		if k < 0 {
			return nil
		}
		return derivedStep{sweep: s, step: step.(transformer.TwoStageFitter), firstStage: whole(), from: from[k],
			shift: shift}
	})
	return out, shift
}

// timeShift is a correction of the time of candidates with a shared first stage: the time that the
// first candidate spends on it is divided among all.
type timeShift struct {
	candidates int
	seconds    float64
}

// derivedStep finishes the fit of a shared first stage. If that fails, it fits the step itself,
// which reports the error.
type derivedStep struct {
	sweep      *sweep
	step       transformer.TwoStageFitter
	firstStage transformer.Fitter // first stage with its nested steps replaced
	from       *fittedStage
	shift      *timeShift
}

// Fit finishes the first stage, which it fits to the rows if necessary.
func (d derivedStep) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return d.fit(func(spec transformer.Fitter) (transformer.Transformer, error) { return spec.Fit(ctx, data) })
}

// FitSource is Fit over a source.
func (d derivedStep) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	return d.fit(func(spec transformer.Fitter) (transformer.Transformer, error) {
		return rows.FromSample(data, nil).Fit(ctx, spec)
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

// learn fits the first stage if necessary, and divides the time. A nested first stage may already
// have shifted part of it.
func (d derivedStep) learn(fit func(spec transformer.Fitter) (transformer.Transformer, error)) {
	if d.from.fitted == nil && d.from.err == nil {
		start, before := time.Now(), d.shift.seconds
		d.from.fitted, d.from.err = fit(d.firstStage)
		spent := time.Since(start).Seconds()
		d.from.seconds = spent + d.shift.seconds - before
		d.shift.seconds = before - spent
	}
	d.shift.seconds += d.from.seconds * float64(d.shift.candidates) / float64(d.from.candidates)
}

// Cost returns the cost of the step, which determines whether its output is cached.
func (d derivedStep) Cost(shape datasets.Shape) datasets.Cost { return rows.CostOf(d.step, shape) }

// Tags returns those of the step that do not concern its fit.
func (d derivedStep) Tags() datasets.Tags {
	of := datasets.TagsOf(d.step)
	return datasets.Tags{SparseInvariant: of.SparseInvariant, FixedWidth: of.FixedWidth}
}
