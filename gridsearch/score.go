package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// metrics returns the metrics by name; the first one decides. Without data and without a Metric,
// none decides.
func (s Search) metrics(data *datasets.Set) ([]metrics.Metric, param.FieldErrors) {
	var out []metrics.Metric
	var errs param.FieldErrors
	own := datasets.TagsOf(s.Estimator).Task
	labels := data != nil && hasLabels(*data, own)
	add := func(path, name string) {
		m, err := metrics.ByName(name)
		if err == nil && labels && m.SupportsTask(datasets.MultiLabel) {
			m.Task = datasets.MultiLabel
		}
		switch {
		case err != nil:
			errs = append(errs, param.FieldError{Path: path, Problem: err.Error(), Err: err})
		case own.Unsupervised() && !m.SupportsTask(own):
			errs = append(errs, param.FieldError{Path: path, Problem: fmt.Sprintf("%s is for %s, the estimator for %s", m.Name,
				m.Task, own)})
		case slices.ContainsFunc(out, func(o metrics.Metric) bool { return o.Name == m.Name }):
		case len(out) > 0 && out[0].Task != m.Task && !own.Unsupervised() &&
			!(out[0].SupportsTask(datasets.MultiLabel) && m.SupportsTask(datasets.MultiLabel)):
			errs = append(errs, param.FieldError{Path: path, Problem: fmt.Sprintf("%s is for %s, %s for %s", m.Name, m.Task,
				out[0].Name, out[0].Task)})
		default:
			out = append(out, m)
		}
	}
	if s.Score != "" {
		add("score", s.Score)
	} else if own.Unsupervised() && data != nil {
		add("score", defaultUnsupervisedScore(own, data.Y != nil))
	} else if data != nil {
		task, classes := datasets.Regression, len(data.Schema.Classes())
		switch {
		case labels:
			task = datasets.MultiLabel
		case classes > 0:
			task = datasets.Classification
		case own == datasets.Classification: // of codes that the schema does not name
			task = own
			for _, y := range data.Y {
				classes = max(classes, int(min(y, maxClasses))+1)
			}
		}
		add("score", metrics.ForTask(task, classes)[0].Name)
	}
	for _, name := range s.Scores {
		add("scores", name)
	}
	if (s.Score != "" || data != nil) && len(out) > 0 {
		errs = append(errs, s.checkStartScore(out[0])...)
	}
	return out, errs
}

// hasLabels reports whether the targets are several labels per row, by the schema or the estimator.
func hasLabels(data datasets.Set, own datasets.Task) bool {
	return data.Targets != nil && data.Targets.RawMatrix().Cols > 1 &&
		(own == datasets.Classification || data.Schema.Labels() != nil)
}

// defaultUnsupervisedScore returns the default deciding metric of an unsupervised task: one that
// uses the targets, if there are any.
func defaultUnsupervisedScore(task datasets.Task, targets bool) string {
	switch {
	case task == datasets.Anomaly:
		return "roc_auc"
	case targets:
		return "adjusted_rand"
	}
	return "silhouette"
}

// task returns the task of the estimator if it is unsupervised, else that of the deciding metric.
func (s Search) task(list []metrics.Metric) datasets.Task {
	if own := datasets.TagsOf(s.Estimator).Task; own.Unsupervised() {
		return own
	}
	return list[0].Task
}

// prepareTargets checks that the metrics support the targets.
func (s Search) prepareTargets(data datasets.Set, list []metrics.Metric) (datasets.Set, error) {
	m, task, labels := list[0], s.task(list), hasLabels(data, datasets.TagsOf(s.Estimator).Task)
	if task.Unsupervised() {
		return checkUnsupervised(data, task, list)
	}
	switch {
	case data.Y == nil && data.Targets == nil:
		return data, errors.New("the data has no targets")
	case labels && m.Task != datasets.MultiLabel:
		return data, fmt.Errorf("score %s is for %s, got several labels per row; use f1_micro", m.Name, m.Task)
	case m.Task == datasets.MultiLabel && !labels:
		return data, fmt.Errorf("score %s is for several labels per row, got one target or numbers", m.Name)
	case labels:
		return data, nil
	case m.Task == datasets.Classification && isNumeric(data.Schema) &&
		datasets.TagsOf(s.Estimator).Task != datasets.Classification:
		return data, fmt.Errorf("score %s is for %s; target %s is numeric", m.Name, m.Task, data.Schema.Targets[0].Name)
	case m.Task == datasets.Classification:
		return withClasses(data)
	case len(data.Schema.Classes()) > 0:
		return data, fmt.Errorf("score %s is for %s; target %s has classes", m.Name, m.Task, data.Schema.Targets[0].Name)
	}
	return data, nil
}

// isNumeric reports whether the schema has a target of numbers.
func isNumeric(schema datasets.Schema) bool {
	return len(schema.Targets) == 1 && schema.Targets[0].Kind == datasets.Numeric
}

