package compare_test

import (
	"fmt"

	"github.com/bochner-ml/bochner/metrics/compare"
)

// Of 1,000 rows, only the first classifier is correct on 25, and only the second on 60.
func ExampleMcNemar() {
	t, err := compare.McNemar(25, 60, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: accuracy %+.3f (%.3f to %.3f), p %.2g\n", t.Method, t.Difference, t.Low, t.High, t.P)
	// Output:
	// McNemar, chi-squared with continuity correction: accuracy +0.035 (0.017 to 0.053), p 0.00023
}

// The errors of two models on the same five rows.
func ExamplePaired() {
	first := []float64{0.3, -0.5, 0.1, 0.8, -0.2}
	second := []float64{0.2, -0.3, 0.1, 0.5, -0.3}
	var p compare.Paired
	for i := range first {
		p.Add(first[i], second[i])
	}
	t, err := p.Test()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: squared error %+.2f (%.2f to %.2f), p %.2g\n", t.Method, t.Difference, t.Low, t.High, t.P)
	// Output:
	// paired t: squared error -0.11 (-0.33 to 0.11), p 0.23
}

// Accuracies of two models on the same five folds of 1,000 rows.
func ExampleCorrectedT() {
	first := []float64{0.81, 0.83, 0.80, 0.82, 0.84}
	second := []float64{0.82, 0.86, 0.795, 0.84, 0.852}
	differences := make([]float64, len(first))
	for i := range first {
		differences[i] = second[i] - first[i]
	}
	t, err := compare.CorrectedT(differences, 800, 200)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %+.4f (%.3f to %.3f), p %.2g\n", t.Method, t.Difference, t.Low, t.High, t.P)
	// Output:
	// corrected resampled t: +0.0134 (-0.011 to 0.038), p 0.2
}

// Three models are compared with one; adjusted p values can exceed 0.05.
func ExampleHolm() {
	p, err := compare.Holm([]float64{0.01, 0.04, 0.03})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", p)
	// Output:
	// [0.03 0.06 0.06]
}
