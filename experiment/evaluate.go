package experiment

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/metrics"
)

// evaluated contains the rows for the diagnostics of a run with their predictions.
type evaluated struct {
	predictions.Verdict
	on     datasets.Source   // test rows, or training rows if there are none
	number func(row int) int // in the file
}

// maxJudgedInFile is the maximum number of training rows to score if the rows are streamed, which
// bounds memory.
const maxJudgedInFile = 1 << 20

// maxJudged is the maximum number of training rows to score if scoring all of them is slower than
// the fit, as for exact kernels.
const maxJudged = 10_000

// evaluate scores the model on the training and test rows and writes the predictions of the test
// rows. Without test rows and a target it writes those of the training rows.
func evaluate(ctx context.Context, data *loaded, f fitted, o Options, out *outputs) (e evaluated, err error) {
	began := time.Now()
	e.number = func(k int) int { return k }
	if numbers := data.Numbers; numbers != nil {
		e.number = func(k int) int { return numbers[k] }
	}
	if err := evaluateTrain(ctx, data, f, o, out, &e); err != nil {
		return e, err
	}
	if data.Test != nil {
		if err := evaluateTest(ctx, data, f, o, out, &e); err != nil {
			return e, err
		}
	}
	if data.Task == datasets.Classification {
		if never := unpredicted(e.Verdict, data.Train.Schema().Classes()); len(never) > 0 {
			out.warn("never predicted, though in the scored rows: " + suggest.List(never) +
				"; choose by balanced_accuracy, or give the model class_weight: balanced")
		}
	}
	out.result.Seconds.Evaluate = time.Since(began).Seconds()
	return e, nil
}

// evaluateTrain scores the model on the training rows and computes their profile.
func evaluateTrain(ctx context.Context, data *loaded, f fitted, o Options, out *outputs, e *evaluated) (err error) {
	found, judged := &out.result, f.judged
	n, _ := data.Train.Dims()
	if judged == nil && data.Streamed && n > maxJudgedInFile && !data.Task.Unsupervised() {
		judged = rowblock.EvenlySpaced(n, maxJudgedInFile)
	}
	some := func(train datasets.Source) (datasets.Source, error) {
		if judged == nil {
			return train, nil
		}
		return rowsource.Subset(train, judged)
	}
	read := &profilingSource{Source: data.Train}
	train, err := some(read)
	if err != nil {
		return err
	}
	if data.Test == nil && data.Task.Unsupervised() {
		e.Verdict, err = predict(ctx, data, f, train, o, out) // the outcome is the rows themselves
	} else {
		n, _ := train.Dims()
		e.Verdict, err = predictions.Judge(ctx, f.model, data.Task, train, nil,
			func(done int) { o.Progress.report("evaluate", done, max(n, 0)) })
	}
	if err != nil {
		return err
	}
	p, err := profile.Finish(ctx, read.pass)
	if err != nil {
		return err
	}
	found.Profile = &p
	out.warn(constantWarnings(p)...)
	if found.Rows.Judged = len(judged); judged == nil {
		found.Rows.Train = e.Rows
	} else if among := e.number; data.Test == nil {
		e.number = func(k int) int { return among(judged[k]) }
	}
	if e.on, err = some(data.Train); err != nil {
		return err
	}
	if data.Test == nil || !e.AllUsual() { // training on inliers only is the usual case
		if found.Train, err = score(e.Verdict, "train", f, out); err != nil {
			return err
		}
	}
	found.Intervals, found.Threshold = surenessOf(f.model), thresholdOf(f.model)
	if u := found.Intervals; u != nil && len(u.Pooled) > 0 {
		out.warn(fmt.Sprintf("intervals: too few calibration rows for level %v in the groups %s: they share one "+
			"calibration, so that the level holds for them together", u.Level, suggest.List(u.Pooled)))
	}
	switch data.Task {
	case datasets.Clustering:
		found.Clusters.Train = e.Clusters()
	case datasets.Anomaly:
		share := e.Anomalies()
		found.Anomalies.Train = &share
	}
	return nil
}

// evaluateTest scores the model on the test rows and measures their drift from the training rows.
func evaluateTest(ctx context.Context, data *loaded, f fitted, o Options, out *outputs, e *evaluated) (err error) {
	found, test := &out.result, comparingSource{Source: data.Test}
	_, cols := test.Dims()
	if test.with, err = profile.NewComparison(*found.Profile, test.Schema(), cols); err != nil {
		return err
	}
	e.on = data.Test
	if e.Verdict, err = predict(ctx, data, f, test, o, out); err != nil {
		return err
	}
	if e.Rows > 0 {
		drift, err := test.with.Drift()
		if err != nil {
			return err
		}
		found.Drift = &drift
		for _, w := range drift.Warnings() {
			out.warn("test: " + w)
		}
	}
	found.Rows.Test = e.Rows
	if err := judgeSureness(found.Intervals, e.Verdict); err != nil {
		out.warn("test: intervals: " + err.Error())
	}
	if found.Test, err = score(e.Verdict, "test", f, out); err != nil {
		return err
	}
	for _, w := range coverageWarnings(found.Intervals, e.Verdict) {
		out.warn("test: " + w)
	}
	gap, err := gapWarnings(*found, e.Input(), e.number)
	if err != nil {
		return err
	}
	out.warn(gap...)
	switch data.Task {
	case datasets.Clustering:
		sizes := e.Clusters()
		for len(sizes) < len(found.Clusters.Train) {
			sizes = append(sizes, 0)
		}
		found.Clusters.Test = sizes
	case datasets.Anomaly:
		share := e.Anomalies()
		found.Anomalies.Test = &share
	}
	return nil
}

