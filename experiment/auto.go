package experiment

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/diagnostics"
	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// AutoOptions are options of [Auto]. Minutes or Candidates must be set; zero values of other fields are the defaults.
type AutoOptions struct {
	ExtraFiles []string  // further input files
	Input      io.Reader // content of the path "-"; nil is standard input
	Target     string    // target column; "" is the last one
	Positive   string    // class of binary metrics; several others form the class "rest"; "" is the second of two
	Group      string    // column whose equal values keep rows together in folds and test rows; "" looks for one
	Time       string    // column by which the rows ascend, for folds in the order of time; "" looks for one
	Format     string    // one of [reader.Formats]; "" or auto infers it from the extension and the first lines
	Test       string    // file of test rows; "" holds out a fifth of the rows
	Task       string    // classification, regression or counts; "" infers it from the target
	Score      string    // metric of the search; "" is r2 or a classification metric that suits the class shares
	Minutes    float64   // time limit
	Candidates int       // if not 0, number of candidates instead of a time limit
	// MaxPredictTime per row and MaxSize of the model in bytes exclude models, see [auto.Options]; 0 is no limit.
	MaxPredictTime time.Duration
	MaxSize        int64
	StartFrom      string  // directory of an earlier run, whose best candidates are evaluated first; "" is none
	Exportable     bool    // try only models that [Export] supports
	NoRefit        bool    // save the model of the training rows, without a fit to them and the held-out rows
	Intervals      float64 // if not 0, level of prediction intervals or, for classes, of sets
	Seed           uint64
	Dir            string // output directory; "" is runs/NAME
	Force          bool   // overwrite the results of a different run in Dir

	OnWarning  func(text string) // as in [Options]
	Progress   Progress          // may be nil
	OnDecision func(text string) // called with every decision about the data; may be nil
	Stop       <-chan struct{}   // when closed, the search ends with the best model so far

	start     auto.Leaderboard // of StartFrom
	startTask string           // its task
	counts    bool             // whether Task was counts: regression of integers ≥ 0, by their Poisson deviance
}

// Auto searches for the best model for a data file, or for the data of an experiment file (.yaml).
// It infers column kinds and preprocessing as bochner init does, holds out a test set, and calls
// package auto. It writes into the output directory:
//
//	experiment.yaml   the experiment that reproduces the chosen model
//	model.bochner     that model, fitted to training and held-out rows
//	result.json       a [result.Result], with a [result.Auto]
//	leaderboard.csv   one row for each candidate
//	predictions.csv   one row for each test row
//	auto.journal      the trials, from which the same call resumes
//
// Scores, predictions and diagnostics are those of the model of the training rows, which is then fitted to the
// held-out rows too, see [estimator.Refit]. It is saved as it is with NoRefit, with test rows of their own, and if
// the time does not suffice.
//
// Closing o.Stop ends the search with the best model so far. When ctx ends, Auto returns an error
// that matches ctx.Err() and context.Cause(ctx).
func Auto(ctx context.Context, path string, o AutoOptions) (result.Result, error) {
	known := []string{}
	report := func(text string) {
		known = append(known, text)
		if o.OnDecision != nil {
			o.OnDecision(text)
		}
	}
	if o.Task == "counts" {
		o.Task, o.counts, o.Score = string(datasets.Regression), true, cmp.Or(o.Score, "mean_poisson_deviance")
	}
	if err := o.errs().Err(); err != nil {
		return result.Result{}, err
	}
	if err := o.readStart(report); err != nil {
		return result.Result{}, err
	}
	began := time.Now()
	draft, cancel := o.untilStopped(ctx, 0)
	defer cancel()
	spec, err := autoSpec(draft, path, o, report)
	if err != nil {
		return result.Result{}, err
	}
	out := newOutputs(spec, true)
	out.started = began
	return out.end(ctx, runAuto(ctx, spec, o, report, &known, out))
}

