package modelfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/internal/codec/svg"
	"github.com/bochner-ml/bochner/pipeline"
)

// HTML returns a table of the model and the diagram of its pipeline. Notebooks display it.
func (m *Model) HTML() string { return svg.NameValueTable(m.facts()) + m.Spec().SVG() }

// String returns a text table of the model: its task, steps, target and scores.
func (m *Model) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range m.facts() {
		if f[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", f[0], f[1])
		}
	}
	w.Flush()
	return b.String()
}

// facts returns the names and values of the table.
func (m *Model) facts() [][2]string {
	facts := [][2]string{{"name", m.Name}, {"task", string(m.Task)}}
	if p := pipeline.Find(m.Predictor); p != nil {
		facts = append(facts, p.Facts()...)
	}
	var targets []string
	for _, t := range m.Schema.Targets {
		targets = append(targets, t.Name)
	}
	if len(targets) > 0 {
		facts = append(facts, [2]string{"target", strings.Join(targets, ", ")})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Metrics)) {
		facts = append(facts, [2]string{name, svg.FormatValue(m.Metrics[name])})
	}
	return facts
}
