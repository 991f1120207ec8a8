package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
)

type autoCommand struct {
	Data           []string      `arg:"" files:"" name:"data" help:"Data file: ${endings}; text formats also .gz; - for standard input; several files with the same columns: files, a quoted pattern, a directory; or an experiment file, whose data and preprocessing are used."`
	Target         []string      `sep:"none" placeholder:"COLUMN" help:"Target column. Default: the last column."`
	Positive       string        `placeholder:"CLASS" help:"Value of the target that binary metrics such as f1 are about; all others form the class rest. Default: the second of two classes."`
	Group          string        `placeholder:"COLUMN" help:"Column of groups, which folds and test rows keep together. Default: inferred from names and repeated values."`
	Time           string        `placeholder:"COLUMN" help:"Column of times, by which the rows ascend: folds and test rows keep their order. Default: inferred."`
	Minutes        float64       `default:"1" help:"Time limit of the whole command."`
	Candidates     int           `help:"Number of candidates instead of a time limit, for reproducible results."`
	Test           string        `files:"" placeholder:"FILE" help:"File of test rows. Default: a fifth of the rows is held out."`
	Task           string        `enum:",classification,regression,counts,clustering,anomaly,multilabel" default:"" help:"classification, regression, or counts: integers from 0 on, by their Poisson deviance. Default: inferred from the target."`
	Score          string        `placeholder:"METRIC" help:"Metric of the search. Default: r2; accuracy; for imbalanced classes roc_auc (two classes) or balanced_accuracy."`
	Format         string        `help:"Format of the file: ${formats}. Default: inferred from the extension and the first lines."`
	MaxPredictTime time.Duration `placeholder:"TIME" help:"Maximum time of a prediction per row, such as 50us, on this computer: in batches of one row and of 1,000."`
	MaxSize        byteSize      `placeholder:"SIZE" help:"Maximum size of the model file, such as 10MB."`
	StartFrom      string        `files:"" placeholder:"RUN" help:"Directory of an earlier run of auto, of other rows: its best candidates are evaluated first."`
	Intervals      float64       `placeholder:"LEVEL" help:"Add prediction intervals that contain the target with this probability, or sets of classes: 0.9."`
	NoRefit        bool          `help:"Save the model of the training rows. Default: it is fitted again to training and held-out rows after its evaluation."`
	Exportable     bool          `help:"Try only models that bochner export supports."`
	Seed           uint64        `help:"Seed of all random draws."`
	Out            string        `short:"o" files:"" placeholder:"FOLDER" help:"Output directory. Default: runs/NAME of the data."`
	Force          bool          `short:"f" help:"Overwrite the results of a different run in the directory and restart."`
}

func (autoCommand) Help() string {
	return `Preprocesses the rows as init does, holds out a test set, and searches over
input representations, feature maps and models in rounds: all of them on few rows with few
features first, the best ones on more rows with more features. The first model is available within seconds; the
best so far is always saved.

Writes experiment.yaml, which reproduces the chosen model and its scores by "bochner run", model.bochner,
which is this model fitted to the held-out rows too, result.json, predictions.csv of the test rows, and
leaderboard.csv with all candidates. Ctrl-C ends the search and
writes all outputs for the best model so far within two seconds; a second Ctrl-C exits. The same command resumes
with the full time limit.

Example: bochner auto houses.csv --target price --minutes 1`
}

func (c autoCommand) Run(s *session) error {
	progress, _, end := s.progress()
	report := func(text string) {
		if !s.json {
			s.printf("%s\n", text)
		}
	}
	// The end of the session stops the search, but not the evaluation of the best model so far.
	found, err := experiment.Auto(context.WithoutCancel(s.ctx), c.Data[0], experiment.AutoOptions{
		ExtraFiles: c.Data[1:],
		Target:     strings.Join(c.Target, ","), Positive: c.Positive, Group: c.Group, Time: c.Time, Format: c.Format,
		Test: c.Test, Task: c.Task, Score: c.Score, Minutes: c.Minutes, Candidates: c.Candidates,
		Exportable: c.Exportable, NoRefit: c.NoRefit, Intervals: c.Intervals,
		MaxPredictTime: c.MaxPredictTime, MaxSize: int64(c.MaxSize), StartFrom: c.StartFrom,
		Seed: c.Seed, Dir: c.Out, Force: c.Force, Progress: progress, OnDecision: report, Stop: s.ctx.Done(),
		OnWarning: s.warn,
	})
	end()
	if err != nil {
		return err
	}
	if s.json {
		return s.print(found)
	}
	if !s.quiet {
		fmt.Fprintln(s.out)
		showAuto(s.out, found)
	}
	return nil
}

