package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// CheckKinds looks, by the schema of the rows alone, whether a step or the estimator would be given
// columns of a kind that it does not take, or a group of columns would select none. The error is
// [param.Faults], each with the path of its step. What comes out of a step that is not of this module
// is not known, and nothing behind it is looked at.
func (p Pipeline) CheckKinds(schema datasets.Schema) error {
	return p.CheckContent(schema, nil)
}

// CheckContent is CheckKinds that also looks whether a missing value, a column without any, or a level
// that is not in the schema would come to a step that does not take it. The content is that of the
// schema's columns, as [datasets.Survey] returns it.
func (p Pipeline) CheckContent(schema datasets.Schema, content []datasets.Content) error {
	if len(schema.Columns) == 0 {
		return nil
	}
	in := passing{named: true}
	for j, c := range schema.Columns {
		in.columns = append(in.columns, column{Column: c})
		if j < len(content) {
			in.columns[j].Content = content[j]
		}
	}
	var k kinds
	out := k.through(in, p.Steps, "")
	switch p.Estimator.(type) {
	case estimator.Ridge, estimator.RidgeClassifier, estimator.Logistic, estimator.SVM, estimator.SVR:
		k.numbers(out, p.path(), p.path())
		k.complete(out, p.path(), p.path())
	}
	return k.faults.Err()
}

// kinds collects what steps cannot take.
type kinds struct{ faults param.Faults }

// column is what is known of a column.
type column struct {
	datasets.Column
	datasets.Content
}

// passing is what is known of the columns at one place of a pipeline.
type passing struct {
	columns []column // none stands for any number of complete numeric ones
	named   bool     // whether columns can still be selected by name
	unknown bool     // whether nothing is known
}

// each returns the columns changed, in the same order.
func (in passing) each(change func(c *column)) passing {
	in.columns = slices.Clone(in.columns)
	for j := range in.columns {
		change(&in.columns[j])
	}
	return in
}

// asNumbers returns the columns as a step leaves them that makes numbers of them, each of its own.
func (in passing) asNumbers() passing {
	in.named = false
	return in.each(func(c *column) { c.Kind, c.Levels = datasets.Numeric, nil })
}

// through returns what comes out of steps, whose paths begin with within.
func (k *kinds) through(in passing, steps []Step, within string) passing {
	for _, s := range steps {
		in = k.step(in, s.Fitter, join(within, s.path()), s.path())
	}
	return in
}

// step returns what comes out of the step that is called name, at that path.
func (k *kinds) step(in passing, spec transformer.Fitter, path, name string) passing {
	if in.unknown {
		return in
	}
	switch s := spec.(type) {
	case Chain:
		return k.through(in, s.Steps, path)
	case Union:
		var parts []passing
		for _, part := range s.Parts {
			parts = append(parts, k.step(in, part.Fitter, join(path, part.path()), part.path()))
		}
		return abreastOf(parts)
	case Columns:
		return k.groups(in, s, path)
	case transformer.Impute:
		if !k.imputed(in, s, path) {
			return passing{unknown: true}
		}
		return in.each(func(c *column) { c.Missing, c.Empty = nil, false })
	case transformer.Dense:
		return in
	case transformer.OneHot:
		k.levels(in, path, name)
		return passing{}
	case transformer.Ordinal:
		k.levels(in, path, name)
		return k.ordered(in, s, path)
	case transformer.Standardize, transformer.MinMax, transformer.Robust:
		k.numbers(in, path, name)
		k.valued(in, path, name)
		return in.each(func(c *column) {
			if c.Empty { // which has been said
				c.Missing, c.Empty = nil, false
			}
		}).asNumbers()
	case transformer.PCA, transformer.RFF, transformer.Binning:
		k.numbers(in, path, name)
		k.complete(in, path, name)
		return passing{}
	}
	return passing{unknown: true}
}

// groups returns what comes out of the groups of a columns step.
func (k *kinds) groups(in passing, s Columns, path string) passing {
	if !in.named {
		return passing{unknown: true}
	}
	var schema datasets.Schema
	for _, c := range in.columns {
		schema.Columns = append(schema.Columns, c.Column)
	}
	taken := make([]bool, len(in.columns))
	var parts []passing
	for i, g := range s.Groups {
		index, err := g.find(schema, len(in.columns))
		if err != nil {
			k.faults = append(k.faults, param.Fault{Path: join(path, g.path(i)), Problem: err.Error()})
			continue
		}
		group := passing{named: true}
		for _, j := range index {
			taken[j] = true
			group.columns = append(group.columns, in.columns[j])
		}
		parts = append(parts, k.through(group, g.Steps, join(path, g.path(i))))
	}
	if s.Rest == "pass" {
		for _, j := range untaken(taken) {
			parts = append(parts, passing{columns: in.columns[j : j+1]})
		}
	}
	return abreastOf(parts)
}

