package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// sections are those of an experiment file, in the order of the reference.
var sections = []struct{ path, about string }{
	{"", "A file has the keys below, the sections `data`, `search` and `output`, and `pipeline`, a list of [steps](#every-step)."},
	{"data", "The rows, and what their columns are."},
	{"data.split", "Test rows taken from the training file or from a built-in set."},
	{"data.csv", "How a CSV or TSV file is written."},
	{"data.svmlight", "How an svmlight file is written."},
	{"search", "A grid search with cross-validation. `grid` maps paths of parameters to values."},
	{"search.cv", "How rows are divided into folds."},
	{"search.halving", "Rounds that give more to fewer candidates; `least` asks for them."},
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
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", title, s.about)
		var rows []param.Param
		for _, p := range param.All(spec) {
			if p.Path == join(s.path, p.Name) {
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
	if p.Kind == param.Seed {
		if p.Path == "seed" {
			return "`0`"
		}
		return "derived"
	}
	return "`" + Flow(p.Value) + "`"
}

// cell keeps a text in its cell.
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
