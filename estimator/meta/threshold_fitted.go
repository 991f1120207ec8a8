package meta

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
	"github.com/bochner-ml/bochner/model"
)

// Cutoff is the threshold of a [Threshold] with the scores of other thresholds on out-of-fold rows.
type Cutoff struct {
	Value   float64   `json:"value"`    // larger scores are of the second class
	Usual   float64   `json:"usual"`    // default threshold of the model: ½ of probabilities, 0 of scores
	Score   string    `json:"score"`    // metric, or "cost"
	Best    float64   `json:"best"`     // at Value
	AtUsual float64   `json:"at_usual"` // at Usual
	At      []float64 `json:"at"`       // compared thresholds, ascending, at most 100
	Scores  []float64 `json:"scores"`   // at the thresholds At
}

// decision is the decision rule of a classifier.
type decision struct {
	classes  int
	present  []int // codes of the classes with training rows
	probable bool  // whether the threshold is one of probabilities
	found    Cutoff
	costs    []float64 // classes × classes, of more than two that are present
}

// The usual threshold, and the bounds of scores.
func (d decision) usual() float64 {
	if d.probable {
		return 0.5
	}
	return 0
}

func (d decision) low() float64 {
	if d.probable {
		return 0
	}
	return math.Inf(-1)
}

func (d decision) high() float64 {
	if d.probable {
		return 1
	}
	return math.Inf(1)
}

// compared returns the output that thresholds are of: the probabilities or the scores.
func (d decision) compared(pred estimator.Prediction) *mat.Dense {
	if d.probable {
		return pred.Probabilities
	}
	return pred.Scores
}

// score returns the number of a row that is compared with the threshold: of two classes that rows have among more, the
// share of the second in the probability of both, or the difference of their scores.
func (d decision) score(pred estimator.Prediction, row int) (score float64, err error) {
	from, width := d.compared(pred), d.classes
	if !d.probable && d.classes == 2 {
		width = 1
	}
	if from == nil {
		return 0, errNoScores
	}
	if _, w := from.Dims(); w != width {
		return 0, errOtherClasses
	}
	values := from.RawRowView(row)
	switch a, b := d.present[0], d.present[1]; {
	case width == 1:
		score = values[0]
	case !d.probable:
		score = values[b] - values[a]
	case width == 2:
		score = values[1]
	case values[a]+values[b] == 0:
		score = d.usual()
	default:
		score = values[b] / (values[a] + values[b])
	}
	if score-score != 0 {
		return 0, errors.New("a score of the model within is no finite number")
	}
	return score, nil
}

var errOtherClasses = errors.New("the model within is of other classes")

// read applies the decision rule, and sets scores of which the largest is that of the prediction.
func (d decision) read(pred estimator.Prediction) (estimator.Prediction, error) {
	out := pred
	if n := len(pred.Values); n == 0 {
		out.Values, out.Scores = []float64{}, &mat.Dense{}
		return out, nil
	}
	n, width := len(pred.Values), d.classes
	if width == 2 {
		width = 1
	}
	out.Values, out.Scores = make([]float64, n), mat.NewDense(n, width, nil)
	for i := range n {
		scores := out.Scores.RawRowView(i)
		if err := d.rescore(scores, pred, i); err != nil {
			return estimator.Prediction{}, err
		}
		out.Values[i] = stacking.ClassOf(scores)
	}
	return out, nil
}

// rescore writes the scores of a row.
func (d decision) rescore(scores []float64, pred estimator.Prediction, row int) error {
	if d.costs != nil {
		return d.expected(scores, pred, row)
	}
	s, err := d.score(pred, row)
	if err != nil {
		return err
	}
	above := s - d.found.Value
	if len(scores) == 1 {
		scores[0] = above
		return nil
	}
	for k := range scores {
		scores[k] = -math.Abs(above) - 1
	}
	scores[d.present[0]], scores[d.present[1]] = -above, above
	return nil
}

// expected writes minus the expected cost of each class: −Σ_i p_i·cost_ij, and of one without training rows less than
// any other may have.
func (d decision) expected(scores []float64, pred estimator.Prediction, row int) error {
	if pred.Probabilities == nil {
		return errNoProbabilities
	}
	p := pred.Probabilities.RawRowView(row)
	if len(p) != d.classes {
		return errOtherClasses
	}
	never := -2*slices.Max(d.costs) - 1
	for j := range scores {
		if scores[j] = 0; !slices.Contains(d.present, j) {
			scores[j] = never
			continue
		}
		for i, q := range p {
			scores[j] -= q * d.costs[i*d.classes+j]
		}
	}
	return nil
}

// FittedThreshold is a fitted [Threshold]: a classifier, and how its classes are decided between.
type FittedThreshold struct {
	wrapper
	classes []string
	rule    decision

	labels  []string // of several labels, with a threshold each; nil for classes
	cutoffs []Cutoff
}

