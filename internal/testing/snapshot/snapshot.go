// Package snapshot detects changes of a value in tests: it hashes the value and everything it
// points to, including unexported fields.
package snapshot

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
)

// Of returns a hash of v. A nil slice, map or pointer differs from an empty one. Functions and
// channels count by whether they are nil. A pointer that was followed before is not followed again.
func Of(v any) uint64 {
	w := walk{Hash64: fnv.New64a(), seen: map[pointer]bool{}}
	w.value(reflect.ValueOf(v))
	return w.Sum64()
}

type pointer struct {
	at   uintptr
	kind reflect.Type
}

type walk struct {
	hash.Hash64
	seen map[pointer]bool
	buf  [8]byte
}

func (w *walk) number(x uint64) {
	binary.LittleEndian.PutUint64(w.buf[:], x)
	w.Write(w.buf[:])
}

func (w *walk) flag(b bool) {
	if b {
		w.number(1)
	} else {
		w.number(0)
	}
}

func (w *walk) value(v reflect.Value) {
	if !v.IsValid() {
		w.number(0)
		return
	}
	w.number(uint64(v.Kind()))
	switch v.Kind() {
	case reflect.Bool:
		w.flag(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		w.number(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		w.number(math.Float64bits(real(v.Complex())))
		w.number(math.Float64bits(imag(v.Complex())))
	case reflect.String:
		w.number(uint64(v.Len()))
		w.Write([]byte(v.String()))
	case reflect.Array, reflect.Struct:
		w.parts(v)
	case reflect.Slice:
		if w.flag(v.IsNil()); !v.IsNil() {
			w.number(uint64(v.Len()))
			w.parts(v)
		}
	case reflect.Map:
		w.flag(v.IsNil())
		w.entries(v)
	case reflect.Interface, reflect.Pointer:
		if w.flag(v.IsNil()); v.IsNil() {
			return
		}
		if v.Kind() == reflect.Pointer {
			at := pointer{v.Pointer(), v.Type()}
			if w.seen[at] {
				return
			}
			w.seen[at] = true
		} else {
			w.Write([]byte(v.Elem().Type().String()))
		}
		w.value(v.Elem())
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		w.flag(v.IsNil())
	}
}

// parts hashes the fields or the elements of v. Mutexes and other types of package sync are state of
// the program and not of the value.
func (w *walk) parts(v reflect.Value) {
	if v.Kind() == reflect.Struct {
		if path := v.Type().PkgPath(); path == "sync" || path == "sync/atomic" {
			return
		}
		for i := range v.NumField() {
			w.value(v.Field(i))
		}
		return
	}
	for i := range v.Len() {
		w.value(v.Index(i))
	}
}

// entries hashes a map, in the order of the hashes of its entries.
func (w *walk) entries(v reflect.Value) {
	var sums []uint64
	for it := v.MapRange(); it.Next(); {
		one := walk{Hash64: fnv.New64a(), seen: w.seen}
		one.value(it.Key())
		one.value(it.Value())
		sums = append(sums, one.Sum64())
	}
	slices.Sort(sums)
	for _, sum := range sums {
		w.number(sum)
	}
}
