package modelfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/svg"
	"github.com/bochner-ml/bochner/pipeline"
)

// HTML returns a table of the model and the diagram of its pipeline. Notebooks display it.
func (m *Model) HTML() string {
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
	return svg.NameValueTable(facts) + m.Spec().SVG()
}
