package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// CheckKinds checks, by the schema alone, whether a step or the estimator gets columns of an
// unsupported kind, and whether a group of columns is empty. The error is [param.FieldErrors] with
// the paths of the steps. Steps declare what they require and output: [datasets.Requirer],
// [datasets.SchemaInferrer], [Composite]. After a step that declares no output, nothing is checked.
func (p Pipeline) CheckKinds(schema datasets.Schema) error {
	return p.CheckContent(schema, nil)
}

// CheckContent is CheckKinds that also checks the content of the columns: missing values, empty
// columns, and categories that are not in the schema, at steps that do not support them. content
// describes the columns of the schema, as returned by [datasets.ScanContent].
func (p Pipeline) CheckContent(schema datasets.Schema, content []datasets.ColumnContent) error {
	if len(schema.Columns) == 0 {
		return nil
	}
	var f schemaCheck
	f.pipeline(p, schema.Infer(content), "")
	return f.errs.Err()
}

// pipeline checks the steps and the estimator of a pipeline at path.
func (f *schemaCheck) pipeline(p Pipeline, in datasets.InferredSchema, path string) {
	out := f.inferChain(p.Steps, in, path)
	f.model(p.Estimator, out, join(path, p.path()), p.path())
}

// model checks the requirements of an estimator and of its inner estimators, which get the same
// rows unless the outer one declares requirements.
func (f *schemaCheck) model(spec estimator.Estimator, in datasets.InferredSchema, path, name string) {
	if p, ok := spec.(Pipeline); ok {
		f.pipeline(p, in, path)
		return
	}
	if _, own := spec.(datasets.Requirer); !own {
		for _, m := range modelsWithin(spec) {
			called := m.Name
			if _, many := m.Estimator.(Pipeline); !many {
				called = specName(m.Estimator)
			}
			f.model(m.Estimator, in, join(path, m.Name), called)
		}
	}
	f.demands(spec, in, path, name)
}

// CheckTargets returns an error if a step uses targets but the estimator is unsupervised. The error
// is [param.FieldErrors] with the paths of the steps.
func (p Pipeline) CheckTargets() error {
	task := p.Tags().Task
	if !task.Unsupervised() {
		return nil
	}
	var errs param.FieldErrors
	for _, path := range supervisedSteps(p.Steps, "") {
		errs = append(errs, param.FieldError{Path: path,
			Problem: fmt.Sprintf("%s learns from targets, and %s, which is for %s, learns without",
				path[strings.LastIndexByte(path, '.')+1:], p.path(), task),
			Hint: "leave it out"})
	}
	return errs.Err()
}

// supervisedSteps returns the paths of the steps that use targets.
func supervisedSteps(steps []Step, path string) (out []string) {
	for i, s := range steps {
		if specs.CheckValue(s.Fitter) != nil { // checked later
			continue
		}
		at := join(path, s.NameAt(i))
		if requiresTargets(s.Fitter) {
			out = append(out, at)
		}
		if c, ok := s.Fitter.(Composite); ok {
			out = append(out, supervisedSteps(c.Children(), at)...)
		}
	}
	return out
}

// requiresTargets reports whether a spec declares that it requires targets.
func requiresTargets(spec any) bool {
	r, ok := spec.(datasets.Requirer)
	return ok && slices.ContainsFunc(r.Requirements(),
		func(d datasets.Requirement) bool { return d.Targets })
}

// schemaCheck collects the errors of steps.
type schemaCheck struct{ errs param.FieldErrors }

// inferChain returns the inferred output of sequential steps.
func (f *schemaCheck) inferChain(steps []Step, in datasets.InferredSchema, path string) datasets.InferredSchema {
	for _, s := range steps {
		in = f.step(s, in, join(path, s.Path()), s.Path())
	}
	return in
}

// step returns the inferred output of a step with the given path and name.
func (f *schemaCheck) step(s Step, in datasets.InferredSchema, path, name string) datasets.InferredSchema {
	if in.Unknown {
		return in
	}
	f.demands(s.Fitter, in, path, name)
	if c, ok := s.Fitter.(Composite); ok {
		children := c.Children()
		out, err := c.Route(in, func(i int, in datasets.InferredSchema) datasets.InferredSchema {
			name := children[i].NameAt(i)
			return f.step(children[i], in, join(path, name), name)
		})
		if err != nil {
			f.errs = append(f.errs, param.FieldError{Path: path, Problem: err.Error()})
		}
		return out
	}
	if c, ok := s.Fitter.(datasets.SchemaInferrer); ok {
		return c.InferOutput(in)
	}
	return datasets.InferredSchema{Unknown: true}
}

// demands reports the columns that spec, a step or an estimator, refuses.
func (f *schemaCheck) demands(spec any, in datasets.InferredSchema, path, name string) {
	var demands []datasets.Requirement
	if d, ok := spec.(datasets.Requirer); ok && !in.Unknown {
		demands = d.Requirements()
	}
	if !passesOn(spec) {
		if problem, refused := refusedText(demands, in, name); refused {
			problem.Path = path
			f.errs = append(f.errs, problem)
		}
	}
	for _, demand := range demands {
		if demand.Check != nil {
			for _, err := range demand.Check(in) {
				problem := param.FieldError{Problem: err.Error()}
				errors.As(err, &problem)
				problem.Path = strings.TrimSuffix(path+"."+problem.Path, ".")
				f.errs = append(f.errs, problem)
			}
			continue
		}
		if problem, refused := refusal(demand, in, name); refused {
			problem.Path = path
			f.errs = append(f.errs, problem)
		}
	}
}

