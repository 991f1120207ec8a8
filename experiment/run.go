package experiment

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/datasets/profile"
	"github.com/bochner-ml/bochner/datasets/reader"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/files"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/report"
)

// Run does the whole experiment and writes its outputs into output.dir: all of them at the end, or
// none. A search keeps a journal there while it goes on, so that a run that was stopped takes up
// where it was; the result is the same but for the times.
//
// Where the folder holds a finished run of another spec or of other data, Run does nothing and returns an
// [*EarlierRun], unless o.Force is set.
//
// It returns an error that matches ctx.Err() and context.Cause(ctx) when the context ends, as soon as the block or iteration at hand is done.
func Run(ctx context.Context, spec Spec, o Options) (Result, error) {
	r := newRun(spec, o, runOutputs)
	return r.phases(ctx, r.load, r.fit, r.evaluate, r.write)
}

// newRun begins a run that may write the outputs named.
func newRun(spec Spec, o Options, outputs []string) *run {
	r := &run{spec: spec, options: o, outputs: outputs, started: time.Now()}
	r.result = Result{Name: spec.Name, Seed: spec.Seed, Versions: Version(), Warnings: []string{}}
	return r
}

// phases does one after the other. What was made is gone where one fails.
func (r *run) phases(ctx context.Context, phases ...func(context.Context) error) (Result, error) {
	defer func() {
		if r.end != nil {
			r.end() // it has answered
		}
	}()
	for _, phase := range phases {
		if err := phase(ctx); err != nil {
			if r.output != nil {
				r.output.Discard()
			}
			if ctx.Err() != nil {
				err = cause.Err(ctx)
			}
			r.tracker.end(ctx, err)
			return Result{}, err
		}
	}
	r.tracker.end(ctx, nil)
	return r.result, nil
}

// runOutputs are all that a run may write. A run without a search or test rows writes some of them.
var runOutputs = []string{"spec.yaml", "result.json", "cv_results.csv", "predictions.csv", files.ModelName, "report.html"}

// outputsOfOther returns the outputs of Run and Auto, with the journal of Auto where Run replaces
// its results.
func outputsOfOther(auto bool) []string {
	all := slices.Concat(runOutputs, autoOutputs)
	if !auto {
		all = append(all, autoJournal)
	}
	return all
}

// run is an experiment that is going on.
type run struct {
	spec    Spec
	options Options
	outputs []string // all that it may write
	auto    bool     // whether package auto chooses the pipeline
	started time.Time
	result  Result

	rows   *rows.Parts
	shape  datasets.Shape // of the training rows
	output *files.Folder
	search *gridsearch.Result
	end    func() error // of the database that was asked
	before *opened      // the model to learn on from, nil for none
	found  *auto.Result // where the pipeline was chosen by package auto
	model  estimator.Predictor

	tracker *tracker // nil for none

	chosenBy string // metric, "" for none
	judged   []int  // training rows to score the model on, nil for all

	until time.Time // when examining the model ends; zero for no limit
}

// digest says which files the rows are from, or of a database which they are.
func (r *run) digest(ctx context.Context) (err error) {
	data, sum := r.spec.Data, &r.result.SHA256
	if data.Dataset != "" {
		sum.Train, sum.Test, err = builtin.SHA256(data.Dataset)
		return err
	}
	from, test := data.Where()
	if db := data.Asked; db != nil {
		if sum.Train, err = db.Digest(ctx, from...); err != nil {
			return rows.ErrorOf(ctx, r.spec, "data.train", err)
		}
		if sum.Test, err = db.Digest(ctx, test...); err != nil {
			return rows.ErrorOf(ctx, r.spec, "data.test", err)
		}
		return nil
	}
	of := func(paths reader.Paths) (string, error) {
		file := rows.Files(data)
		list, err := file.List(paths)
		if err != nil {
			return "", fmt.Errorf("experiment: %w", err)
		}
		return files.Digest(ctx, file, list...)
	}
	if sum.Train, err = of(from); err == nil {
		sum.Test, err = of(test)
	}
	return err
}

