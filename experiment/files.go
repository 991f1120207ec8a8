package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/param"
)

// files looks whether the data can be opened and have the columns that the spec names. It reads
// the heads of the files only.
func (d *decoder) files(ctx context.Context) {
	data := d.spec.Data
	if data.Dataset != "" {
		d.dataset()
		d.kinds(ctx)
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
			d.fault(d.at[c.path], c.path, f)
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
	d.kinds(ctx)
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

// kinds looks whether the steps can take the columns, where it takes no time to know their kinds and
// nothing else is wrong: of built-in data and of small files. A run looks at all others.
func (d *decoder) kinds(ctx context.Context) {
	if len(d.faults) > 0 || !d.steps {
		return
	}
	if data := d.spec.Data; data.Dataset == "" && (data.svm(data.Train) || !isSmall(data.Train)) {
		return
	}
	s := d.spec
	s.Data.Test = ""
	train, _, _, err := s.openAll(ctx)
	if err != nil {
		return // what is wrong with the rows is the run's to say
	}
	var f param.Fault
	if err := s.suitsColumns(train.Schema()); errors.As(err, &f) {
		d.fault(d.stepAt(f.Path), join("pipeline", f.Path), f)
	}
}

// stepAt returns where the step with that path stands, as far as its first part tells.
func (d *decoder) stepAt(path string) *yaml.Node {
	name, _, _ := strings.Cut(path, ".")
	for _, step := range d.list.Content {
		for _, word := range append([]*yaml.Node{step}, step.Content...) {
			if word.Value == name {
				return word
			}
		}
	}
	return d.list
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
	d.fault(d.at["data.dataset"], "data.dataset", f)
}

// head returns the names of a file's columns, nil where there are none to be had.
func (d *decoder) head(ctx context.Context, path, file string) []string {
	if file == "" {
		return nil
	}
	if f, wrong := d.unopenable(file); wrong {
		d.fault(d.at[path], path, f)
		return nil
	}
	if d.spec.Data.svm(file) {
		return nil // it has no names, and reading it takes time
	}
	names, err := d.spec.Data.header(ctx, file)
	if err != nil {
		d.fault(d.at[path], path, param.Fault{Problem: err.Error()})
		return nil
	}
	return names
}

// unopenable says what is wrong with a file that cannot be read at all.
func (d *decoder) unopenable(file string) (f param.Fault, wrong bool) {
	if info, err := os.Stat(file); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return param.Fault{Problem: file + " is a pipe, wanted a file, which can be read again"}, true
	}
	opened, err := os.Open(file)
	if err != nil {
		return param.Fault{Problem: fmt.Sprintf("%s: %v", file, reason(err))}, true
	}
	defer opened.Close()
	info, err := opened.Stat()
	switch {
	case err != nil:
		return param.Fault{Problem: fmt.Sprintf("%s: %v", file, reason(err))}, true
	case info.IsDir():
		return param.Fault{Problem: file + " is a folder, wanted a file"}, true
	case info.Size() == 0 && info.Mode().IsRegular():
		return param.Fault{Problem: file + " is empty"}, true
	case d.spec.Data.Format == "auto" && formatOf(file) == "":
		return param.Fault{Problem: file + ": no format is known by that ending", Hint: "data.format says it: csv, tsv, svmlight or arff"}, true
	}
	return param.Fault{}, false
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
		d.fault(d.at["data.test"], "data.test", param.Fault{Problem: fmt.Sprintf("%s: missing column %s, which %s has", data.Test, few(missing), data.Train)})
	}
	if extra != nil {
		d.fault(d.at["data.test"], "data.test", param.Fault{Problem: fmt.Sprintf("%s: column %s, which %s has not", data.Test, few(extra), data.Train), Hint: "data.drop leaves it out"})
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
