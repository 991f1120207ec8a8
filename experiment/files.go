package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/param"
)

// files looks whether the data can be opened and have the columns that the spec names. It reads
// the heads of the files only.
func (d *decoder) files(ctx context.Context) {
	data := d.spec.Data
	if data.Dataset != "" {
		d.dataset()
		return
	}
	train := d.head(ctx, "data.train", data.Train)
	test := d.head(ctx, "data.test", data.Test)
	if train == nil {
		return
	}
	for _, c := range d.namedColumns() {
		if !among(train, c.name) && !(c.path == "data.drop" && slices.Contains(test, c.name)) {
			f := param.Fault{Problem: fmt.Sprintf("no column %q in %s", c.name, data.Train), Hint: "there are " + few(train)}
			if near := param.Nearest(c.name, train); near != "" {
				f.Hint = "did you mean " + near + "?"
			}
			d.place(c.path, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(data.Dates)) {
		if !slices.Contains(train, data.Dates[name].Names(name)[0]) {
			d.fault(d.at["data.dates"], "data.dates", param.Fault{Problem: fmt.Sprintf("no column %q in %s", name, data.Train), Hint: "there are " + few(train)})
		}
	}
	if test != nil {
		d.compare(train, test)
	}
}

// isSmall says whether a file is read through to learn the kinds of its columns.
func isSmall(path string) bool {
	limit := int64(4 << 20)
	if strings.HasSuffix(path, ".gz") {
		limit /= 10
	}
	info, err := os.Stat(path)
	return err == nil && info.Size() <= limit
}

// rows looks at the rows, where they can be had: at those of built-in data and of small files, or at
// all.
func (d *decoder) rows(ctx context.Context, all bool) {
	data, whole := d.spec.Data, d.steps
	for _, f := range d.faults {
		section, rest, _ := strings.Cut(f.Path, ".")
		parts := section == "search" && (strings.HasPrefix(rest, "cv") || rest == "folds") || section == "data" && strings.HasPrefix(rest, "split")
		if f.File != d.file && f.File != source || section == "" || section == "data" && !parts && rest != "stream" {
			return // which rows are meant is not known
		}
		whole = whole && !parts
	}
	if data.Train == "" && data.Dataset == "" || !all && (data.Train != "" && !isSmall(data.Train) || data.Test != "" && !isSmall(data.Test)) {
		return
	}
	train, test, r, err := d.spec.openAll(ctx)
	var faults param.Faults
	switch {
	case errors.As(err, &faults):
	case err != nil:
		faults = d.spec.places.ofRows("data", err)
	case whole:
		err = d.spec.checkAll(ctx, train, test, r.task)
		errors.As(err, &faults)
	default:
		faults, _ = d.spec.check(ctx, train, test, r.task)
	}
	d.faults = append(d.faults, faults...)
}

// dataset looks whether there is a built-in set of that name.
func (d *decoder) dataset() {
	name := d.spec.Data.Dataset
	if slices.Contains(builtin.Names(), name) {
		return
	}
	f := param.Fault{Problem: fmt.Sprintf("no built-in data are called %q", name), Hint: "there are " + strings.Join(builtin.Names(), ", ")}
	if near := param.Nearest(name, builtin.Names()); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	d.place("data.dataset", f)
}

// place records a fault of a value, of the file or of an override.
func (d *decoder) place(path string, f param.Fault) {
	d.faults = append(d.faults, d.spec.places.fault(path, f))
}

// head returns the names of a file's columns, nil where there are none to be had.
func (d *decoder) head(ctx context.Context, path, file string) []string {
	if file == "" {
		return nil
	}
	if f, wrong := d.unopenable(file); wrong {
		d.place(path, f)
		return nil
	}
	if d.spec.Data.svm(file) {
		return nil // it has no names, and reading it takes time
	}
	names, err := d.spec.Data.header(ctx, file)
	if err != nil {
		d.faults = append(d.faults, d.spec.places.ofRows(path, err)...)
		return nil
	}
	return names
}

// unopenable says what is wrong with a file that cannot be read at all.
func (d *decoder) unopenable(file string) (f param.Fault, wrong bool) {
	info, err := datasets.Stat(file)
	var at *datasets.LineError
	switch {
	case errors.As(err, &at):
		return param.Fault{Problem: err.Error(), Err: err}, true
	case err != nil:
		return param.Fault{Problem: fmt.Sprintf("%s: %v", file, reason(err)), Err: err}, true
	case info.Size() == 0:
		return param.Fault{Problem: file + " is empty"}, true
	case d.spec.Data.Format == "auto" && formatOf(file) == "":
		return param.Fault{Problem: file + ": no format is known by that ending", Hint: "data.format says it: csv, tsv, svmlight or arff"}, true
	}
	opened, err := os.Open(file)
	if err != nil {
		return param.Fault{Problem: fmt.Sprintf("%s: %v", file, reason(err)), Err: err}, true
	}
	return param.Fault{}, opened.Close() != nil
}

// namedColumn is a column that the spec names at a path.
type namedColumn struct{ path, name string }

func (d *decoder) namedColumns() []namedColumn {
	data := d.spec.Data
	var out []namedColumn
	for _, name := range data.Target {
		out = append(out, namedColumn{"data.target", name})
	}
	for _, c := range []namedColumn{{"data.weight", data.Weight}, {"data.group", data.Group}} {
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

// compare looks whether the test file has the columns of the training file, those apart that are
// no inputs.
func (d *decoder) compare(train, test []string) {
	data := d.spec.Data
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
		d.place("data.test", param.Fault{Problem: fmt.Sprintf("%s: missing column %s, which %s has", data.Test, few(missing), data.Train)})
	}
	if extra != nil {
		d.place("data.test", param.Fault{Problem: fmt.Sprintf("%s: column %s, which %s has not", data.Test, few(extra), data.Train), Hint: "data.drop leaves it out"})
	}
}

// among reports whether a column is there, by name or by number.
func among(names []string, name string) bool {
	if slices.Contains(names, name) {
		return true
	}
	n, err := strconv.Atoi(name)
	return err == nil && n >= -len(names) && n < len(names)
}

// few lists up to a dozen names.
func few(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
