package pipeline_test

import (
	"context"
	"errors"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/samples"
	"github.com/bochner-ml/bochner/transformer"
)

// mirror is a step that changes signs, counts its fits, and has a given width.
type mirror struct {
	Factor float64
	Fail   string        // message of the error
	Fits   *atomic.Int64 // counts fits
	Rowed  bool          // whether its fit depends on the rows
	Seen   *[]string     // names of the columns it was fitted to
}

func (m *mirror) Params(l *param.List) {
	l.Float(&m.Factor, "factor", "what to multiply by", param.Any())
}

func (m mirror) Fit(_ context.Context, data datasets.Set) (transformer.Transformer, error) {
	if m.Fits != nil {
		m.Fits.Add(1)
	}
	if m.Fail != "" {
		return nil, errors.New(m.Fail)
	}
	if m.Seen != nil {
		*m.Seen = nil
		for j := range data.Cols() {
			*m.Seen = append(*m.Seen, data.Schema.Name(j))
		}
	}
	factor := m.Factor
	if m.Rowed {
		factor *= float64(data.Rows())
	}
	return &fittedMirror{factor: factor, cols: data.Cols()}, nil
}

func (m mirror) Tags() datasets.Tags { return datasets.Tags{DataIndependent: !m.Rowed} }

type fittedMirror struct {
	factor float64
	cols   int
}

func (f *fittedMirror) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	n, d := X.Dims()
	if d != f.cols {
		return nil, errors.New("mirror: another width")
	}
	out := mat.NewDense(n, d, nil)
	out.Scale(f.factor, X)
	return out, nil
}

func (f *fittedMirror) State(s *model.State) {
	s.Float("factor", &f.factor)
	s.Int("cols", &f.cols)
}

// mean predicts the mean target, without classes and report.
type mean struct{}

func (mean) Fit(_ context.Context, data datasets.Set) (estimator.Predictor, error) {
	total := 0.0
	for _, y := range data.Y {
		total += y
	}
	return constant(total / float64(data.Rows())), nil
}

type constant float64

func (c constant) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(c)
	}
	return out, nil
}

// The rows and steps of the tests of pipelines and of model files.
var people, amounts, numbers, encoder, fourier = samples.People, samples.Amounts, samples.Numbers, samples.Encoder,
	samples.Fourier

// Models with other outputs than those of package estimator.
type (
	multi            struct{ constant }
	classifier       struct{ constant }
	probabilistic    struct{ classifier }
	reporter         struct{ constant }
	multiReporter    struct{ multi }
	decisive         struct{ classifier }
	decisiveProbable struct{ probabilistic }
)

func fullOf(X mat.Matrix, cols int, v float64) *mat.Dense {
	n, _ := X.Dims()
	out := mat.NewDense(n, cols, nil)
	for i := range n {
		for j := range cols {
			out.Set(i, j, v)
		}
	}
	return out
}

// has lists capabilities of a model.
type has struct{ classifies, probable, multi, reports bool }

// hasOf returns the capabilities of a model.
func hasOf(p estimator.Predictor) has {
	outputs := estimator.OutputsOf(p).Has
	return has{classifies: outputs.Has(estimator.OutputScores), probable: outputs.Has(estimator.OutputProbabilities),
		multi: outputs.Has(estimator.OutputTargets), reports: estimator.As(p, new(estimator.Reporter))}
}

func (multi) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputTargets}
}

func (m multi) PredictFull(_ context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction, error) {
	all := fullOf(X, 2, float64(m.constant))
	return estimator.Prediction{Values: mat.Col(nil, 0, all), Targets: all}, nil
}

func (classifier) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputScores, Classes: []string{"a", "b"}}
}

func (c classifier) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction, error) {
	values, err := c.Predict(ctx, X)
	return estimator.Prediction{Values: values, Scores: fullOf(X, 1, -1)}, err
}

func (p probabilistic) Outputs() estimator.Outputs {
	out := p.classifier.Outputs()
	out.Has |= estimator.OutputProbabilities
	return out
}

func (p probabilistic) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	out, err := p.classifier.PredictFull(ctx, X, want)
	out.Probabilities = fullOf(X, 2, 0.5)
	return out, err
}

func (reporter) Report() estimator.Report         { return estimator.Report{Solver: "none", Converged: true} }
func (multiReporter) Report() estimator.Report    { return reporter{}.Report() }
func (decisive) Report() estimator.Report         { return reporter{}.Report() }
func (decisiveProbable) Report() estimator.Report { return reporter{}.Report() }

// ready is an estimator whose fit is given.
type ready struct{ fit estimator.Predictor }

func (r ready) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return r.fit, nil }
