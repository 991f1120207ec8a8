package document

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/paramkind"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/internal/yamlnode"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// sections are those of an experiment file, in the order of the reference.
var sections = []struct{ path, about string }{
	{"", "A file has the keys below, the sections `data`, `search`, `intervals`, `report` and `output`, and `pipeline`, a list of [steps](#every-step)."},
	{"data", "The rows, and what their columns are."},
	{"data.sql", "Rows of queries to a database, instead of files. See [the data](experiment-file.md#data)."},
	{"data.split", "Test rows taken from the training file or from a built-in set."},
	{"data.csv", "How a CSV or TSV file is written."},
	{"data.svmlight", "How an svmlight file is written."},
	{"search", "A grid search with cross-validation. `grid` maps paths of parameters to values."},
	{"search.cv", "How rows are divided into folds."},
	{"search.halving", "Rounds that give more to fewer candidates; `min_resources` enables them."},
	{"intervals", "Prediction intervals, or prediction sets of classes, with the given coverage: see [uncertainty](uncertainty.md)."},
	{"report", "Diagnostics of the model and the HTML report: see [evaluating runs](evaluating-runs.md)."},
	{"report.importance", "How much each input matters, and what it does."},
	{"report.learning_curve", "What models of fewer rows are worth."},
	{"output", "Where the results go."},
}

// Reference returns the tables of the experiment file as Markdown, made from the declarations of
// its keys and of every step.
func Reference() string {
	var b strings.Builder
	spec := declared()
	for _, s := range sections {
		title := "The sections"
		if s.path != "" {
			title = "`" + s.path + "`"
		}
		if _, too := pipeline.Lookup(s.path); too { // a step has the name, too
			title += " at the top level"
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", title, s.about)
		var rows []param.Param
		for _, p := range param.All(spec) {
			if p.Path == yamlnode.Join(s.path, p.Name) {
				rows = append(rows, p)
			}
		}
		table(&b, "key", rows)
	}
	stepReference(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// table writes parameters, one to a row.
func table(b *strings.Builder, what string, rows []param.Param) {
	fmt.Fprintf(b, "| %s | takes | default | what it is |\n|---|---|---|---|\n", what)
	for _, p := range rows {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, cell(p.Wanted), cell(initial(p)), cell(p.Doc))
	}
	b.WriteByte('\n')
}

// initial is the default of a parameter as YAML.
func initial(p param.Param) string {
	switch v := p.Value.(type) {
	case nil:
		return ""
	case string:
		if v == "" {
			return ""
		}
	case []any:
		if len(v) == 0 {
			return ""
		}
	case map[string]any:
		if len(v) == 0 {
			return ""
		}
	}
	if p.Kind == paramkind.Seed {
		if p.Path == "seed" {
			return "`0`"
		}
		return "derived"
	}
	return "`" + Flow(p.Value) + "`"
}

// cell keeps a string in its cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

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
		parts := holdingOf(e)
		fmt.Fprintf(b, "### `%s`\n\n%s", e.Name, sentence(upper(e.Doc)))
		if parts.about != "" {
			b.WriteString(" " + parts.about)
		}
		b.WriteString("\n\n")
		if rows := append(append(parts.rows, e.Params()...), modelsWithin(e)...); len(rows) > 0 {
			table(b, "parameter", rows)
		} else if parts.about == "" {
			b.WriteString("It has no parameters.\n\n")
		}
		if len(parts.members) > 0 {
			table(b, "key of a "+parts.what, parts.members)
		}
	}
}

// modelsWithin describes what a step holds below a name, such as the model that another one wraps.
func modelsWithin(e pipeline.Entry) (rows []param.Param) {
	for _, c := range pipeline.Within(e.New()) {
		row := param.Param{Name: c.Name, Wanted: "a step, or a list of steps", Doc: "the step within"}
		if c.Type == reflect.TypeFor[estimator.Estimator]() {
			row.Wanted, row.Doc = "an estimator, or a list of steps and an estimator", "the model within"
		}
		if pipeline.HoldsMembers(c) {
			row.Wanted, row.Doc = "names, each with an estimator or a list of steps and an estimator", "the models within"
		}
		if own, ok := pipeline.EntryOf(c.Spec); ok {
			row.Value = own.Name
		}
		rows = append(rows, row)
	}
	return rows
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
	out.members = specs.Own(h.Kind)
	if inside, ok := h.Kind.(pipeline.Composite); ok {
		out.members = append(out.members, listOf(inside.Holds()))
	}
	out.members = append(out.members, param.Param{Name: "name", Wanted: "a string", Doc: fmt.Sprintf("name of the %s in paths; when left out %s", h.What, h.Named)})
	return out
}

// listOf describes the list that a step holds as one of its parameters.
func listOf(h pipeline.ChildrenSpec) param.Param {
	one := "step"
	if h.Kind != nil {
		one = h.What
	}
	return param.Param{Name: h.Key, Wanted: "a list of " + one + "s", Doc: h.Doc}
}
