package experiment

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/experiment/config"
	"github.com/bochner-ml/bochner/internal/experiment/mlflow"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// tracker logs a run to the server in output.mlflow. An error there is only a warning of the run;
// after the first one, nothing more is logged except the final status.
type tracker struct {
	run     *mlflow.Run // nil before the run has been created
	givenUp bool
	warn    func(text string)
	wait    timeouts
	started time.Time // of the run

	goesOn func() bool   // cancels the watch, which marks the run as killed when its context ends; false if it already has
	killed chan struct{} // closed after the run is marked
}

// timeouts contains the timeouts of a tracker.
type timeouts struct {
	begin, log, end time.Duration
	killed          time.Duration // for marking a run as killed: Ctrl-C ends the command within a second
	perByte         time.Duration // of a file
}

var patience = timeouts{begin: 30 * time.Second, log: time.Minute, end: 10 * time.Second,
	killed: 700 * time.Millisecond, perByte: time.Microsecond}

// startTracker creates the run on the tracker of its spec and records its address; it returns nil
// if there is no tracker or if it does not respond.
func startTracker(ctx context.Context, spec Spec, found *Result, started time.Time, warn func(text string)) (*tracker,
	error) {
	if spec.Output.MLflow == "" {
		return nil, nil
	}
	address, err := mlflow.ParseAddress(spec.Output.MLflow)
	if err != nil {
		return nil, fmt.Errorf("experiment: output.mlflow: %w", err)
	}
	t := &tracker{warn: warn, wait: patience, started: started}
	t.within(ctx, t.wait.begin, "the run is not logged", func(ctx context.Context) (err error) {
		client := mlflow.NewClient(address, mlflow.EnvironmentCredentials())
		t.run, err = client.Start(ctx, mlflow.Start{Experiment: spec.Name, Name: spec.Name, User: userName(), Time: started})
		if err == nil {
			err = t.run.Log(ctx, mlflow.Entries{Params: paramsOf(spec), Tags: tagsOf(spec, *found)})
		}
		return err
	})
	if t.run == nil {
		return nil, nil
	}
	found.MLflow = &result.Logged{Experiment: t.run.Experiment, Run: t.run.ID, URL: t.run.Page()}
	t.watch(ctx)
	return t, nil
}

// watch marks the run as killed when its context ends, because the process may end before the run
// does.
func (t *tracker) watch(ctx context.Context) {
	t.killed = make(chan struct{})
	t.goesOn = context.AfterFunc(ctx, func() {
		defer close(t.killed)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.wait.killed)
		defer cancel()
		t.run.End(ctx, mlflow.Killed) // a run that is stopped has no result to warn in
	})
}

// within runs a request of the tracker with a time limit. The first failure causes a warning with
// its meaning; a canceled run has no warnings.
func (t *tracker) within(ctx context.Context, limit time.Duration, meaning string, do func(ctx context.Context) error) {
	timed, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	if err := do(timed); err != nil && ctx.Err() == nil {
		if !t.givenUp {
			t.warn(fmt.Sprintf("%v: %s", err, meaning))
		}
		t.givenUp = true
	}
}

// userName returns the name of the current user.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// tagsOf returns the tags for the origin of a run.
func tagsOf(spec Spec, found Result) map[string]string {
	out := map[string]string{
		"bochner.version": found.Versions.Bochner, "bochner.go": found.Versions.Go,
		"bochner.seed":              strconv.FormatUint(spec.Seed, 10),
		"bochner.data_sha256.train": found.SHA256.Train, "bochner.data_sha256.test": found.SHA256.Test,
	}
	if dir, err := filepath.Abs(spec.Output.Dir); err == nil {
		out["bochner.output.dir"] = filepath.ToSlash(dir)
	}
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	return out
}

// paramsOf returns the keys of an experiment file by path, except those of the steps, which a
// search chooses, and of the output. Keys without a value are omitted.
func paramsOf(s Spec) map[string]string {
	out := map[string]string{}
	for _, p := range param.All(s) {
		section, _, _ := strings.Cut(p.Path, ".")
		if section != "output" && section != "report" && p.Path != "search.folds" {
			addParam(out, p.Path, p.Value)
		}
	}
	if s.Search != nil {
		for _, axis := range s.Search.Grid {
			addParam(out, "search.grid."+axis.Path, axis.Values)
		}
	}
	return out
}

// stepsOf are the parameters of a pipeline's steps by their paths, and the steps themselves.
func stepsOf(p pipeline.Pipeline) map[string]string {
	out := map[string]string{"pipeline": fmt.Sprint(p)}
	for _, one := range param.All(p) {
		addParam(out, one.Path, one.Value)
	}
	return out
}

// addParam adds a value: strings unchanged, others as YAML.
func addParam(to map[string]string, path string, value any) {
	text, is := value.(string)
	if !is {
		text = config.Flow(value)
	}
	if text != "" && text != "[]" && text != "{}" && text != "null" {
		to[path] = text
	}
}

