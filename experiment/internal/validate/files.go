package validate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Document checks the data files of a configuration and adds the errors. It reads the headers, and
// all rows if the files are small or all is set.
func Document(ctx context.Context, d *config.Document, all bool) {
	h := &heads{d}
	switch {
	case d.Spec.Data.Dataset != "":
		h.dataset()
	case d.Spec.Data.SQL.Given():
		end, ok := h.database(ctx, all)
		if !ok {
			return
		}
		defer end()
		h.files(ctx)
	default:
		h.files(ctx)
	}
	h.rows(ctx, all)
}

// heads caches the headers of the data files.
type heads struct{ *config.Document }

// files checks that the data can be opened and contain the named columns.
func (d *heads) files(ctx context.Context) {
	data := d.Spec.Data
	trainFrom, testFrom := data.Where()
	if data.Gram.Given() {
		_, _, errs := dataload.GramFiles(ctx, d.Spec)
		d.Errors = append(d.Errors, errs...)
	}
	train := d.head(ctx, "data.train", trainFrom)
	test := d.head(ctx, "data.test", testFrom)
	if train == nil {
		return
	}
	for _, c := range d.namedColumns() {
		if !reader.MatchName(train, c.name) && !(c.path == "data.drop" && slices.Contains(test, c.name)) {
			f := param.FieldError{Problem: fmt.Sprintf("no column %q in %s", c.name, d.called("data.train")),
				Hint: "columns: " + suggest.List(train)}
			if near := suggest.Nearest(c.name, train); near != "" {
				f.Hint = "did you mean " + near + "?"
			}
			if delimiter := d.file().SuggestDelimiter(trainFrom); delimiter != "" {
				f.Hint = fmt.Sprintf("the fields seem to be separated by %q: set data.csv.delimiter", delimiter)
			}
			d.place(c.path, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(data.Dates)) {
		if !slices.Contains(train, data.Dates[name].Names(name)[0]) {
			d.place("data.dates", param.FieldError{Problem: fmt.Sprintf("no column %q in %s", name, d.called("data.train")),
				Hint: "columns: " + suggest.List(train)})
		}
	}
	if test != nil {
		d.compare(train, test)
	}
}

// isSmall reports whether the files are small enough to be read completely.
func (d *heads) isSmall(paths []string) bool {
	files, err := d.file().List(paths)
	limit := int64(4 << 20)
	for _, path := range files {
		info, wrong := d.file().Stat(path)
		if err == nil && wrong == nil {
			if limit -= info.Size(); strings.HasSuffix(path, ".gz") {
				limit -= 9 * info.Size()
			}
		}
		err = errors.Join(err, wrong)
	}
	return err == nil && limit >= 0
}

// rows checks the rows of built-in data and of small files, or all rows.
func (d *heads) rows(ctx context.Context, all bool) {
	data, whole := d.Spec.Data, d.Steps
	for _, f := range d.Errors {
		section, rest, _ := strings.Cut(f.Path, ".")
		divided := section == "search" && (strings.HasPrefix(rest, "cv") || rest == "folds") || section == "data" &&
			strings.HasPrefix(rest, "split")
		if !d.Owns(f) || section == "" || section == "data" && !divided && rest != "stream" &&
			!strings.HasPrefix(rest, "gram") {
			return // the selected rows are unknown
		}
		whole = whole && !divided
	}
	switch {
	case all && data.SQL.Given():
	case len(data.Train) == 0 && data.Dataset == "" || !all &&
		!(d.isSmall(data.Train) && d.isSmall(data.Test) && d.isSmall(data.Gram.Files())):
		return
	}
	parts, err := dataload.Open(ctx, d.Spec)
	var errs param.FieldErrors
	switch {
	case errors.As(err, &errs):
	case err != nil:
		errs = dataload.FieldErrors(d.Spec, "data", err)
	case whole:
		err = All(ctx, d.Spec, parts)
		errors.As(err, &errs)
	default:
		errs, _ = Rows(ctx, d.Spec, parts)
	}
	d.Errors = append(d.Errors, errs...)
}

// database checks the driver and the URL. If all is set it opens the database; ok is false if it is
// not open.
func (d *heads) database(ctx context.Context, all bool) (end func(), ok bool) {
	data := &d.Spec.Data
	for _, f := range d.Errors {
		if strings.HasPrefix(f.Path, "data.sql") {
			return nil, false // already reported
		}
	}
	err := dataload.Addressed(data.SQL)
	if err == nil && !all {
		return nil, false
	}
	var closed func() error
	if err == nil {
		closed, err = dataload.Connect(ctx, data)
	}
	if err != nil {
		d.place("data.sql.url", param.FieldError{Problem: config.Problem(err), Err: err})
		return nil, false
	}
	return func() { closed(); data.Asked = nil }, true
}

// dataset checks the name of a built-in data set.
func (d *heads) dataset() {
	name := d.Spec.Data.Dataset
	var names []string
	for _, one := range builtin.All() {
		names = append(names, one.Name)
	}
	if slices.Contains(names, name) {
		return
	}
	f := param.FieldError{Problem: fmt.Sprintf("no built-in data set is named %q", name),
		Hint: "data sets: " + strings.Join(names, ", ")}
	if near := suggest.Nearest(name, names); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	d.place("data.dataset", f)
}

// place adds an error of a value in the file or of an override.
func (d *heads) place(path string, f param.FieldError) {
	d.Errors = append(d.Errors, d.Spec.Locate(path, f))
}

// file returns the format of the files.
func (d *heads) file() reader.Files { return dataload.Files(d.Spec.Data) }

// called names the rows of a path in messages: the files, or the query.
func (d *heads) called(path string) string {
	data := d.Spec.Data
	switch train, test := data.Where(); {
	case data.SQL.Given():
		return map[string]string{"data.train": "the query to train on", "data.test": "the query to test on"}[path]
	case path == "data.test":
		return test.String()
	default:
		return train.String()
	}
}

// head returns the column names of files, or nil if they are unavailable.
func (d *heads) head(ctx context.Context, path string, paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	if !d.Spec.Data.SQL.Given() && !d.openable(path, paths) {
		return nil
	}
	names, err := d.file().Header(ctx, paths)
	if err != nil {
		d.Errors = append(d.Errors, dataload.FieldErrors(d.Spec, path, err)...)
		return nil
	}
	return names
}

// openable checks that files can be opened and their column names read, except for svmlight, which
// has none.
func (d *heads) openable(path string, paths []string) bool {
	list, err := d.file().List(paths)
	if err != nil {
		d.Errors = append(d.Errors, dataload.FieldErrors(d.Spec, path, err)...)
		return false
	}
	wrong := false
	for _, file := range list {
		if f, unopenable := d.unopenable(file, len(list) == 1); unopenable {
			d.place(path, f)
			wrong = true
		}
	}
	return !wrong && !d.file().IsSVMLight(paths)
}

// unopenable returns the error of a file that is unreadable, or empty and the only one.
func (d *heads) unopenable(file string, only bool) (f param.FieldError, wrong bool) {
	info, err := d.file().Stat(file)
	var at *datasets.LineError
	switch {
	case errors.As(err, &at):
		return param.FieldError{Problem: err.Error(), Err: err}, true
	case err != nil:
		return param.FieldError{Problem: fmt.Sprintf("%s: %v", file, files.Reason(err)), Err: err}, true
	case info.Size() == 0 && only:
		return param.FieldError{Problem: file + " is empty"}, true
	}
	opened, err := d.file().OpenBytes(file)
	if err != nil {
		return param.FieldError{Problem: fmt.Sprintf("%s: %v", file, files.Reason(err)), Err: err}, true
	}
	defer opened.Close()
	if d.Spec.Data.Format != "auto" || d.file().FormatName(file) != "" {
		return param.FieldError{}, false
	}
	start, _ := io.ReadAll(io.LimitReader(opened, files.KindBytes))
	if what, remedy := files.Kind(start); remedy != "" {
		return param.FieldError{Problem: file + " is " + what, Hint: remedy}, true
	}
	return param.FieldError{Problem: file + ": unknown file extension", Hint: "set data.format: " + reader.FormatNames()},
		true
}

// namedColumn is a column that the configuration names at a path.
type namedColumn struct{ path, name string }

func (d *heads) namedColumns() []namedColumn {
	data := d.Spec.Data
	var out []namedColumn
	for _, name := range data.Target {
		out = append(out, namedColumn{"data.target", name})
	}
	roles := []namedColumn{{"data.weight", data.Weight}, {"data.group", data.Group}}
	if d.Spec.Intervals != nil {
		roles = append(roles, namedColumn{"intervals.group", d.Spec.Intervals.Group})
	}
	for _, c := range roles {
		if c.name != "" {
			out = append(out, c)
		}
	}
	for _, name := range data.Drop {
		out = append(out, namedColumn{"data.drop", name})
	}
	var kinds []string
	for name := range data.Kinds {
		kinds = append(kinds, name)
	}
	slices.Sort(kinds)
	for _, name := range kinds {
		out = append(out, namedColumn{"data.kinds", name})
	}
	return out
}

// compare checks that the test file has the input columns of the training file.
func (d *heads) compare(train, test []string) {
	data := d.Spec.Data
	other := append([]string{data.Weight, data.Group}, data.Drop...)
	var missing, extra []string
	for _, name := range train {
		if !slices.Contains(test, name) && !slices.Contains(other, name) {
			missing = append(missing, strconv.Quote(name))
		}
	}
	for _, name := range test {
		if !slices.Contains(train, name) && !slices.Contains(data.Drop, name) {
			extra = append(extra, strconv.Quote(name))
		}
	}
	if missing != nil {
		d.place(dataload.PathOf(d.Spec, "data.test"), param.FieldError{Problem: fmt.Sprintf("%s: missing column %s of %s",
			d.called("data.test"), suggest.List(missing), d.called("data.train"))})
	}
	if extra != nil {
		d.place(dataload.PathOf(d.Spec, "data.test"),
			param.FieldError{Problem: fmt.Sprintf("%s: unexpected column %s, not in %s", d.called("data.test"),
				suggest.List(extra), d.called("data.train")), Hint: "exclude it by data.drop"})
	}
}
