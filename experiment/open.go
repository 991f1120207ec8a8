package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/svmlight"
	"github.com/bochner-ml/bochner/metrics"
)

// openAll opens what the spec names: built-in data, or a file and perhaps another one.
func (s Spec) openAll(ctx context.Context) (train, test datasets.Source, r *rows, err error) {
	r = &rows{}
	if s.Data.Dataset != "" {
		train, test, err = s.builtin(ctx)
	} else {
		train, err = s.openTrain(ctx, r)
	}
	if err != nil {
		return nil, nil, nil, s.rowsError(ctx, "data.train", err)
	}
	r.task = metrics.Regression
	if len(train.Schema().Classes()) > 0 {
		r.task = metrics.Classification
	}
	if s.Data.Test != "" {
		_, cols := train.Dims()
		if test, err = s.Data.openLike(ctx, s.Data.Test, train.Schema(), cols, true); err != nil {
			return nil, nil, nil, s.rowsError(ctx, "data.test", err)
		}
	}
	return train, test, r, nil
}

// builtin opens a built-in set and its test part, if it has one.
func (s Spec) builtin(ctx context.Context) (train, test datasets.Source, err error) {
	roles := s.Data.roles(nil)
	trainSet, testSet, err := builtin.Read(ctx, s.Data.Dataset, roles)
	if err != nil {
		return nil, nil, err
	}
	if testSet.Rows() > 0 && s.Data.Split.Test == 0 {
		test = testSet.Source()
	}
	return trainSet.Source(), test, nil
}

// openTrain opens the training file. A target of few whole numbers becomes one of classes, if the
// spec does not say otherwise.
func (s Spec) openTrain(ctx context.Context, r *rows) (datasets.Source, error) {
	names, err := s.Data.header(ctx, s.Data.Train)
	if err != nil {
		return nil, err
	}
	roles := s.Data.roles(names)
	if s.Data.Test != "" { // which may have more columns to drop
		roles.Drop = slices.DeleteFunc(slices.Clone(roles.Drop), func(name string) bool { return !among(names, name) })
	}
	if len(s.Data.Target) == 0 && len(names) > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf("data.target is not given: the last column, %s, is taken", roles.Target[0]))
	}
	source, err := s.Data.open(ctx, s.Data.Train, roles)
	if err != nil || s.Data.Task != "auto" || len(source.Schema().Classes()) > 0 {
		return source, err
	}
	classes, err := fewWholeNumbers(ctx, source)
	if err != nil || classes == 0 {
		return source, err
	}
	roles.Task = datasets.Classification
	r.warnings = append(r.warnings, fmt.Sprintf("data.task is not given: the target has %d different values, all whole numbers, and is taken for classes; task: regression says otherwise", classes))
	return s.Data.open(ctx, s.Data.Train, roles)
}

// maxInferred is how many whole numbers are still taken for classes.
const maxInferred = 10

// fewWholeNumbers returns how many different values the target has, 0 where they are many or no
// whole numbers.
func fewWholeNumbers(ctx context.Context, source datasets.Source) (int, error) {
	seen := map[float64]bool{}
	stop := fmt.Errorf("enough")
	err := source.Blocks(ctx, func(block datasets.Set) error {
		if block.Targets != nil {
			return stop
		}
		for _, y := range block.Y {
			if seen[y] {
				continue
			}
			if seen[y] = true; y != math.Trunc(y) || len(seen) > maxInferred {
				return stop
			}
		}
		return nil
	})
	if err == stop {
		return 0, nil
	}
	return len(seen), err
}

// openLike opens rows that have the columns of others. Columns that training had beside the inputs
// may be there or not, except for the target where it is needed.
func (s Data) openLike(ctx context.Context, path string, schema datasets.Schema, cols int, target bool) (datasets.Source, error) {
	if f := formatOf(path); f != "" && !(f == "csv" && s.Format == "tsv") {
		s.Format = "auto" // the file's own ending tells more than that of other rows
	}
	names, err := s.header(ctx, path)
	if err != nil {
		return nil, err
	}
	if s.SVMLight.Features == 0 {
		s.SVMLight.Features = cols
	}
	roles := s.roles(nil)
	roles.Task, roles.Kinds, roles.Target, roles.Schema = datasets.AnyTask, nil, nil, &schema
	has := func(name string) bool { return slices.Contains(names, name) }
	if !has(s.Weight) {
		roles.Weight = ""
	}
	if !has(s.Group) {
		roles.Group = ""
	}
	roles.Drop = slices.DeleteFunc(slices.Clone(s.Drop), func(name string) bool { return !has(name) })
	if target {
		for _, t := range schema.Targets {
			roles.Target = append(roles.Target, t.Name)
		}
	}
	return s.open(ctx, path, roles)
}

