package estimator

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/sgd"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// SGDClassifier is a linear classifier by stochastic gradient descent: [SGDRegressor] on codes t =
// ±1, with a loss of the margin m = t·(w'x + b). It minimizes approximately
//
//	1/n·Σ s_i·loss(t_i(w'x_i + b)) + Alpha·((1−ρ)·½‖w‖² + ρ·‖w‖₁)
//
// where Loss is hinge, max(0, 1−m); squared_hinge, its square; log_loss, log(1+exp(−m));
// modified_huber, the squared hinge continued by its tangent below −1; or perceptron, max(0, −m).
// More than two classes are learned one-vs-rest, jointly in the products of each minibatch.
//
// With log_loss and modified_huber the fitted model has probabilities, (1+exp(−score))⁻¹ and
// (score+1)/2 clipped to [0, 1]; those of several classes are normalized. Everything else is as for
// [SGDRegressor]. Use [NewSGDClassifier]: the zero value is invalid.
type SGDClassifier struct {
	Loss               string
	Penalty            string
	Alpha              float64
	L1Ratio            float64
	Intercept          bool
	ClassWeight        ClassWeight
	LearningRate       string
	Eta0               float64
	PowerT             float64
	Average            bool
	AverageFrom        int
	Epochs             int
	Tol                float64
	NoChange           int // n_iter_no_change
	Batch              int
	Shuffle            bool
	EarlyStopping      bool
	ValidationFraction float64
	Seed               uint64
}

// NewSGDClassifier returns an SGDClassifier with hinge loss, l2 penalty with alpha 1e-4, batches of
// 32 rows, averaged weights, and at most 100 epochs.
func NewSGDClassifier() SGDClassifier {
	r := NewSGDRegressor()
	return SGDClassifier{Loss: "hinge", Penalty: r.Penalty, Alpha: r.Alpha, L1Ratio: r.L1Ratio, Intercept: r.Intercept,
		LearningRate: r.LearningRate, PowerT: 0.5,
		Average: r.Average, Epochs: r.Epochs, Tol: r.Tol, NoChange: r.NoChange, Batch: r.Batch, Shuffle: r.Shuffle,
		ValidationFraction: r.ValidationFraction}
}

// Params declares the hyperparameters.
func (s *SGDClassifier) Params(l *param.List) {
	l.Choice(&s.Loss, "loss", "loss of a margin m. hinge: max(0, 1−m); squared_hinge: its square; log_loss: "+
		"log(1+exp(−m)); modified_huber: squared hinge, linear below −1; perceptron: max(0, −m)",
		"hinge", "squared_hinge", "log_loss", "modified_huber", "perceptron")
	stepParams(l, &s.Penalty, &s.Alpha, &s.L1Ratio, &s.Intercept)
	l.Value(&s.ClassWeight, "class_weight", "weights of the classes; balanced: inverse to their frequency")
	rateParams(l, &s.LearningRate, &s.Eta0, &s.PowerT, &s.Average, &s.AverageFrom)
	epochParams(l, &s.Epochs, &s.Batch, &s.Tol, &s.Shuffle, &s.EarlyStopping, &s.ValidationFraction, &s.NoChange, &s.Seed)
	alphaOf(l, &s.LearningRate, &s.Alpha)
}

// steps is the spec as both have it.
func (s SGDClassifier) steps() sgdSpec {
	loss := sgd.Hinge()
	switch s.Loss {
	case "squared_hinge":
		loss = sgd.SquaredHinge()
	case "log_loss":
		loss = sgd.LogLoss()
	case "modified_huber":
		loss = sgd.ModifiedHuber()
	case "perceptron":
		loss = sgd.Perceptron()
	}
	return sgdSpec{name: "sgd_classifier", spec: s, loss: loss, everywhere: s.Loss == "log_loss", penalty: s.Penalty,
		alpha: s.Alpha, l1Ratio: s.L1Ratio, intercept: s.Intercept, by: s.ClassWeight,
		rate: s.LearningRate, eta0: s.Eta0, powerT: s.PowerT, average: s.Average, averageFrom: s.AverageFrom,
		epochs: s.Epochs, batch: s.Batch, tol: s.Tol,
		shuffle: s.Shuffle, stop: s.EarlyStopping, validation: s.ValidationFraction, patience: s.NoChange, seed: s.Seed}
}

// Fit fits the model to data in memory; the result is a *fittedSGDClassifier, or for log_loss
// and modified_huber a model with its methods and probabilities.
func (s SGDClassifier) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	d, err := s.steps().fitSet(ctx, data)
	if err != nil {
		return nil, err
	}
	return s.fitted(d), nil
}

