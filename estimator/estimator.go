// Package estimator learns to predict targets from rows of inputs.
//
// A spec, such as [Ridge], is a plain struct value that implements [Estimator]; fitting it to data
// returns a [Predictor], which is immutable and safe for concurrent use. Fitting never changes the
// spec, and assigning a spec to another variable clones it.
//
// The specs, by their names in an experiment file, and what fitting them returns:
//
//	ridge                    [Ridge]                  *[FittedLinear]                  one or several targets
//	svr                      [SVR]                    *[FittedLinear]
//	ridge_classifier         [RidgeClassifier]        *[FittedLinearClassifier]
//	svm                      [SVM]                    *[FittedLinearClassifier]
//	logistic                 [Logistic]               *[FittedLogistic]                with probabilities
//	kernel_ridge             [KernelRidge]            *[FittedKernelRidge]             one or several targets
//	kernel_ridge_classifier  [KernelRidgeClassifier]  *[FittedKernelRidgeClassifier]
//	sgd_classifier           [SGDClassifier]          *[FittedSGDClassifier]          learns on; *[FittedSGDProbabilistic] of two losses
//	sgd_regressor            [SGDRegressor]           *[FittedSGDRegressor]           learns on
//	rff_network              [RFFNetwork]             *[FittedRFFNetwork]              several targets, or classes with probabilities
//	gaussian_process         [GaussianProcess]        *[FittedGaussianProcess]         with deviations; one or several targets
//
// Those that are made of other estimators stand in package meta, those that learn without targets in packages
// cluster and anomaly.
//
// The objectives are those of scikit-learn where it has the model, so that coefficients can be
// compared; an intercept is never penalised. Inputs are dense or sparse rows; sparse rows are never
// made dense. What can be learned block by block is learned from a stream as from memory
// ([BlockEstimator]). The class of a row is a code, the number of a category of the schema's target; a
// set whose schema names no classes has the classes "0" to the largest code.
//
// What they are fitted to says what it predicts as a graph of a few operations, for other programs: [Export].
//
// Package estimatortest holds any estimator to the laws that these obey.
package estimator

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/model"
)

// Estimator is the spec of a model.
type Estimator interface {
	// Fit learns from data and leaves data as it is.
	Fit(ctx context.Context, data datasets.Set) (Predictor, error)
}

// BlockEstimator is an Estimator that never needs all rows at once.
type BlockEstimator interface {
	FitSource(ctx context.Context, data datasets.Source) (Predictor, error)
}

// Rounding is a BlockEstimator that learns of a [datasets.Rounded] source mostly by its rows in single precision, and is
// no less right for it. A pipeline then caches these and makes the rows themselves again where they are read.
type Rounding interface {
	BlockEstimator
	// LearnsRounded reports whether that holds of rows of a shape.
	LearnsRounded(shape datasets.Shape) bool
}

// Predictor is a fitted model.
type Predictor interface {
	// Predict returns a value for each row of X: the target, or the code of the class.
	Predict(ctx context.Context, X mat.Matrix) ([]float64, error)
}

// MultiPredictor is a Predictor of several targets, rows × targets; its Predict returns the first.
type MultiPredictor interface {
	Predictor
	PredictTargets(ctx context.Context, X mat.Matrix) (*mat.Dense, error)
}

// Classifier is a Predictor that also scores the classes.
type Classifier interface {
	Predictor
	// Classes returns the names of the classes in the order of their codes.
	Classes() []string
	// Decision returns rows × classes, the largest being the prediction; when there are two
	// classes one column, positive for the second class.
	Decision(ctx context.Context, X mat.Matrix) (*mat.Dense, error)
}

// Probabilistic is a Classifier that knows the probability of each class, rows × classes.
type Probabilistic interface {
	Probabilities(ctx context.Context, X mat.Matrix) (*mat.Dense, error)
}

// Prediction is all that a Predictor says about rows; what the model has not is nil.
type Prediction struct {
	Values        []float64  // rows: targets or class codes
	Targets       *mat.Dense // rows × targets, where there are several
	Scores        *mat.Dense // rows × classes, one column when there are two classes
	Probabilities *mat.Dense // rows × classes
	Std           []float64  // rows: standard deviation of a new observation
	Lower, Upper  []float64  // rows: ends of an interval that a new observation is to lie in
	// The same where there are several targets, rows × targets.
	StdTargets, LowerTargets, UpperTargets *mat.Dense

	Sets    *mat.Dense // rows × classes: 1 for each class of a set that a new class is to be in, else 0
	Anomaly []float64  // rows: how unlike the others they are, as an [AnomalyScorer] says it
}