// byteSize is a number of bytes, with a unit or without.
type byteSize int64

// UnmarshalText parses a size such as 10MB or 512KiB.
func (b *byteSize) UnmarshalText(text []byte) error {
	digits := strings.TrimRight(string(text), "BKMGTikmgtb ")
	unit := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(string(text[len(digits):]))), "B")
	base := 1000.0
	if strings.HasSuffix(unit, "I") {
		base, unit = 1024, strings.TrimSuffix(unit, "I")
	}
	v, err := strconv.ParseFloat(digits, 64)
	power := slices.Index([]string{"", "K", "M", "G", "T"}, unit)
	size := v * math.Pow(base, float64(power))
	if err != nil || power < 0 || !(size >= 1 && size < 1<<62) {
		return fmt.Errorf("must be a size > 0 such as 10MB, got %q", text)
	}
	*b = byteSize(size)
	return nil
}

// endings describe the reasons for which a search ended.
var endings = map[string]string{
	"budget":    "budget exhausted",
	"converged": "more rows and wider maps gained nothing",
	"stopped":   "it was stopped; run it again to resume",
}

// showAuto prints the result of a search over pipelines.
func showAuto(out io.Writer, r result.Result) {
	showSimpler(out, r)
	a := r.Auto
	t := columns(out)
	printf(t, "rows\tsize\trecipes\tcandidates\tbest\t%s\n", a.Score)
	for _, round := range a.Rounds {
		printf(t, "%d\t%d\t%d\t%d\t%s\t%s\n", round.Rows, round.Size, round.Recipes, round.Candidates, round.Best,
			formatScore(round.Mean))
	}
	t.Flush()
	printf(out, "\n%d candidates in all", a.Candidates)
	if a.Resumed > 0 {
		printf(out, ", %d of them from an earlier run", a.Resumed)
	}
	with := " over the folds"
	if a.Optimism != 0 {
		with = fmt.Sprintf(" estimated for new rows (%s over the folds)", formatScore(a.Mean+a.Optimism))
	}
	if len(a.Params) > 0 { // an ensemble has members instead
		with += ", with"
	}
	printf(out, "; %s\nchosen: %s, %s %s ± %s%s\n", endings[a.Ended], a.Recipe, a.Score,
		formatScore(a.Mean), formatScore(a.StdError), with)
	t = columns(out)
	for _, path := range slices.Sorted(maps.Keys(a.Params)) {
		printf(t, "  %s\t%s\n", path, fmt.Sprint(a.Params[path]))
	}
	t.Flush()
	if a.Bytes > 0 {
		printf(out, "predictions: %v per row in batches of one or 1,000 rows, whichever is slower; model file: %s\n",
			time.Duration(1e9*a.PredictSeconds), bytesText(int64(a.Bytes)))
	}
	showInputs(out, a)
	fmt.Fprintln(out)
	showScores(out, r.Train, r.Test, r.Baselines...)
	if r.Rows.Fitted > 0 {
		printf(out, "scores of the model of %d training rows; model.bochner was then fitted to all %d rows\n", r.Rows.Train,
			r.Rows.Fitted)
	}
	showPositive(out, r.Positive)
	showFindings(out, r.Task, r.Findings)
	showTestDrift(out, r)
	showThreshold(out, r)
	for _, w := range r.Warnings {
		printf(out, "warning: %s\n", w)
	}
	if len(r.LeftOut) > 0 && len(r.Files) > 0 {
		printf(out, "left out of the report for lack of time: %s; bochner report %s adds them\n",
			strings.Join(r.LeftOut, ", "), filepath.Dir(r.Files[0]))
	}
	printf(out, "\n%.1f s, of which load %.1f, search %.1f, evaluate %.1f, report %.1f, refit %.1f",
		r.Seconds.Total, r.Seconds.Load, r.Seconds.Search, r.Seconds.Evaluate, r.Seconds.Report, r.Seconds.Refit)
	if r.Memory > 0 {
		printf(out, "; peak memory %s", bytesText(r.Memory))
	}
	showFiles(out, r)
}

// showInputs lists the inputs that matter most, by the scales that were learned.
func showInputs(out io.Writer, a *result.Auto) {
	inputs := a.Inputs
	const most = 12
	if len(inputs) == 0 {
		return
	}
	fmt.Fprintln(out, "inputs by their learned scale, the largest being 1:")
	t := columns(out)
	for _, in := range inputs[:min(len(inputs), most)] {
		printf(t, "  %s\t%s\n", in.Name, formatScore(in.Scale))
	}
	t.Flush()
	if len(inputs) > most {
		printf(out, "  and %d more\n", len(inputs)-most)
	}
}
