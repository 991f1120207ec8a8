package metrics

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/testing/golden"
)

// reference contains reference values with and without sample weights; nil means missing.
type reference struct{ Plain, Weighted *float64 }

// matches compares a metric with its reference values.
func (r reference) matches(t *testing.T, name string, in Input, weights []float64) {
	t.Helper()
	m, err := ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	check := func(kind string, want *float64, weights []float64) {
		if want == nil {
			return
		}
		in.Weights = weights
		got, err := m.Score(in)
		if err != nil || !near(got, *want, 1e-12) {
			t.Errorf("%s %s is %v, %v, want %v", name, kind, got, err, *want)
		}
	}
	if r.Plain == nil {
		t.Errorf("the reference case has no %s", name)
	}
	check("plain", r.Plain, nil)
	check("weighted", r.Weighted, weights)
}

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

func fromRows(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}

func TestGoldenClassification(t *testing.T) {
	var input struct {
		Y, Predict []float64
		Proba      [][]float64
		Weights    []float64 `json:"sample_weight"`
	}
	var expect struct {
		Accuracy         reference
		BalancedAccuracy reference `json:"balanced_accuracy"`
		F1Macro          reference `json:"f1_macro"`
		F1Micro          reference `json:"f1_micro"`
		F1Weighted       reference `json:"f1_weighted"`
		PrecisionMacro   reference `json:"precision_macro"`
		RecallMacro      reference `json:"recall_macro"`
		LogLoss          reference `json:"log_loss"`
		Matthews         reference
		CohenKappa       reference `json:"cohen_kappa"`
		ROCAUC           reference `json:"roc_auc_ovr_macro"`
		Confusion        [][]float64
	}
	golden.Load(t, "metrics_classification", &input, &expect)
	in := Input{YTrue: input.Y, YPred: input.Predict, Probabilities: fromRows(input.Proba)}
	for name, r := range map[string]reference{
		"accuracy": expect.Accuracy, "balanced_accuracy": expect.BalancedAccuracy,
		"f1_macro": expect.F1Macro, "f1_micro": expect.F1Micro, "f1_weighted": expect.F1Weighted,
		"precision_macro": expect.PrecisionMacro, "recall_macro": expect.RecallMacro,
		"log_loss": expect.LogLoss, "matthews": expect.Matthews, "cohen_kappa": expect.CohenKappa,
		"roc_auc_ovr_macro": expect.ROCAUC,
	} {
		r.matches(t, name, in, input.Weights)
	}
	table, err := in.Confusion(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := fromRows(expect.Confusion); !mat.Equal(table.Counts, want) {
		t.Errorf("confusion matrix is\n%v, want\n%v", table, mat.Formatted(want))
	}
}

func TestGoldenBinary(t *testing.T) {
	var input struct {
		Y, Score, Proba []float64
		Weights         []float64 `json:"sample_weight"`
	}
	var expect struct {
		ROCAUC           reference `json:"roc_auc"`
		AveragePrecision reference `json:"average_precision"`
		Brier            reference
		LogLoss          reference `json:"log_loss"`
		F1               reference
		FPR, TPR         []float64
	}
	golden.Load(t, "metrics_binary", &input, &expect)
	in := Input{YTrue: input.Y, Scores: mat.NewDense(len(input.Score), 1, input.Score),
		Probabilities: mat.NewDense(len(input.Proba), 2, nil)}
	for i, p := range input.Proba {
		in.Probabilities.SetRow(i, []float64{1 - p, p})
		in.YPred = append(in.YPred, indicator(p > .5))
	}
	for name, r := range map[string]reference{
		"roc_auc": expect.ROCAUC, "average_precision": expect.AveragePrecision, "brier": expect.Brier,
		"log_loss": expect.LogLoss, "f1": expect.F1,
	} {
		r.matches(t, name, in, input.Weights)
	}
	curve, err := in.ROC(1)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b float64) bool { return near(a, b, 1e-12) }
	if !slices.EqualFunc(curve.FPR, expect.FPR, same) || !slices.EqualFunc(curve.TPR, expect.TPR, same) {
		t.Errorf("ROC curve is\n%v\n%v, want\n%v\n%v", curve.FPR, curve.TPR, expect.FPR, expect.TPR)
	}
}

