package experiment

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

// Run does the whole experiment and writes its outputs into output.dir: all of them at the end, or
// none. A search keeps a journal there while it goes on, so that a run that was stopped takes up
// where it was; the result is the same but for the times.
//
// Where the folder holds a finished run of another spec or of other data, Run does nothing and returns an
// [*EarlierRun], unless o.Force is set.
//
// It returns ctx.Err() when the context ends, as soon as the block or iteration at hand is done.
func Run(ctx context.Context, spec Spec, o Options) (Result, error) {
	r := &run{spec: spec, options: o, started: time.Now()}
	r.result = Result{Name: spec.Name, Seed: spec.Seed, Versions: Version(), Warnings: []string{}}
	for _, phase := range []func(context.Context) error{r.load, r.fit, r.evaluate, r.write} {
		if err := phase(ctx); err != nil {
			if r.stage != nil {
				r.stage.discard()
			}
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			return Result{}, err
		}
	}
	return r.result, nil
}

// run is an experiment that is going on.
type run struct {
	spec    Spec
	options Options
	started time.Time
	result  Result

	rows   *rows
	stage  *stage
	search *gridsearch.Result
	model  estimator.Predictor
}

// digest says which files the rows are from.
func (r *run) digest(ctx context.Context) (err error) {
	data, sum := r.spec.Data, &r.result.SHA256
	if data.Dataset != "" {
		sum.Train, sum.Test, err = builtin.SHA256(data.Dataset)
		return err
	}
	if sum.Train, err = digest(ctx, data.Train); err != nil {
		return err
	}
	sum.Test, err = digest(ctx, data.Test)
	return err
}

// load reads the data and what there is to say about it.
func (r *run) load(ctx context.Context) error {
	began := time.Now()
	r.options.report("load", 0, 0)
	before, err := r.spec.filesNow()
	if err != nil {
		return err
	}
	if err := r.digest(ctx); err != nil {
		return err
	}
	if !r.options.Force {
		if err := r.spec.earlier(r.result.SHA256); err != nil {
			return err
		}
	}
	if r.stage, err = newStage(r.spec.Output.Dir); err != nil {
		return err
	}
	if r.rows, err = r.spec.read(ctx, r.options); err != nil {
		return err
	}
	if err := r.spec.unchanged(before); err != nil {
		return err // the digest is of other rows
	}
	r.warn(r.rows.warnings...)
	r.result.Task = string(r.rows.task)
	r.result.Positive = metrics.PositiveClass(r.rows.train.Schema().Classes())
	r.result.Rows.Train, r.result.Features = r.rows.train.Dims()
	if err := r.fits(); err != nil {
		return err
	}
	r.result.Seconds.Load = time.Since(began).Seconds()
	return nil
}

// filesNow is what the system says of the data files.
func (s Spec) filesNow() (map[string]fs.FileInfo, error) {
	out := map[string]fs.FileInfo{}
	for _, path := range []string{s.Data.Train, s.Data.Test} {
		if path == "" {
			continue
		}
		info, err := datasets.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", tell(err))
		}
		out[path] = info
	}
	return out, nil
}

// unchanged returns an error where a data file is not what it was before.
func (s Spec) unchanged(before map[string]fs.FileInfo) error {
	now, err := s.filesNow()
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if !datasets.SameFile(before[path], now[path]) {
			return fmt.Errorf("experiment: %w", &datasets.LineError{File: path, Err: datasets.ErrChanged})
		}
	}
	return nil
}

// fits refuses a fit that cannot have the memory it wants. The candidates of a search are looked at
// by the search.
func (r *run) fits() error {
	p := Plan{Rows: r.result.Rows, Features: r.result.Features, Stream: r.rows.streamed, Available: memory.Available()}
	shape := datasets.Shape{Rows: p.Rows.Train, Cols: p.Features, Outputs: r.rows.train.Schema().Outputs(), Columns: r.rows.train.Schema().Columns}
	if !r.rows.streamed {
		set, err := datasets.Gather(context.Background(), r.rows.train) // it is in memory, which is not copied
		if err != nil {
			return err
		}
		shape = set.Shape()
	}
	p.steps(r.spec, shape)
	return p.Refusal()
}

