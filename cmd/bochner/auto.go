package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
)

type autoCommand struct {
	Data       []string `arg:"" files:"" name:"data" help:"Data file: ${endings}; those of text also .gz; - for standard input; several with the same columns: files, a pattern in quotes, a folder; or an experiment file, whose data and cleaning are taken."`
	Target     string   `help:"Column to predict; the last one when left out."`
	Minutes    float64  `default:"1" help:"Time that all of it may take."`
	Candidates int      `help:"Number of candidates to try instead of a time: the same result on any machine of this kind, whatever time it takes."`
	Test       string   `files:"" placeholder:"FILE" help:"File of rows to test on; a fifth of the rows is held out when left out."`
	Task       string   `enum:",classification,regression,clustering,anomaly" default:"" help:"classification or regression; by the target when left out."`
	Score      string   `placeholder:"METRIC" help:"Metric to choose by; when left out r2, or accuracy, or where one class dominates roc_auc (two classes) or balanced_accuracy."`
	Format     string   `help:"Format of the file: ${formats}; by its ending and its first lines when left out."`
	Exportable bool     `help:"Try only models that bochner export can write as ONNX, Go or Python."`
	Seed       uint64   `help:"Where all random draws come from."`
	Out        string   `short:"o" files:"" placeholder:"FOLDER" help:"Folder for the outputs; runs/NAME-OF-DATA when left out."`
	MLflow     string   `name:"mlflow" placeholder:"URL" help:"MLflow server to which the run is logged, as output.mlflow of an experiment file."`
	Force      bool     `short:"f" help:"Replace the results of another run in the folder, and begin anew."`
}

func (autoCommand) Help() string {
	return `Reads and cleans the rows as init would, holds out test rows that no choice sees, and searches over
representations of the inputs, random maps and models, in rounds: all of them on few rows with narrow
maps first, the better ones on more rows with wider maps. The first model is there within seconds; the
best so far is always kept.

Writes experiment.yaml, which makes the chosen model again by "bochner run", model.bochner, result.json,
predictions.csv of the test rows, and leaderboard.csv with every candidate. Ctrl-C ends the search and
writes all of it for the best model so far, in two seconds; a second Ctrl-C ends at once. The same command again goes on
from there, with its whole time: raise --minutes, or run it once more.

Example: bochner auto houses.csv --target price --minutes 1`
}

func (c autoCommand) Run(s *session) error {
	progress, _, end := s.progress()
	tell := func(text string) {
		if !s.json {
			s.say("%s\n", text)
		}
	}
	// The session's end ends the search, and not what is done with the best model so far.
	found, err := experiment.Auto(context.WithoutCancel(s.ctx), c.Data[0], experiment.AutoOptions{
		ExtraFiles: c.Data[1:],
		Target:     c.Target, Format: c.Format, Test: c.Test, Task: c.Task, Score: c.Score, Minutes: c.Minutes, Candidates: c.Candidates,
		Exportable: c.Exportable,
		Seed:       c.Seed, Dir: c.Out, Force: c.Force, Progress: progress, OnDecision: tell, Stop: s.ctx.Done(),
		MLflow: c.MLflow, OnWarning: s.warn,
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

// endings are what is said of why a search ended.
var endings = map[string]string{
	"budget":    "the budget has room for nothing more",
	"converged": "more rows and wider maps gained nothing",
	"stopped":   "it was stopped; run again to go on",
}

// showAuto prints what a search over pipelines found.
func showAuto(out io.Writer, r experiment.Result) {
	showSimpler(out, r)
	a := r.Auto
	t := columns(out)
	fmt.Fprintf(t, "rows\tsize\trecipes\tcandidates\tbest\t%s\n", a.Score)
	for _, round := range a.Rounds {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\t%s\n", round.Rows, round.Size, round.Recipes, round.Candidates, round.Best, short(round.Mean))
	}
	t.Flush()
	fmt.Fprintf(out, "\n%d candidates in all", a.Candidates)
	if a.Resumed > 0 {
		fmt.Fprintf(out, ", %d of them from an earlier run", a.Resumed)
	}
	with := ""
	if len(a.Params) > 0 { // an ensemble has members instead
		with = ", with"
	}
	fmt.Fprintf(out, "; %s\nchosen: %s, %s %s ± %s over the folds%s\n", endings[a.Ended], a.Recipe, a.Score, short(a.Mean), short(a.StdError), with)
	t = columns(out)
	for _, path := range slices.Sorted(maps.Keys(a.Params)) {
		fmt.Fprintf(t, "  %s\t%v\n", path, a.Params[path])
	}
	t.Flush()
	showInputs(out, a)
	fmt.Fprintln(out)
	showScores(out, r.Train, r.Test, r.Baselines...)
	showPositive(out, r.Positive)
	showFindings(out, r.Findings)
	showTestDrift(out, r)
	for _, w := range r.Warnings {
		fmt.Fprintf(out, "warning: %s\n", w)
	}
	fmt.Fprintf(out, "\n%.1f s, of which load %.1f, search %.1f, evaluate %.1f, report %.1f", r.Seconds.Total, r.Seconds.Load, r.Seconds.Search, r.Seconds.Evaluate, r.Seconds.Report)
	if r.Memory > 0 {
		fmt.Fprintf(out, "; at most %s of memory", bytesText(r.Memory))
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
		fmt.Fprintf(t, "  %s\t%s\n", in.Name, short(in.Scale))
	}
	t.Flush()
	if len(inputs) > most {
		fmt.Fprintf(out, "  and %d more\n", len(inputs)-most)
	}
}
