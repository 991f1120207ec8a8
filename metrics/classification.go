package metrics

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// classification holds the metrics of predicted classes; those that average over classes come from classAverages.
var classification = []Metric{
	{
		Name: "accuracy", Aliases: []string{"accuracy_score"}, Task: datasets.Classification, Needs: Predictions, GreaterIsBetter: true, Func: accuracy,
		Doc: "Share of rows whose class is predicted right.",
	},
	{
		Name: "error_rate", Aliases: []string{"zero_one_loss"}, Task: datasets.Classification, Needs: Predictions, Func: errorRate,
		Doc: "Share of rows whose class is predicted wrong: 1 - accuracy.",
	},
	{
		Name: "balanced_accuracy", Aliases: []string{"balanced_accuracy_score"}, Task: datasets.Classification, Needs: Predictions, GreaterIsBetter: true, Func: balancedAccuracy,
		Doc: "Mean over the classes in the truth of the share of their rows predicted right.",
	},
	{
		Name: "matthews_corrcoef", Aliases: []string{"matthews", "mcc"}, Task: datasets.Classification, Needs: Predictions, GreaterIsBetter: true, Func: matthews,
		Doc: "Matthews correlation of true and predicted classes, -1 to 1 (Gorodkin's R_K for several classes); 0 when either is constant.",
	},
	{
		Name: "cohen_kappa", Aliases: []string{"cohen_kappa_score", "kappa"}, Task: datasets.Classification, Needs: Predictions, GreaterIsBetter: true, Func: cohenKappa,
		Doc: "Cohen's kappa: agreement beyond chance, (p_o - p_e) / (1 - p_e).",
	},
}

// classAverages returns precision, recall and F1: of class 1 of two, and averaged over classes in three ways.
func classAverages() []Metric {
	scores := []struct {
		name, doc string
		ratio     func(classTally) float64
	}{
		{"precision", "share right among the rows predicted to be in the class, 0 if there are none", classTally.precision},
		{"recall", "share found of the rows in the class, 0 if there are none", classTally.recall},
		{"f1", "harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN)", classTally.f1},
	}
	averages := []struct {
		suffix, doc string
		average     func(tally, func(classTally) float64) (float64, error)
	}{
		{"", "of class 1 of two", ofClassOne},
		{"_macro", "plain mean over the classes that occur in truth or predictions", macroAverage},
		{"_micro", "from the counts of all classes together", microAverage},
		{"_weighted", "mean over classes, weighted by their true rows", weightedAverage},
	}
	var all []Metric
	for _, s := range scores {
		for _, a := range averages {
			m := Metric{
				Name: s.name + a.suffix, Task: datasets.Classification, Needs: Predictions, GreaterIsBetter: true,
				Doc:  fmt.Sprintf("%s: %s; %s.", strings.ToUpper(s.name[:1])+s.name[1:], s.doc, a.doc),
				Func: func(in Input) (float64, error) { return a.average(tallyOf(in), s.ratio) },
			}
			if m.Binary = a.suffix == ""; m.Binary {
				m.Aliases = []string{s.name + "_score"}
			}
			all = append(all, m)
		}
	}
	return all
}

// classTally is the weight of a class's rows: predicted right, in the truth, and in the predictions.
type classTally struct{ hit, truth, predicted float64 }

func (c classTally) precision() float64 { return ratioOrZero(c.hit, c.predicted) }
func (c classTally) recall() float64    { return ratioOrZero(c.hit, c.truth) }
func (c classTally) f1() float64        { return ratioOrZero(2*c.hit, c.truth+c.predicted) }

// ratioOrZero holds the convention that a share of nothing is 0.
func ratioOrZero(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// tally is what every metric of predicted classes needs to know: O(k) numbers, where a confusion matrix has O(k²).
type tally struct {
	classes []classTally
	all     classTally // the classes' sum: truth and predicted are both the weight of all rows
	missed  float64    // weight of the rows that are predicted wrong
}

func tallyOf(in Input) tally {
	hit, truth, predicted := make([]sum, in.Classes), make([]sum, in.Classes), make([]sum, in.Classes)
	var hits, missed, total sum
	for i := range in.rows() {
		w, t, p := in.weight(i), int(in.Truth[i]), int(in.Predicted[i])
		truth[t].add(w)
		predicted[p].add(w)
		total.add(w)
		if t == p {
			hit[t].add(w)
			hits.add(w)
		} else {
			missed.add(w)
		}
	}
	classes := make([]classTally, in.Classes)
	for k := range classes {
		classes[k] = classTally{hit[k].value(), truth[k].value(), predicted[k].value()}
	}
	return tally{classes, classTally{hits.value(), total.value(), total.value()}, missed.value()}
}

func accuracy(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.Truth[i] == in.Predicted[i]) }), nil
}

func errorRate(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.Truth[i] != in.Predicted[i]) }), nil
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func balancedAccuracy(in Input) (float64, error) {
	var recalls sum
	seen := 0
	for _, c := range tallyOf(in).classes {
		if c.truth > 0 {
			recalls.add(c.recall())
			seen++
		}
	}
	return recalls.value() / float64(seen), nil
}

func ofClassOne(t tally, ratio func(classTally) float64) (float64, error) {
	if err := binaryOnly(len(t.classes), "take the form with _macro, _micro or _weighted"); err != nil {
		return 0, err
	}
	return ratio(t.classes[1]), nil
}

