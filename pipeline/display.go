package pipeline

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/svg"
	"github.com/bochner-ml/bochner/param"
)

// SVG returns the pipeline as a diagram, which a notebook shows by itself: the steps from left to
// right with their parameters, what is done side by side one above the other.
func (p Pipeline) SVG() string {
	b := svg.Box{Title: "pipeline", Parts: boxes(p.Steps)}
	b.Parts = append(b.Parts, svg.Box{Title: p.path(), Lines: settings(p.Estimator)})
	return svg.Diagram(b)
}

func boxes(steps []Step) []svg.Box {
	var out []svg.Box
	for _, s := range steps {
		out = append(out, s.box())
	}
	return out
}

// box returns the part of the diagram that a step is.
func (s Step) box() svg.Box {
	b := svg.Box{Title: s.path()}
	switch f := s.Fitter.(type) {
	case Chain:
		b.Parts = boxes(f.Steps)
	case Union:
		b.Stacked, b.Parts = true, boxes(f.Parts)
	case Columns:
		b.Stacked = true
		for i, g := range f.Groups {
			title := g.Name
			if title == "" {
				title = fmt.Sprintf("group%d", i+1)
			}
			b.Parts = append(b.Parts, svg.Box{Title: title, Lines: []string{"columns " + strings.Join(g.Select, ", ")}, Parts: boxes(g.Steps)})
		}
		b.Parts = append(b.Parts, svg.Box{Title: "all others", Lines: []string{f.Rest}})
	default:
		b.Lines = settings(f)
	}
	return b
}

// settings returns the parameters of a spec as lines.
func settings(spec any) []string {
	var out []string
	for _, p := range param.Own(spec) {
		out = append(out, p.Name+" "+shown(p.Value))
	}
	return out
}

func shown(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return fmt.Sprint(v)
}

// HTML returns the facts of the fitted pipeline, which a notebook shows by itself.
func (p *FittedPipeline) HTML() string {
	var out facts
	name, _ := p.Model()
	out.add("model", name)
	out.addWidths(p)
	return out.table()
}

// facts is a table in the making.
type facts struct{ rows strings.Builder }

// add adds a row, unless there is nothing to say.
func (f *facts) add(name, value string) {
	if value != "" {
		fmt.Fprintf(&f.rows, `<tr><th style="text-align:left">%s</th><td style="text-align:left">%s</td></tr>`, html.EscapeString(name), html.EscapeString(value))
	}
}

func (f *facts) addWidths(p *FittedPipeline) {
	f.add("inputs", strconv.Itoa(p.InputWidth()))
	if c := p.Chain(); c.Len() > 0 {
		var names []string
		for i := range c.Len() {
			name, _ := c.Step(i)
			names = append(names, name)
		}
		f.add("steps", strings.Join(names, " → "))
		f.add("features", strconv.Itoa(c.OutputWidth()))
	}
	f.add("precision", p.Precision())
	f.add("classes", strings.Join(p.InputSchema().Classes(), ", "))
}

func (f *facts) table() string { return "<table>" + f.rows.String() + "</table>" }

// HTML returns the facts of the model and the diagram of its pipeline, which a notebook shows by
// itself.
func (m *Model) HTML() string {
	var out facts
	out.add("name", m.Name)
	out.add("task", string(m.Task))
	if p := Find(m.Predictor); p != nil {
		out.addWidths(p)
	}
	var targets []string
	for _, t := range m.Schema.Targets {
		targets = append(targets, t.Name)
	}
	out.add("target", strings.Join(targets, ", "))
	for _, name := range slices.Sorted(maps.Keys(m.Metrics)) {
		out.add(name, shown(m.Metrics[name]))
	}
	return out.table() + m.Spec().SVG()
}
