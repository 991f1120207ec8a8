// Package yamlnode reads and writes nodes of YAML documents: aliases within bounds, plain values, and numbers that read
// back to the bit.
package yamlnode

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// The bounds of a document, with every alias written out.
const (
	MaxNodes = 1 << 16
	MaxDepth = 64
)

// Expander copies nodes with aliases expanded. The limit applies to the total number of nodes.
type Expander struct{ nodes int }

// Expand returns a copy of a node without aliases; or nil, the node at which the limit is exceeded,
// and the reason.
func (e *Expander) Expand(node *yaml.Node) (out, at *yaml.Node, problem string) {
	return e.expand(node, 0)
}

func (e *Expander) expand(node *yaml.Node, depth int) (out, at *yaml.Node, problem string) {
	for node.Kind == yaml.AliasNode && node.Alias != nil && depth <= MaxDepth {
		node = node.Alias
		depth++
	}
	if depth > MaxDepth {
		return nil, node, fmt.Sprintf("nested more than %d deep", MaxDepth)
	}
	if e.nodes++; e.nodes > MaxNodes {
		return nil, node, fmt.Sprintf("with its aliases written out the file has more than %d values", MaxNodes)
	}
	grown := *node
	grown.Anchor, grown.Alias, grown.Content = "", nil, make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		if grown.Content[i], at, problem = e.expand(child, depth+1); at != nil {
			return nil, at, problem
		}
	}
	return &grown, nil, ""
}

// Pair is a key of a mapping and its value.
type Pair struct{ Key, Value *yaml.Node }

// Pairs returns the entries of the mapping at a path, the first of each key. The others are
// reported with their own paths, keys that are no words with that of the mapping.
func Pairs(node *yaml.Node, path string, report func(key *yaml.Node, path string, f param.FieldError)) []Pair {
	var out []Pair
	first := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			report(key, path, param.FieldError{Problem: "a key that is no word"})
			continue
		}
		if line, twice := first[key.Value]; twice {
			report(key, Join(path, key.Value), param.FieldError{Problem: "duplicate key",
				Hint: fmt.Sprintf("first on line %d", line)})
			continue
		}
		first[key.Value] = key.Line
		out = append(out, Pair{key, node.Content[i+1]})
	}
	return out
}

// Join returns the path of a name below a path, "" for the top.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// IsNull reports whether a node has no value.
func IsNull(node *yaml.Node) bool {
	return node == nil || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// Plain returns the plain value of a node without aliases, as package param takes it.
func Plain(node *yaml.Node) any {
	switch {
	case node == nil:
		return nil
	case node.Kind == yaml.SequenceNode:
		out := make([]any, len(node.Content))
		for i, child := range node.Content {
			out[i] = Plain(child)
		}
		return out
	case node.Kind == yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			out[node.Content[i].Value] = Plain(node.Content[i+1])
		}
		return out
	}
	return scalar(node)
}

// Mapping parses a document that is a mapping of plain values; nil if it is empty. Aliases are not expanded.
func Mapping(text string) (map[string]any, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil || len(root.Content) == 0 {
		return nil, err
	}
	out, is := Plain(root.Content[0]).(map[string]any)
	if !is {
		return nil, errors.New("yaml: must be a mapping")
	}
	return out, nil
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

// Of returns a plain value as a node, lists and maps on one line.
func Of(value any) *yaml.Node {
	switch v := value.(type) {
	case []any:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, element := range v {
			out.Content = append(out.Content, Of(element))
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
			out.Content = append(out.Content, Of(name), Of(v[name]))
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

// number formats a float so that it round-trips, and every YAML reader parses it as a float: with a
// decimal point, also before an exponent.
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

// Pointed inserts a decimal point into a number that has none, because YAML 1.1 parsers read 1e-08
// as a string, and all parsers read 1 as an integer.
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
