package table

import (
	"context"
	"math"
	"math/big"
	"strconv"
	"time"
)

// Columnar reads the columns of a file that says of what type each is, as often as it is asked. The
// columns that nobody needs are not read.
type Columnar interface {
	ColumnForm() ColumnForm
	// Read begins to read some columns from the first row.
	Read(ctx context.Context, wanted []Reading) (Cursor, error)
}

// ColumnForm is what a file with typed columns says about them.
type ColumnForm struct {
	Name    string // what the file is called in errors
	Columns []TypedColumn
	Rows    int // -1 where only reading would tell

	// Place says in which of several files a row is, and which one there, both counted from 1; nil for one file.
	Place func(row int) (file string, at int)
}

// TypedColumn is a column and its type.
type TypedColumn struct {
	Name string
	Type Type
	As   string // the type in the file's own words
	Why  string // what is wrong with an Unreadable one; "" says that no column can be made of its type
}

// Type is what the values of a column are.
type Type uint8

// The types, and in which representations a reader hands out their values.
const (
	Unreadable Type = iota // no column can be made of it
	Numbers                // as Numbers, or as Texts, by which integers are exact
	Truths                 // as Numbers, 0 and 1, or as Texts, false and true
	Texts                  // as Texts
	Times                  // dates and times, as Times or as Texts
)

// Reading is a column that is wanted, and in which representation.
type Reading struct {
	Column int
	As     Type // Numbers, Texts or Times
}

// Cursor is one pass over some columns.
type Cursor interface {
	// Next goes on by at most so many rows, at least one, and returns how many; io.EOF is behind the
	// last.
	Next(most int) (rows int, err error)
	// Decode writes the values of the rows at hand of wanted column k. Several columns may be decoded
	// at once.
	Decode(k int, v *Values) error
	Close() error
}

// Values are those of some rows in one column, in the representation that was asked for. The arrays of
// numbers, seconds and codes are as long as there are rows.
type Values struct {
	Numbers []float64   // NaN for a missing value
	Seconds []int64     // since 1970 in UTC, or as a clock shows them that knows no zone; NoTime for a missing value
	Codes   []int32     // of the texts in Dictionary, -1 for a missing value
	Texts   *Dictionary // what the reader says the codes are
}

// NoTime is a missing time.
const NoTime = math.MinInt64

// Dictionary is the texts that codes stand for. It may grow from one decoding to the next; what has a
// code keeps it.
type Dictionary struct {
	Texts []string
	codes map[string]int32
}

// mostTexts is how many texts a dictionary gathers before another one takes its place, so that a
// column of nothing but different texts takes no memory without bound.
const mostTexts = 1 << 16

// Gathered returns the dictionary to go on with: d, or a new one where d is nil or has grown long.
func (d *Dictionary) Gathered() *Dictionary {
	if d != nil && len(d.Texts) < mostTexts {
		return d
	}
	return &Dictionary{}
}

// Code returns the code of a string, which is added where it is new.
func (d *Dictionary) Code(text []byte) int32 {
	if d.codes == nil {
		d.codes = make(map[string]int32, len(d.Texts))
		for k, t := range d.Texts {
			d.codes[t] = int32(k)
		}
	}
	if code, ok := d.codes[string(text)]; ok {
		return code
	}
	code, own := int32(len(d.Texts)), string(text)
	d.codes[own] = code
	d.Texts = append(d.Texts, own)
	return code
}

// AppendNumber writes a number as a category is called: without an exponent, unless it is very large or
// very small. bits is 32 for one that the file has in single precision.
func AppendNumber(dst []byte, v float64, bits int) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, bits)
}

// AppendTime writes a time as a string: a date, or with the time of day where there is one in the file,
// and a Z where it is one in UTC.
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

// Half returns a number of half precision.
func Half(b uint16) float64 {
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

// Since1970 returns the seconds and nanoseconds of a time in so many parts of a second since 1970.
func Since1970(v, parts int64) (seconds int64, nanos int) {
	seconds = v / parts
	if v%parts < 0 {
		seconds--
	}
	return seconds, int((v - seconds*parts) * (1e9 / parts))
}

// Decimal returns the number nearest to v/10^digits, where one division of exact numbers makes it.
func Decimal(v int64, digits int) (float64, bool) {
	if v > 1<<53 || v < -1<<53 || digits < 0 || digits > 22 {
		return 0, false
	}
	return float64(v) / math.Pow10(digits), true
}

// AppendDecimal writes v/10^digits.
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

// NewDictionary returns the dictionary of texts that have codes already, in their order.
func NewDictionary(texts []string) *Dictionary { return &Dictionary{Texts: texts} }
