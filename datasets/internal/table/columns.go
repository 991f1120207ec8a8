package table

import (
	"context"
	"math"
	"math/big"
	"strconv"
	"sync/atomic"
	"time"
)

// Columnar reads columns of a file with typed columns, repeatedly. It does not read other columns.
type Columnar interface {
	ColumnForm() ColumnForm
	// Read starts a pass over the requested columns.
	Read(ctx context.Context, want []ColumnRequest) (Cursor, error)
}

// ColumnForm describes the columns of a file.
type ColumnForm struct {
	Name    string // name of the file in errors
	Columns []TypedColumn
	Rows    int // -1 if unknown before a pass

	// FileRow returns the file of a row among several files, and the row in that file, both counted
	// from 1; nil for one file.
	FileRow func(row int) (file string, at int)

	Text *Form // of a text file; nil for files with typed columns
}

// TypedColumn is a column with its type.
type TypedColumn struct {
	Name     string
	Type     Type
	TypeName string // name of the type in the file format
	Reason   string // why the column is Unsupported; "" if because of its type
}

// Type is the type of the values of a column.
type Type uint8

// The types, and the representations in which a reader provides them.
const (
	Unsupported Type = iota // cannot be a column
	Numbers                 // as Numbers, or as Strings, which are exact for integers
	Booleans                // as Numbers, 0 and 1, or as Strings, "false" and "true"
	Strings                 // as Strings
	Times                   // dates and times, as Times or as Strings
	Text                    // of a text file, as Numbers or as Strings, or as Text until the kind is known
)

// ColumnRequest selects a column and its representation.
type ColumnRequest struct {
	Column int
	As     Type // Numbers, Strings, Times or Text
	Input  bool // whether a sparse file may provide the entries only
	// Content reports whether a text file need only provide which values are numbers.
	Content bool

	collect *atomic.Bool // whether numbers of a text file are strings too, because the column is categorical
}

// Cursor is one pass over columns.
type Cursor interface {
	// Next advances by at least one and at most maxRows rows, and returns their number; io.EOF
	// after the last row.
	Next(maxRows int) (rows int, err error)
	// Decode writes the current values of requested column k. It may be called concurrently for
	// different columns.
	Decode(k int, v *Values) error
	Close() error
}

// Values are values of a column in the requested representation. The length of Numbers, Seconds or
// Codes is the number of rows.
type Values struct {
	Numbers    []float64   // NaN if missing
	Seconds    []int64     // Unix time in UTC or local time; NoTime if missing
	Codes      []int32     // codes in Dictionary; -1 if missing
	Dictionary *Dictionary // set by the reader

	// A text file sets all of these. A value that is not a number has a code; if Numbers is nil, all
	// values have codes.
	Step  int     // between two Numbers; 1 for typed columns
	Plain bool    // whether all values are numbers
	Rows  []int32 // rows of the entries of a sparse input
}

// len returns the number of values of n rows.
func (v *Values) len(n int) int {
	if v.Rows != nil {
		return len(v.Rows)
	}
	return n
}

// row returns the row of value i.
func (v *Values) row(i int) int {
	if v.Rows != nil {
		return int(v.Rows[i])
	}
	return i
}

// code returns the code of value i, −1 for a missing value or a number.
func (v *Values) code(i int) int32 {
	if v.Codes == nil {
		return -1
	}
	return v.Codes[i]
}

// NoTime is a missing time.
const NoTime = math.MinInt64

// Dictionary maps codes to strings. It may grow between calls of Decode, but never changes a code.
type Dictionary struct {
	Strings []string
	codes   map[string]int32
	bytes   int // of the strings that Code added
}

// A dictionary with more strings or more bytes of strings is replaced, to bound the memory of columns
// with many different or long strings.
const (
	maxDictionary      = 1 << 16
	maxDictionaryBytes = 64 << 20
)

// Reuse returns d, or a new dictionary if d is nil or large.
func (d *Dictionary) Reuse() *Dictionary {
	if d != nil && len(d.Strings) < maxDictionary && d.bytes < maxDictionaryBytes {
		return d
	}
	return &Dictionary{}
}

// cleared returns an empty dictionary that reuses the memory of d.
func (d *Dictionary) cleared() *Dictionary {
	if d == nil {
		return &Dictionary{}
	}
	clear(d.codes)
	return &Dictionary{codes: d.codes}
}

// Code returns the code of a string, which it adds if it is new.
func (d *Dictionary) Code(text []byte) int32 {
	if d.codes == nil {
		d.codes = make(map[string]int32, len(d.Strings))
		for k, t := range d.Strings {
			d.codes[t] = int32(k)
		}
	}
	if code, ok := d.codes[string(text)]; ok {
		return code
	}
	code, own := int32(len(d.Strings)), string(text)
	d.codes[own] = code
	d.Strings, d.bytes = append(d.Strings, own), d.bytes+len(own)
	return code
}

// AppendNumber formats a number as the name of a category: without an exponent unless it is very
// large or small. bits is 32 for a float32.
func AppendNumber(dst []byte, v float64, bits int) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, bits)
}

// AppendTime formats a time: a date if day, else with the time of day, and with a Z if utc.
func AppendTime(dst []byte, seconds int64, nanos int, day, utc bool) []byte {
	t := time.Unix(seconds, int64(nanos)).UTC()
	switch {
	case day:
		return t.AppendFormat(dst, time.DateOnly)
	case utc:
		return t.AppendFormat(dst, "2006-01-02T15:04:05.999999999Z")
	}
	return t.AppendFormat(dst, "2006-01-02T15:04:05.999999999")
}

// Float16 converts a half-precision number.
func Float16(b uint16) float64 {
	exponent, fraction := int(b>>10&0x1f), float64(b&0x3ff)
	var v float64
	switch {
	case exponent == 0x1f && fraction != 0:
		return math.NaN()
	case exponent == 0x1f:
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if b>>15 != 0 {
		v = -v
	}
	return v
}

// UnixTime converts v/parts seconds since 1970 to seconds and nanoseconds.
func UnixTime(v, parts int64) (seconds int64, nanos int) {
	seconds = v / parts
	if v%parts < 0 {
		seconds--
	}
	return seconds, int((v - seconds*parts) * (1e9 / parts))
}

// Decimal returns v/10^digits if one division of exact numbers gives the nearest number.
func Decimal(v int64, digits int) (float64, bool) {
	if v > 1<<53 || v < -1<<53 || digits < 0 || digits > 22 {
		return 0, false
	}
	return float64(v) / math.Pow10(digits), true
}

// AppendDecimal formats v/10^digits.
func AppendDecimal(dst []byte, v *big.Int, digits int) []byte {
	text := v.Append(nil, 10)
	if text[0] == '-' {
		dst, text = append(dst, '-'), text[1:]
	}
	if digits <= 0 || digits > 1<<10 {
		dst = append(dst, text...)
		if digits != 0 {
			dst = strconv.AppendInt(append(dst, 'e'), -int64(digits), 10)
		}
		return dst
	}
	for len(text) <= digits {
		text = append([]byte{'0'}, text...)
	}
	dst = append(dst, text[:len(text)-digits]...)
	return append(append(dst, '.'), text[len(text)-digits:]...)
}

// NewDictionary returns a dictionary in which string i has code i.
func NewDictionary(strs []string) *Dictionary { return &Dictionary{Strings: strs} }
