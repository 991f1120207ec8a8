package jsonfloat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Marshal returns v as indented JSON. JSON has no infinite numbers and no NaN: they become null, and
// lost lists their paths. v must not be used by others meanwhile.
func Marshal(v any) (text []byte, lost []string, err error) {
	if text, err = json.MarshalIndent(v, "", "  "); err == nil {
		return text, nil, nil
	}
	copied := reflect.New(reflect.TypeOf(v))
	copied.Elem().Set(reflect.ValueOf(v))
	var undo []func()
	eachFloat(copied.Elem(), "", func(path string, x float64, set func(float64)) {
		if x-x == 0 {
			return
		}
		undo = append(undo, func() { set(x) })
		set(placeholder)
		lost = append(lost, path)
	})
	text, err = json.MarshalIndent(copied.Interface(), "", "  ")
	for _, restore := range undo {
		restore()
	}
	return bytes.ReplaceAll(text, fmt.Appendf(nil, "%v", placeholder), []byte("null")), lost, err
}

// placeholder represents null while a value is encoded; it does not occur as a measurement.
const placeholder = -2.2250738585072094e-307

// Unmarshal is the inverse of [Marshal]. A null in the place of a number becomes NaN, and integers in
// values of any type stay [json.Number].
func Unmarshal(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return err
	}
	eachFloat(reflect.ValueOf(v).Elem(), "", func(path string, _ float64, set func(float64)) {
		if isNull(tree, path) {
			set(math.NaN())
		}
	})
	return nil
}

// isNull reports whether the value at a path in a JSON tree is null; keys match regardless of case.
func isNull(tree any, path string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(path, separator), separator) {
		switch t := tree.(type) {
		case map[string]any:
			value, ok := t[name]
			if !ok {
				return false
			}
			tree = value
		case []any:
			var at int
			if _, err := fmt.Sscan(name, &at); err != nil || at >= len(t) {
				return false
			}
			tree = t[at]
		default:
			return false
		}
	}
	return tree == nil
}

// separator separates the names of a path, which may contain periods.
const separator = "\x00"

// eachFloat calls visit for every float64 in v that JSON encodes, with its path of JSON names.
func eachFloat(v reflect.Value, path string, visit func(path string, x float64, set func(float64))) {
	switch v.Kind() {
	case reflect.Float64:
		if v.CanSet() {
			visit(path, v.Float(), func(x float64) { v.SetFloat(x) })
		}
	case reflect.Pointer:
		if !v.IsNil() {
			eachFloat(v.Elem(), path, visit)
		}
	case reflect.Interface:
		if x, ok := v.Interface().(float64); ok && v.CanSet() {
			visit(path, x, func(x float64) { v.Set(reflect.ValueOf(x)) })
		} else if !v.IsNil() {
			eachFloat(v.Elem(), path, visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachFloat(v.Index(i), fmt.Sprint(path, separator, i), visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			eachFloat(value, fmt.Sprint(path, separator, key), func(path string, x float64, set func(float64)) {
				visit(path, x, func(x float64) {
					set(x)
					v.SetMapIndex(key, value)
				})
			})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case tag == "-" || !f.IsExported() && !f.Anonymous:
			case f.Anonymous && tag == "":
				eachFloat(v.Field(i), path, visit)
			case tag == "":
				eachFloat(v.Field(i), path+separator+f.Name, visit)
			default:
				eachFloat(v.Field(i), path+separator+tag, visit)
			}
		}
	}
}

// Paths returns paths of [Marshal] as a reader writes them, the first few of them.
func Paths(lost []string) string {
	const most = 5
	var names []string
	for _, path := range lost[:min(len(lost), most)] {
		names = append(names, strings.ReplaceAll(strings.TrimPrefix(path, separator), separator, "."))
	}
	slices.Sort(names)
	text := strings.Join(names, ", ")
	if more := len(lost) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