// readStart reads the leaderboard of StartFrom. The search has the score of that run.
func (o *AutoOptions) readStart(report func(string)) error {
	if o.StartFrom == "" {
		return nil
	}
	var board []byte
	earlier, err := ReadRun(o.StartFrom)
	if err == nil && earlier.Auto == nil {
		err = errors.New("its run is not one of bochner auto")
	}
	if err == nil && o.Score != "" && o.Score != earlier.Auto.Score {
		err = fmt.Errorf("score must be that of the run, %s, got %s", earlier.Auto.Score, o.Score)
	}
	if err == nil {
		board, err = os.ReadFile(filepath.Join(o.StartFrom, leaderboardName))
	}
	if err == nil {
		o.startTask, o.Score = earlier.Task, earlier.Auto.Score
		o.start, err = auto.ReadLeaderboard(bytes.NewReader(board))
	}
	if err == nil {
		err = auto.Options{Candidates: 1, Start: o.start}.Check()
	}
	if err != nil {
		return fmt.Errorf("experiment: cannot start from %s: %w", o.StartFrom, err)
	}
	report("starts from the best candidates of " + o.StartFrom)
	return nil
}

// runAuto executes the phases of Auto. It saves the model before the evaluation, so that an
// interruption cannot lose it.
func runAuto(ctx context.Context, spec Spec, o AutoOptions, report func(string), known *[]string, out *outputs) error {
	pass, cancel := o.untilStopped(ctx, 0)
	defer cancel()
	data, err := loadAuto(pass, spec, o, report, out)
	if err != nil {
		if pass.Err() != nil {
			return ctxerr.Check(pass)
		}
		return err
	}
	defer data.end()
	f, found, err := choose(ctx, data, o, out)
	if err != nil {
		return err
	}
	data.spec.Pipeline, data.spec.Search = found.Pipeline, nil
	out.result.Auto, out.comments = autoSummary(found, *known), scoreComments(found)
	again := data.spec
	again.Output.Dir = filepath.ToSlash(filepath.Join(again.Output.Dir, "again"))
	if err := saveChosen(ctx, data, f, found, again, o, out); err != nil {
		return err
	}
	if err := evaluateChosen(ctx, data, f, found, o, out); err != nil {
		return err
	}
	model, err := refitChosen(ctx, data, found, o, out)
	if err != nil {
		return err
	}
	if err := writeLeaderboard(found, o, out); err != nil {
		return err
	}
	return write(ctx, data, model, "experiment.yaml", again, out)
}

// autoSpec returns the data and preprocessing of the experiment file, or the inferred ones.
func autoSpec(ctx context.Context, path string, o AutoOptions, report func(string)) (Spec, error) {
	var spec Spec
	var err error
	if ending := strings.ToLower(filepath.Ext(path)); ending == ".yaml" || ending == ".yml" {
		if o.Target+o.Positive+o.Group+o.Time+o.Format+o.Task+o.Test != "" {
			return spec, errors.New("experiment: cannot combine target, positive, group, time, format, task or test with an " +
				"experiment file; set them in the file")
		}
		if len(o.ExtraFiles) > 0 {
			return spec, errors.New("experiment: " + path + ": an experiment file names its data; " + o.ExtraFiles[0] +
				" is one more")
		}
		if spec, err = (LoadOptions{Input: o.Input}).Load(ctx, path); err == nil && spec.Task().Unsupervised() {
			return spec, errors.New("experiment: " + path + ": " + unsupervisedAuto(spec.Task()))
		}
		if err == nil && spec.Task() == datasets.MultiLabel {
			return spec, errors.New("experiment: " + path + ": auto does not support the task multilabel; use bochner run")
		}
		spec.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	} else {
		spec, err = scaffold.Spec(ctx, path, scaffold.Options{Target: o.Target, Group: o.Group, Time: o.Time,
			Format: o.Format, Remark: report, More: o.ExtraFiles, Input: o.Input})
	}
	if err != nil {
		return spec, err
	}
	if names := spec.Data.Target; len(names) > 1 {
		return spec, fmt.Errorf("experiment: %s: auto supports one target, got %s; name one of them, or %s", path,
			suggest.List(names), initInstead)
	}
	if o.Seed != 0 {
		spec.Seed = o.Seed
	}
	spec.Data.Stream = "never"
	if ordered := spec.TimeOrdered(); spec.Search != nil { // package auto uses its own grid, folds and score
		if spec.Search = nil; ordered {
			spec.Search = config.NewSearch()
			spec.Search.CV.Kind = "time"
		}
	}
	if o.Test != "" {
		spec.Data.Test, spec.Data.Split = reader.Paths{o.Test}, config.New().Data.Split
		if err := spec.Data.Spool(ctx, spec.Data.TrainAndTest(), o.Input); err != nil {
			return spec, fmt.Errorf("experiment: %w", err)
		}
	}
	if o.Task != "" && o.Task != spec.Data.Task {
		spec.Data.Task, spec.Data.Split.Stratify = o.Task, false
		spec.Pipeline.Estimator = estimator.NewRidge()
		if o.Task == string(datasets.Classification) {
			spec.Pipeline.Estimator = estimator.NewRidgeClassifier()
		}
	}
	if o.Intervals > 0 {
		spec.Intervals = config.NewIntervals()
		spec.Intervals.Level = o.Intervals
	}
	if o.Positive != "" {
		spec.Data.Positive = reader.Strings{o.Positive}
	}
	spec.Pipeline.Steps = cleaning(spec.Pipeline.Steps)
	if spec.Output.Dir = o.Dir; o.Dir == "" {
		spec.Output.Dir = filepath.ToSlash(filepath.Join("runs", spec.Name))
	}
	return spec, nil
}

