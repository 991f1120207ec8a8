package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// decoder converts a document to a spec.
type decoder struct {
	tree
	spec  Spec
	at    map[string]*yaml.Node // key node of each given path
	list  *yaml.Node            // of the pipeline
	steps bool                  // whether the pipeline is valid
	axes  []rawAxis
}

// rawAxis is an unparsed axis; its values depend on the pipeline.
type rawAxis struct {
	file       string
	path       string
	key, value *yaml.Node
}

func newDecoder(file string) *decoder {
	return &decoder{tree: tree{file: file}, spec: New(), at: map[string]*yaml.Node{}}
}

// misspelt reports whether a key is present in another case, which is already reported.
func (d *decoder) misspelt(node *yaml.Node, key string) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if suggest.Nearest(node.Content[i].Value, []string{key}) != "" {
			return true
		}
	}
	return false
}

// mark records the positions of the keys of the sections.
func (d *decoder) mark(node *yaml.Node, prefix string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		path := yamlnode.Join(prefix, node.Content[i].Value)
		if d.at[path] == nil {
			d.at[path] = node.Content[i]
		}
		if child := node.Content[i+1]; child.Kind == yaml.MappingNode && path != "pipeline" && path != "search.grid" {
			d.mark(child, path)
		}
	}
}

// has reports whether the document or an override sets path.
func (d *decoder) has(path string) bool { return d.at[path] != nil }

// noSuch reports an unknown parameter at path. It suggests parameters that contain all words of the
// name in order, else the nearest.
func (d *decoder) noSuch(node *yaml.Node, path, name string, known []param.Param) {
	var paths, meant, below []string
	for _, p := range known {
		paths = append(paths, p.Path)
		if strings.HasPrefix(p.Path, name+".") {
			below = append(below, p.Path)
		}
		if containsInOrder(strings.Split(name, "."), strings.Split(p.Path, ".")) {
			meant = append(meant, p.Path)
		}
	}
	if near := suggest.Nearest(name, paths); near != "" && len(meant) == 0 {
		meant = []string{near}
	}
	f := param.FieldError{Problem: "no such parameter"}
	switch {
	case name == "pipeline":
		f = param.FieldError{Problem: "cannot replace a list of steps", Hint: "name one, such as " + paths[len(paths)-1]}
	case len(below) > 0:
		f = param.FieldError{Problem: "is a section, not a value", Hint: "keys: " + suggest.List(below)}
	case len(meant) > 0:
		f.Hint = "did you mean " + suggest.Alternatives(meant[:min(len(meant), 4)]) + "?"
	case len(paths) > 0:
		f.Hint = "there are " + suggest.List(paths)
	}
	d.problem(node, path, f)
}

// containsInOrder reports whether all words occur in there in the same order.
func containsInOrder(words, there []string) bool {
	for _, w := range there {
		if len(words) > 0 && words[0] == w {
			words = words[1:]
		}
	}
	return len(words) == 0
}
