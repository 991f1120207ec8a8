package inspection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/inspection/internal/shapley"
	"github.com/bochner-ml/bochner/internal/codec/jsonfloat"
	"github.com/bochner-ml/bochner/internal/rows/origin"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// Method is a method of computing Shapley values.
type Method string

// The methods.
const (
	methodAuto     Method = "auto"     // Exact where possible, else Sampling
	MethodExact    Method = "exact"    // in closed form, up to rounding
	MethodSampling Method = "sampling" // antithetic permutation sampling, with standard errors
)

// defaultBackground is the default number of background rows.
const defaultBackground = 100

const (
	defaultPrecision = 0.02
	defaultMaxRounds = 20
)

// ShapleyOptions configures [Shapley]. The zero value selects the defaults.
type ShapleyOptions struct {
	Method     Method // "" for Auto
	Background int    // maximum number of background rows, evenly spaced; 0 for 100
	// Output is the explained output: estimator.OutputValues (also of several targets), Scores, Probabilities or
	// AnomalyScores.
	// 0 selects the scores of a classifier, its probabilities if it has no scores, the anomaly scores of an anomaly
	// detector, and the values of other models.
	Output estimator.Output
	// Precision is the standard error at which the sampling of a row ends, relative to the standard deviation of the
	// output over the background; 0 for 0.02. Fewer than 30 background rows need more rounds, so that the standard
	// error is reliable.
	Precision float64
	MaxRounds int    // maximum number of pairs of permutations per row and background row, at least 2; 0 for 20
	Seed      uint64 // of the permutations
	// Interactions requests the interactions of pairs of inputs, which only exact values have: method Sampling is an
	// error.
	Interactions bool
}

// ShapleyValues contains the Shapley values of the inputs for each row and output.
type ShapleyValues struct {
	Method     Method          `json:"method"`           // Exact or Sampling
	Reason     string          `json:"reason,omitempty"` // why Auto selected Sampling
	Output     string          `json:"of"`               // prediction, probability, decision or anomaly score
	Inputs     []string        `json:"inputs"`           // names
	Data       []InputValues   `json:"data,omitempty"`   // for each input, its values in the rows
	Background int             `json:"background"`       // number of background rows
	Outputs    []ShapleyOutput `json:"outputs"`
	// EfficiencyGap is the largest |base + Σ values − prediction|: rounding errors, also those of a pipeline in single
	// precision.
	EfficiencyGap float64 `json:"efficiency_gap,omitempty"`
}

// ShapleyOutput contains the Shapley values for one output.
type ShapleyOutput struct {
	Name        string      `json:"name,omitempty"`      // class or target, "" for the only one
	Base        float64     `json:"base"`                // mean prediction over the background
	Threshold   *float64    `json:"threshold,omitempty"` // above which a row is of the class Name; nil for the usual 0
	Predictions []float64   `json:"predictions"`         // for each row
	Values      [][]float64 `json:"values"`              // rows × inputs
	// StdErrors are those of Sampling, rows × inputs: of the drawn permutations, for the given
	// background rows. Those of other background rows are not included.
	StdErrors [][]float64 `json:"std_errors,omitempty"`
	// Interactions has a symmetric matrix, inputs × inputs, for each row: half the Shapley interaction index of two
	// inputs, and in the diagonal the value of an input without its interactions. Each row of the matrix sums to the
	// value of the input. nil unless requested.
	Interactions [][][]float64 `json:"interactions,omitempty"`
}

// Append returns the values of the rows of v followed by those of w, for the same model and background.
func (v ShapleyValues) Append(w ShapleyValues) ShapleyValues {
	if len(v.Outputs) == 0 {
		return w
	}
	v.EfficiencyGap = max(v.EfficiencyGap, w.EfficiencyGap)
	v.Data, v.Outputs = slices.Clone(v.Data), slices.Clone(v.Outputs)
	for j := range v.Data {
		v.Data[j].Values = append(v.Data[j].Values, w.Data[j].Values...)
	}
	for q, o := range w.Outputs {
		to := &v.Outputs[q]
		to.Predictions, to.Values = append(to.Predictions, o.Predictions...), append(to.Values, o.Values...)
		to.StdErrors, to.Interactions = append(to.StdErrors, o.StdErrors...), append(to.Interactions, o.Interactions...)
	}
	return v
}

