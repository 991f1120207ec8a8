package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
	"github.com/bochner-ml/bochner/internal/codec/jsonfloat"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/param"
)

// specFlags are the arguments common to all commands on an experiment file.
type specFlags struct {
	Spec     string                `arg:"" files:"" name:"experiment.yaml" help:"Experiment file."`
	Set      []experiment.Override `sep:"none" placeholder:"PATH=VALUE" help:"Override a value, such as rff.gamma=0.1 or data.train=rows.csv; may be repeated."`
	NoSearch bool                  `help:"Leave out the search: fit fixed pipeline."`
}

func (f specFlags) load(s *session) (experiment.Spec, error) {
	return experiment.Load(s.ctx, f.Spec, f.overrides()...)
}

func (f specFlags) overrides() []experiment.Override {
	set := f.Set
	if f.NoSearch {
		set = append(set, experiment.Override{Path: "search", Value: "null"})
	}
	return set
}

type initCommand struct {
	Data   []string `arg:"" files:"" name:"data" help:"Data file: ${endings}; text formats also .gz; - for standard input. Several files with the same columns: files, a quoted pattern, a directory."`
	Target []string `sep:"none" placeholder:"COLUMN" help:"Target column; repeat it for several with numbers, or with two values each. Default: the last column; for clustering and anomaly, where it is used for scoring only, none."`
	Task   string   `enum:",classification,regression,clustering,anomaly,multilabel" default:"" help:"classification, regression, clustering, anomaly or multilabel. Default: inferred from the target."`
	Format string   `help:"Format of the file: ${formats}. Default: inferred from the extension and the first lines."`
	Out    string   `short:"o" files:"" help:"Output file, - for standard output. Default: the name of the data file with the extension .yaml."`
	Force  bool     `short:"f" help:"Overwrite an existing file."`
}

func (initCommand) Help() string { return "Example: bochner init rows.csv --target price" }

func (c initCommand) Run(s *session) error {
	out := c.Out
	if out == "" {
		out = scaffold.Name(c.Data) + ".yaml"
	}
	if err := rowfile.CheckOutput(out, c.Data...); err != nil {
		return err
	}
	remarks := []string{}
	remark := func(text string) { remarks = append(remarks, text) }
	draft, err := scaffold.Experiment(s.ctx, c.Data[0], scaffold.Options{Target: strings.Join(c.Target, ","),
		Task: c.Task, Format: c.Format, File: out, Remark: remark, More: c.Data[1:]})
	if err != nil {
		return err
	}
	if out == "-" {
		_, err := s.out.Write(draft)
		return err
	}
	if err := c.write(out, draft); err != nil {
		return err
	}
	if s.json {
		return s.print(map[string]any{"file": out, "remarks": remarks})
	}
	for _, text := range remarks {
		s.printf("note: %s\n", text)
	}
	s.printf("%s written; next: bochner run %s\n", out, out)
	return nil
}

// write writes the file atomically.
func (c initCommand) write(out string, text []byte) error {
	if _, err := os.Lstat(out); err == nil && !c.Force {
		return fmt.Errorf("%s exists; use --force to overwrite it", out)
	}
	return files.ReplaceText(out, text)
}

type validateCommand struct{ specFlags }

func (validateCommand) Help() string { return "Example: bochner validate adult.yaml" }

func (c validateCommand) Run(s *session) error {
	_, err := experiment.LoadOptions{All: true, Overrides: c.overrides()}.Load(s.ctx, c.Spec)
	if s.json {
		if wrong := s.print(verdictOf(err)); wrong != nil {
			return wrong
		}
	}
	if err == nil && !s.json {
		s.printf("%s is valid\n", c.Spec)
	}
	return err
}

// verdict is the JSON output of validate.
type verdict struct {
	Valid  bool      `json:"valid"`
	Errors []problem `json:"errors"`
}

