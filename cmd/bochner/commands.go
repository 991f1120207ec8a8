package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bochner-ml/bochner/experiment"
)

// specFlags are what every command on an experiment file takes.
type specFlags struct {
	Spec     string                `arg:"" name:"experiment.yaml" help:"Experiment file."`
	Set      []experiment.Override `sep:"none" placeholder:"PATH=VALUE" help:"Override a value, such as rff.gamma=0.1 or data.train=rows.csv; may be repeated."`
	NoSearch bool                  `help:"Leave out the search: fit the pipeline as it is."`
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
	Data   string `arg:"" name:"data" help:"Data file: .csv, .tsv, .svm, .libsvm or .arff, each also .gz."`
	Target string `help:"Column to predict; the last one when left out."`
	Format string `help:"Format of the file: csv, tsv, svmlight or arff; by its ending and its first lines when left out."`
	Out    string `short:"o" help:"File to write; the data's name with .yaml when left out, - for standard output."`
	Force  bool   `short:"f" help:"Write over a file that exists."`
}

func (initCommand) Help() string { return "Example: bochner init rows.csv --target price" }

func (c initCommand) Run(s *session) error {
	out := c.Out
	if out == "" {
		base := strings.TrimSuffix(filepath.Base(c.Data), ".gz")
		out = strings.TrimSuffix(base, filepath.Ext(base)) + ".yaml"
	}
	draft, err := experiment.Draft(s.ctx, c.Data, experiment.DraftOptions{Target: c.Target, Format: c.Format, File: out})
	if err != nil {
		return err
	}
	if out == "-" {
		_, err := s.out.Write(draft)
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if c.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(out, flags, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists; --force writes over it", out)
	}
	if err != nil {
		return err
	}
	if _, err := file.Write(draft); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if s.json {
		return s.print(map[string]string{"file": out})
	}
	s.say("%s written; next: bochner run %s\n", out, out)
	return nil
}

type validateCommand struct{ specFlags }

func (validateCommand) Help() string { return "Example: bochner validate adult.yaml" }

func (c validateCommand) Run(s *session) error {
	err := experiment.Validate(s.ctx, c.Spec, c.overrides()...)
	if s.json {
		if wrong := s.print(verdictOf(err)); wrong != nil {
			return wrong
		}
	}
	if err == nil && !s.json {
		s.say("%s is valid\n", c.Spec)
	}
	return err
}

// verdict is what validate says as JSON.
type verdict struct {
	Valid  bool    `json:"valid"`
	Faults []fault `json:"faults"`
}

// fault is one complaint.
type fault struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func verdictOf(err error) verdict {
	v := verdict{Valid: err == nil, Faults: []fault{}}
	var faults experiment.Faults
	switch {
	case errors.As(err, &faults):
		for _, f := range faults {
			v.Faults = append(v.Faults, fault{f.File, f.Line, f.Column, f.Path, f.Error()})
		}
	case err != nil:
		v.Faults = append(v.Faults, fault{Message: plainly(err)})
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
	Force bool `short:"f" help:"Replace the results of another run in output.dir."`
}

func (runCommand) Help() string {
	return "Writes spec.yaml, result.json, cv_results.csv, predictions.csv and model.bochner into output.dir. A run that was stopped goes on where it was. Results of another spec or of other data are replaced with --force only.\n\nExample: bochner run adult.yaml --set rff.gamma=0.1 --set output.dir=runs/wide"
}

func (c runCommand) Run(s *session) error {
	spec, err := c.load(s)
	if err != nil {
		return err
	}
	progress, end := s.progress()
	result, err := experiment.Run(s.ctx, spec, experiment.Options{Progress: progress, Force: c.Force})
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

type evaluateCommand struct {
	Model string   `arg:"" name:"model" help:"Model file."`
	Data  string   `arg:"" name:"data" help:"Data file with the columns of the training data, the target included."`
	Drop  []string `placeholder:"COLUMN" help:"Columns of the rows to leave out, which the model does not know; may be repeated."`
}

func (evaluateCommand) Help() string {
	return "Example: bochner evaluate runs/adult/model.bochner adult.test"
}

func (c evaluateCommand) Run(s *session) error {
	progress, end := s.progress()
	scores, err := experiment.Evaluate(s.ctx, c.Model, c.Data, experiment.Options{Progress: progress, Drop: c.Drop})
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
	Model string   `arg:"" name:"model" help:"Model file."`
	Data  string   `arg:"" name:"data" help:"Data file with the columns of the training data; the target may be missing."`
	Out   string   `short:"o" default:"-" help:"CSV file to write, - for standard output."`
	Drop  []string `placeholder:"COLUMN" help:"Columns of the rows to leave out, which the model does not know; may be repeated."`
}

func (predictCommand) Help() string {
	return "Example: bochner predict runs/adult/model.bochner new.csv -o predictions.csv"
}

func (c predictCommand) Run(s *session) error {
	options := experiment.Options{Drop: c.Drop}
	end := func() {}
	if c.Out != "-" {
		options.Progress, end = s.progress()
	}
	var rows int
	var err error
	if c.Out == "-" {
		rows, err = experiment.Predict(s.ctx, c.Model, c.Data, s.out, options)
	} else {
		rows, err = experiment.PredictFile(s.ctx, c.Model, c.Data, c.Out, options)
	}
	end()
	switch {
	case err != nil || c.Out == "-":
		return err
	case s.json:
		return s.print(map[string]any{"rows": rows, "file": c.Out})
	}
	s.say("%d rows written to %s\n", rows, c.Out)
	return nil
}

type inspectCommand struct {
	Model string `arg:"" name:"model" help:"Model file."`
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

type schemaCommand struct {
	Reference bool `help:"Print the reference of all keys and steps as Markdown instead."`
}

func (schemaCommand) Help() string { return "Example: bochner schema > experiment.schema.json" }

func (c schemaCommand) Run(s *session) error {
	text := experiment.JSONSchema()
	if c.Reference {
		text = []byte(experiment.Reference())
	}
	_, err := s.out.Write(text)
	return err
}

type datasetsCommand struct{}

func (datasetsCommand) Help() string { return "Example: bochner datasets" }

func (datasetsCommand) Run(s *session) error {
	list := experiment.Datasets()
	if s.json {
		return s.print(list)
	}
	showDatasets(s.out, list)
	return nil
}

// print writes v as JSON.
func (s *session) print(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = s.out.Write(append(text, '\n'))
	return err
}

// say tells a person what happened.
func (s *session) say(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.out, format, args...)
	}
}
