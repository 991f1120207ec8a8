package reader

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// MatchOptions describe how rows are matched with earlier ones.
type MatchOptions struct {
	Schema datasets.Schema
	Cols   int
	Scored bool // whether the target is needed

	Targetless bool // whether rows that are scored may lack the target all the same
	Drop       []string
	Keep       []string
	OnInvalid  func(row int, err error) error // see [datasets.Roles]
}

// OpenMatching opens rows with the columns of earlier ones. Additional columns of training are
// optional, except for the target if it is required; without a target, weights and groups are
// optional.
func (f Files) OpenMatching(ctx context.Context, paths []string, like MatchOptions) (datasets.Source, error) {
	source, err := f.openMatching(ctx, paths, like)
	if err == nil {
		return source, nil
	}
	if delimiter := f.SuggestDelimiter(paths); delimiter != "" {
		err = fmt.Errorf("%w; the fields seem to be separated by %q: use --delimiter %[2]q (Options.Delimiter in Go)", err,
			delimiter)
	}
	return nil, err
}

func (f Files) openMatching(ctx context.Context, paths []string, like MatchOptions) (datasets.Source, error) {
	f, err := f.headerOrColumns(ctx, paths, like.Schema)
	if err != nil {
		return nil, err
	}
	if !like.Scored || like.Targetless {
		if f, err = f.withoutTargets(ctx, paths, like.Schema); err != nil {
			return nil, err
		}
	}
	names, err := f.Header(ctx, paths)
	if err != nil {
		return nil, err
	}
	if f.IsSVMLight(paths) && (len(like.Drop) > 0 || len(like.Keep) > 0) {
		return nil, fmt.Errorf("%s: columns of an svmlight file have no names by which to drop or keep one", Paths(paths))
	}
	lacks := func(c datasets.Column) bool {
		return !slices.Contains(names, c.Name) || slices.Contains(like.Drop, c.Name)
	}
	if like.Targetless && like.Scored && !f.IsSVMLight(paths) && slices.ContainsFunc(like.Schema.Targets, lacks) {
		like.Schema.Targets = nil
	}
	if f.SVMLight.Features == 0 {
		f.SVMLight.Features = like.Cols
	}
	roles := f.Roles(nil)
	roles.Task, roles.Kinds, roles.Formats, roles.Target = datasets.AnyTask, nil, nil, nil
	roles.Schema = &like.Schema
	roles.Drop, roles.Passthrough, roles.Unlabeled = slices.Clone(f.Drop), like.Keep, !like.Scored
	for _, role := range []*string{&roles.Weight, &roles.Group} {
		if !like.Scored {
			roles.Drop = append(roles.Drop, *role)
			*role = ""
		} else if !slices.Contains(names, *role) {
			*role = ""
		}
	}
	if format, _ := f.FormatOf(paths); format == "jsonl" {
		if names, err = f.passthroughColumns(names, &like); err != nil {
			return nil, fmt.Errorf("%s: %w", Paths(paths), err)
		}
	}
	unknown := func(name string) bool {
		return name == "" || !slices.Contains(names, name) || slices.Contains(like.Drop, name)
	}
	roles.Drop = append(slices.DeleteFunc(roles.Drop, unknown), like.Drop...)
	roles.DropMissingTarget = roles.DropMissingTarget && like.Scored
	roles.OnInvalid = like.OnInvalid
	switch {
	case f.Labels.Delimiter != "":
		if like.Scored || slices.ContainsFunc(f.Target, func(name string) bool { return !unknown(name) }) {
			roles.Target = f.Target
		}
	case like.Scored:
		for _, t := range like.Schema.Targets {
			roles.Target = append(roles.Target, t.Name)
		}
	}
	source, err := f.Open(ctx, paths, roles)
	if err != nil {
		return nil, err
	}
	if f.IsSVMLight(paths) && len(like.Schema.Targets) == 0 {
		source = rowsource.DropTargets(source) // the labels are not needed
	}
	if _, cols := source.Dims(); cols != like.Cols {
		return nil, fmt.Errorf("%[1]s: number of columns must be %[3]d, got %[2]d", Paths(paths), cols, like.Cols)
	}
	return source, nil
}

