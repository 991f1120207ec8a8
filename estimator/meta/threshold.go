package meta

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/threshold"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// Threshold tunes the decision of a classifier for a metric or for misclassification costs, instead
// of predicting the most probable class. It is useful for rare classes and for errors of unequal
// cost. The model is fitted to all rows and is not changed.
//
// Of two classes the second is predicted if its probability (or score, without probabilities)
// exceeds a threshold t instead of ½ (or 0). t is optimal on out-of-fold rows: for Score, any
// metric of predicted classes, or for the mean cost of a row with Costs. All distinct t are
// compared in O(n log n); ties go to the t nearest to the default. The score at t is slightly
// optimistic, because it was selected.
//
// More than two classes have no threshold: with Costs and probabilities the class of minimum
// expected cost is predicted, argmin_j Σ_i p_i·cost_ij, and only the model is fitted. Expected
// costs require calibrated probabilities, see [Calibrated].
//
// Each of several labels has a threshold of its own (see [datasets.Tags]), for Score; auto is
// then the F1 of the label. Folds are shuffled; a label that all rows have, or none, keeps the default.
//
// Probabilities are those of the model. The largest score is that of the predicted class: scores
// are the probability or the score minus t for two classes, the negated expected costs for more. A
// class without training rows is never predicted.
//
// Out-of-fold scores use Folds folds as in [Calibrated]; 0 means leave-one-out if that is exact,
// else 5 folds. Row weights are used. The cost is Folds + 1 fits, shared as those of Calibrated.
// The scikit-learn equivalent is TunedThresholdClassifierCV, which averages over folds and compares
// 100 thresholds; Threshold evaluates all out-of-fold rows jointly. (Elkan, "The foundations of
// cost-sensitive learning", IJCAI 2001.)
//
// Fit returns an error for numeric targets, a class without out-of-fold scores, such as one of a
// single row, an unknown class name, and more than two classes without costs or without
// probabilities. Use [NewThreshold]: the zero value is invalid.
type Threshold struct {
	Score     string
	Costs     Costs
	Folds     int
	Estimator estimator.Estimator
}

// NewThreshold returns the spec that decides between the classes of by balanced accuracy.
func NewThreshold(inner estimator.Estimator) Threshold {
	return Threshold{Score: "auto", Estimator: specs.ByValue(inner)}
}

// Params declares score, costs, the number of folds, and the parameters of the model, below of.
func (s *Threshold) Params(l *param.List) {
	l.String(&s.Score, "score", "metric to optimize, of predicted classes; auto: the cost if it is given, else "+
		"balanced_accuracy, or f1 for each of several labels")
	l.Check("score", s.checkScore)
	l.Value(&s.Costs, "cost", "misclassification costs, instead of a score")
	declareFolds(l, &s.Folds, "number of folds for out-of-fold scores; 0: exact leave-one-out if supported, else 5")
	l.Child("estimator", &s.Estimator)
}

// checkScore returns an error if the score cannot select a threshold.
func (s *Threshold) checkScore() error {
	if s.Score == "auto" {
		return nil
	}
	m, err := metrics.ByName(s.Score)
	switch {
	case err != nil:
		f := param.FieldError{Constraint: "auto, or a metric of predicted classes: " + suggest.Alternatives(decisive())}
		if near := suggest.Nearest(s.Score, decisive()); near != "" {
			f.Hint = "did you mean " + near + "?"
		}
		return f
	case m.Task != datasets.Classification:
		return param.FieldError{Problem: fmt.Sprintf("%s is for %s, and a threshold decides between classes", m.Name, m.Task),
			Hint: "take " + suggest.Alternatives(decisive())}
	case m.Requires != metrics.RequiresPredictions:
		return param.FieldError{Problem: fmt.Sprintf("%s reads %s, which are the same for every threshold", m.Name,
			m.Requires), Hint: "take " + suggest.Alternatives(decisive())}
	case s.Costs.defined():
		return param.FieldError{Problem: "a threshold is chosen by a score or by costs, and both are given",
			Hint: "leave out one of the two"}
	}
	return nil
}