// fit searches and fits the model to all training rows.
func (r *run) fit(ctx context.Context) error {
	if r.spec.Search != nil {
		return r.fitSearch(ctx)
	}
	began := time.Now()
	r.options.report("refit", 0, 0)
	var err error
	if r.rows.streamed {
		r.model, err = r.spec.streaming().FitSource(ctx, r.rows.train)
	} else {
		var set datasets.Set
		if set, err = datasets.Gather(ctx, r.rows.train); err == nil {
			r.model, err = r.spec.Pipeline.Fit(ctx, set)
			err = set.Locate(err, 0)
		}
	}
	r.result.Seconds.Refit = time.Since(began).Seconds()
	r.reportOf(r.model)
	return err
}

func (r *run) fitSearch(ctx context.Context) error {
	set, err := datasets.Gather(ctx, r.rows.train)
	if err != nil {
		return err
	}
	search := r.spec.searchOn(set, r.rows.task)
	search.Journal = r.stage.journal(r.spec, r.result.SHA256)
	search.Progress = func(p gridsearch.Progress) {
		phase := "search"
		if p.Done == p.Total {
			phase = "refit"
		}
		r.options.report(phase, p.Done, p.Total)
	}
	if err := r.runSearch(ctx, search, set); err != nil {
		return err
	}
	r.model = r.search.Model
	r.result.Seconds.Search, r.result.Seconds.Refit = r.search.Seconds, r.search.RefitSeconds
	r.stage.keep = r.search.Unreached > 0
	r.warn(r.search.Warnings...)
	r.reportOf(r.model)
	return nil
}

// searchOn is the grid search of the spec over these rows.
func (s Spec) searchOn(set datasets.Set, task metrics.Task) gridsearch.Search {
	search := gridsearch.NewSearch(s.Pipeline, s.Search.Grid...)
	search.Score, search.Refit = string(s.Search.Score), s.Search.Refit
	search.Splitter = s.folds(set, task)
	search.Random, search.Seed, search.Budget = s.Search.Random, s.seedOf("search.random"), time.Duration(s.Search.Budget)
	search.Memory = memory.Available() / 2
	return search
}

// folds divides the rows of a search.
func (s Spec) folds(set datasets.Set, task metrics.Task) datasets.Splitter {
	cv, seed := s.Search.CV, s.seedOf("search.cv")
	kind := cv.Kind
	if kind == "auto" {
		switch {
		case set.Groups != nil:
			kind = "group"
		case task == metrics.Classification:
			kind = "stratified"
		default:
			kind = "kfold"
		}
	}
	switch kind {
	case "group":
		return datasets.GroupKFold{Folds: cv.Folds, Shuffle: cv.Shuffle, Seed: seed}
	case "stratified":
		return datasets.StratifiedKFold{Folds: cv.Folds, Shuffle: cv.Shuffle, Seed: seed}
	case "time":
		return datasets.TimeSeriesSplit{Folds: cv.Folds}
	case "loo", "gcv":
		return gridsearch.LeaveOneOut{GCV: kind == "gcv"}
	}
	return datasets.KFold{Folds: cv.Folds, Shuffle: cv.Shuffle, Seed: seed}
}

// summary is what result.json says of a search.
func summary(found *gridsearch.Result) *SearchResult {
	best := found.Best()
	out := &SearchResult{
		Candidates: len(found.Candidates), Folds: found.Folds, Fits: found.Fits, Score: found.Score,
		Best:       Candidate{Params: map[string]any{}, Mean: best.Mean, Std: best.Std},
		OnGridEdge: append([]string{}, found.OnGridEdge...), Shared: append([]string{}, found.Shared...), Unreached: found.Unreached,
	}
	slices.Sort(out.Shared) // the batches of a search that was resumed end in another order
	for _, s := range best.Settings {
		out.Best.Params[s.Path] = s.Value
	}
	return out
}

