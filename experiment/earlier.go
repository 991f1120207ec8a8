package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// EarlierRun is the error of a run that would replace another one's results: output.dir holds a finished
// run of another spec or of other data. Options.Force replaces them.
type EarlierRun struct {
	Dir         string
	Differences []string // "pipeline.rff.gamma: 0.05 → 0.1"
}

// Error says what differs, and the ways out.
func (e *EarlierRun) Error() string {
	const most = 8
	lines := e.Differences
	if len(lines) > most {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
	}
	return fmt.Sprintf("experiment: %s holds the results of another run, which this one would replace:\n  %s\n--force replaces them, --set output.dir=… keeps both", e.Dir, strings.Join(lines, "\n  "))
}

// earlier returns an [*EarlierRun] where the output folder has a finished run that differs from this
// one in more than names and the time it may take.
func (s Spec) earlier(data Digests) error {
	at := filepath.Join(s.Output.Dir, "spec.yaml")
	text, err := os.ReadFile(at)
	if err != nil {
		return nil
	}
	then, err := os.ReadFile(filepath.Join(s.Output.Dir, "result.json"))
	if err != nil {
		return nil // it has not come to an end
	}
	out := &EarlierRun{Dir: s.Output.Dir}
	var result Result
	if err := json.Unmarshal(then, &result); err != nil {
		out.Differences = []string{"result.json: it cannot be read"}
		return out
	}
	old, err := values(at, text)
	if err != nil {
		out.Differences = []string{"spec.yaml: it cannot be read: " + strings.Split(err.Error(), "\n")[0]}
		return out
	}
	now, err := s.Encode(at)
	if err != nil {
		return err
	}
	own, err := values(at, now)
	if err != nil {
		return err
	}
	out.Differences = differences(old, own)
	for _, file := range []struct{ path, then, now string }{{"data.train", result.SHA256.Train, data.Train}, {"data.test", result.SHA256.Test, data.Test}} {
		if file.then != file.now {
			out.Differences = append(out.Differences, fmt.Sprintf("%s: other contents (SHA-256 %s → %s)", file.path, start(file.then), start(file.now)))
		}
	}
	if len(out.Differences) == 0 {
		return nil
	}
	return out
}

// start is the beginning of a digest.
func start(digest string) string {
	if len(digest) < 12 {
		return "none"
	}
	return digest[:12] + "…"
}

// setting is a value of a spec.
type setting struct{ path, value string }

// values lists the values of the spec in a text, defaults among them, which say what comes out.
func values(file string, text []byte) ([]setting, error) {
	d := newDecoder(file)
	if root := d.parse(text); root != nil {
		d.decode(root, nil)
	}
	if err := d.faults.Err(); err != nil {
		return nil, err
	}
	s := d.spec
	s.Name, s.Output, s.Data.Train, s.Data.Test = "", Output{}, "", "" // the files' contents count
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
			out = append(out, flatten(node.Content[i+1], join(path, node.Content[i].Value))...)
		}
	case node.Kind == yaml.SequenceNode && slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }):
		for i, element := range node.Content {
			out = append(out, flattenElement(element, path, i)...)
		}
	default:
		out = append(out, setting{path, flow(plain(node))})
	}
	return out
}

func flattenElement(node *yaml.Node, path string, i int) []setting {
	if node.Kind != yaml.MappingNode {
		return []setting{{join(path, node.Value), "present"}}
	}
	for k := 0; k+1 < len(node.Content); k += 2 {
		if node.Content[k].Value == "name" {
			return flatten(node, join(path, node.Content[k+1].Value))
		}
	}
	if len(node.Content) == 2 {
		return append([]setting{{join(path, node.Content[0].Value), "present"}}, flatten(node, path)...)
	}
	return flatten(node, fmt.Sprintf("%s[%d]", path, i))
}

// differences lists the values that are not the same in two specs.
func differences(old, now []setting) (out []string) {
	values := func(list []setting) map[string]string {
		m := map[string]string{}
		for _, s := range list {
			m[s.path] += s.value
		}
		return m
	}
	a, b := values(old), values(now)
	told := map[string]bool{}
	for _, s := range append(slices.Clone(now), old...) {
		was, then := a[s.path]
		is, still := b[s.path]
		path := s.path
		switch {
		case then && still && was == is:
			continue
		case !then:
			path, was = absent(a, path), "none"
		case !still:
			path, is = absent(b, path), "none"
		}
		if told[path] {
			continue
		}
		told[path] = true
		switch {
		case path == s.path:
		case then:
			was = "given"
		default:
			is = "given"
		}
		out = append(out, fmt.Sprintf("%s: %s → %s", path, was, is))
	}
	return out
}

// absent returns the largest section that path is in of which there is nothing.
func absent(values map[string]string, path string) string {
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
