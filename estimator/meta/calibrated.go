package meta

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/calibration"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Calibrated fits a classifier to all rows and a map from its scores to probabilities to
// out-of-fold scores. For two classes, the methods are:
//
//	sigmoid      p = 1/(1 + exp(a·s + b)), maximum likelihood with Platt's smoothed targets
//	isotonic     p is a piecewise linear ascending function, least squares: for thousands of rows
//	temperature  p = softmax(β·s), minimal log loss: predictions do not change
//
// For more classes, sigmoid and isotonic fit one map per class against all others, and the
// probabilities are divided by their sum; temperature has one β. Row weights are used in all three.
//
// The scores come from Folds stratified folds, by group if the rows have groups. With Folds 0, they
// are exact leave-one-out scores if the classifier supports them, as ridge_classifier does, else
// scores from 5 folds. The cost is that of Folds + 1 fits.
//
// The score for two classes is the log odds of the second class (isotonic: p − ½); for more classes
// it is the probability. Equivalent: CalibratedClassifierCV with ensemble=False in scikit-learn.
// (Platt 1999; Zadrozny & Elkan, KDD 2002; Guo et al., ICML 2017.)
// Use [NewCalibrated]: the zero value is invalid.
type Calibrated struct {
	Method    string
	Folds     int
	Estimator estimator.Estimator
}

// NewCalibrated returns a Calibrated of inner with method sigmoid and Folds 0.
func NewCalibrated(inner estimator.Estimator) Calibrated {
	return Calibrated{Method: "sigmoid", Estimator: specs.ByValue(inner)}
}

// Params declares the method, the number of folds, and the parameters of the estimator.
func (s *Calibrated) Params(l *param.List) {
	l.Choice(&s.Method, "method", "calibration method", calibration.Methods...)
	declareFolds(l, &s.Folds, "number of folds for out-of-fold scores; 0: exact leave-one-out if supported, else 5")
	l.Child("estimator", &s.Estimator)
}

func (s Calibrated) named(err error) error { return wrapError("calibrated", err) }

func (s Calibrated) within() estimator.Estimator { return s.Estimator }

func (s Calibrated) folding(int) int { return s.Folds }

func (Calibrated) suits(*design.Labels) error { return nil }

// Cost returns the cost of one fit per fold, or of leave-one-out predictions, and of the final fit.
func (s Calibrated) Cost(shape datasets.Shape) datasets.Cost { return scoreBasedCost(s, shape) }

// FitBatch shares work of the inner estimators between candidates and folds, within each fold.
func (Calibrated) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return batchScoreBased[Calibrated](ctx, b)
}

// PlanBatch is the plan of the inner estimators.
func (Calibrated) PlanBatch(b batch.Job) (int64, error) { return planScoreBased[Calibrated](b) }

// Tags returns that the model is a classifier, and whether scores of related maps come from folds.
func (s Calibrated) Tags() datasets.Tags { return scoreBasedTags(s) }

// Fit calibrates the model on data.
func (s Calibrated) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	fitted, learned, classes, err := fitScoreBased(ctx, s, data)
	if err != nil {
		return nil, s.named(err)
	}
	return &fittedCalibrated{wrapper: wrapper{data.Cols(), fitted}, classes: classes,
		learned: learned.(calibratedScores).Map}, nil
}

// labelsOf returns class and weight of every row, or an error if they are invalid.
func labelsOf(ctx context.Context, data datasets.Set) (*design.Labels, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	for _, c := range data.Schema.Targets {
		if c.Kind != datasets.Categorical {
			return nil, fmt.Errorf("the target %s is a number, and probabilities are of classes", c.Name)
		}
	}
	own := datasets.Set{X: mat.NewDense(data.Rows(), 1, nil), Y: data.Y, Targets: data.Targets, Weights: data.Weights,
		Schema: datasets.Schema{Targets: data.Schema.Targets}}
	r, err := design.FromSet(own)
	if err != nil {
		return nil, err
	}
	l, err := r.ReadClasses(ctx, func([]string, []float64, int) ([]float64, error) { return nil, nil })
	return l, data.Locate(err, 0)
}

// fittedCalibrated is a fitted [Calibrated]: a classifier and the map from its scores to
// probabilities.
type fittedCalibrated struct {
	wrapper
	classes []string
	learned calibration.Map
}

// Refit fits the inner classifier to data and keeps the map.
func (f *fittedCalibrated) Refit(ctx context.Context, spec estimator.Estimator, data datasets.Set) (estimator.Predictor,
	error) {
	out := *f
	var err error
	out.wrapper, err = f.refit(ctx, spec, namedClasses(data, f.classes))
	return &out, Calibrated{}.named(err)
}

// Outputs returns values, scores and probabilities.
func (f *fittedCalibrated) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputScores | estimator.OutputProbabilities,
		Classes: slices.Clone(f.classes)}
}

// PredictFull returns class, scores and probabilities of each row of X. The score is the log odds of the second of two
// classes, or the probabilities of more.
func (f *fittedCalibrated) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction,
	error) {
	scores, err := estimator.Predict(ctx, f.inner, X, estimator.Request{Outputs: estimator.OutputScores})
	if err != nil {
		return scores, Calibrated{}.named(err)
	}
	out, err := calibratedScores{f.learned, len(f.classes)}.read(scores)
	return out, Calibrated{}.named(err)
}

// Predict returns the code of the most probable class of each row of X.
func (f *fittedCalibrated) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictFull(ctx, X, estimator.Request{})
	return all.Values, err
}

// State serializes the map and the model.
func (f *fittedCalibrated) State(s *model.State) {
	f.wrapper.state(s)
	s.Strings("classes", &f.classes)
	f.learned.State(s, len(f.classes))
	if s.Restoring() && s.Err() == nil {
		s.Require(len(classesOf(f.inner)) == len(f.classes), "the model within is of other classes")
	}
}
