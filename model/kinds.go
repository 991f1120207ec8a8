package model

import (
	"fmt"
	"reflect"
	"sync"
)

// kinds are the types of fitted values that have a name in files, for those that are kept behind an
// interface: which type it was, the file has to say.
var kinds = struct {
	sync.RWMutex
	empty map[string]func() Stateful
	names map[reflect.Type]string // the first name of each type
}{empty: map[string]func() Stateful{}, names: map[reflect.Type]string{}}

// RegisterKind gives the type of the values that empty returns a name in files. A type may have several:
// the first is written. A name that is taken is an error. A step is registered with its fitted type by
// pipeline.Register, which calls this.
func RegisterKind(name string, empty func() Stateful) error {
	if name == "" || empty == nil || empty() == nil {
		return fmt.Errorf("model: register %q: wanted a name and a function that returns an empty fitted value", name)
	}
	if t := reflect.TypeOf(empty()); !hasPointerState(t) {
		return fmt.Errorf("model: register %s: State of %v must have a pointer receiver, got a value, into which nothing can be read", name, t)
	}
	kinds.Lock()
	defer kinds.Unlock()
	if kinds.empty[name] != nil {
		return fmt.Errorf("model: register %s: the name is taken", name)
	}
	kinds.empty[name] = empty
	if t := reflect.TypeOf(empty()); kinds.names[t] == "" {
		kinds.names[t] = name
	}
	return nil
}

// hasPointerState reports whether State of a type can read into the value: it has a pointer receiver,
// or is that of an embedded field.
func hasPointerState(t reflect.Type) bool {
	stateful := reflect.TypeFor[Stateful]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !t.Implements(stateful) {
		return true
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Implements(stateful) {
			return true
		}
	}
	return false
}

// KindOf returns the name that the type of a fitted value has in files, "" where it has none.
func KindOf(fitted any) string {
	kinds.RLock()
	defer kinds.RUnlock()
	return kinds.names[reflect.TypeOf(fitted)]
}

// newKind returns an empty value of a kind.
func newKind(name string) (empty Stateful, ok bool) {
	kinds.RLock()
	defer kinds.RUnlock()
	if kinds.empty[name] == nil {
		return nil, false
	}
	return kinds.empty[name](), true
}

// Part carries a fitted value of any registered kind to a file, with the name of its kind, and returns
// it. When reading, it returns the value that was kept, nil where there is none that belongs: one of a
// kind that this program does not have, or of a type that is not wanted here.
func (s *State) Part(fitted any, belongs func(fitted any) bool) (part any) {
	kind := ""
	if !s.Reading() {
		if kind = KindOf(fitted); kind == "" {
			s.Fail("%s is not registered: give it a name with pipeline.Register before it is written or read", typeName(fitted))
			return nil
		}
	}
	s.String("kind", &kind)
	if s.Err() != nil {
		return nil
	}
	keeps, ok := fitted.(Stateful)
	if s.Reading() {
		if keeps, ok = newKind(kind); !ok {
			s.Fail("there is no step %q in this program; one with steps of its own adds them with pipeline.Register", kind)
			return nil
		}
	}
	switch {
	case !ok:
		s.Fail("%T cannot be kept in a model file", fitted)
		return nil
	case !belongs(keeps):
		s.Fail("%s is not what belongs here", kind)
		return nil
	}
	keeps.State(s.Child(kind))
	return keeps
}

// typeName is a value's type with its package's whole path, for two packages may have one name.
func typeName(v any) string {
	t, star := reflect.TypeOf(v), ""
	for ; t != nil && t.Kind() == reflect.Pointer; t = t.Elem() {
		star += "*"
	}
	if t == nil || t.PkgPath() == "" {
		return fmt.Sprintf("%T", v)
	}
	return star + t.PkgPath() + "." + t.Name()
}
