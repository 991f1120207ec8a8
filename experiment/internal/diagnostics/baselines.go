package diagnostics

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Always is the first word of the name of a baseline that predicts one class, which follows.
const Always = "always "

// LinearRows is the maximum number of evenly spaced training rows for the linear model.
const LinearRows = 20_000

// linearTol is the tolerance of linear classifiers; scores do not depend on smaller errors.
const linearTol = 1e-2

// maxInputs is the maximum number of dense inputs of the linear model.
const maxInputs = 5000

// Baseline is a named baseline model.
type Baseline struct {
	Name  string
	Model estimator.Predictor
}

// Baselines fits baselines to training rows: the most frequent class, the labels that most rows have
// or the mean, and a linear model. The linear model standardizes numeric inputs, imputes means and
// encodes categories one-hot. Baselines that cannot be fitted are omitted; the only error is that of ctx.
//
// If the model decides by a threshold, so does the linear model. With costs of mistakes, each of two
// classes is a baseline; of more, the class that costs least is one in addition to the most frequent.
func Baselines(ctx context.Context, train datasets.Set, task datasets.Task, decides *meta.Threshold) ([]Baseline,
	error) {
	if task.Unsupervised() || train.Rows() == 0 {
		return nil, nil
	}
	name := "mean"
	switch task {
	case datasets.Classification:
		name = "most frequent class"
	case datasets.MultiLabel:
		name = "most frequent labels"
	}
	constant := newConstant(train, task)
	out := []Baseline{{name, constant}}
	if decides != nil && task == datasets.Classification {
		classes := train.Schema.Classes()
		if costs := decides.Tags().Costs; costs != nil {
			out = constant.byCost(out, costs(classes), classes)
		}
	}
	if _, isSparse := train.X.(*matrices.CSR); !isSparse && train.Cols() > maxInputs {
		return out, nil
	}
	linear := Linear(train.Shape(), task)
	if decides != nil {
		own := *decides
		own.Estimator = linear.Estimator
		linear.Estimator = own
	}
	if model, err := linear.Fit(ctx, train); err == nil {
		out = append(out, Baseline{"linear model", model})
	}
	return out, ctxerr.Check(ctx)
}

// Linear returns the pipeline of the linear model for rows of the given shape.
func Linear(shape datasets.Shape, task datasets.Task) pipeline.Pipeline {
	var last estimator.Estimator = estimator.NewRidge()
	if task == datasets.Classification || task == datasets.MultiLabel {
		logistic := estimator.NewLogistic()
		logistic.Tol = linearTol
		last = logistic
	}
	if shape.NonZeros > 0 {
		return pipeline.Steps().Then(last)
	}
	if len(shape.Columns) == 0 {
		return pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize()).Then(last)
	}
	numbers, categories := pipeline.Group{Select: []string{"numeric"}}, pipeline.Group{Select: []string{"categorical"}}
	numbers.Steps = pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize())
	categories.Steps = pipeline.Steps(transformer.NewOneHot())
	documents := pipeline.Group{Select: []string{"text"}, Steps: pipeline.Steps(transformer.NewTFIDF())}
	var groups []pipeline.Group
	for _, g := range []struct {
		kind  datasets.Kind
		group pipeline.Group
	}{{datasets.Numeric, numbers}, {datasets.Categorical, categories}, {datasets.Text, documents}} {
		for _, c := range shape.Columns {
			if c.Kind == g.kind {
				groups = append(groups, g.group)
				break
			}
		}
	}
	return pipeline.Steps(pipeline.NewColumns(groups...)).Then(last)
}

// constant predicts the same value for every row.
type constant struct {
	value   float64
	targets []float64 // means of several targets
	shares  []float64 // frequencies of classes or labels
}

// newConstant returns a model of the mean target, or of the most frequent class and the class
// frequencies.
func newConstant(train datasets.Set, task datasets.Task) constant {
	weight := func(i int) float64 {
		if train.Weights == nil {
			return 1
		}
		return train.Weights[i]
	}
	total := 0.0
	for i := range train.Rows() {
		total += weight(i)
	}
	var c constant
	switch {
	case task == datasets.Classification:
		c.shares = make([]float64, max(2, len(train.Schema.Classes())))
		for i, y := range train.Y {
			c.shares[int(y)] += weight(i) / total
		}
		for k, s := range c.shares {
			if s > c.shares[int(c.value)] {
				c.value = float64(k)
			}
		}
	case train.Targets != nil:
		_, t := train.Targets.Dims()
		c.targets = make([]float64, t)
		for k := range t {
			for i := range train.Rows() {
				c.targets[k] += weight(i) / total * train.Targets.At(i, k)
			}
		}
		if task == datasets.MultiLabel {
			c.shares = slices.Clone(c.targets)
			for k, share := range c.shares {
				c.targets[k] = math.Round(share)
			}
		}
	default:
		for i, y := range train.Y {
			c.value += weight(i) / total * y
		}
	}
	return c
}

// byCost adds the baselines that costs suggest: of two classes both, in place of the most frequent one.
func (c constant) byCost(list []Baseline, costs *mat.Dense, classes []string) []Baseline {
	always := func(class int) Baseline {
		one := c
		one.value = float64(class)
		return Baseline{Always + classes[class], one}
	}
	if len(classes) == 2 {
		return []Baseline{always(0), always(1)}
	}
	var expected mat.VecDense
	expected.MulVec(costs.T(), mat.NewVecDense(len(c.shares), c.shares))
	least := 0
	for k := range classes {
		if expected.AtVec(k) < expected.AtVec(least) {
			least = k
		}
	}
	if least == int(c.value) {
		return list
	}
	return append(list, always(least))
}

// Predict returns the constant for each row.
func (c constant) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	p, err := c.PredictFull(ctx, X, estimator.Request{})
	return p.Values, err
}

// Outputs returns values, and probabilities or several targets.
func (c constant) Outputs() estimator.Outputs {
	out := estimator.Outputs{Has: estimator.OutputValues}
	if c.targets != nil {
		out.Has |= estimator.OutputTargets
	}
	if c.shares != nil {
		out.Has |= estimator.OutputProbabilities
	}
	return out
}

// PredictFull adds class frequencies as probabilities, or the mean of each target.
func (c constant) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (p estimator.Prediction,
	err error) {
	n, _ := X.Dims()
	same := func(values []float64) *mat.Dense {
		out := mat.NewDense(n, len(values), nil)
		for i := range n {
			out.SetRow(i, values)
		}
		return out
	}
	p.Values = make([]float64, n)
	for i := range p.Values {
		p.Values[i] = c.value
	}
	if c.targets != nil {
		p.Targets = same(c.targets)
	}
	if c.shares != nil {
		p.Probabilities = same(c.shares)
	}
	return p, ctxerr.Check(ctx)
}
