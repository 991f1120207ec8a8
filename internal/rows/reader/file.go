package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/jsonl"
	"github.com/bochner-ml/bochner/datasets/npy"
	"github.com/bochner-ml/bochner/datasets/svmlight"
	registered "github.com/bochner-ml/bochner/internal/rows/formats"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// Stat returns the information of a file, which must support repeated reads.
func (f Files) Stat(path string) (fs.FileInfo, error) {
	if f.FS == nil {
		return rowfile.Stat(path)
	}
	info, err := fs.Stat(f.FS, path)
	if err != nil {
		return nil, err
	}
	return info, rowfile.CheckRegular(path, info)
}

// OpenBytes opens a file without decoding it.
func (f Files) OpenBytes(path string) (io.ReadCloser, error) {
	if f.FS == nil {
		return os.Open(path)
	}
	return f.FS.Open(path)
}

// List returns the files that paths name, as [rowfile.List] does, and checks that their names imply
// one format.
func (f Files) List(paths []string) ([]string, error) {
	files, err := rowfile.List(f.FS, paths...)
	if err != nil {
		return nil, err
	}
	known := -1
	for k, path := range files {
		if s, ok := f.FS.(*Spool); ok && s.held[DisplayName(path)] != nil {
			files[k] = DisplayName(path)
		}
		format := f.FormatName(files[k])
		switch {
		case f.Format != "auto" || format == "":
		case known < 0:
			known = k
		case format != f.FormatName(files[known]):
			return nil, fmt.Errorf("%s is %s and %s is %s; files that are read as one are in one format", files[known],
				f.FormatName(files[known]), path, format)
		}
	}
	return files, nil
}

// Open returns the rows of files with the given roles. Unless the roles have a schema, it is
// inferred.
func (f Files) Open(ctx context.Context, paths []string, roles datasets.Roles) (datasets.Source, error) {
	source, err := f.open(ctx, paths, roles)
	if err != nil {
		return nil, f.openError(paths, err)
	}
	return source, nil
}

// openError returns the error of files that cannot be opened. It names the kind of a file that is
// not a table, such as a workbook.
func (f Files) openError(paths []string, err error) error {
	if _, once := f.FS.(*Stream); once || f.Queries != nil {
		return err
	}
	list, wrong := f.List(paths)
	if wrong != nil {
		return err
	}
	for _, path := range list {
		file, wrong := f.OpenBytes(path)
		if wrong != nil {
			return err
		}
		start, _ := io.ReadAll(io.LimitReader(file, files.KindBytes))
		file.Close()
		if wrong := files.CheckData(path, start); wrong != nil {
			return wrong
		}
	}
	return err
}

func (f Files) open(ctx context.Context, paths []string, roles datasets.Roles) (datasets.Source, error) {
	format, err := f.FormatOf(paths)
	if err != nil {
		return nil, err
	}
	if f.Queries != nil {
		return f.Queries.Open(ctx, roles, paths...)
	}
	list, err := f.List(paths)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, errors.New("no files are named")
	}
	switch format {
	case "svmlight":
		return svmlight.Options{
			Width: f.SVMLight.Features, ZeroBased: f.SVMLight.ZeroBased,
			Task: roles.Task, Positive: roles.Positive, Schema: roles.Schema, Unlabeled: roles.Unlabeled, FS: f.FS,
		}.Open(ctx, list[0], list[1:]...)
	case "arff":
		return arff.Options{Roles: roles, FS: f.FS}.Open(ctx, list[0], list[1:]...)
	case "jsonl":
		o := jsonl.Options{Roles: roles, FS: f.FS, Missing: f.CSVOptions(format, roles).Missing}
		return o.Open(ctx, list[0], list[1:]...)
	case "npy", "npz":
		return npy.Options{Roles: roles, FS: f.FS}.Open(ctx, list[0], list[1:]...)
	case "parquet", "arrow":
		open, err := registered.Find(format)
		if err != nil {
			return nil, err
		}
		return open(ctx, f.FS, list, roles)
	}
	o := f.CSVOptions(format, roles)
	o.Hold = f.KeepBytes
	return o.Open(ctx, list[0], list[1:]...)
}