// problem is an error in the output of validate.
type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func verdictOf(err error) verdict {
	v := verdict{Valid: err == nil, Errors: []problem{}}
	var errs param.FieldErrors
	switch {
	case errors.As(err, &errs):
		for _, f := range errs {
			v.Errors = append(v.Errors, problem{f.File, f.Line, f.Column, f.Path, f.Error()})
		}
	case err != nil:
		v.Errors = append(v.Errors, problem{Message: trimPackage(err)})
	}
	return v
}

type planCommand struct{ specFlags }

func (planCommand) Help() string { return "Example: bochner plan adult.yaml --set rff.features=4000" }

func (c planCommand) Run(s *session) error {
	spec, err := c.load(s)
	if err != nil {
		return err
	}
	plan, err := experiment.NewPlan(s.ctx, spec)
	if err != nil {
		return err
	}
	if s.json {
		err = s.print(plan)
	} else {
		showPlan(s.out, plan)
	}
	if err != nil {
		return err
	}
	return plan.Refusal()
}

type runCommand struct {
	specFlags
	Continue string `files:"" placeholder:"MODEL" help:"Continue training a saved model with the new rows, for pipelines that end in sgd_classifier or sgd_regressor."`
	Start    string `name:"start-from" files:"" placeholder:"RUN" help:"Directory of an earlier run of the same grid, such as one of other rows: the search continues from its candidates."`
	Force    bool   `short:"f" help:"Overwrite the results of a different run in output.dir."`
}

func (runCommand) Help() string {
	return "Writes spec.yaml, result.json, cv_results.csv, predictions.csv and model.bochner into output.dir. An " +
		"interrupted run resumes. Results of a different experiment or of different data are overwritten with --force " +
		"only.\n\nExample: bochner run adult.yaml --set rff.gamma=0.1 --set output.dir=runs/wide"
}

// open reads the experiment; the schema of a model to update applies to its rows.
func (c runCommand) open(s *session) (experiment.Spec, error) {
	if c.Continue != "" {
		return experiment.LoadOptions{Continue: c.Continue, Overrides: c.overrides()}.Load(s.ctx, c.Spec)
	}
	return c.load(s)
}

func (c runCommand) Run(s *session) error {
	spec, err := c.open(s)
	if err != nil {
		return err
	}
	progress, searching, end := s.progress()
	result, err := experiment.Run(s.ctx, spec, experiment.Options{Progress: progress, Searching: searching, Force: c.Force,
		Continue: c.Continue, StartFrom: c.Start, OnWarning: s.warn})
	end()
	if err != nil {
		return err
	}
	if s.json {
		return s.print(result)
	}
	if !s.quiet {
		showResult(s.out, result)
	}
	return nil
}

// rowsFlags are the arguments common to all commands that read rows for a model.
type rowsFlags struct {
	Model     string   `arg:"" files:"" name:"model" help:"Model file, or the directory of a run with one."`
	Rows      []string `arg:"" files:"" name:"rows" help:"Data file with the columns of the training data in any order: ${endings}; text formats also .gz; - for standard input. Several files: files, a quoted pattern, a directory."`
	Format    string   `enum:"auto,${formatlist}" default:"auto" help:"Format of the rows: ${enum}. auto infers it from the extension, the training data, or the first lines."`
	Delimiter string   `placeholder:"CHAR" help:"Field separator of CSV: one character, tab, or space for runs of blanks."`
	Encoding  string   `placeholder:"NAME" help:"Encoding of CSV: utf-8, latin-1, windows-1252 or utf-16. Default: by the byte order mark, else as in the training data."`
	Decimal   string   `placeholder:"MARK" help:"Decimal mark of CSV: a point or a comma. Default: as in the training data."`
	Header    *bool    `negatable:"" help:"Whether the first line of CSV contains the column names. Default: as in the training data."`
	Missing   []string `placeholder:"TEXT" help:"Markers of missing values, in addition to those of the training data."`
	Drop      []string `placeholder:"NAME" help:"Columns to ignore: unknown to the model, or the target."`
}

