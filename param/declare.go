package param

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Float declares a number.
func (l *List) Float(p *float64, name, doc string, r Range) {
	l.add(&entry{
		Param: Param{Name: name, Doc: doc, Kind: paramkind.Float, Range: r, Constraint: "a number" + r.describe()},
		set: func(plain any) error {
			v, ok := float(plain)
			if !ok {
				return errConstraint
			}
			*p = v
			return r.check(v)
		},
		get:    func() any { return *p },
		checks: []func() error{func() error { return r.check(*p) }},
	})
}

// Int declares an integer. Without an upper bound, the maximum is that of int32.
func (l *List) Int(p *int, name, doc string, r Range) {
	check := func(v int) error {
		if math.IsInf(r.High, 1) && v > math.MaxInt32 {
			return FieldError{Hint: fmt.Sprintf("at most %d", math.MaxInt32)}
		}
		return r.check(float64(v))
	}
	l.add(&entry{
		Param: Param{Name: name, Doc: doc, Kind: paramkind.Int, Range: r, Constraint: "an integer" + r.describe()},
		set: func(plain any) error {
			v, ok := integer(plain)
			if !ok {
				return errConstraint
			}
			*p = v
			return check(v)
		},
		get:    func() any { return *p },
		checks: []func() error{func() error { return check(*p) }},
	})
}

// Bool declares a boolean.
func (l *List) Bool(p *bool, name, doc string) {
	l.add(&entry{
		Param: Param{Name: name, Doc: doc, Kind: paramkind.Bool, Constraint: "a boolean"},
		set:   assign(p),
		get:   func() any { return *p },
	})
}

// String declares a string.
func (l *List) String(p *string, name, doc string) {
	l.add(&entry{
		Param: Param{Name: name, Doc: doc, Kind: paramkind.String, Constraint: "a string"},
		set:   assign(p),
		get:   func() any { return *p },
	})
}

// Choice declares a string that must be one of the options.
func (l *List) Choice(p *string, name, doc string, options ...string) {
	l.choice(p, nil, name, doc, options)
}

// ChoiceOr declares a string that must be one of the options, or what other sets it to from a list or a
// map. A method Hint(v string) string of other explains why a string v is no option, "" if it cannot.
func (l *List) ChoiceOr(p *string, other Value, name, doc string, options ...string) {
	l.choice(p, other, name, doc, options)
	e := l.declared("ChoiceOr", name)
	e.Kind, e.Constraint = paramkind.Mixed, strings.Join(options, ", ")+" or "+other.Constraint()
}

// choice declares one of the options, or a value of other if it is not nil.
func (l *List) choice(p *string, other Value, name, doc string, options []string) {
	e := &entry{Param: Param{Name: name, Doc: doc, Kind: paramkind.Choice, Options: options,
		Constraint: suggest.Alternatives(options)}}
	isOther := func() bool { return other != nil && strings.HasPrefix(*p, "{") }
	check := func(v string) error {
		if slices.Contains(options, v) || slices.Contains(e.unlisted, v) {
			return nil
		}
		if near := suggest.Nearest(v, options); near != "" {
			return FieldError{Hint: fmt.Sprintf("did you mean %s?", near)}
		}
		if other != nil && !strings.HasPrefix(v, "{") {
			if e, ok := other.Set(v).(FieldError); ok && e.Hint != "" {
				return FieldError{Hint: e.Hint}
			}
		}
		return errConstraint
	}
	e.set = func(plain any) error {
		v, ok := plain.(string)
		switch {
		case !ok && other != nil:
			return other.Set(plain)
		case !ok:
			return errConstraint
		}
		*p = v
		return check(v)
	}
	e.get = func() any {
		if isOther() {
			return other.Get()
		}
		return *p
	}
	e.checks = []func() error{func() error {
		if isOther() {
			return other.Check()
		}
		return check(*p)
	}}
	l.add(e)
}

// Seed declares the seed of random draws. Readers that derive seeds, such as those of experiments,
// recognize it by its kind.
func (l *List) Seed(p *uint64, name, doc string) {
	l.add(&entry{
		Param: Param{Name: name, Doc: doc, Kind: paramkind.Seed, Range: AtLeast(0), Constraint: "an integer ≥ 0"},
		set: func(plain any) error {
			if v, ok := plain.(uint64); ok {
				*p = v
				return nil
			}
			v, ok := integer(plain)
			if !ok || v < 0 {
				return errConstraint
			}
			*p = uint64(v)
			return nil
		},
		get: func() any {
			if *p <= math.MaxInt {
				return int(*p)
			}
			return *p
		},
	})
}

