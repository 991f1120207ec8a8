package metrics_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/metrics"
)

func ExampleByName() {
	m, err := metrics.ByName("neg_mean_squared_error")
	if err != nil {
		fmt.Println(err)
		return
	}
	score, err := m.Score(metrics.Input{YTrue: []float64{3, -0.5, 2, 7}, YPred: []float64{2.5, 0, 2, 8}})
	fmt.Println(m.Name, score, m.GreaterIsBetter, err)
	// Output: neg_mean_squared_error -0.375 true <nil>
}

func ExampleForTask() {
	in := metrics.Input{
		YTrue:   []float64{0, 0, 1, 1},
		YPred:   []float64{0, 1, 1, 1},
		Scores:  mat.NewDense(4, 1, []float64{-2, 0.5, 0.3, 1}),
		Weights: []float64{1, 1, 2, 1},
	}
	for _, m := range metrics.ForTask(datasets.Classification, 2) {
		if !m.Requires.SatisfiedBy(in) { // the model has no probabilities
			fmt.Printf("%-18s needs %s\n", m.Name, m.Requires)
			continue
		}
		score, err := m.Score(in)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-18s %.3f\n", m.Name, score)
	}
	// Output:
	// accuracy           0.800
	// balanced_accuracy  0.750
	// f1                 0.857
	// log_loss           needs probabilities
	// roc_auc            0.667
}

func ExampleMetric() {
	// Cost of an alarm: 1 if false, 10 if missed.
	cost := metrics.Metric{
		Name: "cost", Task: datasets.Classification, Requires: metrics.RequiresPredictions,
		Func: func(in metrics.Input) (float64, error) {
			total := 0.0
			for i, truth := range in.YTrue {
				switch {
				case truth < in.YPred[i]:
					total++
				case truth > in.YPred[i]:
					total += 10
				}
			}
			return total, nil
		},
	}
	fmt.Println(cost.Score(metrics.Input{YTrue: []float64{0, 1, 0, 1}, YPred: []float64{1, 0, 0, 1}}))
	fmt.Println(cost.Score(metrics.Input{YTrue: []float64{0, 1, 0, 1}, YPred: []float64{1, 0, 3}}))
	// Output:
	// 11 <nil>
	// NaN metrics: cost: YPred must have 4 rows, as YTrue, got 3
}

func ExampleInput_Confusion() {
	table, err := metrics.Input{
		YTrue: []float64{0, 0, 1, 1, 1, 2},
		YPred: []float64{0, 2, 1, 1, 0, 2},
	}.Confusion([]string{"cat", "dog", "owl"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(table)
	// Output:
	// true \ predicted  cat  dog  owl
	// cat                 1    0    1
	// dog                 1    2    0
	// owl                 0    0    1
}

func ExampleInput_ROC() {
	roc, err := metrics.Input{
		YTrue:  []float64{0, 0, 1, 1},
		Scores: mat.NewDense(4, 1, []float64{0.1, 0.4, 0.35, 0.8}),
	}.ROC(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, threshold := range roc.Thresholds {
		fmt.Printf("score ≥ %-4v  false positives %.1f  true positives %.1f\n", threshold, roc.FPR[i], roc.TPR[i])
	}
	// Output:
	// score ≥ +Inf  false positives 0.0  true positives 0.0
	// score ≥ 0.8   false positives 0.0  true positives 0.5
	// score ≥ 0.4   false positives 0.5  true positives 0.5
	// score ≥ 0.35  false positives 0.5  true positives 1.0
	// score ≥ 0.1   false positives 1.0  true positives 1.0
}

func ExampleInput_Calibration() {
	curve, err := metrics.Input{
		YTrue:         []float64{0, 0, 1, 1, 1},
		Probabilities: mat.NewDense(5, 2, []float64{0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.2, 0.8, 0.1, 0.9}),
	}.Calibration(1, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for bin := range curve.Predicted {
		fmt.Printf("predicted %.2f  observed %.2f  rows %v\n", curve.Predicted[bin], curve.Observed[bin], curve.Weight[bin])
	}
	// Output:
	// predicted 0.20  observed 0.33  rows 3
	// predicted 0.85  observed 1.00  rows 2
}
