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

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// MaxBytes is the maximum size of an experiment file.
const MaxBytes = 1 << 20

// tree is a YAML document being read, with its errors.
type tree struct {
	file     string
	errs     param.FieldErrors
	expander yamlnode.Expander
}

// parse returns the root mapping with all aliases expanded, or nil.
func (t *tree) parse(text []byte) *yaml.Node {
	if len(text) > MaxBytes {
		t.errs = append(t.errs, param.FieldError{File: t.file,
			Problem: fmt.Sprintf("an experiment file must have at most %[2]d bytes, got %[1]d", len(text), MaxBytes)})
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		t.syntax(text, err)
		return nil
	}
	if more := decoder.Decode(new(yaml.Node)); !errors.Is(more, io.EOF) {
		t.problem(&root, "", param.FieldError{Problem: "must contain one YAML document, got a second"})
		return nil
	}
	if len(root.Content) != 1 {
		t.errs = append(t.errs, param.FieldError{File: t.file, Line: 1, Column: 1,
			Problem: "the file is empty: an experiment needs the keys data and pipeline"})
		return nil
	}
	return t.expand(root.Content[0])
}

// yamlMessage matches the line number in a message of the YAML parser.
var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntax converts an error of the YAML parser to a positioned error.
func (t *tree) syntax(text []byte, err error) {
	if errors.Is(err, io.EOF) {
		t.errs = append(t.errs, param.FieldError{File: t.file, Line: 1, Column: 1,
			Problem: "the file is empty: an experiment needs the keys data and pipeline"})
		return
	}
	f := param.FieldError{File: t.file, Line: 1, Column: 1, Problem: "not YAML: " + strings.TrimPrefix(err.Error(),
		"yaml: ")}
	if m := yamlMessage.FindStringSubmatch(err.Error()); m != nil {
		f.Problem = "not YAML: " + m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			f.Line = n
		}
	}
	if strings.Contains(f.Problem, "unknown anchor") || strings.Contains(f.Problem,
		"expected alphabetic or numeric character") && bytes.Contains(text, []byte("*")) {
		f.Hint = "a pattern that begins with * stands in quotes"
	}
	for i, row := range bytes.Split(text, []byte("\n")) {
		indent := row[:len(row)-len(bytes.TrimLeft(row, " \t"))]
		if at := bytes.IndexByte(indent, '\t'); at >= 0 {
			f.Line, f.Column, f.Problem = i+1, at+1, "a tab; YAML is indented with spaces"
			break
		}
	}
	t.errs = append(t.errs, f)
}

// problem records f at a node.
func (t *tree) problem(node *yaml.Node, path string, f param.FieldError) {
	f.File, f.Path = t.file, path
	if strings.HasPrefix(path, "data.sql") && f.Problem == "" && f.Constraint != "" {
		f.Value, f.Problem = nil, "must be "+f.Constraint // the value may contain a password
	}
	if node != nil && node.Line > 0 {
		f.Line, f.Column = node.Line, node.Column
	}
	t.errs = append(t.errs, f)
}

// expand copies a node with its aliases expanded, or returns nil beyond the size limit.
func (t *tree) expand(node *yaml.Node) *yaml.Node {
	out, at, problem := t.expander.Expand(node)
	if at != nil {
		t.problem(at, "", param.FieldError{Problem: problem})
	}
	return out
}

// pairs returns the entries of a mapping and reports duplicate keys.
func (t *tree) pairs(node *yaml.Node, path string) []yamlnode.Pair {
	return yamlnode.Pairs(node, path, t.problem)
}

// section sets the parameters of spec below prefix from a mapping and returns the result. Keys in
// special are passed to their function.
func (t *tree) section(spec any, node *yaml.Node, prefix string, special map[string]func(key, value *yaml.Node)) any {
	if yamlnode.IsNull(node) {
		return spec
	}
	if node.Kind != yaml.MappingNode {
		t.problem(node, prefix, param.FieldError{Value: yamlnode.Plain(node), Constraint: "a mapping"})
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

// set sets one parameter from a node.
func (t *tree) set(spec any, path string, node *yaml.Node) any {
	changed, err := param.With(spec, param.Setting{Path: path, Value: yamlnode.Plain(node)})
	if err != nil {
		var errs param.FieldErrors
		if errors.As(err, &errs) {
			for _, f := range errs {
				t.problem(node, path, f)
			}
		}
		return spec
	}
	return changed
}

// unknown reports an unknown key.
func (t *tree) unknown(key *yaml.Node, path string, known []string) {
	f := param.FieldError{Problem: "unknown key", Hint: "keys: " + strings.Join(known, ", ")}
	if near := suggest.Nearest(key.Value, known); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	t.problem(key, path, f)
}

// keysBelow returns the keys directly below prefix, in the order of declaration.
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

// isParam reports whether path is a parameter of spec or an element of one.
func isParam(spec any, path string) bool {
	_, err := param.Get(spec, path)
	return err == nil
}

// ReadText reads a file up to a size beyond [MaxBytes].
func ReadText(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, MaxBytes+1))
}
