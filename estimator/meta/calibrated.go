package meta

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/calibration"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Calibrated gives any classifier probabilities: it is fitted to all rows, and a map from its scores to
// probabilities is learned from scores of rows that models had not seen. Which of two classes:
//
//	sigmoid      p = 1/(1 + exp(a·s + b)), of the largest likelihood of Platt's smoothed targets
//	isotonic     p = rising steps with straight lines between, of least squares: for thousands of rows
//	temperature  p = softmax(β·s), of the least log loss: it changes no prediction
//
// Of more classes sigmoid and isotonic learn a map for each class against all others, and probabilities are
// divided by their sum; temperature has one β for all. Weights of rows count in all three, class weights are
// the model's own affair.
//
// The scores come from Folds folds with the shares of the classes in each, by group where the rows have
// groups. With Folds 0 they are leave-one-out scores, exact and without fitting again, of a model that has these,
// as ridge_classifier has, and of one that has none from 5 folds. It costs Folds + 1 fits, which share what
// candidates and folds share in a search; a search around it shares that within each of its own folds.
//
// The score of two classes is a log odds of the second (isotonic: p − ½), that of more their probabilities. It
// is scikit-learn's CalibratedClassifierCV with ensemble=False. (Platt 1999; Zadrozny & Elkan, KDD 2002; Guo
// et al., ICML 2017.)
type Calibrated struct {
	Method    string
	Folds     int
	Estimator estimator.Estimator
}

// NewCalibrated returns the spec that calibrates of by a sigmoid.
func NewCalibrated(inner estimator.Estimator) Calibrated {
	return Calibrated{Method: "sigmoid", Estimator: specs.ByValue(inner)}
}

// Params declares the method, the number of folds, and the parameters of the model, below of.
func (s *Calibrated) Params(l *param.List) {
	l.Choice(&s.Method, "method", "map from scores to probabilities", calibration.Methods...)
	declareFolds(l, &s.Folds, "folds that scores are from; 0: one row left out where that is exact, else 5")
	l.Child("estimator", &s.Estimator)
}

func (s Calibrated) named(err error) error { return named("calibrated", err) }

func (s Calibrated) within() estimator.Estimator { return s.Estimator }

func (s Calibrated) folding(int) int { return s.Folds }

func (Calibrated) suits(*design.Labels) error { return nil }

// Cost is that of the model for each fold, or for what leaves one out, and once more.
func (s Calibrated) Cost(shape datasets.Shape) datasets.Cost { return loneCost(s, shape) }

// FitBatch shares, within each fold, what the models within share between candidates and folds.
func (Calibrated) FitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	return batchScored[Calibrated](ctx, b)
}

// PlanBatch takes a batch on related maps where scores come from folds.
func (Calibrated) PlanBatch(b share.Batch) (int64, error) { return planScored[Calibrated](b) }

// Task returns datasets.Classification.
func (Calibrated) Task() datasets.Task { return datasets.Classification }

// Fit calibrates the model on data; the result is a [*FittedCalibrated].
func (s Calibrated) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	fitted, learned, classes, err := fitScored(ctx, s, data)
	if err != nil {
		return nil, s.named(err)
	}
	return &FittedCalibrated{wrapped: wrapped{data.Cols(), fitted}, classes: classes, learned: learned.(calibratedScores).Map}, nil
}

// labelsOf returns class and weight of every row, or what is wrong with them.
func labelsOf(ctx context.Context, data datasets.Set) (*design.Labels, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	for _, c := range data.Schema.Targets {
		if c.Kind != datasets.Categorical {
			return nil, fmt.Errorf("the target %s is a number, and probabilities are of classes", c.Name)
		}
	}
	own := datasets.Set{X: mat.NewDense(data.Rows(), 1, nil), Y: data.Y, Targets: data.Targets, Weights: data.Weights, Schema: datasets.Schema{Targets: data.Schema.Targets}}
	r, err := design.FromSet(own)
	if err != nil {
		return nil, err
	}
	l, err := r.ReadClasses(ctx, func([]string, []float64, int) ([]float64, error) { return nil, nil })
	return l, data.Locate(err, 0)
}

// FittedCalibrated is what [Calibrated] is fitted to: a classifier and the map from its scores to
// probabilities.
type FittedCalibrated struct {
	wrapped
	classes []string
	learned calibration.Map
}

// Outputs returns values, scores and probabilities.
func (f *FittedCalibrated) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.Values | estimator.Scores | estimator.Probabilities, Classes: slices.Clone(f.classes)}
}

// PredictFull returns class, scores and probabilities of each row of X. The score is the log odds of the second of two
// classes, or the probabilities of more.
func (f *FittedCalibrated) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction, error) {
	scores, err := estimator.Predict(ctx, f.within, X, estimator.Request{Outputs: estimator.Scores})
	if err != nil {
		return scores, Calibrated{}.named(err)
	}
	out, err := calibratedScores{f.learned, len(f.classes)}.read(scores)
	return out, Calibrated{}.named(err)
}

// Predict returns the code of the most probable class of each row of X.
func (f *FittedCalibrated) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictFull(ctx, X, estimator.Request{})
	return all.Values, err
}

// State keeps the map and the model.
func (f *FittedCalibrated) State(s *model.State) {
	f.wrapped.state(s)
	s.Strings("classes", &f.classes)
	f.learned.State(s, len(f.classes))
	if s.Reading() && s.Err() == nil {
		s.Require(len(classesOf(f.within)) == len(f.classes), "the model within is of other classes")
	}
}
