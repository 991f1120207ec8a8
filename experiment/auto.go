package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/reader"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/experiment/draft"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/files"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/mlflow"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// AutoOptions say more about the data of [Auto], and how long it may take.
type AutoOptions struct {
	More       []string  // further files of rows, behind the first
	Input      io.Reader // what the path "-" stands for; nil is standard input
	Target     string    // column to predict; the last one when empty
	Format     string    // one of [reader.Formats]; "" or auto goes by the ending and the first lines
	Test       string    // file of rows to test on; "" holds out a fifth of the rows
	Task       string    // classification or regression; "" goes by the target
	Score      string    // metric to choose by; "" stands for that of [Draft] for classes of such shares, or r2
	Minutes    float64   // that all of it may take
	Candidates int       // unless 0, how many candidates are tried, whatever time that takes
	Exportable bool      // whether only models are tried that [Export] can write
	Seed       uint64
	Dir        string // for the outputs; "" stands for runs/NAME
	Force      bool   // whether the results of another run in Dir are replaced

	MLflow   string            // server to which the run is logged, as output.mlflow; "" for that of the experiment file
	Warn     func(text string) // as [Options]
	Progress Progress          // nil for none
	Tell     func(text string) // is told what is decided about the data; nil for nobody
	Stop     <-chan struct{}   // closed, ends the search with the best model so far
}

// autoOutputs are all that Auto may write.
var autoOutputs = []string{"experiment.yaml", "result.json", "leaderboard.csv", "predictions.csv", files.ModelName, "report.html"}

// autoJournal is the name of the file in which a search notes its trials.
const autoJournal = "auto.journal"

// Auto finds a good model for a data file, or for the data of an experiment file (.yaml). It forms the opinion of
// the columns that [Draft] has, holds out test rows that no choice sees, and leaves the rest to package
// auto. Into the folder go
//
//	experiment.yaml   the experiment that makes the chosen model again
//	model.bochner     that model
//	result.json       a [Result], with an [result.Auto]
//	leaderboard.csv   a row for each candidate
//	predictions.csv   a row for each test row
//	auto.journal      what was tried: the same call again goes on from there
//
// It returns an error that matches ctx.Err() and context.Cause(ctx) when the context ends; o.Stop ends the search with the best model so far.
func Auto(ctx context.Context, path string, o AutoOptions) (Result, error) {
	told := []string{}
	tell := func(text string) {
		told = append(told, text)
		if o.Tell != nil {
			o.Tell(text)
		}
	}
	if err := o.faults().Err(); err != nil {
		return Result{}, err
	}
	began := time.Now()
	draft, cancel := o.untilStopped(ctx, 0)
	defer cancel()
	spec, err := autoSpec(draft, path, o, tell)
	if err != nil {
		return Result{}, err
	}
	r := newRun(spec, Options{Progress: o.Progress, Force: o.Force, Warn: o.Warn}, autoOutputs)
	r.auto, r.started = true, began
	a := automatic{r, o, tell, &told}
	return r.phases(ctx, a.load, a.choose, a.save, a.evaluate, a.write)
}