// Select returns the values of some outputs and inputs. The values of a row no longer sum to its prediction.
func (v ShapleyValues) Select(outputs, inputs []int) ShapleyValues {
	out := v
	out.Inputs, out.Data, out.Outputs = pick(v.Inputs, inputs), pick(v.Data, inputs), pick(v.Outputs, outputs)
	rows := func(all [][]float64) (some [][]float64) {
		for _, row := range all {
			some = append(some, pick(row, inputs))
		}
		return some
	}
	for q := range out.Outputs {
		o := &out.Outputs[q]
		o.Values, o.StdErrors = rows(o.Values), rows(o.StdErrors)
		var matrices [][][]float64
		for _, m := range o.Interactions {
			matrices = append(matrices, rows(pick(m, inputs)))
		}
		o.Interactions = matrices
	}
	return out
}

// pick returns the elements with the given indices.
func pick[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for k, i := range at {
		out[k] = all[i]
	}
	return out
}

// InputValues are the values of an input in rows: numbers, or codes of categories. NaN is a missing value.
type InputValues struct {
	Values     []float64 `json:"values"`
	Categories []string  `json:"categories,omitempty"`
}

// MarshalJSON encodes missing values as null.
func (c InputValues) MarshalJSON() ([]byte, error) {
	type plain InputValues
	c.Values = slices.Clone(c.Values) // Marshal changes them meanwhile
	text, _, err := jsonfloat.Marshal(plain(c))
	return text, err
}

// String formats the value of row i.
func (c InputValues) String(i int) string {
	v := c.Values[i]
	switch {
	case math.IsNaN(v):
		return "missing"
	case c.Categories == nil:
		return digits(v, 6)
	case v >= 0 && int(v) < len(c.Categories):
		return c.Categories[int(v)]
	}
	return "unknown"
}

// MeanAbs returns the mean absolute value of each input over the rows.
func (o ShapleyOutput) MeanAbs() []float64 {
	var out []float64
	for _, row := range o.Values {
		if out == nil {
			out = make([]float64, len(row))
		}
		for j, v := range row {
			out[j] += math.Abs(v) / float64(len(o.Values))
		}
	}
	return out
}

// Shapley returns the interventional Shapley values of the inputs of a model for rows: the values
// of the game in which a coalition S of inputs obtains
//
//	v(S) = Σ_z w_z·f(x_S, z_rest) / Σ_z w_z
//
// the mean output over the background rows z, with the inputs in S taken from the row x. For each
// row and output,
//
//	base + Σ_j values_j = prediction        (efficiency)
//
// with the mean output over the background as base; every call checks it. Inputs are columns of the
// rows that the model takes, raw columns for a pipeline. Columns encoded from one column
// ([datasets.Column].EncodedFrom) are one input.
//
// The values are exact if the computation of the output (see package graph) is a sum of products of
// functions of one input each, and of cosines of sums of such functions. This holds for linear
// models; for rff, gaussian_process and softmax_features, of every kernel; for kernel_ridge and
// nystroem with a gaussian, laplacian or cauchy kernel; for sums of these, such as ensembles for
// regression; downstream of steps that map each column independently, such as impute, standardize,
// quantile, onehot or target_encode, and for linear models and rff of any linear step, such as pca.
// A classifier of two classes with a threshold is explained by the scores of its inner model, with
// the threshold in their unit, such as log-odds for a threshold of probabilities of logistic.
// Other outputs are sampled, for example probabilities, and all outputs of a model that cannot be
// exported.
//
// The result does not depend on GOMAXPROCS. Cost: for exact values, rows × background × terms ×
// inputs² operations, with D/2 terms for rff with D features, inputs/4 times as many with
// interactions; for sampled values, up to 2 × rows ×
// background × (inputs − 1) × MaxRounds predictions. Errors: invalid options, rows that the model
// rejects, predictions that are not finite, and method Exact or interactions for an output that is
// not such a sum.
//
// Source: Lundberg and Lee, "A unified approach to interpreting model predictions", NIPS 2017;
// package inspection/internal/shapley derives the exact values and interactions. Python equivalent:
// shap.Explainer with a background data set; interactions as in shap_interaction_values.
func Shapley(ctx context.Context, model estimator.Predictor, background, rows datasets.Set,
	o ShapleyOptions) (ShapleyValues, error) {
	none := ShapleyValues{}
	e, err := newExplainer(ctx, model, background, rows, o)
	if err != nil {
		return none, err
	}
	if e.o.Method != MethodSampling {
		values, err := e.exact(ctx)
		if err == nil {
			return e.result(values, MethodExact, "")
		}
		if e.o.Method == MethodExact || e.o.Interactions || ctx.Err() != nil {
			return none, wrapError(ctx, err)
		}
		e.reason = err.Error()
	}
	values, err := shapley.Sample(ctx, e.predict, e.X, e.background, e.inputs,
		shapley.SampleOptions{Precision: e.o.Precision, MaxRounds: e.o.MaxRounds, Seed: e.o.Seed})
	if err != nil {
		return none, wrapError(ctx, err)
	}
	return e.result(values, MethodSampling, e.reason)
}

