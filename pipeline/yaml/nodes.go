package yaml

import (
	"fmt"
	"regexp"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// decoder decodes one document.
type decoder struct {
	from Origin
	errs param.FieldErrors
}

func (d *decoder) problem(node *tree.Node, path string, f param.FieldError) {
	f.File, f.Path = d.from.File, path
	if node != nil && node.Line > 0 {
		f.Line, f.Column = node.Line, node.Column
	}
	d.errs = append(d.errs, f)
}

// resolve returns the tree with its aliases expanded, or nil and an error if the expansion is
// unbounded.
func (d *decoder) resolve(node *tree.Node) *tree.Node {
	if node == nil {
		return nil
	}
	out, at, problem := new(yamlnode.Expander).Expand(node)
	if at != nil {
		d.problem(at, d.from.Path, param.FieldError{Problem: problem})
	}
	return out
}

// trees matches the names of tree ensembles and decision trees.
var trees = regexp.MustCompile(`(?i)forest|tree|boost|gbm|gbdt|cart`)

// unknown reports an unknown word and suggests known ones.
func (d *decoder) unknown(node *tree.Node, path, what string, known []string) {
	f := param.FieldError{Problem: fmt.Sprintf("no %s is called %q", what, clip(node.Value))}
	switch near := suggest.Nearest(node.Value, known); {
	case near != "":
		f.Hint = "did you mean " + near + "?"
	case what == "step" && trees.MatchString(node.Value):
		f.Hint = "there are no trees here; rff or binning with ridge or logistic also learn nonlinear functions, and " +
			"bochner auto compares them"
	case len(known) > 0:
		f.Hint = "there are " + strings.Join(known, ", ")
	default:
		f.Hint = "it has none"
	}
	d.problem(node, path, f)
}

func clip(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:57]) + "…"
	}
	return text
}

// pairs returns the entries of a mapping and reports duplicate keys and keys that are not strings.
func (d *decoder) pairs(node *tree.Node, path string) []yamlnode.Pair {
	return yamlnode.Pairs(node, path, d.problem)
}

// unreadable returns why a value is not plain, or "" if it is plain.
func unreadable(node *tree.Node) string {
	if node.Kind == tree.ScalarNode && !strings.HasPrefix(node.Tag, "!!") {
		return fmt.Sprintf("the tag %s; a value is a number, true, false, a string or a list", clip(node.Tag))
	}
	for _, child := range node.Content {
		if problem := unreadable(child); problem != "" {
			return problem
		}
	}
	return ""
}
