package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/network"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// RFFNetwork is a network of random Fourier features with trained frequencies: they start as a
// random draw for a kernel, as in transformer.RFF, and are trained together with a linear model on
// the features.
//
//	z = sqrt(2/D)·cos(Wᵀx + b),  W = diag(s)·U,  f(x) = Vᵀz + c
//
// is a network of one layer. Each further layer has the features of the previous one as inputs, and
// frequencies drawn for inputs of norm 1. Train selects what is trained in addition to V and c, in
// every layer: the frequencies U, the phases b, and in the first layer the scales s, one for each
// input, initialized by γ. All features share a scale, so irrelevant inputs vanish quickly. Without
// Train the features stay fixed.
//
// The target determines the task. Classes make a classifier with probabilities, with one score f
// for two classes and one per class for more; other targets make a regression with one or several
// outputs. With row weights r it minimizes
//
//	Σ r_i·l(y_i, f(x_i)) + Alpha·‖V‖²
//
// where l is the squared error of targets standardized to mean 0 and variance 1, log(1 + exp(−t·f))
// for t = ±1, or log Σ exp(f) − f_y. For classes Alpha is 1/(2C) of [Logistic]. V starts at 0.
// Training uses Adam in float32 on minibatches of Batch rows; Batch 0 means 64, and down to 8 for
// few rows. LearningRate is the initial step size, in units of the angles.
//
// Early stopping uses a validation set of ValidationFraction of the rows, drawn by the seed and
// stratified by class. If its loss has not decreased by 0.1 % for 8 epochs, training returns
// to the best weights and continues at a quarter of the learning rate; after the third time it
// ends. The result has the best weights. Ending after Epochs instead is reported as a warning. With
// ValidationFraction 0 the criterion is the objective on the training rows.
//
// Standardize the inputs. The result depends on the order of the rows, on the seed, and less on
// Gamma than with a fixed map. For few or noisy rows, and for targets that depend only on products
// of inputs, ridge or kernel_ridge after ard are better.
//
// Cost of an epoch: n·D·(4d + 6(L−1)·D) flops in float32, and n·L·D sines and cosines; 34·d·D bytes
// for the weights of a layer. All rows are stored in memory. Errors: a categorical column, a
// missing or infinite value, no rows, a list of γ of the wrong length, and divergence if
// LearningRate is too large. If the inputs are uninformative, all predictions are the mean, or the
// class frequencies, with a warning. The method Relevance of the fitted network returns the relevance of the
// inputs.
//
// Sources: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007; Kingma
// and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
// Use [NewRFFNetwork]: the zero value is invalid.
type RFFNetwork struct {
	Kernel             kernel.Name
	Gamma              kernel.Gamma
	Nu                 float64 // ν of the matern kernel
	Shape              float64 // a of the rational_quadratic kernel
	Layers             int
	Features           int      // D of each layer
	Train              []string // of scales, frequencies, phases
	Alpha              float64
	LearningRate       float64
	Epochs             int // at most
	Batch              int
	ValidationFraction float64
	ClassWeight        ClassWeight
	Seed               uint64
}

// trainable lists the values allowed in Train.
var trainable = []string{"scales", "frequencies", "phases"}

// lossPatience is the number of epochs without improvement after which the learning rate decreases.
const lossPatience = 8

// NewRFFNetwork returns the spec of one layer of 300 features of the gaussian kernel, γ by
// [kernel.GammaScale], in which all is trained.
func NewRFFNetwork() RFFNetwork {
	return RFFNetwork{Kernel: "gaussian", Gamma: kernel.GammaScale(), Nu: 1.5, Shape: 1, Layers: 1, Features: 300,
		Train: slices.Clone(trainable),
		Alpha: 1, LearningRate: 0.03, Epochs: 200, ValidationFraction: 0.1}
}

// Bounds far above practical values.
const (
	maxLayers   = 100
	maxFeatures = 1 << 20
)