// decisive returns the metrics of predicted classes.
func decisive() (names []string) {
	for _, m := range metrics.All() {
		if m.Task == datasets.Classification && m.Requires == metrics.RequiresPredictions {
			names = append(names, m.Name)
		}
	}
	return names
}

func (s Threshold) named(err error) error { return wrapError("threshold", err) }

func (s Threshold) within() estimator.Estimator { return s.Estimator }

// folding returns the cross-validation for two classes; more classes need none.
func (s Threshold) folding(classes int) int {
	if classes > 2 {
		return noFolds
	}
	return s.Folds
}

// CheckClasses returns an error, as [param.FieldErrors] below the paths score and cost, if the spec
// does not support these classes.
func (s Threshold) CheckClasses(classes []string) error { return s.errs(len(classes), classes).Err() }

// errs returns the errors for the number of classes present and the class names.
func (s Threshold) errs(present int, classes []string) (errs param.FieldErrors) {
	switch {
	case present <= 2:
	case !s.Costs.defined():
		errs = append(errs, param.FieldError{Path: "score",
			Problem: fmt.Sprintf("a threshold is between two classes, and here are %d", present),
			Hint:    "give cost by the names of the classes"})
	case s.Costs.Of == nil:
		errs = append(errs, param.FieldError{Path: "cost",
			Problem: fmt.Sprintf("false_positive and false_negative are of two classes, and here are %d", present),
			Hint:    "give the cost of each class by its name"})
	}
	return append(errs, s.Costs.strangers(classes)...)
}

// suits returns an error if the spec does not support the classes of the rows.
func (s Threshold) suits(l *design.Labels) error {
	present := presentOf(l)
	if len(present) < 2 {
		return errors.New("the rows are all of one class, and there is nothing to decide")
	}
	errs := s.errs(len(present), l.Classes)
	if len(present) == 2 {
		errs = append(errs, lonely(l, present)...)
	}
	return errs.Err()
}

// lonely are the classes of a single row, of which no model has a score that has not seen it.
func lonely(l *design.Labels, present []int) (errs param.FieldErrors) {
	rows := make([]int, len(l.Classes))
	for i, c := range l.Y {
		if l.Weights[i] > 0 {
			rows[int(c)]++
		}
	}
	for _, k := range present {
		if rows[k] < 2 {
			errs = append(errs, param.FieldError{Problem: fmt.Sprintf("class %q has a single row, and a threshold is chosen "+
				"on rows that a model has not seen: two are needed", l.Classes[k])})
		}
	}
	return errs
}

// presentOf returns the codes of the classes that rows have.
func presentOf(l *design.Labels) (present []int) {
	for k := range l.Classes {
		if !l.Absent[k] {
			present = append(present, k)
		}
	}
	return present
}

// Cost returns the cost of one fit per fold, or of leave-one-out predictions, and of the final fit;
// for more than two classes that of the model.
func (s Threshold) Cost(shape datasets.Shape) datasets.Cost { return scoreBasedCost(s, shape) }

// FitBatch shares work of the inner estimators between candidates and folds, within each fold.
func (Threshold) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return batchScoreBased[Threshold](ctx, b)
}

// PlanBatch is the plan of the inner estimators.
func (Threshold) PlanBatch(b batch.Job) (int64, error) { return planScoreBased[Threshold](b) }

// Tags are those of [Calibrated], labels of the inner estimator, and the costs.
func (s Threshold) Tags() datasets.Tags {
	out := scoreBasedTags(s)
	if out.MultiLabel = datasets.TagsOf(s.Estimator).MultiLabel; s.Costs.defined() {
		out.Costs = s.costTable
	}
	return out
}

// Fit fits the model and finds the threshold; the result is a [*FittedThreshold].
func (s Threshold) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if data.Targets != nil {
		fitted, err := s.fitLabels(ctx, data)
		if err != nil {
			return nil, s.named(err)
		}
		return fitted, nil
	}
	fitted, learned, classes, err := fitScoreBased(ctx, s, data)
	if err != nil {
		return nil, s.named(err)
	}
	rule := learned.(decision)
	if rule.costs != nil && !estimator.OutputsOf(fitted).Has.Has(estimator.OutputProbabilities) {
		return nil, s.named(errNoProbabilities)
	}
	return &FittedThreshold{wrapper: wrapper{data.Cols(), fitted}, classes: classes, rule: rule}, nil
}

