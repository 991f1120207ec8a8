package inspection

import (
	"cmp"
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// ANOVA contains the functional ANOVA decomposition of the variance of the outputs of a model.
type ANOVA struct {
	Output     string           `json:"of"`         // prediction, decision or anomaly score
	Inputs     []string         `json:"inputs"`     // names
	Background int              `json:"background"` // number of background rows
	Outputs    []outputVariance `json:"outputs"`
}

// outputVariance contains the decomposition for one output. The remainder of Total is the variance
// of interactions of three inputs or more.
type outputVariance struct {
	Name   string      `json:"name,omitempty"` // class or target, "" for the only one
	Total  float64     `json:"total"`
	Inputs []float64   `json:"variances"` // variance of the main effect of each input
	Pairs  [][]float64 `json:"pairs"`     // symmetric: variance of the interaction of each pair; the diagonal is 0
}

// FunctionalANOVA decomposes the variance of the outputs of a model into main effects of inputs and
// interactions of pairs, for inputs that are independent of each other and each have their
// distribution in the background:
//
//	f_j  = E[f | x_j] − E[f]
//	f_jl = E[f | x_j, x_l] − E[f | x_j] − E[f | x_l] + E[f]
//
// The variances are exact. The output must be one for which [Shapley] is exact; others are an error
// that states the reason. Only Background and Output of o are used. Cost: inputs² × background² ×
// terms and terms² × background × inputs operations, with D/2 terms for rff with D features.
//
// Source: Hooker, "Generalized functional ANOVA diagnostics for high-dimensional functions of
// dependent variables", Journal of Computational and Graphical Statistics 16, 2007.
func FunctionalANOVA(ctx context.Context, model estimator.Predictor, background datasets.Set,
	o ShapleyOptions) (ANOVA, error) {
	o = ShapleyOptions{Background: o.Background, Output: o.Output}
	if rows := cmp.Or(o.Background, defaultBackground); rows > 0 && background.X != nil {
		background = background.EvenlySpaced(rows)
	}
	e, err := newExplainer(ctx, model, background, background, o)
	if err != nil {
		return ANOVA{}, err
	}
	form, err := e.form()
	if err != nil {
		return ANOVA{}, wrapError(ctx, err)
	}
	rows, err := form.Evaluate(ctx, e.X)
	if err == nil {
		err = e.verify(rows)
	}
	if err != nil {
		return ANOVA{}, wrapError(ctx, err)
	}
	found, err := form.Variances(ctx, e.background)
	if err != nil {
		return ANOVA{}, wrapError(ctx, err)
	}
	out := ANOVA{Output: e.of, Inputs: e.inputNames(), Background: len(e.background.Weights)}
	for q, name := range e.outputNames() {
		v := outputVariance{Name: name, Total: found[q].Total, Inputs: found[q].Inputs}
		for j := range out.Inputs {
			v.Pairs = append(v.Pairs, mat.Row(nil, j, found[q].Pairs))
		}
		out.Outputs = append(out.Outputs, v)
	}
	return out, nil
}
