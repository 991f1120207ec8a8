package metrics

import (
	"strconv"

	"github.com/bochner-ml/bochner/internal/codec/svg"
)

// SVG returns the matrix as a heat map, shaded by the fraction of each true class. Notebooks
// display it.
func (m *ConfusionMatrix) SVG() string {
	k := len(m.Classes)
	t := svg.Table{Title: "confusion matrix", RowLabel: "true class", ColumnLabel: "predicted class", Rows: m.Classes,
		Columns: m.Classes, Row: -1}
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
	return svg.HeatMap(t)
}

// SVG returns a plot of the curve and the chance level. Notebooks display it.
func (c ROC) SVG() string {
	area := strconv.FormatFloat(c.Area(), 'g', 4, 64)
	return svg.Plot{
		Title: "ROC", AltText: "ROC, area " + area,
		X: svg.Axis{Name: "false positive rate", High: 1}, Y: svg.Axis{Name: "true positive rate", High: 1},
		Series: []svg.Series{{Name: "area " + area, X: c.FPR, Y: c.TPR, Line: true},
			{Name: "chance", Color: svg.Reference, X: []float64{0, 1}, Y: []float64{0, 1}, Line: true, Dashed: true}},
	}.SVG()
}

// SVG returns a plot of the curve. Notebooks display it.
func (c PrecisionRecall) SVG() string {
	return svg.Plot{
		Title: "Precision and recall", X: svg.Axis{Name: "recall", High: 1}, Y: svg.Axis{Name: "precision", High: 1},
		Series: []svg.Series{{X: c.Recall, Y: c.Precision, Line: true}},
	}.SVG()
}

// SVG returns a plot of the curve and of perfect calibration. Notebooks display it.
func (c Calibration) SVG() string {
	return svg.Plot{
		Title: "Calibration", X: svg.Axis{Name: "mean predicted probability", High: 1},
		Y: svg.Axis{Name: "fraction of positives", High: 1},
		Series: []svg.Series{{Name: "observed", X: c.Predicted, Y: c.Observed, Line: true, Dots: true},
			{Name: "perfectly calibrated", Color: svg.Reference, X: []float64{0, 1}, Y: []float64{0, 1}, Line: true,
				Dashed: true}},
	}.SVG()
}
