package metrics

import (
	"strconv"

	"github.com/bochner-ml/bochner/internal/svg"
)

// SVG returns the matrix as a picture, which a notebook shows by itself: each cell is shaded by its
// share of the row, the rows of a true class.
func (m *ConfusionMatrix) SVG() string {
	k := len(m.Classes)
	t := svg.Table{Title: "confusion matrix", Down: "truth", Across: "predicted", Rows: m.Classes, Columns: m.Classes, Row: -1}
	for i := range k {
		total := 0.0
		for j := range k {
			total += m.Counts.At(i, j)
		}
		shares, labels := make([]float64, k), make([]string, k)
		for j := range k {
			v := m.Counts.At(i, j)
			if labels[j] = strconv.FormatFloat(v, 'g', 6, 64); total > 0 {
				shares[j] = v / total
			}
		}
		t.Values, t.Labels = append(t.Values, shares), append(t.Labels, labels)
	}
	return svg.Heat(t)
}
