package serve

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Datatype is that of a tensor, as the Open Inference Protocol calls it.
type Datatype string

// The datatypes that are understood. Of a BYTES tensor every element is a text.
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

// layouts are the bytes of an element and the least and greatest number.
var layouts = map[Datatype]struct {
	size     int
	from, to float64
}{
	Bool: {1, 0, 1}, Uint8: {1, 0, math.MaxUint8}, Uint16: {2, 0, math.MaxUint16}, Uint32: {4, 0, math.MaxUint32}, Uint64: {8, 0, math.MaxUint64},
	Int8: {1, math.MinInt8, math.MaxInt8}, Int16: {2, math.MinInt16, math.MaxInt16}, Int32: {4, math.MinInt32, math.MaxInt32}, Int64: {8, math.MinInt64, math.MaxInt64},
	FP32: {4, -math.MaxFloat32, math.MaxFloat32}, FP64: {8, -math.MaxFloat64, math.MaxFloat64}, Bytes: {0, 0, 0},
}

// whole reports whether the numbers of a datatype are whole ones.
func (d Datatype) whole() bool { return d != FP32 && d != FP64 && d != Bytes }

// knownDatatypes lists them for messages.
const knownDatatypes = "BOOL, UINT8 to UINT64, INT8 to INT64, FP32, FP64 or BYTES"

// Tensor is an array of numbers or of texts in one of the protocol's messages. Its elements stand in one of three
// places, row by row: Numbers, Texts or Raw.
type Tensor struct {
	Name     string
	Datatype Datatype
	Shape    []int64

	Numbers []float64 // of every datatype but BYTES; NaN is a missing value, true is 1
	Texts   [][]byte  // of BYTES; the empty one is a missing value
	Raw     []byte    // little-endian, a text behind its length in four bytes: as the binary data extension and raw_input_contents have it
}

// Len returns how many elements the shape has, and an error for one that cannot be.
func (t *Tensor) Len() (int, error) {
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > math.MaxInt32/d {
			return 0, fmt.Errorf("input %q: got the shape %v, wanted numbers ≥ 0 of at most %d elements in all", clip(t.Name), clipShape(t.Shape), math.MaxInt32)
		}
		n *= d
	}
	return int(n), nil
}

// clip shortens a name for a message.
func clip(name string) string { return clipped([]byte(name)) }

func clipShape(shape []int64) []int64 { return shape[:min(len(shape), 8)] }

// settle brings the elements into Numbers or Texts and checks them.
func (t *Tensor) settle() error {
	layout, known := layouts[t.Datatype]
	if !known {
		return fmt.Errorf("input %q: got the datatype %q, wanted %s", clip(t.Name), clip(string(t.Datatype)), knownDatatypes)
	}
	n, err := t.Len()
	if err != nil {
		return err
	}
	if t.Raw != nil {
		if t.Datatype == Bytes {
			err = t.splitTexts(n)
		} else if len(t.Raw) != n*layout.size {
			err = fmt.Errorf("input %q: got %d bytes, wanted %d, of the shape %v of %s", clip(t.Name), len(t.Raw), n*layout.size, clipShape(t.Shape), t.Datatype)
		} else {
			t.Numbers = unpack(make([]float64, 0, n), t.Raw, t.Datatype)
			t.Raw = nil
		}
		if err != nil {
			return err
		}
	}
	got := len(t.Numbers)
	if t.Datatype == Bytes {
		got = len(t.Texts)
	}
	if got != n {
		return fmt.Errorf("input %q: got %d elements, wanted %d, of the shape %v", clip(t.Name), got, n, clipShape(t.Shape))
	}
	return t.check()
}

// check looks whether the numbers are of the datatype. Those of type FP64 may be NaN, as missing ones.
func (t *Tensor) check() error {
	layout, whole := layouts[t.Datatype], t.Datatype.whole()
	for i, v := range t.Numbers {
		switch {
		case math.IsInf(v, 0):
			return fmt.Errorf("input %q: element %d is infinite, wanted a number", clip(t.Name), i)
		case v < layout.from || v > layout.to || whole && v == v && v != math.Trunc(v):
			return fmt.Errorf("input %q: element %d is %v, which is no %s", clip(t.Name), i, v, t.Datatype)
		}
	}
	return nil
}

// splitTexts finds the texts in Raw.
func (t *Tensor) splitTexts(n int) error {
	raw := t.Raw
	texts := make([][]byte, 0, min(n, len(raw)/4))
	for i := range n {
		if len(raw) < 4 || uint64(len(raw)-4) < uint64(binary.LittleEndian.Uint32(raw)) {
			return fmt.Errorf("input %q: the bytes end within element %d of %d", clip(t.Name), i, n)
		}
		end := 4 + int(binary.LittleEndian.Uint32(raw))
		texts, raw = append(texts, raw[4:end:end]), raw[end:]
	}
	if len(raw) > 0 {
		return fmt.Errorf("input %q: %d bytes are behind the last of %d elements", clip(t.Name), len(raw), n)
	}
	t.Texts, t.Raw = texts, nil
	return nil
}

// unpack appends the numbers in raw, whose length is a multiple of an element's.
func unpack(dst []float64, raw []byte, d Datatype) []float64 {
	e, size := binary.LittleEndian, layouts[d].size
	for ; len(raw) >= size; raw = raw[size:] {
		var v float64
		switch d {
		case Bool:
			if raw[0] != 0 {
				v = 1
			}
		case Uint8:
			v = float64(raw[0])
		case Int8:
			v = float64(int8(raw[0]))
		case Uint16:
			v = float64(e.Uint16(raw))
		case Int16:
			v = float64(int16(e.Uint16(raw)))
		case Uint32:
			v = float64(e.Uint32(raw))
		case Int32:
			v = float64(int32(e.Uint32(raw)))
		case Uint64:
			v = float64(e.Uint64(raw))
		case Int64:
			v = float64(int64(e.Uint64(raw)))
		case FP32:
			v = float64(math.Float32frombits(e.Uint32(raw)))
		case FP64:
			v = math.Float64frombits(e.Uint64(raw))
		}
		dst = append(dst, v)
	}
	return dst
}

