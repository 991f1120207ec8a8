package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/internal/diagnostics"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

// Limits of a report by default: a few seconds.
const (
	maxLearning    = 2e7    // rows × features
	maxImportance  = 2.5e10 // products
	minInspected   = 50     // rows to measure importance on
	backgroundRows = 100
	maxShapley     = 1e10 // rows × background × features × inputs²
	minExplained   = 20   // rows with Shapley values
	maxExplained   = 200
	maxANOVA       = 2e10 // operations
	shownEffects   = 4    // number of the most important inputs
)

// examination is a model with the rows for its diagnostics.
type examination struct {
	data      *loaded
	fitted    fitted
	evaluated evaluated
	model     estimator.Predictor // without intervals
	until     time.Time           // when it ends; zero for no limit
	found     *result.Result
}

// examine computes the diagnostics of the predictions of the test rows, or else of the training
// rows. The time until limits all of it, unless it is zero.
func examine(ctx context.Context, data *loaded, f fitted, v evaluated, until time.Time, o Options, out *outputs) error {
	began := time.Now()
	o.Progress.report("report", 0, 0)
	e := examination{data: data, fitted: f, evaluated: v, model: f.model, until: until, found: &out.result}
	e.found.On = "train"
	if data.Test != nil {
		e.found.On = "test"
	}
	err := e.compute(ctx, nil)
	out.result.Seconds.Report = time.Since(began).Seconds()
	return err
}

// compute computes the named diagnostics, nil for all. If a part fails, it is omitted and the findings name the reason;
// those that the time limit leaves out are in LeftOut.
func (e examination) compute(ctx context.Context, names []string) error {
	v := e.evaluated
	for _, part := range []struct {
		name    string
		examine func(context.Context) error
	}{{"predictions by class or error", func(context.Context) error {
		err := diagnostics.Judged(&e.found.Findings, v.Input(), e.data.Task, v.on.Schema(), quantileOf(e.model),
			v.number)
		addThresholds(&e.found.Findings, e.model)
		var low, high []float64 // of the training targets
		for _, c := range e.found.Profile.Targets {
			low, high = append(low, c.Min), append(high, c.Max)
		}
		diagnostics.AddBeyond(&e.found.Findings, v.Input(), low, high, v.number)
		return err
	}}, {"relevance of inputs", func(ctx context.Context) (err error) {
		if p := pipeline.Find(e.model); p != nil {
			e.found.Relevance, err = relevanceOf(ctx, p)
		}
		return err
	}}, {"baselines", e.baselines}, {"importance of inputs", e.importance}, {"Shapley values", e.shapley},
		{"variance by input", e.anova}, {"learning curve", e.learning}} {
		if names != nil && !slices.Contains(names, part.name) {
			continue
		}
		before := *e.found
		switch err := e.guard(ctx, part.examine); {
		case ctx.Err() != nil:
			return ctxerr.Check(ctx)
		case errors.Is(err, errNoTime): // without half of its results
			*e.found = before
			e.found.LeftOut = append(e.found.LeftOut, part.name)
		case err != nil:
			e.skip(part.name, err)
		}
	}
	return nil
}

// guard runs a part until the time for examining ends. A panic is an error of the part, which the run
// outlives.
func (e examination) guard(ctx context.Context, part func(context.Context) error) (err error) {
	if !e.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, e.until, errNoTime)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it failed: %v", p)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	return part(ctx)
}

// errNoTime is the cause of a part that the end of the budget has cut.
var errNoTime = errors.New("out of time")

// skip records that a part is omitted.
func (e examination) skip(part string, why error) {
	e.found.Skipped = append(e.found.Skipped, fmt.Sprintf("%s: %v", part, why))
}

// sampled returns at most the given number of rows, evenly spaced. met is the number of rows that
// the run counted; a file does not declare it.
func sampled(ctx context.Context, source datasets.Source, met, most int) (datasets.Set, error) {
	n, _ := source.Dims()
	if n < 0 {
		n = met
	}
	if n > most {
		some, err := rowsource.Subset(source, rowblock.EvenlySpaced(n, most))
		if err != nil {
			return datasets.Set{}, err
		}
		source = some
	}
	return datasets.ReadAll(ctx, source)
}