// check validates the options and sets the defaults.
func (o *ShapleyOptions) check() error {
	var errs []error
	if o.Method == "" {
		o.Method = methodAuto
	}
	if !slices.Contains([]Method{methodAuto, MethodExact, MethodSampling}, o.Method) {
		errs = append(errs, fmt.Errorf("inspection: method must be auto, exact or sampling, got %q", o.Method))
	}
	if o.Interactions && o.Method == MethodSampling {
		errs = append(errs, errors.New("inspection: method must be auto or exact for interactions, got sampling"))
	}
	if o.Background < 0 {
		errs = append(errs, fmt.Errorf("inspection: background must be ≥ 1, or 0 for %d, got %d", defaultBackground,
			o.Background))
	}
	if !(o.Precision >= 0) || math.IsInf(o.Precision, 1) {
		errs = append(errs, fmt.Errorf("inspection: precision must be > 0, or 0 for %v, got %v", defaultPrecision,
			o.Precision))
	}
	if o.MaxRounds < 0 || o.MaxRounds == 1 {
		errs = append(errs, fmt.Errorf("inspection: max rounds must be ≥ 2, or 0 for %d, got %d", defaultMaxRounds,
			o.MaxRounds))
	}
	if o.Background == 0 {
		o.Background = defaultBackground
	}
	if o.Precision == 0 {
		o.Precision = defaultPrecision
	}
	if o.MaxRounds == 0 {
		o.MaxRounds = defaultMaxRounds
	}
	return errors.Join(errs...)
}

// explainer explains the rows of one call.
type explainer struct {
	model      estimator.Predictor
	o          ShapleyOptions
	data       datasets.Set // the rows
	X          *mat.Dense
	background shapley.Background
	inputs     shapley.Inputs
	of         string // kind of the output
	rows       *mat.Dense
	base       []float64
	scale      float64 // largest absolute output
	threshold  *float64
	reason     string
}

func newExplainer(ctx context.Context, model estimator.Predictor, background, rows datasets.Set,
	o ShapleyOptions) (*explainer, error) {
	err := errors.Join(o.check(), Options{}.check(model, rows), Options{}.check(model, background))
	if err == nil && background.Cols() != rows.Cols() {
		err = fmt.Errorf("inspection: the background has %d columns, the rows have %d", background.Cols(), rows.Cols())
	}
	if err == nil && slices.ContainsFunc(rows.Schema.Columns, func(c datasets.Column) bool {
		return c.Kind == datasets.Text
	}) {
		err = errors.New("inspection: cannot explain a model of text columns")
	}
	if err != nil {
		return nil, err
	}
	background = background.EvenlySpaced(o.Background)
	if err := memory.Check(8 * int64(rows.Cols()) * int64(rows.Rows()+background.Rows())); err != nil {
		return nil, fmt.Errorf("inspection: dense rows: %w", err)
	}
	e := &explainer{model: model, o: o, data: rows, X: mat.DenseCopyOf(rows.X),
		background: shapley.Background{X: mat.DenseCopyOf(background.X), Weights: slices.Clone(background.Weights)}}
	e.inputs.Of, e.inputs.Count = origin.Inputs(rows.Schema, rows.Cols())
	if err := e.normalize(background.Rows()); err != nil {
		return nil, err
	}
	if err := e.choose(); err != nil {
		return nil, err
	}
	if err := e.removeThreshold(ctx); err != nil {
		return nil, wrapError(ctx, err)
	}
	return e, e.evaluate(ctx)
}

// normalize scales the weights of the background to sum 1.
func (e *explainer) normalize(n int) error {
	w := &e.background.Weights
	if *w == nil {
		*w = slices.Repeat([]float64{1}, n)
	}
	total := 0.0
	for _, v := range *w {
		total += v
	}
	if !(total > 0) {
		return errors.New("inspection: the weights of the background must have a positive sum")
	}
	for k := range *w {
		(*w)[k] /= total
	}
	return nil
}

