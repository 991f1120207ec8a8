package auto

import (
	"context"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// point is one candidate: a recipe, the size of its map, and a place in the lattice of γ and penalties.
type point struct {
	recipe  int // number in the run's table
	size    int // of the map
	effort  int // by which its recipe learns
	gamma   int // half octaves of γ for squared distances, from the rule
	penalty int // quarters of a decade
}

const (
	maxGamma     = 24 // half octaves that a grid of γ is extended to, either way
	coarseGamma  = 4  // between the values of γ of the first round
	coarseGammas = 2  // values on either side of the middle one, in the first round
)

// penaltyOf is the penalty at a place of the lattice, written with few digits.
func penaltyOf(place int) float64 { return rounded(math.Pow(10, float64(place)/4)) }

// rounded has three digits, so that documents are short.
func rounded(v float64) float64 {
	var out float64
	fmt.Sscanf(fmt.Sprintf("%.3g", v), "%g", &out)
	return out
}

// gammaOf is γ of a point: a number, counted from the rule on the representation's rows.
func (r *run) gammaOf(ctx context.Context, p point) (float64, error) {
	kind := r.table[p.recipe]
	base := 1.0
	if !kind.scaled {
		var err error
		if base, err = r.baseGamma(ctx, kind); err != nil {
			return 0, err
		}
	}
	steps := float64(p.gamma) / 2
	if kind.half {
		steps /= 2
	}
	return rounded(base * math.Exp2(steps)), nil
}

// baseGamma is what the rule for a kernel's γ gives on the first rows of a representation.
func (r *run) baseGamma(ctx context.Context, kind recipe) (float64, error) {
	key := kind.representation.name + " " + kind.rule
	if known, ok := r.bases[key]; ok {
		return known, nil
	}
	steps, err := r.cleaned(kind.representation)
	if err != nil {
		return 0, err
	}
	rule := transformer.NewRFF()
	rule.Kernel, rule.Features = kind.rule, 2
	chain := pipeline.Chain{Steps: append(steps, pipeline.Step{Fitter: rule})}
	fitted, err := chain.Fit(ctx, r.first(firstRows))
	if err != nil {
		return 0, err
	}
	whole := fitted.(*pipeline.FittedChain)
	_, last := whole.Step(whole.Len() - 1)
	r.bases[key] = last.(*transformer.FittedRFF).Gamma()[0]
	return r.bases[key], nil
}

// cleaned are the steps before what a representation learns.
func (r *run) cleaned(p representation) (pipeline.Sequence, error) {
	if p.scale.name == "" {
		return rescaled(r.options.Preprocessing, nil), nil
	}
	scale, err := p.scale.fitter()
	return rescaled(r.options.Preprocessing, scale), err
}

// pipelineOf is the spec of a point: cleaning, what is learned, the map and the model.
func (r *run) pipelineOf(ctx context.Context, p point) (pipeline.Pipeline, error) {
	kind := r.table[p.recipe]
	steps, err := r.cleaned(kind.representation)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	if kind.learn.name != "" {
		learn, err := r.learner(kind.representation, p.effort)
		if err != nil {
			return pipeline.Pipeline{}, err
		}
		steps = append(steps, pipeline.Step{Fitter: learn})
	}
	own, err := r.onView(ctx, p)
	own.Steps = append(steps, own.Steps...)
	return own, err
}

// onView is the spec of a point behind its representation: the map and the model.
func (r *run) onView(ctx context.Context, p point) (pipeline.Pipeline, error) {
	kind := r.table[p.recipe]
	var steps pipeline.Sequence
	own := []param.Setting{{Path: kind.penalty, Value: penaltyOf(p.penalty)}}
	if tol := kind.tolerance(); tol > 0 {
		own = append(own, param.Setting{Path: "tol", Value: tol})
	}
	if kind.rule != "" {
		gamma, err := r.gammaOf(ctx, p)
		if err != nil {
			return pipeline.Pipeline{}, err
		}
		width := param.Setting{Path: "gamma", Value: gamma}
		if kind.mapping.exact {
			own = append(append(own, kind.step.settings...), width)
		} else {
			step, err := kind.step.fitter(width, param.Setting{Path: kind.mapping.size, Value: kind.sizeOf(p.size)},
				r.seeded("map"))
			if err != nil {
				return pipeline.Pipeline{}, err
			}
			steps = append(steps, pipeline.Step{Fitter: step})
		}
	}
	model, err := kind.model.spec(own...)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	last := model.(estimator.Estimator)
	if kind.target != "" {
		whole := meta.NewTarget(last)
		whole.Transform = kind.target
		last = whole
	}
	out := steps.Then(last)
	out.Memory = r.options.Memory
	return out, nil
}

// seeded sets a step's seed.
func (r *run) seeded(purpose string) param.Setting {
	return param.Setting{Path: "seed", Value: int(r.seed(purpose))}
}

// unique returns points in their order, each once.
func unique(points []point) []point {
	seen := map[point]bool{}
	var out []point
	for _, p := range points {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