// diagnosticRows returns the number of rows for diagnostics; some parts use a sample of them.
func (e examination) diagnosticRows() int {
	if e.data.Test != nil {
		return e.found.Rows.Test
	}
	return e.found.Rows.Train
}

// baselines compares with simple models.
func (e examination) baselines(ctx context.Context) error {
	if e.data.Task.Unsupervised() {
		return nil
	}
	train, err := sampled(ctx, e.data.Train, e.found.Rows.Train, diagnostics.LinearRows)
	if err != nil {
		return err
	}
	e.found.Warnings = append(e.found.Warnings, leakWarnings(train.EvenlySpaced(maxLeakRows))...)
	simple, err := diagnostics.Baselines(ctx, train, e.data.Task, thresholdSpec(e.model))
	if err != nil {
		return err
	}
	models := make([]estimator.Predictor, len(simple))
	for k, b := range simple {
		models[k] = b.Model
	}
	output, err := predictions.Beside(ctx, models, e.data.Task, e.evaluated.on)
	if err != nil {
		return err
	}
	for k, v := range output {
		v.Costs = e.evaluated.Costs
		scores, _, err := v.Score(e.fitted.scores()...)
		if err != nil {
			e.skip(simple[k].Name, err)
			continue
		}
		e.found.Baselines = append(e.found.Baselines, result.Baseline{Name: simple[k].Name, Scores: scores})
	}
	e.found.Simpler, err = e.bestBaseline()
	return err
}

// simplerMargin is the relative difference of scores from which on a simple model counts as better.
const simplerMargin = 1e-3

// bestBaseline returns the name of the baseline that scores best, if it scores better than the model by
// the deciding metric. Without a deciding metric, accuracy counts as well.
func (e examination) bestBaseline() (string, error) {
	score, err := e.score()
	if err != nil {
		return "", err
	}
	list := []metrics.Metric{score}
	if e.decidingScore() == "" {
		list = append(list, metrics.ForTask(e.data.Task, len(e.evaluated.on.Schema().Classes()))[0])
	}
	own, part := e.found.Train, "training"
	if e.data.Test != nil {
		own, part = e.found.Test, "test"
	}
	for _, m := range list {
		value, ok := own[m.Name]
		if !ok {
			continue
		}
		var best *result.Baseline
		for k, b := range e.found.Baselines {
			v, ok := b.Scores[m.Name]
			if !ok || !m.Better(v, value) || math.Abs(v-value) <= simplerMargin*math.Abs(value) {
				continue
			}
			if best == nil || m.Better(v, best.Scores[m.Name]) {
				best = &e.found.Baselines[k]
			}
		}
		if best == nil {
			continue
		}
		name := "a linear model"
		if class, ok := strings.CutPrefix(best.Name, diagnostics.Always); ok {
			name = "always predicting " + class
		} else if best.Name != "linear model" {
			name = "always predicting the " + best.Name
		}
		return fmt.Sprintf("%s is better than this model: %s %.4g against %.4g on the %s rows", name,
			strings.ReplaceAll(m.Name, "_", " "), best.Scores[m.Name], value, part), nil
	}
	return "", nil
}

// importance measures which inputs matter, and how the first of them do.
func (e examination) importance(ctx context.Context) error {
	repeats, fitted := e.data.spec.Report.Importance.Repeats, pipeline.Find(e.model)
	if repeats == 0 || fitted == nil || e.data.Task.Unsupervised() || e.data.spec.Data.Gram.Given() {
		return nil // a column of kernel values cannot change without the others
	}
	_, inputs := e.evaluated.on.Dims()
	_, products := e.widths(fitted.Spec())
	rows := importanceRows(products, inputs, repeats, e.rareRows())
	if rows < minInspected && !e.data.spec.Given("report.importance.repeats") {
		e.skip("importance of inputs",
			fmt.Errorf("too expensive with %d inputs; set report.importance.repeats: %d to compute it", inputs, repeats))
		return nil
	}
	some, err := sampled(ctx, e.evaluated.on, e.diagnosticRows(), max(rows, minInspected))
	if err != nil {
		return err
	}
	score, err := e.score()
	if err != nil {
		return err
	}
	found, err := inspection.Permutation(ctx, e.model, some, inspection.Options{Metric: score.Name, Repeats: repeats,
		Rows: some.Rows(), Seed: e.data.spec.Seed})
	if err != nil {
		return err
	}
	e.found.Importance = &found
	for _, in := range found.Inputs[:min(len(found.Inputs), shownEffects)] {
		if in.Mean <= 0 {
			break
		}
		if some.Schema.Column(in.Column).Kind == datasets.Text {
			continue // which has no grid of values
		}
		effects, err := inspection.PartialDependence(ctx, e.model, some, in.Column, inspection.Options{})
		if err != nil {
			return fmt.Errorf("effect of %s: %w", in.Name, err)
		}
		e.found.Effects = append(e.found.Effects, effects...)
	}
	return nil
}