// checkUnsupervised checks that unsupervised metrics have what they require: targets or numeric
// inputs.
func checkUnsupervised(data datasets.Set, task datasets.Task, list []metrics.Metric) (datasets.Set, error) {
	for _, m := range list {
		switch {
		case m.IsSupervised() && data.Y == nil && task == datasets.Anomaly:
			return data, fmt.Errorf("score %s requires labels of anomalies, but the data has no targets", m.Name)
		case m.IsSupervised() && data.Y == nil:
			return data, fmt.Errorf("score %s requires classes, but the data has no targets; use silhouette", m.Name)
		case !m.IsSupervised() && (metrics.Input{}).WithRows(data.Slice(0, 1)).Rows == nil:
			return data, fmt.Errorf("score %s requires numeric columns", m.Name)
		}
	}
	if data.Y == nil {
		return data.WithoutTargets(), nil
	}
	data, err := withClasses(data)
	if classes := len(data.Schema.Classes()); err == nil && task == datasets.Anomaly && classes > 2 {
		err = fmt.Errorf("anomalies are scored by two classes, of which the second is theirs, and the target has %d", classes)
	}
	return data, err
}

// scorer turns predictions for a fold's test rows into scores.
type scorer struct {
	metrics []metrics.Metric
	truth   []metrics.Input // of each fold's test rows: all but the predictions
	addRows func(fold int)  // adds the rows of a fold; nil if no metric requires them
	several bool            // the rows have several targets; fits that run together read it
}

func newScorer(list []metrics.Metric, data datasets.Set, folds []datasets.Fold) *scorer {
	s := &scorer{metrics: list, truth: make([]metrics.Input, len(folds))}
	if slices.ContainsFunc(list, func(m metrics.Metric) bool { return !m.IsSupervised() }) {
		s.addRows = func(fold int) { // deferred to the first score: a plan has placeholder rows
			if s.truth[fold].Rows == nil {
				s.truth[fold] = s.truth[fold].WithRows(data.Select(folds[fold].Test))
			}
		}
	}
	for k, f := range folds {
		s.truth[k] = metricinput.FromRows(data, f.Test, list[0].Task)
	}
	s.several = s.truth[0].YTrueTargets != nil
	return s
}

// setCosts sets the costs of mistakes for the score cost; nil means none.
func (s *scorer) setCosts(costs *mat.Dense) {
	for k := range s.truth {
		s.truth[k].Costs = costs
	}
}

// score returns the scores of a fold by every metric, NaN where a metric is undefined. failed is
// the reason if the main score is undefined; fatal is an error that all candidates would have, such
// as a missing output.
func (s *scorer) score(fold int, out batch.Outcome) (scores []float64, failed, fatal error) {
	if s.addRows != nil {
		s.addRows(fold)
	}
	in := metricinput.AddPredictions(s.truth[fold], out.Prediction)
	scores = make([]float64, len(s.metrics))
	for k, m := range s.metrics {
		var err error
		switch {
		case m.Requires.SatisfiedBy(in):
			scores[k], err = m.Score(in)
		default:
			return nil, nil, fmt.Errorf("score %s needs %s, which the model does not give", m.Name, m.Requires)
		}
		if err != nil && k == 0 {
			failed = err
		}
	}
	return scores, failed, nil
}

// predict returns the outputs of a model that the metrics read.
func (s *scorer) predict(ctx context.Context, fitted any, X mat.Matrix) (estimator.Prediction, error) {
	p := fitted.(estimator.Predictor)
	return estimator.Predict(ctx, p, X, metricinput.RequiredOutputs(s.metrics, s.several,
		estimator.OutputsOf(p).Has))
}

// withClasses names the classes of class codes "0" to "k-1" where the schema has none, so that every
// fold knows of all of them.
func withClasses(data datasets.Set) (datasets.Set, error) {
	if len(data.Schema.Classes()) > 0 {
		return data, nil
	}
	if data.Y == nil {
		return data, errors.New("a score of classification needs class codes in Y")
	}
	classes := 2
	for i, y := range data.Y {
		if y != math.Trunc(y) || y < 0 || y >= maxClasses {
			return data, data.Locate(&datasets.RowError{Row: i, Err: fmt.Errorf("target must be a class code 0, 1, …, got %v",
				y)}, 0)
		}
		classes = max(classes, int(y)+1)
	}
	if !slices.Contains(data.Y, 0) {
		return data, design.ErrNoClass0
	}
	levels := make([]string, classes)
	for k := range levels {
		levels[k] = strconv.Itoa(k)
	}
	data.Schema.Targets = []datasets.Column{{Name: "target", Kind: datasets.Categorical, Categories: levels}}
	return data, nil
}

// maxClasses is where class codes are taken to be a quantity that was scored as a class by mistake.
const maxClasses = 1 << 20
