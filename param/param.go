// Package param declares, lists, checks and replaces the hyperparameters of a spec.
//
// A spec is a plain struct whose exported fields are the hyperparameters of a transformer or an
// estimator. It declares each in one line, like package flag:
//
//	func (s *RFF) Params(l *param.List) {
//		l.Float(&s.Offset, "offset", "shift of the inputs", param.Any)
//		l.Int(&s.Features, "features", "output width D", param.AtLeast(1))
//		l.Choice(&s.Map, "map", "real form of the map", "paired", "phase")
//	}
//
// The declaration provides decoding with defaults, validation that reports all errors with full
// paths, documentation, JSON schema, and replacement by path:
//
//	wider, err := param.With(spec, param.Setting{Path: "features", Value: 2000})
//
// A spec that contains other specs declares them with [List.Child], so that paths nest
// ("features.rff.gamma"). Functions of this package do not modify their arguments; [With] returns a
// copy.
//
// Plain values are those of YAML and JSON documents: nil, bool, int, float64, string, []any and
// map[string]any.
package param

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Declarer is a spec with hyperparameters. Params has a pointer receiver and binds each parameter
// to a field.
type Declarer interface {
	Params(l *List)
}

// Value is a parameter of a custom type, declared with [List.Value].
type Value interface {
	// Set sets the value from a plain value.
	Set(plain any) error
	// Get returns the plain value that Set would accept.
	Get() any
	// Constraint describes the values that Set accepts: "a positive number, or scale".
	Constraint() string
	// Check returns an error if the present value is invalid, such as one of a struct literal.
	Check() error
}

// Param describes one parameter of a spec and its value.
type Param struct {
	Path       string         // full path within the spec: "rff.gamma"
	Name       string         // last element of the path: "gamma"
	Doc        string         // description
	Kind       paramkind.Kind // kind of its plain value
	Constraint string         // description of the accepted values
	Options    []string       // of a Choice
	Range      Range          // of a Float, Int or Floats
	Complexity Complexity     // effect of a larger value on the complexity of the model
	Value      any            // plain value

	owner any // pointer to the copy that was listed
}

// Owner returns a copy of the spec that declares the parameter: the listed spec or a descendant.
func (p Param) Owner() any { return reflect.ValueOf(p.owner).Elem().Interface() }

// Complexity is the effect of a larger parameter value on the complexity of a model. The
// one-standard-error rule of searches uses it. The zero value means none, or not monotone.
type Complexity struct {
	Order   int  // of comparison: 1 for units of the model, 2 for a penalty, 3 for the roughness of its function
	Simpler bool // whether the model is simpler
}

// entry is a declared parameter with access to its field.
type entry struct {
	Param
	set    func(plain any) error
	get    func() any
	checks []func() error

	unlisted []string // further options of a choice
}

// List collects the declarations of a spec.
type List struct {
	entries  []*entry
	children []childField
	errs     FieldErrors // invalid declarations
}

// Setting is a new value for the parameter at Path: a plain value, any Go number, string, bool or slice
// of these, of any named type, or a [Value] of a field, such as kernel.GammaScale.
type Setting struct {
	Path  string
	Value any
}

// All lists the parameters of spec and of its children, in the order of declaration.
func All(spec any) []Param {
	_, l := open(spec)
	return l.params()
}

func (l *List) params() []Param {
	out := make([]Param, len(l.entries))
	for i, e := range l.entries {
		out[i] = e.Param
		out[i].Value = e.get()
	}
	return out
}

// Get returns the plain value of the parameter at path. The path may continue with an element of a
// list or a map, by its index or name: "scale.factors.age".
func Get(spec any, path string) (any, error) {
	_, l := open(spec)
	e, err := l.find(path)
	if err != nil {
		return nil, err
	}
	return e.get(), nil
}

// With returns a copy of spec in which the settings are replaced. It returns a [FieldError] for
// each setting that it cannot apply. It checks values individually; call [Check] for the result.
func With(spec any, settings ...Setting) (any, error) {
	result, l := open(spec)
	errs := l.errs
	for _, s := range settings {
		e, err := l.find(s.Path)
		if err == nil {
			err = e.set(toPlain(s.Value))
		}
		if err != nil {
			errs = append(errs, toFieldError(err, s.Path, s.Value, e))
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return result(), nil
}

// Check checks the value of every parameter of spec and returns all violations as [FieldErrors].
func Check(spec any) error {
	_, l := open(spec)
	errs := l.errs
	for _, e := range l.entries {
		for _, check := range e.checks {
			if err := check(); err != nil {
				errs = append(errs, toFieldError(err, e.Path, e.get(), e))
				break
			}
		}
	}
	return errs.Err()
}

func (l *List) find(path string) (*entry, error) {
	for _, e := range l.entries {
		if e.Path == path {
			return e, nil
		}
	}
	for _, e := range l.entries {
		if name, ok := strings.CutPrefix(path, e.Path+"."); ok {
			if element := e.element(name); element != nil {
				return element, nil
			}
		}
	}
	names := make([]string, len(l.entries))
	for i, e := range l.entries {
		names[i] = e.Path
	}
	f := FieldError{Path: path, Problem: "no such parameter"}
	ends := sameName(path, names)
	if near := suggest.Nearest(path, names); near != "" && len(ends) != 1 {
		f.Hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(ends) > 0 {
		f.Hint = fmt.Sprintf("did you mean %s?", suggest.Alternatives(ends))
	} else if len(names) > 0 {
		f.Hint = "there are " + strings.Join(names, ", ")
	}
	return nil, f
}

// maxSuggested is the number of paths that an error suggests.
const maxSuggested = 4

// sameName returns paths of parameters with the name at the end of path, as threshold.estimator.C for logistic.C.
func sameName(path string, paths []string) []string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	var out []string
	for _, p := range paths {
		if p[strings.LastIndexByte(p, '.')+1:] == name && len(out) < maxSuggested {
			out = append(out, p)
		}
	}
	return out
}

func (l *List) add(e *entry) {
	e.Path = e.Name
	if slices.ContainsFunc(l.entries, func(o *entry) bool { return o.Name == e.Name }) {
		panic("param: " + e.Name + " is declared twice")
	}
	l.entries = append(l.entries, e)
}
