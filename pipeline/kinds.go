package pipeline

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// CheckKinds looks, by the schema of the rows alone, whether a step or the estimator would be given
// columns of a kind that it does not take, or a group of columns would select none. The error is a
// [param.Fault] whose path is that of the step. What comes out of a step that is not of this module
// is not known, and nothing behind it is looked at.
func (p Pipeline) CheckKinds(schema datasets.Schema) error {
	if len(schema.Columns) == 0 {
		return nil
	}
	in := passing{columns: schema.Columns, named: true}
	out, err := in.through(p.Steps, "")
	if err != nil {
		return err
	}
	switch p.Estimator.(type) {
	case estimator.Ridge, estimator.RidgeClassifier, estimator.Logistic, estimator.SVM, estimator.SVR:
		return out.numbers(p.path(), p.path())
	}
	return nil
}

// passing is what is known of the columns at one place of a pipeline.
type passing struct {
	columns []datasets.Column // none stands for any number of numeric ones
	named   bool              // whether columns can still be selected by name
	unknown bool              // whether nothing is known
}

// through returns what comes out of steps, whose paths begin with within.
func (in passing) through(steps []Step, within string) (out passing, err error) {
	for _, s := range steps {
		if in, err = in.step(s.Fitter, join(within, s.path()), s.path()); err != nil {
			return in, err
		}
	}
	return in, nil
}

// step returns what comes out of the step that is called name, at that path.
func (in passing) step(spec transformer.Fitter, path, name string) (out passing, err error) {
	if in.unknown {
		return in, nil
	}
	switch s := spec.(type) {
	case Chain:
		return in.through(s.Steps, path)
	case Union:
		var parts []passing
		for _, part := range s.Parts {
			through, err := in.step(part.Fitter, join(path, part.path()), part.path())
			if err != nil {
				return in, err
			}
			parts = append(parts, through)
		}
		return abreastOf(parts), nil
	case Columns:
		return in.groups(s, path)
	case transformer.Impute:
		return in, in.imputed(s, path)
	case transformer.Dense:
		return in, nil
	case transformer.OneHot, transformer.Ordinal:
		return passing{}, in.levels(path, name)
	case transformer.Standardize, transformer.MinMax, transformer.Robust, transformer.PCA, transformer.RFF, transformer.Binning:
		return passing{}, in.numbers(path, name)
	}
	return passing{unknown: true}, nil
}

// groups returns what comes out of the groups of a columns step.
func (in passing) groups(s Columns, path string) (passing, error) {
	if !in.named {
		return passing{unknown: true}, nil
	}
	schema := datasets.Schema{Columns: in.columns}
	taken := make([]bool, len(in.columns))
	var parts []passing
	for i, g := range s.Groups {
		index, err := g.find(schema, len(in.columns))
		if err != nil {
			return in, param.Fault{Path: join(path, g.path(i)), Problem: err.Error()}
		}
		group := passing{named: true}
		for _, j := range index {
			taken[j] = true
			group.columns = append(group.columns, in.columns[j])
		}
		if group, err = group.through(g.Steps, join(path, g.path(i))); err != nil {
			return in, err
		}
		parts = append(parts, group)
	}
	if s.Rest == "pass" {
		for _, j := range untaken(taken) {
			parts = append(parts, passing{columns: in.columns[j : j+1]})
		}
	}
	return abreastOf(parts), nil
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

// numbers reports the first categorical column.
func (in passing) numbers(path, name string) error {
	if in.unknown {
		return nil
	}
	j := slices.IndexFunc(in.columns, func(c datasets.Column) bool { return c.Kind == datasets.Categorical })
	if j < 0 {
		return nil
	}
	return param.Fault{Path: path,
		Problem: fmt.Sprintf("column %s is categorical, and %s takes numbers", in.columns[j].Name, name),
		Hint:    "encode it before with onehot or ordinal, in a columns step"}
}

// levels reports the first numeric column.
func (in passing) levels(path, name string) error {
	if len(in.columns) == 0 && !in.unknown {
		return param.Fault{Path: path, Problem: "the columns are numbers already, and " + name + " takes categorical ones"}
	}
	j := slices.IndexFunc(in.columns, func(c datasets.Column) bool { return c.Kind != datasets.Categorical })
	if j < 0 || in.unknown {
		return nil
	}
	return param.Fault{Path: path,
		Problem: fmt.Sprintf("column %s is numeric, and %s takes categorical ones", in.columns[j].Name, name),
		Hint:    "select the categorical columns with a columns step"}
}

// imputed reports a categorical column that is to have a mean or a median.
func (in passing) imputed(s transformer.Impute, path string) error {
	if s.Strategy != "mean" && s.Strategy != "median" {
		return nil
	}
	j := slices.IndexFunc(in.columns, func(c datasets.Column) bool { return c.Kind == datasets.Categorical })
	if j < 0 {
		return nil
	}
	return param.Fault{Path: path,
		Problem: fmt.Sprintf("column %s is categorical and has no %s", in.columns[j].Name, s.Strategy),
		Hint:    "use most_frequent or constant, or select the numeric columns"}
}
