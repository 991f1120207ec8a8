package yaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Decode reads a pipeline, a list of steps that ends with an estimator. It returns all errors.
//
// A step is a name, or a name with its parameters. The key name distinguishes two steps of the same
// type. The steps columns, union and steps contain steps:
//
//   - columns:
//   - {select: numeric, steps: [{impute: {strategy: median}}, standardize]}
//   - {select: [workclass, "edu*"], steps: [onehot], name: words}
//   - union: {parts: [{rff: {gamma: 0.1}}, {rff: {gamma: 1}, name: narrow}], weights: [0.7, 0.3]}
//   - logistic: {C: 10}
//
// If columns has parameters of its own, its groups are under a key: {groups: [...], remainder:
// passthrough}.
func Decode(node *tree.Node, from Origin) (pipeline.Pipeline, param.FieldErrors) {
	d := &decoder{from: from}
	p := pipeline.Pipeline{}
	if node != nil && node.Kind == tree.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	node = d.resolve(node)
	const want = "a list of steps, the last of which is an estimator"
	switch {
	case node == nil:
		if len(d.errs) == 0 {
			d.problem(node, from.Path, param.FieldError{Constraint: want})
		}
	case node.Kind != tree.SequenceNode || len(node.Content) == 0:
		d.problem(node, from.Path, param.FieldError{Value: yamlnode.Plain(node), Constraint: want})
	default:
		p = d.pipeline(node, from.Path, "")
	}
	slices.SortStableFunc(d.errs, func(a, b param.FieldError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return p, d.errs
}

// Unmarshal decodes a pipeline from the text of a document. Errors are joined.
func Unmarshal(text []byte, from Origin) (pipeline.Pipeline, error) {
	var node tree.Node
	if err := tree.Unmarshal(text, &node); err != nil {
		return pipeline.Pipeline{}, err
	}
	p, errs := Decode(&node, from)
	return p, errs.Err()
}

// pipeline decodes a list of steps and an estimator. docPath is the path of the list in the document,
// path that in the pipeline.
func (d *decoder) pipeline(node *tree.Node, docPath, specPath string) pipeline.Pipeline {
	var p pipeline.Pipeline
	last := len(node.Content) - 1
	p.Steps = d.steps(node.Content[:last], docPath, specPath, "step")
	path := fmt.Sprintf("%s[%d]", docPath, last)
	h, ok := d.head(node.Content[last], path)
	if !ok {
		return p
	}
	spec := d.spec(h, docPath, specPath)
	if e, ok := spec.(estimator.Estimator); ok {
		p.Estimator, p.Name = e, h.given()
	} else {
		d.problem(h.node, yamlnode.Join(docPath, h.name), param.FieldError{
			Problem: "the last step is not an estimator",
			Hint:    "estimators are " + strings.Join(names(pipeline.Entry.IsEstimator), ", ")})
	}
	if slices.ContainsFunc(p.Steps, func(s pipeline.Step) bool { return s.Path() == h.name }) {
		d.duplicateName(h, docPath, "step")
	}
	return p
}
