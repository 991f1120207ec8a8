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

// SVG returns the curve as a picture, which a notebook shows by itself, beside that of chance.
func (c ROC) SVG() string {
	area := strconv.FormatFloat(c.Area(), 'g', 4, 64)
	return svg.Plot{
		Title: "ROC", Says: "ROC, area " + area,
		X: svg.Axis{Name: "share of other rows taken for it", High: 1}, Y: svg.Axis{Name: "share found", High: 1},
		Series: []svg.Series{{Name: "area " + area, X: c.FPR, Y: c.TPR, Line: true},
			{Name: "chance", Color: svg.Reference, X: []float64{0, 1}, Y: []float64{0, 1}, Line: true, Dashed: true}},
	}.SVG()
}

// SVG returns the curve as a picture, which a notebook shows by itself.
func (c PrecisionRecall) SVG() string {
	return svg.Plot{
		Title: "Precision and recall", X: svg.Axis{Name: "share found (recall)", High: 1}, Y: svg.Axis{Name: "precision", High: 1},
		Series: []svg.Series{{X: c.Recall, Y: c.Precision, Line: true}},
	}.SVG()
}

// SVG returns the curve as a picture, which a notebook shows by itself, beside the line on which probabilities hold.
func (c Calibration) SVG() string {
	return svg.Plot{
		Title: "Calibration", X: svg.Axis{Name: "probability predicted", High: 1}, Y: svg.Axis{Name: "share of the rows that are", High: 1},
		Series: []svg.Series{{Name: "observed", X: c.Predicted, Y: c.Observed, Line: true, Dots: true},
			{Name: "as it should be", Color: svg.Reference, X: []float64{0, 1}, Y: []float64{0, 1}, Line: true, Dashed: true}},
	}.SVG()
}
