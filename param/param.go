// Package param declares, lists, checks and replaces the hyper-parameters of a spec.
//
// A spec is a plain struct whose exported fields are the hyper-parameters of a transformer or an
// estimator. It declares them once, one line for each, in the manner of package flag:
//
//	func (s *RFF) Params(l *param.List) {
//		l.Float(&s.Offset, "offset", "shift of the inputs", param.Any)
//		l.Int(&s.Features, "features", "output width D", param.AtLeast(1))
//		l.Choice(&s.Map, "map", "real form of the map", "paired", "phase")
//	}
//
// From that declaration come decoding and its defaults, checks that report every fault at once with
// its full path, tables of documentation, the JSON schema, and replacement by path:
//
//	wider, err := param.With(spec, param.Setting{Path: "features", Value: 2000})
//
// A spec that holds other specs declares them with [List.Child], so that paths nest
// ("features.rff.gamma"). Nothing here changes the spec it is given: [With] returns another one.
//
// Plain values are what a YAML or JSON document can hold: nil, bool, int, float64, string, []any
// and map[string]any.
package param

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/paramkind"
	"github.com/bochner-ml/bochner/internal/suggest"
)

// Declarer is a spec that has hyper-parameters. The method has a pointer receiver and binds each
// parameter to a field.
type Declarer interface {
	Params(l *List)
}

// Value is a parameter of a kind of its own, bound with [List.Value].
type Value interface {
	// Set takes a plain value, or says what is wrong with it.
	Set(plain any) error
	// Plain returns the value as Set would take it.
	Plain() any
	// Wanted says in a few words what Set takes: "a positive number, or scale".
	Wanted() string
	// Check says what is wrong with the value as it stands, which a struct literal may have made.
	Check() error
}

// Param describes one parameter of a spec and its value.
type Param struct {
	Path       string         // full path within the spec: "rff.gamma"
	Name       string         // last element of the path: "gamma"
	Doc        string         // what it is
	Kind       paramkind.Kind // its plain kind
	Wanted     string         // what it takes, in words
	Options    []string       // of a Choice
	Range      Range          // of a Float, Int or Floats
	Complexity Complexity     // how a larger value changes the model
	Value      any            // the plain value it has

	owner func() any
}

// Owner returns a copy of the spec that declares the parameter: the listed spec or a descendant.
func (p Param) Owner() any { return p.owner() }

// Complexity says how a larger value of a parameter changes the complexity of a model. Searches that
// prefer simpler models compare candidates by it.
type Complexity int

// The ways to change a model. Those of units matter before those of penalties, and these before
// roughness.
const (
	MoreUnits   Complexity = iota + 1 // a larger model: random features, landmarks, clusters
	FewerUnits                        // a smaller model: rows that a bin needs to count
	MorePenalty                       // a stronger penalty: alpha of ridge regression
	LessPenalty                       // a weaker penalty: C of a support vector machine
	Rougher                           // rougher functions: gamma of a kernel
)

// entry is a declared parameter bound to its field.
type entry struct {
	Param
	set    func(plain any) error
	get    func() any
	checks []func() error
}

// List collects what a spec declares.
type List struct {
	entries  []*entry
	children []childField
	faults   FieldErrors // of specs that cannot declare parameters
}

// Setting is a new value for the parameter at Path: a plain one, or any Go number, text, truth value or
// slice of these, whatever its size and the name of its type.
type Setting struct {
	Path  string
	Value any
}

// All lists the parameters of spec, those of its children included, in the order of declaration.
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

// Get returns the plain value of the parameter at path. Here and in [With], a path may go on to an element of a list
// or a map, by its number from 0 or its name: "scale.factors.age".
func Get(spec any, path string) (any, error) {
	_, l := open(spec)
	e, err := l.find(path)
	if err != nil {
		return nil, err
	}
	return e.get(), nil
}

// With returns a copy of spec, of the same type, with the settings replaced. Every setting that
// cannot be is a [FieldError] of the error. Values are checked one by one; [Check] the result. Where the type of
// spec is known, [Replace] saves the type assertion, and a pipeline has a method With of its own.
func With(spec any, settings ...Setting) (any, error) {
	result, l := open(spec)
	faults := l.faults
	for _, s := range settings {
		e, err := l.find(s.Path)
		if err == nil {
			err = e.set(plainOf(s.Value))
		}
		if err != nil {
			faults = append(faults, asFault(err, s.Path, s.Value, e))
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return result(), nil
}

// Replace is [With] for a program that knows the type of spec and is compiled, for it is generic:
//
//	rff, err := param.Replace(transformer.NewRFF(), param.Setting{Path: "features", Value: 500})
func Replace[T any](spec T, settings ...Setting) (T, error) {
	set, err := With(spec, settings...)
	out, _ := set.(T) // nothing where there is an error
	return out, err
}

// Check checks the value of every parameter of spec and returns all violations as [FieldErrors].
func Check(spec any) error {
	_, l := open(spec)
	faults := l.faults
	for _, e := range l.entries {
		for _, check := range e.checks {
			if err := check(); err != nil {
				faults = append(faults, asFault(err, e.Path, e.get(), e))
				break
			}
		}
	}
	return faults.Err()
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
	if near := suggest.Nearest(path, names); near != "" {
		f.Hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(names) > 0 {
		f.Hint = "there are " + strings.Join(names, ", ")
	}
	return nil, f
}

func (l *List) add(e *entry) {
	e.Path = e.Name
	if slices.ContainsFunc(l.entries, func(o *entry) bool { return o.Name == e.Name }) {
		panic("param: " + e.Name + " is declared twice")
	}
	l.entries = append(l.entries, e)
}
