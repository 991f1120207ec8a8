package experiment

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/param"
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
	return "`" + flow(p.Value) + "`"
}

// cell keeps a text in its cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
