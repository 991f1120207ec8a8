package auto

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// point is a candidate: a recipe, the size of its map, and lattice coordinates of γ and the
// penalty.
type point struct {
	recipe  int    // index in run.table
	size    int    // size of the map
	gamma   int    // half octaves of γ for squared distances, relative to the rule
	penalty int    // quarters of a decade
	careful bool   // whether its representation is learned with more effort
	target  string // transform of the target, as in meta.Target; "" for none
}

const (
	maxGamma     = 24 // limit of extended grids, in half octaves from the rule
	coarseGamma  = 4  // step of γ in the first round
	coarseGammas = 2  // values of γ on either side of the middle one in the first round
)

// penaltyOf returns the penalty at a lattice coordinate.
func penaltyOf(place int) float64 { return rounded(math.Pow(10, float64(place)/4)) }

// placeOf returns the lattice coordinate that is nearest to a penalty.
func placeOf(penalty float64) int { return int(math.Round(4 * math.Log10(penalty))) }

// rounded rounds to three digits, for short YAML.
func rounded(v float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return out
}

// gammaOf returns γ of a point, relative to the rule on the rows of the representation.
func (r *run) gammaOf(ctx context.Context, p point) (float64, error) {
	kind := r.table[p.recipe]
	base := 1.0
	if kind.learn.name == "" {
		var err error
		if base, err = r.baseGamma(ctx, kind); err != nil {
			return 0, err
		}
	}
	return rounded(base * math.Exp2(float64(p.gamma)/kind.gammaSteps())), nil
}

// gammaSteps returns the number of lattice steps in an octave of γ.
func (m mapping) gammaSteps() float64 {
	if m.rule == "gaussian" {
		return 2
	}
	return 4 // γ multiplies distances, not squared distances
}

// representationOf returns the representation of a point.
func (r *run) representationOf(p point) representation {
	out := r.table[p.recipe].representation
	out.careful = p.careful
	return out
}

// baseGamma returns γ by the rule of a kernel on the first rows of a representation.
func (r *run) baseGamma(ctx context.Context, kind recipe) (float64, error) {
	return stored(ctx, &r.memo, "gamma "+kind.representation.name+" "+kind.rule, func() (float64, error) {
		steps, err := r.cleaned(kind.representation)
		if err != nil {
			return 0, err
		}
		rule := transformer.NewRFF()
		rule.Kernel, rule.Features = kernel.Name(kind.rule), 2
		last, err := fitLast(ctx, append(steps, pipeline.Step{Fitter: rule}), r.first(initialRows))
		if err != nil {
			return 0, err
		}
		return last.(*transformer.FittedRFF).Gamma()[0], nil
	})
}

// cleaned returns the preprocessing steps of a representation.
func (r *run) cleaned(p representation) (pipeline.Sequence, error) {
	steps := r.options.Preprocessing
	if p.encode != "" {
		steps = r.encoded(steps, p.encode)
	}
	if p.scale.name == "" {
		return slices.Clone(steps), nil
	}
	scale, err := p.scale.fitter()
	return replaced(steps, func(fitter transformer.Fitter) []pipeline.Step {
		if _, ok := fitter.(transformer.Standardize); ok {
			return pipeline.Steps(scale)
		}
		return nil
	}), err
}

// pipelineOf returns the pipeline of a point: preprocessing, learned step, map and model.
func (r *run) pipelineOf(ctx context.Context, p point) (out pipeline.Pipeline, err error) {
	kind := r.representationOf(p)
	if out, err = r.mapAndModel(ctx, p); err != nil {
		return out, err
	}
	steps, err := r.cleaned(kind)
	step, wrong := r.learnStep(kind)
	if step != nil {
		steps = append(steps, pipeline.Step{Fitter: step})
	}
	out.Steps = append(steps, out.Steps...)
	return out, cmp.Or(err, wrong)
}

// fittingOf returns the pipeline of a point with the steps that are fitted to all rows already: preprocessing that does
// not use the targets, and a step that is learned from rows that no fold tests on. Folds learn others, but each once.
func (r *run) fittingOf(ctx context.Context, p point, folds bool) (pipeline.Pipeline, error) {
	kind := r.representationOf(p)
	out, err := r.pipelineOf(ctx, p)
	if err != nil {
		return out, err
	}
	chain, err := r.cleaner(ctx, kind)
	if err != nil {
		return out, err
	}
	n, fixed := chain.Len(), !supervised(chain)
	for i := 0; i < n && fixed; i++ {
		_, fitted := chain.Step(i)
		out.Steps[i] = out.Steps[i].WithFitted(fitted)
	}
	if kind.learn.name == "" || !fixed && !folds {
		return out, nil
	}
	once := pipeline.Step{Fitter: learned{out.Steps[n].Fitter, r, kind}}
	if folds && (!fixed || r.lessonRows == nil) {
		out.Steps[n] = once
		return out, nil
	}
	t, err := stored(ctx, &r.memo, learnedFromAll(kind), func() (transformer.Transformer, error) {
		return fitLast(ctx, append(slices.Clone(out.Steps[:n]), once), r.data)
	})
	if err == nil {
		out.Steps[n] = out.Steps[n].WithFitted(t)
	}
	return out, err
}

