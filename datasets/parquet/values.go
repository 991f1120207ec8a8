package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// The encodings of values, by the format's numbers.
const (
	plain           = 0
	plainDictionary = 2
	runLength       = 3
	deltaPacked     = 5
	deltaLengths    = 6
	deltaTexts      = 7
	dictionaryCodes = 8
	splitBytes      = 9
)

// stored is the values of a page as they are stored, those that are not missing.
type stored struct {
	of       *leaf
	encoding int
	width    int // bytes of a value, 0 where they differ
	data     []byte
	at       int // of the next value: bytes, values or bits
	count    int // values, of split bytes
	bits     *runs
	deltas   *deltas // values, or lengths of texts
	prefixes *deltas
	last     []byte // the text before
	scratch  [16]byte
}

// newStored begins to read the values of a page of this many, of which some may be missing.
func newStored(of *leaf, encoding int, data []byte) (*stored, error) {
	s := &stored{of: of, encoding: encoding, data: data, width: map[int]int{int32s: 4, int64s: 8, int96s: 12, floats: 4, doubles: 8, fixedArrays: of.length}[of.physical]}
	if of.physical == fixedArrays && of.length <= 0 {
		return nil, errors.New("damaged: values of no bytes")
	}
	var err error
	whole := of.physical == int32s || of.physical == int64s
	texts := of.physical == byteArrays || of.physical == fixedArrays && encoding == deltaTexts
	switch {
	case encoding == plain:
	case encoding == runLength && of.physical == booleans:
		if len(data) < 4 {
			return nil, errCut
		}
		s.bits = &runs{data: data[4:], width: 1}
	case encoding == deltaPacked && whole:
		s.deltas, err = newDeltas(data)
	case encoding == deltaLengths && texts:
		s.deltas, s.data, err = lengths(data)
	case encoding == deltaTexts && texts:
		if s.prefixes, s.data, err = lengths(data); err == nil {
			s.deltas, s.data, err = lengths(s.data)
		}
	case encoding == splitBytes && s.width > 0 && of.physical != int96s:
		s.count = len(data) / s.width
	default:
		return nil, fmt.Errorf("values of type %s in encoding %d, which is not known", of.as(), encoding)
	}
	return s, err
}

// lengths begins to read lengths, and returns what is behind them.
func lengths(data []byte) (*deltas, []byte, error) {
	d, err := newDeltas(data)
	if err != nil {
		return nil, nil, err
	}
	rest, err := d.end()
	if err != nil {
		return nil, nil, err
	}
	d, err = newDeltas(data)
	return d, rest, err
}

// next returns the next value as bytes: little-endian numbers, texts, 0 or 1. It is valid until the call
// after it.
func (s *stored) next() ([]byte, error) {
	switch {
	case s.of.physical == booleans:
		return s.nextTruth()
	case s.encoding == deltaPacked:
		v, err := s.deltas.next()
		binary.LittleEndian.PutUint64(s.scratch[:], uint64(v))
		return s.scratch[:s.width], err
	case s.encoding == deltaLengths:
		n, err := s.deltas.next()
		if err != nil {
			return nil, err
		}
		return s.bytes(int(n))
	case s.encoding == deltaTexts:
		return s.nextText()
	case s.encoding == splitBytes:
		if s.at >= s.count {
			return nil, errCut
		}
		for k := range s.width {
			if k == len(s.scratch) {
				s.last = append(s.last[:0], s.scratch[:]...)
			}
			if k >= len(s.scratch) {
				s.last = append(s.last, s.data[k*s.count+s.at])
			} else {
				s.scratch[k] = s.data[k*s.count+s.at]
			}
		}
		if s.at++; s.width > len(s.scratch) {
			return s.last, nil
		}
		return s.scratch[:s.width], nil
	case s.width > 0:
		return s.bytes(s.width)
	}
	if len(s.data)-s.at < 4 {
		return nil, errCut
	}
	n := binary.LittleEndian.Uint32(s.data[s.at:])
	s.at += 4
	if n > math.MaxInt32 {
		return nil, errCut
	}
	return s.bytes(int(n))
}

// bytes returns the next n bytes.
func (s *stored) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(s.data)-s.at {
		return nil, errCut
	}
	s.at += n
	return s.data[s.at-n : s.at], nil
}

func (s *stored) nextTruth() ([]byte, error) {
	if s.bits != nil {
		var v [1]uint32
		err := s.bits.next(v[:])
		s.scratch[0] = byte(v[0])
		return s.scratch[:1], err
	}
	if s.at/8 >= len(s.data) {
		return nil, errCut
	}
	s.scratch[0] = s.data[s.at/8] >> (s.at % 8) & 1
	s.at++
	return s.scratch[:1], nil
}