// CSVOptions returns the CSV options for a file of the given format.
func (f Files) CSVOptions(format string, roles datasets.Roles) csv.Options {
	o := csv.Options{
		Roles: roles, NoHeader: !f.CSV.Header.Given, Columns: f.CSV.Columns, Delimiter: f.CSV.Delimiter,
		Quote:   f.CSV.Quote,
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

// Header returns the column names of files without reading their rows, none if the columns are
// unnamed. Dates are replaced by their parts.
func (f Files) Header(ctx context.Context, paths []string) ([]string, error) {
	if f.IsSVMLight(paths) {
		return nil, nil
	}
	source, err := f.Open(ctx, paths, datasets.Roles{Schema: &datasets.Schema{}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range source.Schema().Columns {
		names = append(names, c.Name)
	}
	return f.Dates.Columns(names), nil
}

// Roles returns the roles of the columns of a file with the given header.
func (f Files) Roles(names []string) datasets.Roles {
	r := datasets.Roles{Weight: f.Weight, Group: f.Group, Drop: f.Drop, Positive: f.Positive, Suffix: f.Suffix,
		DropMissingTarget: f.MissingTarget == "drop", Dates: f.Dates, LabelDelimiter: f.Labels.Delimiter}
	if task := datasets.Task(f.Task); task.Check() == nil { // "auto" is AnyTask
		r.Task = task
	}
	for name, word := range f.Kinds {
		if r.Kinds == nil {
			r.Kinds = map[string]datasets.Kind{}
		}
		var format datasets.Format
		if r.Kinds[name], format, _ = parseKind(word); format != (datasets.Format{}) { // checked when it was set
			delete(r.Kinds, name)
			if r.Formats == nil {
				r.Formats = map[string]datasets.Format{}
			}
			r.Formats[name] = format
		}
	}
	switch {
	case len(f.Target) > 0:
		r.Target = f.Target
	case len(names) > 0 && !r.Task.Unsupervised():
		r.Target = names[len(names)-1:]
	}
	return r
}

// FormatOf returns the format of files, which is the same for all; "" for queries.
func (f Files) FormatOf(paths []string) (string, error) {
	if f.Queries != nil {
		return "", nil
	}
	if f.Format != "auto" {
		return f.Format, nil
	}
	files, err := f.List(paths)
	if err != nil {
		return "", err
	}
	format := ""
	for _, path := range files {
		if format = f.FormatName(path); format == "" {
			return "", fmt.Errorf("%s: unknown file extension; set the format (data.format, or the package of the format in "+
				"Go) to one of %s", path, FormatNames())
		}
	}
	return format, nil
}

// FormatName returns the format of a file by its name, or by the start of a stream; "" if unknown.
func (f Files) FormatName(path string) string {
	if s, ok := f.FS.(*Spool); ok && s.held[path] != nil && FormatOf(path) == "" {
		return s.held[path].format
	}
	return FormatOf(path)
}

// IsSVMLight reports whether files have the svmlight format, which has no column names and a fixed
// target.
func (f Files) IsSVMLight(paths []string) bool {
	format, _ := f.FormatOf(paths)
	return format == "svmlight"
}

// WithFormatOf returns the options for other files, whose extension takes precedence over the
// format of earlier rows.
func (f Files) WithFormatOf(paths []string) Files {
	if f.Queries != nil {
		return f
	}
	files, err := f.List(paths)
	if err != nil || len(files) == 0 {
		return f // opening them reports it
	}
	if format := FormatOf(files[0]); format != "" && !(format == "csv" && f.Format == "tsv") {
		f.Format = "auto"
	}
	return f
}

// MatchName reports whether a column exists, by name or by number.
func MatchName(names []string, name string) bool {
	if slices.Contains(names, name) {
		return true
	}
	n, err := strconv.Atoi(name)
	return err == nil && n >= -len(names) && n < len(names)
}

// MaxInMemory is the number of bytes up to which rows are always read into memory.
const MaxInMemory = 256 << 20

// Bytes returns the total size of the files, as far as it is known.
func (f Files) Bytes(paths []string) (sum int64) {
	files, _ := f.List(paths)
	for _, path := range files {
		if info, err := f.Stat(path); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