// Params declares the hyperparameters.
func (s *RFFNetwork) Params(l *param.List) {
	l.Choice((*string)(&s.Kernel), "kernel", "kernel of the initial frequencies", spectral.FourierKernels...)
	l.Value(&s.Gamma, "gamma", "scale γ of the kernel; larger values make it narrower")
	l.Rougher("gamma")
	l.Float(&s.Nu, "nu", "smoothness ν of the matern kernel", param.Positive())
	l.Float(&s.Shape, "shape", "shape of the rational_quadratic kernel", param.Positive())
	l.Int(&s.Layers, "layers", "number of layers of features", param.Between(1, maxLayers))
	l.MoreUnits("layers")
	l.Int(&s.Features, "features", "number of features of each layer", param.Between(1, maxFeatures))
	l.MoreUnits("features")
	l.Names(&s.Train, "train", "parameters to train in addition to the output layer: any of scales, frequencies and "+
		"phases")
	l.Check("train", func() error {
		for i, name := range s.Train {
			if !slices.Contains(trainable, name) || slices.Contains(s.Train[:i], name) {
				return errors.New("a list of scales, frequencies and phases, each once at most")
			}
		}
		return nil
	})
	l.Float(&s.Alpha, "alpha", "penalty on the squared weights of the output layer", param.AtLeast(0))
	l.MorePenalty("alpha")
	l.Float(&s.LearningRate, "learning_rate", "initial learning rate", param.Positive())
	l.Int(&s.Epochs, "epochs", "maximum number of passes over the rows", param.AtLeast(1))
	l.Int(&s.Batch, "batch", "number of rows of a minibatch; 0 selects at most 64", param.AtLeast(0))
	l.Float(&s.ValidationFraction, "validation_fraction", "share of the rows for validation",
		param.Between(0, 0.9))
	l.Value(&s.ClassWeight, "class_weight", "weights of the classes; balanced: inverse to their frequency")
	l.Seed(&s.Seed, "seed", "seed of the draw, the rows held out and the minibatches")
}

// Fit fits the model to data in memory; the result has the methods
// Coef, Frequencies, Phases and Relevance.
func (s RFFNetwork) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	p, err := s.fit(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: rff_network: %w", err)
	}
	return p, nil
}

