package yaml

import (
	"fmt"
	"slices"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/yamlnode"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// steps reads transformers. Where is the path of the list in the document, within that of the steps
// in the pipeline.
func (d *decoder) steps(list []*tree.Node, where, within, what string) []pipeline.Step {
	var out []pipeline.Step
	seen := map[string]bool{}
	for i, node := range list {
		h, ok := d.head(node, fmt.Sprintf("%s[%d]", where, i))
		if !ok {
			continue
		}
		if seen[h.name] {
			d.twice(h, where, what)
		}
		seen[h.name] = true
		spec := d.spec(h, where, within)
		if f, ok := spec.(transformer.Fitter); ok {
			out = append(out, pipeline.Step{Name: h.given(), Fitter: f})
			continue
		}
		d.problem(h.node, yamlnode.Join(where, h.name), param.FieldError{
			Problem: "an estimator can only be the last step of a pipeline",
			Hint:    "steps are " + strings.Join(names(isTransformer), ", ")})
	}
	return out
}

// spec reads the parameters of a step, which is in the list at where in the document, and in the
// part at within of the pipeline.
func (d *decoder) spec(h head, where, within string) any {
	return d.specAt(h, yamlnode.Join(where, h.name), yamlnode.Join(within, h.name))
}

// specAt is spec where the step's own place is given.
func (d *decoder) specAt(h head, where, within string) any {
	spec := h.entry.New()
	if c, ok := spec.(pipeline.Composite); ok {
		return d.composite(c, h.node, h.params, where, within)
	}
	given := map[string]*tree.Node{}
	switch {
	case yamlnode.IsNull(h.params):
	case h.params.Kind != tree.MappingNode:
		d.problem(h.params, where, param.FieldError{Value: yamlnode.Plain(h.params),
			Constraint: "parameters: " + strings.Join(d.known(spec), ", ")})
	default:
		for _, p := range d.pairs(h.params, where) {
			given[p.Key.Value] = p.Value
			if _, isChild := childOf(spec, p.Key.Value); !isChild {
				spec = d.set(spec, p, where)
			}
		}
	}
	errs := len(d.errs)
	if spec = d.within(spec, h.node, given, where, within); len(d.errs) > errs {
		return spec // of missing values already reported
	}
	return d.finish(spec, h.node, given, where, within)
}

// composite reads the children of a step and its own parameters. key is the name of the step in the
// document, node its value.
func (d *decoder) composite(c pipeline.Composite, key, node *tree.Node, where, within string) any {
	list, own := d.body(c, key, node, where)
	spec := any(c.WithChildren(d.children(c.Holds(), list, where, within)))
	given := map[string]*tree.Node{}
	for _, p := range own {
		given[p.Key.Value] = p.Value
		if known := d.known(spec); !slices.Contains(known, p.Key.Value) {
			d.unknown(p.Key, yamlnode.Join(where, p.Key.Value), "parameter", append(known, c.Holds().Key))
			continue
		}
		spec = d.set(spec, p, where)
	}
	spec = d.finish(spec, key, given, where, within)
	if whole, ok := spec.(pipeline.Composite); ok && len(d.errs) == 0 {
		if err := pipeline.CheckChildren(whole); err != nil {
			d.problem(key, where, param.FieldError{Problem: err.Error()})
		}
	}
	return spec
}

// children reads a list of children, which may be nil.
func (d *decoder) children(h pipeline.ChildrenSpec, list *tree.Node, where, within string) (out []pipeline.Step) {
	switch {
	case list == nil:
		return nil
	case len(list.Content) == 0 && h.None == "":
		d.problem(list, where, param.FieldError{Value: yamlnode.Plain(list), Constraint: "at least one " + h.What})
		return nil
	case h.Kind == nil:
		return d.steps(list.Content, where, within, h.What)
	}
	for i, node := range list.Content {
		child, ok := d.member(h, node, i, where, within)
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(o pipeline.Step) bool { return o.Name != "" && o.Name == child.Name }) {
			d.problem(node, yamlnode.Join(where, child.Name), param.FieldError{Problem: fmt.Sprintf("two %ss are called %s",
				h.What, child.Name)})
		}
		out = append(out, child)
	}
	return out
}

// member reads the i-th child, which is not a registered step.
func (d *decoder) member(h pipeline.ChildrenSpec, node *tree.Node, i int, where, within string) (child pipeline.Step,
	ok bool) {
	path := fmt.Sprintf("%s[%d]", where, i)
	spec := any(h.Kind)
	inside, holds := spec.(pipeline.Composite)
	known := d.known(spec)
	if holds {
		known = append(known, inside.Holds().Key)
	}
	if node.Kind != tree.MappingNode {
		d.problem(node, path, param.FieldError{Value: yamlnode.Plain(node), Constraint: "a " + h.What + ": " + shape(spec)})
		return child, false
	}
	var list *yamlnode.Pair
	given := map[string]*tree.Node{}
	pairs := d.pairs(node, path)
	for k, p := range pairs {
		switch name := p.Key.Value; {
		case holds && name == inside.Holds().Key:
			list = &pairs[k]
		case slices.Contains(known, name):
			given[name] = p.Value
			spec = d.set(spec, p, path)
		case name == "name":
			child.Name = d.label(&pairs[k], path)
			if slices.Contains(h.Taken, child.Name) {
				d.problem(p.Value, yamlnode.Join(path, "name"), param.FieldError{Problem: fmt.Sprintf("no %s can be called %s",
					h.What, child.Name)})
			}
		default:
			d.unknown(p.Key, yamlnode.Join(path, name), "key of a "+h.What, append(known, "name"))
		}
	}
	child.Fitter = spec.(transformer.Fitter)
	name := pipeline.ChildName(child, i)
	spec = d.finish(spec, node, given, path, yamlnode.Join(within, name))
	if holds && list == nil {
		d.problem(node, yamlnode.Join(path, inside.Holds().Key), missing(inside.Holds()))
	} else if holds {
		spec = d.inside(spec.(pipeline.Composite), list, yamlnode.Join(where, name), yamlnode.Join(within, name))
	}
	child.Fitter = spec.(transformer.Fitter)
	return child, true
}

// inside reads the children of a child.
func (d *decoder) inside(c pipeline.Composite, list *yamlnode.Pair, where, within string) any {
	if list.Value.Kind != tree.SequenceNode {
		d.problem(list.Value, where, param.FieldError{Value: yamlnode.Plain(list.Value),
			Constraint: "a list of " + c.Holds().What + "s"})
		return c
	}
	return c.WithChildren(d.children(c.Holds(), list.Value, where, within))
}