// binaryOnly is the error of a metric for two classes that was given more.
func binaryOnly(classes int, instead string) error {
	if classes == 2 {
		return nil
	}
	return fmt.Errorf("it is for two classes, here are %d: %s", classes, instead)
}

func macroAverage(t tally, ratio func(classTally) float64) (float64, error) {
	var total sum
	seen := 0
	for _, c := range t.classes {
		if c.truth+c.predicted > 0 {
			total.add(ratio(c))
			seen++
		}
	}
	return total.value() / float64(seen), nil
}

func microAverage(t tally, ratio func(classTally) float64) (float64, error) { return ratio(t.all), nil }

func weightedAverage(t tally, ratio func(classTally) float64) (float64, error) {
	var total sum
	for _, c := range t.classes {
		total.add(c.truth / t.all.truth * ratio(c))
	}
	return total.value(), nil
}

func matthews(in Input) (float64, error) {
	t := tallyOf(in)
	n := t.all.truth
	truth, predicted := others(t.classes, func(c classTally) float64 { return c.truth }), others(t.classes, func(c classTally) float64 { return c.predicted })
	var byChance, spreadTruth, spreadPredicted sum
	for k, c := range t.classes {
		byChance.add(c.truth / n * (predicted[k] / n))
		spreadTruth.add(c.truth / n * (truth[k] / n))
		spreadPredicted.add(c.predicted / n * (predicted[k] / n))
	}
	r := ratioOrZero(byChance.value()-t.missed/n, math.Sqrt(spreadTruth.value())*math.Sqrt(spreadPredicted.value()))
	return min(max(r, -1), 1), nil
}

// others returns for each class the sum over all the other ones. Where nearly all rows are of one class
// the difference of the total and the class would have no digits left.
func others(classes []classTally, of func(classTally) float64) []float64 {
	out := make([]float64, len(classes))
	before := 0.0
	for k, c := range classes {
		out[k] = before
		before += of(c)
	}
	behind := 0.0
	for k := len(classes) - 1; k >= 0; k-- {
		out[k] += behind
		behind += of(classes[k])
	}
	return out
}

// cohenKappa is 1 - (1 - p_o) / (1 - p_e). Both differences are summed over rows and classes, so that
// they lose no digits where nearly all rows are of one class.
func cohenKappa(in Input) (float64, error) {
	t := tallyOf(in)
	n := t.all.truth
	var byChance sum
	predicted := others(t.classes, func(c classTally) float64 { return c.predicted })
	for k, c := range t.classes {
		byChance.add(c.truth / n * (predicted[k] / n))
	}
	if byChance.value() == 0 {
		return 0, fmt.Errorf("%w: truth and predictions are all of the same single class", ErrUndefined)
	}
	return 1 - t.missed/n/byChance.value(), nil
}

// ConfusionMatrix counts the rows of each true class by the class they are predicted to be.
type ConfusionMatrix struct {
	Counts  *mat.Dense // k×k weights of rows: truth down, predictions across
	Classes []string   // k names
}

// maxTable bounds the classes of a confusion matrix, which takes 8k² bytes.
const maxTable = 4096

// NewConfusionMatrix counts in.Truth against in.Predicted with in.Weights. The names of the classes may be nil, then
// they are their codes. It fails on bad input, on a number of names other than in.Classes, and on more than 4096 classes.
func NewConfusionMatrix(in Input, classes []string) (*ConfusionMatrix, error) {
	if in.Classes == 0 && len(classes) > 1 {
		in.Classes = len(classes)
	}
	in, err := in.checked(datasets.Classification, Predictions)
	switch {
	case err != nil:
	case classes != nil && len(classes) != in.Classes:
		err = fmt.Errorf("%d class names for %d classes", len(classes), in.Classes)
	case in.Classes > maxTable:
		err = errors.New("more than " + strconv.Itoa(maxTable) + " classes")
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: confusion matrix: %w", err)
	}
	k := in.Classes
	counts := make([]sum, k*k)
	for i := range in.rows() {
		counts[int(in.Truth[i])*k+int(in.Predicted[i])].add(in.weight(i))
	}
	m := &ConfusionMatrix{Counts: mat.NewDense(k, k, nil)}
	for c := range k {
		for p := range k {
			m.Counts.Set(c, p, counts[c*k+p].value())
		}
		if classes == nil {
			m.Classes = append(m.Classes, strconv.Itoa(c))
		}
	}
	m.Classes = append(m.Classes, classes...)
	return m, nil
}

// String prints the matrix as a table: a line for each true class, a column for each predicted one.
func (m *ConfusionMatrix) String() string {
	const corner = `truth \ predicted`
	first, other := utf8.RuneCountInString(corner), 1
	for c, name := range m.Classes {
		first, other = max(first, utf8.RuneCountInString(name)), max(other, utf8.RuneCountInString(name))
		for p := range m.Classes {
			other = max(other, len(m.cell(c, p)))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", first, corner)
	for _, name := range m.Classes {
		fmt.Fprintf(&b, "  %*s", other, name)
	}
	b.WriteByte('\n')
	for c, name := range m.Classes {
		fmt.Fprintf(&b, "%-*s", first, name)
		for p := range m.Classes {
			fmt.Fprintf(&b, "  %*s", other, m.cell(c, p))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cell prints a count: whole if it is, else with two decimals.
func (m *ConfusionMatrix) cell(truth, predicted int) string {
	x := m.Counts.At(truth, predicted)
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
