package arrow

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// decoder converts the arrays of a column, chunk by chunk.
type decoder struct {
	columnPath
	As   table.Type
	Name string

	words  *table.Dictionary // of strings without a dictionary
	buffer []byte

	of      arrow.ArrayData // values of the current dictionary, decoded below
	numbers []float64
	seconds []int64
	strs    *table.Dictionary
}

// Decode writes the values of an array, up to the capacity of v.
func (d *decoder) Decode(a arrow.Array, v *table.Values) error {
	a = storageArray(a)
	if c, ok := a.(*array.Dictionary); ok {
		return d.decodeCodes(c, v)
	}
	switch d.As {
	case table.Numbers:
		return d.decodeNumbers(a, v.Numbers)
	case table.Times:
		for i := range v.Seconds {
			if v.Seconds[i] = table.NoTime; a.IsValid(i) {
				v.Seconds[i], _ = seconds(a, i)
			}
		}
		return nil
	}
	d.words = d.words.Reuse()
	v.Dictionary = d.words
	for i := range v.Codes {
		if v.Codes[i] = -1; a.IsValid(i) {
			d.buffer = appendString(d.buffer[:0], a, i)
			v.Codes[i] = d.words.Code(d.buffer)
		}
	}
	return nil
}

// storageArray is the array that an extension array wraps.
func storageArray(a arrow.Array) arrow.Array {
	if e, ok := a.(array.ExtensionArray); ok {
		return storageArray(e.Storage())
	}
	return a
}

func (d *decoder) decodeNumbers(a arrow.Array, out []float64) error {
	if d.Size == 0 {
		return numbers(a, 0, 1, out)
	}
	list, ok := a.(*array.FixedSizeList)
	if !ok {
		return fmt.Errorf("lists of one size are of type %s", a.DataType())
	}
	from, _ := list.ValueOffsets(0)
	if err := numbers(storageArray(list.ListValues()), int(from)+d.Element, d.Size, out); err != nil {
		return err
	}
	for i := range out {
		if list.IsNull(i) {
			out[i] = math.NaN()
		}
	}
	return nil
}

// numbers writes every step-th value of an array, starting at from, to out.
func numbers(a arrow.Array, from, step int, out []float64) error {
	switch a := a.(type) {
	case *array.Null:
		for i := range out {
			out[i] = math.NaN()
		}
		return nil
	case *array.Float64:
		if values := a.Float64Values(); step == 1 {
			copy(out, values[from:from+len(out)])
		} else {
			convert(values, from, step, out)
		}
	case *array.Float32:
		convert(a.Float32Values(), from, step, out)
	case *array.Int64:
		convert(a.Int64Values(), from, step, out)
	case *array.Int32:
		convert(a.Int32Values(), from, step, out)
	case *array.Int16:
		convert(a.Int16Values(), from, step, out)
	case *array.Int8:
		convert(a.Int8Values(), from, step, out)
	case *array.Uint64:
		convert(a.Uint64Values(), from, step, out)
	case *array.Uint32:
		convert(a.Uint32Values(), from, step, out)
	case *array.Uint16:
		convert(a.Uint16Values(), from, step, out)
	case *array.Uint8:
		convert(a.Uint8Values(), from, step, out)
	default:
		if err := otherNumbers(a, from, step, out); err != nil {
			return err
		}
	}
	if a.NullN() > 0 {
		for i := range out {
			if a.IsNull(from + i*step) {
				out[i] = math.NaN()
			}
		}
	}
	return nil
}

func convert[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64,
	Out int32 | float64](values []T, from, step int, out []Out) {
	for i := range out {
		out[i] = Out(values[from+i*step])
	}
}

// otherNumbers writes numbers that have no type in Go.
func otherNumbers(a arrow.Array, from, step int, out []float64) error {
	for i := range out {
		at := from + i*step
		switch a := a.(type) {
		case *array.Float16:
			out[i] = table.Float16(a.Value(at).Uint16())
		case *array.Boolean:
			if out[i] = 0; a.Value(at) {
				out[i] = 1
			}
		default:
			if _, ok := a.DataType().(arrow.DecimalType); !ok {
				return fmt.Errorf("values of type %s are no numbers", a.DataType())
			}
			out[i] = decimal(a, at)
		}
	}
	return nil
}

// decimal returns the number nearest to a decimal.
func decimal(a arrow.Array, i int) float64 {
	digits := int(a.DataType().(arrow.DecimalType).GetScale())
	v := digitsOf(a, i)
	if v.IsInt64() {
		if out, ok := table.Decimal(v.Int64(), digits); ok {
			return out
		}
	}
	out, _ := strconv.ParseFloat(string(table.AppendDecimal(nil, v, digits)), 64)
	return out
}

// digitsOf returns the digits of a decimal as an integer.
func digitsOf(a arrow.Array, i int) *big.Int {
	switch a := a.(type) {
	case *array.Decimal32:
		return big.NewInt(int64(a.Value(i)))
	case *array.Decimal64:
		return big.NewInt(int64(a.Value(i)))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	}
	return a.(*array.Decimal256).Value(i).BigInt()
}

