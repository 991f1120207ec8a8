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
		fmt.Fprintf(b, "### `%s`\n\n%s", e.Name, sentence(upper(e.Doc)))
		if about := holding[e.Name].about; about != "" {
			b.WriteString(" " + about)
		}
		b.WriteString("\n\n")
		if rows := append(slices.Clone(holding[e.Name].rows), e.Params()...); len(rows) > 0 {
			table(b, "parameter", rows)
		} else if holding[e.Name].about == "" {
			b.WriteString("It has no parameters.\n\n")
		}
		if len(holding[e.Name].parts) > 0 {
			table(b, "key of a group", holding[e.Name].parts)
		}
	}
}

// holding describes the steps that hold others, whose parts are no parameters.
var holding = map[string]struct {
	about       string
	rows, parts []param.Param
}{
	"columns": {
		about: "The list of groups may stand directly below `columns` where `rest` is left out.",
		rows:  []param.Param{{Name: "groups", Wanted: "a list of groups", Doc: "the groups; a column may be in several"}},
		parts: []param.Param{
			{Name: "select", Wanted: "a text or a list of texts", Doc: "columns by name, kind (numeric or categorical), pattern with * and ?, or regular expression between slashes"},
			{Name: "steps", Wanted: "a list of steps", Doc: "what is done with the columns, one after the other; none passes them on"},
			{Name: "name", Wanted: "a text", Doc: "name of the group in paths; when left out the kind that it selects, or group1, group2, …"},
		},
	},
	"union": {
		about: "The list of parts may stand directly below `union` where `weights` is left out.",
		rows:  []param.Param{{Name: "parts", Wanted: "a list of steps", Doc: "the maps"}},
	},
	"steps": {about: "A list of steps stands directly below it."},
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
	steps := &property{Type: "array", Items: &property{Ref: "#/$defs/step"}}
	switch e.Name {
	case "steps":
		parameters = steps
	case "union":
		parameters.Properties.add("parts", steps)
		parameters = &property{AnyOf: []*property{steps, parameters}}
	case "columns":
		groups := &property{Type: "array", Items: groupSchema(steps)}
		parameters.Properties.add("groups", groups)
		parameters = &property{AnyOf: []*property{groups, parameters}}
	}
	out.Properties.add(e.Name, parameters)
	out.Properties.add("name", &property{Type: "string", Description: "Name of the step in paths, to tell two of a kind apart."})
	return out
}

// groupSchema is the schema of a group of columns.
func groupSchema(steps *property) *property {
	texts := &property{Type: "array", Items: &property{Type: "string"}}
	group := &property{Type: "object", Required: []string{"select"}, Others: false, Properties: &properties{}}
	group.Properties.add("name", &property{Type: "string"})
	group.Properties.add("select", &property{AnyOf: []*property{{Type: "string"}, texts}, Description: "Columns by name, kind (numeric, categorical) or pattern."})
	group.Properties.add("steps", steps)
	return group
}