// refusal returns the error of the columns that violate a requirement of the named step.
func refusal(d datasets.Requirement, in datasets.InferredSchema, name string) (f param.FieldError, refused bool) {
	if f, refused = countRefusal(d, in, name); refused {
		return f, true
	}
	if d.Column != "" {
		return unnamed(d, in, name)
	}
	columns := in.Violations(d)
	if len(columns) == 0 {
		return f, false
	}
	because := func(usual string) string {
		if d.Reason != "" {
			return " " + d.Reason
		}
		return ", and " + name + " " + usual
	}
	first := columns[0]
	switch {
	case d.Numeric:
		f.Problem = "column " + first.Name + " is " + first.Kind.String() + because("takes numbers")
		f.Hint = "encode it before with " + suggest.Encoders(first.Kind.String(), len(first.Categories)) +
			", in a columns step"
		if first.Kind == datasets.Text {
			f.Hint = textHint
		}
		if notation := suggest.Notation(first.Categories); notation != "" {
			f.Hint = notation
		}
	case takesCategories(d):
		f.Problem = "column " + first.Name + " is " + first.Kind.String() + because("takes categorical ones")
		f.Hint = "select the categorical columns with a columns step"
		if first.Format.Delimiter != "" {
			f.Problem = "column " + first.Name + " has lists of labels" + because("takes one category of each row")
			f.Hint = "encode it with onehot, in a columns step"
		} else if first.Kind == datasets.Text {
			f.Hint = textHint + "; data.kinds can make it categorical"
		}
	case d.Text:
		f.Problem = "column " + first.Name + " is " + first.Kind.String() + because("takes text")
		f.Hint = "select the text columns with a columns step; data.kinds declares them"
	case d.SomeValue:
		f.Problem = "column " + first.Name + " has no value in any row" + because("learns from values")
		f.Hint = "data.drop leaves it out"
	case d.NoMissing:
		f.Problem = name + " takes no missing values, and " + lacking(columns)
		f.Hint = "put an impute step before"
		for _, c := range columns {
			if c.Empty {
				f.Hint = "put an impute step before; data.drop leaves out a column without any"
			}
		}
	case d.NonNegative:
		f.Problem = fmt.Sprintf("column %s has a value below 0 in %v", first.Name, first.Negative) + because("takes none")
		f.Hint = "put {minmax: {clip: true}} before"
	case d.KnownCategories:
		f.Problem = fmt.Sprintf("column %s has a level in %v that training has not", first.Name, first.Unknown)
	}
	if d.Hint != "" && first.Kind != datasets.Text {
		f.Hint = d.Hint
	}
	return f, true
}

// countRefusal returns the error of the number of columns.
func countRefusal(d datasets.Requirement, in datasets.InferredSchema, name string) (f param.FieldError, refused bool) {
	n := len(in.Columns)
	switch none := n == 0; {
	case none && d.Text:
		f.Problem = "the columns are numbers already, and " + name + " takes text"
	case none && takesCategories(d):
		f.Problem = "the columns are numbers already, and " + name + " takes categorical ones"
	case none || in.More:
	case n < d.MinColumns, d.Columns > 0 && n != d.Columns:
		f = param.FieldError{Problem: fmt.Sprintf("%d columns come to it, and %s %s", n, name, d.Reason), Hint: d.Hint}
	}
	return f, f.Problem != ""
}

// takesCategories reports whether a requirement is met by categorical columns.
func takesCategories(d datasets.Requirement) bool { return d.Labels || d.Names }

// unnamed returns the error of a required column name that does not exist, if all columns are
// known.
func unnamed(d datasets.Requirement, in datasets.InferredSchema, name string) (f param.FieldError, refused bool) {
	var names []string
	for _, c := range in.Columns {
		names = append(names, c.Name)
	}
	if len(names) == 0 || in.More || slices.Contains(names, d.Column) {
		return f, false
	}
	f = param.FieldError{Problem: fmt.Sprintf("no column %s comes to it, and %s %s", d.Column, name, d.Reason), Hint: d.Hint}
	if near := suggest.Nearest(d.Column, names); near != "" && d.Hint == "" {
		f.Hint = "did you mean " + near + "?"
	}
	return f, true
}

// textHint is the remedy for a step or a model that gets text.
const textHint = "encode it before with tfidf, in a columns step, or leave it out with data.drop"

// refusedText returns the error of a step or a model that gets text and declares nothing about it.
func refusedText(demands []datasets.Requirement, in datasets.InferredSchema, name string) (param.FieldError, bool) {
	text := slices.IndexFunc(in.Columns, func(c datasets.InferredColumn) bool { return c.Kind == datasets.Text })
	if in.Unknown || text < 0 || slices.ContainsFunc(demands, func(d datasets.Requirement) bool {
		return d.Numeric || d.Text || takesCategories(d)
	}) {
		return param.FieldError{}, false
	}
	return param.FieldError{Problem: "column " + in.Columns[text].Name + " is text, and " + name + " does not take it",
		Hint: textHint}, true
}

// passesOn reports whether the columns of a spec go to specs inside it, which are checked themselves.
func passesOn(spec any) bool {
	if _, composite := spec.(Composite); composite {
		return true
	}
	e, ok := spec.(estimator.Estimator)
	if !ok {
		return false
	}
	_, isPipeline := spec.(Pipeline)
	return isPipeline || len(modelsWithin(e)) > 0
}

// lacking lists columns with missing values.
func lacking(columns []datasets.InferredColumn) string {
	const most = 8
	var where []string
	for i, c := range columns {
		switch {
		case i == most:
			where = append(where, fmt.Sprintf("%d more columns lack some", len(columns)-most))
		case i > most:
		case c.Empty:
			where = append(where, "column "+c.Name+" lacks all")
		default:
			where = append(where, fmt.Sprintf("column %s lacks one in %v", c.Name, c.Missing))
		}
	}
	return strings.Join(where, ", ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
