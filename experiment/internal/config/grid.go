package config

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// readGrid reads the axes in the notation of the document.
func (d *decoder) readGrid(node *yaml.Node) {
	if yamlnode.IsNull(node) {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.problem(node, "search.grid", param.FieldError{Value: yamlnode.Plain(node),
			Constraint: "a mapping of parameter paths to values"})
		return
	}
	for _, p := range d.pairs(node, "search.grid") {
		d.axes = append(d.axes, rawAxis{d.file, p.Key.Value, p.Key, p.Value})
	}
}

// grid reads the values of the axes and tries each on the pipeline.
func (d *decoder) grid() {
	for _, raw := range d.axes {
		file := d.file
		d.file = raw.file
		for _, path := range d.elements(raw.path) {
			raw.path = path
			d.axis(raw)
		}
		d.file = file
	}
}

// elements returns the paths of the elements of a list or a map, given a path ending in .*; another
// path is returned unchanged.
func (d *decoder) elements(path string) []string {
	if list, ok := strings.CutSuffix(path, ".*"); ok && d.steps {
		if paths, err := specs.Elements(d.spec.Pipeline, list); err == nil && len(paths) > 0 {
			return paths
		}
	}
	return []string{path}
}

func (d *decoder) axis(raw rawAxis) {
	path := "search.grid." + raw.path
	values, nodes := d.axisValues(raw.value, path)
	if d.steps && !isParam(d.spec.Pipeline, raw.path) {
		d.noSuch(raw.key, path, raw.path, param.All(d.spec.Pipeline))
		return
	}
	seen := map[string]bool{}
	for i, v := range values {
		if !d.steps {
			break
		}
		_, err := param.With(d.spec.Pipeline, param.Setting{Path: raw.path, Value: v})
		var errs param.FieldErrors
		if errors.As(err, &errs) {
			for _, f := range errs {
				d.problem(nodes[i], path, f)
			}
		}
		key := fmt.Sprintf("%#v", v)
		if seen[key] {
			d.problem(nodes[i], path, param.FieldError{Problem: fmt.Sprintf("the value %v is repeated", v)})
		}
		seen[key] = true
	}
	if len(values) > 0 && d.spec.Search != nil {
		d.spec.Search.Grid = append(d.spec.Search.Grid, gridsearch.Axis{Path: raw.path, Values: values})
	}
}

// axisValues returns the values of an axis, each with the node to complain about.
func (d *decoder) axisValues(node *yaml.Node, path string) (values []any, nodes []*yaml.Node) {
	const want = "a list of values, {log: [from, to, points]} or {lin: [from, to, points]}"
	switch {
	case node.Kind == yaml.SequenceNode && len(node.Content) > 0:
		for _, element := range node.Content {
			values, nodes = append(values, yamlnode.Plain(element)), append(nodes, element)
		}
		return values, nodes
	case node.Kind != yaml.MappingNode || len(node.Content) != 2:
		d.problem(node, path, param.FieldError{Value: yamlnode.Plain(node), Constraint: want})
		return nil, nil
	}
	key, bounds := node.Content[0], node.Content[1]
	if key.Value != "log" && key.Value != "lin" {
		d.unknown(key, yamlnode.Join(path, key.Value), []string{"log", "lin"})
		return nil, nil
	}
	steps, problem := spaced(key.Value, yamlnode.Plain(bounds))
	if problem != "" {
		d.problem(bounds, yamlnode.Join(path, key.Value), param.FieldError{Value: yamlnode.Plain(bounds),
			Constraint: problem})
		return nil, nil
	}
	for _, v := range steps {
		values, nodes = append(values, v), append(nodes, bounds)
	}
	return values, nodes
}

// maxPoints bounds an axis; a grid that is larger is a mistake.
const maxPoints = 10000

// spaced returns points from..to, evenly spaced or evenly in the logarithm, ends included, or the
// violated constraint.
func spaced(kind string, plain any) (points []any, want string) {
	list, _ := plain.([]any)
	if len(list) != 3 {
		return nil, "[from, to, points]"
	}
	var v [3]float64
	for i := range list {
		switch x := list[i].(type) {
		case int:
			v[i] = float64(x)
		case float64:
			v[i] = x
		default:
			return nil, "[from, to, points], three numbers"
		}
		if math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			return nil, "[from, to, points], three finite numbers"
		}
	}
	from, to, n := v[0], v[1], int(v[2])
	switch {
	case kind == "log" && (from <= 0 || to <= 0):
		return nil, "[from, to, points] with from and to > 0"
	case v[2] != math.Trunc(v[2]) || v[2] < 2 || v[2] > maxPoints:
		return nil, fmt.Sprintf("[from, to, points] with an integer of points from 2 to %d", maxPoints)
	case from == to:
		return nil, "[from, to, points] with different ends"
	}
	if kind == "log" {
		return gridsearch.Log(from, to, n), ""
	}
	return gridsearch.Lin(from, to, n), ""
}