// Cutoff returns the threshold between two classes.
func (f *FittedThreshold) Cutoff() (c Cutoff, ok bool) {
	c = f.rule.found
	c.At, c.Scores = slices.Clone(c.At), slices.Clone(c.Scores)
	return c, f.rule.costs == nil && f.labels == nil
}

// Cutoffs returns the threshold of each of several labels, without the scores of others; nil for classes.
func (f *FittedThreshold) Cutoffs() []Cutoff { return slices.Clone(f.cutoffs) }

// WithoutThreshold returns the inner classifier and the threshold between two classes.
func (f *FittedThreshold) WithoutThreshold() (inner estimator.Predictor, threshold float64, ofProbabilities, ok bool) {
	ok = f.rule.costs == nil && f.labels == nil && f.rule.classes == 2
	return f.inner, f.rule.found.Value, f.rule.probable, ok
}

// Refit fits the inner classifier to data and keeps the threshold or the costs.
func (f *FittedThreshold) Refit(ctx context.Context, spec estimator.Estimator, data datasets.Set) (estimator.Predictor,
	error) {
	out := *f
	var err error
	if f.labels == nil {
		data = namedClasses(data, f.classes)
	}
	out.wrapper, err = f.refit(ctx, spec, data)
	return &out, Threshold{}.named(err)
}

// Outputs returns the outputs of the inner classifier.
func (f *FittedThreshold) Outputs() estimator.Outputs {
	out := estimator.OutputsOf(f.inner)
	out.Has, out.Classes = out.Has|estimator.OutputScores, slices.Clone(f.classes)
	return out // with the labels of the inner classifier, if any
}

// PredictFull returns class and scores of each row of X, and the other outputs of the inner
// estimator. The score is the probability or score of the second of two classes minus the
// threshold; for more classes the negated expected cost of each.
func (f *FittedThreshold) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	if want.Outputs != 0 {
		want.Outputs |= estimator.OutputValues | estimator.OutputScores | estimator.OutputProbabilities
	}
	pred, err := estimator.Predict(ctx, f.inner, X, want)
	if err != nil {
		return pred, Threshold{}.named(err)
	}
	var out estimator.Prediction
	if f.labels != nil {
		out, err = f.readLabels(pred)
	} else {
		out, err = f.rule.read(pred)
	}
	return out, Threshold{}.named(err)
}

// Predict returns the code of the class of each row of X.
func (f *FittedThreshold) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictFull(ctx, X, estimator.Request{Outputs: estimator.OutputValues})
	return all.Values, err
}

// State serializes the threshold or the costs, and the model.
func (f *FittedThreshold) State(s *model.State) {
	f.wrapper.state(s)
	if s.Restoring() && s.Has("labels") || f.labels != nil {
		f.labelState(s)
		return
	}
	s.Strings("classes", &f.classes)
	f.rule.classes = len(f.classes)
	f.rule.state(s)
	if s.Restoring() && s.Err() == nil {
		has := estimator.OutputsOf(f.inner)
		s.Require(len(has.Classes) == len(f.classes), "the model within is of other classes")
		s.Require(!f.rule.probable && f.rule.costs == nil || has.Has.Has(estimator.OutputProbabilities),
			"the model within knows no probabilities")
	}
}

// state keeps the rule.
func (d *decision) state(s *model.State) {
	s.Ints("present", &d.present)
	several := d.costs != nil
	s.Bool("several", &several)
	if several {
		s.Floats("costs", &d.costs)
	} else {
		s.Bool("probabilities", &d.probable)
		s.Float("threshold", &d.found.Value)
		s.String("score", &d.found.Score)
		s.Float("best", &d.found.Best)
		s.Float("at_usual", &d.found.AtUsual)
		s.Floats("at", &d.found.At)
		s.Floats("scores", &d.found.Scores)
	}
	if !s.Restoring() {
		return
	}
	d.found.Usual = d.usual()
	finite := func(v float64) bool { return v-v == 0 }
	negative := func(v float64) bool { return !(v >= 0) || math.IsInf(v, 0) }
	s.Require(d.classes >= 2, "there are no two classes")
	s.Require(!slices.ContainsFunc(d.present, func(k int) bool { return k < 0 || k >= d.classes }),
		"there is a class without a name")
	if several {
		s.Require(len(d.costs) == d.classes*d.classes && !slices.ContainsFunc(d.costs, negative),
			"costs are not those of the classes")
		return
	}
	s.Require(len(d.present) == 2 && d.present[0] < d.present[1], "a threshold is between two classes")
	s.Require(finite(d.found.Value), "the threshold is no number")
	s.Require(len(d.found.At) == len(d.found.Scores), "the thresholds and their scores are not as many")
}