// cleaners are the registered names of preprocessing steps.
var cleaners = []string{"columns", "steps", "impute", "standardize", "minmax", "robust", "quantile", "onehot",
	"ordinal", "pca", "dense"}

// cleaning returns the leading preprocessing steps of a pipeline.
func cleaning(steps []pipeline.Step) []pipeline.Step {
	at := slices.IndexFunc(steps, func(s pipeline.Step) bool {
		own, known := pipeline.Lookup(s.Fitter)
		return !known || !slices.Contains(cleaners, own.Name)
	})
	if at < 0 {
		at = len(steps)
	}
	return append([]pipeline.Step{}, steps[:at]...)
}

// errs returns all errors of the options that do not depend on the data.
func (o AutoOptions) errs() param.FieldErrors {
	var errs param.FieldErrors
	switch task := datasets.Task(o.Task); {
	case task.Unsupervised():
		errs = append(errs, param.FieldError{Path: "task", Problem: unsupervisedAuto(task)})
	case task == datasets.MultiLabel:
		errs = append(errs, param.FieldError{Path: "task", Problem: "auto does not support the task multilabel; " + initInstead})
	}
	if o.Candidates == 0 && !(o.Minutes > 0 && o.Minutes <= maxMinutes) {
		errs = append(errs, param.FieldError{Path: "minutes", Value: o.Minutes,
			Constraint: fmt.Sprintf("a number > 0 and ≤ %d", maxMinutes)})
	}
	if o.Intervals != 0 && !(o.Intervals > 0 && o.Intervals < 1) {
		errs = append(errs, param.FieldError{Path: "intervals", Value: o.Intervals, Constraint: "a number > 0 and < 1"})
	}
	search := auto.Options{Budget: time.Minute, Candidates: o.Candidates, Score: o.Score,
		MaxPredictTime: o.MaxPredictTime, MaxSize: o.MaxSize}
	var more param.FieldErrors
	if errors.As(search.Check(), &more) {
		errs = append(errs, more...)
	}
	return errs
}

// initInstead is the way to a model that auto does not search for.
const initInstead = "use bochner run with the experiment file that bochner init writes"

// unsupervisedAuto returns the error of an unsupervised task.
func unsupervisedAuto(task datasets.Task) string {
	return fmt.Sprintf("auto compares models by what they predict of a target, and %s has none to predict; "+
		"bochner init --task %s writes an experiment file", task, task)
}

// maxMinutes is one year.
const maxMinutes = 60 * 24 * 366

// loadAuto loads the data and reports the decisions about them.
func loadAuto(ctx context.Context, spec Spec, o AutoOptions, report func(string), out *outputs) (*loaded, error) {
	data, err := load(ctx, spec, Options{Progress: o.Progress, Force: o.Force}, out)
	if err != nil {
		return nil, err
	}
	if err := dropConstants(ctx, data, report, out); err != nil {
		return nil, err
	}
	out.result.Seconds.Load = time.Since(out.started).Seconds() // with the draft
	schema := data.Train.Schema()
	text := fmt.Sprintf("target %s: %s", schema.Targets[0].Name, data.Task)
	if classes := schema.Classes(); len(classes) > 0 {
		text += ", classes " + suggest.List(classes)
	}
	report(text)
	tested := "none held out to test on"
	if data.Test != nil {
		n, _ := data.Test.Dims()
		tested = fmt.Sprintf("%d held out, which no choice sees", n)
	}
	report(fmt.Sprintf("%d inputs, %d rows to learn from, %s", out.result.Features, out.result.Rows.Train, tested))
	if steps := data.spec.Pipeline.Steps; len(steps) > 0 {
		report("cleaned by " + listed(steps, " → "))
	}
	return data, nil
}