// choose sets the output.
func (e *explainer) choose() error {
	has := estimator.OutputsOf(e.model)
	if e.o.Output == 0 {
		switch {
		case has.Has.Has(estimator.OutputScores):
			e.o.Output = estimator.OutputScores
		case has.Has.Has(estimator.OutputProbabilities):
			e.o.Output = estimator.OutputProbabilities
		case has.Has.Has(estimator.OutputAnomalyScores):
			e.o.Output = estimator.OutputAnomalyScores
		default:
			e.o.Output = estimator.OutputValues
		}
	}
	names := map[estimator.Output]string{estimator.OutputValues: "prediction", estimator.OutputTargets: "prediction",
		estimator.OutputScores: "decision", estimator.OutputProbabilities: "probability",
		estimator.OutputAnomalyScores: "anomaly score"}
	e.of = names[e.o.Output]
	switch {
	case e.of == "":
		return errors.New("inspection: the output must be Values, Targets, Scores, Probabilities or AnomalyScores")
	case e.of == "prediction" && has.Classes != nil:
		return errors.New("inspection: the values of a classifier are class codes; select scores or probabilities")
	case e.of != "prediction" && !has.Has.Has(e.o.Output):
		return fmt.Errorf("inspection: the model has no output of kind %s", e.of)
	}
	return nil
}

// removeThreshold replaces a classifier with a threshold by its inner model, of which the threshold
// is one of scores, or of probabilities that are the logistic function of the scores.
func (e *explainer) removeThreshold(ctx context.Context) error {
	var decides *meta.FittedThreshold
	if e.of != "decision" || !estimator.As(e.model, &decides) {
		return nil
	}
	inner, at, ofProbabilities, ok := decides.WithoutThreshold()
	if whole := pipeline.Find(e.model); whole != nil {
		inner, at, ofProbabilities, ok = whole.WithoutThreshold()
	}
	if !ok || !estimator.OutputsOf(inner).Has.Has(estimator.OutputScores) {
		return nil
	}
	if ofProbabilities {
		if !(at > 0 && at < 1) {
			return nil
		}
		p, err := estimator.Predict(ctx, inner, e.background.X,
			estimator.Request{Outputs: estimator.OutputScores | estimator.OutputProbabilities})
		if err != nil {
			return err
		}
		if p.Scores == nil || p.Probabilities == nil || p.Scores.RawMatrix().Cols != 1 {
			return nil
		}
		for i := range p.Probabilities.RawMatrix().Rows {
			if logistic := 1 / (1 + math.Exp(-p.Scores.At(i, 0))); math.Abs(p.Probabilities.At(i, 1)-logistic) > 1e-6 {
				return nil
			}
		}
		at = math.Log(at / (1 - at))
	}
	e.model, e.threshold = inner, &at
	return nil
}

// predict returns the output for rows, rows × outputs.
func (e *explainer) predict(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	want := e.o.Output
	if e.of == "prediction" {
		want = estimator.OutputValues | estimator.OutputTargets
	}
	p, err := estimator.Predict(ctx, e.model, X, estimator.Request{Outputs: want})
	switch {
	case err != nil:
		return nil, err
	case e.of == "decision":
		return p.Scores, nil
	case e.of == "probability":
		return p.Probabilities, nil
	case e.of == "anomaly score":
		return mat.NewDense(len(p.Anomaly), 1, p.Anomaly), nil
	case p.Targets != nil && !p.Targets.IsEmpty():
		return p.Targets, nil
	}
	return mat.NewDense(len(p.Values), 1, p.Values), nil
}

// evaluate predicts the rows and the background.
func (e *explainer) evaluate(ctx context.Context) error {
	rows, err := e.predict(ctx, e.X)
	if err != nil {
		return wrapError(ctx, err)
	}
	background, err := e.predict(ctx, e.background.X)
	if err != nil {
		return wrapError(ctx, fmt.Errorf("background: %w", err))
	}
	e.rows, e.base = rows, columnMeans(background, e.background.Weights)
	for _, m := range []*mat.Dense{rows, background} {
		e.scale = max(e.scale, mat.Max(m), -mat.Min(m))
		for _, v := range m.RawMatrix().Data {
			if v-v != 0 {
				return errors.New("inspection: a prediction is not finite")
			}
		}
	}
	return nil
}

// exact returns the exact values. An error states why there are none.
func (e *explainer) exact(ctx context.Context) (shapley.Values, error) {
	form, err := e.form()
	if err != nil {
		return shapley.Values{}, err
	}
	values, err := form.Explain(ctx, e.X, e.background, e.o.Interactions)
	if err != nil {
		return values, err
	}
	if gap := values.EfficiencyGap(); !(gap <= maxExportError*e.scale) {
		return values, fmt.Errorf("rounding errors of %.1e", gap)
	}
	return values, e.verify(values.Rows)
}

