package document

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// FromFile says whether the spec was read from a file.
func (s Spec) FromFile() bool { return s.places != nil }

// File returns the name of the file that the spec was read from, "" for none.
func (s Spec) File() string {
	if s.places == nil {
		return ""
	}
	return s.places.file
}

// Given says whether the file, or an override, gives a value for a path.
func (s Spec) Given(path string) bool { return s.places != nil && s.places.at[path] != nil }

// Fault puts a fault at a path, and at its place in the file that the spec was read from.
func (s Spec) Fault(path string, f param.Fault) param.Fault { return s.places.fault(path, f) }

// places are where the values of a spec stand in its file.
type places struct {
	file  string
	at    map[string]*yaml.Node // key of each path that is given
	steps *yaml.Node            // of the pipeline
}

// fault puts f at a path, or at the section that it would be in.
func (p *places) fault(path string, f param.Fault) param.Fault {
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

// Unplaced returns the spec as one that stands in no file, so that faults name no line.
func (s Spec) Unplaced() Spec {
	s.places = nil
	return s
}
