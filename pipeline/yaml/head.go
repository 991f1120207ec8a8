package yaml

import (
	"fmt"
	"slices"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

func (d *decoder) duplicateName(h head, docPath, what string) {
	d.problem(h.node, yamlnode.Join(docPath, h.name), param.FieldError{
		Problem: fmt.Sprintf("two %ss are called %s", what, h.name),
		Hint:    fmt.Sprintf("name one of them: {%s: …, name: …}", h.entry.Name)})
}

// head is a step whose parameters are not decoded yet.
type head struct {
	entry  pipeline.Entry
	name   string     // name of the step
	node   *tree.Node // key of the step
	params *tree.Node // nil if there are none
}

// given returns the name that the document specifies, "" for the default.
func (h head) given() string {
	if h.name == h.entry.Name {
		return ""
	}
	return h.name
}

// head decodes the type and the name of a step.
func (d *decoder) head(node *tree.Node, path string) (h head, ok bool) {
	const want = "a step: its name, or its name with parameters"
	switch node.Kind {
	case tree.ScalarNode:
		if h.node = node; node.Tag != "!!str" {
			d.problem(node, path, param.FieldError{Value: yamlnode.Plain(node), Constraint: want})
			return h, false
		}
	case tree.MappingNode:
		if h, ok = d.headOfMapping(node, path); !ok {
			return h, false
		}
	default:
		d.problem(node, path, param.FieldError{Value: yamlnode.Plain(node), Constraint: want})
		return h, false
	}
	if h.entry, ok = pipeline.Lookup(h.node.Value); !ok {
		d.unknown(h.node, path, "step", names(func(pipeline.Entry) bool { return true }))
		return h, false
	}
	if h.name == "" {
		h.name = h.entry.Name
	}
	return h, true
}

func (d *decoder) headOfMapping(node *tree.Node, path string) (h head, ok bool) {
	pairs := d.pairs(node, path)
	var label *yamlnode.Pair
	for i, p := range pairs {
		switch {
		case p.Key.Value == "name":
			label = &pairs[i]
		case h.node == nil:
			h.node, h.params = p.Key, p.Value
		default:
			hint := "a step has one name; parameters stand below it"
			if e, ok := pipeline.Lookup(h.node.Value); ok && slices.Contains(d.known(e.New()), p.Key.Value) {
				hint = fmt.Sprintf("%s is a parameter of %s: indent it below", p.Key.Value, h.node.Value)
			}
			d.problem(p.Key, yamlnode.Join(path, p.Key.Value), param.FieldError{Problem: "a second key in one step", Hint: hint})
			ok = true
		}
	}
	if h.node == nil {
		d.problem(node, path, param.FieldError{Value: yamlnode.Plain(node),
			Constraint: "a step: its name, or its name with parameters"})
		return h, false
	}
	if label == nil {
		label = d.innerName(&h)
	}
	if label != nil {
		h.name = d.label(label, path)
	}
	return h, true
}

// innerName removes the key name from the parameters of a step that has no such parameter, and
// returns it.
func (d *decoder) innerName(h *head) *yamlnode.Pair {
	e, ok := pipeline.Lookup(h.node.Value)
	if !ok || h.params == nil || h.params.Kind != tree.MappingNode || slices.Contains(d.known(e.New()), "name") {
		return nil
	}
	for i := 0; i+1 < len(h.params.Content); i += 2 {
		if key := h.params.Content[i]; key.Value == "name" {
			label := &yamlnode.Pair{Key: key, Value: h.params.Content[i+1]}
			rest := *h.params
			rest.Content = slices.Delete(slices.Clone(rest.Content), i, i+2)
			h.params = &rest
			return label
		}
	}
	return nil
}

func (d *decoder) label(p *yamlnode.Pair, path string) string {
	if p.Value.Kind != tree.ScalarNode || p.Value.Tag != "!!str" || !suggest.ValidName(p.Value.Value) {
		d.problem(p.Value, yamlnode.Join(path, "name"), param.FieldError{Value: yamlnode.Plain(p.Value),
			Constraint: "a name of letters, digits, _ and -"})
		return ""
	}
	return p.Value.Value
}

func names(accept func(pipeline.Entry) bool) []string {
	var out []string
	for _, e := range pipeline.Registered() {
		if accept(e) {
			out = append(out, e.Name)
		}
	}
	return out
}

func isTransformer(e pipeline.Entry) bool { return !e.IsEstimator() }
