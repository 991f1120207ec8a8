package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// classifies says whether what the entry's estimator is fitted to predicts classes.
func classifies(e pipeline.Entry) bool {
	_, ok := e.Fitted().(estimator.Classifier)
	return ok
}

// otherTask says that the estimator is for another task, if it is.
func (s Spec) otherTask(task metrics.Task) (f param.Fault, wrong bool) {
	own, known := pipeline.EntryOf(s.Pipeline.Estimator)
	if !known || classifies(own) == (task == metrics.Classification) {
		return f, false
	}
	var others []string
	for _, e := range pipeline.Registered() {
		if e.IsEstimator() && classifies(e) != classifies(own) {
			others = append(others, e.Name)
		}
	}
	what := "numbers"
	if classifies(own) {
		what = "classes"
	}
	return param.Fault{Problem: fmt.Sprintf("%s predicts %s, and the task is %s; take %s", own.Name, what, task, param.Alternatives(others))}, true
}

// streaming is the pipeline with little memory for mapped rows, which are mapped afresh instead.
func (s Spec) streaming() pipeline.Pipeline {
	p := s.Pipeline
	p.Memory = streamedRows
	return p
}

// streamedRows is how many bytes of mapped rows a streamed fit may keep.
const streamedRows = 64 << 20

// stepReference writes a table for each registered step.
func stepReference(b *strings.Builder) {
	b.WriteString("## Every step\n\n| step | kind | what it does |\n|---|---|---|\n")
	entries := pipeline.Registered()
	for _, e := range entries {
		kind := "transformer"
		if e.IsEstimator() {
			kind = "estimator"
		}
		fmt.Fprintf(b, "| [`%s`](#%s) | %s | %s |\n", e.Name, e.Name, kind, cell(e.Doc))
	}
	b.WriteString("\n")
	for _, e := range entries {
		held := holdingOf(e)
		fmt.Fprintf(b, "### `%s`\n\n%s", e.Name, sentence(upper(e.Doc)))
		if held.about != "" {
			b.WriteString(" " + held.about)
		}
		b.WriteString("\n\n")
		if rows := append(held.rows, e.Params()...); len(rows) > 0 {
			table(b, "parameter", rows)
		} else if held.about == "" {
			b.WriteString("It has no parameters.\n\n")
		}
		if len(held.members) > 0 {
			table(b, "key of a "+held.what, held.members)
		}
	}
}

// holding is what the reference says of a step that holds others.
type holding struct {
	about         string
	what          string        // one of those it holds
	rows, members []param.Param // the list; the keys of one of its members
}

// holdingOf describes what a step holds, nothing where it is no composite.
func holdingOf(e pipeline.Entry) holding {
	c, ok := e.New().(pipeline.Composite)
	if !ok {
		return holding{}
	}
	h := c.Holds()
	out := holding{what: h.What}
	if len(e.Params()) == 0 {
		out.about = "A list of " + h.What + "s stands directly below it."
		return out
	}
	var own []string
	for _, p := range e.Params() {
		own = append(own, "`"+p.Name+"`")
	}
	is := " is"
	if len(own) > 1 {
		is = " are"
	}
	out.about = fmt.Sprintf("The list of %ss may stand directly below `%s` where %s%s left out.", h.What, e.Name, strings.Join(own, " and "), is)
	out.rows = []param.Param{listOf(h)}
	if h.Kind == nil {
		return out
	}
	out.members = param.Own(h.Kind)
	if inside, ok := h.Kind.(pipeline.Composite); ok {
		out.members = append(out.members, listOf(inside.Holds()))
	}
	out.members = append(out.members, param.Param{Name: "name", Wanted: "a text", Doc: fmt.Sprintf("name of the %s in paths; when left out %s", h.What, h.Named)})
	return out
}

// listOf describes the list that a step holds as one of its parameters.
func listOf(h pipeline.Holding) param.Param {
	one := "step"
	if h.Kind != nil {
		one = h.What
	}
	return param.Param{Name: h.Key, Wanted: "a list of " + one + "s", Doc: h.Doc}
}

// upper begins a text with a capital letter.
func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// stepSchemas are the schemas of a step and of each registered one.
func stepSchemas() *properties {
	defs := &properties{}
	step := &property{Description: "A step: its name, or its name with parameters."}
	defs.add("step", step)
	var names []string
	for _, e := range pipeline.Registered() {
		names = append(names, e.Name)
		step.AnyOf = append(step.AnyOf, stepSchema(e))
	}
	step.AnyOf = append([]*property{{Type: "string", Enum: names}}, step.AnyOf...)
	return defs
}

// stepSchema is the schema of a step with parameters.
func stepSchema(e pipeline.Entry) *property {
	out := &property{Type: "object", Description: sentence(upper(e.Doc)), Required: []string{e.Name}, Others: false, Properties: &properties{}}
	parameters := &property{Type: []string{"object", "null"}, Others: false, Properties: &properties{}}
	for _, p := range e.Params() {
		parameters.Properties.add(p.Name, value(p))
	}
	if c, ok := e.New().(pipeline.Composite); ok {
		list := childrenSchema(c.Holds())
		if len(e.Params()) == 0 {
			parameters = list
		} else {
			parameters.Properties.add(c.Holds().Key, list)
			parameters = &property{AnyOf: []*property{list, parameters}}
		}
	}
	out.Properties.add(e.Name, parameters)
	out.Properties.add("name", &property{Type: "string", Description: "Name of the step in paths, to tell two of a kind apart."})
	return out
}

// childrenSchema is the schema of the list of what a step holds.
func childrenSchema(h pipeline.Holding) *property {
	if h.Kind == nil {
		return &property{Type: "array", Items: &property{Ref: "#/$defs/step"}}
	}
	member := &property{Type: "object", Required: pipeline.Required(h.Kind), Others: false, Properties: &properties{}}
	member.Properties.add("name", &property{Type: "string"})
	for _, p := range param.Own(h.Kind) {
		schema := value(p)
		if slices.Contains(member.Required, p.Name) {
			schema.Default = nil
		}
		member.Properties.add(p.Name, schema)
	}
	if inside, ok := h.Kind.(pipeline.Composite); ok {
		member.Properties.add(inside.Holds().Key, childrenSchema(inside.Holds()))
	}
	return &property{Type: "array", Items: member}
}