// autoSpec says what is to be read and how it is cleaned: as the experiment file says, or as a draft would.
func autoSpec(ctx context.Context, path string, o AutoOptions, tell func(string)) (Spec, error) {
	var spec Spec
	var err error
	if ending := strings.ToLower(filepath.Ext(path)); ending == ".yaml" || ending == ".yml" {
		if o.Target != "" || o.Format != "" || o.Task != "" || o.Test != "" {
			return spec, errors.New("experiment: target, format, task and test are said by the experiment file")
		}
		if len(o.More) > 0 {
			return spec, errors.New("experiment: " + path + ": an experiment file says which rows there are; " + o.More[0] + " is one more")
		}
		if spec, err = LoadWith(ctx, path, LoadOptions{Input: o.Input}); err == nil && spec.Task().Targetless() {
			return spec, errors.New("experiment: " + path + ": " + untaughtAuto(spec.Task()))
		}
		spec.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	} else {
		spec, err = draft.Spec(ctx, path, DraftOptions{Target: o.Target, Format: o.Format, Remark: tell, More: o.More, Input: o.Input})
	}
	if err != nil {
		return spec, err
	}
	if o.Seed != 0 {
		spec.Seed = o.Seed
	}
	if spec.Data.Stream = "never"; spec.Search != nil && spec.Search.CV.Kind != "time" {
		spec.Search = nil // package auto has folds and a score of its own
	}
	if o.Test != "" {
		spec.Data.Test, spec.Data.Split = reader.Paths{o.Test}, document.New().Data.Split
		if err := spec.Data.Hold(ctx, spec.Data.TrainAndTest(), o.Input); err != nil {
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
	spec.Pipeline.Steps = cleaning(spec.Pipeline.Steps)
	if spec.Output.Dir = o.Dir; o.Dir == "" {
		spec.Output.Dir = filepath.ToSlash(filepath.Join("runs", spec.Name))
	}
	if o.MLflow != "" {
		spec.Output.MLflow = o.MLflow
	}
	return spec, nil
}

// cleaners are the steps that make numbers of columns, by the names that they are registered under.
var cleaners = []string{"columns", "steps", "impute", "standardize", "minmax", "robust", "quantile", "onehot", "ordinal", "pca", "dense"}

// cleaning returns the first steps of a pipeline, as far as they clean.
func cleaning(steps []pipeline.Step) []pipeline.Step {
	at := slices.IndexFunc(steps, func(s pipeline.Step) bool {
		own, known := pipeline.EntryOf(s.Fitter)
		return !known || !slices.Contains(cleaners, own.Name)
	})
	if at < 0 {
		at = len(steps)
	}
	return append([]pipeline.Step{}, steps[:at]...)
}

// faults is everything that is wrong with the options, but for the data.
func (o AutoOptions) faults() param.Faults {
	var faults param.Faults
	if task := datasets.Task(o.Task); task.Targetless() {
		faults = append(faults, param.Fault{Path: "task", Problem: untaughtAuto(task)})
	}
	if o.MLflow != "" {
		if _, err := mlflow.ParseAddress(o.MLflow); err != nil {
			faults = append(faults, param.Fault{Path: "mlflow", Problem: err.Error()})
		}
	}
	if o.Candidates < 0 {
		faults = append(faults, param.Fault{Path: "candidates", Value: o.Candidates, Wanted: "a whole number, 0 or more"})
	}
	if o.Candidates == 0 && !(o.Minutes > 0 && o.Minutes <= mostMinutes) {
		faults = append(faults, param.Fault{Path: "minutes", Value: o.Minutes, Wanted: fmt.Sprintf("a number above 0, at most %d", mostMinutes)})
	}
	if o.Score != "" {
		if _, err := metrics.ByName(o.Score); err != nil {
			faults = append(faults, param.Fault{Path: "score", Problem: document.Problem(err), Err: err})
		}
	}
	return faults
}

// untaughtAuto says why auto does not choose a model for a task without a target.
func untaughtAuto(task datasets.Task) string {
	return fmt.Sprintf("auto compares models by what they predict of a target, and %s has none to predict; "+
		"bochner init --task %s writes an experiment file to go on from", task, task)
}

// mostMinutes is a year.
const mostMinutes = 60 * 24 * 366

// automatic is a run whose pipeline is chosen by package auto.
type automatic struct {
	*run
	o    AutoOptions
	tell func(string)
	told *[]string
}

// load reads the data and says what was decided. Stopping ends it.
func (a automatic) load(ctx context.Context) error {
	ctx, cancel := a.o.untilStopped(ctx, 0)
	defer cancel()
	if err := a.earlier(); err != nil {
		return err
	}
	if err := a.run.load(ctx); err != nil {
		if ctx.Err() != nil {
			return cause.Err(ctx)
		}
		return err
	}
	a.result.Seconds.Load = time.Since(a.started).Seconds() // with the draft
	schema := a.rows.Train.Schema()
	text := fmt.Sprintf("target %s: %s", schema.Targets[0].Name, a.rows.Task)
	if classes := schema.Classes(); len(classes) > 0 {
		text += ", classes " + param.Few(classes)
	}
	a.tell(text)
	tested := "none held out to test on"
	if a.rows.Test != nil {
		n, _ := a.rows.Test.Dims()
		tested = fmt.Sprintf("%d held out, which no choice sees", n)
	}
	a.tell(fmt.Sprintf("%d inputs, %d rows to learn from, %s", a.result.Features, a.result.Rows.Train, tested))
	if steps := a.spec.Pipeline.Steps; len(steps) > 0 {
		a.tell("cleaned by " + listed(steps, " → "))
	}
	return nil
}

// listed writes the names of steps, and of what composites hold.
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

// earlier looks what the folder holds from before: a search to go on with, or results that only force replaces.
func (a automatic) earlier() error {
	if err := a.checkOutputs(); err != nil {
		return err
	}
	journal := filepath.Join(a.spec.Output.Dir, autoJournal)
	if a.o.Force {
		if err := os.Remove(journal); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("experiment: %w", err)
		}
		return nil
	}
	found, err := resultIn(a.spec.Output.Dir)
	if _, missing := os.Stat(journal); missing == nil && (found.Auto != nil || errors.Is(err, fs.ErrNotExist)) {
		return nil // the head of the journal identifies the search
	}
	var noFile *fs.PathError
	if !errors.As(err, &noFile) {
		return fmt.Errorf("experiment: %s holds the results of another run; --force replaces them, --out FOLDER keeps both", a.spec.Output.Dir)
	}
	return nil
}

// choose leaves the training rows to package auto.
func (a automatic) choose(ctx context.Context) error {
	set, err := datasets.Gather(ctx, a.rows.Train)
	if err != nil {
		return err
	}
	o := auto.NewOptions()
	o.Budget = time.Duration(a.o.Minutes * float64(time.Minute))
	if spent := time.Since(a.started); o.Budget > 2*spent {
		o.Budget -= spent // reading is part of it
	}
	o.Budget = time.Duration(searchShare * float64(o.Budget))
	o.Candidates, o.Score, o.Seed, o.Stop = a.o.Candidates, a.o.Score, a.spec.Seed, a.o.Stop
	o.Exportable = a.o.Exportable
	o.Clean, o.Memory = pipeline.Sequence(a.spec.Pipeline.Steps), memory.Available()/2
	if o.Clean == nil {
		o.Clean = pipeline.Sequence{}
	}
	if a.spec.Search != nil {
		o.Timed = a.spec.Search.CV.Kind == "time"
	}
	o.Journal = filepath.Join(a.spec.Output.Dir, autoJournal)
	o.Progress = func(p auto.Progress) {
		done, total := p.Tried, p.Candidates
		if total == 0 {
			done, total = int(p.Elapsed.Seconds()), int(p.Budget.Seconds())
		}
		a.options.report(p.Doing, min(done, total), total)
	}
	if a.found, err = auto.Fit(ctx, set, o); err != nil {
		if errors.Is(err, auto.ErrOtherSearch) {
			return fmt.Errorf("experiment: %s holds a search over other rows or with other options; --force replaces it, --out FOLDER keeps both", a.spec.Output.Dir)
		}
		return set.Locate(err, 0)
	}
	a.model, a.chosenBy = a.found.Model, a.found.Score
	if a.result.Rows.Train = set.Rows(); set.Rows() > mostJudged {
		a.judged = datasets.Spread(set.Rows(), mostJudged)
	}
	a.spec.Pipeline, a.spec.Search = a.found.Pipeline, nil
	a.result.Seconds.Search = a.found.Seconds
	a.warn(a.found.Warnings...)
	a.reportOf(a.model)
	a.result.Auto = a.summary()
	return nil
}

// searchShare is the share of the time that is left after reading which the search may take. The rest
// is for writing the model, for predictions and for the report.
const searchShare = 0.9

// writeShare is the share of all the time that is left for writing the results.
const writeShare = 0.03

// stopDelay is how long the evaluation of a model goes on after the caller has stopped the search.
const stopDelay = time.Second / 2

// untilStopped returns a context that ends the given time after the caller has stopped the search.
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

// save writes the model and its experiment before anything is predicted: what comes later can be cut
// without a loss of the model.
func (a automatic) save(ctx context.Context) error {
	if err := a.writeChosen(); err != nil {
		return err
	}
	if err := a.writeModel("experiment.yaml", a.again()); err != nil {
		return err
	}
	a.result.Seconds.Total = time.Since(a.started).Seconds()
	if err := a.writeResult(); err != nil {
		return err
	}
	if err := cause.Err(ctx); err != nil {
		return err
	}
	_, err := a.output.Publish()
	return err
}

// evaluate scores and examines the model. The end of the budget cuts the examination, a stop cuts
// all of it.
func (a automatic) evaluate(ctx context.Context) error {
	if a.o.Candidates == 0 {
		budget := a.o.Minutes * float64(time.Minute)
		a.until = a.started.Add(time.Duration((1 - writeShare) * budget))
	}
	limited, cancel := a.o.untilStopped(ctx, stopDelay)
	defer cancel()
	err := a.run.evaluate(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		a.warn("it was stopped before the model was scored and examined; bochner evaluate scores it")
		return nil
	}
	return err
}

// mostJudged is how many of the training rows the model is scored on: an exact kernel takes longer for all of them than for
// learning.
const mostJudged = 10_000

// summary is what result.json says of the search.
func (a automatic) summary() *result.Auto {
	f := a.found
	out := &result.Auto{Score: f.Score, Recipe: f.Chosen.Recipe, Params: map[string]any{}, Mean: f.Chosen.Score, StdError: f.Chosen.StdError,
		Candidates: f.Tried, Resumed: f.Resumed, Ended: f.Ended, Rounds: []result.AutoRound{}, Decided: *a.told}
	for _, s := range f.Chosen.Settings {
		out.Params[s.Path] = s.Value
	}
	for _, r := range f.Rounds {
		out.Rounds = append(out.Rounds, result.AutoRound{Rows: r.Rows, Folds: r.Folds, Size: r.Size, Recipes: r.Recipes, Candidates: r.Candidates, Best: r.Best.Recipe, Mean: r.Best.Score, Seconds: r.Seconds})
	}
	for _, in := range f.Learned {
		out.Inputs = append(out.Inputs, result.AutoInput(in))
	}
	return out
}

// writeChosen writes the output that is that of Auto alone.
func (a automatic) writeChosen() error {
	a.options.report("write", 0, 0)
	return a.output.Write("leaderboard.csv", func(w *bufio.Writer) error { return a.found.Leaderboard.WriteCSV(w) })
}

// again returns the experiment that makes the chosen model again.
func (a automatic) again() Spec {
	again := a.spec
	again.Output.Dir = filepath.ToSlash(filepath.Join(a.spec.Output.Dir, "again"))
	return again
}

// write makes the outputs that are those of Auto alone, and then the others.
func (a automatic) write(ctx context.Context) error {
	if err := a.writeChosen(); err != nil {
		return err
	}
	return a.finish(ctx, "experiment.yaml", a.again())
}