// nextText returns a text that begins as the one before.
func (s *stored) nextText() ([]byte, error) {
	prefix, err := s.prefixes.next()
	if err != nil {
		return nil, err
	}
	n, err := s.deltas.next()
	if err != nil {
		return nil, err
	}
	rest, err := s.bytes(int(n))
	if err != nil || prefix < 0 || prefix > int64(len(s.last)) {
		return nil, errCut
	}
	s.last = append(s.last[:prefix], rest...)
	if s.width > 0 && len(s.last) != s.width {
		return nil, errCut
	}
	return s.last, nil
}

// numbers writes the next values as numbers.
func (s *stored) numbers(out []float64) error {
	if s.encoding == plain && s.width > 0 {
		if len(s.data)-s.at < s.width*len(out) {
			return errCut
		}
		data := s.data[s.at : s.at+s.width*len(out)]
		if s.of.plainNumbers(out, data) {
			s.at += len(data)
			return nil
		}
	}
	for i := range out {
		b, err := s.next()
		if err != nil {
			return err
		}
		out[i] = s.of.number(b)
	}
	return nil
}

// plainNumbers writes the numbers that need nothing else than to be read, and reports whether these are.
func (l *leaf) plainNumbers(out []float64, data []byte) bool {
	switch {
	case l.physical == doubles:
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
	case l.physical == floats:
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		}
	case l.meaning() == isDecimal || l.unsigned():
		return false
	case l.physical == int64s:
		for i := range out {
			out[i] = float64(int64(binary.LittleEndian.Uint64(data[8*i:])))
		}
	case l.physical == int32s:
		for i := range out {
			out[i] = float64(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
	default:
		return false
	}
	return true
}

// number returns a value as a number.
func (l *leaf) number(b []byte) float64 {
	if l.meaning() == isDecimal {
		return l.decimal(b)
	}
	switch l.physical {
	case booleans:
		return float64(b[0])
	case int32s:
		if v := binary.LittleEndian.Uint32(b); l.unsigned() {
			return float64(v)
		} else {
			return float64(int32(v))
		}
	case int64s:
		if v := binary.LittleEndian.Uint64(b); l.unsigned() {
			return float64(v)
		} else {
			return float64(int64(v))
		}
	case floats:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case doubles:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case fixedArrays:
		return table.Half(binary.LittleEndian.Uint16(b))
	}
	return math.NaN()
}

// whole returns the digits of a decimal as a whole number.
func (l *leaf) whole(b []byte) *big.Int {
	switch l.physical {
	case int32s:
		return big.NewInt(int64(int32(binary.LittleEndian.Uint32(b))))
	case int64s:
		return big.NewInt(int64(binary.LittleEndian.Uint64(b)))
	}
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// decimal returns the number nearest to a decimal.
func (l *leaf) decimal(b []byte) float64 {
	if len(b) <= 8 {
		v := int64(0)
		switch l.physical {
		case int32s:
			v = int64(int32(binary.LittleEndian.Uint32(b)))
		case int64s:
			v = int64(binary.LittleEndian.Uint64(b))
		default:
			for k, c := range b {
				if v = v<<8 | int64(c); k == 0 {
					v = int64(int8(c))
				}
			}
		}
		if out, ok := table.Decimal(v, l.decimals()); ok {
			return out
		}
	}
	v, _ := strconv.ParseFloat(string(table.AppendDecimal(nil, l.whole(b), l.decimals())), 64)
	return v
}

// seconds returns a time in seconds since 1970, and its nanoseconds.
func (l *leaf) seconds(b []byte) (seconds int64, nanos int) {
	switch l.physical {
	case int32s:
		return int64(int32(binary.LittleEndian.Uint32(b))) * 86400, 0
	case int96s: // nanoseconds of a day, and the day of Julius Scaliger's count
		of := int64(binary.LittleEndian.Uint64(b))
		day := int64(binary.LittleEndian.Uint32(b[8:])) - 2440588
		return day*86400 + of/1e9, int(of % 1e9)
	}
	return table.Since1970(int64(binary.LittleEndian.Uint64(b)), l.unit())
}

// text appends a value as a text.
func (l *leaf) text(dst, b []byte) []byte {
	switch l.columnType() {
	case table.Texts:
		if l.meaning() == isUUID {
			return fmt.Appendf(dst, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}
		return append(dst, b...)
	case table.Truths:
		return strconv.AppendBool(dst, b[0] != 0)
	case table.Times:
		seconds, nanos := l.seconds(b)
		return table.AppendTime(dst, seconds, nanos, l.meaning() == isDate, l.logical.utc || l.logical.id == 0 && l.converted > 0 || l.physical == int96s)
	}
	switch {
	case l.meaning() == isDecimal:
		return table.AppendDecimal(dst, l.whole(b), l.decimals())
	case l.physical == int64s && l.unsigned():
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(b), 10)
	case l.physical == int64s:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(b)), 10)
	case l.physical == floats || l.physical == fixedArrays:
		return table.AppendNumber(dst, l.number(b), 32)
	}
	return table.AppendNumber(dst, l.number(b), 64)
}
