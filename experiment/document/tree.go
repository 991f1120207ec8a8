package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// The bounds of a document: an experiment is written by hand, and a file that is larger is none.
const (
	MaxBytes = 1 << 20 // of text
	maxNodes = 1 << 16 // with every alias written out
	maxDepth = 64      // of nesting
)

// tree is a YAML text that is being read, with all that is found wrong with it.
type tree struct {
	file   string
	faults param.Faults
	nodes  int
}

// parse returns the root mapping of a text, every alias replaced by a copy of what it stands for,
// or nil where there is none to be had.
func (t *tree) parse(text []byte) *yaml.Node {
	if len(text) > MaxBytes {
		t.faults = append(t.faults, param.Fault{File: t.file, Problem: fmt.Sprintf("%d bytes, which is more than an experiment file may have (%d)", len(text), MaxBytes)})
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		t.syntax(text, err)
		return nil
	}
	if more := decoder.Decode(new(yaml.Node)); !errors.Is(more, io.EOF) {
		t.fault(&root, "", param.Fault{Problem: "a second document begins, wanted one"})
		return nil
	}
	if len(root.Content) != 1 {
		t.faults = append(t.faults, param.Fault{File: t.file, Line: 1, Column: 1, Problem: "the file is empty, wanted an experiment with data and a pipeline"})
		return nil
	}
	return t.expand(root.Content[0], 0)
}

// yamlMessage finds the line in a message of the YAML reader.
var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntax turns an error of the YAML reader into a fault with a place.
func (t *tree) syntax(text []byte, err error) {
	if errors.Is(err, io.EOF) {
		t.faults = append(t.faults, param.Fault{File: t.file, Line: 1, Column: 1, Problem: "the file is empty, wanted an experiment with data and a pipeline"})
		return
	}
	f := param.Fault{File: t.file, Line: 1, Column: 1, Problem: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
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
func (t *tree) fault(node *yaml.Node, path string, f param.Fault) {
	f.File, f.Path = t.file, path
	if strings.HasPrefix(path, "data.sql") && f.Problem == "" && f.Wanted != "" {
		f.Value, f.Problem = nil, "wanted "+f.Wanted // what stands there may have a password in it
	}
	if node != nil && node.Line > 0 {
		f.Line, f.Column = node.Line, node.Column
	}
	t.faults = append(t.faults, f)
}

// expand copies a tree with its aliases written out, and refuses one that grows beyond the bounds,
// and keys that are no plain words.
func (t *tree) expand(node *yaml.Node, depth int) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		at := *node
		node = at.Alias
		if depth++; depth > maxDepth || node == nil {
			break
		}
	}
	t.nodes++
	switch {
	case t.nodes > maxNodes:
		if t.nodes == maxNodes+1 {
			t.fault(node, "", param.Fault{Problem: fmt.Sprintf("with its aliases written out the file has more than %d values", maxNodes)})
		}
		return nil
	case depth > maxDepth:
		t.fault(node, "", param.Fault{Problem: fmt.Sprintf("nested more than %d deep", maxDepth)})
		t.nodes = maxNodes + 1
		return nil
	}
	out := *node
	out.Anchor, out.Alias, out.Content = "", nil, make([]*yaml.Node, 0, len(node.Content))
	for _, child := range node.Content {
		grown := t.expand(child, depth+1)
		if grown == nil {
			return nil
		}
		out.Content = append(out.Content, grown)
	}
	return &out
}

// pair is one key of a mapping with its value.
type pair struct {
	key, value *yaml.Node
}

// pairs returns the entries of a mapping, the first of each key, and reports the others.
func (t *tree) pairs(node *yaml.Node, path string) []pair {
	var out []pair
	first := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode {
			t.fault(key, path, param.Fault{Problem: "a key that is no word"})
			continue
		}
		if at, twice := first[key.Value]; twice {
			t.fault(key, join(path, key.Value), param.Fault{Problem: "duplicate key", Hint: fmt.Sprintf("first on line %d", at)})
			continue
		}
		first[key.Value] = key.Line
		out = append(out, pair{key, node.Content[i+1]})
	}
	return out
}

// section sets the parameters of spec below prefix to what the mapping says and returns the result.
// A key that is a path in special is given to its function instead.
func (t *tree) section(spec any, node *yaml.Node, prefix string, special map[string]func(key, value *yaml.Node)) any {
	if isNull(node) {
		return spec
	}
	if node.Kind != yaml.MappingNode {
		t.fault(node, prefix, param.Fault{Value: plain(node), Wanted: "keys with values"})
		return spec
	}
	known := keysBelow(spec, prefix, special)
	for _, p := range t.pairs(node, prefix) {
		path := join(prefix, p.key.Value)
		switch apart := special[path]; {
		case apart != nil:
			apart(p.key, p.value)
		case !slices.Contains(known, p.key.Value):
			t.unknown(p.key, path, known)
		case isParam(spec, path):
			spec = t.set(spec, path, p.value)
		default:
			spec = t.section(spec, p.value, path, special)
		}
	}
	return spec
}

// set replaces one parameter by the value of a node.
func (t *tree) set(spec any, path string, node *yaml.Node) any {
	changed, err := param.With(spec, param.Setting{Path: path, Value: plain(node)})
	if err != nil {
		var faults param.Faults
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
	f := param.Fault{Problem: "unknown key", Hint: "there are " + strings.Join(known, ", ")}
	if near := param.Nearest(key.Value, known); near != "" {
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

func isNull(node *yaml.Node) bool {
	return node == nil || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// plain returns the plain value of a node without aliases, as package param takes it.
func plain(node *yaml.Node) any {
	switch node.Kind {
	case yaml.SequenceNode:
		out := make([]any, len(node.Content))
		for i, child := range node.Content {
			out[i] = plain(child)
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			out[node.Content[i].Value] = plain(node.Content[i+1])
		}
		return out
	}
	return scalar(node)
}

func scalar(node *yaml.Node) any {
	switch node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		var v bool
		if node.Decode(&v) == nil {
			return v
		}
	case "!!int":
		var v int
		if node.Decode(&v) == nil {
			return v
		}
		var wide uint64
		if node.Decode(&wide) == nil {
			return wide
		}
		if f, err := strconv.ParseFloat(node.Value, 64); err == nil {
			return f
		}
	case "!!float":
		var v float64
		if node.Decode(&v) == nil {
			return v
		}
	}
	return node.Value
}

// nodeOf writes a plain value as a node, lists and short maps on one line.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case []any:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, element := range v {
			out.Content = append(out.Content, nodeOf(element))
		}
		return out
	case map[string]any:
		out := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			out.Content = append(out.Content, nodeOf(name), nodeOf(v[name]))
		}
		return out
	case float64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: number(v)}
	}
	out := &yaml.Node{}
	if err := out.Encode(value); err != nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: fmt.Sprint(value)}
	}
	return out
}

// number writes a float so that reading it gives the same bits, and every reader of YAML takes it for
// a float: with a point, also before an exponent.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return ".nan"
	case math.IsInf(v, 1):
		return ".inf"
	case math.IsInf(v, -1):
		return "-.inf"
	}
	return Pointed(strconv.FormatFloat(v, 'g', -1, 64))
}

// Pointed puts a point into a number that has none: 1e-08 is a text to readers of YAML 1.1, and 1 a
// whole number to all.
func Pointed(number string) string {
	if strings.Contains(number, ".") {
		return number
	}
	mantissa, exponent, scaled := strings.Cut(number, "e")
	if scaled {
		return mantissa + ".0e" + exponent
	}
	return mantissa + ".0"
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
