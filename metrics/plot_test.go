package metrics

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The heat map contains every count, and a row without errors is darkest.
func TestConfusionMatrixPicture(t *testing.T) {
	m, err := Input{YTrue: []float64{0, 0, 0, 1, 1}, YPred: []float64{0, 0, 1, 1, 1}}.Confusion(
		[]string{"<=50K", ">50K"})
	if err != nil {
		t.Fatal(err)
	}
	picture := m.SVG()
	for word, times := range map[string]int{"&lt;=50K": 2, ">1<": 1, ">2<": 2, ">0<": 1, `fill-opacity="1.000"`: 1,
		"#d1495b": 0} {
		if n := strings.Count(picture, word); n != times {
			t.Errorf("%q occurs %d times, want %d: %s", word, n, times, picture)
		}
	}
}

// Plots contain the area and limit the number of points.
func TestCurvePictures(t *testing.T) {
	in := Input{YTrue: make([]float64, 20000), Probabilities: mat.NewDense(20000, 2, nil)}
	for i := range in.YTrue {
		in.YTrue[i] = float64(i % 2)
		p := 0.5*math.Abs(math.Sin(float64(i))) + 0.25*in.YTrue[i]
		in.Probabilities.SetRow(i, []float64{1 - p, p})
	}
	roc, err := in.ROC(1)
	if err != nil {
		t.Fatal(err)
	}
	auc, _ := ByName("roc_auc")
	if want, err := auc.Score(in); err != nil || math.Abs(roc.Area()-want) > 1e-12 {
		t.Errorf("area %v, roc_auc %v, %v", roc.Area(), want, err)
	}
	pr, _ := in.PrecisionRecall(1)
	held, _ := in.Calibration(1, 10)
	for picture, want := range map[string]string{roc.SVG(): ">area 0.", pr.SVG(): ">Precision and " +
		"recall<", held.SVG(): ">perfectly calibrated<"} {
		if !strings.Contains(picture, want) || len(picture) > 40_000 {
			t.Errorf("%d bytes, want %s within: %.300s", len(picture), want, picture)
		}
	}
}
