package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/internal/yamlnode"
	"github.com/bochner-ml/bochner/param"
)

// decoder turns a document into a spec.
type decoder struct {
	tree
	spec  Spec
	at    map[string]*yaml.Node // key node of each path that is given
	list  *yaml.Node            // of the pipeline
	steps bool                  // whether the pipeline could be read
	axes  []rawAxis
}

// rawAxis is an axis as written; its values wait until the pipeline is known.
type rawAxis struct {
	file       string
	path       string
	key, value *yaml.Node
}

func newDecoder(file string) *decoder {
	return &decoder{tree: tree{file: file}, spec: New(), at: map[string]*yaml.Node{}}
}

// misspelt says whether a key is there in other letters, which is reported already.
func (d *decoder) misspelt(node *yaml.Node, key string) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if suggest.Nearest(node.Content[i].Value, []string{key}) != "" {
			return true
		}
	}
	return false
}

// mark remembers where each key of the sections stands.
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

// has reports whether the document or an override gives a value for path.
func (d *decoder) has(path string) bool { return d.at[path] != nil }

// noSuch reports, at path of the document, that none of the parameters is called name, and which may
// be meant: those that have all its words in order, or else the nearest.
func (d *decoder) noSuch(node *yaml.Node, path, name string, known []param.Param) {
	var paths, meant, below []string
	for _, p := range known {
		paths = append(paths, p.Path)
		if strings.HasPrefix(p.Path, name+".") {
			below = append(below, p.Path)
		}
		if within(strings.Split(name, "."), strings.Split(p.Path, ".")) {
			meant = append(meant, p.Path)
		}
	}
	if near := suggest.Nearest(name, paths); near != "" && len(meant) == 0 {
		meant = []string{near}
	}
	f := param.FieldError{Problem: "no such parameter"}
	switch {
	case name == "pipeline":
		f = param.FieldError{Problem: "the steps cannot be replaced, their values can", Hint: "name one, such as " + paths[len(paths)-1]}
	case len(below) > 0:
		f = param.FieldError{Problem: "it has values of its own and is none", Hint: "there are " + suggest.List(below)}
	case len(meant) > 0:
		f.Hint = "did you mean " + suggest.Alternatives(meant[:min(len(meant), 4)]) + "?"
	case len(paths) > 0:
		f.Hint = "there are " + suggest.List(paths)
	}
	d.fault(node, path, f)
}

// within says whether all words are there in that order.
func within(words, there []string) bool {
	for _, w := range there {
		if len(words) > 0 && words[0] == w {
			words = words[1:]
		}
	}
	return len(words) == 0
}