// FitSource fits the model to a stream, with one pass per epoch, and one more before if
// class_weight is balanced or the schema lists no classes.
func (s SGDClassifier) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	d, err := s.steps().fitSource(ctx, data)
	if err != nil {
		return nil, err
	}
	return s.fitted(d), nil
}

// PartialFit makes one pass over new rows, starting from a model returned by Fit. They may contain
// classes that had no rows before.
func (s SGDClassifier) PartialFit(ctx context.Context, previous Predictor, data datasets.Source) (Predictor, error) {
	var f *fittedSGDClassifier
	var p *fittedSGDProbabilistic
	if As(previous, &p) {
		f = &p.fittedSGDClassifier
	} else if !As(previous, &f) {
		return nil, fmt.Errorf("estimator: sgd_classifier: cannot continue from a %T", previous)
	}
	d, err := s.steps().continued(ctx, &sgdModel{linear: f.linear, incrementalState: f.incrementalState}, f.classes, data)
	if err != nil {
		return nil, err
	}
	return s.fitted(d), nil
}

// fitted returns the model of a descent.
func (s SGDClassifier) fitted(d *sgdModel) Predictor {
	f := fittedSGDClassifier{FittedLinearClassifier{linear: d.linear, classes: d.classes}, d.incrementalState}
	if s.Loss == "log_loss" || s.Loss == "modified_huber" {
		return &fittedSGDProbabilistic{f, s.Loss}
	}
	return &f
}

// Cost estimates a fit to rows of a shape.
func (s SGDClassifier) Cost(shape datasets.Shape) datasets.Cost { return s.steps().cost(shape) }

// Requirements declares that all inputs must be numeric and have no missing values.
func (SGDClassifier) Requirements() []datasets.Requirement { return numericComplete }

// fittedSGDClassifier is a fitted linear classifier that can learn incrementally.
type fittedSGDClassifier struct {
	FittedLinearClassifier
	incrementalState
}

// fittedSGDProbabilistic is an SGD classifier with probabilities.
type fittedSGDProbabilistic struct {
	fittedSGDClassifier
	loss string
}

// Tags returns the number of input columns, the coefficients and the number of rows learned so far.
func (f *fittedSGDClassifier) Tags() datasets.Tags { return f.tags(f.linear.Tags()) }

// State serializes the model and its optimizer state.
func (f *fittedSGDClassifier) State(s *model.State) {
	f.FittedLinearClassifier.State(s)
	f.incrementalState.state(s, &f.linear)
	s.Require(len(f.mass) == len(f.classes), "the weights of the classes do not fit them")
}

// State serializes the model and its optimizer state.
func (f *fittedSGDProbabilistic) State(s *model.State) {
	f.fittedSGDClassifier.State(s)
	s.String("loss", &f.loss)
	s.Require(f.loss == "log_loss" || f.loss == "modified_huber", "the loss knows no probabilities")
}

// Outputs returns values, scores and probabilities.
func (f *fittedSGDProbabilistic) Outputs() Outputs {
	return Outputs{Has: OutputValues | OutputScores | OutputProbabilities, Classes: slices.Clone(f.classes)}
}

// PredictFull returns class, scores and probabilities of each row of X.
func (f *fittedSGDProbabilistic) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	scores, err := f.scores(ctx, X)
	return predictClasses(scores, err, want, f.probabilities)
}

// probabilities returns the class probabilities, rows × classes.
func (f *fittedSGDProbabilistic) probabilities(scores *mat.Dense) *mat.Dense {
	if scores.IsEmpty() {
		return scores
	}
	n, k := scores.Dims()
	if k == 1 {
		out := mat.NewDense(n, 2, nil)
		for i := range n {
			z := scores.At(i, 0)
			out.SetRow(i, []float64{f.probability(-z), f.probability(z)})
		}
		return out
	}
	out := mat.NewDense(n, k, nil)
	for i := range n {
		row := out.RawRowView(i)
		for j, z := range scores.RawRowView(i) {
			row[j] = f.probability(z)
		}
		if sum := kern.Sum(row); sum > 0 {
			kern.Scale(1/sum, row)
			continue
		}
		for j := range row {
			row[j] = 1 / float64(k)
		}
	}
	return out
}

// probability returns the probability of a class with score z.
func (f *fittedSGDProbabilistic) probability(z float64) float64 {
	if f.loss == "modified_huber" {
		return (min(max(z, -1), 1) + 1) / 2
	}
	small := math.Exp(-math.Abs(z))
	if z < 0 {
		return small / (1 + small)
	}
	return 1 / (1 + small)
}
