package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// places are the positions of values in a file.
type places struct {
	file  string
	at    map[string]*yaml.Node // key node of each given path
	steps *yaml.Node            // of the pipeline
}

// problem adds the position of a path, or of its section, to f.
func (p *places) problem(path string, f param.FieldError) param.FieldError {
	f.Path = path
	if p == nil {
		return f
	}
	f.File = p.file
	switch node := p.find(path); {
	case node == nil:
	case node.Line == 0:
		f.File = source
	default:
		f.Line, f.Column = node.Line, node.Column
	}
	return f
}

func (p *places) find(path string) *yaml.Node {
	if step, ok := strings.CutPrefix(path, "pipeline."); ok && p.steps != nil {
		return p.step(step)
	}
	for {
		if node := p.at[path]; node != nil {
			return node
		}
		end := strings.LastIndexByte(path, '.')
		if end < 0 {
			return nil
		}
		path = path[:end]
	}
}

// step returns the node of a pipeline step, as far as the path begins with its name.
func (p *places) step(path string) *yaml.Node {
	name, _, _ := strings.Cut(path, ".")
	for _, step := range p.steps.Content {
		for _, word := range append([]*yaml.Node{step}, step.Content...) {
			if word.Value == name {
				return word
			}
		}
	}
	return p.steps
}

// source is the file name of overrides in errors.
const source = "--set"