func TestGoldenRegression(t *testing.T) {
	var input struct {
		Y, Predict []float64
		Weights    []float64 `json:"sample_weight"`
	}
	var expect struct {
		R2, MSE, MAE      reference
		MedianAE          reference `json:"median_ae"`
		ExplainedVariance reference `json:"explained_variance"`
		MaxError          reference `json:"max_error"`
	}
	golden.Load(t, "metrics_regression", &input, &expect)
	in := Input{YTrue: input.Y, YPred: input.Predict}
	for name, r := range map[string]reference{
		"r2": expect.R2, "mse": expect.MSE, "mae": expect.MAE, "median_ae": expect.MedianAE,
		"explained_variance": expect.ExplainedVariance, "max_error": expect.MaxError,
	} {
		r.matches(t, name, in, input.Weights)
	}
}

func TestGoldenProbabilistic(t *testing.T) {
	var input struct {
		Y, Mean, Std, Lower, Upper []float64
		Weights                    []float64 `json:"sample_weight"`
	}
	var expect struct {
		NLPD         float64
		NLPDWeighted float64 `json:"nlpd_weighted"`
		Coverage     float64
		Width        float64 `json:"mean_width"`
		Pinball      float64 `json:"pinball_0_9"`
		D2           float64 `json:"d2_absolute_error"`
		D2Pinball    float64 `json:"d2_pinball_0_9"`
	}
	golden.Load(t, "metrics_probabilistic", &input, &expect)
	in := Input{YTrue: input.Y, YPred: input.Mean, Std: input.Std, Lower: input.Lower, Upper: input.Upper}
	for name, r := range map[string]reference{
		"nlpd": {&expect.NLPD, &expect.NLPDWeighted}, "coverage": {&expect.Coverage, nil}, "mean_width": {&expect.Width,
			nil}, "d2_absolute_error": {&expect.D2, nil},
	} {
		r.matches(t, name, in, input.Weights)
	}
	in.YPred = input.Upper
	reference{&expect.Pinball, nil}.matches(t, "pinball_0.9", in, nil)
	reference{&expect.D2Pinball, nil}.matches(t, "d2_pinball_0.9", in, nil)
}

func TestGoldenDeviance(t *testing.T) {
	var input struct {
		Y, P, Weights []float64
		Positive      []float64 `json:"y_positive"`
	}
	var expect map[string][2]float64
	golden.Load(t, "metrics_deviance", &input, &expect)
	if len(expect) != 5 {
		t.Fatalf("the case has %d scores", len(expect))
	}
	for name, want := range expect {
		in := Input{YTrue: input.Y, YPred: input.P}
		if name == "mean_gamma_deviance" {
			in.YTrue = input.Positive
		}
		reference{&want[0], &want[1]}.matches(t, name, in, input.Weights)
	}
}

func TestGoldenClustering(t *testing.T) {
	var input struct {
		Truth, Labels []float64
		X             [][]float64
	}
	var expect map[string]float64
	golden.Load(t, "metrics_clustering", &input, &expect)
	if len(expect) != 8 {
		t.Fatalf("the case has %d scores", len(expect))
	}
	for name, want := range expect {
		reference{Plain: &want}.matches(t, name, Input{YTrue: input.Truth, YPred: input.Labels, Rows: fromRows(input.X)}, nil)
	}
}

func TestGoldenLabels(t *testing.T) {
	var input struct{ Y, Score, Predict [][]float64 }
	var expect map[string]float64
	golden.Load(t, "metrics_multilabel", &input, &expect)
	in := Input{YTrueTargets: fromRows(input.Y), YPredTargets: fromRows(input.Predict), Scores: fromRows(input.Score)}
	for name, want := range expect {
		reference{Plain: &want}.matches(t, name, in, nil)
	}
}
