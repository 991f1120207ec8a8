package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// Encode writes the pipeline as [Decode] reads it, with every parameter spelt out, seeds included:
// what it describes does not depend on the defaults of a version. It fails where a step is not
// registered.
func Encode(p Pipeline) (*yaml.Node, error) {
	if err := p.check(); err != nil {
		return nil, here(err)
	}
	list, err := encodeSteps(p.Steps)
	if err != nil {
		return nil, here(err)
	}
	last, err := encodeStep(p.Name, p.Estimator)
	if err != nil {
		return nil, here(err)
	}
	list.Content = append(list.Content, last)
	return list, nil
}

func encodeSteps(steps []Step) (*yaml.Node, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range steps {
		node, err := encodeStep(s.Name, s.Fitter)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, node)
	}
	return list, nil
}

func encodeStep(name string, spec any) (*yaml.Node, error) {
	kind, ok := registeredName(spec)
	if !ok {
		return nil, unregistered(spec)
	}
	body, err := encodeParams(spec)
	if c, ok := spec.(interface{ encode() (*yaml.Node, error) }); ok && err == nil {
		body, err = c.encode()
	}
	if err != nil {
		return nil, err
	}
	out := mapping()
	switch {
	case body.Kind == yaml.MappingNode && len(body.Content) == 0 && (name == "" || name == kind):
		return text(kind), nil
	case body.Kind == yaml.MappingNode && len(body.Content) == 0:
		body = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	put(out, kind, body)
	if name != "" && name != kind {
		put(out, "name", text(name))
	}
	return out, nil
}

// encodeParams writes the spec's own parameters on one line. Lists that are empty, and by default
// so, are left out.
func encodeParams(spec any) (*yaml.Node, error) {
	out := mapping()
	out.Style = yaml.FlowStyle
	for _, p := range param.Own(spec) {
		if empty(p.Value) {
			continue
		}
		node, err := value(p.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		put(out, p.Name, node)
	}
	return out, nil
}

func empty(plain any) bool {
	list, isList := plain.([]any)
	return plain == nil || isList && len(list) == 0
}

func (c Chain) encode() (*yaml.Node, error) { return encodeSteps(c.Steps) }

func (u Union) encode() (*yaml.Node, error) {
	parts, err := encodeSteps(u.Parts)
	if err != nil || len(u.Weights) == 0 {
		return parts, err
	}
	own, err := encodeParams(u)
	if err != nil {
		return nil, err
	}
	out := mapping()
	put(out, "parts", parts)
	out.Content = append(out.Content, own.Content...)
	return out, nil
}

func (c Columns) encode() (*yaml.Node, error) {
	groups := &yaml.Node{Kind: yaml.SequenceNode}
	for _, g := range c.Groups {
		steps, err := encodeSteps(g.Steps)
		if err != nil {
			return nil, err
		}
		if len(g.Steps) == 0 {
			steps.Style = yaml.FlowStyle
		}
		node := mapping()
		if g.Name != "" {
			put(node, "name", text(g.Name))
		}
		put(node, "select", encodeSelection(g.Select))
		put(node, "steps", steps)
		groups.Content = append(groups.Content, node)
	}
	if c.Rest == "drop" {
		return groups, nil
	}
	own, err := encodeParams(c)
	if err != nil {
		return nil, err
	}
	out := mapping()
	put(out, "groups", groups)
	out.Content = append(out.Content, own.Content...)
	return out, nil
}

func encodeSelection(terms []string) *yaml.Node {
	if len(terms) == 1 {
		return text(terms[0])
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, term := range terms {
		list.Content = append(list.Content, text(term))
	}
	return list
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func put(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, text(key), value)
}

func text(s string) *yaml.Node {
	var node yaml.Node
	node.SetString(s)
	return &node
}

// value writes a plain value; numbers so that they read back to the bit.
func value(plain any) (*yaml.Node, error) {
	switch v := plain.(type) {
	case string:
		return text(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v cannot be written", v)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: number(v)}, nil
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, element := range v {
			node, err := value(element)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, node)
		}
		return list, nil
	}
	var node yaml.Node
	err := node.Encode(plain)
	return &node, err
}

// number writes v as short as it can be with a point, also before an exponent: to readers of YAML 1.1
// 1e-08 is a text, and to all 1 is a whole number.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if strings.Contains(s, ".") {
		return s
	}
	mantissa, exponent, scaled := strings.Cut(s, "e")
	if scaled {
		return mantissa + ".0e" + exponent
	}
	return mantissa + ".0"
}