// load reads the data and what there is to say about it.
func (r *run) load(ctx context.Context) error {
	began := time.Now()
	r.options.report("load", 0, 0)
	before, err := filesNow(r.spec)
	if err != nil {
		return err
	}
	if r.end, err = connect(ctx, &r.spec); err != nil {
		return err
	}
	if err := r.digest(ctx); err != nil {
		return err
	}
	if err := r.openBefore(ctx); err != nil {
		return err
	}
	if err := r.checkOutputs(); err != nil {
		return err
	}
	if !r.options.Force && !r.auto {
		if err := earlier(r.spec, r.result.SHA256, r.result.Before); err != nil {
			return err
		}
	}
	outputs := r.outputs
	if replaced, err := resultIn(r.spec.Output.Dir); err == nil && r.auto != (replaced.Auto != nil) {
		outputs = outputsOfOther(r.auto)
	}
	if r.output, err = files.NewFolder(r.spec.Output.Dir, outputs...); err != nil {
		return err
	}
	if err := r.track(ctx); err != nil {
		return err
	}
	if r.rows, err = read(ctx, r.spec, r.options); err != nil {
		return err
	}
	if err := unchanged(r.spec, before); err != nil {
		return err // the digest is of other rows
	}
	if err := r.unchanged(ctx); err != nil {
		return err
	}
	r.warn(r.rows.Warnings...)
	r.result.Task = string(r.rows.Task)
	r.result.Positive = positiveOf(r.rows.Task, r.rows.Train.Schema())
	r.result.Rows.Train, r.result.Features = r.rows.Train.Dims()
	if err := r.fits(); err != nil {
		return err
	}
	r.result.Seconds.Load = time.Since(began).Seconds()
	return nil
}

// positiveOf names the class that scores of two classes speak of; clusters are not told apart like that.
func positiveOf(task datasets.Task, schema datasets.Schema) string {
	if task == datasets.Clustering {
		return ""
	}
	return metrics.PositiveClass(schema.Classes())
}

// filesNow is what the system says of the data files.
func filesNow(s Spec) (map[string]fs.FileInfo, error) {
	out := map[string]fs.FileInfo{}
	for _, paths := range []reader.Paths{s.Data.Train, s.Data.Test} {
		file := rows.Files(s.Data)
		list, err := file.List(paths)
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		for _, path := range list {
			info, err := file.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("experiment: %w", files.Tell(err))
			}
			out[path] = info
		}
	}
	return out, nil
}

// unchanged returns an error where a database that takes no snapshots has other rows than those of the digest.
func (r *run) unchanged(ctx context.Context) error {
	if r.spec.Data.Asked == nil || r.spec.Data.Asked.Lasts() {
		return nil
	}
	then := r.result.SHA256
	if err := r.digest(ctx); err != nil {
		return err
	}
	if r.result.SHA256 != then {
		return fmt.Errorf("experiment: the rows of the database: %w", datasets.ErrChanged)
	}
	return nil
}

// unchanged returns an error where a data file is not what it was before, or where there are others.
func unchanged(s Spec, before map[string]fs.FileInfo) error {
	now, err := filesNow(s)
	if err != nil {
		return err
	}
	paths := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(before))
	slices.Sort(paths)
	for _, path := range paths {
		then, is := before[path], now[path]
		if then == nil || is == nil || !datasets.SameFile(then, is) {
			return fmt.Errorf("experiment: %w", &datasets.LineError{File: path, Err: datasets.ErrChanged})
		}
	}
	return nil
}

