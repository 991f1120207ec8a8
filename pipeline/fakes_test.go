package pipeline_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// mirror is a step that turns signs, counts its fits, and is as wide as it is told.
type mirror struct {
	Factor float64
	Fail   string        // what to fail with
	Fits   *atomic.Int64 // counts fits
	Rowed  bool          // whether it looks at rows
	Seen   *[]string     // names of the columns it was fitted to
}

func (m *mirror) Params(l *param.List) {
	l.Float(&m.Factor, "factor", "what to multiply by", param.Any)
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

func (m mirror) FitsWithoutRows() bool { return !m.Rowed }

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

// mean predicts the mean target, and nothing more: no classes, no report.
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

// people are rows with numeric columns, a categorical one, missing values, and two classes that
// depend on all of them.
func people(n int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 9))
	X, y := mat.NewDense(n, 4, nil), make([]float64, n)
	for i := range n {
		age, hours, colour, cap := rng.NormFloat64()*10+40, rng.Float64()*60, float64(rng.IntN(3)), rng.ExpFloat64()
		if age*hours/1500+colour/2+cap/3+rng.NormFloat64()/4 > 1.6 {
			y[i] = 1
		}
		X.SetRow(i, []float64{age, hours, colour, cap})
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "age"}, {Name: "hours"}, {Name: "colour", Kind: datasets.Categorical, Levels: []string{"blue", "green", "red"}}, {Name: "cap-gain"}},
		Targets: []datasets.Column{{Name: "rich", Kind: datasets.Categorical, Levels: []string{"no", "yes"}}},
	}}
}

// amounts are data whose target is a number too.
func amounts(data datasets.Set) datasets.Set {
	data.Schema.Targets = []datasets.Column{{Name: "rich"}}
	return data
}

// numbers are people whose colour and target are numbers too.
func numbers(n int, seed uint64) datasets.Set {
	data := amounts(people(n, seed))
	data.Schema.Columns = slices.Clone(data.Schema.Columns)
	data.Schema.Columns[2] = datasets.Column{Name: "colour"}
	return data
}

// encoder standardizes numeric columns and spreads the categorical one.
func encoder() pipeline.Columns {
	return pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize())},
		pipeline.Group{Select: []string{"colour"}, Steps: pipeline.Steps(transformer.NewOneHot())},
	)
}

func fourier(features int) transformer.RFF {
	s := transformer.NewRFF()
	s.Features, s.Gamma, s.Seed = features, transformer.FixedGamma(0.2), 5
	return s
}

// The kinds of models there can be, beside those of package estimator.
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

func (m multi) PredictTargets(_ context.Context, X mat.Matrix) (*mat.Dense, error) {
	return fullOf(X, 2, float64(m.constant)), nil
}
func (classifier) Classes() []string { return []string{"a", "b"} }
func (classifier) Decision(_ context.Context, X mat.Matrix) (*mat.Dense, error) {
	return fullOf(X, 1, -1), nil
}
func (probabilistic) Probabilities(_ context.Context, X mat.Matrix) (*mat.Dense, error) {
	return fullOf(X, 2, 0.5), nil
}

func (reporter) Report() estimator.Report         { return estimator.Report{Solver: "none", Converged: true} }
func (multiReporter) Report() estimator.Report    { return reporter{}.Report() }
func (decisive) Report() estimator.Report         { return reporter{}.Report() }
func (decisiveProbable) Report() estimator.Report { return reporter{}.Report() }

// ready is an estimator whose fit is given.
type ready struct{ fit estimator.Predictor }

func (r ready) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return r.fit, nil }