// explainable returns the number of inputs and features of a model whose inputs are to be examined. ok is false where
// importance is switched off.
func (e examination) explainable() (inputs, features float64, ok bool) {
	fitted := pipeline.Find(e.model)
	if e.data.spec.Report.Importance.Repeats == 0 || fitted == nil || e.data.Task == datasets.Clustering ||
		e.data.spec.Data.Gram.Given() {
		return 0, 0, false
	}
	_, cols := e.evaluated.on.Dims()
	features, _ = e.widths(fitted.Spec())
	return float64(cols), features, true
}

// shapley computes exact Shapley values for some rows.
func (e examination) shapley(ctx context.Context) error {
	inputs, features, ok := e.explainable()
	if !ok {
		return nil
	}
	if slices.ContainsFunc(e.data.Train.Schema().Columns, func(c datasets.Column) bool { return c.Kind == datasets.Text }) {
		return errors.New("not available for models of text columns")
	}
	rows := int(min(maxExplained, maxShapley/(backgroundRows*features*inputs*inputs)))
	if rows < minExplained {
		return fmt.Errorf("too expensive with %.0f inputs and %.0f features; bochner explain computes them", inputs, features)
	}
	background, err := sampled(ctx, e.data.Train, e.found.Rows.Train, backgroundRows)
	if err != nil {
		return err
	}
	some, err := sampled(ctx, e.evaluated.on, e.diagnosticRows(), rows)
	if err != nil {
		return err
	}
	values, err := inspection.Shapley(ctx, e.model, background, some,
		inspection.ShapleyOptions{Method: inspection.MethodExact})
	if err != nil {
		return fmt.Errorf("%w; bochner explain samples them", err)
	}
	e.found.SummarizeShapley(values, 3, 15)
	return nil
}

// anova decomposes the variance of the predictions. It applies where Shapley values are exact.
func (e examination) anova(ctx context.Context) error {
	inputs, features, ok := e.explainable()
	if !ok || e.found.Shapley.Outputs == nil {
		return nil
	}
	const n = backgroundRows
	if features*n*inputs*(features+n*inputs) > maxANOVA {
		return fmt.Errorf("too expensive with %.0f inputs and %.0f features", inputs, features)
	}
	background, err := sampled(ctx, e.data.Train, e.found.Rows.Train, n)
	if err != nil {
		return err
	}
	found, err := inspection.FunctionalANOVA(ctx, e.model, background, inspection.ShapleyOptions{})
	if err == nil {
		e.found.ANOVA = &found
	}
	return err
}

// Rows of the rarest class that importance is measured on at least, and of all classes at most.
const (
	minRareRows = 50
	maxRareRows = 5000
)

// rareRows returns how many rows are expected to contain enough of the rarest class.
func (e examination) rareRows() int {
	total, rarest := 0.0, math.Inf(1)
	for _, c := range e.found.PerClass {
		if total += c.Support; c.Support > 0 {
			rarest = min(rarest, c.Support)
		}
	}
	if total == 0 {
		return 0
	}
	return int(min(maxRareRows, math.Ceil(minRareRows*total/rarest)))
}