// fits refuses a fit that cannot have the memory it wants. The candidates of a search are looked at
// by the search.
func (r *run) fits() error {
	train := r.rows.Train
	if r.rows.Task.Targetless() {
		train = datasets.WithoutTargets(train)
	}
	shape := datasets.Shape{Rows: r.result.Rows.Train, Cols: r.result.Features, Outputs: train.Schema().Outputs(), Columns: train.Schema().Columns}
	if !r.rows.Streamed {
		set, err := datasets.Gather(context.Background(), train) // it is in memory, which is not copied
		if err != nil {
			return err
		}
		shape = set.Shape()
	}
	shape.Streamed = r.rows.Streamed
	if err := checkLevel(r.spec, shape); err != nil {
		return err
	}
	r.shape = shape
	fit := costOfFit(lastPipeline(r.spec, r.spec.Pipeline, shape, r.rows.Streamed), shape, r.result.Rows)
	return Plan{Stream: r.rows.Streamed, Bytes: fit.work.Bytes, Available: memory.Available()}.Refusal()
}

// fit searches and fits the model to all training rows.
func (r *run) fit(ctx context.Context) error {
	if r.spec.Search != nil {
		return r.fitSearch(ctx)
	}
	began := time.Now()
	r.options.report("refit", 0, 0)
	var err error
	if r.before != nil {
		err = r.learnOn(ctx)
	} else if r.rows.Streamed {
		r.model, err = lastPipeline(r.spec, r.spec.Pipeline, r.shape, true).FitSource(ctx, r.rows.Train)
	} else {
		var set datasets.Set
		if set, err = datasets.Gather(ctx, r.rows.Train); err == nil {
			r.model, err = lastPipeline(r.spec, r.spec.Pipeline, r.shape, false).Fit(ctx, set)
			err = set.Locate(err, 0)
		}
	}
	r.result.Seconds.Refit = time.Since(began).Seconds()
	r.reportOf(r.model)
	return err
}

func (r *run) warn(texts ...string) { r.result.Warnings = append(r.result.Warnings, texts...) }

// gridSearch is the search over the training rows, with its journal.
func (r *run) gridSearch(set datasets.Set) gridsearch.Search {
	search := r.spec.GridSearch(set.Groups != nil, r.rows.Task)
	if r.rows.Streamed {
		search.Splitter = r.spec.StreamedFolds()
	}
	search.Memory = memory.Available() / 2
	search.Journal = r.output.Journal(journalKey(r.spec, r.result.SHA256))
	return search
}

// costOfSearch is what the search takes, which of rows that are not held nobody foretells.
func (r *run) costOfSearch(set datasets.Set) (gridsearch.Plan, error) {
	if r.rows.Streamed {
		return gridsearch.Plan{}, errors.New("a search over a stream is not planned")
	}
	return planOfSearch(r.spec, set, r.rows.Task)
}

// lastOf returns what a search fits to all rows in place of the best candidate, nil for the candidate itself.
func lastOf(spec Spec, shape datasets.Shape, streamed bool) func(best estimator.Estimator) estimator.Estimator {
	if spec.Intervals == nil {
		return nil
	}
	return func(best estimator.Estimator) estimator.Estimator {
		return lastPipeline(spec, best.(pipeline.Pipeline), shape, streamed)
	}
}

