package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// classificationMetrics are the metrics of predicted classes, except those of averagedMetrics.
var classificationMetrics = []Metric{
	{
		Name: "accuracy", Aliases: []string{"accuracy_score"}, Task: datasets.Classification, Requires: RequiresPredictions,
		GreaterIsBetter: true, Func: accuracy,
		Doc: "Fraction of rows whose class is predicted correctly.",
	},
	{
		Name: "error_rate", Aliases: []string{"zero_one_loss"}, Task: datasets.Classification, Requires: RequiresPredictions,
		Func: errorRate,
		Doc:  "Fraction of misclassified rows: 1 - accuracy.",
	},
	{
		Name: "cost", Task: datasets.Classification, Requires: RequiresPredictionsAndCosts,
		Func: func(in Input) (float64, error) {
			return in.mean(func(i int) float64 { return in.Costs.At(int(in.YTrue[i]), int(in.YPred[i])) }), nil
		},
		Doc: "Mean cost of a row, by the cost of each predicted class for each true class.",
	},
	{
		Name: "balanced_accuracy", Aliases: []string{"balanced_accuracy_score"}, Task: datasets.Classification,
		Requires: RequiresPredictions, GreaterIsBetter: true, Func: balancedAccuracy,
		Doc: "Mean recall over the classes that occur among the true labels.",
	},
	{
		Name: "matthews_corrcoef", Aliases: []string{"matthews", "mcc"}, Task: datasets.Classification,
		Requires: RequiresPredictions, GreaterIsBetter: true, Func: matthewsCorrCoef,
		Doc: "Matthews correlation coefficient, -1 to 1 (Gorodkin's R_K for several classes); 0 if true or predicted " +
			"classes are constant.",
	},
	{
		Name: "cohen_kappa", Aliases: []string{"cohen_kappa_score", "kappa"}, Task: datasets.Classification,
		Requires: RequiresPredictions, GreaterIsBetter: true, Func: cohenKappa,
		Doc: "Cohen's kappa: agreement beyond chance, (p_o - p_e) / (1 - p_e).",
	},
}

// averagedMetrics returns precision, recall and F1, for the positive class and with three averages.
func averagedMetrics() []Metric {
	scores := []struct {
		name, doc string
		ratio     func(classCounts) float64
	}{
		{"precision", "TP / (TP + FP), 0 if the class is never predicted", classCounts.precision},
		{"recall", "TP / (TP + FN), 0 if no row belongs to the class", classCounts.recall},
		{"f1", "harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN)", classCounts.f1},
	}
	averages := []struct {
		suffix, doc string
		average     func(confusionCounts, func(classCounts) float64) (float64, error)
	}{
		{"", "of the positive class, code 1", positiveClass},
		{"_macro", "unweighted mean over the classes that occur among true or predicted ones, or over all labels",
			macroAverage},
		{"_micro", "from the summed counts of all classes", microAverage},
		{"_weighted", "mean over classes, weighted by their support", weightedAverage},
	}
	var all []Metric
	for _, s := range scores {
		for _, a := range averages {
			m := Metric{
				Name: s.name + a.suffix, Task: datasets.Classification, Requires: RequiresPredictions, GreaterIsBetter: true,
				Doc:  fmt.Sprintf("%s: %s; %s.", strings.ToUpper(s.name[:1])+s.name[1:], s.doc, a.doc),
				Func: func(in Input) (float64, error) { return a.average(countConfusion(in), s.ratio) },
			}
			m.Binary, m.MultiLabel = a.suffix == "", a.suffix != ""
			if m.Binary {
				m.Aliases = []string{s.name + "_score"}
			}
			all = append(all, m)
		}
	}
	return all
}

// classCounts are the weighted counts of one class.
type classCounts struct{ truePositives, actual, predicted float64 }

func (c classCounts) precision() float64 { return ratioOrZero(c.truePositives, c.predicted) }
func (c classCounts) recall() float64    { return ratioOrZero(c.truePositives, c.actual) }
func (c classCounts) f1() float64        { return ratioOrZero(2*c.truePositives, c.actual+c.predicted) }

// ratioOrZero returns 0 for 0/0, as scikit-learn does by default.
func ratioOrZero(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// confusionCounts are the margins and the diagonal of a confusion matrix: O(k) numbers instead of
// O(k²).
type confusionCounts struct {
	classes       []classCounts
	all           classCounts // sum over the classes: actual and predicted both equal the total weight
	misclassified float64     // weight of the misclassified rows
	multiLabel    bool        // whether the classes are labels; rows have any number of them
}

func countConfusion(in Input) confusionCounts {
	if hasEntries(in.YTrueTargets) {
		return countLabels(in)
	}
	hit, truth, predicted := make([]sum, in.Classes), make([]sum, in.Classes), make([]sum, in.Classes)
	var hits, missed, total sum
	for i := range in.rows() {
		w, t, p := in.weight(i), int(in.YTrue[i]), int(in.YPred[i])
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
	classes := make([]classCounts, in.Classes)
	for k := range classes {
		classes[k] = classCounts{hit[k].value(), truth[k].value(), predicted[k].value()}
	}
	return confusionCounts{classes: classes, all: classCounts{hits.value(), total.value(), total.value()},
		misclassified: missed.value()}
}

func accuracy(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.YTrue[i] == in.YPred[i]) }), nil
}

func errorRate(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.YTrue[i] != in.YPred[i]) }), nil
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
	for _, c := range countConfusion(in).classes {
		if c.actual > 0 {
			recalls.add(c.recall())
			seen++
		}
	}
	return recalls.value() / float64(seen), nil
}