// seconds returns a time in seconds since 1970, and its nanoseconds.
func seconds(a arrow.Array, i int) (seconds int64, nanos int) {
	switch a := a.(type) {
	case *array.Date32:
		return int64(a.Value(i)) * 86400, 0
	case *array.Date64:
		return table.UnixTime(int64(a.Value(i)), 1e3)
	}
	t := a.(*array.Timestamp)
	unit := t.DataType().(*arrow.TimestampType).Unit.Multiplier()
	return table.UnixTime(int64(t.Value(i)), int64(time.Second/unit))
}

// appendString appends a value as a string.
func appendString(dst []byte, a arrow.Array, i int) []byte {
	switch a := a.(type) {
	case *array.String:
		return append(dst, a.Value(i)...)
	case *array.LargeString:
		return append(dst, a.Value(i)...)
	case *array.StringView:
		return append(dst, a.Value(i)...)
	case *array.Binary:
		return append(dst, a.Value(i)...)
	case *array.LargeBinary:
		return append(dst, a.Value(i)...)
	case *array.BinaryView:
		return append(dst, a.Value(i)...)
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(i))
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(i), 10)
	case *array.Uint64:
		return strconv.AppendUint(dst, a.Value(i), 10)
	case *array.Date32, *array.Date64:
		at, nanos := seconds(a, i)
		return table.AppendTime(dst, at, nanos, true, false)
	case *array.Timestamp:
		at, nanos := seconds(a, i)
		return table.AppendTime(dst, at, nanos, false, a.DataType().(*arrow.TimestampType).TimeZone != "")
	}
	if t, ok := a.DataType().(arrow.DecimalType); ok {
		return table.AppendDecimal(dst, digitsOf(a, i), int(t.GetScale()))
	}
	bits := 64
	if id := a.DataType().ID(); id == arrow.FLOAT32 || id == arrow.FLOAT16 {
		bits = 32
	}
	var v [1]float64
	if err := numbers(a, i, 1, v[:]); err != nil {
		panic(err)
	}
	return table.AppendNumber(dst, v[0], bits)
}

// decodeCodes decodes values that are codes of a dictionary.
func (d *decoder) decodeCodes(a *array.Dictionary, v *table.Values) error {
	values := a.Dictionary()
	if err := d.updateDictionary(storageArray(values)); err != nil {
		return fmt.Errorf("its dictionary: %w", err)
	}
	rows := a.Len()
	if v.Codes = slices.Grow(v.Codes[:0], rows)[:rows]; rows > 0 {
		if err := codes(a, v.Codes, values.Len()); err != nil {
			return err
		}
	}
	switch d.As {
	case table.Strings:
		v.Dictionary = d.strs
	case table.Times:
		for i, code := range v.Codes {
			if v.Seconds[i] = table.NoTime; code >= 0 {
				v.Seconds[i] = d.seconds[code]
			}
		}
	default:
		for i, code := range v.Codes {
			if v.Numbers[i] = math.NaN(); code >= 0 {
				v.Numbers[i] = d.numbers[code]
			}
		}
	}
	return nil
}

// codes writes the codes of a dictionary of n values, -1 for missing ones.
func codes(a *array.Dictionary, out []int32, n int) error {
	if n > math.MaxInt32 {
		return fmt.Errorf("number of values must be at most %[2]d, got %[1]d", n, math.MaxInt32)
	}
	indices, fast := a.Indices().(*array.Int32)
	if fast {
		copy(out, indices.Int32Values())
	}
	for i := range out {
		if a.IsNull(i) {
			out[i] = -1
			continue
		}
		code := int(out[i])
		if !fast {
			code = a.GetValueIndex(i)
		}
		if code < 0 || code >= n {
			return fmt.Errorf("damaged: code %d of a dictionary of %d values", code, n)
		}
		out[i] = int32(code)
	}
	return nil
}

// updateDictionary reads the values of a dictionary that are not known yet.
func (d *decoder) updateDictionary(values arrow.Array) error {
	if d.of == values.Data() {
		return nil
	}
	d.of = nil
	inner := decoder{As: d.As}
	n := values.Len()
	switch d.As {
	case table.Numbers:
		d.numbers = make([]float64, n)
		if err := inner.Decode(values, &table.Values{Numbers: d.numbers}); err != nil {
			return err
		}
	case table.Times:
		d.seconds = make([]int64, n)
		if err := inner.Decode(values, &table.Values{Seconds: d.seconds}); err != nil {
			return err
		}
	default:
		if _, nested := values.(*array.Dictionary); nested {
			return errors.New("a dictionary of codes of another one")
		}
		d.addStrings(values)
	}
	d.of = values.Data()
	return nil
}

// addStrings reads the strings of a dictionary. A dictionary that extends the previous one reuses
// it.
func (d *decoder) addStrings(values arrow.Array) {
	for i := range values.Len() {
		if d.buffer = d.buffer[:0]; values.IsValid(i) { // a missing value is an empty text
			d.buffer = appendString(d.buffer, values, i)
		}
		switch {
		case d.strs == nil:
			d.strs = table.NewDictionary(nil)
		case i < len(d.strs.Strings) && d.strs.Strings[i] == string(d.buffer):
			continue
		case i < len(d.strs.Strings):
			d.strs = table.NewDictionary(slices.Clone(d.strs.Strings[:i]))
		}
		d.strs.Strings = append(d.strs.Strings, string(d.buffer))
	}
	if d.strs == nil {
		d.strs = table.NewDictionary(nil)
	}
}