// importanceRows returns how many rows importance is measured on: the usual number or, up to ten times
// that, the given one, as far as predictions of that many products each stay affordable.
func importanceRows(products float64, inputs, repeats, least int) int {
	rows := inspection.Options{Repeats: repeats}.DefaultRows(inputs)
	return int(min(float64(max(rows, min(least, 10*rows))), maxImportance/(products*float64(inputs*repeats))))
}

// widths returns how many numbers of a row the estimator reads, and about how many products a prediction takes: of the
// inputs of each step that widens rows with its outputs, of the rows that the model keeps with theirs, and of the
// features with their weights.
func (e examination) widths(p pipeline.Pipeline) (features, products float64) {
	at := e.data.shape
	for i := range p.Steps {
		before := at.Entries()
		if at = at.After(pipeline.Chain{Steps: p.Steps[i : i+1]}.Cost(at)); at.Entries() > before {
			products += before * at.Entries()
		}
	}
	features = at.Entries()
	if rows := float64(estimator.FittedTags(e.model).StoredRows); rows > 0 {
		products, features = products+features*rows, rows
	}
	return features, products + features*float64(max(at.Outputs, 1))
}

// learning fits models to fewer rows.
func (e examination) learning(ctx context.Context) error {
	points, fitted := e.data.spec.Report.Learning.Points, pipeline.Find(e.model)
	if points < 2 || fitted == nil || e.data.Test == nil || e.data.Streamed || e.data.Task.Unsupervised() ||
		e.data.before != nil {
		return nil
	}
	spec := fitted.Spec()
	features, _ := e.widths(spec)
	if float64(e.found.Rows.Train)*features > maxLearning && !e.data.spec.Given("report.learning_curve.points") {
		e.skip("learning curve", fmt.Errorf("too expensive; set report.learning_curve.points: %d to compute it", points))
		return nil
	}
	train, err := datasets.ReadAll(ctx, e.data.Train)
	if err != nil {
		return err
	}
	score, err := e.score()
	if err != nil {
		return err
	}
	others, err := sampled(ctx, e.evaluated.on, e.diagnosticRows(), maxJudged)
	if err != nil {
		return err
	}
	judge := func(ctx context.Context, model estimator.Predictor, source datasets.Source) (float64, error) {
		output, err := predictions.Judge(ctx, model, e.data.Task, source, nil, nil)
		if err != nil {
			return 0, err
		}
		scores, _, err := output.Score(score.Name)
		value, ok := scores[score.Name]
		if err == nil && !ok {
			err = fmt.Errorf("%s has no value", score.Name)
		}
		return value, err
	}
	err = diagnostics.Learning(ctx, &e.found.Findings, spec, e.model, train, points, e.data.spec.Seed,
		func(ctx context.Context, model estimator.Predictor, learned datasets.Set) (own, unseen float64, err error) {
			some, err := sampled(ctx, learned.Source(), learned.Rows(), maxJudged)
			if err == nil {
				own, err = judge(ctx, model, some.Source())
			}
			if err == nil {
				unseen, err = judge(ctx, model, others.Source())
			}
			return own, unseen, err
		})
	if e.found.LearningCurve.Rows != nil {
		e.found.LearningCurve.Score = score.Name
	}
	return err
}

// decidingScore returns the metric that the model was chosen by: that of the search, else that of its
// threshold or the costs of mistakes, else "".
func (e examination) decidingScore() string {
	switch {
	case e.fitted.score != "":
		return e.fitted.score
	case e.found.Threshold != nil:
		return e.found.Threshold.Score
	case e.evaluated.Costs != nil:
		return "cost"
	}
	return ""
}

// score returns the metric of the diagnostics: the deciding one, else the first of the task. For
// two classes it is ROC AUC, because accuracy is insensitive if one class is rare.
func (e examination) score() (metrics.Metric, error) {
	if name := e.decidingScore(); name != "" {
		return metrics.ByName(name)
	}
	if e.data.Task == datasets.Classification && len(e.evaluated.on.Schema().Classes()) == 2 &&
		estimator.OutputsOf(e.model).Has.Has(estimator.OutputScores) {
		return metrics.ByName("roc_auc")
	}
	return metrics.ForTask(e.data.Task, len(e.evaluated.on.Schema().Classes()))[0], nil
}
