// Package metrics evaluates predictions against true values, with sample weights and under
// scikit-learn's metric names.
//
// A [Metric] reduces an [Input] to one number. It declares which outputs of a model it requires and
// whether greater is better. [ByName] finds a metric; [ForTask] returns the metrics to report for a
// task. [Confusion] and the methods of [Input] return tables and curves.
//
// Every metric has three properties:
//   - A row of weight 2 counts as two equal rows, and a row of weight 0 is ignored.
//   - The order of the rows does not matter, up to the rounding of compensated sums.
//   - The result is a finite number, or an error that names the metric and the cause; it is never
//     NaN.
//
// Clustering metrics that subsample large inputs have the first two properties up to sampling
// error. Anomaly detection uses the binary classification metrics, see [Metric.SupportsTask].
//
// Values and conventions for undefined cases are those of scikit-learn 1.2: the precision of a
// class that is never predicted is 0. Metric.Doc states the differences.
package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Requirement names the outputs that a metric reads. Of two alternatives, it reads the first one
// that is available.
type Requirement string

// Requirements of metrics.
const (
	RequiresPredictions         Requirement = "predictions"
	RequiresProbabilities       Requirement = "probabilities"
	RequiresScores              Requirement = "decision scores or probabilities"
	probabilitiesOrScores       Requirement = "probabilities or decision scores"
	RequiresStdDevs             Requirement = "standard deviations"
	RequiresIntervals           Requirement = "intervals"
	RequiresSets                Requirement = "sets of classes"
	RequiresPredictionsAndCosts Requirement = "predictions and the costs of mistakes"
	predictionsAndRows          Requirement = "predictions and the rows themselves" // unsupervised
)

// SatisfiedBy reports whether in contains the required outputs.
func (n Requirement) SatisfiedBy(in Input) bool {
	switch n {
	case RequiresPredictions:
		return in.YPred != nil || hasEntries(in.YPredTargets)
	case predictionsAndRows:
		return in.YPred != nil && in.Rows != nil
	case RequiresPredictionsAndCosts:
		return in.YPred != nil && hasEntries(in.Costs)
	case RequiresProbabilities:
		return hasEntries(in.Probabilities)
	case RequiresScores, probabilitiesOrScores:
		return hasEntries(in.Scores) || hasEntries(in.Probabilities)
	case RequiresStdDevs:
		return RequiresPredictions.SatisfiedBy(in) && (in.Std != nil || hasEntries(in.StdTargets))
	case RequiresIntervals:
		return in.Lower != nil || hasEntries(in.LowerTargets)
	case RequiresSets:
		return hasEntries(in.Sets)
	}
	return false
}

// ErrUndefined is wrapped by the error of a metric that has no value on valid input, such as the
// AUC of rows of a single class. Callers that score several folds may continue.
var ErrUndefined = errors.New("undefined on these rows")

// Metric is an evaluation metric. Custom metrics are literals of this type, which [Register] gives their name.
type Metric struct {
	Name            string
	Aliases         []string // accepted by ByName
	Doc             string   // one line: formula, and differences from scikit-learn
	Task            datasets.Task
	GreaterIsBetter bool
	Requires        Requirement
	Binary          bool // whether it evaluates the positive class, code 1, of two classes
	MultiLabel      bool // whether a metric of classes also evaluates several labels per row

	// Func computes the value of a validated input: lengths agree, all values are finite, weights
	// are positive or Weights is nil, and class codes are below Classes, which is set. Of
	// alternative requirements, Scores contains the selected matrix. Regression calls it once per
	// target with YTrue and the vectors. For unsupervised metrics YTrue is nil, and for several labels
	// YTrueTargets and YPredTargets or Scores replace the vectors.
	Func func(Input) (float64, error)
}

// Score validates the input and returns the value of the metric; for several targets, their
// unweighted mean. Cost: O(n), or O(n log n) per class for ranking metrics. On an error the value
// is NaN.
func (m Metric) Score(in Input) (float64, error) {
	score, err := m.score(in)
	if err == nil && (math.IsNaN(score) || math.IsInf(score, 0)) {
		err = fmt.Errorf("%w: the result is %v: the values are too large", ErrUndefined, score)
	}
	if err != nil {
		return math.NaN(), fmt.Errorf("metrics: %s: %w", m.Name, err)
	}
	return score, nil
}

