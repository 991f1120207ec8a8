package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
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
		like := likeness{schema: train.Schema(), cols: cols, scored: true}
		if test, err = s.Data.writtenAs(s.Data.Test).openLike(ctx, s.Data.Test, like); err != nil {
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

// writtenAs returns the section for another file, whose ending tells more of its format than that of
// the rows before.
func (s Data) writtenAs(path string) Data {
	if f := formatOf(path); f != "" && !(f == "csv" && s.Format == "tsv") {
		s.Format = "auto"
	}
	return s
}

// likeness says how rows go with others, which came before.
type likeness struct {
	schema datasets.Schema
	cols   int
	scored bool // whether the target is needed
	drop   []string
	keep   []string
}

// openLike opens rows that have the columns of others. Columns that training had beside the inputs
// may be there or not, except for the target where it is needed. Where it is not, the weights and
// groups are not either.
func (s Data) openLike(ctx context.Context, path string, like likeness) (datasets.Source, error) {
	if !like.scored {
		var err error
		if s, err = s.withoutTargets(ctx, path, like.schema); err != nil {
			return nil, err
		}
	}
	names, err := s.header(ctx, path)
	if err != nil {
		return nil, err
	}
	if s.svm(path) && (len(like.drop) > 0 || len(like.keep) > 0) {
		return nil, fmt.Errorf("experiment: %s: columns of an svmlight file have no names by which to drop or keep one", path)
	}
	if s.SVMLight.Features == 0 {
		s.SVMLight.Features = like.cols
	}
	roles := s.roles(nil)
	roles.Task, roles.Kinds, roles.Target, roles.Schema = datasets.AnyTask, nil, nil, &like.schema
	roles.Drop, roles.Keep, roles.Unlabelled = slices.Clone(s.Drop), like.keep, !like.scored
	for _, role := range []*string{&roles.Weight, &roles.Group} {
		if !like.scored {
			roles.Drop = append(roles.Drop, *role)
			*role = ""
		} else if !slices.Contains(names, *role) {
			*role = ""
		}
	}
	unknown := func(name string) bool { return !slices.Contains(names, name) || slices.Contains(like.drop, name) }
	roles.Drop = append(slices.DeleteFunc(roles.Drop, unknown), like.drop...)
	roles.DropMissingTarget = roles.DropMissingTarget && like.scored
	if like.scored {
		for _, t := range like.schema.Targets {
			roles.Target = append(roles.Target, t.Name)
		}
	}
	source, err := s.open(ctx, path, roles)
	if err != nil {
		return nil, err
	}
	if _, cols := source.Dims(); cols != like.cols {
		return nil, fmt.Errorf("experiment: %s: %d columns, wanted %d", path, cols, like.cols)
	}
	return source, nil
}

// withoutTargets returns the section for a file without a header that may lack the columns of the
// targets: then the others are not called by their place in this file, but by that in the one before.
func (s Data) withoutTargets(ctx context.Context, path string, schema datasets.Schema) (Data, error) {
	format, err := s.format(path)
	if err != nil || format != "csv" && format != "tsv" || !s.csvOptions(format, datasets.Roles{}).NoHeader {
		return s, err
	}
	all := s.CSV.Columns
	if len(all) == 0 {
		n := len(schema.Columns) + len(schema.Targets) + len(s.Drop)
		for _, name := range []string{s.Weight, s.Group} {
			if name != "" {
				n++
			}
		}
		for j := range n {
			all = append(all, "x"+strconv.Itoa(j))
		}
	}
	bare := s
	bare.CSV.Columns, bare.CSV.Header = nil, Header{}
	names, err := bare.header(ctx, path)
	if err != nil {
		return s, err
	}
	isTarget := func(name string) bool {
		return slices.ContainsFunc(schema.Targets, func(c datasets.Column) bool { return c.Name == name })
	}
	if others := slices.DeleteFunc(slices.Clone(all), isTarget); len(names) == len(others) && len(others) < len(all) {
		s.CSV.Columns = others
	}
	return s, nil
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
			Task: roles.Task, Positive: roles.Positive, Schema: roles.Schema, Unlabelled: roles.Unlabelled, FS: s.files,
		})
	case "arff":
		return arff.Open(ctx, path, arff.Options{Roles: roles, FS: s.files})
	}
	return csv.Open(ctx, path, s.csvOptions(format, roles))
}

// csvOptions are those of the section for a file of this format.
func (s Data) csvOptions(format string, roles datasets.Roles) csv.Options {
	o := csv.Options{
		Roles: roles, NoHeader: !s.CSV.Header.Given, Columns: s.CSV.Columns, Delimiter: s.CSV.Delimiter,
		Comment: s.CSV.Comment, Missing: s.CSV.Missing, Skip: s.CSV.Skip, FS: s.files,
		Encoding: s.CSV.Encoding, Decimal: s.CSV.Decimal, Thousands: s.CSV.Thousands,
	}
	if o.Thousands == "none" {
		o.Thousands = ""
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
// no names. Dates have become their parts.
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
	return s.Dates.columns(names), nil
}

// roles says what the columns of a file with that header are for.
func (s Data) roles(names []string) datasets.Roles {
	r := datasets.Roles{Weight: s.Weight, Group: s.Group, Drop: s.Drop, Positive: s.Positive, Suffix: s.Suffix,
		DropMissingTarget: s.MissingTarget == "drop", Dates: s.Dates}
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