// A test score is far from that of cross-validation if it is worse by this number of standard errors of
// the difference and its distance to a perfect score is larger by this factor.
const (
	gapStdErrors = 3
	gapFactor    = 1.2
)

// gapWarnings returns a warning if the test score is much worse than that of cross-validation. It names
// the row that has most of the squared error.
func gapWarnings(r result.Result, in metrics.Input, number func(row int) int) ([]string, error) {
	summary := result.RunSummary{Search: r.Search, Auto: r.Auto}
	name, mean, stdErr, ok := summary.Chosen()
	test, scored := r.Test[name]
	if !ok || !scored || r.Rows.Test == 0 {
		return nil, nil
	}
	if r.Search != nil {
		stdErr /= math.Sqrt(float64(max(1, r.Search.Folds)))
	}
	m, err := metrics.ByName(name)
	if err != nil {
		return nil, err
	}
	// A fold and the test rows are means over rows with the same variance.
	stdErr *= math.Sqrt(1 + float64(r.Rows.Train)/float64(r.Rows.Test))
	distance, side := func(v float64) float64 { return v }, "above"
	if m.GreaterIsBetter {
		side = "below"
		perfect := 1.0
		if strings.HasPrefix(name, "neg_") {
			perfect = 0
		}
		distance = func(v float64) float64 { return perfect - v }
	}
	if worse := distance(test) - distance(mean); !(worse > gapStdErrors*stdErr) ||
		distance(mean) > 0 && distance(test) < gapFactor*distance(mean) {
		return nil, nil
	}
	text := fmt.Sprintf("test: %s %.4g is far %s %.4g ± %.2g of cross-validation", strings.ReplaceAll(name, "_", " "),
		test, side, mean, stdErr)
	if row, share := largestError(in); share > 0.25 {
		return []string{fmt.Sprintf("%s: row %d alone has %.0f %% of the squared error, %.4g predicted for %.4g", text,
			number(row), 100*share, in.YPred[row], in.YTrue[row])}, nil
	}
	return []string{text + ": the test rows differ from the training rows, or the folds are too optimistic"}, nil
}

// largestError returns the row with the largest squared error of a numeric target, and its share of all.
func largestError(in metrics.Input) (row int, share float64) {
	if in.Classes > 0 || len(in.YTrue) == 0 || len(in.YPred) != len(in.YTrue) {
		return 0, 0
	}
	total, largest := 0.0, 0.0
	for i, y := range in.YTrue {
		e := (in.YPred[i] - y) * (in.YPred[i] - y)
		if in.Weights != nil {
			e *= in.Weights[i]
		}
		if total += e; e > largest {
			row, largest = i, e
		}
	}
	if total == 0 {
		return 0, 0
	}
	return row, largest / total
}

// unpredicted returns the classes of the scored rows that are never predicted.
func unpredicted(v predictions.Verdict, classes []string) (never []string) {
	const minRows = 5 // of a class, for its absence to be no accident
	in := v.Input()
	rows, predicted := make([]int, len(classes)), make([]bool, len(classes))
	for i, y := range in.YTrue {
		if k := int(y); k >= 0 && k < len(rows) {
			rows[k]++
		}
		if k := int(in.YPred[i]); k >= 0 && k < len(predicted) {
			predicted[k] = true
		}
	}
	for k, n := range rows {
		if n >= minRows && !predicted[k] {
			never = append(never, classes[k])
		}
	}
	return never
}

// score returns the scores of rows, including the metric of the search.
func score(v predictions.Verdict, part string, f fitted, out *outputs) (map[string]float64, error) {
	scores, warnings, err := v.Score(f.scores()...)
	for _, w := range warnings {
		out.warn(part + ": " + strings.TrimPrefix(w, "metrics: "))
	}
	return scores, err
}

// predict writes the predictions of rows.
func predict(ctx context.Context, data *loaded, f fitted, source datasets.Source, o Options,
	out *outputs) (v predictions.Verdict, err error) {
	err = out.folder.Write("predictions.csv", func(w *bufio.Writer) error {
		p := predictions.NewWriter(w, data.Task, source.Schema(), len(source.Schema().Targets) > 0)
		if data.Numbers != nil {
			p.Numbers = func(k int) int { return data.Numbers[k] }
		}
		n, _ := source.Dims()
		v, err = predictions.Judge(ctx, f.model, data.Task, source, p.Block,
			func(done int) { o.Progress.report("evaluate", done, max(n, 0)) })
		return err
	})
	return v, err
}
