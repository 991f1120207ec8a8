package npy

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// cursor is one pass over some columns.
type cursor struct {
	file         *file
	bytes        *steady.Bytes
	requests     []table.ColumnRequest
	dictionaries []*table.Dictionary // by index of the requested column
	streams      []*stream           // by array; nil if none of its columns is requested
	at           int                 // row after the current ones
	rows         int                 // number of current rows
}

// stream reads the values of an array, of which some rows are buffered.
type stream struct {
	of     *member
	width  int
	in     io.Reader
	end    func() error
	random io.ReaderAt // of an array in Fortran's order
	buffer []byte
}

func (f *file) Read(_ context.Context, requests []table.ColumnRequest) (table.Cursor, error) {
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	c := &cursor{file: f, bytes: b, requests: requests, dictionaries: make([]*table.Dictionary, len(requests)),
		streams: make([]*stream, len(f.arrays))}
	for _, w := range requests {
		k := f.columns[w.Column].array
		if c.streams[k] != nil {
			continue
		}
		if c.streams[k], err = f.stream(&f.arrays[k], b); err != nil {
			c.Close()
			return nil, f.arrayError(f.arrays[k].name, err)
		}
	}
	return c, nil
}

func (f *file) stream(m *member, b *steady.Bytes) (*stream, error) {
	s := &stream{of: m, width: 1, end: noClose}
	if len(m.head.shape) == 2 {
		s.width = m.head.shape[1]
	}
	var err error
	if m.head.fortran && s.width > 1 {
		s.random, err = m.readerAt(b)
		return s, err
	}
	s.in, s.end, err = m.reader(b)
	return s, err
}

// maxChunkBytes bounds the bytes of the buffered rows, unless one row is larger.
const maxChunkBytes = 1 << 23

func (c *cursor) Next(most int) (int, error) {
	c.rows = min(most, c.file.form.Rows-c.at)
	for _, s := range c.streams {
		if s != nil && s.random == nil {
			c.rows = min(c.rows, max(1, maxChunkBytes/max(s.width*s.of.head.item, 1)))
		}
	}
	if c.rows <= 0 {
		if err := c.bytes.CheckUnchanged(); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}
	for _, s := range c.streams {
		if s == nil || s.random != nil {
			continue
		}
		n := c.rows * s.width * s.of.head.item
		if len(s.buffer) < n {
			s.buffer = make([]byte, n)
		}
		if _, err := io.ReadFull(s.in, s.buffer[:n]); err != nil {
			return 0, c.file.arrayError(s.of.name, err)
		}
	}
	c.at += c.rows
	return c.rows, nil
}

func (c *cursor) Close() error {
	for _, s := range c.streams {
		if s != nil && s.end != nil {
			s.end()
		}
	}
	return c.bytes.Close()
}

// Decode decodes one column of the buffered rows.
func (c *cursor) Decode(k int, v *table.Values) error {
	at := c.file.columns[c.requests[k].Column]
	s := c.streams[at.array]
	h := &s.of.head
	f := &h.fields[at.field]
	elements := elements{f: f, step: s.width * h.item, data: s.buffer[min(at.at*h.item+f.offset, len(s.buffer)):]}
	if s.random != nil {
		elements.step = h.item
		data := make([]byte, c.rows*h.item)
		from := int64(at.at)*int64(c.file.form.Rows) + int64(c.at-c.rows)
		if _, err := s.random.ReadAt(data, from*int64(h.item)); err != nil {
			return c.file.arrayError(s.of.name, err)
		}
		elements.data = data[f.offset:]
	}
	switch c.requests[k].As {
	case table.Numbers:
		elements.numbers(v.Numbers)
	case table.Times:
		elements.seconds(v.Seconds)
	default:
		c.dictionaries[k] = c.dictionaries[k].Reuse()
		elements.strings(v.Codes, c.dictionaries[k])
		v.Dictionary = c.dictionaries[k]
	}
	return nil
}

// elements is a strided view of values in bytes.
type elements struct {
	f    *field
	step int
	data []byte
}

// numbers writes numbers and Booleans.
func (e elements) numbers(out []float64) {
	data, step, order := e.data, e.step, e.f.order
	if order == binary.LittleEndian && e.f.kind == 'f' && e.f.size == 8 { // the usual case
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[i*step:]))
		}
		return
	}
	switch string(e.f.kind) + strconv.Itoa(e.f.size) {
	case "f8":
		for i := range out {
			out[i] = math.Float64frombits(order.Uint64(data[i*step:]))
		}
	case "f4":
		for i := range out {
			out[i] = float64(math.Float32frombits(order.Uint32(data[i*step:])))
		}
	case "f2":
		for i := range out {
			out[i] = table.Float16(order.Uint16(data[i*step:]))
		}
	case "i8":
		for i := range out {
			out[i] = float64(int64(order.Uint64(data[i*step:])))
		}
	case "u8":
		for i := range out {
			out[i] = float64(order.Uint64(data[i*step:]))
		}
	case "i4":
		for i := range out {
			out[i] = float64(int32(order.Uint32(data[i*step:])))
		}
	case "u4":
		for i := range out {
			out[i] = float64(order.Uint32(data[i*step:]))
		}
	case "i2":
		for i := range out {
			out[i] = float64(int16(order.Uint16(data[i*step:])))
		}
	case "u2":
		for i := range out {
			out[i] = float64(order.Uint16(data[i*step:]))
		}
	case "i1":
		for i := range out {
			out[i] = float64(int8(data[i*step]))
		}
	case "u1":
		for i := range out {
			out[i] = float64(data[i*step])
		}
	case "b1":
		for i := range out {
			out[i] = 0
			if data[i*step] != 0 {
				out[i] = 1
			}
		}
	}
}

