package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/internal/yamlnode"
	"github.com/bochner-ml/bochner/param"
)

// MaxBytes is the size of the largest document: an experiment is written by hand, and a file that is larger is none.
const MaxBytes = 1 << 20

// tree is a YAML text that is being read, with all that is found wrong with it.
type tree struct {
	file     string
	faults   param.FieldErrors
	expander yamlnode.Expander
}

// parse returns the root mapping of a string, every alias replaced by a copy of what it stands for,
// or nil where there is none to be had.
func (t *tree) parse(text []byte) *yaml.Node {
	if len(text) > MaxBytes {
		t.faults = append(t.faults, param.FieldError{File: t.file, Problem: fmt.Sprintf("%d bytes, which is more than an experiment file may have (%d)", len(text), MaxBytes)})
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		t.syntax(text, err)
		return nil
	}
	if more := decoder.Decode(new(yaml.Node)); !errors.Is(more, io.EOF) {
		t.fault(&root, "", param.FieldError{Problem: "a second document begins, wanted one"})
		return nil
	}
	if len(root.Content) != 1 {
		t.faults = append(t.faults, param.FieldError{File: t.file, Line: 1, Column: 1, Problem: "the file is empty, wanted an experiment with data and a pipeline"})
		return nil
	}
	return t.expand(root.Content[0])
}

// yamlMessage finds the line in a message of the YAML reader.
var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntax turns an error of the YAML reader into a fault with a place.
func (t *tree) syntax(text []byte, err error) {
	if errors.Is(err, io.EOF) {
		t.faults = append(t.faults, param.FieldError{File: t.file, Line: 1, Column: 1, Problem: "the file is empty, wanted an experiment with data and a pipeline"})
		return
	}
	f := param.FieldError{File: t.file, Line: 1, Column: 1, Problem: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlMessage.FindStringSubmatch(err.Error()); m != nil {
		f.Problem = "not YAML: " + m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			f.Line = n
		}
	}
	if strings.Contains(f.Problem, "unknown anchor") || strings.Contains(f.Problem, "expected alphabetic or numeric character") && bytes.Contains(text, []byte("*")) {
		f.Hint = "a pattern that begins with * stands in quotes"
	}
	for i, row := range bytes.Split(text, []byte("\n")) {
		indent := row[:len(row)-len(bytes.TrimLeft(row, " \t"))]
		if at := bytes.IndexByte(indent, '\t'); at >= 0 {
			f.Line, f.Column, f.Problem = i+1, at+1, "a tab; YAML is indented with spaces"
			break
		}
	}
	t.faults = append(t.faults, f)
}

// fault records f at a node.
func (t *tree) fault(node *yaml.Node, path string, f param.FieldError) {
	f.File, f.Path = t.file, path
	if strings.HasPrefix(path, "data.sql") && f.Problem == "" && f.Constraint != "" {
		f.Value, f.Problem = nil, "wanted "+f.Constraint // what stands there may have a password in it
	}
	if node != nil && node.Line > 0 {
		f.Line, f.Column = node.Line, node.Column
	}
	t.faults = append(t.faults, f)
}

// expand copies a node with its aliases written out, nil where it grows beyond the bounds.
func (t *tree) expand(node *yaml.Node) *yaml.Node {
	out, at, problem := t.expander.Expand(node)
	if at != nil {
		t.fault(at, "", param.FieldError{Problem: problem})
	}
	return out
}

// pairs returns the entries of a mapping, the first of each key, and reports the others.
func (t *tree) pairs(node *yaml.Node, path string) []yamlnode.Pair {
	return yamlnode.Pairs(node, path, t.fault)
}

// section sets the parameters of spec below prefix to what the mapping says and returns the result.
// A key that is a path in special is given to its function instead.
func (t *tree) section(spec any, node *yaml.Node, prefix string, special map[string]func(key, value *yaml.Node)) any {
	if yamlnode.IsNull(node) {
		return spec
	}
	if node.Kind != yaml.MappingNode {
		t.fault(node, prefix, param.FieldError{Value: yamlnode.Plain(node), Constraint: "keys with values"})
		return spec
	}
	known := keysBelow(spec, prefix, special)
	for _, p := range t.pairs(node, prefix) {
		path := yamlnode.Join(prefix, p.Key.Value)
		switch apart := special[path]; {
		case apart != nil:
			apart(p.Key, p.Value)
		case !slices.Contains(known, p.Key.Value):
			t.unknown(p.Key, path, known)
		case isParam(spec, path):
			spec = t.set(spec, path, p.Value)
		default:
			spec = t.section(spec, p.Value, path, special)
		}
	}
	return spec
}

// set replaces one parameter by the value of a node.
func (t *tree) set(spec any, path string, node *yaml.Node) any {
	changed, err := param.With(spec, param.Setting{Path: path, Value: yamlnode.Plain(node)})
	if err != nil {
		var faults param.FieldErrors
		if errors.As(err, &faults) {
			for _, f := range faults {
				t.fault(node, path, f)
			}
		}
		return spec
	}
	return changed
}

// unknown reports a key that is not among the known ones.
func (t *tree) unknown(key *yaml.Node, path string, known []string) {
	f := param.FieldError{Problem: "unknown key", Hint: "there are " + strings.Join(known, ", ")}
	if near := suggest.Nearest(key.Value, known); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	t.fault(key, path, f)
}

// keysBelow lists the keys that may stand directly below prefix, in the order of declaration.
func keysBelow(spec any, prefix string, special map[string]func(key, value *yaml.Node)) []string {
	var out []string
	add := func(path string) {
		rest, below := strings.CutPrefix(path, prefix+".")
		if prefix == "" {
			rest, below = path, true
		}
		name, _, _ := strings.Cut(rest, ".")
		if below && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, p := range param.All(spec) {
		add(p.Path)
	}
	var apart []string
	for path := range special {
		apart = append(apart, path)
	}
	slices.Sort(apart)
	for _, path := range apart {
		add(path)
	}
	return out
}

// isParam reports whether spec has a parameter, or an element of one, at path.
func isParam(spec any, path string) bool {
	_, err := param.Get(spec, path)
	return err == nil
}

// ReadText reads a file, but not more of it than shows that it is larger than an experiment may be.
func ReadText(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, MaxBytes+1))
}
