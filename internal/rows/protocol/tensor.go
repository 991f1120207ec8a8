package protocol

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// Datatype is the element type of a tensor, spelled as in the Open Inference Protocol.
type Datatype string

// Supported datatypes. The elements of a BYTES tensor are strings.
const (
	Bool   Datatype = "BOOL"
	Uint8  Datatype = "UINT8"
	Uint16 Datatype = "UINT16"
	Uint32 Datatype = "UINT32"
	Uint64 Datatype = "UINT64"
	Int8   Datatype = "INT8"
	Int16  Datatype = "INT16"
	Int32  Datatype = "INT32"
	Int64  Datatype = "INT64"
	FP32   Datatype = "FP32"
	FP64   Datatype = "FP64"
	Bytes  Datatype = "BYTES"
)

// layouts gives for each datatype the element size in bytes, the range, and the function that
// decodes Raw.
var layouts = map[Datatype]struct {
	size     int
	from, to float64
	unpack   func(raw []byte, size int) []float64
}{
	Bool: {1, 0, 1, unpackBools}, Uint8: {1, 0, math.MaxUint8, unpack[uint8]},
	Uint16: {2, 0, math.MaxUint16, unpack[uint16]},
	Uint32: {4, 0, math.MaxUint32, unpack[uint32]}, Uint64: {8, 0, math.MaxUint64, unpack[uint64]},
	Int8: {1, math.MinInt8, math.MaxInt8, unpack[int8]}, Int16: {2, math.MinInt16, math.MaxInt16, unpack[int16]},
	Int32: {4, math.MinInt32, math.MaxInt32, unpack[int32]}, Int64: {8, math.MinInt64, math.MaxInt64, unpack[int64]},
	FP32: {4, -math.MaxFloat32, math.MaxFloat32, unpack[float32]},
	FP64: {8, -math.MaxFloat64, math.MaxFloat64, unpack[float64]}, Bytes: {},
}

// unpack decodes the numbers in raw.
func unpack[T uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | float32 | float64](raw []byte,
	size int) []float64 {
	elements := make([]T, len(raw)/size)
	binary.Decode(raw, binary.LittleEndian, elements) // cannot fail: the sizes match
	out := make([]float64, len(elements))
	for i, v := range elements {
		out[i] = float64(v)
	}
	return out
}

// unpackBools returns 1 for each nonzero byte.
func unpackBools(raw []byte, _ int) []float64 {
	out := make([]float64, len(raw))
	for i, v := range raw {
		out[i] = min(float64(v), 1)
	}
	return out
}

// isInteger reports whether d is an integer type or BOOL.
func (d Datatype) isInteger() bool { return d != FP32 && d != FP64 && d != Bytes }

// Known reports whether d is one of the datatypes above.
func (d Datatype) Known() bool {
	_, known := layouts[d]
	return known
}

// DatatypeNames lists the datatypes, for messages.
const DatatypeNames = "BOOL, UINT8 to UINT64, INT8 to INT64, FP32, FP64 or BYTES"

// Tensor is a named array of numbers or strings. Its elements are in Numbers, Strings or Raw, in
// row-major order.
type Tensor struct {
	Name     string
	Datatype Datatype
	Shape    []int64

	Numbers []float64 // numeric types; NaN is a missing value, 1 is true
	Strings [][]byte  // BYTES; an empty string is a missing value
	Raw     []byte    // little endian, strings after a 4-byte length: the binary data extension and raw_input_contents
}

// Len returns the number of elements of the shape. It returns an error for negative or too large
// shapes.
func (t *Tensor) Len() (int, error) {
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > math.MaxInt32/d {
			return 0, fmt.Errorf("input %q: shape must have numbers ≥ 0 and at most %d elements, got %v", rowerrors.Clip(t.Name),
				math.MaxInt32, t.ClippedShape())
		}
		n *= d
	}
	return int(n), nil
}

// ClippedShape returns at most eight numbers of the shape, for messages.
func (t *Tensor) ClippedShape() []int64 { return t.Shape[:min(len(t.Shape), 8)] }