func (f rowsFlags) options(s *session) experiment.Options {
	return experiment.Options{Format: f.Format, Delimiter: f.Delimiter, Encoding: f.Encoding, Decimal: f.Decimal,
		Header: f.Header, Missing: f.Missing, Drop: f.Drop, ExtraFiles: f.Rows[1:], OnWarning: s.warn}
}

type evaluateCommand struct{ rowsFlags }

func (evaluateCommand) Help() string {
	return `Every row needs a target; the error lists rows without one. Sample weights are used as in
training if the rows have them. The output also reports data drift: inputs that differ significantly from
the training data in missing values, unknown categories, numbers outside the range, or the
population stability index (PSI).

Example: bochner evaluate runs/adult/model.bochner adult.test`
}

func (c evaluateCommand) Run(s *session) error {
	options := c.options(s)
	var end func()
	options.Progress, _, end = s.progress()
	scores, err := experiment.Evaluate(s.ctx, c.Model, c.Rows[0], options)
	end()
	if err != nil {
		return err
	}
	if s.json {
		return s.print(scores)
	}
	showEvaluation(s.out, scores)
	return nil
}

type predictCommand struct {
	rowsFlags
	Out  string   `short:"o" files:"" default:"-" help:"Output file, written atomically, .csv or .json; - for standard output, CSV or with --json JSON."`
	Keep []string `placeholder:"NAME" help:"Columns to copy into the output, such as an id."`

	SkipInvalid string `files:"" placeholder:"FILE" help:"Skip invalid rows and write them to FILE, as CSV: row, file, line, reason."`

	Explain        bool   `help:"Add the Shapley value of each input, as bochner explain does: the columns base and shapley_INPUT, which add up to prediction or, for classes, to the column explained, the decision score."`
	BackgroundFile string `files:"" placeholder:"FILE" help:"Data file with background rows for --explain. Default: the training rows of the run in whose directory the model is."`
}

func (predictCommand) Help() string {
	return `Writes CSV, or a JSON object with --json or to a .json file: the row number from 0,
kept columns, the target as "truth" if the rows have the
column, the prediction, and for classifiers probabilities or decision scores.

Columns are matched by name, in any order. Missing columns are an error, and so are columns
unknown to the model, unless --drop ignores or --keep copies them. The target may be
missing or partly empty; "truth" is empty for missing values and unknown
classes. The steps of the model define how to treat unknown categories; onehot sets all columns to 0.

Rows are streamed in blocks; pipes and standard input are read
once. Invalid rows are errors with their lines and columns, of which up to 20 are listed; no file is
written then, and standard output ends with a complete line. With --skip-invalid the other rows are
predicted; their row numbers are those in the input.

Lists such as --keep and --drop are comma-separated; a comma in a name is written \,
and a column can be given by its index from 0, -1 for the last.

Example: bochner predict runs/adult/model.bochner new.csv -o predictions.csv

Example: zcat new.csv.gz | bochner predict model.bochner - --keep id --missing NA > predictions.csv

Example: bochner predict model.bochner new.txt --format csv --delimiter ';' --drop income,comment`
}

func (c predictCommand) Run(s *session) error {
	options := c.options(s)
	options.Keep, options.SkipInvalid, options.JSON = c.Keep, c.SkipInvalid, s.json && c.Out == "-"
	if c.Explain {
		options.Explain = &experiment.ExplainOptions{BackgroundFile: c.BackgroundFile}
	}
	end := func() {}
	if c.Out != "-" {
		options.Progress, _, end = s.progress()
	}
	var done experiment.Predicted
	var err error
	if c.Out == "-" {
		done, err = experiment.Predict(s.ctx, c.Model, c.Rows[0], s.out, options)
	} else {
		done, err = options.PredictFile(s.ctx, c.Model, c.Rows[0], c.Out)
	}
	end()
	switch {
	case err != nil || c.Out == "-":
		return err
	case s.json:
		return s.print(struct {
			experiment.Predicted
			File string `json:"file"`
		}{done, c.Out})
	}
	s.printf("%d rows written to %s\n", done.Rows, c.Out)
	return nil
}