func positiveClass(t confusionCounts, ratio func(classCounts) float64) (float64, error) {
	if err := requireBinary(len(t.classes), "use the suffix _macro, _micro or _weighted"); err != nil {
		return 0, err
	}
	return ratio(t.classes[1]), nil
}

// requireBinary returns an error with the remedy if classes is not 2.
func requireBinary(classes int, remedy string) error {
	if classes == 2 {
		return nil
	}
	return fmt.Errorf("classes must be 2, got %d; %s", classes, remedy)
}

func macroAverage(t confusionCounts, ratio func(classCounts) float64) (float64, error) {
	var total sum
	seen := 0
	for _, c := range t.classes {
		if t.multiLabel || c.actual+c.predicted > 0 {
			total.add(ratio(c))
			seen++
		}
	}
	return total.value() / float64(seen), nil
}

func microAverage(t confusionCounts, ratio func(classCounts) float64) (float64, error) {
	return ratio(t.all), nil
}

func weightedAverage(t confusionCounts, ratio func(classCounts) float64) (float64, error) {
	var total sum
	for _, c := range t.classes {
		total.add(ratioOrZero(c.actual, t.all.actual) * ratio(c))
	}
	return total.value(), nil
}

func matthewsCorrCoef(in Input) (float64, error) {
	t := countConfusion(in)
	n := t.all.actual
	truth, predicted := sumOfOthers(t.classes, func(c classCounts) float64 { return c.actual }), sumOfOthers(t.classes,
		func(c classCounts) float64 { return c.predicted })
	var covariance, varTrue, varPred sum
	for k, c := range t.classes {
		covariance.add(c.actual / n * (predicted[k] / n))
		varTrue.add(c.actual / n * (truth[k] / n))
		varPred.add(c.predicted / n * (predicted[k] / n))
	}
	r := ratioOrZero(covariance.value()-t.misclassified/n, math.Sqrt(varTrue.value())*math.Sqrt(varPred.value()))
	return min(max(r, -1), 1), nil
}

// sumOfOthers returns, for each class, the sum over all other classes. Subtracting the class from
// the total would cancel if nearly all rows belong to one class.
func sumOfOthers(classes []classCounts, value func(classCounts) float64) []float64 {
	out := make([]float64, len(classes))
	preceding := 0.0
	for k, c := range classes {
		out[k] = preceding
		preceding += value(c)
	}
	following := 0.0
	for k := len(classes) - 1; k >= 0; k-- {
		out[k] += following
		following += value(classes[k])
	}
	return out
}

// cohenKappa returns 1 - (1 - p_o) / (1 - p_e). It sums both differences directly, without
// cancellation if nearly all rows belong to one class.
func cohenKappa(in Input) (float64, error) {
	t := countConfusion(in)
	n := t.all.actual
	var expectedDisagreement sum
	predicted := sumOfOthers(t.classes, func(c classCounts) float64 { return c.predicted })
	for k, c := range t.classes {
		expectedDisagreement.add(c.actual / n * (predicted[k] / n))
	}
	if expectedDisagreement.value() == 0 {
		return 0, fmt.Errorf("%w: all true and predicted classes are equal", ErrUndefined)
	}
	return 1 - t.misclassified/n/expectedDisagreement.value(), nil
}

// ConfusionMatrix contains the weighted number of rows for each pair of true and predicted class.
type ConfusionMatrix struct {
	Counts  *mat.Dense // k×k weights; row: true class, column: predicted class
	Classes []string   // k names
}

// maxMatrixClasses limits the size of a confusion matrix, 8k² bytes.
const maxMatrixClasses = 4096

// Confusion counts in.YTrue against in.YPred with in.Weights. With nil classes the names
// are the class codes. It returns an error for invalid input, a wrong number of names, and more
// than 4096 classes.
func (in Input) Confusion(classes []string) (*ConfusionMatrix, error) {
	if in.Classes == 0 && len(classes) > 1 {
		in.Classes = len(classes)
	}
	in, err := in.validate(datasets.Classification, RequiresPredictions)
	switch {
	case err != nil:
	case classes != nil && len(classes) != in.Classes:
		err = fmt.Errorf("class names must be %d, got %d", in.Classes, len(classes))
	case in.Classes > maxMatrixClasses:
		err = fmt.Errorf("classes must be at most %d, got %d", maxMatrixClasses, in.Classes)
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: confusion matrix: %w", err)
	}
	k := in.Classes
	counts := make([]sum, k*k)
	for i := range in.rows() {
		counts[int(in.YTrue[i])*k+int(in.YPred[i])].add(in.weight(i))
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

// String returns the matrix as a text table with one line per true class and one column per
// predicted class.
func (m *ConfusionMatrix) String() string {
	const corner = `true \ predicted`
	nameWidth, cellWidth := utf8.RuneCountInString(corner), 1
	for c, name := range m.Classes {
		nameWidth, cellWidth = max(nameWidth, utf8.RuneCountInString(name)), max(cellWidth, utf8.RuneCountInString(name))
		for p := range m.Classes {
			cellWidth = max(cellWidth, len(m.formatCell(c, p)))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", nameWidth, corner)
	for _, name := range m.Classes {
		fmt.Fprintf(&b, "  %*s", cellWidth, name)
	}
	b.WriteByte('\n')
	for c, name := range m.Classes {
		fmt.Fprintf(&b, "%-*s", nameWidth, name)
		for p := range m.Classes {
			fmt.Fprintf(&b, "  %*s", cellWidth, m.formatCell(c, p))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// formatCell formats integral weights without decimals, others with two.
func (m *ConfusionMatrix) formatCell(truth, predicted int) string {
	x := m.Counts.At(truth, predicted)
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
