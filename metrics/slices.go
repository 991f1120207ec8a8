package metrics

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// Score returns the value of the metric with a name, as [ByName] accepts it. truth and predicted are slices of equal
// length: true and predicted classes as in [Confusion]; true classes and the scores of the second of two, for a metric
// of scores such as roc_auc; or numbers of type float64, for a metric of regression.
func Score(metric string, truth, predicted any) (float64, error) {
	m, err := ByName(metric)
	if err != nil {
		return math.NaN(), err
	}
	var in Input
	switch values, ok := predicted.([]float64); {
	case m.Task == datasets.Regression && m.Requires == RequiresPredictions:
		in.YTrue, _ = truth.([]float64)
		if in.YPred = values; in.YTrue == nil || !ok {
			err = fmt.Errorf("metrics: %s: truth and predicted must be slices of float64, got %T and %T", metric, truth, predicted)
		}
	case m.Task == datasets.Classification && m.Requires == RequiresPredictions:
		in, err = classInput(truth, predicted)
	case m.Task == datasets.Classification && m.Requires == RequiresScores:
		if in, err = classInput(truth, truth); err != nil {
			break
		}
		if len(values) != len(in.YTrue) {
			err = fmt.Errorf("metrics: predicted must have %d scores of type float64 as truth, got %d", len(in.YTrue), len(values))
		} else if len(values) > 0 {
			in.Scores = mat.NewDense(len(values), 1, slices.Clone(values))
		}
	default:
		err = fmt.Errorf("metrics: %s requires %s; use Metric.Score", metric, m.Requires)
	}
	if err == nil && len(in.YTrue) == 0 {
		err = fmt.Errorf("metrics: %s: truth must not be empty", metric)
	}
	if err != nil {
		return math.NaN(), err
	}
	return m.Score(in)
}

// Confusion returns the confusion matrix of slices of class names, numbers or bools, which may have
// different numeric types. The classes are all values of both in sorted order.
func Confusion(truth, predicted any) (*ConfusionMatrix, error) {
	in, err := classInput(truth, predicted)
	if err != nil {
		return nil, err
	}
	return in.Confusion(in.ClassNames)
}

// classInput returns the codes of true and predicted classes.
func classInput(truth, predicted any) (in Input, err error) {
	a, err := classValues("truth", truth)
	if err != nil {
		return in, err
	}
	b, err := classValues("predicted", predicted)
	if err != nil {
		return in, err
	}
	if len(a) != len(b) {
		return in, fmt.Errorf("metrics: predicted must have %d values as truth, got %d", len(a), len(b))
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, compareClasses)
	all = slices.Compact(all)
	codes := make(map[classValue]float64, len(all))
	for k, v := range all {
		codes[v] = float64(k)
		in.ClassNames = append(in.ClassNames, v.name)
	}
	for i := range a {
		in.YTrue = append(in.YTrue, codes[a[i]])
		in.YPred = append(in.YPred, codes[b[i]])
	}
	if in.Classes = len(all); in.Classes == 1 { // one class only; metrics require two
		in.Classes, in.ClassNames = 2, append(in.ClassNames, "")
	}
	return in, nil
}

// classValue is the name of a class, with its value if it is a number.
type classValue struct {
	name   string
	number float64
}

// compareClasses orders numbers by value and names alphabetically.
func compareClasses(a, b classValue) int {
	switch {
	case a.number < b.number:
		return -1
	case a.number > b.number:
		return 1
	}
	return strings.Compare(a.name, b.name)
}

func classValues(argument string, list any) ([]classValue, error) {
	v := reflect.ValueOf(list)
	if v.Kind() != reflect.Slice {
		return nil, fmt.Errorf("metrics: %s must be a slice of strings, numbers or bools, got %T", argument, list)
	}
	out := make([]classValue, v.Len())
	for i := range out {
		number := 0.0
		switch e := v.Index(i); {
		case e.Kind() == reflect.String:
			out[i].name = e.String()
			continue
		case e.Kind() == reflect.Bool:
			out[i].name = strconv.FormatBool(e.Bool())
			continue
		case e.CanInt():
			number = float64(e.Int())
		case e.CanUint():
			number = float64(e.Uint())
		case e.CanFloat() && !math.IsNaN(e.Float()):
			number = e.Float()
		case e.CanFloat():
			return nil, fmt.Errorf("metrics: %s[%d] must be a class, got NaN", argument, i)
		default:
			return nil, fmt.Errorf("metrics: %s must be a slice of strings, numbers or bools, got %T", argument, list)
		}
		out[i] = classValue{strconv.FormatFloat(number, 'g', -1, 64), number}
	}
	return out, nil
}

// ClassReport contains the scores of all classes. It prints as a table.
type ClassReport []struct {
	Class                 string
	Precision, Recall, F1 float64 // 0 where undefined
	Support               float64 // weight of the rows of the class
}

// Report returns precision, recall, F1 and support of each class. It is scikit-learn's
// classification_report.
func (m *ConfusionMatrix) Report() ClassReport {
	fraction := func(part, total float64) float64 {
		if total == 0 {
			return 0
		}
		return part / total
	}
	out := make(ClassReport, len(m.Classes))
	for i, name := range m.Classes {
		correct, predicted, support := m.Counts.At(i, i), mat.Sum(m.Counts.ColView(i)), mat.Sum(m.Counts.RowView(i))
		c := &out[i]
		c.Class, c.Precision, c.Recall = name, fraction(correct, predicted), fraction(correct, support)
		c.F1, c.Support = fraction(2*correct, predicted+support), support
	}
	return out
}

// String returns a text table with one line per class.
func (r ClassReport) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "class\tprecision\trecall\tf1\tsupport\n")
	for _, c := range r {
		fmt.Fprintf(w, "%s\t%.4f\t%.4f\t%.4f\t%g\n", c.Class, c.Precision, c.Recall, c.F1, c.Support)
	}
	w.Flush()
	return b.String()
}
