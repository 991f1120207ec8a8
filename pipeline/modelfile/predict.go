package modelfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/rows/structrows"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

// Predict returns the predictions for the rows of data: numbers, class codes (see [Model.Classes])
// or cluster indices. Like all methods of Model it aligns data first (see [Model.Align]), so the
// order of columns and the codes of categories may differ from those of the model. In contrast,
// m.Predictor.Predict does not align its matrix.
func (m *Model) Predict(ctx context.Context, data datasets.Set) ([]float64, error) {
	aligned, err := m.Align(data)
	if err != nil {
		return nil, err
	}
	return m.Predictor.Predict(ctx, aligned.X)
}

// PredictFull is [Model.Predict] with all outputs of the model, such as probabilities and intervals.
func (m *Model) PredictFull(ctx context.Context, data datasets.Set, want estimator.Request) (estimator.Prediction,
	error) {
	aligned, err := m.Align(data)
	if err != nil {
		return estimator.Prediction{}, err
	}
	return estimator.Predict(ctx, m.Predictor, aligned.X, want)
}

// PredictClasses is [Model.Predict] of a classifier with class names as the result.
func (m *Model) PredictClasses(ctx context.Context, data datasets.Set) ([]string, error) {
	classes := m.Classes()
	if classes == nil {
		return nil, errors.New("pipeline: the model must be a classifier to predict classes; use Predict")
	}
	codes, err := m.Predict(ctx, data)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(codes))
	for i, code := range codes {
		out[i] = className(classes, code)
	}
	return out, nil
}