var errNoProbabilities = errors.New("the model within knows no probabilities, which expected costs are made of; put " +
	"calibrated around it")

// learn selects the threshold of two classes; for more it uses the costs.
func (s Threshold) learn(ctx context.Context, found outOfFold, l *design.Labels) (scoreMap, error) {
	present := presentOf(l)
	rule := decision{classes: len(l.Classes), present: present}
	if len(present) > 2 {
		rule.costs = s.Costs.table(l.Classes)
		return rule, nil
	}
	if found.Scores == nil {
		return nil, errNoScores
	}
	rule.probable = found.Probabilities != nil
	n, _ := found.Scores.Dims()
	scores, positive, weights := make([]float64, n), make([]bool, n), make([]float64, n)
	mass := map[bool]float64{}
	for i := range n {
		if !found.present[i] || l.Weights[i] == 0 {
			continue
		}
		var err error
		if scores[i], err = rule.score(found.Prediction, i); err != nil {
			return nil, err
		}
		positive[i], weights[i] = int(l.Y[i]) == present[1], l.Weights[i]
		mass[positive[i]] += weights[i]
	}
	for k, c := range present {
		if mass[k == 1] == 0 {
			return nil, fmt.Errorf("no row of class %q has a score of a model that has not seen it: it needs rows in two groups",
				l.Classes[c])
		}
	}
	cuts := threshold.Cuts(scores, positive, weights, rule.low(), rule.high(), rule.usual())
	return s.chosen(ctx, rule, cuts, l.Classes)
}

// chosen is the rule with the best of the cuts.
func (s Threshold) chosen(ctx context.Context, rule decision, cuts []threshold.Cut, classes []string) (scoreMap,
	error) {
	name, greater, value, err := s.objective(rule.present, classes)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(cuts))
	for k, c := range cuts {
		if k%4096 == 0 && ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		values[k], err = value(c)
		if errors.Is(err, metrics.ErrUndefined) {
			values[k] = math.NaN()
		} else if err != nil {
			return nil, err
		}
	}
	best, usual := threshold.Best(cuts, values, greater, rule.usual()), threshold.Usual(cuts, rule.usual())
	if best < 0 {
		return nil, fmt.Errorf("%s is undefined at every threshold", name)
	}
	rule.found = Cutoff{Value: cuts[best].At, Usual: rule.usual(), Score: name, Best: values[best], AtUsual: values[usual]}
	for _, k := range threshold.Thinned(len(cuts), curvePoints, best, usual) {
		if !math.IsNaN(values[k]) {
			rule.found.At, rule.found.Scores = append(rule.found.At, cuts[k].At), append(rule.found.Scores, values[k])
		}
	}
	return rule, nil
}

// curvePoints is the number of thresholds stored in a Cutoff.
const curvePoints = 100

// objective returns the metric or cost that the threshold optimizes.
func (s Threshold) objective(present []int, classes []string) (name string, greater bool,
	value func(threshold.Cut) (float64, error), err error) {
	if s.Costs.defined() {
		table, k := s.Costs.table(classes), len(classes)
		a, b := present[0], present[1]
		return "cost", false, func(c threshold.Cut) (float64, error) {
			total := c.TrueNegative + c.FalsePositive + c.FalseNegative + c.TruePositive
			return (c.TrueNegative*table[a*k+a] + c.FalsePositive*table[a*k+b] +
				c.FalseNegative*table[b*k+a] + c.TruePositive*table[b*k+b]) / total, nil
		}, nil
	}
	name = s.Score
	if name == "auto" {
		name = "balanced_accuracy"
	}
	m, err := metrics.ByName(name)
	if err != nil {
		return "", false, nil, err
	}
	truth, predicted := []float64{0, 0, 1, 1}, []float64{0, 1, 0, 1}
	return m.Name, m.GreaterIsBetter, func(c threshold.Cut) (float64, error) { // a weight is n rows
		return m.Score(metrics.Input{YTrue: truth, YPred: predicted,
			Weights: []float64{c.TrueNegative, c.FalsePositive, c.FalseNegative, c.TruePositive}, Classes: 2})
	}, nil
}
