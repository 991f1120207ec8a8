package rows

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/npy"
	"github.com/bochner-ml/bochner/datasets/parquet"
	"github.com/bochner-ml/bochner/datasets/svmlight"
	"github.com/bochner-ml/bochner/experiment/document"
)

// File is how a file of rows is written, as the section about the data says, and where the file is.
type File struct {
	document.Data
	FS fs.FS // nil is the machine's own file system
}

// Open returns the rows of a file in the roles given, whose columns are learned unless the roles
// have a schema.
func (f File) Open(ctx context.Context, path string, roles datasets.Roles) (datasets.Source, error) {
	format, err := f.FormatOf(path)
	if err != nil {
		return nil, err
	}
	switch format {
	case "svmlight":
		return svmlight.Open(ctx, path, svmlight.Options{
			Width: f.SVMLight.Features, ZeroBased: f.SVMLight.ZeroBased,
			Task: roles.Task, Positive: roles.Positive, Schema: roles.Schema, Unlabelled: roles.Unlabelled, FS: f.FS,
		})
	case "arff":
		return arff.Open(ctx, path, arff.Options{Roles: roles, FS: f.FS})
	case "npy", "npz":
		return npy.Open(ctx, path, npy.Options{Roles: roles, FS: f.FS})
	case "parquet":
		return parquet.Open(ctx, path, parquet.Options{Roles: roles, FS: f.FS})
	}
	return csv.Open(ctx, path, f.CSVOptions(format, roles))
}

// CSVOptions are those of the section for a file of this format.
func (f File) CSVOptions(format string, roles datasets.Roles) csv.Options {
	o := csv.Options{
		Roles: roles, NoHeader: !f.CSV.Header.Given, Columns: f.CSV.Columns, Delimiter: f.CSV.Delimiter,
		Comment: f.CSV.Comment, Missing: f.CSV.Missing, Skip: f.CSV.Skip, FS: f.FS,
		Encoding: f.CSV.Encoding, Decimal: f.CSV.Decimal, Thousands: f.CSV.Thousands,
	}
	if o.Thousands == "none" {
		o.Thousands = ""
	}
	if f.CSV.Header.Auto {
		o.NoHeader = len(f.CSV.Columns) > 0
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

// Header returns the names of a file's columns without reading its rows, none where columns have
// no names. Dates have become their parts.
func (f File) Header(ctx context.Context, path string) ([]string, error) {
	if f.SVM(path) {
		return nil, nil
	}
	source, err := f.Open(ctx, path, datasets.Roles{Schema: &datasets.Schema{}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range source.Schema().Columns {
		names = append(names, c.Name)
	}
	return f.Dates.Columns(names), nil
}

// roles says what the columns of a file with that header are for.
func (f File) roles(names []string) datasets.Roles {
	r := datasets.Roles{Weight: f.Weight, Group: f.Group, Drop: f.Drop, Positive: f.Positive, Suffix: f.Suffix,
		DropMissingTarget: f.MissingTarget == "drop", Dates: f.Dates}
	r.Task, _ = datasets.ParseTask(f.Task) // auto is any
	for name, word := range f.Kinds {
		if r.Kinds == nil {
			r.Kinds = map[string]datasets.Kind{}
		}
		r.Kinds[name], _ = datasets.ParseKind(word) // checked when it was set
	}
	switch {
	case len(f.Target) > 0:
		r.Target = f.Target
	case len(names) > 0 && !r.Task.Targetless():
		r.Target = names[len(names)-1:]
	}
	return r
}

// FormatOf returns that of a file of the experiment.
func (f File) FormatOf(path string) (string, error) {
	if f.Format != "auto" {
		return f.Format, nil
	}
	if format := EndingOf(path); format != "" {
		return format, nil
	}
	return "", fmt.Errorf("experiment: %s: no format is known by that ending; say data.format: %s", path, document.FormatNames())
}

// EndingOf goes by the ending of a file's name; "" where that tells nothing.
func EndingOf(path string) string { return document.FormatOf(path) }

// SVM reports whether a file is one of svmlight, which has no names and a target of its own.
func (f File) SVM(path string) bool {
	format, _ := f.FormatOf(path)
	return format == "svmlight"
}

// WrittenAs returns the section for another file, whose ending tells more of its format than that of
// the rows before.
func (f File) WrittenAs(path string) File {
	if format := EndingOf(path); format != "" && !(format == "csv" && f.Format == "tsv") {
		f.Format = "auto"
	}
	return f
}

// Among reports whether a column is there, by name or by number.
func Among(names []string, name string) bool {
	if slices.Contains(names, name) {
		return true
	}
	n, err := strconv.Atoi(name)
	return err == nil && n >= -len(names) && n < len(names)
}
