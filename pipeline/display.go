package pipeline

import (
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/svg"
	"github.com/bochner-ml/bochner/internal/spec/specs"
)

// SVG returns a diagram of the pipeline: the steps from left to right with their parameters,
// parallel parts stacked. Notebooks display it.
func (p Pipeline) SVG() string {
	return svg.Diagram(svg.Box{Title: "pipeline", Parts: p.boxes()})
}

// boxes returns the boxes of the steps and of the estimator.
func (p Pipeline) boxes() []svg.Box {
	return append(boxes(p.Steps), modelBox(p.path(), p.Estimator))
}

// modelBox returns the box of an estimator, including its inner estimators.
func modelBox(title string, spec estimator.Estimator) svg.Box {
	if p, ok := spec.(Pipeline); ok {
		return svg.Box{Title: title, Parts: p.boxes()}
	}
	b := svg.Box{Title: title, Lines: settings(spec), Stacked: true}
	for _, m := range modelsWithin(spec) {
		_, called, nested := strings.Cut(m.Name, ".") // "members.rough"
		if !nested {
			called = m.Name
		}
		if _, many := m.Estimator.(Pipeline); !many {
			called += ": " + specName(m.Estimator)
		}
		b.Parts = append(b.Parts, modelBox(called, m.Estimator))
	}
	return b
}

func boxes(steps []Step) []svg.Box {
	var out []svg.Box
	for i, s := range steps {
		out = append(out, box(s, i))
	}
	return out
}

// box returns the box of child i.
func box(s Step, i int) svg.Box {
	b := svg.Box{Title: s.NameAt(i), Lines: settings(s.Fitter)}
	if c, ok := s.Fitter.(Composite); ok {
		b.Stacked, b.Parts = c.Holds().Parallel, boxes(c.Children())
	}
	return b
}

// settings returns the parameters of a spec, one per line.
func settings(spec any) []string {
	var out []string
	for _, p := range specs.Own(spec) {
		if !specs.Empty(p.Value) {
			out = append(out, p.Name+" "+svg.FormatValue(p.Value))
		}
	}
	return out
}

// HTML returns a table of the fitted pipeline. Notebooks display it.
func (p *FittedPipeline) HTML() string {
	name, _ := p.Model()
	return svg.NameValueTable(append([][2]string{{"model", name}}, p.Facts()...))
}

// Facts returns pairs of names and values that describe the fitted pipeline in a table.
func (p *FittedPipeline) Facts() [][2]string {
	out := [][2]string{{"inputs", strconv.Itoa(p.InputWidth())}}
	if c := p.Chain(); c.Len() > 0 {
		var names []string
		for i := range c.Len() {
			name, _ := c.Step(i)
			names = append(names, name)
		}
		out = append(out, [2]string{"steps", strings.Join(names, " → ")},
			[2]string{"features", strconv.Itoa(c.OutputWidth())})
	}
	return append(out, [2]string{"precision", p.Precision()}, [2]string{"classes",
		strings.Join(p.InputSchema().Classes(), ", ")})
}
