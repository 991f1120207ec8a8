package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Step is a transformer's spec with the name it has in paths and messages.
type Step struct {
	Name   string             // "" stands for the name the spec is registered under
	Fitter transformer.Fitter // a spec: [transformer.RFF], [Columns], [Union], [Chain] …
}

// InputSized is a fitted step or model that knows how many columns go in. One that is read from a model
// file, or from the file of a pass, is held to the columns that come to it before a row does.
type InputSized interface {
	InputWidth() int
}

// Steps names the specs after the names they are registered under.
func Steps(fitters ...transformer.Fitter) []Step {
	steps := make([]Step, len(fitters))
	for i, f := range fitters {
		steps[i] = Step{Fitter: f}
	}
	return steps
}

// Path is the step's name in parameter paths.
func (s Step) Path() string {
	if s.Name != "" {
		return s.Name
	}
	return specName(s.Fitter)
}

// specName is the name spec is registered under, or that of its type in small letters: with the
// package's before it where a step is registered under that name, for spec is another.
func specName(spec any) string {
	if name, ok := registeredName(spec); ok {
		return name
	}
	name := fmt.Sprintf("%T", spec)
	name = strings.ToLower(strings.TrimLeft(name, "*"))
	own := name[strings.LastIndexByte(name, '.')+1:]
	if _, taken := Lookup(own); taken {
		return strings.ReplaceAll(name, ".", "_")
	}
	return own
}

func checkNames(what string, names []string) error {
	for i, name := range names {
		if !ValidName(name) {
			return fmt.Errorf("%s %d: name %s, wanted letters, digits, _ and -", what, i+1, strconv.Quote(name))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two %ss are called %q: give one of them another name", what, name)
		}
	}
	return nil
}

// ValidName says whether name, of letters, digits, _ and -, can stand in a path and in a file's name.
func ValidName(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r > 127:
		default:
			return false
		}
	}
	return name != ""
}

// named returns the steps with the names they have in paths.
func named(steps []Step) []rows.Spec {
	out := make([]rows.Spec, len(steps))
	for i, s := range steps {
		out[i] = rows.Spec{Name: s.Path(), Fitter: s.Fitter}
	}
	return out
}
