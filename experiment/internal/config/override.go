package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Override replaces one value, as `--set path=value` does. Paths are keys and parameters, such as
// data.train, rff.gamma or search.grid.rff.gamma; the value is YAML.
type Override struct {
	Path, Value string
}

// UnmarshalText parses path=value.
func (o *Override) UnmarshalText(text []byte) error {
	path, value, found := strings.Cut(string(text), "=")
	if !found || path == "" {
		return fmt.Errorf("must be path=value, got %q", text)
	}
	*o = Override{Path: path, Value: value}
	return nil
}

// given is a parsed override; done is set once it is applied.
type given struct {
	path  string
	value *yaml.Node
	done  bool
}

func (g *given) apply(to func(path string, value *yaml.Node) (done bool)) {
	if !g.done {
		g.done = to(g.path, g.value)
	}
}

// overrides parses the values of overrides.
func (d *decoder) overrides(list []Override) []*given {
	file := d.file
	d.file = source
	defer func() { d.file = file }()
	var out []*given
	for _, o := range list {
		var document yaml.Node
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		if o.Value == "-" || strings.HasPrefix(o.Value, "*") { // stdin and patterns are not valid YAML strings
			out = append(out, &given{path: o.Path, value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: o.Value}})
			continue
		}
		if err := yaml.Unmarshal([]byte(o.Value), &document); err != nil {
			d.problem(nil, o.Path, param.FieldError{Problem: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")})
			continue
		}
		if len(document.Content) == 1 {
			if value = d.expand(document.Content[0]); value == nil {
				continue
			}
		}
		unplace(value)
		out = append(out, &given{path: o.Path, value: value})
	}
	return out
}

// unplace clears the positions of nodes that are in no file.
func unplace(node *yaml.Node) {
	node.Line, node.Column = 0, 0
	for _, child := range node.Content {
		unplace(child)
	}
}

// overrideSection applies an override to a section other than the pipeline.
func (d *decoder) overrideSection(path string, value *yaml.Node) bool {
	file := d.file
	d.file = source
	defer func() { d.file = file }()
	if path == "search" && yamlnode.IsNull(value) {
		d.spec.Search, d.axes = nil, nil
		return true
	}
	if path == "intervals" && yamlnode.IsNull(value) {
		d.spec.Intervals = nil
		return true
	}
	if yamlnode.IsNull(value) && d.unset(path) {
		return true
	}
	if strings.HasPrefix(path, "search.") && d.spec.Search == nil {
		d.spec.Search = NewSearch()
	}
	if strings.HasPrefix(path, "intervals.") && d.spec.Intervals == nil {
		d.spec.Intervals = NewIntervals()
	}
	if path == "search.grid" {
		d.axes = nil
		d.readGrid(value)
		return true
	}
	if axis, ok := strings.CutPrefix(path, "search.grid."); ok {
		d.axes = slices.DeleteFunc(d.axes, func(a rawAxis) bool { return a.path == axis })
		if !yamlnode.IsNull(value) {
			d.axes = append(d.axes, rawAxis{source, axis, value, value})
		}
		return true
	}
	if !isParam(d.spec, path) {
		return false
	}
	d.spec = d.set(d.spec, path, value).(Spec)
	d.at[path] = value
	for a, b := range map[string]string{"search.folds": "search.cv.folds", "search.cv.folds": "search.folds"} {
		if path == a {
			delete(d.at, b) // a later spelling replaces the earlier one
		}
	}
	return true
}

// unset resets the value or section at path to its default and reports whether it exists.
func (d *decoder) unset(path string) (known bool) {
	defaults := New()
	defaults.Search, defaults.Intervals = NewSearch(), NewIntervals()
	below := func(p string) bool { return p == path || strings.HasPrefix(p, path+".") }
	for _, p := range param.All(defaults) {
		if !below(p.Path) {
			continue
		}
		known = true
		if isParam(d.spec, p.Path) { // a missing search has no parameters
			changed, err := param.With(d.spec, param.Setting{Path: p.Path, Value: p.Value})
			if err != nil {
				return false // required
			}
			d.spec = changed.(Spec)
		}
	}
	for p := range d.at {
		if known && below(p) && strings.Contains(p, ".") {
			delete(d.at, p)
		}
	}
	return known
}

// overrideStep applies an override to a parameter of the pipeline.
func (d *decoder) overrideStep(path string, value *yaml.Node) bool {
	if !d.steps {
		return true // errors of the pipeline are already reported
	}
	file := d.file
	d.file = source
	defer func() { d.file = file }()
	short := strings.TrimPrefix(path, "pipeline.")
	if !isParam(d.spec.Pipeline, short) {
		d.unknownPath(value, path)
		return true
	}
	setting := param.Setting{Path: short, Value: yamlnode.Plain(value)}
	if yamlnode.IsNull(value) {
		setting.Value = d.defaultOf(short)
	}
	changed, err := param.With(d.spec.Pipeline, setting)
	if err == nil {
		d.spec.Pipeline = changed.(pipeline.Pipeline)
		err = param.Check(d.spec.Pipeline)
	}
	var errs param.FieldErrors
	if errors.As(err, &errs) {
		for _, f := range errs {
			d.problem(value, cmp.Or(f.Path, path), f)
		}
	}
	return true
}

// defaultOf returns the default of a parameter of a step, or nil if unknown.
func (d *decoder) defaultOf(path string) any {
	owner, err := specs.Owner(d.spec.Pipeline, path)
	own, known := pipeline.Lookup(owner)
	if err != nil || !known {
		return nil
	}
	dot := strings.LastIndexByte(path, '.')
	step, name := path[:max(dot, 0)], path[dot+1:]
	for _, p := range own.Params() {
		if p.Name == name && p.Kind == paramkind.Seed {
			return specs.DeriveSeed(d.spec.Seed, step)
		}
		if p.Name == name {
			return p.Value
		}
	}
	return nil
}

// unknownPath reports an override with an unknown path.
func (d *decoder) unknownPath(value *yaml.Node, path string) {
	d.noSuch(value, path, strings.TrimPrefix(path, "pipeline."), append(param.All(d.spec), param.All(d.spec.Pipeline)...))
}