// AppendRaw appends the elements as Raw has them. It is for what a model has predicted: tensors of type BYTES, FP64,
// INT64 and BOOL.
func (t *Tensor) AppendRaw(dst []byte) []byte {
	e := binary.LittleEndian
	for _, text := range t.Texts {
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

// wholeRows is the name of the input that has all columns of a row.
const wholeRows = "X"

// rowsOf returns the rows that the inputs are, as a matrix of so many rows.
func (m *loaded) rowsOf(inputs []Tensor, most int, room *share) (x []float64, n int, err error) {
	if len(inputs) == 0 {
		return nil, 0, refuse(Invalid, "there are no inputs, wanted %s", m.wantedInputs())
	}
	names := make(map[string]bool, len(inputs))
	for i := range inputs {
		if names[inputs[i].Name] {
			return nil, 0, refuse(Invalid, "the input %q is there twice", clip(inputs[i].Name))
		}
		names[inputs[i].Name] = true
	}
	if n, err = m.rowCount(inputs, most); err != nil {
		return nil, 0, err
	}
	if err := room.take(int64(n) * (16*int64(m.width) + m.answerBytes())); err != nil {
		return nil, 0, err
	}
	var f faults
	for i := range inputs {
		if err := inputs[i].settle(); err != nil {
			f.add("%v", err)
		}
	}
	if err := f.err(); err != nil {
		return nil, 0, err
	}
	if m.isWhole(inputs) {
		return inputs[0].Numbers, n, nil
	}
	x = make([]float64, n*m.width)
	given := make([]bool, m.width)
	for i := range inputs {
		m.put(&inputs[i], x, given, &f)
	}
	for j, is := range given {
		if !is {
			f.at(-1, m.fields[j].name, "there is no input for it")
		}
	}
	return x, n, f.err()
}

// isWhole reports whether the one input has all columns.
func (m *loaded) isWhole(inputs []Tensor) bool {
	_, column := m.byName[wholeRows]
	return len(inputs) == 1 && inputs[0].Name == wholeRows && m.numeric && !column && inputs[0].Datatype != Bytes
}

// wantedInputs says what the inputs are.
func (m *loaded) wantedInputs() string {
	if m.numeric {
		return fmt.Sprintf("one called %s of the shape [rows, %d], or one of the shape [rows] or [rows, 1] for each column: %s", wholeRows, m.width, m.named())
	}
	return "one of the shape [rows] or [rows, 1] for each column: " + m.named()
}

// rowCount returns how many rows all inputs have.
func (m *loaded) rowCount(inputs []Tensor, most int) (int, error) {
	var f faults
	whole, rows := m.isWhole(inputs), int64(-1)
	for i := range inputs {
		t := &inputs[i]
		s := t.Shape
		switch _, known := m.byName[t.Name]; {
		case whole && (len(s) != 2 || s[0] < 0 || s[1] != int64(m.width)):
			f.add("input %q: got the shape %v, wanted [rows, %d]", t.Name, clipShape(s), m.width)
			continue
		case whole:
		case !known:
			f.add("input %q: the model has no such column; wanted %s", clip(t.Name), m.wantedInputs())
			continue
		case len(s) == 0 || len(s) > 2 || s[0] < 0 || len(s) == 2 && s[1] != 1:
			f.add("input %q: got the shape %v, wanted [rows] or [rows, 1]", t.Name, clipShape(s))
			continue
		}
		switch {
		case rows < 0:
			rows = s[0]
		case rows != s[0]:
			f.add("input %q: got %d rows, wanted %d, as input %q has", t.Name, s[0], rows, inputs[0].Name)
		}
	}
	if err := f.err(); err != nil {
		return 0, err
	}
	if rows > int64(most) {
		return 0, refuse(TooLarge, "%d rows, the server's limit is %d; send them in several requests", rows, most)
	}
	return int(rows), nil
}

// put puts the elements of an input into their column.
func (m *loaded) put(t *Tensor, x []float64, given []bool, faults *faults) {
	f := &m.fields[m.byName[t.Name]]
	columns := f.parts
	switch f.use {
	case ignored:
		return
	case date:
		if t.Datatype != Bytes {
			faults.at(-1, f.name, "got %s, wanted BYTES: %s", t.Datatype, f.wantedDate())
			return
		}
	default:
		columns = []int{f.at}
	}
	for _, j := range columns {
		if given[j] {
			faults.at(-1, m.fields[j].name, "there are two inputs for it: itself and its date")
		}
		given[j] = true
	}
	for i, text := range t.Texts {
		row := x[i*m.width : (i+1)*m.width]
		if f.use == date {
			if !m.dateOf(f, text, row) {
				faults.at(i, f.name, "got %s, wanted %s", shown(text), f.wantedDate())
			}
			continue
		}
		v, wanted := m.ofText(f, text)
		if wanted != "" {
			faults.at(i, f.name, "got %s, wanted %s", shown(text), wanted)
		}
		row[f.at] = v
	}
	for i, v := range t.Numbers {
		if t.Datatype == Bool && v == v {
			x[i*m.width+f.at] = f.ofTruth(v != 0)
		} else {
			x[i*m.width+f.at] = f.ofNumber(nil, v)
		}
	}
}