type reportCommand struct {
	Folder string `arg:"" files:"" name:"run" help:"Directory of a finished run."`
}

func (reportCommand) Help() string {
	return `Reads result.json, cv_results.csv and the experiment file in the directory of a finished run and writes
report.html into it, as the run itself does: a self-contained page. Figures that the time limit of auto has left
out are computed first, from the data of the experiment file, and added to result.json; scores do not change.

Example: bochner report runs/adult`
}

func (c reportCommand) Run(s *session) error {
	progress, _, end := s.progress()
	path, err := experiment.Options{Progress: progress}.Report(s.ctx, c.Folder)
	end()
	if err != nil {
		return err
	}
	if s.json {
		return s.print(map[string]any{"file": path})
	}
	s.printf("%s written\n", path)
	return nil
}

type compareCommand struct {
	Runs  []string `arg:"" files:"" name:"run" help:"Directories of runs; each is compared with the first."`
	Score string   `placeholder:"NAME" help:"Metric to compare by. Default: the metric of the searches."`
	HTML  string   `name:"html" files:"" placeholder:"FILE" help:"Also write a self-contained HTML page."`
}

func (compareCommand) Help() string {
	return `Names the best run by the score of the searches, or by --score, and prints all scores.
Prints the differences of the experiments, times and memory, and significance tests of each run
against the first: McNemar's test for classification and a paired t test of squared errors, or of the
losses of --score, for regression, on the same test rows; the corrected resampled t test for searches
with the same folds. With more than two runs, p values have Holm's correction. By --score cost, the
costs of a threshold count for all runs.

Runs must have the same test rows, task and target.

Example: bochner compare runs/adult runs/wide --html compared.html`
}

func (c compareCommand) Run(s *session) error {
	found, err := experiment.Compare(s.ctx, c.Score, c.Runs...)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := experiment.CompareHTML(c.HTML, found); err != nil {
			return err
		}
	}
	if s.json {
		return s.print(found)
	}
	showComparison(s.out, found)
	if c.HTML != "" {
		s.printf("\n%s written\n", c.HTML)
	}
	return nil
}

type inspectCommand struct {
	Model string `arg:"" files:"" name:"model" help:"Model file, or the directory of a run with one."`
}

func (inspectCommand) Help() string { return "Example: bochner inspect runs/adult/model.bochner" }

func (c inspectCommand) Run(s *session) error {
	description, err := experiment.Inspect(c.Model)
	if err != nil {
		return err
	}
	if s.json {
		return s.print(description)
	}
	showModel(s.out, description)
	return nil
}

type schemaCommand struct{}

func (schemaCommand) Help() string { return "Example: bochner schema > experiment.schema.json" }

func (schemaCommand) Run(s *session) error {
	_, err := s.out.Write(experiment.JSONSchema())
	return err
}

type datasetsCommand struct{}

func (datasetsCommand) Help() string { return "Example: bochner datasets" }

func (datasetsCommand) Run(s *session) error {
	list := builtinSets()
	if s.json {
		return s.print(list)
	}
	showDatasets(s.out, list)
	return nil
}

// print writes v as JSON.
func (s *session) print(v any) error {
	text, _, err := jsonfloat.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.out.Write(append(text, '\n'))
	return err
}

// warn prints a warning immediately.
func (s *session) warn(text string) {
	if s.clear != nil {
		s.clear()
	}
	fmt.Fprintf(s.err, "bochner: warning: %s\n", text)
}

// printf prints a message for a person.
func (s *session) printf(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.out, format, args...)
	}
}
