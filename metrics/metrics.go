// Package metrics scores predictions against the truth, with sample weights, by the names scikit-learn users know.
//
// A [Metric] has a name, says what it needs of a model (predictions, decision scores or probabilities) and whether
// greater is better, and turns an [Input] into one number. [ByName] finds one; [ForTask] gives the set worth
// reporting for a task. The tables and curves behind the numbers are [ConfusionMatrix], [ROCCurve],
// [PrecisionRecallCurve] and [CalibrationCurve].
//
// Three laws hold for every metric here:
//   - A row of weight 2 counts as the row written twice, and a row of weight 0 as no row at all.
//   - The order of the rows does not matter (beyond the rounding of sums, which are compensated).
//   - A score is a finite number or an error that names the metric and what is wrong, never a silent NaN.
//
// A score of a clustering that looks at a sample of many rows obeys the first two but for the error of the sample; its
// Doc says so. A score of anomalies is one of two classes: see [Metric.Serves].
//
// Where scikit-learn has the metric, the value is that of its version 1.2, and its convention where a formula is
// undefined (a class never predicted has precision 0). The few differences are said in the metric's Doc.
package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/suggest"
)

// Need says which outputs of a model a metric reads. Where two will do, the first named is taken if both are given.
type Need string

// The outputs that metrics read.
const (
	Predictions           Need = "predictions"
	Probabilities         Need = "probabilities"
	ScoresOrProbabilities Need = "decision scores or probabilities"
	ProbabilitiesOrScores Need = "probabilities or decision scores"
	Deviations            Need = "standard deviations"
	Intervals             Need = "intervals"
	Sets                  Need = "sets of classes"
	PredictionsAndRows    Need = "predictions and the rows themselves" // and no truth
)

// Met reports whether in holds the outputs that n names.
func (n Need) Met(in Input) bool {
	switch n {
	case Predictions:
		return in.Predicted != nil || present(in.PredictedTargets)
	case PredictionsAndRows:
		return in.Predicted != nil && in.Rows != nil
	case Probabilities:
		return present(in.Probabilities)
	case ScoresOrProbabilities, ProbabilitiesOrScores:
		return present(in.Scores) || present(in.Probabilities)
	case Deviations:
		return Predictions.Met(in) && (in.Std != nil || present(in.StdTargets))
	case Intervals:
		return in.Lower != nil || present(in.LowerTargets)
	case Sets:
		return present(in.Sets)
	}
	return false
}

// ErrUndefined is wrapped by the error of a metric whose formula has no value on the rows given though nothing is
// wrong with them, such as an AUC over rows of a single class. A caller that scores many folds may want to go on.
var ErrUndefined = errors.New("undefined on these rows")

// Metric is one way to score predictions. Metrics of a caller's own are literals of this type.
type Metric struct {
	Name            string
	Aliases         []string // other names that ByName accepts
	Doc             string   // one line: the formula or the idea, and how it differs from scikit-learn if it does
	Task            datasets.Task
	GreaterIsBetter bool
	Needs           Need
	Binary          bool // whether it is for two classes and speaks of the second, the positive one, which has code 1

	// Func computes the score. It is called with an input that has been checked for what Task and Needs ask: lengths
	// agree, everything is finite, every weight is positive (Weights may be nil), class codes lie below Classes,
	// which is set. For the needs with a choice, the matrix chosen is in Scores. For regression it is called once
	// per target, always with Truth and the vectors. For clustering, Truth is nil where Needs is PredictionsAndRows.
	Func func(Input) (float64, error)
}

// Score checks the input and returns the metric's value on it; for several targets, the plain mean over targets.
// The cost is O(n), or O(n log n) per class for metrics of a ranking. On an error the value is NaN.
func (m Metric) Score(in Input) (float64, error) {
	score, err := m.score(in)
	if err == nil && (math.IsNaN(score) || math.IsInf(score, 0)) {
		err = fmt.Errorf("%w: the result is %v, the values are too large", ErrUndefined, score)
	}
	if err != nil {
		return math.NaN(), fmt.Errorf("metrics: %s: %w", m.Name, err)
	}
	return score, nil
}

func (m Metric) score(in Input) (float64, error) {
	if m.Func == nil {
		return 0, errors.New("this Metric has no Func")
	}
	in, err := in.checked(m.Task, m.Needs)
	if err != nil {
		return 0, err
	}
	if !present(in.TruthTargets) {
		return m.Func(in)
	}
	_, targets := in.TruthTargets.Dims()
	var total sum
	for t := range targets {
		score, err := m.Func(in.target(t))
		if err != nil {
			return 0, fmt.Errorf("target %d: %w", t, err)
		}
		total.add(score)
	}
	return total.value() / float64(targets), nil
}

// NeedsTruth reports whether the metric compares with a truth; one that does not looks at the rows themselves.
func (m Metric) NeedsTruth() bool { return m.Needs != PredictionsAndRows }

// Serves reports whether the metric scores the predictions of models of a task. Those of two classes serve for
// anomalies, too: class 1 is the anomaly, the decision score how unlike the others a row is.
func (m Metric) Serves(task datasets.Task) bool {
	return m.Task == task || task == datasets.Anomaly && m.Binary && m.Needs != Probabilities
}