func (s RFFNetwork) fit(ctx context.Context, data datasets.Set) (*fittedRFFNetwork, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	r, err := design.FromSet(data)
	if err != nil {
		return nil, err
	}
	learn := s.numbers
	if slices.ContainsFunc(r.Schema.Targets, func(c datasets.Column) bool { return c.Kind == datasets.Categorical }) {
		learn = s.classes
	}
	t, err := learn(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := checkMemory(s, r.Shape(r.N, t.Outputs)); err != nil {
		return nil, err
	}
	if err := t.take(design.ToFloat64(design.Native(r.Set.X))); err != nil {
		return nil, err
	}
	if err := (datasets.Set{X: t.X}).CheckFinite(); err != nil {
		return nil, design.NonFiniteError(0, *r.Set)
	}
	plain, err := s.plain(ctx, t.X)
	if err != nil {
		return nil, err
	}
	m, err := plain.Fit(ctx, t.Data)
	if err != nil {
		return nil, err
	}
	return &fittedRFFNetwork{t.unscaled(m), t.names}, nil
}

// trainingData is the training data of a network.
type trainingData struct {
	network.Data
	names           []string  // of classes
	mean, deviation []float64 // of the original targets
}

// numbers reads numeric targets.
func (s RFFNetwork) numbers(_ context.Context, r *design.Rows) (*trainingData, error) {
	y, q, err := design.BlockTargets(0, *r.Set)
	if err != nil {
		return nil, err
	}
	weights, err := design.BlockWeights(0, *r.Set)
	if err != nil {
		return nil, err
	}
	if weights == nil {
		weights = slices.Repeat([]float64{1}, r.N)
	}
	return &trainingData{Data: network.Data{Y: slices.Clone(y), Outputs: q, Weights: weights, Loss: network.Squares}}, nil
}

// classes reads targets that are classes.
func (s RFFNetwork) classes(ctx context.Context, r *design.Rows) (*trainingData, error) {
	l, err := r.ReadClasses(ctx, s.ClassWeight.factors)
	if err != nil {
		return nil, err
	}
	q := l.Outputs()
	out := &trainingData{Data: network.Data{Y: make([]float64, r.N*q), Outputs: q, Weights: l.Weights,
		Loss: network.Softmax}, names: l.Classes}
	for i, y := range l.Y {
		out.Class = append(out.Class, int(y))
		if q > 1 {
			out.Y[i*q+int(y)] = 1
		}
	}
	if q == 1 {
		out.Loss = network.Logistic
		copy(out.Y, l.Y)
	}
	return out, nil
}

// take takes the rows of positive weight, and standardizes targets that are numbers.
func (t *trainingData) take(X mat.Matrix) error {
	var chosen []int
	for i, w := range t.Weights {
		if w > 0 {
			chosen = append(chosen, i)
		}
	}
	q := t.Outputs
	switch {
	case len(chosen) == 0:
		return errors.New("every weight is 0")
	case len(chosen) == len(t.Weights):
		t.X = X
	default:
		t.X = rowblock.Select(X, chosen)
		Y, weights, class := t.Y, t.Weights, t.Class
		t.Y, t.Weights, t.Class = nil, nil, nil
		for _, i := range chosen {
			t.Y, t.Weights = append(t.Y, Y[i*q:(i+1)*q]...), append(t.Weights, weights[i])
			if class != nil {
				t.Class = append(t.Class, class[i])
			}
		}
	}
	if t.Loss != network.Squares {
		return nil
	}
	for c := range q {
		mean, deviation := t.moments(c)
		if deviation-deviation != 0 {
			return errors.New("the targets are too large: divide them by something")
		}
		t.mean, t.deviation = append(t.mean, mean), append(t.deviation, deviation)
		for i := c; i < len(t.Y); i += q {
			if deviation == 0 {
				t.Y[i] = 0
				continue
			}
			t.Y[i] = (t.Y[i] - mean) / deviation
		}
	}
	return nil
}

// moments returns the weighted mean and standard deviation of target c; the latter is 0 if it is
// rounding error.
func (t *trainingData) moments(c int) (mean, deviation float64) {
	total, square, largest := 0.0, 0.0, 0.0
	for i, w := range t.Weights {
		y := t.Y[i*t.Outputs+c]
		total += w
		mean += (y - mean) * (w / total)
		largest = max(largest, math.Abs(y))
	}
	for i, w := range t.Weights {
		e := t.Y[i*t.Outputs+c] - mean
		square += w / total * e * e
	}
	if deviation = math.Sqrt(square); deviation <= 1e-14*largest {
		deviation = 0
	}
	return mean, deviation
}

// unscaled converts a model of standardized targets to one of the original targets.
func (t *trainingData) unscaled(m *network.Model) *network.Model {
	for c, mean := range t.mean {
		row := m.Head.RawRowView(c)
		for k := range row {
			row[k] *= t.deviation[c]
		}
		m.Intercept[c] = m.Intercept[c]*t.deviation[c] + mean
	}
	return m
}

// plain is the spec as estimator/internal/network takes it, for the rows of X.
func (s RFFNetwork) plain(ctx context.Context, X mat.Matrix) (network.Spec, error) {
	out := s.sized()
	out.Kernel, _ = spectral.FourierKernel(string(s.Kernel), spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	gamma, err := out.Kernel.ResolveGammaOf(ctx, s.Gamma, X, s.Seed)
	out.Scales = out.Kernel.Factors(gamma)
	return out, err
}

// sized returns the part of the spec that is independent of the rows.
func (s RFFNetwork) sized() network.Spec {
	return network.Spec{Layers: s.Layers, Features: s.Features, TrainScales: slices.Contains(s.Train, "scales"),
		TrainFrequencies: slices.Contains(s.Train, "frequencies"), TrainPhases: slices.Contains(s.Train, "phases"),
		Alpha: s.Alpha, Rate: s.LearningRate, Epochs: s.Epochs, Batch: s.Batch, HeldOut: s.ValidationFraction,
		Patience: lossPatience, Seed: s.Seed}
}

// Cost estimates a fit to rows of a shape.
func (s RFFNetwork) Cost(shape datasets.Shape) datasets.Cost { return s.sized().Cost(shape) }