// passthroughColumns returns the columns that JSON rows may have: those of the first row or, if the
// rows can be read repeatedly, of all rows. Further columns may follow; a missing target is omitted
// if it is optional.
func (f Files) passthroughColumns(names []string, like *MatchOptions) ([]string, error) {
	_, once := f.FS.(*Stream)
	for role, list := range map[string]*[]string{"drop": &like.Drop, "keep": &like.Keep} {
		*list = slices.Clone(*list)
		for i, name := range *list {
			switch {
			case slices.Contains(names, name):
			case MatchName(names, name):
				n, _ := strconv.Atoi(name)
				(*list)[i] = names[(n+len(names))%len(names)]
			case !once:
				return nil, fmt.Errorf("%s: no column %q; there are %s", role, name, suggest.List(names))
			}
		}
	}
	for _, c := range like.Schema.Targets {
		if !like.Scored && !slices.Contains(names, c.Name) && !slices.Contains(like.Drop, c.Name) {
			like.Drop = append(like.Drop, c.Name)
		}
	}
	return slices.Concat(names, f.Drop, []string{f.Weight, f.Group}), nil
}

// headerOrColumns returns the options for a file with a header, where Columns replaced that of the training file:
// without Columns if the header has the names of the inputs.
func (f Files) headerOrColumns(ctx context.Context, paths []string, schema datasets.Schema) (Files, error) {
	format, err := f.FormatOf(paths)
	if err != nil || format != "csv" && format != "tsv" || len(f.CSV.Columns) == 0 ||
		f.CSVOptions(format, datasets.Roles{}).NoHeader {
		return f, err
	}
	bare := f
	bare.CSV.Columns = nil
	names, err := bare.Header(ctx, paths)
	has := func(c datasets.Column) bool { return slices.Contains(names, c.Name) }
	if err == nil && !slices.ContainsFunc(schema.Columns, func(c datasets.Column) bool { return !has(c) }) {
		return bare, nil
	}
	return f, ctxerr.Check(ctx)
}

// SuggestDelimiter returns the delimiter that divides the lines of a file into several fields where its own does not,
// "" for none.
func (f Files) SuggestDelimiter(paths []string) string {
	format, err := f.FormatOf(paths)
	if err != nil || format != "csv" && format != "tsv" {
		return ""
	}
	list, err := f.List(paths)
	if err != nil {
		return ""
	}
	lines, _, typed, err := f.firstLines(list[0])
	used := f.CSVOptions(format, datasets.Roles{}).Delimiter
	if used == "" {
		used = ","
	}
	valid := len(used) == 1 || used == "tab" || used == "space"
	if err != nil || typed != "" || len(lines) == 0 || !valid || divides(lines, used) {
		return ""
	}
	if found := guessDelimiter(lines, used); found != used {
		return found
	}
	return ""
}

// withoutTargets returns the options for a file whose columns are named by its number, or by Columns, and that may lack
// the target columns: the other columns then keep their names of the training file.
func (f Files) withoutTargets(ctx context.Context, paths []string, schema datasets.Schema) (Files, error) {
	format, err := f.FormatOf(paths)
	if err != nil || format != "csv" && format != "tsv" || len(f.CSV.Columns) == 0 &&
		!f.CSVOptions(format, datasets.Roles{}).NoHeader {
		return f, err
	}
	all := f.CSV.Columns
	if len(all) == 0 {
		n := len(schema.Columns) + len(schema.Targets) + len(f.Drop)
		for _, name := range []string{f.Weight, f.Group} {
			if name != "" {
				n++
			}
		}
		for j := range n {
			all = append(all, "x"+strconv.Itoa(j))
		}
	}
	bare := f
	bare.CSV.Columns, bare.CSV.Header = nil, Header{}
	names, err := bare.Header(ctx, paths)
	if err != nil {
		return f, err
	}
	isTarget := func(name string) bool {
		return slices.ContainsFunc(schema.Targets, func(c datasets.Column) bool { return c.Name == name })
	}
	if others := slices.DeleteFunc(slices.Clone(all), isTarget); len(names) == len(others) && len(others) < len(all) {
		f.CSV.Columns = others
	}
	return f, nil
}
