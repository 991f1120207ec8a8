package yaml

import (
	"slices"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// known returns the keys that may appear below a step.
func (d *decoder) known(spec any) []string {
	var out []string
	for _, p := range specs.Own(spec) {
		out = append(out, p.Name)
	}
	for _, c := range pipeline.Within(spec) {
		out = append(out, c.Name)
	}
	return out
}

// set returns spec with one parameter set.
func (d *decoder) set(spec any, p yamlnode.Pair, docPath string) any {
	path := yamlnode.Join(docPath, p.Key.Value)
	known := d.known(spec)
	if !slices.Contains(known, p.Key.Value) {
		d.unknown(p.Key, path, "parameter", known)
		return spec
	}
	if problem := unreadable(p.Value); problem != "" {
		d.problem(p.Value, path, param.FieldError{Problem: problem})
		return spec
	}
	out, err := param.With(spec, param.Setting{Path: p.Key.Value, Value: yamlnode.Plain(p.Value)})
	if err != nil {
		errs, ok := err.(param.FieldErrors)
		if !ok {
			errs = param.FieldErrors{{Problem: err.Error()}}
		}
		for _, f := range errs {
			d.problem(p.Value, path, f)
		}
		return spec
	}
	return out
}

// finish derives unspecified seeds and checks the parameters against each other.
func (d *decoder) finish(spec any, key *tree.Node, given map[string]*tree.Node, docPath, specPath string) any {
	for _, p := range specs.Own(spec) {
		if p.Kind == paramkind.Seed && given[p.Name] == nil {
			spec, _ = param.With(spec, param.Setting{Path: p.Name, Value: specs.DeriveSeed(d.from.Seed, specPath)})
		}
	}
	if d.from.Fitted {
		return spec
	}
	errs, _ := param.Check(spec).(param.FieldErrors)
	for _, f := range errs {
		if strings.Contains(f.Path, ".") {
			continue // an error of an inner step, already reported
		}
		node, path := given[f.Path], yamlnode.Join(docPath, f.Path)
		if slices.ContainsFunc(d.errs, func(reported param.FieldError) bool { return reported.Path == path }) {
			continue
		}
		if node == nil {
			node = key
		}
		if given[f.Path] == nil && slices.Contains(specs.Required(spec), f.Path) {
			f = param.FieldError{Problem: "missing", Hint: f.Constraint}
		}
		d.problem(node, path, f)
	}
	return spec
}