// strings writes the codes of strings, or of numbers, Booleans and times formatted as strings.
func (e elements) strings(out []int32, d *table.Dictionary) {
	var buffer []byte
	for i := range out {
		element := e.data[i*e.step:][:e.f.size]
		var ok bool
		if buffer, ok = e.f.text(buffer[:0], element); !ok {
			out[i] = -1
		} else {
			out[i] = d.Code(buffer)
		}
	}
}

// text appends an element as a string, unless it is missing.
func (f *field) text(dst, element []byte) ([]byte, bool) {
	switch f.kind {
	case 'S':
		return append(dst, bytes.TrimRight(element, "\x00")...), true
	case 'U':
		for len(element) >= 4 && string(element[len(element)-4:]) == "\x00\x00\x00\x00" {
			element = element[:len(element)-4]
		}
		for ; len(element) >= 4; element = element[4:] {
			// Larger values become RuneError.
			dst = utf8.AppendRune(dst, rune(min(f.order.Uint32(element), utf8.MaxRune+1)))
		}
		return dst, true
	case 'M':
		seconds, nanos, ok := f.time(element)
		if !ok {
			return dst, false
		}
		return table.AppendTime(dst, seconds, nanos, units[f.unit].day, false), true
	case 'b':
		return strconv.AppendBool(dst, element[0] != 0), true
	case 'i':
		return strconv.AppendInt(dst, f.integer(element), 10), true
	case 'u':
		return strconv.AppendUint(dst, uint64(f.integer(element)), 10), true
	}
	var v [1]float64
	elements{f: f, step: f.size, data: element}.numbers(v[:])
	if v[0] != v[0] {
		return dst, false
	}
	return table.AppendNumber(dst, v[0], min(8*max(f.size, 4), 64)), true
}

// integer returns an integer; one of 64 bits without a sign has its bits.
func (f *field) integer(element []byte) int64 {
	var v uint64
	switch f.size {
	case 1:
		v = uint64(element[0])
	case 2:
		v = uint64(f.order.Uint16(element))
	case 4:
		v = uint64(f.order.Uint32(element))
	case 8:
		v = f.order.Uint64(element)
	}
	if f.kind == 'u' {
		return int64(v)
	}
	shift := 64 - 8*f.size
	return int64(v<<shift) >> shift
}

// unit is a unit of time: a fraction or a multiple of a second, or months.
type unit struct {
	parts, seconds int64
	months         int64
	day            bool // whether it is a day or longer
}

var units = map[string]unit{
	"Y": {months: 12, day: true}, "M": {months: 1, day: true}, "W": {seconds: 7 * 86400, day: true},
	"D": {seconds: 86400, day: true},
	"h": {seconds: 3600}, "m": {seconds: 60}, "s": {seconds: 1},
	"ms": {parts: 1e3}, "us": {parts: 1e6}, "ns": {parts: 1e9},
}

// maxTimeValue bounds times, in seconds from 1970; it includes all years of four digits.
const maxTimeValue = 1 << 40

// time returns the seconds since 1970 and the nanoseconds of a time; one that is too far is missing.
func (f *field) time(element []byte) (seconds int64, nanos int, ok bool) {
	v := int64(f.order.Uint64(element))
	if v == math.MinInt64 { // NaT
		return 0, 0, false
	}
	u := units[f.unit]
	if most := int64(math.MaxInt64) / int64(f.count); v > most || v < -most {
		return 0, 0, false
	}
	v *= int64(f.count)
	switch {
	case u.parts > 0:
		seconds, nanos = table.UnixTime(v, u.parts)
	case v > maxTimeValue || v < -maxTimeValue:
		return 0, 0, false
	case u.months > 0:
		months := v * u.months
		if months > maxTimeValue/(31*86400) || months < -maxTimeValue/(31*86400) {
			return 0, 0, false
		}
		seconds = time.Date(1970, time.Month(1+months), 1, 0, 0, 0, 0, time.UTC).Unix()
	case u.seconds > 1 && (v > maxTimeValue/u.seconds || v < -maxTimeValue/u.seconds):
		return 0, 0, false
	default:
		seconds = v * u.seconds
	}
	return seconds, nanos, true
}

func (e elements) seconds(out []int64) {
	for i := range out {
		var ok bool
		if out[i], _, ok = e.f.time(e.data[i*e.step:]); !ok {
			out[i] = table.NoTime
		}
	}
}