func (r *run) fitSearch(ctx context.Context) error {
	var set datasets.Set
	var err error
	if !r.rows.Streamed {
		if set, err = datasets.Gather(ctx, r.rows.Train); err != nil {
			return err
		}
	}
	search := r.gridSearch(set)
	if r.options.Tried != nil {
		if err := os.WriteFile(search.Journal, r.options.Tried, 0o644); err != nil {
			return fmt.Errorf("experiment: %w", files.Tell(err))
		}
	}
	search.Last = lastOf(r.spec, r.shape, r.rows.Streamed)
	cost, unplanned := r.costOfSearch(set)
	watched, stop := func(gridsearch.Progress) {}, func() {}
	if r.options.Searching != nil {
		w := newWatch(r.options.Searching, cost.Shared, time.Now)
		watched, stop = w.see, w.run()
	}
	search.Progress = func(p gridsearch.Progress) {
		watched(p)
		phase := "search"
		if p.Done == p.Total {
			phase = "refit"
		}
		r.options.report(phase, p.Done, p.Total)
	}
	if r.rows.Streamed {
		r.search, r.result.Search, err = streamSearch(ctx, r.rows.Train, search)
	} else {
		r.search, r.result.Search, err = runSearch(ctx, r.spec, set, search)
	}
	if stop(); err != nil {
		return err
	}
	if unplanned == nil && cost.Known && cost.SharedFlops > 0 {
		r.result.Search.Flops, r.result.Search.OneByOneFlops = min(cost.SharedFlops, cost.Flops), cost.Flops
	}
	r.model, r.chosenBy = r.search.Model, r.search.Score
	r.result.Seconds.Search, r.result.Seconds.Refit = r.search.Seconds, r.search.RefitSeconds
	r.output.KeepJournals = r.search.Unreached > 0
	r.warn(r.search.Warnings...)
	r.reportOf(r.model)
	return nil
}

// reportOf passes on the weights of an ensemble and what a fit warns of, that it did not converge above all.
func (r *run) reportOf(model estimator.Predictor) {
	r.result.Members = membersOf(model)
	var m estimator.Reporter
	if !estimator.AsWithin(model, &m) {
		return
	}
	report := m.Report()
	if !report.Converged && len(report.Warnings) == 0 {
		r.warn(fmt.Sprintf("the fit did not converge: %s stopped after %d iterations with a relative gradient of %.2g; raise max_iter or tol", report.Solver, report.Iterations, report.Gradient))
	}
	r.warn(report.Warnings...)
}

// evaluate scores the model on the training rows, or some of them, and the test rows, and writes the predictions for the
// latter; for the former where there are no others and nothing was learned from a target.
func (r *run) evaluate(ctx context.Context) error {
	began := time.Now()
	var extra []string
	if r.chosenBy != "" {
		extra = []string{r.chosenBy}
	}
	read := &described{Source: r.rows.Train}
	train, err := r.onlyJudged(read)
	if err != nil {
		return err
	}
	var v predictions.Verdict
	if r.rows.Test == nil && r.rows.Task.Targetless() {
		v, err = r.predict(ctx, train) // what was found is in the rows themselves
	} else {
		n, _ := train.Dims()
		v, err = predictions.Judge(ctx, meta.WithoutIntervals(r.model), r.rows.Task, train, nil, func(done int) { r.options.report("evaluate", done, max(n, 0)) })
	}
	if err != nil {
		return err
	}
	if err := r.describe(ctx, read); err != nil {
		return err
	}
	if r.judged == nil {
		r.result.Rows.Train = v.Rows
	}
	if train, err = r.onlyJudged(r.rows.Train); err != nil {
		return err
	}
	if r.result.Train, err = r.score(v, "train", extra); err != nil {
		return err
	}
	r.result.Intervals, r.result.Threshold = surenessOf(r.model), thresholdOf(r.model)
	r.count(&v, false)
	if r.rows.Test != nil {
		test := compared{Source: r.rows.Test}
		if _, cols := test.Dims(); r.result.Profile != nil {
			if test.with, err = profile.Against(*r.result.Profile, test.Schema(), cols); err != nil {
				return err
			}
		}
		if v, err = r.predict(ctx, test); err != nil {
			return err
		}
		if test.with != nil && v.Rows > 0 {
			drift, err := test.with.Drift()
			if err != nil {
				return err
			}
			r.result.Drift = &drift
			for _, w := range drift.Warnings() {
				r.warn("test: " + w)
			}
		}
		r.result.Rows.Test = v.Rows
		if err := judgeSureness(r.result.Intervals, v); err != nil {
			r.warn("test: intervals: " + err.Error())
		}
		if r.result.Test, err = r.score(v, "test", extra); err != nil {
			return err
		}
		r.count(&v, true)
		train = r.rows.Test
	}
	r.warnUnpredicted(v)
	r.result.Seconds.Evaluate = time.Since(began).Seconds()
	began = time.Now()
	err = r.examine(ctx, v, train, extra)
	r.result.Seconds.Report = time.Since(began).Seconds()
	return err
}