// CheckClasses says why the metric cannot score that many classes, nil where it can. It asks the metric
// itself, by rows that are all predicted right.
func (m Metric) CheckClasses(classes int) error {
	if m.Task != datasets.Classification {
		return fmt.Errorf("metrics: %s is for %s", m.Name, m.Task)
	}
	if classes < 2 || classes > maxProbe {
		return nil
	}
	in := Input{Truth: make([]float64, classes), Classes: classes}
	in.Probabilities = mat.NewDense(classes, classes, nil)
	for k := range classes {
		in.Truth[k] = float64(k)
		in.Probabilities.Set(k, k, 1)
	}
	in.Predicted, in.Sets = in.Truth, in.Probabilities
	if _, err := m.Score(in); err != nil && !errors.Is(err, ErrUndefined) {
		return err
	}
	return nil
}

// maxProbe bounds the classes by which a metric is asked: one that takes so many takes more.
const maxProbe = 64

// PositiveClass returns the name of the class that [Metric.Binary] scores speak of, the second of two, whose
// code is 1; "" where there are not two.
func PositiveClass(classes []string) string {
	if len(classes) != 2 {
		return ""
	}
	return classes[1]
}

// Better reports whether score a is strictly better than score b.
func (m Metric) Better(a, b float64) bool {
	if m.GreaterIsBetter {
		return a > b
	}
	return a < b
}

// negated is the metric under its scikit-learn scorer name: the value with its sign turned, so that greater is better.
func (m Metric) negated() Metric {
	loss := m.Func
	m.Name = negation + m.Name
	m.Aliases = nil
	m.Doc = "Minus: " + m.Doc
	m.GreaterIsBetter = true
	m.Func = func(in Input) (float64, error) {
		value, err := loss(in)
		return 0 - value, err // not -value, which turns a perfect 0 into -0
	}
	return m
}

const negation = "neg_"

// registry holds every metric, in the order in which they are listed.
var registry = slices.Concat(classification, classAverages(), ranking, regression, probabilistic, clustering)

// All returns every metric, classification first, in a fixed order.
func All() []Metric { return slices.Clone(registry) }

// Names returns the names of All, in the same order.
func Names() []string {
	names := make([]string, len(registry))
	for i, m := range registry {
		names[i] = m.Name
	}
	return names
}

// ByName returns the metric of that name or alias. Every metric for which less is better is known, too, as neg_ and
// its name, as in scikit-learn's scorers: its value negated, so that greater is better. An unknown name is an error
// that gives a near one, if any, and lists all.
func ByName(name string) (Metric, error) {
	if m, ok := lookup(name); ok {
		return m, nil
	}
	if loss, ok := strings.CutPrefix(name, negation); ok {
		m, ok := lookup(loss)
		if ok && !m.GreaterIsBetter {
			return m.negated(), nil
		}
		if ok {
			return Metric{}, fmt.Errorf("metrics: no metric is named %q: greater is better for %s already", name, m.Name)
		}
	}
	hint := "."
	if near := suggest.Nearest(name, spellings()); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return Metric{}, fmt.Errorf("metrics: no metric is named %q%s Known are %s; and neg_ before those of which less is better",
		name, hint, strings.Join(Names(), ", "))
}

func lookup(name string) (Metric, bool) {
	for _, m := range registry {
		if m.Name == name || slices.Contains(m.Aliases, name) {
			return m, true
		}
	}
	return quantileMetric(name)
}

// ForTask returns the metrics worth reporting for a task, the one to choose models by first. For classification
// they depend on whether there are two classes or more; for the other tasks, classes is not read. A model may lack
// what some of them need, and rows without a target the truth: see [Need.Met] and [Metric.NeedsTruth].
func ForTask(task datasets.Task, classes int) []Metric {
	names := []string{"r2", "root_mean_squared_error", "mean_absolute_error", "relative_rmse", "nlpd"}
	switch {
	case task == datasets.Classification && classes > 2:
		names = []string{"accuracy", "balanced_accuracy", "f1_macro", "log_loss", "roc_auc_ovr"}
	case task == datasets.Classification:
		names = []string{"accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc"}
	case task == datasets.Clustering:
		names = []string{"silhouette", "calinski_harabasz", "davies_bouldin", "adjusted_rand", "normalized_mutual_info"}
	case task == datasets.Anomaly:
		names = []string{"roc_auc", "average_precision", "f1", "precision", "recall"}
	case task != datasets.Regression:
		return nil
	}
	var set []Metric
	for _, name := range names {
		m, _ := lookup(name)
		set = append(set, m)
	}
	return set
}

// spellings returns all names that ByName knows, but those of other quantiles.
func spellings() (names []string) {
	for _, m := range registry {
		for _, known := range append([]string{m.Name}, m.Aliases...) {
			if names = append(names, known); !m.GreaterIsBetter {
				names = append(names, negation+known)
			}
		}
	}
	return names
}

// sum adds numbers with Neumaier's compensation, so that its error does not grow with how many there are.
type sum struct{ high, low float64 }

func (s *sum) add(x float64) {
	t := s.high + x
	if math.Abs(s.high) >= math.Abs(x) {
		s.low += (s.high - t) + x
	} else {
		s.low += (x - t) + s.high
	}
	s.high = t
}

func (s *sum) value() float64 { return s.high + s.low }
