package metrics

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Scores of extreme weights, constant predictions and equal rows match exact arithmetic.
func TestScoresOfExtremes(t *testing.T) {
	score := func(name string, in Input) float64 {
		m, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.Score(in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	// Nearly all weight is in one class, and the other rows are correct: both scores are 1.
	uneven := Input{YTrue: []float64{0, 1, 1, 2}, YPred: []float64{0, 1, 1, 2}, Weights: []float64{1e13, 1, 3e-4, 0.7},
		Classes: 3}
	for _, name := range []string{"matthews_corrcoef", "cohen_kappa"} {
		if got := score(name, uneven); math.Abs(got-1) > 1e-12 || got > 1 {
			t.Errorf("%s is %v, want 1", name, got)
		}
	}
	// Exact values for weight 10¹³, one correct row, and one row of class 1 predicted as 0.
	half := Input{YTrue: []float64{0, 1, 1}, YPred: []float64{0, 1, 0}, Weights: []float64{1e13, 1, 1}, Classes: 2}
	if got, want := score("matthews_corrcoef", half), math.Sqrt(0.5); math.Abs(got-want) > 1e-10 {
		t.Errorf("matthews_corrcoef is %v, want %v", got, want)
	}
	if got, want := score("cohen_kappa", half), 2./3; math.Abs(got-want) > 1e-10 {
		t.Errorf("cohen_kappa is %v, want %v", got, want)
	}
	constant := Input{YTrue: []float64{0, 0, 1}, YPred: []float64{0, 0, 0}, Weights: []float64{1e17, 1, 1e-3}, Classes: 2}
	if got := score("cohen_kappa", constant); got != 0 {
		t.Errorf("cohen_kappa of a constant prediction is %v, want 0", got)
	}
	rows := mat.NewDense(7, 3, nil)
	for i := range 7 {
		rows.SetRow(i, []float64{0.1, 1.0 / 3, -1e7 / 3})
	}
	same := Input{YPred: []float64{0, 0, 1, 1, 2, 2, 2}, Rows: rows, Weights: []float64{1, 0.3, 0.7, 1, 1, 0.1, 0.2},
		Classes: 3}
	if got := score("davies_bouldin", same); got != 0 {
		t.Errorf("davies_bouldin of identical rows is %v, want 0", got)
	}
}