// warnUnpredicted warns of classes that are among the scored rows but never among the predictions.
func (r *run) warnUnpredicted(v predictions.Verdict) {
	const minRows = 5 // of a class, for its absence to be no accident
	if r.rows.Task != datasets.Classification {
		return
	}
	in := v.Input()
	classes := r.rows.Train.Schema().Classes()
	rows, predicted := make([]int, len(classes)), make([]bool, len(classes))
	for i, y := range in.Truth {
		if k := int(y); k >= 0 && k < len(rows) {
			rows[k]++
		}
		if k := int(in.Predicted[i]); k >= 0 && k < len(predicted) {
			predicted[k] = true
		}
	}
	var never []string
	for k, n := range rows {
		if n >= minRows && !predicted[k] {
			never = append(never, classes[k])
		}
	}
	if len(never) > 0 {
		r.warn("never predicted, though in the scored rows: " + param.Few(never) +
			"; choose by balanced_accuracy, or give the model class_weight: balanced")
	}
}

// mostJudgedInFile is how many training rows the model is scored on where they stay in their file: what is held of those
// that are scored would grow with the file, and scores of more hardly differ.
const mostJudgedInFile = 1 << 20

// onlyJudged returns those rows of a source of the training rows that the model is scored on.
func (r *run) onlyJudged(train datasets.Source) (datasets.Source, error) {
	n, _ := train.Dims()
	if r.judged == nil && r.rows.Streamed && n > mostJudgedInFile && !r.rows.Task.Targetless() {
		r.judged = datasets.Spread(n, mostJudgedInFile)
	}
	if r.judged == nil {
		return train, nil
	}
	r.result.Rows.Judged = len(r.judged)
	return datasets.Subset(train, r.judged)
}

// count notes the sizes of clusters, or the share of anomalies, among the training or the test rows.
func (r *run) count(v *predictions.Verdict, test bool) {
	switch r.rows.Task {
	case datasets.Clustering:
		if r.result.Clusters == nil {
			r.result.Clusters = &result.ClusterSizes{}
		}
		sizes := v.Clusters()
		if !test {
			r.result.Clusters.Train = sizes
			return
		}
		for len(sizes) < len(r.result.Clusters.Train) {
			sizes = append(sizes, 0)
		}
		r.result.Clusters.Test = sizes
	case datasets.Anomaly:
		share := v.Anomalies()
		if !test {
			r.result.Anomalies = &result.AnomalyShares{Train: share}
			return
		}
		r.result.Anomalies.Test = &share
	}
}

func (r *run) score(v predictions.Verdict, part string, extra []string) (map[string]float64, error) {
	if part == "train" && r.rows.Test != nil && v.AllUsual() {
		return nil, nil // to learn from usual rows is what one does
	}
	scores, warnings, err := v.Score(extra...)
	for _, w := range warnings {
		r.warn(part + ": " + strings.TrimPrefix(w, "metrics: "))
	}
	return scores, err
}

// predict writes the predictions for some rows.
func (r *run) predict(ctx context.Context, source datasets.Source) (v predictions.Verdict, err error) {
	err = r.output.Write("predictions.csv", func(w *bufio.Writer) error {
		p := predictions.NewWriter(w, r.rows.Task, source.Schema(), len(source.Schema().Targets) > 0)
		if r.rows.Numbers != nil {
			p.Numbers = func(k int) int { return r.rows.Numbers[k] }
		}
		n, _ := source.Dims()
		v, err = predictions.Judge(ctx, r.model, r.rows.Task, source, p.Block, func(done int) { r.options.report("evaluate", done, max(n, 0)) })
		return err
	})
	return v, err
}