// Score returns metrics on rows with a target, by name; see [metrics.Names]. The default is
// accuracy for classes, f1_micro for labels and r2 for numeric targets. Sample weights are used.
func (m *Model) Score(ctx context.Context, data datasets.Set, names ...string) (map[string]float64, error) {
	if len(names) == 0 {
		names = []string{metricinput.DefaultMetric(m.Task, nil)}
	}
	list := make([]metrics.Metric, len(names))
	for k, name := range names {
		var err error
		if list[k], err = metrics.ByName(name); err != nil {
			return nil, err
		}
		if !list[k].SupportsTask(m.Task) {
			return nil, fmt.Errorf("pipeline: metric %s: the task must be %s, got %s", name, list[k].Task, m.Task)
		}
	}
	aligned, err := m.Align(data)
	if err != nil {
		return nil, err
	}
	if aligned.Y == nil && aligned.Targets == nil && slices.ContainsFunc(list, metrics.Metric.IsSupervised) {
		return nil, errors.New("pipeline: rows must have a target to compute scores")
	}
	output, err := estimator.Predict(ctx, m.Predictor, aligned.X, estimator.Request{})
	if err != nil {
		return nil, err
	}
	in := metricinput.AddPredictions(metricinput.FromSet(aligned, m.Task), output)
	if p := pipeline.Find(m.Predictor); p != nil {
		in.Costs = metricinput.Costs(p.Spec(), in.ClassNames)
	}
	if slices.ContainsFunc(list, func(metric metrics.Metric) bool { return !metric.IsSupervised() }) {
		in = in.WithRows(aligned)
	}
	out := make(map[string]float64, len(list))
	for _, metric := range list {
		if !metric.Requires.SatisfiedBy(in) {
			return nil, fmt.Errorf("pipeline: metric %s requires %s, which the model does not have", metric.Name,
				metric.Requires)
		}
		if out[metric.Name], err = metric.Score(in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Classes returns the class names in the order of their codes, or nil if the model is not a
// classifier. It corresponds to scikit-learn's classes_.
func (m *Model) Classes() []string { return estimator.OutputsOf(m.Predictor).Classes }

// FeatureNames returns the names of the columns that the estimator receives, one for each column of
// Coef. Unnamed features are called after the step, with an index: rff0, rff1, …. It corresponds to
// scikit-learn's get_feature_names_out.
func (m *Model) FeatureNames() []string {
	p := pipeline.Find(m.Predictor)
	if p == nil {
		return nil
	}
	chain := p.Chain()
	schema := chain.OutputSchema(m.Schema)
	out := make([]string, chain.OutputWidth())
	prefix := "x"
	if n := chain.Len(); n > 0 && schema.Columns == nil {
		prefix, _ = chain.Step(n - 1)
	}
	for j := range out {
		if out[j] = schema.Name(j); schema.Columns == nil {
			out[j] = prefix + strconv.Itoa(j)
		}
	}
	return out
}

// Coef returns the coefficients of a linear model, with one row for each target or class (one for
// two classes) and one column for each of [Model.FeatureNames], or nil if the model is not linear.
// It corresponds to scikit-learn's coef_.
func (m *Model) Coef() *mat.Dense {
	if coef := estimator.FittedTags(m.Predictor).Coef; coef != nil {
		return coef()
	}
	return nil
}

// PredictInto predicts rows of structs and stores each prediction in the field of the target
// column: a number in a numeric field, a class in a string, bool or integer field. rows is a slice
// of structs as in [datasets.FromStructs]; previous values of the field are ignored.
func (m *Model) PredictInto(ctx context.Context, rows any) error {
	list, err := structrows.Of(rows)
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	if len(m.Schema.Targets) != 1 {
		return fmt.Errorf("pipeline: the model must have 1 target to predict into structs, got %d", len(m.Schema.Targets))
	}
	target := m.Schema.Targets[0].Name
	at := slices.IndexFunc(list.Fields, func(f structrows.Field) bool { return f.Name == target })
	if at < 0 {
		return fmt.Errorf("pipeline: %s must have a field for the target %s", list.Type, target)
	}
	maps, err := structMaps(list, target)
	if err != nil {
		return err
	}
	answers, err := m.PredictRows(ctx, maps)
	if err != nil {
		return err
	}
	var errs []error
	for i, answer := range answers {
		err := errors.New("its embedded struct is a nil pointer")
		if field := list.Value(i, list.Fields[at]); field.IsValid() {
			err = assign(field, answer)
		}
		if err != nil {
			errs = append(errs, &datasets.RowError{Row: i, Column: target, Err: err})
		}
	}
	return errors.Join(errs...)
}

// assign stores a prediction in a field.
func assign(field reflect.Value, p RowPrediction) error {
	if field.Kind() == reflect.Pointer {
		if field.IsNil() {
			field.Set(reflect.New(field.Type().Elem()))
		}
		field = field.Elem()
	}
	text := cmp.Or(p.Class, strconv.FormatFloat(p.Value, 'g', -1, 64))
	var err error
	switch {
	case field.Kind() == reflect.String:
		field.SetString(text)
	case field.Kind() == reflect.Bool:
		var v bool
		if v, err = strconv.ParseBool(text); err == nil {
			field.SetBool(v)
		}
	case field.CanInt():
		var v int64
		if v, err = strconv.ParseInt(text, 10, field.Type().Bits()); err == nil {
			field.SetInt(v)
		}
	case field.CanUint():
		var v uint64
		if v, err = strconv.ParseUint(text, 10, field.Type().Bits()); err == nil {
			field.SetUint(v)
		}
	case field.CanFloat():
		var v float64
		if v, err = strconv.ParseFloat(text, 64); err == nil {
			field.SetFloat(v)
		}
	default:
		return fmt.Errorf("cannot write a prediction into a field of type %s", field.Type())
	}
	switch {
	case err != nil && p.Class == "":
		return fmt.Errorf("cannot write the prediction %s into a field of type %s; use float64, or for classes the tag option "+
			"class", text, field.Type())
	case err != nil:
		return fmt.Errorf("cannot write the prediction %s into a field of type %s", text, field.Type())
	}
	return nil
}

// structMaps converts rows of structs to maps without the column omit.
func structMaps(list structrows.Rows, omit string) ([]map[string]any, error) {
	out := make([]map[string]any, list.Len())
	var errs []error
	for i := range out {
		out[i] = make(map[string]any, len(list.Fields))
		for _, f := range list.Fields {
			if f.Name == omit || f.Has("weight") || f.Has("group") {
				continue
			}
			var err error
			if out[i][f.Name], err = structrows.Value(list.Value(i, f)); err != nil {
				errs = append(errs, &datasets.RowError{Row: i, Column: f.Name, Err: err})
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return out, nil
}
