package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// sections are the sections of an experiment file, in the order of the reference.
var sections = []struct{ path, about string }{
	{"", "A file has the keys below, the sections `data`, `search`, `intervals`, `report` and `output`, and " +
		"`pipeline`, a list of [steps](#every-step)."},
	{"data", "Data files and the roles of their columns."},
	{"data.sql", "Rows from database queries instead of files. See [the data](experiment-file.md#data)."},
	{"data.gram", "Gram matrices that replace the inputs. See [own kernels](kernel-approximation.md#own-kernels)."},
	{"data.split", "Test rows split off the training file or a built-in data set."},
	{"data.labels", "Labels of a target with lists. See [several labels](multilabel.md)."},
	{"data.csv", "Format of CSV and TSV files."},
	{"data.svmlight", "Format of svmlight files."},
	{"search", "Grid search with cross-validation. `grid` maps parameter paths to lists of values."},
	{"search.cv", "Cross-validation folds."},
	{"search.halving", "Successive halving; `min_resources` enables it."},
	{"intervals", "Prediction intervals or prediction sets with a given coverage. See [uncertainty](uncertainty.md)."},
	{"report", "Diagnostics of the model and the HTML report. See [evaluating runs](evaluating-runs.md)."},
	{"report.importance", "Permutation importance and partial dependence of the inputs."},
	{"report.learning_curve", "Scores over the number of training rows."},
	{"output", "Output files and tracking."},
}

// Reference returns the reference tables of the experiment file as Markdown. They are generated
// from the declarations of the keys and of every registered step.
func Reference() string {
	var b strings.Builder
	spec := declared()
	for _, s := range sections {
		title := "The sections"
		if s.path != "" {
			title = "`" + s.path + "`"
		}
		if _, too := pipeline.Lookup(s.path); too { // disambiguates the headings
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

// table writes one row per parameter.
func table(b *strings.Builder, what string, rows []param.Param) {
	fmt.Fprintf(b, "| %s | type | default | description |\n|---|---|---|---|\n", what)
	for _, p := range rows {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, cell(typeOf(p.Constraint)), cell(initial(p)), cell(p.Doc))
	}
	b.WriteByte('\n')
}

// typeOf returns a constraint such as "an integer ≥ 0" without its article.
func typeOf(constraint string) string {
	for _, article := range []string{"a ", "an ", "the "} {
		if rest, found := strings.CutPrefix(constraint, article); found {
			return rest
		}
	}
	return constraint
}

// initial formats the default of a parameter as YAML.
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

// cell escapes column separators.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// stepReference writes an overview of all registered steps, then their parameters by task.
func stepReference(b *strings.Builder) {
	byTask := make(map[string][]pipeline.Entry, len(tasks))
	for _, e := range pipeline.Registered() {
		byTask[taskOf(e.Name)] = append(byTask[taskOf(e.Name)], e)
	}
	all := append(slices.Clone(tasks), stepsByTask{title: otherSteps})
	b.WriteString("## Every step\n\n| step | description |\n|---|---|\n")
	for _, task := range all {
		for _, e := range byTask[task.title] {
			fmt.Fprintf(b, "| [`%s`](#%s) | %s |\n", e.Name, e.Name, cell(e.Doc))
		}
	}
	for _, task := range all {
		if len(byTask[task.title]) > 0 {
			fmt.Fprintf(b, "\n## %s\n\n", task.title)
		}
		for _, e := range byTask[task.title] {
			oneStep(b, e, task.examples[e.Name])
		}
	}
}

// oneStep writes the description of a step, its example and a table of its parameters.
func oneStep(b *strings.Builder, e pipeline.Entry, example string) {
	parts := childrenOf(e)
	fmt.Fprintf(b, "### `%s`\n\n%s", e.Name, sentence(upper(e.Doc)))
	if parts.about != "" {
		b.WriteString(" " + parts.about)
	}
	b.WriteString("\n\n")
	if example != "" {
		fmt.Fprintf(b, "```yaml\npipeline: %s\n```\n\n", example)
	}
	if rows := append(append(parts.rows, e.Params()...), innerModels(e)...); len(rows) > 0 {
		table(b, "parameter", rows)
	} else if parts.about == "" {
		b.WriteString("No parameters.\n\n")
	}
	if len(parts.members) > 0 {
		table(b, "key of a "+parts.what, parts.members)
	}
}

// innerModels describes the named children of a step, such as the inner estimator of a wrapper.
func innerModels(e pipeline.Entry) (rows []param.Param) {
	for _, c := range pipeline.Within(e.New()) {
		row := param.Param{Name: c.Name, Constraint: "a step or list of steps", Doc: "inner step"}
		if c.Type == reflect.TypeFor[estimator.Estimator]() {
			row.Constraint, row.Doc = "an estimator, or a list of steps ending in one", "inner estimator"
		}
		if c.Type == reflect.TypeFor[meta.Members]() {
			row.Constraint, row.Doc = "a map from names to estimators or lists of steps ending in one", "inner estimators"
		}
		if own, ok := pipeline.Lookup(c.Spec); ok {
			row.Value = own.Name
		}
		rows = append(rows, row)
	}
	return rows
}

// children describes the list of children of a composite step.
type children struct {
	about         string
	what          string        // kind of a child
	rows, members []param.Param // the list itself, the keys of a child
}

// childrenOf describes the children of a composite step; it returns the zero value for other steps.
func childrenOf(e pipeline.Entry) children {
	c, ok := e.New().(pipeline.Composite)
	if !ok {
		return children{}
	}
	h := c.Holds()
	out := children{what: h.What}
	if len(e.Params()) == 0 {
		out.about = "It contains a list of " + h.What + "s."
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
	out.about = fmt.Sprintf("The list of %ss may be given directly below `%s` if %s%s omitted.", h.What, e.Name,
		strings.Join(own, " and "), is)
	out.rows = []param.Param{listOf(h)}
	if h.Kind == nil {
		return out
	}
	out.members = specs.Own(h.Kind)
	if inside, ok := h.Kind.(pipeline.Composite); ok {
		out.members = append(out.members, listOf(inside.Holds()))
	}
	out.members = append(out.members, param.Param{Name: "name", Constraint: "a string",
		Doc: fmt.Sprintf("name of the %s in parameter paths; default: %s", h.What, h.Named)})
	return out
}

// listOf describes the list of children as a parameter.
func listOf(h pipeline.ChildrenSpec) param.Param {
	one := "step"
	if h.Kind != nil {
		one = h.What
	}
	return param.Param{Name: h.Key, Constraint: "a list of " + one + "s", Doc: h.Doc}
}