// log logs the result, the model and the files. paths are the temporary paths of the files.
func (t *tracker) log(ctx context.Context, found Result, model estimator.Predictor, names, paths []string) {
	if t == nil || t.givenUp {
		return
	}
	t.within(ctx, t.wait.log, "what was found is not logged", func(ctx context.Context) error {
		entries := mlflow.Entries{Metrics: metricsOf(found), Tags: map[string]string{"bochner.task": found.Task}}
		if fitted := pipeline.Find(model); fitted != nil {
			entries.Params = stepsOf(fitted.Spec())
		}
		if err := t.run.Log(ctx, entries); err != nil || found.Search == nil {
			return err
		}
		return t.logCandidates(ctx, found.Search)
	})
	for i, name := range names {
		if t.givenUp || ctx.Err() != nil {
			return
		}
		limit := t.wait.log + time.Duration(sizeOf(paths[i]))*t.wait.perByte
		t.within(ctx, limit, "neither this file nor those after it are logged", func(ctx context.Context) error {
			return t.run.Upload(ctx, name, paths[i])
		})
	}
}

// metricsOf are the numbers of a result. Scores of rows have their names below train and test,
// those of the folds below cv.
func metricsOf(r Result) (out []mlflow.Metric) {
	add := func(key string, value float64) { out = append(out, mlflow.Metric{Key: key, Value: value}) }
	for part, scores := range map[string]map[string]float64{"train": r.Train, "test": r.Test} {
		for name, v := range scores {
			add(part+"/"+name, v)
		}
	}
	if s := r.Search; s != nil {
		add("cv/"+s.Score, s.Best.Mean)
		add("cv/"+s.Score+"_std", s.Best.Std)
		if best := chosen(s); best != nil {
			out = append(out, foldsOf(s.Score, best.Folds)...)
		}
	}
	if a := r.Auto; a != nil {
		add("cv/"+a.Score, a.Mean)
		add("cv/"+a.Score+"_std_error", a.StdError)
	}
	if i := r.Intervals; i != nil {
		for key, v := range map[string]*float64{"intervals/coverage": i.Coverage, "intervals/width": i.Width,
			"intervals/size": i.Size} {
			if v != nil {
				add(key, *v)
			}
		}
	}
	add("rows/train", float64(r.Rows.Train))
	add("rows/test", float64(r.Rows.Test))
	seconds := r.Seconds
	for key, v := range map[string]float64{"load": seconds.Load, "search": seconds.Search, "refit": seconds.Refit,
		"evaluate": seconds.Evaluate, "report": seconds.Report, "total": seconds.Total} {
		add("seconds/"+key, v)
	}
	if r.Memory > 0 {
		add("peak_memory_bytes", float64(r.Memory))
	}
	return out
}

// foldsOf are the scores of the folds, the number of a fold its step.
func foldsOf(score string, folds []float64) (out []mlflow.Metric) {
	for fold, v := range folds {
		out = append(out, mlflow.Metric{Key: "cv/" + score + "_fold", Value: v, Step: fold})
	}
	return out
}

// chosen returns the candidate that the search chose.
func chosen(s *result.Search) *result.CandidateResult {
	same := func(t result.CandidateResult) bool {
		return t.Mean == s.Best.Mean && maps.EqualFunc(t.Params, s.Best.Params,
			func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	}
	if i := slices.IndexFunc(s.All, same); i >= 0 {
		return &s.All[i]
	}
	return nil
}

// maxCandidates is the number of candidates logged as child runs, as in MLflow's autologging of
// scikit-learn searches. All candidates are in cv_results.csv.
const maxCandidates = 5

// logCandidates logs the best candidates as runs within the run.
func (t *tracker) logCandidates(ctx context.Context, s *result.Search) error {
	best := slices.DeleteFunc(slices.Clone(s.All), func(c result.CandidateResult) bool {
		return c.Failed != "" || math.IsNaN(c.Mean) || len(c.Params) == 0
	})
	slices.SortStableFunc(best, func(a, b result.CandidateResult) int { return a.Rank - b.Rank })
	for _, c := range best[:min(len(best), maxCandidates)] {
		params, words := map[string]string{}, []string{}
		for _, path := range slices.Sorted(maps.Keys(c.Params)) {
			addParam(params, path, c.Params[path])
			words = append(words, path+"="+params[path])
		}
		one, err := t.run.Start(ctx, mlflow.Start{Name: strings.Join(words, " "), User: userName(), Time: t.started})
		if err != nil {
			return err
		}
		metrics := append(foldsOf(s.Score, c.Folds), mlflow.Metric{Key: "cv/" + s.Score, Value: c.Mean},
			mlflow.Metric{Key: "cv/" + s.Score + "_std", Value: c.Std}, mlflow.Metric{Key: "cv/rank", Value: float64(c.Rank)})
		if err := one.Log(ctx, mlflow.Entries{Params: params, Metrics: metrics}); err != nil {
			return err
		}
		if err := one.End(ctx, mlflow.Finished); err != nil {
			return err
		}
	}
	return nil
}

// end reports the end of the run, with the error if it failed.
func (t *tracker) end(ctx context.Context, err error) {
	if t == nil {
		return
	}
	if !t.goesOn() {
		<-t.killed
		if err != nil {
			return
		}
	}
	t.within(context.WithoutCancel(ctx), t.wait.end, "its end is not logged", func(ctx context.Context) error {
		status := mlflow.Finished
		if err != nil {
			status = mlflow.Failed
			if err := t.run.Log(ctx, mlflow.Entries{Tags: map[string]string{"bochner.error": err.Error()}}); err != nil {
				return err
			}
		}
		return t.run.End(ctx, status)
	})
}

// sizeOf returns the size of a file, 0 if unknown.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
