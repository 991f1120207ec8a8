package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// Types of values in a file, as numbered in parquet.thrift.
const (
	boolean = iota
	int32s
	int64s
	int96s
	floats
	doubles
	byteArrays
	fixedArrays
)

// Types of values for users.
const (
	logicalMap       = 2
	logicalList      = 3
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalNull      = 11
	logicalUUID      = 14
	logicalFloat16   = 15
)

// Repetitions of a column.
const (
	optional = 1
	repeated = 2
)

// leaf is a column of the schema as a column of rows.
type leaf struct {
	index    int // among the columns that have values; -1 if it is not read
	name     string
	physical int
	optional bool // whether values may be missing
	null     bool // whether all are
	width    int  // bytes of a value; 0 if they differ

	number  func(b []byte) float64
	seconds func(b []byte) (seconds int64, nanos int)
	text    func(dst, b []byte) []byte // nil if the bytes are the string
}

// modernize replaces the type of an old writer.
func (e *element) modernize() {
	switch k := e.converted; {
	case e.logical != 0 || k < 0:
	case k == 1 || k == 2:
		e.logical = logicalMap
	case k == 3:
		e.logical = logicalList
	case k == 5:
		e.logical = logicalDecimal
	case k == 6:
		e.logical = logicalDate
	case k == 7 || k == 8:
		e.logical = logicalTime
	case k == 9 || k == 10:
		e.logical, e.unit, e.utc = logicalTimestamp, k-8, true
	case k >= 11 && k <= 18:
		e.logical, e.signed = logicalInteger, k >= 15
	}
}

// nestedName names a column that has several values in a row; "" for others.
func (e *element) nestedName() string {
	switch e.modernize(); {
	case e.logical == logicalList:
		return "list"
	case e.logical == logicalMap:
		return "map"
	case e.physical < 0 || e.children > 0:
		return "structure"
	case e.repetition == repeated:
		return "repeated value"
	}
	return ""
}

// describe finds how the values of a column are read, and returns their type and its name.
func (l *leaf) describe(e *element) (table.Type, string) {
	short := e.physical == int32s
	whole := short || e.physical == int64s
	fixed := e.physical == fixedArrays
	if l.width = e.length; !fixed {
		l.width = []int{1, 4, 8, 12, 4, 8, 0}[min(e.physical, byteArrays)]
	}
	switch logical := e.logical; {
	case e.physical > fixedArrays || fixed && l.width <= 0:
		return table.Unsupported, fmt.Sprintf("number %d", e.physical)
	case logical == logicalNull:
		l.null = true
		return table.Numbers, "null"
	case logical == logicalDecimal && (whole || fixed || e.physical == byteArrays):
		l.decimal(e.scale, whole)
		return table.Numbers, "decimal"
	case logical == logicalDate && short:
		l.seconds = func(b []byte) (int64, int) { return integer(b) * 86400, 0 }
		l.text = func(dst, b []byte) []byte { return table.AppendTime(dst, integer(b)*86400, 0, true, false) }
		return table.Times, "date"
	case logical == logicalTime && whole:
		return table.Unsupported, "time of day"
	case logical == logicalTimestamp && e.physical == int64s && e.unit >= 1 && e.unit <= 3:
		parts := []int64{1e3, 1e6, 1e9}[e.unit-1]
		l.time(e.utc, func(b []byte) (int64, int) { return table.UnixTime(integer(b), parts) })
		return table.Times, "timestamp"
	case logical == logicalFloat16 && fixed && l.width == 2:
		l.float(32, func(b []byte) float64 { return table.Float16(binary.LittleEndian.Uint16(b)) })
		return table.Numbers, "float16"
	case logical == logicalUUID && fixed && l.width == 16:
		l.text = func(dst, b []byte) []byte {
			return fmt.Appendf(dst, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}
		return table.Strings, "uuid"
	case logical == logicalInteger && whole && !e.signed:
		l.number = func(b []byte) float64 { return float64(unsigned(b)) }
		l.text = func(dst, b []byte) []byte { return strconv.AppendUint(dst, unsigned(b), 10) }
		return table.Numbers, "unsigned integer"
	case whole:
		l.number = func(b []byte) float64 { return float64(integer(b)) }
		l.text = func(dst, b []byte) []byte { return strconv.AppendInt(dst, integer(b), 10) }
		return table.Numbers, "integer"
	case e.physical == boolean:
		l.number = func(b []byte) float64 { return float64(b[0]) }
		l.text = func(dst, b []byte) []byte { return strconv.AppendBool(dst, b[0] != 0) }
		return table.Booleans, "bool"
	case e.physical == int96s:
		l.time(true, func(b []byte) (int64, int) { // nanoseconds of the day, Julian day
			nanos := binary.LittleEndian.Uint64(b)
			days := int64(binary.LittleEndian.Uint32(b[8:])) - 2440588
			return days*86400 + int64(nanos/1e9), int(nanos%1e9) / 1e3 * 1e3
		})
		return table.Times, "timestamp"
	case e.physical == floats:
		l.float(32, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) })
		return table.Numbers, "float"
	case e.physical == doubles:
		l.float(64, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
		return table.Numbers, "double"
	case fixed:
		return table.Unsupported, "fixed-size binary"
	}
	return table.Strings, "binary"
}

func (l *leaf) float(bits int, number func(b []byte) float64) {
	l.number = number
	l.text = func(dst, b []byte) []byte { return table.AppendNumber(dst, number(b), bits) }
}

func (l *leaf) time(utc bool, seconds func(b []byte) (int64, int)) {
	l.seconds = seconds
	l.text = func(dst, b []byte) []byte {
		at, nanos := seconds(b)
		return table.AppendTime(dst, at, nanos, false, utc)
	}
}

// decimal reads integers, of which the last digits follow the point. Those of more than 64 bits are
// big-endian.
func (l *leaf) decimal(scale int, whole bool) {
	digits := func(b []byte) *big.Int {
		if whole {
			return big.NewInt(integer(b))
		}
		if len(b) == 0 || len(b) > 32 {
			panic(fmt.Errorf("decimal must have 1 to 32 bytes, got %d", len(b)))
		}
		v := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return v
	}
	l.text = func(dst, b []byte) []byte { return table.AppendDecimal(dst, digits(b), scale) }
	l.number = func(b []byte) float64 {
		v := digits(b)
		if v.IsInt64() {
			if out, ok := table.Decimal(v.Int64(), scale); ok {
				return out
			}
		}
		out, _ := strconv.ParseFloat(string(table.AppendDecimal(nil, v, scale)), 64)
		return out
	}
}

// integer returns an integer of 4 or 8 bytes.
func integer(b []byte) int64 {
	if len(b) == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// unsigned returns an integer of 4 or 8 bytes without a sign.
func unsigned(b []byte) uint64 {
	if len(b) == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}
