package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// Columns is the spec of a step that treats groups of columns each in its own way and puts the
// results side by side, in the order of the groups and then, if they pass, the columns of no group.
// Columns may be in several groups. Dense and sparse results are joined as [Union] joins them.
type Columns struct {
	Groups []Group
	Rest   string // what becomes of the columns of no group: "drop" or "pass"
}

// Group is columns and what is done with them.
type Group struct {
	Name string // in paths and messages; "" stands for a kind that Select names, or "group1" …
	// Select says which columns, by any of: a column's name; numeric or categorical, for all
	// columns of that kind; a pattern with *, ? and [a-z] for the whole name; or a regular
	// expression between slashes, /^cap/, for a part of it. A column's name comes first.
	Select []string
	Steps  []Step // one after the other; none passes the columns on
}

// NewColumns returns the spec with the columns of no group dropped.
func NewColumns(groups ...Group) Columns { return Columns{Groups: groups, Rest: "drop"} }

// Params declares what becomes of the rest, and the parameters of the steps of each group below the
// group's name.
func (c *Columns) Params(l *param.List) {
	l.Choice(&c.Rest, "rest", "what becomes of the columns of no group", "drop", "pass")
	c.Groups = slices.Clone(c.Groups)
	for i := range c.Groups {
		l.Child(c.Groups[i].path(i), &c.Groups[i])
	}
}

// Params declares the parameters of the steps.
func (g *Group) Params(l *param.List) {
	g.Steps = slices.Clone(g.Steps)
	declareSteps(l, g.Steps)
}

// path is the name of group number i in parameter paths.
func (g Group) path(i int) string {
	switch {
	case g.Name != "":
		return g.Name
	case len(g.Select) == 1 && isKind(g.Select[0]):
		return g.Select[0]
	}
	return fmt.Sprintf("group%d", i+1)
}

func isKind(term string) bool {
	return term == datasets.Numeric.String() || term == datasets.Categorical.String()
}

// Fit finds the columns of each group by the schema of data and fits the group's steps to them.
func (c Columns) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	r, err := rowsOf(data, DefaultMemory)
	if err != nil {
		return nil, here(err)
	}
	return c.fit(ctx, r, data.Schema, data.Cols())
}

// FitSource is Fit with memory that does not grow with the number of rows, as far as every step is
// a [transformer.BlockFitter].
func (c Columns) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	r, err := rowsFrom(ctx, data, DefaultMemory)
	if err != nil {
		return nil, here(err)
	}
	_, cols := data.Dims()
	return c.fit(ctx, r, data.Schema(), cols)
}

func (c Columns) fit(ctx context.Context, r rows, schema datasets.Schema, cols int) (transformer.Transformer, error) {
	parts, specs, err := c.split(schema, cols)
	if err != nil {
		return nil, err
	}
	a, err := fitAbreast(ctx, "group", r, cols, parts, specs)
	if err != nil {
		return nil, err
	}
	fitted := &FittedColumns{}
	fitted.cols, fitted.parts, fitted.sparse = a.cols, a.parts, a.sparse
	return fitted, nil
}

// split returns the groups, not fitted yet, and the specs of their steps.
func (c Columns) split(schema datasets.Schema, cols int) ([]*part, []transformer.Fitter, error) {
	if err := c.check(); err != nil {
		return nil, nil, here(err)
	}
	var parts []*part
	var specs []transformer.Fitter
	taken := make([]bool, cols)
	for i, g := range c.Groups {
		index, err := g.find(schema, cols)
		if err != nil {
			return nil, nil, at("group", g.path(i), err)
		}
		for _, j := range index {
			taken[j] = true
		}
		parts = append(parts, &part{fittedStep: fittedStep{name: g.path(i)}, index: index, scale: 1})
		specs = append(specs, Chain{Steps: g.Steps})
	}
	if rest := untaken(taken); c.Rest == "pass" && len(rest) > 0 {
		parts = append(parts, &part{fittedStep: fittedStep{name: "rest"}, index: rest, scale: 1})
		specs = append(specs, Chain{})
	}
	if len(parts) == 0 {
		return nil, nil, here(errors.New("no columns are taken and the rest is dropped"))
	}
	return parts, specs, nil
}