// abreastOf is what is known of parts side by side: the kinds, and no longer the names.
func abreastOf(parts []passing) passing {
	var out passing
	for _, p := range parts {
		out.columns = append(out.columns, p.columns...)
		out.unknown = out.unknown || p.unknown
	}
	return out
}

// find returns the first column that is as wanted, nil where there is none.
func (in passing) find(wanted func(c column) bool) *column {
	if j := slices.IndexFunc(in.columns, wanted); j >= 0 && !in.unknown {
		return &in.columns[j]
	}
	return nil
}

func isCategorical(c column) bool { return c.Kind == datasets.Categorical }

// numbers reports the first categorical column.
func (k *kinds) numbers(in passing, path, name string) {
	if c := in.find(isCategorical); c != nil {
		k.faults = append(k.faults, param.Fault{Path: path,
			Problem: fmt.Sprintf("column %s is categorical, and %s takes numbers", c.Name, name),
			Hint:    "encode it before with onehot or ordinal, in a columns step"})
	}
}

// valued reports the first column without any value.
func (k *kinds) valued(in passing, path, name string) {
	if c := in.find(func(c column) bool { return c.Empty }); c != nil {
		k.faults = append(k.faults, param.Fault{Path: path,
			Problem: fmt.Sprintf("column %s has no value in any row, and %s learns from values", c.Name, name), Hint: "data.drop leaves it out"})
	}
}

// complete reports the columns of numbers with a missing value.
func (k *kinds) complete(in passing, path, name string) {
	const most = 8
	var where []string
	empty := false
	for _, c := range in.columns {
		switch {
		case c.Missing == nil || c.Kind != datasets.Numeric:
		case c.Empty:
			empty = true
			where = append(where, "column "+c.Name+" lacks all")
		default:
			where = append(where, fmt.Sprintf("column %s lacks one in %v", c.Name, c.Missing))
		}
	}
	if len(where) == 0 || in.unknown {
		return
	}
	if more := len(where) - most; more > 0 {
		where = append(where[:most], fmt.Sprintf("%d more columns lack some", more))
	}
	hint := "put an impute step before"
	if empty {
		hint += "; data.drop leaves out a column without any"
	}
	k.faults = append(k.faults, param.Fault{Path: path, Problem: name + " takes no missing values, and " + strings.Join(where, ", "), Hint: hint})
}

// levels reports the first numeric column.
func (k *kinds) levels(in passing, path, name string) {
	if len(in.columns) == 0 && !in.unknown {
		k.faults = append(k.faults, param.Fault{Path: path, Problem: "the columns are numbers already, and " + name + " takes categorical ones"})
		return
	}
	if c := in.find(func(c column) bool { return !isCategorical(c) }); c != nil {
		k.faults = append(k.faults, param.Fault{Path: path,
			Problem: fmt.Sprintf("column %s is numeric, and %s takes categorical ones", c.Name, name),
			Hint:    "select the categorical columns with a columns step"})
	}
}

// ordered reports the first column with a level that training has not, where the step refuses it, and
// returns what comes out of the step.
func (k *kinds) ordered(in passing, s transformer.Ordinal, path string) passing {
	if c := in.find(func(c column) bool { return c.Unknown != nil }); c != nil && s.Unknown == "error" {
		k.faults = append(k.faults, param.Fault{Path: path,
			Problem: fmt.Sprintf("column %s has a level in %v that training has not", c.Name, c.Unknown), Hint: "unknown: code or missing allows it"})
	}
	return in.each(func(c *column) {
		if s.Unknown == "missing" && c.Missing == nil {
			c.Missing = c.Unknown
		}
		c.Unknown = nil
	}).asNumbers()
}

// imputed reports a categorical column that is to have a mean or a median, and one that has no value
// to learn from. It says whether there is none.
func (k *kinds) imputed(in passing, s transformer.Impute, path string) bool {
	told := len(k.faults)
	if s.Strategy != "constant" {
		k.valued(in, path, "impute")
	}
	if s.Strategy != "mean" && s.Strategy != "median" {
		return told == len(k.faults)
	}
	if c := in.find(isCategorical); c != nil {
		k.faults = append(k.faults, param.Fault{Path: path,
			Problem: fmt.Sprintf("column %s is categorical and has no %s", c.Name, s.Strategy),
			Hint:    "use most_frequent or constant, or select the numeric columns"})
	}
	return told == len(k.faults)
}