func (m Metric) score(in Input) (float64, error) {
	if m.Func == nil {
		return 0, errors.New("field Func must not be nil")
	}
	task := m.Task
	if m.MultiLabel && hasEntries(in.YTrueTargets) {
		task = datasets.MultiLabel
	}
	in, err := in.validate(task, m.Requires)
	if err != nil {
		return 0, err
	}
	if !hasEntries(in.YTrueTargets) || task == datasets.MultiLabel {
		return m.Func(in)
	}
	_, targets := in.YTrueTargets.Dims()
	var total sum
	for t := range targets {
		score, err := m.Func(in.singleTarget(t))
		if err != nil {
			return 0, fmt.Errorf("target %d: %w", t, err)
		}
		total.add(score)
	}
	return total.value() / float64(targets), nil
}

// IsSupervised reports whether the metric requires true values. Unsupervised metrics read
// [Input.Rows].
func (m Metric) IsSupervised() bool { return m.Requires != predictionsAndRows }

// SupportsTask reports whether the metric evaluates models of a task. Binary classification metrics
// also evaluate anomaly detection: class 1 is the anomaly, and the decision score is the anomaly
// score.
func (m Metric) SupportsTask(task datasets.Task) bool {
	return m.Task == task || task == datasets.Anomaly && m.Binary && m.Requires != RequiresProbabilities ||
		task == datasets.MultiLabel && m.MultiLabel
}

// CheckClasses returns an error if the metric does not support that number of classes. It evaluates
// the metric on perfect predictions.
func (m Metric) CheckClasses(classes int) error {
	if m.Task != datasets.Classification {
		return fmt.Errorf("metrics: %s supports %s only", m.Name, m.Task)
	}
	if classes < 2 || classes > maxProbedClasses {
		return nil
	}
	in := Input{YTrue: make([]float64, classes), Classes: classes}
	in.Probabilities = mat.NewDense(classes, classes, nil)
	for k := range classes {
		in.YTrue[k] = float64(k)
		in.Probabilities.Set(k, k, 1)
	}
	in.YPred, in.Sets, in.Costs = in.YTrue, in.Probabilities, mat.NewDense(classes, classes, nil)
	if _, err := m.Score(in); err != nil && !errors.Is(err, ErrUndefined) {
		return err
	}
	return nil
}

// maxProbedClasses limits the evaluation in CheckClasses; a metric that supports 64 classes
// supports more.
const maxProbedClasses = 64

// PositiveClass returns the class that binary metrics evaluate, the second of two; "" unless there
// are two classes.
func PositiveClass(classes []string) string {
	if len(classes) != 2 {
		return ""
	}
	return classes[1]
}

// Better reports whether a is strictly better than b.
func (m Metric) Better(a, b float64) bool {
	if m.GreaterIsBetter {
		return a > b
	}
	return a < b
}

// negated returns the metric under its scikit-learn scorer name, with the sign reversed.
func (m Metric) negated() Metric {
	loss := m.Func
	m.Name = negation + m.Name
	m.Aliases = nil
	m.Doc = "Negated: " + m.Doc
	m.GreaterIsBetter = true
	m.Func = func(in Input) (float64, error) {
		value, err := loss(in)
		return 0 - value, err // 0 − value avoids −0
	}
	return m
}

const negation = "neg_"

// builtin contains the metrics of this package in listing order.
var builtin = slices.Concat(classificationMetrics, averagedMetrics(), rankingMetrics, labelMetrics, regressionMetrics,
	devianceMetrics, probabilisticMetrics, clusteringMetrics)

// custom contains the metrics of [Register].
var custom struct {
	sync.RWMutex
	list []Metric
}