func (c Columns) check() error {
	names := []string{}
	for i, g := range c.Groups {
		names = append(names, g.path(i))
		if err := checkSteps("step", g.Steps); err != nil {
			return at("group", g.path(i), err)
		}
	}
	if slices.Contains(names, "rest") {
		return errors.New("no group can be called rest")
	}
	if err := checkNames("group", names); err != nil {
		return err
	}
	return param.CheckFit(&c)
}

func untaken(taken []bool) []int {
	var rest []int
	for j, t := range taken {
		if !t {
			rest = append(rest, j)
		}
	}
	return rest
}

// find returns the numbers of the group's columns, each once, term by term.
func (g Group) find(schema datasets.Schema, cols int) ([]int, error) {
	if len(g.Select) == 0 {
		return nil, errors.New("it selects nothing: wanted names, kinds or patterns of columns")
	}
	var index []int
	for _, term := range g.Select {
		found, err := matching(term, schema, cols)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, noColumn(term, schema, cols)
		}
		for _, j := range found {
			if !slices.Contains(index, j) {
				index = append(index, j)
			}
		}
	}
	return index, nil
}

// matching returns the columns that term selects.
func matching(term string, schema datasets.Schema, cols int) ([]int, error) {
	accept, err := selector(term)
	if err != nil {
		return nil, err
	}
	var found []int
	for j := range cols {
		if schema.Name(j) == term {
			return []int{j}, nil
		}
		if accept(schema.Name(j), schema.Column(j).Kind) {
			found = append(found, j)
		}
	}
	return found, nil
}

// selector returns what term, not being a column's name, accepts.
func selector(term string) (accept func(name string, kind datasets.Kind) bool, err error) {
	switch {
	case !looksOpen(term):
		return func(string, datasets.Kind) bool { return false }, nil
	case isKind(term):
		return func(_ string, kind datasets.Kind) bool { return kind.String() == term }, nil
	case isRegexp(term):
		re, err := regexp.Compile(term[1 : len(term)-1])
		if err != nil {
			return nil, fmt.Errorf("select %s: %w", term, err)
		}
		return func(name string, _ datasets.Kind) bool { return re.MatchString(name) }, nil
	}
	if _, err := path.Match(term, ""); err != nil {
		return nil, fmt.Errorf("select %s: %w", term, err)
	}
	return func(name string, _ datasets.Kind) bool { ok, _ := path.Match(term, name); return ok }, nil
}

// looksOpen says whether term, unless it is a column's name, may stand for several columns.
func looksOpen(term string) bool {
	return isKind(term) || isRegexp(term) || strings.ContainsAny(term, "*?[")
}

func isRegexp(term string) bool {
	return len(term) > 1 && strings.HasPrefix(term, "/") && strings.HasSuffix(term, "/")
}

// noColumn says that term selects nothing and what there is to select.
func noColumn(term string, schema datasets.Schema, cols int) error {
	const most = 30
	names := make([]string, cols)
	for j := range names {
		names[j] = schema.Name(j)
	}
	list := strings.Join(names[:min(cols, most)], ", ")
	if cols > most {
		list += fmt.Sprintf(" and %d more", cols-most)
	}
	if isKind(term) {
		return fmt.Errorf("no column is %s; the columns are %s", term, list)
	}
	hint := ""
	if near := param.Nearest(term, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fmt.Errorf("no column matches %q%s; the columns are %s", term, hint, list)
}

// FitsWithoutRows reports whether that holds for the steps of every group.
func (c Columns) FitsWithoutRows() bool {
	return !slices.ContainsFunc(c.Groups, func(g Group) bool { return !stepsFitWithoutRows(g.Steps) })
}

// FittedColumns is fitted groups of columns.
type FittedColumns struct{ abreast }

// Len returns the number of groups, the rest included where it passes.
func (c *FittedColumns) Len() int { return len(c.parts) }

// Group returns the name of group i, the numbers of its columns and its fitted steps. The columns
// of no group are the last group, called rest.
func (c *FittedColumns) Group(i int) (name string, columns []int, fitted transformer.Transformer) {
	return c.parts[i].name, slices.Clone(c.parts[i].index), c.parts[i].fit
}

// State keeps every group under its name.
func (c *FittedColumns) State(s *model.State) { c.state(s) }

var (
	_ transformer.DenseTransformer = (*FittedColumns)(nil)
	_ transformer.Describer        = (*FittedColumns)(nil)
	_ model.Stateful               = (*FittedColumns)(nil)
)