// Floats declares a list of numbers.
func (l *List) Floats(p *[]float64, name, doc string, r Range) {
	l.add(&entry{
		Param: Param{Name: name, Doc: doc, Kind: paramkind.Floats, Range: r, Constraint: "a list of numbers" + r.describe()},
		set: func(plain any) error {
			list, ok := plain.([]any)
			if !ok {
				return errConstraint
			}
			out := make([]float64, len(list))
			for i, v := range list {
				if out[i], ok = float(v); !ok {
					return errConstraint
				}
			}
			*p = out
			return r.checkAll(out)
		},
		get: func() any {
			out := make([]any, len(*p))
			for i, v := range *p {
				out[i] = v
			}
			return out
		},
		checks: []func() error{func() error { return r.checkAll(*p) }},
	})
}

// Names declares a list of strings, such as column names.
func (l *List) Names(p *[]string, name, doc string) {
	l.add(&entry{
		Param: Param{Name: name, Doc: doc, Kind: paramkind.Names, Constraint: "a list of names"},
		set: func(plain any) error {
			list, ok := plain.([]any)
			if !ok {
				return errConstraint
			}
			out := make([]string, len(list))
			for i, v := range list {
				if out[i], ok = v.(string); !ok {
					return errConstraint
				}
			}
			*p = out
			return nil
		},
		get: func() any {
			out := make([]any, len(*p))
			for i, v := range *p {
				out[i] = v
			}
			return out
		},
	})
}

// Value declares a parameter of a custom type.
func (l *List) Value(v Value, name, doc string) {
	l.add(&entry{
		Param:  Param{Name: name, Doc: doc, Kind: paramkind.Mixed, Constraint: v.Constraint()},
		set:    v.Set,
		get:    v.Get,
		checks: []func() error{v.Check},
	})
}

// Check adds a check to a declared parameter that may depend on other parameters. The text of its
// error is the constraint: "must be TEXT, got VALUE".
func (l *List) Check(name string, check func() error) {
	e := l.declared("Check", name)
	e.checks = append(e.checks, check)
}

// Unlisted adds options to a declared [List.Choice] that documentation, schemas and messages omit, because they
// need a value that a document cannot contain, such as a function. A [List.Check] must refuse them without it.
func (l *List) Unlisted(name string, options ...string) {
	e := l.declared("Unlisted", name)
	e.unlisted = append(e.unlisted, options...)
}

// MoreUnits declares that a larger value of a declared parameter makes a larger model: more random features, landmarks,
// clusters. Searches prefer simpler models.
func (l *List) MoreUnits(name string) {
	l.declared("MoreUnits", name).Complexity = Complexity{1, false}
}

// FewerUnits declares that a larger value makes a smaller model: the minimum number of rows of a bin.
func (l *List) FewerUnits(name string) {
	l.declared("FewerUnits", name).Complexity = Complexity{1, true}
}

// MorePenalty declares that a larger value is a stronger penalty: alpha of ridge regression.
func (l *List) MorePenalty(name string) {
	l.declared("MorePenalty", name).Complexity = Complexity{2, true}
}

// LessPenalty declares that a larger value is a weaker penalty: C of a support vector machine.
func (l *List) LessPenalty(name string) {
	l.declared("LessPenalty", name).Complexity = Complexity{2, false}
}

// Rougher declares that a larger value makes rougher functions: gamma of a kernel.
func (l *List) Rougher(name string) { l.declared("Rougher", name).Complexity = Complexity{3, false} }

// declared returns the entry with the given name.
func (l *List) declared(method, name string) *entry {
	for _, e := range l.entries {
		if e.Path == name {
			return e
		}
	}
	panic("param: " + method + " " + name + ": no such parameter")
}

// Child declares the parameters of another spec below name. The pointer refers to the field that
// contains it, of a struct or an interface type. A spec with children in a slice must clone the
// slice in Params first, because specs are copied by assignment.
func (l *List) Child(name string, pointer any) { l.child(name, pointer, false) }

// OptionalChild is Child for a field that may be nil.
func (l *List) OptionalChild(name string, pointer any) { l.child(name, pointer, true) }

