package result

import (
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/profile"
)

// Findings are what there is to see of a model besides its scores: result.json has each under its own key. What a
// task or a model has not is nil. Long lists, of curves and points, are thinned to what a picture shows.
type Findings struct {
	// On is the rows that the findings are of: "test", or "train" where there were no test rows.
	On string `json:"findings_on,omitempty"`

	Baselines []Baseline `json:"baselines,omitempty"`

	Confusion       *Confusion    `json:"confusion,omitempty"`
	PerClass        []Class       `json:"per_class,omitempty"`
	ROC             []Curve       `json:"roc,omitempty"`
	PrecisionRecall []Curve       `json:"precision_recall,omitempty"`
	Calibration     []Calibration `json:"calibration,omitempty"`
	Threshold       *Threshold    `json:"threshold,omitempty"`

	Errors []Errors `json:"errors,omitempty"` // of a regression, for each target

	Importance *inspection.Result  `json:"importance,omitempty"`
	Effects    []inspection.Effect `json:"effects,omitempty"`   // of the inputs that matter most
	Relevance  []Relevance         `json:"relevance,omitempty"` // of inputs to steps and models that learned it

	Skipped []string `json:"skipped,omitempty"` // parts that are left out, and why

	LearningCurve *LearningCurve   `json:"learning_curve,omitempty"`
	Profile       *profile.Profile `json:"profile,omitempty"` // of the training rows
}

// Baseline is a simple model to compare with, fitted to the training rows, and its scores.
type Baseline struct {
	Name   string             `json:"name"` // "most frequent class", "mean" or "linear model"
	Scores map[string]float64 `json:"scores"`
}

// Confusion counts rows by their class and the one predicted. With weights, counts are sums of these.
type Confusion struct {
	Classes []string    `json:"classes"`
	Counts  [][]float64 `json:"counts"` // Counts[i][j] rows of class i were taken for class j
}

// Class is how well one class is found.
type Class struct {
	Name      string  `json:"name"`
	Precision float64 `json:"precision"` // share of what was taken for it that is of it
	Recall    float64 `json:"recall"`    // share of it that was found
	F1        float64 `json:"f1"`
	Support   float64 `json:"support"` // its rows
}

// Curve is a class against all others at every threshold: for ROC the rates of false and of true positives, for
// precision and recall the latter as X.
type Curve struct {
	Class string    `json:"class"`
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	Area  float64   `json:"area"` // roc_auc, or average_precision
}

// Calibration compares probabilities of a class with how often it was right: a bin for each element.
type Calibration struct {
	Class     string    `json:"class"`
	Predicted []float64 `json:"predicted"` // mean probability
	Observed  []float64 `json:"observed"`  // share of rows of the class
	Rows      []float64 `json:"rows"`
	Error     float64   `json:"error"` // mean of |predicted − observed| over the rows
}

// Threshold is the decision threshold that a model was given, and what other ones would have scored.
type Threshold struct {
	Value   float64   `json:"value"`
	Usual   float64   `json:"usual"`    // of the model by itself: ½ of probabilities, 0 of scores
	Score   string    `json:"score"`    // metric, or "cost"
	Best    float64   `json:"best"`     // score at Value, of rows that the model had not seen
	AtUsual float64   `json:"at_usual"` // score at Usual
	At      []float64 `json:"at"`
	Scores  []float64 `json:"scores"` // at these
}

// Errors are how far off predictions of a target are: errors are prediction − truth.
type Errors struct {
	Target    string     `json:"target"`
	Mean      float64    `json:"mean"`          // mean error, the bias
	Absolute  float64    `json:"mean_absolute"` // mean absolute error
	Quantiles []Quantile `json:"quantiles"`
	Worst     []Row      `json:"worst"`  // rows with the largest errors, these first
	Sample    []Row      `json:"sample"` // rows evenly spread over the data, at most 1,000
}

// Quantile is an absolute error that a share of the rows does not exceed.
type Quantile struct {
	Share float64 `json:"share"`
	Error float64 `json:"error"`
}

// Row is what was predicted for a row, by its number in the file.
type Row struct {
	Number    int     `json:"row"`
	Truth     float64 `json:"truth"`
	Predicted float64 `json:"predicted"`
}

// LearningCurve is how a model does that has learned from fewer rows.
type LearningCurve struct {
	Score  string    `json:"score"`
	Rows   []int     `json:"rows"`
	Train  []float64 `json:"train"` // on the rows that it has learned from
	Scores []float64 `json:"scores"`
}

// Relevance is how much each input of a step matters for the targets.
type Relevance struct {
	Step   string  `json:"step"`
	Inputs []Input `json:"inputs"` // those that matter most first
}

// Input is a column as it comes to a step, and how much it matters, from 0 to 1.
type Input struct {
	Name      string  `json:"name"`
	Relevance float64 `json:"relevance"`
}
