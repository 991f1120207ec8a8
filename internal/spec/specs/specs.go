// Package specs contains functions on specs that are used only inside this module, in addition to
// package param.
package specs

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/param"
)

// Own lists the parameters of spec itself, without those of its children.
func Own(spec any) []param.Param {
	return slices.DeleteFunc(param.All(spec), func(p param.Param) bool { return p.Path != p.Name })
}

// Required returns the names of the parameters of spec without a default: their value is empty and
// invalid.
func Required(spec any) []string {
	errs, _ := param.Check(spec).(param.FieldErrors)
	var out []string
	for _, p := range Own(spec) {
		if Empty(p.Value) && slices.ContainsFunc(errs, func(f param.FieldError) bool { return f.Path == p.Path }) {
			out = append(out, p.Name)
		}
	}
	return out
}

// Empty reports whether the value of a parameter is nil or has no elements.
func Empty(plain any) bool {
	list, isList := plain.([]any)
	return plain == nil || plain == "" || isList && len(list) == 0
}

// Owner returns the spec that declares the parameter at path: spec or one of its descendants. The
// path may continue with the name of an element of a list or a map.
func Owner(spec any, path string) (any, error) {
	if _, err := param.Get(spec, path); err != nil {
		return nil, err
	}
	for _, p := range param.All(spec) {
		if path == p.Path || strings.HasPrefix(path, p.Path+".") {
			return p.Owner(), nil
		}
	}
	return nil, fmt.Errorf("param: no parameter %s", path)
}

// Elements returns the paths of the elements of the list or map at path, in order, or none if the
// parameter is neither.
func Elements(spec any, path string) ([]string, error) {
	value, err := param.Get(spec, path)
	if err != nil {
		return nil, err
	}
	var paths []string
	switch v := value.(type) {
	case []any:
		for k := range v {
			paths = append(paths, path+"."+strconv.Itoa(k))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			paths = append(paths, path+"."+name)
		}
	}
	return paths, nil
}

// CheckFit is [param.Check] for a spec that is about to be fitted. If a struct literal of this module
// has zero fields that must not be zero, the first error of each spec names its constructor.
func CheckFit(spec any) error {
	err := param.Check(spec)
	var fields param.FieldErrors
	if !errors.As(err, &fields) {
		return err
	}
	owners := map[string]reflect.Type{}
	for _, p := range param.All(spec) {
		owner := reflect.TypeOf(p.Owner())
		if owner.Kind() == reflect.Pointer {
			owner = owner.Elem()
		}
		owners[p.Path] = owner
	}
	here := reflect.TypeFor[param.List]().PkgPath()
	module := strings.TrimSuffix(here, path.Base(here))
	hinted := map[reflect.Type]bool{}
	for i, f := range fields {
		owner, ok := owners[f.Path]
		if !ok || f.Hint != "" || hinted[owner] || !isZero(f.Value) || !strings.HasPrefix(owner.PkgPath(), module) {
			continue
		}
		hinted[owner] = true
		fields[i].Hint = "start from New" + owner.Name() + "()"
	}
	return fields.Err()
}

func isZero(plain any) bool {
	v := reflect.ValueOf(plain)
	return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

// ByValue returns the spec that the pointer spec points to if that also implements the interface T,
// else spec.
func ByValue[T any](spec T) T {
	v := reflect.ValueOf(spec)
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().Implements(reflect.TypeFor[T]()) {
		return v.Elem().Interface().(T)
	}
	return spec
}

// CheckValue returns an error if spec is a nil pointer, or a pointer to a value that implements T.
// Struct literals may contain these.
func CheckValue[T any](spec T) error {
	value := ByValue(spec)
	if v := reflect.ValueOf(spec); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("must be a spec, got a nil %T", spec)
	}
	if reflect.TypeOf(spec) != reflect.TypeOf(value) {
		return fmt.Errorf("must be %T, got %T; pass what it points to", value, spec)
	}
	return nil
}

// TypeName returns the type of v with its full package path, because package names are not unique.
func TypeName(v any) string {
	t, star := reflect.TypeOf(v), ""
	for ; t != nil && t.Kind() == reflect.Pointer; t = t.Elem() {
		star += "*"
	}
	if t == nil || t.PkgPath() == "" {
		return fmt.Sprintf("%T", v)
	}
	return star + t.PkgPath() + "." + t.Name()
}

// Keys returns for each value the index of the first equal one; nil equals no other. Values of types
// that == does not support are compared by reflect.DeepEqual.
func Keys(values []any) []int {
	out := make([]int, len(values))
	first := map[any]int{}
	var others []int
	for i, v := range values {
		out[i] = i
		if v == nil {
			continue
		}
		if reflect.ValueOf(v).Comparable() {
			if at, ok := first[v]; ok {
				out[i] = at
			} else {
				first[v] = i
			}
		} else if k := slices.IndexFunc(others, func(at int) bool { return reflect.DeepEqual(values[at], v) }); k >= 0 {
			out[i] = others[k]
		} else {
			others = append(others, i)
		}
	}
	return out
}