// searched returns the settings of the map and of the model of a point that the search varies.
func (r *run) searched(ctx context.Context, p point) (ofMap, ofModel []param.Setting, err error) {
	kind := r.table[p.recipe]
	ofModel = []param.Setting{{Path: kind.penalty, Value: penaltyOf(p.penalty)}}
	if kind.rule == "" {
		return nil, ofModel, nil
	}
	gamma, err := r.gammaOf(ctx, p)
	width := param.Setting{Path: "gamma", Value: gamma}
	if kind.mapping.exact() {
		return nil, slices.Insert(ofModel, 0, width), err
	}
	return []param.Setting{{Path: kind.mapping.size, Value: kind.sizeOf(p.size)}, width}, ofModel, err
}

// targetOf returns the wrapper of a transform of the target. A model of logarithms extrapolates far without limits.
func targetOf(transform string) meta.Target {
	whole := meta.NewTarget(nil)
	whole.Transform, whole.Limits = transform, "range"
	return whole
}

// mapAndModel returns the map and the model of a point.
func (r *run) mapAndModel(ctx context.Context, p point) (out pipeline.Pipeline, err error) {
	kind := r.table[p.recipe]
	ofMap, ofModel, err := r.searched(ctx, p)
	if err != nil {
		return out, err
	}
	var steps pipeline.Sequence
	if ofMap != nil {
		step, err := kind.step.fitter(append(ofMap, r.seeded("map"))...)
		if err != nil {
			return out, err
		}
		steps = pipeline.Steps(step)
	} else {
		ofModel = kind.step.with(ofModel...).settings
	}
	if tol := kind.tolerance(); tol > 0 {
		ofModel = append(ofModel, param.Setting{Path: "tol", Value: tol})
	}
	model, err := kind.model.spec(ofModel...)
	if err != nil {
		return out, err
	}
	last := model.(estimator.Estimator)
	if p.target != "" {
		whole := targetOf(p.target)
		whole.Estimator = last
		last = whole
	}
	if kind.calibrated {
		last = meta.NewCalibrated(last)
	}
	out = steps.Then(last)
	out.Memory = r.options.Memory
	return out, nil
}

// seeded returns the setting of a step's seed.
func (r *run) seeded(purpose string) param.Setting {
	return param.Setting{Path: "seed", Value: int(r.seed(purpose))}
}

// space is the search space, a lattice of γ and penalties for each recipe, with the metric.
type space struct {
	table      []recipe
	transforms []string // of the targets, see [sample.tails]
	metric     metrics.Metric
}

// neighborhood returns the grid points around p, with the given numbers and sizes of steps in γ and the
// penalty, followed by those with each transform of the target.
func (r *space) neighborhood(p point, gammas, gammaStep, penalties, penaltyStep int, transforms ...string) []point {
	kind := r.table[p.recipe]
	_, _, floor, most := kind.penalties()
	if kind.rule == "" {
		gammas = 0
	}
	var out []point
	for _, target := range append([]string{p.target}, transforms...) {
		for g := -gammas; g <= gammas; g++ {
			for a := -penalties; a <= penalties; a++ {
				q := p
				q.target, q.gamma, q.penalty = target, p.gamma+g*gammaStep, p.penalty+a*penaltyStep
				if q.gamma >= -maxGamma && q.gamma <= maxGamma && q.penalty >= floor && q.penalty <= most &&
					!slices.Contains(out, q) {
					out = append(out, q)
				}
			}
		}
	}
	return out
}

// worth returns a score, negative if smaller ones are better.
func (r *space) worth(score float64) float64 {
	if r.metric.GreaterIsBetter {
		return score
	}
	return -score
}

// compare orders candidates by score, best first, and candidates without a score last. Ties within
// a recipe go to the stronger penalty, which needs fewer iterations and less precision.
func (r *space) compare(a, b scored) int {
	p, q := a.point, b.point
	weaker := cmp.Compare(p.penalty, q.penalty)
	if r.table[p.recipe].penalty == "alpha" { // C decreases the penalty
		weaker = -weaker
	}
	return cmp.Or(cmp.Compare(r.worth(b.mean), r.worth(a.mean)), cmp.Compare(p.recipe, q.recipe),
		cmp.Compare(p.size, q.size), weaker, cmp.Compare(p.gamma, q.gamma), cmp.Compare(p.target, q.target))
}

// rank orders candidates by their number of rows, descending, then by score: scores on different
// rows are not comparable. It does not depend on the order of evaluation.
func (r *space) rank(a, b scored) int { return cmp.Or(cmp.Compare(b.on, a.on), r.compare(a, b)) }

// withinError reports whether the mean of s is within the given multiple of the leader's spread of the
// leader's mean, or better.
func (r *space) withinError(s, leader scored, times float64) bool {
	return r.worth(s.mean) >= r.worth(leader.mean)-times*leader.spread
}
