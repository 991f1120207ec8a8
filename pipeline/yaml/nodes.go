package yaml

import (
	"fmt"
	"regexp"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
)

// The bounds of a document, aliases written out.
const (
	mostNodes = 1 << 16
	mostDepth = 64
)

// decoder reads one document.
type decoder struct {
	from   Origin
	faults param.Faults
	nodes  int
}

func (d *decoder) fault(node *tree.Node, path string, f param.Fault) {
	f.File, f.Path = d.from.File, path
	if node != nil && node.Line > 0 {
		f.Line, f.Column = node.Line, node.Column
	}
	d.faults = append(d.faults, f)
}

// resolve returns the tree with its aliases written out, or nil and a fault where that has no
// bounds.
func (d *decoder) resolve(node *tree.Node) *tree.Node {
	if node == nil {
		return nil
	}
	out := d.expand(node, 0)
	if out == nil {
		d.fault(node, d.from.Path, param.Fault{Problem: fmt.Sprintf(
			"with its aliases written out it has more than %d values, or is nested more than %d deep", mostNodes, mostDepth)})
	}
	return out
}

func (d *decoder) expand(node *tree.Node, depth int) *tree.Node {
	d.nodes++
	if d.nodes > mostNodes || depth > mostDepth {
		return nil
	}
	if node.Kind == tree.AliasNode {
		if node.Alias == nil {
			return nil
		}
		return d.expand(node.Alias, depth+1)
	}
	out := *node
	out.Anchor, out.Content = "", make([]*tree.Node, len(node.Content))
	for i, child := range node.Content {
		if out.Content[i] = d.expand(child, depth+1); out.Content[i] == nil {
			return nil
		}
	}
	return &out
}

// trees matches the names of tree ensembles and decision trees.
var trees = regexp.MustCompile(`(?i)forest|tree|boost|gbm|gbdt|cart`)

// unknown reports a word that is none of the known ones.
func (d *decoder) unknown(node *tree.Node, path, what string, known []string) {
	f := param.Fault{Problem: fmt.Sprintf("no %s is called %q", what, clip(node.Value))}
	switch near := param.Nearest(node.Value, known); {
	case near != "":
		f.Hint = "did you mean " + near + "?"
	case what == "step" && trees.MatchString(node.Value):
		f.Hint = "there are no trees here; rff or binning with ridge or logistic also learn nonlinear functions, and bochner auto compares them"
	case len(known) > 0:
		f.Hint = "there are " + strings.Join(known, ", ")
	default:
		f.Hint = "it has none"
	}
	d.fault(node, path, f)
}

func clip(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:57]) + "…"
	}
	return text
}

// pair is a key of a mapping and its value.
type pair struct{ key, value *tree.Node }

// pairs returns the entries of a mapping and reports keys that are there twice or no words.
func (d *decoder) pairs(node *tree.Node, path string) []pair {
	var out []pair
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != tree.ScalarNode || key.Tag == "!!merge" {
			d.fault(key, path, param.Fault{Problem: "a key that is no word"})
			continue
		}
		if line, twice := lines[key.Value]; twice {
			d.fault(key, join(path, key.Value), param.Fault{Problem: "duplicate key", Hint: fmt.Sprintf("first on line %d", line)})
			continue
		}
		lines[key.Value] = key.Line
		out = append(out, pair{key, node.Content[i+1]})
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isNull(node *tree.Node) bool {
	return node == nil || node.Kind == tree.ScalarNode && node.Tag == "!!null"
}

// unreadable says why a value is no plain value, "" where it is one.
func unreadable(node *tree.Node) string {
	if node.Kind == tree.ScalarNode && !strings.HasPrefix(node.Tag, "!!") {
		return fmt.Sprintf("the tag %s; a value is a number, true, false, a text or a list", clip(node.Tag))
	}
	for _, child := range node.Content {
		if problem := unreadable(child); problem != "" {
			return problem
		}
	}
	return ""
}

// plain returns the value of a node.
func plain(node *tree.Node) any {
	if node == nil {
		return nil
	}
	switch node.Kind {
	case tree.ScalarNode:
		if node.Tag == "!!str" || node.Tag == "!!timestamp" || node.Tag == "!!binary" {
			return node.Value
		}
		var v any
		if err := node.Decode(&v); err != nil {
			return node.Value
		}
		if n, ok := v.(int64); ok {
			return int(n)
		}
		return v
	case tree.SequenceNode:
		out := make([]any, len(node.Content))
		for i, child := range node.Content {
			out[i] = plain(child)
		}
		return out
	case tree.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			out[node.Content[i].Value] = plain(node.Content[i+1])
		}
		return out
	}
	return nil
}
