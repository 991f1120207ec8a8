package pipeline

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Relevance contains the relevance of each input of a fitted step for the targets.
type Relevance struct {
	Step    string   // path of the step
	Columns []string // names of the step's input columns
	Origins []string // of each column, the name of the one from which it was encoded; "" if none
	// EncodedBy is, of each column, the name of the group of columns or the part of a union that encoded it.
	EncodedBy []string
	Values    []float64
}

// name sets the names of the columns of in.
func (r *Relevance) name(in datasets.Schema) {
	for j := range r.Values {
		r.Columns, r.Origins = append(r.Columns, in.Name(j)), append(r.Origins, in.Column(j).EncodedFrom)
		r.EncodedBy = append(r.EncodedBy, in.Column(j).EncodedBy)
	}
}

// shared returns, by name, the common value of the columns of that name other than 0, and −1 for several.
func (r Relevance) shared(names []string) map[string]float64 {
	out := map[string]float64{}
	for j, name := range names {
		v := r.Values[j]
		switch before, known := out[name]; {
		case !known || before == 0:
			out[name] = v
		case v != 0 && v != before:
			out[name] = -1
		}
	}
	return out
}

// ByOrigin returns the relevance with one column for those that were encoded from the same one and have no
// other value than a common one and 0, such as those that share a scale. A column that was encoded twice with
// two scales is two, with the names of the groups that encoded it.
func (r Relevance) ByOrigin() Relevance {
	encodings, first, split := slices.Clone(r.Origins), map[string]float64{}, map[string]bool{}
	for j, part := range r.EncodedBy {
		if encodings[j] != "" {
			encodings[j] += " (" + part + ")"
		}
	}
	shared, origins := r.shared(encodings), slices.Clone(r.Origins)
	for j, origin := range origins {
		v, known := first[origin]
		split[origin] = split[origin] || known && v != shared[encodings[j]]
		first[origin] = shared[encodings[j]]
	}
	for j, origin := range origins {
		if split[origin] {
			origins[j] = encodings[j]
		}
	}
	r.Origins, shared = origins, r.shared(origins)
	out, listed := Relevance{Step: r.Step}, map[string]bool{}
	for j, name := range r.Columns {
		origin, v := "", r.Values[j]
		if j < len(r.Origins) && shared[r.Origins[j]] >= 0 {
			origin = r.Origins[j]
		}
		if origin != "" {
			if listed[origin] {
				continue
			}
			name, v, listed[origin] = origin, shared[origin], true
		}
		out.Columns, out.Values = append(out.Columns, name), append(out.Values, v)
	}
	return out
}

// holder is a fitted step that contains fitted steps. Queries of every step of a pipeline, such as
// Relevance, descend into it.
type holder interface {
	// Each calls yield with the name, the fitted value and the input schema of every inner step,
	// given the input schema of the holder.
	Each(in datasets.Schema, yield func(name string, fitted transformer.Transformer, in datasets.Schema))
}

// Each calls yield with every step.
func (c *FittedChain) Each(in datasets.Schema, yield func(name string, fitted transformer.Transformer,
	in datasets.Schema)) {
	for _, s := range c.steps {
		yield(s.Name, s.Fitted, in)
		in = rows.Describe(s.Fitted, in)
	}
}

// Each calls yield with every part.
func (c *concatenation) Each(in datasets.Schema, yield func(name string, fitted transformer.Transformer,
	in datasets.Schema)) {
	for _, p := range c.parts {
		yield(p.Name, p.Fitted, pick.Schema(in, p.index))
	}
}

// Supervised reports whether the step, or one of its children, learns from the targets.
func (s Step) Supervised() bool { return supervised(s.Fitter) }

func supervised(spec any) bool {
	if requiresTargets(spec) {
		return true
	}
	if c, ok := spec.(Composite); ok {
		for _, child := range c.Children() {
			if child.Supervised() {
				return true
			}
		}
	}
	for _, c := range Within(spec) {
		if supervised(c.Spec) {
			return true
		}
	}
	return false
}

// Relevance returns the relevance of the inputs of every step that learned it, in the order
// of the steps, followed by that of the model if it has one.
func (p *FittedPipeline) Relevance() []Relevance {
	var out []Relevance
	var look func(path string, fitted transformer.Transformer, in datasets.Schema)
	look = func(path string, fitted transformer.Transformer, in datasets.Schema) {
		if values := datasets.TagsOf(fitted).Relevance; values != nil {
			found := Relevance{Step: path, Values: values}
			found.name(in)
			out = append(out, found)
		}
		if h, ok := fitted.(holder); ok {
			h.Each(in, func(name string, fitted transformer.Transformer, in datasets.Schema) {
				if path != "" {
					name = path + "." + name
				}
				look(name, fitted, in)
			})
		}
	}
	look("", p.chain, p.in)
	if values := estimator.FittedTags(p.model).Relevance; values != nil {
		found := Relevance{Step: p.name, Values: values}
		found.name(rows.Describe(p.chain, p.in))
		out = append(out, found)
	}
	return out
}

// Terms returns the terms of the additive kernel of the model, named after their columns, such as age and
// age × job, with their shares of the variance of its predictions. Relevance.Columns has the names. A model
// without such a kernel has none.
func (p *FittedPipeline) Terms(ctx context.Context) (Relevance, error) {
	out := Relevance{Step: p.name}
	if terms := estimator.FittedTags(p.model).Terms; terms != nil {
		var err error
		if out.Columns, out.Values, err = terms(ctx, rows.Describe(p.chain, p.in)); err != nil {
			return out, err
		}
	}
	return out, nil
}
