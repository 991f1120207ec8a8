package result

import (
	"slices"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/rows/profile"
)

// Findings are the diagnostics of a model: result.json stores each under its own key. A field that
// does not apply to the task or the model is nil. Curves and samples are thinned to the resolution
// of a plot.
type Findings struct {
	// On names the rows that are diagnosed: "test", or "train" without test rows.
	On string `json:"findings_on,omitempty"`

	Baselines []Baseline `json:"baselines,omitempty"`

	// Confusion is the confusion matrix. With sample weights, its entries are sums of weights.
	Confusion struct {
		Classes []string    `json:"classes"`
		Counts  [][]float64 `json:"counts"` // Counts[i][j] rows of class i were predicted as class j
	} `json:"confusion,omitzero"`
	PerClass        []Class `json:"per_class,omitempty"`
	ROC             []Curve `json:"roc,omitempty"`
	PrecisionRecall []Curve `json:"precision_recall,omitempty"`
	Calibration     []struct {
		Class     string    `json:"class"`
		Predicted []float64 `json:"predicted"` // mean probability
		Observed  []float64 `json:"observed"`  // fraction of rows of the class
		Rows      []float64 `json:"rows"`
		Error     float64   `json:"error"` // expected calibration error
	} `json:"calibration,omitempty"`
	Threshold *meta.Cutoff `json:"threshold,omitempty"`

	Errors []Errors `json:"errors,omitempty"` // of a regression, one per target
	// Counts are the numbers of rows with the targets 0, 1, …, of counts with positive predictions; the last is of all
	// larger targets.
	Counts struct {
		Observed []float64 `json:"observed"`
		Expected []float64 `json:"expected"` // if each target has a Poisson distribution with the predicted mean
	} `json:"counts,omitzero"`
	// Quantile compares a predicted quantile with the targets, in bins of as many rows each, in ascending order of the
	// predictions.
	Quantile struct {
		Quantile  float64   `json:"quantile"`
		Predicted []float64 `json:"predicted"` // mean
		Below     []float64 `json:"below"`     // share of targets that are at most the prediction
		Rows      []int     `json:"rows"`
	} `json:"quantile_reliability,omitzero"`

	Importance *inspection.Importances `json:"importance,omitempty"`
	Effects    []inspection.Effect     `json:"effects,omitempty"`   // of the inputs that matter most
	Relevance  []Relevance             `json:"relevance,omitempty"` // of inputs to steps and models that learned it

	// Shapley are mean absolute Shapley values.
	Shapley struct {
		Rows int `json:"rows"`
		// Outputs have the mean absolute value of each input, in descending order.
		Outputs []struct {
			Name   string `json:"name,omitempty"` // class or target
			Inputs []struct {
				Name string  `json:"name"`
				Mean float64 `json:"mean"`
			} `json:"inputs"`
		} `json:"outputs"`
		// Sample has the values of the first outputs and of the most important inputs, for plots.
		Sample inspection.ShapleyValues `json:"sample"`
	} `json:"shapley,omitzero"`
	ANOVA *inspection.ANOVA `json:"anova,omitempty"` // variance of the predictions by input and pair of inputs

	Skipped []string `json:"skipped,omitempty"`  // omitted diagnostics, with reasons
	LeftOut []string `json:"left_out,omitempty"` // diagnostics that the time limit left out; bochner report computes them

	// LearningCurve has the scores of the model over the number of training rows.
	LearningCurve struct {
		Score  string    `json:"score"`
		Rows   []int     `json:"rows"`
		Train  []float64 `json:"train"` // training scores
		Scores []float64 `json:"scores"`
	} `json:"learning_curve,omitzero"`
	Profile *profile.Profile `json:"profile,omitempty"` // of the training rows
}

// Baseline is a simple reference model, fitted to the training rows, with its scores.
type Baseline struct {
	Name   string             `json:"name"` // "most frequent class", "mean" or "linear model"
	Scores map[string]float64 `json:"scores"`
}

// Class contains the metrics of one class.
type Class struct {
	Name      string  `json:"name"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	Support   float64 `json:"support"` // number of rows

	Threshold *float64 `json:"threshold,omitempty"` // of one of several labels, from the wrapper threshold
}

// Curve is a one-versus-rest curve of a class over all thresholds. X and Y are the false and true positive rates of a
// ROC curve, or recall and precision.
type Curve struct {
	Class string    `json:"class"`
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	Area  float64   `json:"area"` // roc_auc, or average_precision
}

// Errors are the statistics of the errors of a target, prediction minus true value.
type Errors struct {
	Target   string  `json:"target"`
	Mean     float64 `json:"mean"` // bias
	Absolute float64 `json:"mean_absolute"`
	// Quantiles are quantiles of the absolute error.
	Quantiles []struct {
		Share float64 `json:"share"`
		Error float64 `json:"error"`
	} `json:"quantiles"`
	// Beyond are the predictions outside of the range of the training targets.
	Beyond struct {
		Min   float64 `json:"min"` // of the training targets
		Max   float64 `json:"max"`
		Count int     `json:"count"` // number of such predictions
		Rows  []Row   `json:"rows"`  // at most 10, in descending order of the distance to the range
	} `json:"beyond_range,omitzero"`

	Worst  []Row `json:"worst"`  // rows in descending order of absolute error
	Sample []Row `json:"sample"` // at most 1,000 evenly spaced rows
}

// Row is the prediction of one row.
type Row struct {
	Number    int     `json:"row"` // in the file
	Truth     float64 `json:"truth"`
	Predicted float64 `json:"predicted"`
}

// Relevance is the learned relevance of the inputs of a step, from 0 to 1, in descending order. Of Terms
// it is the share in the variance of the predictions.
type Relevance struct {
	Step   string `json:"step"`
	Terms  bool   `json:"terms,omitempty"` // whether the inputs are the terms of an additive kernel
	Inputs []struct {
		Name      string  `json:"name"`
		Relevance float64 `json:"relevance"`
	} `json:"inputs"`
}

// Unused returns the number of inputs of relevance 0.
func (r Relevance) Unused() (n int) {
	for _, one := range r.Inputs {
		if one.Relevance == 0 {
			n++
		}
	}
	return n
}

// SummarizeShapley sets Shapley to the summary of values: plots show the given number of outputs and inputs.
func (f *Findings) SummarizeShapley(values inspection.ShapleyValues, maxOutputs, maxInputs int) {
	out, shown := &f.Shapley, make([]float64, len(values.Inputs))
	out.Outputs = slices.Grow(out.Outputs, len(values.Outputs))[:len(values.Outputs)]
	var outputs []int
	for q, o := range values.Outputs {
		out.Rows = len(o.Values)
		one, mean, top := &out.Outputs[q], o.MeanAbs(), o.Top()
		one.Name = o.Name
		one.Inputs = slices.Grow(one.Inputs, len(top))[:len(top)]
		for k, j := range top {
			one.Inputs[k].Name, one.Inputs[k].Mean = values.Inputs[j], mean[j]
		}
		if q < maxOutputs {
			outputs = append(outputs, q)
			for j, v := range mean {
				shown[j] = max(shown[j], v)
			}
		}
	}
	top := inspection.ShapleyOutput{Values: [][]float64{shown}}.Top()
	out.Sample = values.Select(outputs, top[:min(len(top), maxInputs)])
}
