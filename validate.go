package bochner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Validation describes a cross-validation. The zero value is 5 folds with the default score. Folds are
// shuffled; they are stratified by class, or keep groups together if the rows have groups.
type Validation struct {
	// Score is the name of a metric, see [metrics.Names]; "" means accuracy for classes, f1_micro for
	// labels, r2 for numeric targets.
	Score  string
	Scores []string // names of additional metrics to compute, see [gridsearch.Summary.OtherScores]
	Folds  int      // number of folds; 0 means 5
	Seed   uint64   // seed of the folds

	// Splitter makes other folds, such as those of time series; nil means the folds above.
	Splitter datasets.Splitter
	// Progress is called after each fit, never concurrently; nil means no calls. [LearningCurve] ignores it, and Scores.
	Progress func(gridsearch.Progress)
}

// splitter returns the splitter of the rows of data.
func (v Validation) splitter(machine estimator.Estimator, data datasets.Set) datasets.Splitter {
	folds := cmp.Or(v.Folds, 5)
	switch {
	case v.Splitter != nil:
		return v.Splitter
	case data.Groups != nil:
		return datasets.GroupKFold{Folds: folds, Shuffle: true, Seed: v.Seed}
	case data.Targets != nil:
	case len(data.Schema.Classes()) > 0 || datasets.TagsOf(machine).Task == datasets.Classification:
		return datasets.StratifiedKFold{Folds: folds, Shuffle: true, Seed: v.Seed}
	}
	return datasets.KFold{Folds: folds, Shuffle: true, Seed: v.Seed}
}

// search returns the search over axes.
func (v Validation) search(machine estimator.Estimator, data datasets.Set, axes ...gridsearch.Axis) gridsearch.Search {
	s := gridsearch.NewSearch(machine, axes...)
	s.Score, s.Scores, s.Splitter, s.Progress = v.Score, v.Scores, v.splitter(machine, data), v.Progress
	return s
}

// Search evaluates the pipeline for all combinations of the axis values by cross-validation. It returns
// the best one, fitted to all rows, and the scores of all candidates. It is scikit-learn's
// GridSearchCV. [gridsearch.Search] offers other strategies, a time budget, a journal for resuming,
// streams and progress; [NewModel] makes a model of its result.
func Search(ctx context.Context, machine pipeline.Pipeline, data datasets.Set, v Validation,
	axes ...gridsearch.Axis) (*modelfile.Model, *gridsearch.Result, error) {
	result, err := v.search(machine, data, axes...).Run(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	model, err := NewModel(ctx, result, data.Source())
	if err != nil {
		return nil, result, err
	}
	return model, result, nil
}

// CrossValidate returns the scores of a pipeline or estimator on the test rows of each fold, with their
// mean and standard deviation. It is scikit-learn's cross_val_score.
func CrossValidate(ctx context.Context, machine estimator.Estimator, data datasets.Set,
	v Validation) (gridsearch.Summary, error) {
	s := v.search(machine, data)
	s.Refit = gridsearch.RefitNone
	result, err := s.Run(ctx, data)
	if err != nil {
		return gridsearch.Summary{}, err
	}
	return result.Best().Summary, nil
}

// Curve is a learning curve: the mean scores of models that are fitted to the same number of rows. It prints as
// a table.
type Curve []struct {
	Rows        int
	Train, Test float64 // scores on the training rows and the test rows
}

// curvePoints is the number of points of a learning curve.
const curvePoints = 5

// LearningCurve fits a pipeline or estimator to nested random subsets of the training rows of each fold,
// each twice as large as the previous one, and returns the mean scores over the folds. If the test
// score still increases at the end, more rows will help; if the training score is much higher, stronger
// regularization will. Cost: two cross-validations. It is scikit-learn's learning_curve.
func LearningCurve(ctx context.Context, machine estimator.Estimator, data datasets.Set, v Validation) (Curve, error) {
	s := v.search(machine, data)
	if err := s.Check(); err != nil {
		return nil, err
	}
	folds, err := s.Splitter.Split(data)
	if err != nil {
		return nil, err
	}
	metric, err := metrics.ByName(cmp.Or(v.Score, defaultScore(s.Tags().Task, data)))
	if err != nil {
		return nil, err
	}
	if metric.Task.Unsupervised() || !metric.IsSupervised() {
		return nil, errors.New("bochner: a learning curve requires a score of classification or regression")
	}
	out := make(Curve, curvePoints)
	for _, fold := range folds {
		order := slices.Clone(fold.Train)
		rng := rand.New(rand.NewPCG(v.Seed, 0x63757276))
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		test := data.Select(fold.Test)
		for k := range out {
			rows := max(2, len(order)>>(curvePoints-1-k))
			part := slices.Sorted(slices.Values(order[:min(rows, len(order))]))
			train := data.Select(part)
			fitted, err := machine.Fit(ctx, train)
			if err != nil {
				return nil, fmt.Errorf("bochner: %d training rows: %w", len(part), err)
			}
			out[k].Rows = max(out[k].Rows, len(part))
			for _, side := range []struct {
				rows datasets.Set
				sum  *float64
			}{{train, &out[k].Train}, {test, &out[k].Test}} {
				score, err := scoreOf(ctx, metric, machine, fitted, side.rows)
				if err != nil {
					return nil, err
				}
				*side.sum += score / float64(len(folds))
			}
		}
	}
	return out, nil
}

// defaultScore returns the name of the score of a task.
func defaultScore(task datasets.Task, data datasets.Set) string {
	switch {
	case data.Targets != nil && (task == datasets.Classification || data.Schema.Labels() != nil):
		return "f1_micro"
	case task == datasets.Classification || len(data.Schema.Classes()) > 0:
		return "accuracy"
	}
	return "r2"
}

func scoreOf(
	ctx context.Context, metric metrics.Metric, spec estimator.Estimator, model estimator.Predictor, data datasets.Set,
) (float64, error) {
	output, err := estimator.Predict(ctx, model, data.X, estimator.Request{})
	if err != nil {
		return 0, err
	}
	in := metricinput.AddPredictions(metricinput.FromSet(data, metric.Task), output)
	in.Costs = metricinput.Costs(spec, in.ClassNames)
	return metric.Score(in)
}

// String returns a text table with one line per number of rows.
func (c Curve) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "rows\ttrain\ttest\n")
	for _, p := range c {
		fmt.Fprintf(w, "%d\t%.4f\t%.4f\n", p.Rows, p.Train, p.Test)
	}
	w.Flush()
	return b.String()
}
