package yaml

import (
	"fmt"
	"math"
	"reflect"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/pipeline"
)

// Encode writes the pipeline in the form that [Decode] reads, with all parameters and seeds, so
// that its meaning does not depend on the defaults of a version; brief, for readers, without the
// parameters that have their defaults. It returns an error if a step is not registered.
func Encode(p pipeline.Pipeline, brief bool) (*tree.Node, error) { return encoder{brief}.checked(p) }

// encoder writes specs.
type encoder struct {
	brief bool // whether to omit defaults
}

func (e encoder) checked(p pipeline.Pipeline) (*tree.Node, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return e.pipeline(p)
}

// pipeline encodes a pipeline that has been checked.
func (e encoder) pipeline(p pipeline.Pipeline) (*tree.Node, error) {
	list, err := e.steps(p.Steps)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	last, err := e.step(p.Name, p.Estimator)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	list.Content = append(list.Content, last)
	return list, nil
}

// Marshal encodes the pipeline as the text of a document.
func Marshal(p pipeline.Pipeline) ([]byte, error) {
	node, err := Encode(p, false)
	if err != nil {
		return nil, err
	}
	return marshal(node)
}

// MarshalFitted encodes the spec of a fitted pipeline as the text that [Unmarshal] reads with [Origin].Fitted. The
// fit has checked the spec; one from a model file lacks the functions that a check may require.
func MarshalFitted(p *pipeline.FittedPipeline) ([]byte, error) {
	node, err := encoder{}.pipeline(p.Spec())
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

func (e encoder) steps(steps []pipeline.Step) (*tree.Node, error) {
	list := &tree.Node{Kind: tree.SequenceNode}
	for _, s := range steps {
		node, err := e.step(s.Name, s.Fitter)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, node)
	}
	return list, nil
}

func (e encoder) step(name string, spec any) (*tree.Node, error) {
	entry, ok := pipeline.Lookup(spec)
	if !ok {
		return nil, fmt.Errorf("%s is not registered: give it a name with pipeline.Register before it is written or read",
			specs.TypeName(spec))
	}
	var err error
	var body *tree.Node
	if c, ok := spec.(pipeline.Composite); ok {
		body, err = e.composite(c, entry)
	} else if body, err = e.params(spec, entry.New()); err == nil {
		err = e.within(body, spec)
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

// composite encodes the children of a step: as a list if the step's own parameters have their
// defaults, else under a key after the parameters.
func (e encoder) composite(c pipeline.Composite, entry pipeline.Entry) (*tree.Node, error) {
	list, err := e.children(c)
	if err != nil || reflect.DeepEqual(values(c), values(entry.New())) {
		return list, err
	}
	own, err := e.params(c, entry.New())
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

// children encodes the list of children.
func (e encoder) children(c pipeline.Composite) (*tree.Node, error) {
	if c.Holds().Kind == nil {
		return e.steps(c.Children())
	}
	list := &tree.Node{Kind: tree.SequenceNode}
	for _, child := range c.Children() {
		node, err := e.member(child)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, node)
	}
	return list, nil
}

// member encodes a child that is a [pipeline.Member]: its name, its parameters, and its
// children.
func (e encoder) member(child pipeline.Step) (*tree.Node, error) {
	out := mapping()
	if child.Name != "" {
		put(out, "name", text(child.Name))
	}
	own, err := e.params(child.Fitter, nil)
	if err != nil {
		return nil, err
	}
	out.Content = append(out.Content, own.Content...)
	if c, ok := child.Fitter.(pipeline.Composite); ok {
		list, err := e.children(c)
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

// lineWidth is the width up to which the parameters of a step stand on one line.
const lineWidth = 100

// params encodes the parameters of spec without those of its children, on one line if they fit. Lists that are empty
// by default and unchanged are omitted; other defaults, those of initial, if the encoder is brief.
func (e encoder) params(spec, initial any) (*tree.Node, error) {
	defaults := map[string]any{}
	if e.brief && initial != nil {
		for _, p := range specs.Own(initial) {
			defaults[p.Name] = p.Value
		}
	}
	out, width := mapping(), 0
	for _, p := range specs.Own(spec) {
		usual, known := defaults[p.Name]
		if empty(p.Value) || known && p.Kind != paramkind.Seed && reflect.DeepEqual(p.Value, usual) {
			continue
		}
		node, err := value(p.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		put(out, p.Name, node)
		width += len(fmt.Sprint(p.Name, p.Value)) + len(": , ")
	}
	if !e.brief || width <= lineWidth {
		out.Style = tree.FlowStyle
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
