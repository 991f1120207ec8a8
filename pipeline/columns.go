package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Columns is the spec of a step that processes groups of columns separately and concatenates the
// results: the groups in order, then, if Remainder is "passthrough", the columns of no group. A
// column may be in several groups. Dense and sparse results are joined as in [Union].
// Use [NewColumns]: the zero value is invalid.
type Columns struct {
	Groups    []Group
	Remainder string // treatment of the columns of no group: "drop" or "passthrough"
}

// Group is a set of columns and the steps that are applied to them. Select must be set: the zero value is invalid.
type Group struct {
	Name string // in paths and messages; "" for the kind in Select, or "group1", …
	// Select contains column names; numeric or categorical for all columns of that kind; patterns
	// with *, ? and [a-z] for whole names; or regular expressions between slashes, /^cap/, for
	// parts of names. Column names take precedence.
	Select []string
	Steps  []Step // applied in order; none passes the columns through
}

// NewColumns returns the spec that drops the columns of no group.
func NewColumns(groups ...Group) Columns { return Columns{Groups: groups, Remainder: "drop"} }

// Params declares remainder, and the parameters of the groups, prefixed by the name of the group.
func (c *Columns) Params(l *param.List) {
	l.Choice(&c.Remainder, "remainder",
		"treatment of columns in no group: dropped, or passed through unchanged", "drop", "passthrough")
	c.Groups = slices.Clone(c.Groups)
	for i := range c.Groups {
		g := &c.Groups[i]
		g.Steps = slices.Clone(g.Steps)
		for k := range g.Steps {
			l.Child(g.NameAt(i)+"."+g.Steps[k].Path(), &g.Steps[k].Fitter)
		}
	}
}

// Holds describes the list of groups.
func (Columns) Holds() ChildrenSpec {
	return ChildrenSpec{Key: "groups", What: "group", Doc: "groups of columns; a column may be in several",
		Taken: []string{"remainder"}, Parallel: true,
		Kind: Group{}, Named: "the kind that it selects, or group1, group2, …"}
}

// Children returns the groups.
func (c Columns) Children() []Step {
	children := make([]Step, len(c.Groups))
	for i, g := range c.Groups {
		children[i] = Step{Name: g.Name, Fitter: g}
	}
	return children
}

// WithChildren returns the step with other groups.
func (c Columns) WithChildren(children []Step) transformer.Fitter {
	c.Groups = nil
	for _, child := range children {
		g, ok := child.Fitter.(Group)
		if !ok { // an empty group, which Fit rejects
			g = Group{Steps: []Step{child}}
		}
		g.Name = child.Name
		c.Groups = append(c.Groups, g)
	}
	return c
}

// Route infers the output of every group and of the remaining columns.
func (c Columns) Route(in datasets.InferredSchema, child func(i int,
	in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error) {
	if !in.Named {
		return datasets.InferredSchema{Unknown: true}, nil
	}
	taken := make([]bool, len(in.Columns))
	var parts []datasets.InferredSchema
	for i, g := range c.Groups {
		index, _ := g.inferIndex(in) // the group reports its own errors
		for _, j := range index {
			taken[j] = true
		}
		parts = append(parts, encodedBy(g.NameAt(i), child(i, in)))
	}
	if c.Remainder == "passthrough" {
		for _, j := range unselected(taken) {
			parts = append(parts, datasets.InferredSchema{Columns: in.Columns[j : j+1]})
		}
	}
	return concatColumns(parts), nil
}

// Params declares select, and the parameters of the steps.
func (g *Group) Params(l *param.List) {
	l.Value(&selection{&g.Select}, "select",
		"columns by name, by kind (numeric, categorical or text), by pattern with * and ?, or by regular expression "+
			"between slashes")
	g.Steps = slices.Clone(g.Steps)
	DeclareSteps(l, g.Steps)
}

// NameAt returns the name of group i in parameter paths.
func (g Group) NameAt(i int) string {
	switch {
	case g.Name != "":
		return g.Name
	case len(g.Select) == 1 && isKind(g.Select[0]):
		return g.Select[0]
	}
	return fmt.Sprintf("group%d", i+1)
}

// Holds describes the list of steps.
func (Group) Holds() ChildrenSpec {
	return ChildrenSpec{Key: "steps", What: "step",
		Doc:  "steps for the columns; an empty list passes them through",
		None: "passes the columns on as they are"}
}

// Children returns the steps.
func (g Group) Children() []Step { return g.Steps }

// WithChildren returns the group with other steps.
func (g Group) WithChildren(steps []Step) transformer.Fitter {
	g.Select, g.Steps = slices.Clone(g.Select), steps
	return g
}

// Route infers the output of the steps for the columns that the group selects.
func (g Group) Route(in datasets.InferredSchema, child func(i int,
	in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error) {
	index, err := g.inferIndex(in)
	if err != nil {
		return datasets.InferredSchema{}, err
	}
	own := datasets.InferredSchema{Named: true}
	for _, j := range index {
		own.Columns = append(own.Columns, in.Columns[j])
	}
	return routeChain(g.Steps, own, child), nil
}

// inferIndex returns the indices of the group's columns.
func (g Group) inferIndex(in datasets.InferredSchema) ([]int, error) {
	var schema datasets.Schema
	for _, c := range in.Columns {
		schema.Columns = append(schema.Columns, c.Column)
	}
	return g.find(schema, len(in.Columns))
}

// Fit fits a [Columns] step with this group only.
func (g Group) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return NewColumns(g).Fit(ctx, data)
}

// Fit selects the columns of each group by the schema of data and fits the group's steps to them.
func (c Columns) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	r, err := rows.Of(data, defaultMemory)
	if err != nil {
		return nil, place.Here(err)
	}
	return c.fit(ctx, r, data.Schema, data.Cols())
}

