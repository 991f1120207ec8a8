package yaml

import (
	"fmt"
	"slices"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// steps decodes a list of transformers. docPath is the path of the list in the document, within the
// path in the pipeline.
func (d *decoder) steps(list []*tree.Node, docPath, specPath, what string) []pipeline.Step {
	var out []pipeline.Step
	seen := map[string]bool{}
	for i, node := range list {
		h, ok := d.head(node, fmt.Sprintf("%s[%d]", docPath, i))
		if !ok {
			continue
		}
		if seen[h.name] {
			d.duplicateName(h, docPath, what)
		}
		seen[h.name] = true
		spec := d.spec(h, docPath, specPath)
		if f, ok := spec.(transformer.Fitter); ok {
			out = append(out, pipeline.Step{Name: h.given(), Fitter: f})
			continue
		}
		d.problem(h.node, yamlnode.Join(docPath, h.name), param.FieldError{
			Problem: "an estimator can only be the last step of a pipeline",
			Hint:    "steps are " + strings.Join(names(isTransformer), ", ")})
	}
	return out
}

// spec decodes the parameters of a step in the list at docPath in the document and at within in the
// pipeline.
func (d *decoder) spec(h head, docPath, specPath string) any {
	return d.specAt(h, yamlnode.Join(docPath, h.name), yamlnode.Join(specPath, h.name))
}

// specAt is spec with the paths of the step itself.
func (d *decoder) specAt(h head, docPath, specPath string) any {
	spec := h.entry.New()
	if c, ok := spec.(pipeline.Composite); ok {
		return d.composite(c, h.node, h.params, docPath, specPath)
	}
	given := map[string]*tree.Node{}
	switch {
	case yamlnode.IsNull(h.params):
	case h.params.Kind != tree.MappingNode:
		d.problem(h.params, docPath, param.FieldError{Value: yamlnode.Plain(h.params),
			Constraint: "parameters: " + strings.Join(d.known(spec), ", ")})
	default:
		for _, p := range d.pairs(h.params, docPath) {
			given[p.Key.Value] = p.Value
			if _, isChild := childOf(spec, p.Key.Value); !isChild {
				spec = d.set(spec, p, docPath)
			}
		}
	}
	errs := len(d.errs)
	if spec = d.innerSpecs(spec, h.node, given, docPath, specPath); len(d.errs) > errs {
		return spec // missing values are already reported
	}
	return d.finish(spec, h.node, given, docPath, specPath)
}

// composite decodes the children of a step and its own parameters. key is the step's name in the
// document, node its value.
func (d *decoder) composite(c pipeline.Composite, key, node *tree.Node, docPath, specPath string) any {
	list, own := d.body(c, key, node, docPath)
	spec := any(c.WithChildren(d.children(c.Holds(), list, docPath, specPath)))
	given := map[string]*tree.Node{}
	for _, p := range own {
		given[p.Key.Value] = p.Value
		if known := d.known(spec); !slices.Contains(known, p.Key.Value) {
			d.unknown(p.Key, yamlnode.Join(docPath, p.Key.Value), "parameter", append(known, c.Holds().Key))
			continue
		}
		spec = d.set(spec, p, docPath)
	}
	spec = d.finish(spec, key, given, docPath, specPath)
	if whole, ok := spec.(pipeline.Composite); ok && len(d.errs) == 0 {
		if err := whole.Holds().Check(whole.Children()); err != nil {
			d.problem(key, docPath, param.FieldError{Problem: err.Error()})
		}
	}
	return spec
}

// children decodes a list of children; list may be nil.
func (d *decoder) children(h pipeline.ChildrenSpec, list *tree.Node, docPath, specPath string) (out []pipeline.Step) {
	switch {
	case list == nil:
		return nil
	case len(list.Content) == 0 && h.None == "":
		d.problem(list, docPath, param.FieldError{Value: yamlnode.Plain(list), Constraint: "at least one " + h.What})
		return nil
	case h.Kind == nil:
		return d.steps(list.Content, docPath, specPath, h.What)
	}
	for i, node := range list.Content {
		child, ok := d.member(h, node, i, docPath, specPath)
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(o pipeline.Step) bool { return o.Name != "" && o.Name == child.Name }) {
			d.problem(node, yamlnode.Join(docPath, child.Name), param.FieldError{Problem: fmt.Sprintf("two %ss are called %s",
				h.What, child.Name)})
		}
		out = append(out, child)
	}
	return out
}

// member decodes the child at index i, a [pipeline.Member].
func (d *decoder) member(h pipeline.ChildrenSpec, node *tree.Node, i int, docPath, specPath string) (
	child pipeline.Step, ok bool) {
	path := fmt.Sprintf("%s[%d]", docPath, i)
	spec := any(h.Kind)
	inside, holds := spec.(pipeline.Composite)
	known := d.known(spec)
	if holds {
		known = append(known, inside.Holds().Key)
	}
	if node.Kind != tree.MappingNode {
		d.problem(node, path, param.FieldError{Value: yamlnode.Plain(node),
			Constraint: "a " + h.What + ": " + template(spec)})
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
	name := child.NameAt(i)
	spec = d.finish(spec, node, given, path, yamlnode.Join(specPath, name))
	if holds && list == nil {
		d.problem(node, yamlnode.Join(path, inside.Holds().Key), missing(inside.Holds()))
	} else if holds {
		spec = d.inside(spec.(pipeline.Composite), list, yamlnode.Join(docPath, name), yamlnode.Join(specPath, name))
	}
	child.Fitter = spec.(transformer.Fitter)
	return child, true
}

// inside decodes the children of a member.
func (d *decoder) inside(c pipeline.Composite, list *yamlnode.Pair, docPath, specPath string) any {
	if list.Value.Kind != tree.SequenceNode {
		d.problem(list.Value, docPath, param.FieldError{Value: yamlnode.Plain(list.Value),
			Constraint: "a list of " + c.Holds().What + "s"})
		return c
	}
	return c.WithChildren(d.children(c.Holds(), list.Value, docPath, specPath))
}
