// Package structrows reads rows of Go structs as named values.
package structrows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options lists the options of a struct tag, as in `bochner:"name,categorical"`.
var Options = []string{"categorical", "numeric", "text", "target", "class", "weight", "group"}

// Field is an exported field of a struct.
type Field struct {
	Name    string // name of the column
	Index   []int  // see [reflect.Value.FieldByIndex]
	Options []string
}

// Has reports whether the tag of the field has an option.
func (f Field) Has(option string) bool { return slices.Contains(f.Options, option) }

// fields returns the exported fields of a struct type, those of embedded structs included. The tag
// bochner:"-" omits a field, bochner:"name" renames it.
func fields(t reflect.Type) ([]Field, error) {
	var out []Field
	var errs []error
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("bochner")
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct {
			continue
		}
		parts := strings.Split(tag, ",")
		field := Field{Name: f.Name, Index: f.Index, Options: parts[1:]}
		if parts[0] != "" {
			field.Name = parts[0]
		}
		for _, o := range field.Options {
			if !slices.Contains(Options, o) {
				errs = append(errs, fmt.Errorf("field %s: tag option must be %s, got %q", f.Name,
					strings.Join(Options, ", "), o))
			}
		}
		if seen[field.Name] {
			errs = append(errs, fmt.Errorf("field %s: column name %q is taken by another field", f.Name, field.Name))
		}
		seen[field.Name] = true
		out = append(out, field)
	}
	return out, errors.Join(errs...)
}

// Rows is a slice of structs, or of pointers to structs.
type Rows struct {
	Type   reflect.Type // of the structs
	Fields []Field
	list   reflect.Value
}

// Of returns the rows of a slice of structs. It returns an error for another type, a nil pointer,
// and invalid tags.
func Of(rows any) (Rows, error) {
	r := Rows{list: reflect.ValueOf(rows)}
	if r.list.Kind() == reflect.Slice {
		if r.Type = r.list.Type().Elem(); r.Type.Kind() == reflect.Pointer {
			r.Type = r.Type.Elem()
		}
	}
	if r.Type == nil || r.Type.Kind() != reflect.Struct {
		return r, fmt.Errorf("rows must be a slice of structs, got %T", rows)
	}
	var err error
	if r.Fields, err = fields(r.Type); err != nil {
		return r, err
	}
	if len(r.Fields) == 0 {
		return r, fmt.Errorf("rows must be structs with exported fields, and %s has none", r.Type)
	}
	for i := range r.Len() {
		if row := r.list.Index(i); row.Kind() == reflect.Pointer && row.IsNil() {
			return r, fmt.Errorf("row %d must not be a nil pointer", i)
		}
	}
	return r, nil
}

// Len returns the number of rows.
func (r Rows) Len() int { return r.list.Len() }

// Value returns a field of a row, which can be set; the zero Value for a field of a nil embedded
// pointer.
func (r Rows) Value(row int, f Field) reflect.Value {
	v := r.list.Index(row)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	v, err := v.FieldByIndexErr(f.Index)
	if err != nil {
		return reflect.Value{}
	}
	return v
}

// Value returns a value as nil (missing), int64, uint64 (above the maximum of int64), float64,
// [json.Number], string, bool or [time.Time]. A nil pointer, a NaN, an empty string, the zero time,
// and a struct as [sql.NullString] that is not valid are missing.
func Value(v reflect.Value) (any, error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, nil
	}
	switch x := v.Interface().(type) {
	case time.Time:
		if x.IsZero() {
			return nil, nil
		}
		return x, nil
	case json.Number:
		_, err := x.Float64()
		return x, err
	case []byte:
		return nonEmpty(string(x)), nil
	}
	switch {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint():
		if u := v.Uint(); u > math.MaxInt64 {
			return u, nil
		}
		return int64(v.Uint()), nil
	case v.CanFloat():
		if math.IsNaN(v.Float()) {
			return nil, nil
		}
		return v.Float(), nil
	case v.Kind() == reflect.String:
		return nonEmpty(v.String()), nil
	case v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case v.Kind() == reflect.Struct && v.NumField() == 2:
		if valid := v.FieldByName("Valid"); valid.IsValid() && valid.Kind() == reflect.Bool { // sql.Null…
			if !valid.Bool() {
				return nil, nil
			}
			if v.Type().Field(0).Name != "Valid" && v.Type().Field(0).IsExported() {
				return Value(v.Field(0))
			}
		}
	}
	return nil, fmt.Errorf("must be a number, a string, a bool or a time.Time, got %s", v.Type())
}

// exactLimit bounds the integers that float64 represents all.
const exactLimit = 1 << 53

// Number returns a number that Value has returned as a float64. For an integer of magnitude 2⁵³ or
// more, which float64 may round, it also returns the digits. ok is false for another value.
func Number(v any) (number float64, digits string, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, "", true
	case int64:
		if number = float64(v); -exactLimit < v && v < exactLimit {
			return number, "", true
		}
		return number, strconv.FormatInt(v, 10), true
	case uint64:
		return float64(v), strconv.FormatUint(v, 10), true
	case json.Number:
		number, err := v.Float64()
		if IsRounded([]byte(v), number) {
			digits = string(v)
		}
		return number, digits, err == nil
	}
	return 0, "", false
}

// IsRounded reports whether text has the digits of an integer that the float64 number may have
// rounded: then equal numbers can be different integers.
func IsRounded(text []byte, number float64) bool {
	return math.Abs(number) >= exactLimit && len(bytes.Trim(text, "-0123456789")) == 0
}

// nonEmpty returns a string, or nil if it is empty.
func nonEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}
