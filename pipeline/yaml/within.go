package yaml

import (
	"fmt"
	"reflect"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// childOf returns the child of spec with the given name.
func childOf(spec any, name string) (param.Child, bool) {
	for _, c := range pipeline.Within(spec) {
		if c.Name == name {
			return c, true
		}
	}
	return param.Child{}, false
}

// holdsModel reports whether a child is an estimator rather than a transformer.
func holdsModel(c param.Child) bool { return c.Type == reflect.TypeFor[estimator.Estimator]() }

// holdsMembers reports whether a child is a list of estimators.
func holdsMembers(c param.Child) bool { return c.Type == reflect.TypeFor[meta.Members]() }

// innerSpecs decodes the inner specs of a step, such as the model of a wrapper. Unspecified ones keep
// their defaults with derived seeds.
func (d *decoder) innerSpecs(spec any, key *tree.Node, given map[string]*tree.Node, docPath, specPath string) any {
	for _, c := range pipeline.Within(spec) {
		path, inside := yamlnode.Join(docPath, c.Name), yamlnode.Join(specPath, c.Name)
		var child any
		switch node := given[c.Name]; {
		case node != nil:
			read := d.child
			if holdsMembers(c) {
				read = d.members
			}
			if child = read(c, node, path, inside); child == nil {
				continue // already reported
			}
		case c.Optional && (c.Spec == nil || holdsMembers(c)):
			continue
		case c.Spec == nil:
			d.problem(key, path, param.FieldError{Problem: "missing", Hint: "must be " + constraintOf(c)})
			continue
		default:
			child = d.finish(c.Spec, key, nil, path, inside)
		}
		changed, err := c.With(child)
		if err != nil {
			d.problem(key, path, param.FieldError{Problem: err.Error()})
			continue
		}
		spec = changed
	}
	return spec
}

func constraintOf(c param.Child) string {
	switch {
	case holdsMembers(c):
		return "names, each with an estimator or a list of steps the last of which is one"
	case holdsModel(c):
		return "an estimator, or a list of steps the last of which is one"
	}
	return "a step, or a list of steps"
}

// members decodes a mapping of names to estimators; it returns nil after an error.
func (d *decoder) members(c param.Child, node *tree.Node, docPath, specPath string) any {
	if node.Kind != tree.MappingNode || len(node.Content) == 0 {
		d.problem(node, docPath, param.FieldError{Value: yamlnode.Plain(node), Constraint: constraintOf(c)})
		return nil
	}
	errs := len(d.errs)
	var out meta.Members
	one := param.Child{Type: reflect.TypeFor[estimator.Estimator]()}
	for _, p := range d.pairs(node, docPath) {
		one.Name = p.Key.Value
		if !suggest.ValidName(one.Name) {
			d.problem(p.Key, docPath, param.FieldError{Value: one.Name, Constraint: "a name of letters, digits, _ and -"})
			continue
		}
		spec, ok := d.child(one, p.Value, yamlnode.Join(docPath, one.Name),
			yamlnode.Join(specPath, one.Name)).(estimator.Estimator)
		if ok {
			out = append(out, meta.Member{Name: one.Name, Estimator: spec})
		}
	}
	if len(d.errs) > errs {
		return nil
	}
	return out
}

// child decodes a step or a list of steps; it returns nil after an error.
func (d *decoder) child(c param.Child, node *tree.Node, docPath, specPath string) any {
	errs := len(d.errs)
	var child any
	switch {
	case yamlnode.IsNull(node) || node.Kind == tree.SequenceNode && len(node.Content) == 0:
		d.problem(node, docPath, param.FieldError{Value: yamlnode.Plain(node), Constraint: constraintOf(c)})
	case node.Kind == tree.SequenceNode && holdsModel(c):
		child = d.pipeline(node, docPath, specPath)
	case node.Kind == tree.SequenceNode:
		child = pipeline.Chain{Steps: d.steps(node.Content, docPath, specPath, "step")}
	default:
		child = d.singleStep(c, node, docPath, specPath)
	}
	if len(d.errs) > errs {
		return nil
	}
	return child
}

// singleStep decodes a single step named after the child.
func (d *decoder) singleStep(c param.Child, node *tree.Node, docPath, specPath string) any {
	h, ok := d.head(node, docPath)
	if !ok {
		return nil
	}
	if h.given() != "" {
		d.problem(node, docPath, param.FieldError{Problem: "a name of its own",
			Hint: fmt.Sprintf("in paths it is called %s", c.Name)})
		return nil
	}
	if h.entry.IsEstimator() != holdsModel(c) {
		of := pipeline.Entry.IsEstimator
		if !holdsModel(c) {
			of = isTransformer
		}
		d.problem(h.node, docPath, param.FieldError{Value: h.name, Constraint: constraintOf(c),
			Hint: "there are " + strings.Join(names(of), ", ")})
		return nil
	}
	return d.specAt(h, docPath, specPath)
}

// within encodes the inner specs of a step after its parameters.
func (e encoder) within(out *tree.Node, spec any) error {
	for _, c := range pipeline.Within(spec) {
		if members, ok := c.Spec.(meta.Members); c.Spec == nil || ok && len(members) == 0 {
			continue
		}
		node, err := e.child(c.Spec)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		put(out, c.Name, node)
		if e.brief {
			out.Style = 0 // a line for each child
		}
	}
	return nil
}

func (e encoder) members(members meta.Members) (*tree.Node, error) {
	out := mapping()
	for _, m := range members {
		node, err := e.child(m.Estimator)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		put(out, m.Name, node)
	}
	return out, nil
}

func (e encoder) child(spec any) (*tree.Node, error) {
	switch s := spec.(type) {
	case pipeline.Pipeline:
		if s.Precision == pipeline.Float32 {
			return nil, fmt.Errorf("a document has no precision of a pipeline within another: %s", s.Precision)
		}
		return e.checked(s)
	case pipeline.Chain:
		return e.steps(s.Steps)
	case meta.Members:
		return e.members(s)
	}
	return e.step("", spec)
}
