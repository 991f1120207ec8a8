package estimator

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/network"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
)

// fittedRFFNetwork is a fitted [RFFNetwork]: a regression or, if the target has classes, a
// classifier with probabilities.
type fittedRFFNetwork struct {
	m       *network.Model
	classes []string // nil of a regression
}

// Predict returns the first target, or the code of the class, of each row of X.
func (f *fittedRFFNetwork) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.PredictFull(ctx, X, Request{Outputs: OutputValues})
	return out.Values, err
}

// Outputs returns values and targets of a regression, values, scores and probabilities of a classifier, and all of
// these of a zero value.
func (f *fittedRFFNetwork) Outputs() Outputs {
	regression, classifier := OutputValues|OutputTargets, OutputValues|OutputScores|OutputProbabilities
	switch {
	case f.m == nil:
		return Outputs{Has: regression | classifier}
	case len(f.classes) == 0:
		return Outputs{Has: regression}
	}
	return Outputs{Has: classifier, Classes: slices.Clone(f.classes)}
}

// PredictFull returns every target, or class, scores and probabilities, of each row of X.
func (f *fittedRFFNetwork) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	scores, err := scoresOf(ctx, X, f.InputWidth(), len(f.m.Intercept),
		func(ctx context.Context, dst []float64, X mat.Matrix) error {
			return f.m.Scores(ctx, dst, design.ToFloat64(X))
		})
	if len(f.classes) == 0 {
		return predictTargets(scores, err)
	}
	return predictClasses(scores, err, want, probabilitiesOf)
}

// InputWidth returns the number of input columns.
func (f *fittedRFFNetwork) InputWidth() int { d, _ := f.m.Layers[0].W.Dims(); return d }

// Tags returns the number of input columns, their relevance and the coefficients of the last layer.
func (f *fittedRFFNetwork) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: f.InputWidth(), Relevance: f.Relevance(), Coef: f.Coef}
}

// Layers returns the number of layers.
func (f *fittedRFFNetwork) Layers() int { return len(f.m.Layers) }

// Frequencies returns a copy of the frequencies W of a layer, inputs × features, the first being layer 0.
func (f *fittedRFFNetwork) Frequencies(layer int) *mat.Dense {
	return mat.DenseCopyOf(f.m.Layers[layer].W)
}

// Phases returns a copy of the phases b of a layer.
func (f *fittedRFFNetwork) Phases(layer int) []float64 {
	return slices.Clone(f.m.Layers[layer].B)
}

// Coef returns a copy of the weights of the features of the last layer, outputs × features.
func (f *fittedRFFNetwork) Coef() *mat.Dense { return mat.DenseCopyOf(f.m.Head) }

// Intercept returns a copy of the intercepts, one for each output.
func (f *fittedRFFNetwork) Intercept() []float64 { return slices.Clone(f.m.Intercept) }

// Relevance returns the importance of each input relative to the largest: the change of the outputs
// per standard deviation of the input, as the root mean square of the gradient over up to 512
// training rows. Several targets have unit variance each, classes are measured by their scores. It
// is nil if all predictions are equal, and for models saved by versions without Relevance.
func (f *fittedRFFNetwork) Relevance() []float64 { return slices.Clone(f.m.Relevance) }

// Report returns the report of the training. Its Iterations are epochs, and its Objective is a mean
// over the training rows, with targets of variance 1.
func (f *fittedRFFNetwork) Report() Report {
	r := f.m.Report
	out := Report{Solver: "adam", Iterations: r.Epochs, Converged: r.Plateau, Objective: r.Objective}
	if !r.Plateau {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("rff_network: training ended after %d epochs before the loss did not fall any more; raise epochs",
				r.Epochs))
	}
	if r.Best == 0 {
		out.Warnings = append(out.Warnings, "rff_network: no epoch made the loss smaller: every row gets the same prediction")
	}
	return out
}

// String describes the model in a line.
func (f *fittedRFFNetwork) String() string {
	m := f.m
	_, D := m.Head.Dims()
	return fmt.Sprintf("%d layer(s) of %d trained features of %d inputs, %d outputs, best after %d of %d epochs",
		len(m.Layers), D, f.InputWidth(),
		len(m.Intercept), m.Report.Best, m.Report.Epochs)
}

// State serializes layers, head and, for a classifier, the class names.
func (f *fittedRFFNetwork) State(s *model.State) {
	m, classes := &network.Model{}, f.classes
	if f.m != nil {
		m = f.m
	}
	layers := len(m.Layers)
	s.Int("layers", &layers)
	s.Require(layers >= 1 && layers <= maxLayers, "the number of layers is out of its range")
	for l := 0; l < layers && s.Err() == nil; l++ {
		if s.Restoring() {
			m.Layers = append(m.Layers, network.Layer{})
		}
		part := s.Child(strconv.Itoa(l))
		part.Matrix("frequencies", &m.Layers[l].W)
		part.Floats("phases", &m.Layers[l].B)
	}
	s.Matrix("coef", &m.Head)
	s.Floats("intercept", &m.Intercept)
	if s.Has("relevance") { // files did not always
		relevance := append([]float64{}, m.Relevance...)
		if s.Floats("relevance", &relevance); s.Restoring() && len(relevance) > 0 {
			m.Relevance = relevance
		}
	}
	s.Strings("classes", &classes)
	s.Int("epochs", &m.Report.Epochs)
	s.Int("best", &m.Report.Best)
	s.Bool("plateau", &m.Report.Plateau)
	s.Float("objective", &m.Report.Objective)
	s.Float("validation_loss", &m.Report.HeldOut)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	err := checkNetwork(m, len(classes))
	if err == nil {
		err = m.Prepare()
	}
	if err != nil {
		s.Fail("%v", err)
		return
	}
	f.m, f.classes = m, classes
}

// checkNetwork returns an error if a deserialized network is invalid.
func checkNetwork(m *network.Model, classes int) error {
	width := 0
	for l, y := range m.Layers {
		if y.W == nil {
			return fmt.Errorf("layer %d has no frequencies", l)
		}
		d, D := y.W.Dims()
		switch {
		case l > 0 && d != width || len(y.B) != D:
			return fmt.Errorf("the frequencies and phases of layer %d do not fit", l)
		case !kern.AllFinite(design.DenseData(y.W)) || !kern.AllFinite(y.B):
			return fmt.Errorf("frequencies or phases of layer %d are not finite", l)
		}
		width = D
	}
	want := classes
	if classes == 2 {
		want = 1
	}
	switch {
	case m.Head == nil || m.Head.RawMatrix().Cols != width || m.Head.RawMatrix().Rows != len(m.Intercept):
		return fmt.Errorf("coefficients do not fit %d features and %d intercepts", width, len(m.Intercept))
	case classes == 1 || classes > 0 && len(m.Intercept) != want:
		return fmt.Errorf("%d classes do not fit %d outputs", classes, len(m.Intercept))
	case m.Relevance != nil && len(m.Relevance) != m.Layers[0].W.RawMatrix().Rows || !kern.AllFinite(m.Relevance):
		return fmt.Errorf("the relevance is not that of the inputs")
	case !kern.AllFinite(design.DenseData(m.Head)) || !kern.AllFinite(m.Intercept):
		return fmt.Errorf("coefficients are not finite")
	}
	return nil
}
