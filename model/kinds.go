package model

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/bochner-ml/bochner/internal/spec/specs"
)

// kinds maps registered types of fitted values to their names in files.
var kinds = struct {
	sync.RWMutex
	empty map[string]func() Stateful
	names map[reflect.Type]string // the first name of each type
}{empty: map[string]func() Stateful{}, names: map[reflect.Type]string{}}

// RegisterKind registers a name in files for the type of the values that empty returns. A type may
// have several names; the first is saved. It returns an error if the name is taken.
// pipeline.Register calls it for the fitted type of a step.
func RegisterKind(name string, empty func() Stateful) error {
	if name == "" || empty == nil || empty() == nil {
		return fmt.Errorf("model: register %q: must have a name and a function that returns an empty fitted value", name)
	}
	if t := reflect.TypeOf(empty()); !hasPointerState(t) {
		return fmt.Errorf("model: register %s: State of %v must have a pointer receiver, got a value receiver", name, t)
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

// hasPointerState reports whether State can restore into a value of the type: its receiver is a
// pointer, or it is promoted from an embedded field.
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

// Knows reports whether the type of a fitted value is registered, so that [State.Part] can save it.
func (s *State) Knows(fitted any) bool { return kindOf(fitted) != "" }

// kindOf returns the registered name of the type of a fitted value, or "".
func kindOf(fitted any) string {
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

// Part saves or restores a fitted value of any registered kind together with its kind. While
// restoring it returns the restored value, or nil with an error if the kind is not registered or
// belongs reports false.
func (s *State) Part(fitted any, belongs func(fitted any) bool) (part any) {
	kind := ""
	if !s.Restoring() {
		if kind = kindOf(fitted); kind == "" {
			s.Fail("%s is not registered: give it a name with pipeline.Register before it is written or read",
				specs.TypeName(fitted))
			return nil
		}
	}
	s.String("kind", &kind)
	if s.Err() != nil {
		return nil
	}
	keeps, ok := fitted.(Stateful)
	if s.Restoring() {
		if keeps, ok = newKind(kind); !ok {
			s.Fail("no step %q is registered in this program; add custom steps with pipeline.Register", kind)
			return nil
		}
	}
	switch {
	case !ok:
		s.Fail("cannot save a %T in a model file", fitted)
		return nil
	case !belongs(keeps):
		s.Fail("a %s is not allowed here", kind)
		return nil
	}
	keeps.State(s.Child(kind))
	return keeps
}
