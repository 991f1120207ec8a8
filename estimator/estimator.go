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

// Predictor is a fitted model.
type Predictor interface {
	// Predict returns a value for each row of X: the target, or the code of the class.
	Predict(ctx context.Context, X mat.Matrix) ([]float64, error)
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

// Reporter is a Predictor that can say how its fit went.
type Reporter interface {
	Report() Report
}

// TaskProvider is the spec of a model that is for one task whatever it holds, which documents are then held to. Of
// others it is known by what they are fitted to, or by the models that they wrap. What holds another estimator,
// as a pipeline does, says [datasets.AnyTask] where that one does not say.
type TaskProvider interface {
	Task() datasets.Task
}

// ErrDiverged is in the chain of the error of a fit whose objective ended above that of the trivial
// model, which has no weights and the best intercept, or was not a number: whatever came out of it
// is not to be ranked or used.
var ErrDiverged = solve.ErrDiverged