// FitSource is Fit over a source. Its memory does not grow with the number of rows if every step is
// a [transformer.BlockFitter].
func (c Columns) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	r, err := rows.From(ctx, data, defaultMemory)
	if err != nil {
		return nil, place.Here(err)
	}
	_, cols := data.Dims()
	return c.fit(ctx, r, data.Schema(), cols)
}

func (c Columns) fit(ctx context.Context, r rows.Rows, schema datasets.Schema, cols int) (transformer.Transformer,
	error) {
	parts, specs, err := c.split(schema, cols)
	if err != nil {
		return nil, err
	}
	a, err := fitParts(ctx, "group", r, cols, parts, specs)
	if err != nil {
		return nil, err
	}
	return columnsOf(a), nil
}

// split returns the groups as unfitted parts, and the specs of their steps.
func (c Columns) split(schema datasets.Schema, cols int) ([]*part, []transformer.Fitter, error) {
	if err := c.check(); err != nil {
		return nil, nil, place.Here(err)
	}
	var parts []*part
	var specs []transformer.Fitter
	selected := make([]bool, cols)
	for i, g := range c.Groups {
		index, err := g.find(schema, cols)
		if err != nil {
			return nil, nil, place.At("group", g.NameAt(i), err)
		}
		for _, j := range index {
			selected[j] = true
		}
		parts = append(parts, &part{Step: rows.Step{Name: g.NameAt(i)}, index: index, scale: 1})
		specs = append(specs, Chain{Steps: g.Steps})
	}
	if rest := unselected(selected); c.Remainder == "passthrough" && len(rest) > 0 {
		parts = append(parts, &part{Step: rows.Step{Name: "remainder"}, index: rest, scale: 1})
		specs = append(specs, Chain{})
	}
	if len(parts) == 0 {
		return nil, nil, place.Here(errors.New("no columns are taken and the rest is dropped"))
	}
	return parts, specs, nil
}

func (c Columns) check() error {
	if err := c.Holds().Check(c.Children()); err != nil {
		return err
	}
	return specs.CheckFit(&c)
}

// Tags returns whether the steps of every group are data-independent.
func (c Columns) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: !slices.ContainsFunc(c.Groups,
		func(g Group) bool { return !rows.FitWithoutRows(named(g.Steps)) })}
}

// fittedColumns is a fitted [Columns].
type fittedColumns struct{ concatenation }

func columnsOf(c *concatenation) *fittedColumns {
	return &fittedColumns{concatenation{cols: c.cols, parts: c.parts, sparse: c.sparse}}
}

// Training returns the map of training rows, or nil if every part maps them like other rows.
func (c *fittedColumns) Training(first int) transformer.Transformer {
	if training := c.training(first); training != nil {
		return columnsOf(training)
	}
	return nil
}

// Inference returns the map without the data that only Training requires.
func (c *fittedColumns) Inference() transformer.Transformer { return columnsOf(c.inference()) }

// Len returns the number of groups, including the remainder if it is passed through.
func (c *fittedColumns) Len() int { return len(c.parts) }

// Group returns the name of group i, the indices of its columns, and its fitted steps. Columns of
// no group form the last group, named remainder.
func (c *fittedColumns) Group(i int) (name string, columns []int, fitted transformer.Transformer) {
	return c.parts[i].Name, slices.Clone(c.parts[i].index), c.parts[i].Fitted
}

// State serializes every group under its name.
func (c *fittedColumns) State(s *model.State) { c.state(s) }

// find returns the distinct indices of the group's columns, in the order of the terms.
func (g Group) find(schema datasets.Schema, cols int) ([]int, error) {
	if len(g.Select) == 0 {
		return nil, errors.New("select must have names, kinds or patterns of columns, got none")
	}
	var index []int
	for _, term := range g.Select {
		matches, err := matching(term, schema, cols)
		if err != nil {
			return nil, err
		}
		if len(matches) == 0 {
			return nil, noColumn(term, schema, cols)
		}
		for _, j := range matches {
			if !slices.Contains(index, j) {
				index = append(index, j)
			}
		}
	}
	return index, nil
}
