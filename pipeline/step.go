package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/transformer"
)

// Step is a transformer's spec with the name it has in paths and messages.
type Step struct {
	Name   string             // "" stands for the name the spec is registered under
	Fitter transformer.Fitter // a spec: [transformer.RFF], [Columns], [Union], [Chain] …
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

// located is an error with the place in a pipeline where it happened.
type located struct {
	place    string // `step "columns": group "numeric"`
	err      error
	upstream bool // whether it happened while rows were mapped for a later step
}

func (e *located) Error() string {
	if e.place == "" {
		return "pipeline: " + e.err.Error()
	}
	return "pipeline: " + e.place + ": " + e.err.Error()
}

func (e *located) Unwrap() error { return e.err }

// at says that err happened at the named part; a cancellation stays as it is. Names of parts within
// parts become one place. What happened to a step before, whose rows the part was reading, stays
// with that step.
func at(what, name string, err error) error {
	if err == nil || err == context.Canceled || err == context.DeadlineExceeded {
		return err
	}
	place := fmt.Sprintf("%s %q", what, name)
	var inner *located
	if errors.As(err, &inner) && inner.upstream {
		return &located{place: inner.place, err: inner.err}
	}
	if inner != nil && inner == err {
		if inner.place != "" {
			place += ": " + inner.place
		}
		return &located{place: place, err: inner.err}
	}
	return &located{place: place, err: err}
}

// here says that err is the pipeline's own.
func here(err error) error {
	var inner *located
	if err == nil || err == context.Canceled || err == context.DeadlineExceeded || errors.As(err, &inner) && inner == err {
		return err
	}
	return &located{err: err}
}
