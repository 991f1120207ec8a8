package pipeline

import (
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
	Values  []float64
}

// relevant is a fitted step or model that learns the relevance of each input for the targets.
type relevant interface {
	// Relevance returns a number from 0 to 1 for each input column, independent of its unit; 1 for
	// the most relevant one. It returns nil if the relevance was not learned.
	Relevance() []float64
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

// Supervised reports whether the step, or one of its children, learns from the targets, according to the method
// Relevance of its fitted type.
func (s Step) Supervised() bool { return supervised(s.Fitter) }

func supervised(spec any) bool {
	if own, ok := Lookup(spec); ok {
		if _, relevant := any(own.Fitted()).(relevant); relevant {
			return true
		}
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

// Relevance returns the relevance of the inputs of every step with a method Relevance, in the order
// of the steps, followed by that of the model if it has one.
func (p *FittedPipeline) Relevance() []Relevance {
	var out []Relevance
	var look func(path string, fitted transformer.Transformer, in datasets.Schema)
	look = func(path string, fitted transformer.Transformer, in datasets.Schema) {
		if r, ok := fitted.(relevant); ok {
			found := Relevance{Step: path, Values: r.Relevance()}
			for j := range found.Values {
				found.Columns = append(found.Columns, in.Name(j))
			}
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
	var model relevant
	if estimator.As(p.model, &model) {
		if found := (Relevance{Step: p.name, Values: model.Relevance()}); found.Values != nil {
			in := rows.Describe(p.chain, p.in)
			for j := range found.Values {
				found.Columns = append(found.Columns, in.Name(j))
			}
			out = append(out, found)
		}
	}
	return out
}