// form returns the output as a sum of products.
func (e *explainer) form() (*shapley.Form, error) {
	g := graph.New(make([]graph.Input, e.data.Cols()))
	p, err := estimator.Export(g, e.model, g.Input())
	if err != nil {
		return nil, err
	}
	v := p.PointPredictions()
	switch e.of {
	case "decision":
		v = p.Scores
	case "probability":
		v = p.Probabilities
	case "anomaly score":
		v = p.Anomaly
	}
	if _, outputs := e.rows.Dims(); g.Width(v) != outputs {
		return nil, fmt.Errorf("the exported model has no such output (%s)", e.of)
	}
	return shapley.NewForm(g, v, e.inputs)
}

// maxExportError is the accepted difference between the predictions of a model and of its graph,
// relative to the largest prediction: the model may compute in single precision, the graph does
// not.
const maxExportError = 1e-3

// verify compares outputs of the graph for the rows with the predictions of the model.
func (e *explainer) verify(rows *mat.Dense) error {
	var difference mat.Dense
	difference.Sub(rows, e.rows)
	if off := max(mat.Max(&difference), -mat.Min(&difference)); !(off <= maxExportError*e.scale) {
		return fmt.Errorf("the exported model differs from the model by %.1e", off)
	}
	return nil
}

// result returns the values with their names, after a check of efficiency.
func (e *explainer) result(values shapley.Values, method Method, reason string) (ShapleyValues, error) {
	n, outputs := e.rows.Dims()
	out := ShapleyValues{Method: method, Reason: reason, Output: e.of, Inputs: e.inputNames(),
		Data: e.inputValues(), Background: len(e.background.Weights)}
	names := e.outputNames()
	for q := range outputs {
		one := ShapleyOutput{Name: names[q], Base: e.base[q], Predictions: mat.Col(nil, q, e.rows),
			Threshold: e.threshold}
		for i := range n {
			one.Values = append(one.Values, values.Inputs[q].RawRowView(i))
			if values.StdErrors != nil {
				one.StdErrors = append(one.StdErrors, values.StdErrors[q].RawRowView(i))
			}
			if values.Pairs != nil {
				one.Interactions = append(one.Interactions,
					slices.Collect(slices.Chunk(values.Pairs[q].RawRowView(i), e.inputs.Count)))
			}
		}
		out.Outputs = append(out.Outputs, one)
	}
	values.Rows, values.Base = e.rows, e.base
	out.EfficiencyGap = values.EfficiencyGap()
	if !(out.EfficiencyGap <= maxExportError*e.scale) {
		return ShapleyValues{}, fmt.Errorf("inspection: the values must sum to prediction − base, but are off by %.1e",
			out.EfficiencyGap)
	}
	return out, nil
}

// inputNames returns the names of the inputs.
func (e *explainer) inputNames() (names []string) {
	for j := range e.inputs.Count {
		k := slices.Index(e.inputs.Of, j)
		names = append(names, cmp.Or(e.data.Schema.Column(k).EncodedFrom, e.data.Schema.Name(k)))
	}
	return names
}

// inputValues returns the values of the inputs. The value of columns encoded from one column is the only one that is
// not 0; of numeric columns, such as the parts of dates, it is that of the first one.
func (e *explainer) inputValues() []InputValues {
	out := make([]InputValues, e.inputs.Count)
	n, d := e.X.Dims()
	for j := range d {
		c, column := &out[e.inputs.Of[j]], e.data.Schema.Column(j)
		if column.EncodedFrom == "" || column.EncodedKind == datasets.Numeric {
			if c.Values == nil {
				c.Values, c.Categories = mat.Col(nil, j, e.X), column.Categories
			}
			continue
		}
		c.Categories = append(c.Categories, e.data.Schema.Name(j))
		if c.Values == nil {
			c.Values = slices.Repeat([]float64{math.NaN()}, n)
		}
		for i := range n {
			switch v := e.X.At(i, j); {
			case v == 0:
			case math.IsNaN(c.Values[i]):
				c.Values[i] = float64(len(c.Categories) - 1)
			default:
				c.Values[i] = datasets.Unknown
			}
		}
	}
	return out
}

// outputNames returns the names of the outputs, "" of the only one.
func (e *explainer) outputNames() []string {
	_, outputs := e.rows.Dims()
	if e.of == "anomaly score" || outputs == 1 && e.of == "prediction" {
		return make([]string, outputs)
	}
	return outputNames(e.model, e.data, outputs, e.of)
}
