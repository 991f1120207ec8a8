package param

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// element returns the named element of a list or a map as a parameter, or nil. Names of nested
// elements are joined by dots: "0.weight".
func (e *entry) element(name string) *entry {
	if element := e.direct(name); element != nil { // keys of maps may contain dots
		return element
	}
	first, rest, nested := strings.Cut(name, ".")
	if element := e.direct(first); nested && element != nil {
		return element.element(rest)
	}
	return nil
}

// direct is element without nesting.
func (e *entry) direct(name string) *entry {
	value, set := e.get(), func(any) any { return nil }
	var now any
	switch v := value.(type) {
	case []any:
		k, err := strconv.Atoi(name)
		if err != nil || k < 0 || k >= len(v) || strconv.Itoa(k) != name {
			return nil
		}
		now, set = v[k], func(plain any) any {
			list := slices.Clone(e.get().([]any))
			list[k] = plain
			return list
		}
	case map[string]any:
		var ok bool
		if now, ok = v[name]; !ok {
			return nil
		}
		set = func(plain any) any {
			named := maps.Clone(e.get().(map[string]any))
			named[name] = plain
			return named
		}
	default:
		return nil
	}
	out := *e
	out.Path, out.Name, out.Value = e.Path+"."+name, name, now
	out.set = func(plain any) error { return e.set(set(plain)) }
	out.get = func() any {
		switch v := e.get().(type) {
		case []any:
			k, _ := strconv.Atoi(name)
			return v[k]
		case map[string]any:
			return v[name]
		}
		return nil
	}
	return &out
}