// Append returns the predictions with those of more rows behind them, into room for so many rows in all. The arrays of
// p may be used again.
func (p Prediction) Append(more Prediction, room int) Prediction {
	for _, list := range []struct{ to, from *[]float64 }{{&p.Values, &more.Values}, {&p.Std, &more.Std}, {&p.Lower, &more.Lower}, {&p.Upper, &more.Upper}, {&p.Anomaly, &more.Anomaly}} {
		if *list.to == nil && *list.from != nil {
			*list.to = make([]float64, 0, room)
		}
		*list.to = append(*list.to, *list.from...)
	}
	for _, m := range []struct{ to, from **mat.Dense }{
		{&p.Targets, &more.Targets}, {&p.Scores, &more.Scores}, {&p.Probabilities, &more.Probabilities}, {&p.Sets, &more.Sets},
		{&p.StdTargets, &more.StdTargets}, {&p.LowerTargets, &more.LowerTargets}, {&p.UpperTargets, &more.UpperTargets},
	} {
		if *m.from == nil {
			continue
		}
		rows, cols := (*m.from).Dims()
		data := make([]float64, 0, max(room, rows)*cols)
		if *m.to != nil {
			data = (*m.to).RawMatrix().Data
		}
		for i := range rows {
			data = append(data, (*m.from).RawRowView(i)...)
		}
		*m.to = mat.NewDense(len(data)/cols, cols, data)
	}
	return p
}

// Report says how a fit went.
type Report struct {
	Solver     string  // the way it took: "cholesky", "newton-cg"
	Iterations int     // 0 for a direct way
	Converged  bool    // whether the tolerance was reached; true for a direct way
	Gradient   float64 // norm of the gradient at the end relative to the start
	Gap        float64 // duality gap relative to the objective, where the way computes it
	Objective  float64 // value of the objective at the end
	Warnings   []string
}

// State carries the report to a file and back.
func (r *Report) State(s *model.State) { reportState(s, r) }

// StdPredictor is a Predictor that knows how far a new observation may be from what it predicts.
type StdPredictor interface {
	// PredictStd returns the mean of a new observation at each row of X and its standard deviation.
	PredictStd(ctx context.Context, X mat.Matrix) (mean, std []float64, err error)
}

// IntervalPredictor is a Predictor that knows an interval in which a new observation lies with the probability
// level, 0.9 say.
type IntervalPredictor interface {
	// PredictInterval returns the ends of the interval at each row of X, of the first target where there are several.
	PredictInterval(ctx context.Context, X mat.Matrix, level float64) (lower, upper []float64, err error)
}

// SetPredictor is a Classifier that knows a set of classes which has the class of a new row in it with the
// probability level.
type SetPredictor interface {
	// PredictSet returns rows × classes, 1 for each class in the set and 0 for the others.
	PredictSet(ctx context.Context, X mat.Matrix, level float64) (*mat.Dense, error)
}

// DefaultLevel is the level of the intervals in a [Prediction] of a model that has none of its own.
const DefaultLevel = 0.9

// AnomalyScorer is a Predictor that tells rows that are unlike those it was fitted to; its Predict returns 1
// for such a row and 0 for a usual one.
type AnomalyScorer interface {
	Predictor
	// AnomalyScores returns a number for each row of X, the greater, the more unlike the row is; 0 is the
	// border of what Predict returns.
	AnomalyScores(ctx context.Context, X mat.Matrix) ([]float64, error)
}

// MultiStdPredictor is a MultiPredictor that knows how far a new observation of each target may be from what it
// predicts, rows × targets.
type MultiStdPredictor interface {
	PredictTargetsStd(ctx context.Context, X mat.Matrix) (mean, std *mat.Dense, err error)
}

// RelevancePredictor is a Predictor that may have learned how much each of its inputs matters for the targets.
type RelevancePredictor interface {
	// Relevance returns a number for each input, the greatest 1, or nil where it was not learned.
	Relevance() []float64
}

// RowKeeper is a Predictor that keeps training rows.
type RowKeeper interface {
	// Rows returns their number.
	Rows() int
}

// Reporter is a Predictor that can say how its fit went.
type Reporter interface {
	Report() Report
}

// WholePredictor is a Predictor that says all it can in one look at the rows, as a [Wrapper] that changes
// the rows must.
type WholePredictor interface {
	PredictAll(ctx context.Context, X mat.Matrix) (Prediction, error)
}

// Tasked is the spec of a model that is for one task whatever it holds, which documents are then held to. Of
// others it is known by what they are fitted to, or by the models that they wrap. What holds another estimator,
// as a pipeline does, says [datasets.AnyTask] where that one does not say.
type Tasked interface {
	Task() datasets.Task
}

// ErrDiverged is in the chain of the error of a fit whose objective ended above that of the trivial
// model, which has no weights and the best intercept, or was not a number: whatever came out of it
// is not to be ranked or used.
var ErrDiverged = solve.ErrDiverged