// dropConstants drops the columns that are the same in all training rows from an inferred experiment and
// reads the rows again: the model would extrapolate where test rows have other values.
func dropConstants(ctx context.Context, data *loaded, report func(string), out *outputs) error {
	set, err := datasets.ReadAll(ctx, data.Train)
	dense, isDense := set.X.(*mat.Dense)
	if err != nil || !isDense || set.Rows() == 0 || data.spec.FromFile() {
		return err
	}
	var names []string
	numeric, categorical := 0, 0
	count := func(c datasets.Column, n int) {
		if c.Kind == datasets.Numeric {
			numeric += n
		} else if c.Kind == datasets.Categorical || c.Format.HasCategories() {
			categorical += n
		}
	}
	for j := range set.Cols() {
		count(set.Schema.Column(j), 1)
	}
	for j := range set.Cols() {
		first := dense.At(0, j)
		same := true
		for i := 1; i < set.Rows() && same; i++ {
			same = dense.At(i, j) == first
		}
		if same {
			count(set.Schema.Column(j), -1)
			names = append(names, set.Schema.Name(j))
			report(fmt.Sprintf("Column %s is dropped: the same value in all training rows.", set.Schema.Name(j)))
		}
	}
	if len(names) == 0 || len(names) == set.Cols() {
		return nil
	}
	for i, s := range data.spec.Pipeline.Steps {
		if c, ok := s.Fitter.(pipeline.Columns); ok {
			c.Groups = slices.DeleteFunc(slices.Clone(c.Groups), func(g pipeline.Group) bool {
				return g.Select[0] == datasets.Numeric.String() && numeric == 0 ||
					g.Select[0] == datasets.Categorical.String() && categorical == 0
			})
			data.spec.Pipeline.Steps[i].Fitter = c
		}
	}
	data.spec.Data.Drop = slices.Concat(data.spec.Data.Drop, names)
	if data.Parts, err = read(ctx, data.spec, Options{}); err != nil {
		return err
	}
	_, out.result.Features = data.Train.Dims()
	data.shape, err = shapeOf(ctx, data.Parts)
	return err
}

// listed formats the names of steps, including the children of composites.
func listed(steps []pipeline.Step, between string) string {
	var words []string
	for _, s := range steps {
		composite, ok := s.Fitter.(pipeline.Composite)
		switch _, group := s.Fitter.(pipeline.Group); {
		case group:
			words = append(words, listed(composite.Children(), " → "))
		case ok:
			words = append(words, s.Path()+" ("+listed(composite.Children(), "; ")+")")
		default:
			words = append(words, s.Path())
		}
	}
	return strings.Join(words, between)
}

// choose runs package auto on the training rows.
func choose(ctx context.Context, data *loaded, options AutoOptions, out *outputs) (f fitted, found *auto.Result,
	err error) {
	set, err := datasets.ReadAll(ctx, data.Train)
	if err != nil {
		return f, nil, err
	}
	if options.start != nil && options.startTask != string(data.Task) {
		return f, nil, fmt.Errorf("experiment: cannot start from %s: the task must be %s, got %s", options.StartFrom,
			options.startTask, data.Task)
	}
	if options.counts {
		at := slices.IndexFunc(set.Y, func(y float64) bool { return !(y >= 0) || y != math.Trunc(y) })
		if at >= 0 {
			return f, nil, fmt.Errorf("experiment: task counts: the target %s must be integers ≥ 0, got %v; "+
				"use the task regression", set.Schema.Targets[0].Name, set.Y[at])
		}
	}
	o := auto.NewOptions()
	o.Budget = time.Duration(options.Minutes * float64(time.Minute))
	if spent := time.Since(out.started); o.Budget > 2*spent {
		o.Budget -= spent // including the time of reading
	}
	o.Budget = time.Duration(searchShare * float64(o.Budget))
	o.Candidates, o.Score, o.Seed, o.Stop = options.Candidates, options.Score, data.spec.Seed, options.Stop
	o.MaxPredictTime, o.MaxSize = options.MaxPredictTime, options.MaxSize
	o.Exportable, o.Start = options.Exportable, options.start
	if data.spec.Intervals != nil {
		o.LaterFits = append(o.LaterFits, set.Rows())
	}
	if options.refits(data) {
		n, _ := data.Test.Dims()
		o.LaterFits = append(o.LaterFits, set.Rows()+n)
	}
	o.Preprocessing = pipeline.Sequence(data.spec.Pipeline.Steps)
	if o.Preprocessing == nil {
		o.Preprocessing = pipeline.Sequence{}
	}
	o.TimeOrdered = data.spec.TimeOrdered()
	o.Journal = filepath.Join(data.spec.Output.Dir, autoJournal)
	o.Progress = func(p gridsearch.Progress) {
		done, total := p.Done, p.Total
		if total == 0 {
			done, total = int(p.Elapsed.Seconds()), int(p.Budget.Seconds())
		}
		options.Progress.report(p.Phase, min(done, total), total)
	}
	if found, err = auto.Fit(ctx, set, o); err != nil {
		if errors.Is(err, auto.ErrOtherSearch) {
			return f, nil, fmt.Errorf("experiment: %s contains a search with different rows or options; use --force to "+
				"overwrite it, or --out DIR", data.spec.Output.Dir)
		}
		return f, nil, set.Locate(err, 0)
	}
	if data.spec.Intervals != nil {
		if found.Model, err = finalPipeline(data.spec, found.Pipeline, data.shape, false).Fit(ctx, set); err != nil {
			return f, nil, set.Locate(err, 0)
		}
	}
	f = fitted{model: found.Model, score: found.Score}
	if out.result.Rows.Train = set.Rows(); set.Rows() > maxJudged {
		f.judged = rowblock.EvenlySpaced(set.Rows(), maxJudged)
	}
	out.result.Seconds.Search = found.Seconds
	out.warn(found.Warnings...)
	out.warn(diagnostics.FitWarnings(f.model)...)
	return f, found, nil
}