// open returns the rows of a file in the roles given, whose columns are learned unless the roles
// have a schema.
func (s Data) open(ctx context.Context, path string, roles datasets.Roles) (datasets.Source, error) {
	format, err := s.format(path)
	if err != nil {
		return nil, err
	}
	switch format {
	case "svmlight":
		return svmlight.Open(ctx, path, svmlight.Options{
			Width: s.SVMLight.Features, ZeroBased: s.SVMLight.ZeroBased,
			Task: roles.Task, Positive: roles.Positive, Schema: roles.Schema,
		})
	case "arff":
		return arff.Open(ctx, path, arff.Options{Roles: roles})
	}
	return csv.Open(ctx, path, s.csvOptions(format, roles))
}

// csvOptions are those of the section for a file of this format.
func (s Data) csvOptions(format string, roles datasets.Roles) csv.Options {
	o := csv.Options{
		Roles: roles, NoHeader: !s.CSV.Header.Given, Columns: s.CSV.Columns, Delimiter: s.CSV.Delimiter,
		Comment: s.CSV.Comment, Missing: s.CSV.Missing, Skip: s.CSV.Skip,
	}
	if s.CSV.Header.Auto {
		o.NoHeader = len(s.CSV.Columns) > 0
	}
	if len(o.Columns) == 0 {
		o.Columns = nil
	}
	if len(o.Missing) == 0 {
		o.Missing = nil
	}
	if format == "tsv" && o.Delimiter == "" {
		o.Delimiter = "tab"
	}
	return o
}

// header returns the names of a file's columns without reading its rows, none where columns have
// no names.
func (s Data) header(ctx context.Context, path string) ([]string, error) {
	if s.svm(path) {
		return nil, nil
	}
	source, err := s.open(ctx, path, datasets.Roles{Schema: &datasets.Schema{}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range source.Schema().Columns {
		names = append(names, c.Name)
	}
	return names, nil
}

// roles says what the columns of a file with that header are for.
func (s Data) roles(names []string) datasets.Roles {
	r := datasets.Roles{Weight: s.Weight, Group: s.Group, Drop: s.Drop, Positive: s.Positive, Suffix: s.Suffix}
	r.Task, _ = datasets.ParseTask(s.Task) // auto is any
	for name, word := range s.Kinds {
		if r.Kinds == nil {
			r.Kinds = map[string]datasets.Kind{}
		}
		r.Kinds[name], _ = datasets.ParseKind(word) // checked when it was set
	}
	switch {
	case len(s.Target) > 0:
		r.Target = s.Target
	case len(names) > 0:
		r.Target = names[len(names)-1:]
	}
	return r
}

// format returns that of a file of the experiment.
func (s Data) format(path string) (string, error) {
	if s.Format != "auto" {
		return s.Format, nil
	}
	if f := formatOf(path); f != "" {
		return f, nil
	}
	return "", fmt.Errorf("experiment: %s: no format is known by that ending; say data.format: csv, tsv, svmlight or arff", path)
}

// formatOf goes by the ending of a file's name; "" where that tells nothing.
func formatOf(path string) string {
	name := strings.TrimSuffix(strings.ToLower(path), ".gz")
	switch filepath.Ext(name) {
	case ".csv", ".data", ".test", ".txt":
		return "csv"
	case ".tsv", ".tab":
		return "tsv"
	case ".svm", ".libsvm", ".svmlight":
		return "svmlight"
	case ".arff":
		return "arff"
	}
	return ""
}

// svm reports whether a file is one of svmlight, which has no names and a target of its own.
func (s Data) svm(path string) bool {
	format, _ := s.format(path)
	return format == "svmlight"
}
