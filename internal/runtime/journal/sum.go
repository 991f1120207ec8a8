package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
)

// Sum returns a short hash of the bytes that write writes.
func Sum(write func(w hash.Hash)) string {
	w := sha256.New()
	write(w)
	return hex.EncodeToString(w.Sum(nil)[:16])
}

// Rows writes all that rows are: their schema, inputs, targets, weights and groups.
func Rows(w io.Writer, data datasets.Set) {
	fmt.Fprintf(w, "%#v\n", data.Schema)
	matrix(w, data.X)
	Numbers(w, data.Y)
	if data.Targets != nil {
		matrix(w, data.Targets)
	}
	Numbers(w, data.Weights)
	Numbers(w, data.Groups)
}

// matrix writes type, shape and values of a matrix; of sparse rows the stored entries.
func matrix(w io.Writer, X mat.Matrix) {
	n, d := X.Dims()
	fmt.Fprintf(w, "%T %d %d\n", X, n, d)
	if m, ok := X.(*matrices.CSR); ok {
		value, shared := m.Shared()
		fmt.Fprintln(w, value, shared)
	}
	switch m := X.(type) {
	case *textrows.Matrix:
		row := make([]float64, d)
		for i := range n {
			for j := range row {
				row[j] = X.At(i, j)
				if text, ok := m.Text(i, j); ok && m.IsText(j) {
					fmt.Fprintf(w, "%q\n", text)
				}
			}
			Numbers(w, row)
		}
	case mat.RawRowViewer:
		for i := range n {
			Numbers(w, m.RawRowView(i))
		}
	case *matrices.CSR:
		for i := range n {
			columns, values := m.Row(i)
			Numbers(w, columns)
			Numbers(w, values)
		}
	default:
		row := make([]float64, d)
		for i := range n {
			for j := range row {
				row[j] = X.At(i, j)
			}
			Numbers(w, row)
		}
	}
}

// Numbers writes a list, its length first.
func Numbers[T int | uint32 | float64](w io.Writer, list []T) {
	const step = 4096
	buffer := binary.LittleEndian.AppendUint64(make([]byte, 0, 8*min(step, len(list))+8), uint64(len(list)))
	for _, v := range list {
		switch v := any(v).(type) {
		case int:
			buffer = binary.LittleEndian.AppendUint64(buffer, uint64(v))
		case uint32:
			buffer = binary.LittleEndian.AppendUint32(buffer, v)
		case float64:
			buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
		}
		if len(buffer) >= 8*step {
			w.Write(buffer)
			buffer = buffer[:0]
		}
	}
	w.Write(buffer)
}

// Spec writes the identity of a spec: its type, those of its children, and its parameters without
// those left out.
func Spec(w io.Writer, spec any, leftOut ...string) {
	identify(w, reflect.ValueOf(spec))
	for _, p := range param.All(spec) {
		fmt.Fprintf(w, "%s\n", p.Path)
		if !slices.Contains(leftOut, p.Path) {
			fmt.Fprintf(w, "%#v\n", p.Value)
		}
	}
}

// identify writes the types of a spec and of its parts, with full package paths, and their strings,
// such as the columns of a group. Numbers are parameters.
func identify(w io.Writer, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	fmt.Fprintf(w, "%s %s\n", v.Type().PkgPath(), v.Type())
	switch v.Kind() {
	case reflect.String:
		fmt.Fprintf(w, "%q\n", v.String())
	case reflect.Slice, reflect.Array:
		fmt.Fprintln(w, v.Len())
		for i := range v.Len() {
			identify(w, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			identify(w, v.Field(i))
		}
	case reflect.Interface:
		identify(w, v.Elem())
	case reflect.Pointer:
		if _, spec := reflect.Zero(v.Type()).Interface().(param.Declarer); spec {
			identify(w, v.Elem())
		}
	}
}
