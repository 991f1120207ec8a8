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
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/paramkind"
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
}

// Complexity says how a larger value of a parameter changes the complexity of a model. Searches that
// prefer simpler models compare candidates by it.
type Complexity int

// The ways to change a model. Those of units matter before those of penalties, and these before
// roughness.
const (
	NoComplexity Complexity = iota // not at all, or not in one direction
	MoreUnits                      // a larger model: random features, landmarks, clusters
	FewerUnits                     // a smaller model: rows that a bin needs to count
	MorePenalty                    // a stronger penalty: alpha of ridge regression
	LessPenalty                    // a weaker penalty: C of a support vector machine
	Rougher                        // rougher functions: gamma of a kernel
)

// entry is a declared parameter bound to its field.
type entry struct {
	Param
	set    func(plain any) error
	get    func() any
	checks []func() error
	owner  func() any // the spec that declares it
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

// Own lists the parameters of spec itself, leaving out those of its children.
func Own(spec any) []Param {
	return slices.DeleteFunc(All(spec), func(p Param) bool { return p.Path != p.Name })
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

// Owner returns the spec that declares the parameter at path by itself: spec, or the one among its
// children, and theirs, that has it.
func Owner(spec any, path string) (any, error) {
	_, l := open(spec)
	e, err := l.find(path)
	if err != nil {
		return nil, err
	}
	return e.owner(), nil
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

// Check reports every parameter of spec that is out of its range, as [FieldErrors].
func Check(spec any) error {
	return check(spec, func(*entry, *FieldError) {})
}

// CheckFit is Check of a spec that is about to be fitted, which a struct literal may have made with
// fields left out: of the first such field the fault says which constructor has its default.
func CheckFit(spec any) error {
	told := map[reflect.Type]bool{}
	return check(spec, func(e *entry, f *FieldError) {
		here := reflect.TypeFor[List]().PkgPath()
		module := strings.TrimSuffix(here, path.Base(here))
		owner := reflect.TypeOf(e.owner())
		if owner.Kind() == reflect.Pointer {
			owner = owner.Elem()
		}
		if f.Hint != "" || told[owner] || !isZero(f.Value) || !strings.HasPrefix(owner.PkgPath(), module) {
			return
		}
		told[owner] = true
		f.Hint = "start from New" + owner.Name() + "()"
	})
}

func isZero(plain any) bool {
	v := reflect.ValueOf(plain)
	return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

// check reports every parameter that is out of its range, and lets more say more of each.
func check(spec any, more func(e *entry, f *FieldError)) error {
	_, l := open(spec)
	faults := l.faults
	for _, e := range l.entries {
		for _, check := range e.checks {
			if err := check(); err != nil {
				f := asFault(err, e.Path, e.get(), e)
				more(e, &f)
				faults = append(faults, f)
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
	if near := Nearest(path, names); near != "" {
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