// Register makes a metric of the program known by its name, to [ByName] and so to every score: of searches,
// package auto, cross-validation, thresholds, experiment files and reports. Requires "" means RequiresPredictions. A
// later call with the same name replaces the metric; names of this package are taken. Journals of searches identify a
// metric by its name.
//
//	err := metrics.Register(metrics.Metric{Name: "within_tenth", Task: datasets.Regression, GreaterIsBetter: true,
//		Func: func(in metrics.Input) (float64, error) { … }})
func Register(m Metric) error {
	if m.Requires == "" {
		m.Requires = RequiresPredictions
	}
	switch {
	case !suggest.ValidName(m.Name):
		return fmt.Errorf("metrics: register: name must be letters, digits, _ and -, got %q", m.Name)
	case m.Task.Check() != nil || m.Task == datasets.AnyTask:
		return fmt.Errorf("metrics: register %s: unknown task %q", m.Name, string(m.Task))
	case m.Func == nil:
		return fmt.Errorf("metrics: register %s: Func must not be nil", m.Name)
	case !slices.ContainsFunc(builtin, func(o Metric) bool { return o.Requires == m.Requires }):
		return fmt.Errorf("metrics: register %s: unknown requirement %q", m.Name, m.Requires)
	}
	custom.Lock()
	defer custom.Unlock()
	others := slices.DeleteFunc(slices.Clone(custom.list), func(o Metric) bool { return o.Name == m.Name })
	for _, name := range append([]string{m.Name}, m.Aliases...) {
		if o, taken := find(name, others); taken {
			return fmt.Errorf("metrics: register %s: the name %s is taken by %s", m.Name, name, o.Name)
		}
	}
	custom.list = append(others, m)
	return nil
}

// All returns all metrics in a fixed order, classification first, those of [Register] last.
func All() []Metric {
	custom.RLock()
	defer custom.RUnlock()
	return slices.Concat(builtin, custom.list)
}

// names returns the names of all metrics.
func names() []string {
	var names []string
	for _, m := range All() {
		names = append(names, m.Name)
	}
	return names
}

// ByName returns the metric with the given name or alias. As in scikit-learn's scorers, the prefix
// neg_ negates a loss, so that greater is better. The error for an unknown name suggests the
// nearest name and lists all.
func ByName(name string) (Metric, error) {
	all := All()
	if m, ok := find(name, all[len(builtin):]); ok {
		return m, nil
	}
	if loss, ok := strings.CutPrefix(name, negation); ok {
		m, ok := find(loss, all[len(builtin):])
		if ok && !m.GreaterIsBetter {
			return m.negated(), nil
		}
		if ok {
			return Metric{}, fmt.Errorf("metrics: unknown metric %q: greater is already better for %s", name, m.Name)
		}
	}
	hint := "."
	if near := suggest.Nearest(name, knownNames()); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return Metric{}, fmt.Errorf("metrics: unknown metric %q%s Known metrics: %s; losses also with the prefix neg_",
		name, hint, strings.Join(names(), ", "))
}

// find returns the metric of this package, or of more, with the given name or alias.
func find(name string, more []Metric) (Metric, bool) {
	for _, list := range [][]Metric{builtin, more} {
		for _, m := range list {
			if m.Name == name || slices.Contains(m.Aliases, name) {
				return m, true
			}
		}
	}
	if m, ok := tweedieMetric(name); ok {
		return m, true
	}
	return quantileMetric(name)
}

// ForTask returns the metrics to report for a task, the default for model selection first. For
// classification they depend on the number of classes; other tasks ignore classes. Check
// availability with [Requirement.SatisfiedBy] and [Metric.IsSupervised].
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
	case task == datasets.MultiLabel:
		names = []string{"f1_micro", "f1_macro", "f1_samples", "subset_accuracy", "hamming_loss", "jaccard_samples",
			"label_ranking_average_precision"}
	case task != datasets.Regression:
		return nil
	}
	var set []Metric
	for _, name := range names {
		m, _ := find(name, nil)
		set = append(set, m)
	}
	return set
}

// knownNames returns all names that ByName accepts, except unlisted quantiles and powers.
func knownNames() (names []string) {
	for _, m := range All() {
		for _, known := range append([]string{m.Name}, m.Aliases...) {
			if names = append(names, known); !m.GreaterIsBetter {
				names = append(names, negation+known)
			}
		}
	}
	return names
}

// sum is a compensated sum (Neumaier): its error does not grow with the number of terms.
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
