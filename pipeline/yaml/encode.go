package yaml

import (
	"fmt"
	"math"
	"reflect"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/pipeline"
)

// Encode writes the pipeline in the form that [Decode] reads, with all parameters and seeds, so
// that its meaning does not depend on the defaults of a version. It returns an error if a step is
// not registered.
func Encode(p pipeline.Pipeline) (*tree.Node, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return encode(p)
}

// encode is Encode of a pipeline that has been checked.
func encode(p pipeline.Pipeline) (*tree.Node, error) {
	list, err := encodeSteps(p.Steps)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	last, err := encodeStep(p.Name, p.Estimator)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	list.Content = append(list.Content, last)
	return list, nil
}

// Marshal encodes the pipeline as the text of a document.
func Marshal(p pipeline.Pipeline) ([]byte, error) {
	node, err := Encode(p)
	if err != nil {
		return nil, err
	}
	return marshal(node)
}

// MarshalFitted encodes the spec of a fitted pipeline as the text that [Unmarshal] reads with [Origin].Fitted. The
// fit has checked the spec; one from a model file lacks the functions that a check may require.
func MarshalFitted(p *pipeline.FittedPipeline) ([]byte, error) {
	node, err := encode(p.Spec())
	if err != nil {
		return nil, err
	}
	return marshal(node)
}

func marshal(node *tree.Node) ([]byte, error) {
	text, err := tree.Marshal(node)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return text, nil
}

func encodeSteps(steps []pipeline.Step) (*tree.Node, error) {
	list := &tree.Node{Kind: tree.SequenceNode}
	for _, s := range steps {
		node, err := encodeStep(s.Name, s.Fitter)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, node)
	}
	return list, nil
}

func encodeStep(name string, spec any) (*tree.Node, error) {
	entry, ok := pipeline.Lookup(spec)
	if !ok {
		return nil, fmt.Errorf("%s is not registered: give it a name with pipeline.Register before it is written or read",
			specs.TypeName(spec))
	}
	var err error
	var body *tree.Node
	if c, ok := spec.(pipeline.Composite); ok {
		body, err = encodeComposite(c, entry)
	} else if body, err = encodeParams(spec); err == nil {
		err = encodeWithin(body, spec)
	}
	if err != nil {
		return nil, err
	}
	kind, out := entry.Name, mapping()
	switch {
	case body.Kind == tree.MappingNode && len(body.Content) == 0 && (name == "" || name == kind):
		return text(kind), nil
	case body.Kind == tree.MappingNode && len(body.Content) == 0:
		body = &tree.Node{Kind: tree.ScalarNode, Tag: "!!null", Value: "null"}
	}
	put(out, kind, body)
	if name != "" && name != kind {
		put(out, "name", text(name))
	}
	return out, nil
}

// encodeComposite encodes the children of a step: as a list if the step's own parameters have their
// defaults, else under a key after the parameters.
func encodeComposite(c pipeline.Composite, entry pipeline.Entry) (*tree.Node, error) {
	list, err := encodeChildren(c)
	if err != nil || reflect.DeepEqual(values(c), values(entry.New())) {
		return list, err
	}
	own, err := encodeParams(c)
	if err != nil {
		return nil, err
	}
	out := mapping()
	put(out, c.Holds().Key, list)
	out.Content = append(out.Content, own.Content...)
	return out, nil
}

// values returns the values of the parameters of spec without those of its children.
func values(spec any) (out []any) {
	for _, p := range specs.Own(spec) {
		if empty(p.Value) {
			p.Value = nil
		}
		out = append(out, p.Value)
	}
	return out
}

// encodeChildren encodes the list of children.
func encodeChildren(c pipeline.Composite) (*tree.Node, error) {
	if c.Holds().Kind == nil {
		return encodeSteps(c.Children())
	}
	list := &tree.Node{Kind: tree.SequenceNode}
	for _, child := range c.Children() {
		node, err := encodeMember(child)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, node)
	}
	return list, nil
}

// encodeMember encodes a child that is a [pipeline.Member]: its name, its parameters, and its
// children.
func encodeMember(child pipeline.Step) (*tree.Node, error) {
	out := mapping()
	if child.Name != "" {
		put(out, "name", text(child.Name))
	}
	own, err := encodeParams(child.Fitter)
	if err != nil {
		return nil, err
	}
	out.Content = append(out.Content, own.Content...)
	if c, ok := child.Fitter.(pipeline.Composite); ok {
		list, err := encodeChildren(c)
		if err != nil {
			return nil, err
		}
		if len(list.Content) == 0 {
			list.Style = tree.FlowStyle
		}
		put(out, c.Holds().Key, list)
	}
	return out, nil
}

// encodeParams encodes the parameters of spec without those of its children, on one line. Lists
// that are empty by default and unchanged are omitted.
func encodeParams(spec any) (*tree.Node, error) {
	out := mapping()
	out.Style = tree.FlowStyle
	for _, p := range specs.Own(spec) {
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

func mapping() *tree.Node { return &tree.Node{Kind: tree.MappingNode, Tag: "!!map"} }

func put(m *tree.Node, key string, value *tree.Node) {
	m.Content = append(m.Content, text(key), value)
}

func text(s string) *tree.Node {
	var node tree.Node
	node.SetString(s)
	return &node
}

// value encodes a plain value; numbers are decoded exactly.
func value(plain any) (*tree.Node, error) {
	elements, ok := plain.([]any)
	if !ok {
		elements = []any{plain}
	}
	for _, e := range elements {
		if v, ok := e.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return nil, fmt.Errorf("%v cannot be written", v)
		}
	}
	return yamlnode.Of(plain), nil
}
