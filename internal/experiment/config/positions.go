package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// places are where the values of a spec stand in its file.
type places struct {
	file  string
	at    map[string]*yaml.Node // key of each path that is given
	steps *yaml.Node            // of the pipeline
}

// fault puts f at a path, or at the section that it would be in.
func (p *places) fault(path string, f param.FieldError) param.FieldError {
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

// step returns where the step with that path stands, as far as its first part tells.
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

// source is what an override is called in faults.
const source = "--set"