func (l *List) child(name string, pointer any, optional bool) {
	field := reflect.ValueOf(pointer).Elem()
	l.children = append(l.children, childField{name, field, optional})
	if field.Kind() == reflect.Interface && field.IsNil() {
		return
	}
	if v := field; v.Kind() == reflect.Interface {
		if v = v.Elem(); isSpecPointer(v, field.Type()) {
			field.Set(v.Elem())
		} else if v.Kind() == reflect.Pointer && v.IsNil() {
			l.errs = append(l.errs, FieldError{Path: name, Problem: fmt.Sprintf("must be a spec, got a nil %s", v.Type())})
		}
	}
	result, list := open(field.Interface())
	for _, f := range list.errs {
		f.Path = strings.TrimSuffix(name+"."+f.Path, ".")
		l.errs = append(l.errs, f)
	}
	for _, e := range list.entries {
		set := e.set
		e.Path = name + "." + e.Path
		e.set = func(plain any) error {
			err := set(plain)
			field.Set(reflect.ValueOf(result()))
			return err
		}
		l.entries = append(l.entries, e)
	}
}

// isSpecPointer reports whether v is a pointer to a spec that implements the interface itself.
func isSpecPointer(v reflect.Value, of reflect.Type) bool {
	return v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().Implements(of)
}

// childField is a field that contains a spec.
type childField struct {
	name     string
	field    reflect.Value
	optional bool
}

// Child is a spec that another spec contains.
type Child struct {
	Name     string
	Type     reflect.Type // type of the field
	Spec     any          // nil if absent
	Optional bool         // whether it may be absent

	with func(spec any) (any, error)
}

// Children lists the specs that spec declares with [List.Child], in that order.
func Children(spec any) []Child {
	_, l := open(spec)
	out := make([]Child, len(l.children))
	for i, c := range l.children {
		out[i] = Child{Name: c.name, Type: c.field.Type(), Spec: c.field.Interface(), Optional: c.optional,
			with: func(child any) (any, error) {
				result, l := open(spec)
				field, v := l.children[i].field, reflect.ValueOf(child)
				if !v.IsValid() || !v.Type().AssignableTo(field.Type()) {
					return nil, fmt.Errorf("param: %s must be a %s, got a %T", c.name, field.Type(), child)
				}
				field.Set(v)
				return result(), nil
			}}
	}
	return out
}

// With returns a copy of the spec that was listed, with spec as this child.
func (c Child) With(spec any) (any, error) { return c.with(spec) }

// open copies spec and lists the parameters of the copy, which result returns. The list of a spec
// without parameters is empty.
func open(spec any) (result func() any, l *List) {
	l = &List{}
	v := reflect.ValueOf(spec)
	if !v.IsValid() {
		return func() any { return spec }, l
	}
	isPointer := v.Kind() == reflect.Pointer
	if isPointer {
		if v.IsNil() {
			return func() any { return spec }, l
		}
		v = v.Elem()
	}
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	result = copied.Interface
	if !isPointer {
		result = copied.Elem().Interface
	}
	if d, ok := copied.Interface().(Declarer); ok {
		d.Params(l)
	}
	if _, ok := copied.Elem().Interface().(Declarer); ok && v.Kind() == reflect.Struct {
		l.errs = append(l.errs, FieldError{Problem: fmt.Sprintf("Params of %s must have a pointer receiver, got a value "+
			"receiver", v.Type())})
	}
	for _, e := range l.entries {
		if e.owner == nil { // entries of children already have an owner
			e.owner = copied.Interface()
		}
	}
	return result, l
}

func assign[T any](p *T) func(plain any) error {
	return func(plain any) error {
		v, ok := plain.(T)
		if !ok {
			return errConstraint
		}
		*p = v
		return nil
	}
}

// toPlain converts numbers and named types to int, uint64, float64, string and bool, slices to
// lists, and a [Value] to the value of its Get. It returns other values unchanged.
func toPlain(value any) any {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Struct:
		pointer := reflect.New(v.Type())
		pointer.Elem().Set(v)
		if own, ok := pointer.Interface().(Value); ok {
			return own.Get()
		}
	case reflect.Pointer:
		if own, ok := value.(Value); ok && !v.IsNil() {
			return own.Get()
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i := v.Int(); i == int64(int(i)) {
			return int(i)
		}
		return float64(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if u := v.Uint(); u > math.MaxInt {
			return u
		}
		return int(v.Uint())
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = toPlain(v.Index(i).Interface())
		}
		return list
	}
	return value
}

// float converts any plain number.
func float(plain any) (float64, bool) {
	switch v := plain.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// integer converts a plain integer, also one written as 1e3.
func integer(plain any) (int, bool) {
	switch v := plain.(type) {
	case int:
		return v, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v), true
		}
	}
	return 0, false
}