// write makes the other outputs and puts all of them in place.
func (r *run) write(ctx context.Context) error {
	r.options.report("write", 0, 0)
	if r.search != nil {
		if err := r.output.Write("cv_results.csv", func(w *bufio.Writer) error { return r.search.WriteCSV(w) }); err != nil {
			return err
		}
	}
	return r.finish(ctx, "spec.yaml", r.spec)
}

// writeSpec writes an experiment into the folder of outputs.
func (r *run) writeSpec(name string, spec Spec) error {
	resolved, err := spec.Encode(filepath.Join(r.spec.Output.Dir, name))
	if err != nil {
		return err
	}
	r.result.Spec, r.result.Diagram = string(resolved), diagram(spec.Pipeline, r.result.Search)
	return r.output.Write(name, func(w *bufio.Writer) error { _, err := w.Write(resolved); return err })
}

// writeModel writes the model, and the experiment under that name.
func (r *run) writeModel(name string, spec Spec) error {
	if err := r.output.Write(files.ModelName, func(w *bufio.Writer) error { return r.saveModel(w) }); err != nil {
		return err
	}
	return r.writeSpec(name, spec)
}

// finish writes the model, the experiment under that name and what there is to say, and puts all outputs in
// place.
func (r *run) finish(ctx context.Context, name string, spec Spec) (err error) {
	if err := r.writeModel(name, spec); err != nil {
		return err
	}
	r.result.Memory = memory.Peak()
	r.result.Seconds.Total = time.Since(r.started).Seconds()
	if r.spec.Report.HTML {
		page, err := reportOf(r.result)
		if err != nil {
			r.warn("report.html is not written: " + err.Error())
		} else if err := r.output.Write("report.html", func(w *bufio.Writer) error { _, err := w.Write(page); return err }); err != nil {
			return err
		}
	}
	if err := r.writeResult(); err != nil {
		return err
	}
	warned := len(r.result.Warnings)
	r.tracker.log(ctx, r)
	if len(r.result.Warnings) > warned {
		if err := r.writeResult(); err != nil { // with what the tracker did not take
			return err
		}
	}
	if err := cause.Err(ctx); err != nil {
		return err
	}
	r.result.Files, err = r.output.Publish()
	return err
}

// reportOf returns the report of a result. A report is made of whatever a run has found, some of it
// out of the ordinary: an error or a panic of it costs the page and not the run.
func reportOf(found Result) (page []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("report: %v", p)
		}
	}()
	var out bytes.Buffer
	err = report.Write(&out, found)
	return out.Bytes(), err
}

// writeResult writes result.json.
func (r *run) writeResult() error {
	return r.output.Write("result.json", func(w *bufio.Writer) error {
		text, lost, err := result.Marshal(r.result)
		if err == nil && len(lost) > 0 {
			r.warn("result.json: infinite or undefined, written as null: " + result.Paths(lost))
			text, _, err = result.Marshal(r.result)
		}
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	})
}

// saveModel writes the model file.
func (r *run) saveModel(w io.Writer) error {
	m, err := modelfile.New(r.model)
	if err != nil {
		return err
	}
	scores := map[string]float64{}
	for part, list := range map[string]map[string]float64{"train.": r.result.Train, "test.": r.result.Test} {
		for name, v := range list {
			if v-v == 0 { // JSON has no other numbers
				scores[part+name] = v
			}
		}
	}
	reading, err := r.spec.Data.Encode()
	if err != nil {
		return err
	}
	if r.rows.Task.Targetless() {
		m.Schema.Targets = r.rows.Train.Schema().Targets // which the fit has not seen
	}
	m.Name, m.Task, m.Metrics, m.Reading = r.spec.Name, r.rows.Task, scores, reading
	m.Versions, m.Profile = map[string]string{"bochner": r.result.Versions.Bochner}, r.result.Profile
	return m.Write(w)
}