func (r *run) warn(texts ...string) { r.result.Warnings = append(r.result.Warnings, texts...) }

// reportOf passes on what a fit warns of, that it did not converge above all.
func (r *run) reportOf(model estimator.Predictor) {
	m, ok := model.(estimator.Reporter)
	if !ok {
		return
	}
	report := m.Report()
	if !report.Converged && len(report.Warnings) == 0 {
		r.warn(fmt.Sprintf("the fit did not converge: %s stopped after %d iterations with a relative gradient of %.2g; raise max_iter or tol", report.Solver, report.Iterations, report.Gradient))
	}
	r.warn(report.Warnings...)
}

// evaluate scores the model on the training and test rows, and writes the predictions for the
// latter.
func (r *run) evaluate(ctx context.Context) error {
	began := time.Now()
	n, _ := r.rows.train.Dims()
	var extra []string
	if r.search != nil {
		extra = []string{r.search.Score}
	}
	v, err := judge(ctx, r.model, r.rows.train, nil, func(done int) { r.options.report("evaluate", done, max(n, 0)) })
	if err != nil {
		return err
	}
	r.result.Rows.Train = v.rows
	if r.result.Train, err = r.score(v, "train", extra); err != nil {
		return err
	}
	if r.rows.test != nil {
		if v, err = r.predictTest(ctx); err != nil {
			return err
		}
		r.result.Rows.Test = v.rows
		if r.result.Test, err = r.score(v, "test", extra); err != nil {
			return err
		}
	}
	r.result.Seconds.Evaluate = time.Since(began).Seconds()
	return nil
}

func (r *run) score(v verdict, part string, extra []string) (map[string]float64, error) {
	scores, warnings, err := v.score(r.rows.task, extra...)
	for _, w := range warnings {
		r.warn(part + ": " + strings.TrimPrefix(w, "metrics: "))
	}
	return scores, err
}

func (r *run) predictTest(ctx context.Context) (v verdict, err error) {
	err = r.stage.write("predictions.csv", func(w *bufio.Writer) error {
		p := newPredictionWriter(w, r.rows.test.Schema(), true)
		if r.rows.numbers != nil {
			p.numbers = func(k int) int { return r.rows.numbers[k] }
		}
		n, _ := r.rows.test.Dims()
		v, err = judge(ctx, r.model, r.rows.test, p.block, func(done int) { r.options.report("evaluate", done, max(n, 0)) })
		return err
	})
	return v, err
}

// write makes the other outputs and puts all of them in place.
func (r *run) write(ctx context.Context) error {
	r.options.report("write", 0, 0)
	if r.search != nil {
		if err := r.stage.write("cv_results.csv", func(w *bufio.Writer) error { return r.search.WriteCSV(w) }); err != nil {
			return err
		}
	}
	if err := r.stage.write("model.bochner", func(w *bufio.Writer) error { return r.saveModel(w) }); err != nil {
		return err
	}
	resolved, err := r.spec.Encode(filepath.Join(r.spec.Output.Dir, "spec.yaml"))
	if err != nil {
		return err
	}
	if err := r.stage.write("spec.yaml", func(w *bufio.Writer) error { _, err := w.Write(resolved); return err }); err != nil {
		return err
	}
	r.result.Memory = memory.Peak()
	r.result.Seconds.Total = time.Since(r.started).Seconds()
	err = r.stage.write("result.json", func(w *bufio.Writer) error {
		text, err := json.MarshalIndent(r.result, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.result.Files, err = r.stage.publish()
	return err
}

// seedOf derives the seed of a purpose from that of the experiment.
func (s Spec) seedOf(purpose string) uint64 {
	return pipeline.DeriveSeed(s.Seed, purpose)
}
