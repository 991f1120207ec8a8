package yaml

import (
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// body splits the value of a step with children into the list of children and its own parameters.
// The value is a list, or a mapping that contains the list under its key.
func (d *decoder) body(c pipeline.Composite, key, node *tree.Node, docPath string) (list *tree.Node,
	own []yamlnode.Pair) {
	h, bare := c.Holds(), len(d.known(c)) == 0
	if node != nil && node.Kind == tree.SequenceNode {
		return node, nil
	}
	if bare || node == nil || node.Kind != tree.MappingNode {
		f := param.FieldError{Value: yamlnode.Plain(node), Constraint: "a list, or a mapping with " + h.Key}
		if bare {
			f.Constraint = "a list of " + h.What + "s"
		}
		if node == nil {
			node = key
			if bare {
				f.Value = yamlnode.Plain(key)
			}
		}
		d.problem(node, docPath, f)
		return nil, nil
	}
	for _, p := range d.pairs(node, docPath) {
		if p.Key.Value == h.Key {
			list = p.Value
		} else {
			own = append(own, p)
		}
	}
	if list == nil {
		d.problem(key, yamlnode.Join(docPath, h.Key), missing(h))
		return nil, own
	}
	if list.Kind != tree.SequenceNode {
		d.problem(list, yamlnode.Join(docPath, h.Key), param.FieldError{Value: yamlnode.Plain(list), Constraint: "a list"})
		return nil, own
	}
	return list, own
}

func missing(h pipeline.ChildrenSpec) param.FieldError {
	f := param.FieldError{Problem: "missing"}
	if h.None != "" {
		f.Hint = "[] " + h.None
	}
	return f
}

// template returns a template for a child with required parameters: "{select: …, steps: […]}".
func template(spec any) string {
	var keys []string
	for _, p := range specs.Required(spec) {
		keys = append(keys, p+": …")
	}
	if c, ok := spec.(pipeline.Composite); ok {
		keys = append(keys, c.Holds().Key+": […]")
	}
	return "{" + strings.Join(keys, ", ") + "}"
}
