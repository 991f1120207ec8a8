package estimator

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/network"
	"github.com/bochner-ml/bochner/model"
)

// FittedRFFNetwork is trained random Fourier features and a linear model of them: what [RFFNetwork] returns. [As]
// finds that it is a [Classifier] and [Probabilistic], or a [MultiPredictor], whichever its target made it.
type FittedRFFNetwork struct{ within networkPredictor }

// networkPredictor is a network as a regression or as a classifier.
type networkPredictor interface {
	Predictor
	network() *network.Model
}

var (
	_ Wrapper            = (*FittedRFFNetwork)(nil)
	_ Reporter           = (*FittedRFFNetwork)(nil)
	_ RelevancePredictor = (*FittedRFFNetwork)(nil)
	_ model.Stateful     = (*FittedRFFNetwork)(nil)
)

// newFittedRFFNetwork returns a classifier where there are classes, else a regression.
func newFittedRFFNetwork(m *network.Model, classes []string) *FittedRFFNetwork {
	if len(classes) > 0 {
		return &FittedRFFNetwork{networkClassifier{networkModel{m}, classes}}
	}
	return &FittedRFFNetwork{networkRegression{networkModel{m}}}
}

// Unwrap returns the regression or the classifier, which takes the same rows.
func (f *FittedRFFNetwork) Unwrap() (within Predictor, sameRows bool) { return f.within, true }

// Predict returns the first target, or the code of the class, of each row of X.
func (f *FittedRFFNetwork) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	return f.within.Predict(ctx, X)
}

// InputWidth returns the number of columns that go in.
func (f *FittedRFFNetwork) InputWidth() int { return networkModel{f.within.network()}.width() }

// Layers returns the number of layers.
func (f *FittedRFFNetwork) Layers() int { return len(f.within.network().Layers) }

// Frequencies returns a copy of the frequencies W of a layer, inputs × features, the first being layer 0.
func (f *FittedRFFNetwork) Frequencies(layer int) *mat.Dense {
	return mat.DenseCopyOf(f.within.network().Layers[layer].W)
}

// Phases returns a copy of the phases b of a layer.
func (f *FittedRFFNetwork) Phases(layer int) []float64 {
	return slices.Clone(f.within.network().Layers[layer].B)
}

// Coef returns a copy of the weights of the features of the last layer, outputs × features.
func (f *FittedRFFNetwork) Coef() *mat.Dense { return mat.DenseCopyOf(f.within.network().Head) }

// Intercept returns a copy of the intercepts, one for each output.
func (f *FittedRFFNetwork) Intercept() []float64 { return slices.Clone(f.within.network().Intercept) }

// Relevance returns how much each input matters: by how much the outputs change where it changes by its standard
// deviation, the root of the mean square of the gradient over up to 512 training rows, as a part of the greatest.
// Several targets count as having variance 1 each, classes by their scores. It is nil where every row gets the same
// prediction, and of a model whose file is from before there was a relevance.
func (f *FittedRFFNetwork) Relevance() []float64 { return slices.Clone(f.within.network().Relevance) }

// Report says how training went. Its Iterations are epochs, and its Objective is a mean over the rows that it learned
// from, with targets of variance 1.
func (f *FittedRFFNetwork) Report() Report {
	r := f.within.network().Report
	out := Report{Solver: "adam", Iterations: r.Epochs, Converged: r.Plateau, Objective: r.Objective}
	if !r.Plateau {
		out.Warnings = append(out.Warnings, fmt.Sprintf("rff_network: training ended after %d epochs before the loss did not fall any more; raise epochs", r.Epochs))
	}
	if r.Best == 0 {
		out.Warnings = append(out.Warnings, "rff_network: no epoch made the loss smaller: every row gets the same prediction")
	}
	return out
}

// String describes the model in a line.
func (f *FittedRFFNetwork) String() string {
	m := f.within.network()
	_, D := m.Head.Dims()
	return fmt.Sprintf("%d layer(s) of %d trained features of %d inputs, %d outputs, best after %d of %d epochs", len(m.Layers), D, f.InputWidth(),
		len(m.Intercept), m.Report.Best, m.Report.Epochs)
}

// networkRegression is a network of numbers.
type networkRegression struct{ networkModel }

var _ MultiPredictor = networkRegression{}

func (f networkRegression) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	return firstColumn(all), nil
}

func (f networkRegression) PredictTargets(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	return f.scores(ctx, X)
}

// networkClassifier is a network of the scores of classes.
type networkClassifier struct {
	networkModel
	classes []string
}

var (
	_ Classifier    = networkClassifier{}
	_ Probabilistic = networkClassifier{}
)

func (f networkClassifier) Classes() []string { return slices.Clone(f.classes) }

func (f networkClassifier) Decision(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	return f.scores(ctx, X)
}

func (f networkClassifier) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	scores, err := f.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	return codesOf(scores), nil
}

func (f networkClassifier) Probabilities(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	scores, err := f.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	return probabilitiesOf(scores), nil
}

// networkModel is what both share.
type networkModel struct{ m *network.Model }

func (f networkModel) network() *network.Model { return f.m }

func (f networkModel) width() int { d, _ := f.m.Layers[0].W.Dims(); return d }

// scores returns the outputs of each row of X.
func (f networkModel) scores(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	return scoresOf(ctx, X, f.width(), len(f.m.Intercept), func(ctx context.Context, dst []float64, X mat.Matrix) error {
		return f.m.Scores(ctx, dst, design.Widened(X))
	})
}

// State keeps layers, head, and the names of classes where there are some.
func (f *FittedRFFNetwork) State(s *model.State) {
	m, classes := &network.Model{}, []string(nil)
	if f.within != nil {
		m = f.within.network()
		if c, ok := f.within.(networkClassifier); ok {
			classes = c.classes
		}
	}
	layers := len(m.Layers)
	s.Int("layers", &layers)
	s.Require(layers >= 1 && layers <= mostLayers, "the number of layers is out of its range")
	for l := 0; l < layers && s.Err() == nil; l++ {
		if s.Reading() {
			m.Layers = append(m.Layers, network.Layer{})
		}
		part := s.Child(strconv.Itoa(l))
		part.Matrix("frequencies", &m.Layers[l].W)
		part.Floats("phases", &m.Layers[l].B)
	}
	s.Matrix("coef", &m.Head)
	s.Floats("intercept", &m.Intercept)
	if s.Holds("relevance") { // files did not always
		relevance := append([]float64{}, m.Relevance...)
		if s.Floats("relevance", &relevance); s.Reading() && len(relevance) > 0 {
			m.Relevance = relevance
		}
	}
	s.Strings("classes", &classes)
	s.Int("epochs", &m.Report.Epochs)
	s.Int("best", &m.Report.Best)
	s.Bool("plateau", &m.Report.Plateau)
	s.Float("objective", &m.Report.Objective)
	s.Float("validation_loss", &m.Report.HeldOut)
	if !s.Reading() || s.Err() != nil {
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
	f.within = newFittedRFFNetwork(m, classes).within
}

// checkNetwork says what is wrong with a network that was read.
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
		case !kern.Finite(design.DenseData(y.W)) || !kern.Finite(y.B):
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
	case m.Relevance != nil && len(m.Relevance) != m.Layers[0].W.RawMatrix().Rows || !kern.Finite(m.Relevance):
		return fmt.Errorf("the relevance is not that of the inputs")
	case !kern.Finite(design.DenseData(m.Head)) || !kern.Finite(m.Intercept):
		return fmt.Errorf("coefficients are not finite")
	}
	return nil
}