// Decode converts Raw to Numbers or Strings and checks the number of elements and their range.
func (t *Tensor) Decode() error {
	layout, known := layouts[t.Datatype]
	if !known {
		return fmt.Errorf("input %q: datatype must be %s, got %q", rowerrors.Clip(t.Name), DatatypeNames,
			rowerrors.Clip(string(t.Datatype)))
	}
	n, err := t.Len()
	if err != nil {
		return err
	}
	if t.Raw != nil {
		if t.Datatype == Bytes {
			err = t.splitStrings(n)
		} else if len(t.Raw) != n*layout.size {
			err = fmt.Errorf("input %q: must have %d bytes for shape %v of %s, got %d",
				rowerrors.Clip(t.Name), n*layout.size, t.ClippedShape(), t.Datatype, len(t.Raw))
		} else {
			t.Numbers = layout.unpack(t.Raw, layout.size)
			t.Raw = nil
		}
		if err != nil {
			return err
		}
	}
	got := len(t.Numbers)
	if t.Datatype == Bytes {
		got = len(t.Strings)
	}
	if got != n {
		return fmt.Errorf("input %q: must have %d elements for shape %v, got %d", rowerrors.Clip(t.Name), n, t.ClippedShape(),
			got)
	}
	return t.checkRange()
}

// checkRange checks that the numbers are values of the datatype. NaN is allowed for floats.
func (t *Tensor) checkRange() error {
	layout, whole := layouts[t.Datatype], t.Datatype.isInteger()
	for i, v := range t.Numbers {
		switch {
		case math.IsInf(v, 0):
			return fmt.Errorf("input %q: element %d must be finite", rowerrors.Clip(t.Name), i)
		case v < layout.from || v > layout.to || whole && v == v && v != math.Trunc(v):
			return fmt.Errorf("input %q: element %d must be %s, got %v", rowerrors.Clip(t.Name), i, t.Datatype, v)
		}
	}
	return nil
}

// splitStrings decodes the strings in Raw.
func (t *Tensor) splitStrings(n int) error {
	raw := t.Raw
	elements := make([][]byte, 0, min(n, len(raw)/4))
	for i := range n {
		if len(raw) < 4 || uint64(len(raw)-4) < uint64(binary.LittleEndian.Uint32(raw)) {
			return fmt.Errorf("input %q: data end inside element %d of %d", rowerrors.Clip(t.Name), i, n)
		}
		end := 4 + int(binary.LittleEndian.Uint32(raw))
		elements, raw = append(elements, raw[4:end:end]), raw[end:]
	}
	if len(raw) > 0 {
		return fmt.Errorf("input %q: %d bytes follow the last of %d elements", rowerrors.Clip(t.Name), len(raw), n)
	}
	t.Strings, t.Raw = elements, nil
	return nil
}

// AppendRaw appends the elements in the format of Raw. It supports the types of outputs: BYTES,
// FP64, INT64 and BOOL.
func (t *Tensor) AppendRaw(dst []byte) []byte {
	e := binary.LittleEndian
	for _, text := range t.Strings {
		dst = append(e.AppendUint32(dst, uint32(len(text))), text...)
	}
	for _, v := range t.Numbers {
		switch t.Datatype {
		case Bool:
			dst = append(dst, byte(v))
		case Int64:
			dst = e.AppendUint64(dst, uint64(int64(v)))
		default:
			dst = e.AppendUint64(dst, math.Float64bits(v))
		}
	}
	return dst
}

// TensorSpec describes an input or output tensor of a model.
type TensorSpec struct {
	Name     string
	Datatype Datatype
	Width    int64 // 0 for shape [rows], otherwise [rows, width]
}

// Shape returns the shape for the given number of rows, -1 for any.
func (o TensorSpec) Shape(rows int64) []int64 {
	if o.Width == 0 {
		return []int64{rows}
	}
	return []int64{rows, o.Width}
}