// searchShare is the share of the time after loading for the search. The rest is for the model
// file, predictions and the report.
const searchShare = 0.9

// Shares of the total time: for writing the results, and for the diagnostics at most.
const (
	writeShare  = 0.03
	reportShare = 0.1
)

// refits reports whether the chosen model is to be fitted to all rows: those of a test file are never added.
func (o AutoOptions) refits(data *loaded) bool { return !o.NoRefit && data.Held() }

// end returns when the results are to be written; zero without a time limit.
func (o AutoOptions) end(out *outputs) (end time.Time) {
	if o.Candidates == 0 {
		end = out.started.Add(o.limit(1 - writeShare))
	}
	return end
}

// limit returns a share of the time limit.
func (o AutoOptions) limit(share float64) time.Duration {
	return time.Duration(share * o.Minutes * float64(time.Minute))
}

// stopDelay is the time for the evaluation after the caller stops the search.
const stopDelay = time.Second / 2

// untilStopped returns a context that ends delay after the caller stops the search.
func (o AutoOptions) untilStopped(ctx context.Context, delay time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-o.Stop:
			select {
			case <-time.After(delay):
				cancel()
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// saveChosen saves the model, its experiment file and a result without scores.
func saveChosen(ctx context.Context, data *loaded, f fitted, found *auto.Result, again Spec, o AutoOptions,
	out *outputs) error {
	if err := writeLeaderboard(found, o, out); err != nil {
		return err
	}
	if err := writeModel(data, f.model, "experiment.yaml", again, out); err != nil {
		return err
	}
	out.result.Seconds.Total = time.Since(out.started).Seconds()
	if err := out.writeResult(); err != nil {
		return err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	_, err := out.folder.Publish()
	return err
}

// evaluateChosen evaluates the model. The end of their share of the time, or what a refit needs of it, skips
// diagnostics; a stop skips the evaluation.
func evaluateChosen(ctx context.Context, data *loaded, f fitted, found *auto.Result, o AutoOptions, out *outputs) error {
	limited, cancel := o.untilStopped(ctx, stopDelay)
	defer cancel()
	v, err := evaluate(limited, data, f, Options{Progress: o.Progress}, out)
	if err == nil {
		until := o.end(out)
		if late := time.Now().Add(o.limit(reportShare)); until.After(late) {
			until = late
		}
		later := time.Duration(found.LaterSeconds * float64(time.Second))
		if before := o.end(out).Add(-later); until.After(before) && time.Now().Before(before) {
			until = before
		}
		err = examine(limited, data, f, v, until, Options{Progress: o.Progress}, out)
	}
	if limited.Err() != nil && ctx.Err() == nil {
		out.warn("stopped before the evaluation; use bochner evaluate")
		return nil
	}
	return err
}

// refitChosen returns the model fitted to all rows, or, with a warning, that of the training rows if the time does not
// suffice.
func refitChosen(ctx context.Context, data *loaded, found *auto.Result, o AutoOptions, out *outputs) (
	estimator.Predictor, error) {
	if !o.refits(data) {
		return found.Model, nil
	}
	began := time.Now()
	limited, cancel := o.untilStopped(ctx, 0)
	defer cancel()
	if end := o.end(out); !end.IsZero() {
		limited, cancel = context.WithDeadlineCause(limited, end, errors.New("out of time"))
		defer cancel()
	}
	var model estimator.Predictor
	err := errors.New("the search was stopped")
	if found.StopReason != "stopped" {
		o.Progress.report("refit", 0, 0)
		model, out.result.Rows.Fitted, err = refitAll(limited, data, found)
	}
	if ctx.Err() != nil {
		return nil, ctxerr.Check(ctx)
	}
	out.result.Seconds.Refit = time.Since(began).Seconds()
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	if err != nil {
		out.result.Rows.Fitted = 0
		out.warn("model.bochner is fitted to the training rows only, not to the held-out rows: " + err.Error())
		return found.Model, nil
	}
	return model, nil
}

// refitAll fits the chosen model to training and held-out rows.
func refitAll(ctx context.Context, data *loaded, found *auto.Result) (estimator.Predictor, int, error) {
	all, err := data.Rejoined(ctx)
	if err != nil {
		return nil, 0, err
	}
	model, err := estimator.Refit(ctx, finalPipeline(data.spec, found.Pipeline, data.shape, false), found.Model, all)
	return model, all.Rows(), err
}

// autoSummary converts the outcome of the search for result.json.
func autoSummary(f *auto.Result, known []string) *result.Auto {
	out := &result.Auto{Score: f.Score, Recipe: f.Chosen.Recipe, Params: map[string]any{},
		Mean: f.Chosen.Estimate, StdError: f.Chosen.StdError, Optimism: f.Chosen.Score - f.Chosen.Estimate,
		Candidates: f.Tried, Resumed: f.Resumed, Ended: f.StopReason, Decided: known}
	for _, s := range f.Chosen.Settings {
		out.Params[s.Path] = s.Value
	}
	out.Rounds = slices.Grow(out.Rounds, len(f.Rounds)+1)[:len(f.Rounds)] // not nil, so that JSON has a list
	for k, r := range f.Rounds {
		one := &out.Rounds[k]
		one.Rows, one.Folds, one.Size, one.Recipes, one.Candidates = r.Rows, r.Folds, r.Size, r.Recipes, r.Candidates
		one.Best, one.Mean, one.Seconds = r.Best.Recipe, r.Best.Score, r.Seconds
	}
	out.PredictSeconds, out.Bytes = f.Chosen.PredictSeconds, f.Chosen.Bytes
	for _, e := range f.Leaderboard {
		if e.Bytes > 0 && e.Rows == f.Chosen.Rows && !math.IsNaN(e.Score) {
			out.Costs = append(out.Costs, result.AutoCost{Recipe: e.Recipe, Mean: e.Score, PredictSeconds: e.PredictSeconds,
				Bytes: e.Bytes})
		}
	}
	for _, in := range f.InputRelevance {
		out.Inputs = append(out.Inputs, struct {
			Name  string  `json:"name"`
			Scale float64 `json:"scale"`
		}(in))
	}
	return out
}

// scoreComments returns the cross-validated score of the pipeline and of each member of an ensemble.
func scoreComments(found *auto.Result) map[string]string {
	text := func(score, deviation float64) string {
		return fmt.Sprintf("%s %.4g ± %.2g in cross-validation", found.Score, score, deviation)
	}
	out := map[string]string{"": text(found.Chosen.Estimate, found.Chosen.StdError)}
	for _, e := range found.Leaderboard {
		if e.Member != "" {
			out[e.Member] = text(e.Score, e.StdError)
		}
	}
	return out
}

// leaderboardName is the name of the file with all candidates.
const leaderboardName = "leaderboard.csv"

// writeLeaderboard writes the leaderboard.
func writeLeaderboard(found *auto.Result, o AutoOptions, out *outputs) error {
	o.Progress.report("write", 0, 0)
	return out.folder.Write(leaderboardName, func(w *bufio.Writer) error { return found.Leaderboard.WriteCSV(w) })
}
