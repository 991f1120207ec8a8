package pipeline

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// decode reads a list of steps.
func (Chain) decode(d *decoder, h head, where, within string) any {
	return Chain{Steps: d.list(h.params, h.node, where, within, "step")}
}

// list reads a list of steps, which may be empty where it is written out.
func (d *decoder) list(node, key *yaml.Node, where, within, what string) []Step {
	if node == nil || node.Kind != yaml.SequenceNode {
		if node == nil {
			node = key
		}
		d.fault(node, where, param.Fault{Value: plain(node), Wanted: "a list of steps"})
		return nil
	}
	return d.steps(node.Content, where, within, what)
}

// members splits the parameters of a step that holds others: either the bare list, or a mapping in
// which the list stands under key beside parameters of the step's own.
func (d *decoder) members(h head, where, key string) (list *yaml.Node, own []pair) {
	if h.params != nil && h.params.Kind == yaml.SequenceNode {
		return h.params, nil
	}
	if h.params == nil || h.params.Kind != yaml.MappingNode {
		node := h.params
		if node == nil {
			node = h.node
		}
		d.fault(node, where, param.Fault{Value: plain(h.params), Wanted: "a list, or a mapping with " + key})
		return nil, nil
	}
	for _, p := range d.pairs(h.params, where) {
		if p.key.Value == key {
			list = p.value
		} else {
			own = append(own, p)
		}
	}
	if list == nil {
		d.fault(h.node, join(where, key), param.Fault{Problem: "missing"})
		return nil, own
	}
	if list.Kind != yaml.SequenceNode {
		d.fault(list, join(where, key), param.Fault{Value: plain(list), Wanted: "a list"})
		return nil, own
	}
	return list, own
}

// decode reads parts and weights.
func (u Union) decode(d *decoder, h head, where, within string) any {
	list, own := d.members(h, where, "parts")
	if list != nil {
		u.Parts = d.steps(list.Content, where, within, "part")
		if len(list.Content) == 0 {
			d.fault(list, where, param.Fault{Value: plain(list), Wanted: "at least one part"})
		}
	}
	given := map[string]*yaml.Node{}
	for _, p := range own {
		given[p.key.Value] = p.value
		u = d.setOwn(u, p, where, "parts").(Union)
	}
	return d.finish(u, h, given, where, within)
}

// setOwn is set for a step of which only its own parameters, and what it holds, can be given.
func (d *decoder) setOwn(spec any, p pair, where, holds string) any {
	known := d.known(spec)
	if !slices.Contains(known, p.key.Value) {
		d.unknown(p.key, join(where, p.key.Value), "parameter", append(known, holds))
		return spec
	}
	return d.set(spec, p, where)
}

// decode reads groups and the rest.
func (c Columns) decode(d *decoder, h head, where, within string) any {
	list, own := d.members(h, where, "groups")
	if list != nil {
		for i, node := range list.Content {
			if g, ok := d.group(node, i, where, within); ok {
				if slices.ContainsFunc(c.Groups, func(o Group) bool { return o.Name != "" && o.Name == g.Name }) {
					d.fault(node, join(where, g.Name), param.Fault{Problem: "two groups are called " + g.Name})
				}
				c.Groups = append(c.Groups, g)
			}
		}
		if len(list.Content) == 0 {
			d.fault(list, where, param.Fault{Value: plain(list), Wanted: "at least one group"})
		}
	}
	given := map[string]*yaml.Node{}
	for _, p := range own {
		given[p.key.Value] = p.value
		c = d.setOwn(c, p, where, "groups").(Columns)
	}
	if names, ok := c.groupNames(); ok && len(d.faults) == 0 {
		if err := checkNames("group", names); err != nil {
			d.fault(h.node, where, param.Fault{Problem: err.Error()})
		}
	}
	return d.finish(c, h, given, where, within)
}

func (c Columns) groupNames() (names []string, ok bool) {
	for i, g := range c.Groups {
		names = append(names, g.path(i))
	}
	return names, len(names) > 0
}

// group reads group number i.
func (d *decoder) group(node *yaml.Node, i int, where, within string) (g Group, ok bool) {
	path := fmt.Sprintf("%s[%d]", where, i)
	if node.Kind != yaml.MappingNode {
		d.fault(node, path, param.Fault{Value: plain(node), Wanted: "a group: {select: …, steps: […]}"})
		return g, false
	}
	var steps *pair
	chosen := false
	pairs := d.pairs(node, path)
	for k, p := range pairs {
		switch p.key.Value {
		case "name":
			g.Name = d.label(&pairs[k], path)
			if g.Name == "rest" {
				d.fault(p.value, join(path, "name"), param.Fault{Problem: "no group can be called rest"})
			}
		case "select":
			g.Select, chosen = d.selection(p, path), true
		case "steps":
			steps = &pairs[k]
		default:
			d.unknown(p.key, join(path, p.key.Value), "key of a group", []string{"select", "steps", "name"})
		}
	}
	if !chosen {
		d.fault(node, join(path, "select"), param.Fault{Problem: "missing", Hint: "names, kinds (numeric, categorical) or patterns of columns"})
	}
	if steps == nil {
		d.fault(node, join(path, "steps"), param.Fault{Problem: "missing", Hint: "[] passes the columns on as they are"})
		return g, true
	}
	name := g.path(i)
	g.Steps = d.list(steps.value, steps.key, join(where, name), join(within, name), "step")
	return g, true
}

// selection reads one term or a list of them.
func (d *decoder) selection(p pair, path string) []string {
	list := []*yaml.Node{p.value}
	if p.value.Kind == yaml.SequenceNode {
		list = p.value.Content
	}
	var out []string
	for _, node := range list {
		if node.Kind != yaml.ScalarNode || isNull(node) || node.Value == "" {
			d.fault(node, join(path, "select"), param.Fault{Value: plain(node), Wanted: "a name, kind or pattern of columns, or a list of them"})
			continue
		}
		if _, err := selector(node.Value); err != nil {
			d.fault(node, join(path, "select"), param.Fault{Problem: err.Error()})
		}
		out = append(out, node.Value)
	}
	if len(list) == 0 {
		d.fault(p.value, join(path, "select"), param.Fault{Value: plain(p.value), Wanted: "at least one name, kind or pattern of columns"})
	}
	return out
}
