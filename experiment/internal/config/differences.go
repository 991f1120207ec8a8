package config

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
)

// Values are the values of a document by path, including defaults, that affect the results of a
// run. Names, paths, the time limit of a search and report settings are excluded.
type Values []setting

// setting is one value.
type setting struct{ path, value string }

// ValuesOf reads the values of the text of a file.
func ValuesOf(file string, text []byte) (Values, error) {
	d := newDecoder(file)
	if root := d.parse(text); root != nil {
		d.decode(root, nil)
	}
	if err := d.errs.Err(); err != nil {
		return nil, err
	}
	s := d.spec
	// compare the rows, not their locations
	s.Name, s.Output, s.Data.Train, s.Data.Test, s.Data.SQL = "", Output{}, nil, nil, SQL{}
	s.Report = NewReport() // affects the report only
	if s.Search != nil {
		s.Search.Budget = 0
	}
	text, err := s.Encode(file)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	return flatten(root.Content[0], ""), nil
}

// flatten lists the values below a node by their paths, in which a step or a group is known by its name.
func flatten(node *yaml.Node, path string) (out []setting) {
	switch {
	case node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			out = append(out, flatten(node.Content[i+1], yamlnode.Join(path, node.Content[i].Value))...)
		}
	case node.Kind == yaml.SequenceNode && slices.ContainsFunc(node.Content,
		func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }):
		for i, element := range node.Content {
			out = append(out, flattenElement(element, path, i)...)
		}
	default:
		out = append(out, setting{path, Flow(yamlnode.Plain(node))})
	}
	return out
}

func flattenElement(node *yaml.Node, path string, i int) []setting {
	if node.Kind != yaml.MappingNode {
		return []setting{{yamlnode.Join(path, node.Value), "present"}}
	}
	for k := 0; k+1 < len(node.Content); k += 2 {
		if node.Content[k].Value == "name" {
			return flatten(node, yamlnode.Join(path, node.Content[k+1].Value))
		}
	}
	if len(node.Content) == 2 {
		return append([]setting{{yamlnode.Join(path, node.Content[0].Value), "present"}}, flatten(node, path)...)
	}
	return flatten(node, fmt.Sprintf("%s[%d]", path, i))
}

// Difference is a value that is not the same in two documents.
type Difference struct{ Path, Then, Now string }

// String is as "pipeline.rff.gamma: 0.05 → 0.1".
func (d Difference) String() string { return fmt.Sprintf("%s: %s → %s", d.Path, d.Then, d.Now) }

// Differences lists the values that are not the same later. Of a section that only one of both has
// they have one line, of which the sides are "given" and "none".
func (old Values) Differences(now Values) (out []Difference) {
	values := func(list Values) map[string]string {
		m := map[string]string{}
		for _, s := range list {
			m[s.path] += s.value
		}
		return m
	}
	a, b := values(old), values(now)
	reported := map[string]bool{}
	for _, s := range append(slices.Clone(now), old...) {
		was, then := a[s.path]
		is, still := b[s.path]
		path := s.path
		switch {
		case then && still && was == is:
			continue
		case !then:
			path, was = emptySection(a, path), "none"
		case !still:
			path, is = emptySection(b, path), "none"
		}
		if reported[path] {
			continue
		}
		reported[path] = true
		switch {
		case path == s.path:
		case then:
			was = "given"
		default:
			is = "given"
		}
		out = append(out, Difference{path, was, is})
	}
	return out
}

// emptySection returns the outermost section of path that has no values.
func emptySection(values map[string]string, path string) string {
	for end := range path {
		if path[end] != '.' {
			continue
		}
		section, there := path[:end], false
		for other := range values {
			there = there || other == section || strings.HasPrefix(other, section+".")
		}
		if !there {
			return section
		}
	}
	return path
}

// At returns the value at path, "given" for a section and "none" if the document has none.
func (v Values) At(path string) string {
	value, there := "", false
	for _, s := range v {
		switch {
		case s.path == path:
			value, there = value+s.value, true
		case strings.HasPrefix(s.path, path+".") && !there:
			value = "given"
		}
	}
	if value == "" && !there {
		return "none"
	}
	return value
}
