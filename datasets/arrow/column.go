package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"sync"

	columnar "github.com/bochner-ml/bochner/datasets/internal/table"
)

// column decodes the values of a column.
type column struct {
	place
	as   columnar.Type
	name string
	at   where // in the batch at hand

	values reader
	list   *list
	words  *columnar.Dictionary // of texts without a dictionary of their own

	of      *dictionary // what the codes stand for, and how many batches of it are read
	read    int
	entries reader
	numbers []float64
	seconds []int64
	texts   *columnar.Dictionary
	lost    []bool // which entries stand for a missing value
}

func (c *column) decode(b *batch, d *dictionary, from int64, rows int, v *columnar.Values) error {
	c.values.field = c.field
	at := c.at
	if c.list != nil {
		if b, at, from = c.list.part(b, at, from, rows); b == nil {
			return c.list.err
		}
	}
	valid, err := c.values.validity(b, at, c.element, c.size, from, rows)
	if err != nil {
		return err
	}
	if c.field.coded {
		return c.decodeCodes(b, d, from, rows, valid, v)
	}
	switch c.as {
	case columnar.Numbers:
		return c.values.numbers(b, at, c.element, c.size, from, valid, v.Numbers)
	case columnar.Times:
		return c.values.times(b, at, from, valid, v.Seconds)
	}
	c.words = c.words.Gathered()
	v.Texts = c.words
	return c.values.texts(b, at, c.element, c.size, from, rows, valid, func(i int, text []byte) {
		if text == nil {
			v.Codes[i] = -1
		} else {
			v.Codes[i] = c.words.Code(text)
		}
	})
}

// list is the rows at hand of a column of lists of one size, which its columns share: each has a value of every
// list.
type list struct {
	once   sync.Once
	place  place
	bytes  [3]scratch
	result *batch // the buffers at hand, from the row that is a multiple of 8 before
	lead   int64
	err    error
}

// part returns the rows at hand as a batch of their own, nil at an error.
func (l *list) part(b *batch, at where, from int64, rows int) (*batch, where, int64) {
	l.once.Do(func() {
		l.lead = from % 8
		out := &batch{rows: int64(rows) + l.lead, buffers: make([]buffer, 3)}
		of, n := from-l.lead, int64(rows)+l.lead
		size := int64(l.place.size)
		width := size * int64(l.place.field.width)
		spans := [3][2]int64{{of / 8, (n + 7) / 8}, {of * size / 8, (n*size + 7) / 8}, {of * width, n * width}}
		if l.place.field.kind == truths {
			spans[2] = spans[1]
		}
		for k, span := range spans {
			if k < 2 && b.buffers[at.buffer+k].size == 0 {
				continue
			}
			held, err := b.part(at.buffer+k, span[0], span[1], &l.bytes[k])
			if err != nil {
				l.err = err
				return
			}
			out.buffers[k] = buffer{size: int64(len(held)), held: held}
		}
		l.result = out
	})
	return l.result, where{}, l.lead
}

// decodeCodes decodes values that are codes of a dictionary.
func (c *column) decodeCodes(b *batch, d *dictionary, from int64, rows int, valid []byte, v *columnar.Values) error {
	if err := c.learn(d); err != nil {
		return fmt.Errorf("its dictionary: %w", err)
	}
	width := int64(c.field.index)
	data, err := b.part(c.at.buffer+1, from*width, int64(rows)*width, &c.values.data)
	if err != nil {
		return err
	}
	for i := range rows {
		code := int64(-1)
		if is(valid, i) {
			code = whole(data[i*int(width):], int(width), !c.field.unsigned)
			if code < 0 || code >= int64(len(c.lost)) {
				return fmt.Errorf("damaged: code %d of a dictionary of %d values", code, len(c.lost))
			}
			if c.lost[code] {
				code = -1
			}
		}
		switch {
		case c.as == columnar.Texts:
			v.Codes[i] = int32(code)
		case c.as == columnar.Times && code < 0:
			v.Seconds[i] = columnar.NoTime
		case c.as == columnar.Times:
			v.Seconds[i] = c.seconds[code]
		case code < 0:
			v.Numbers[i] = math.NaN()
		default:
			v.Numbers[i] = c.numbers[code]
		}
	}
	v.Texts = c.texts
	return nil
}

// mostEntries bounds the values of a dictionary.
const mostEntries = math.MaxInt32

// learn reads the batches of the dictionary that it has not read yet.
func (c *column) learn(d *dictionary) error {
	if c.of != d {
		c.of, c.read, c.numbers, c.seconds, c.lost, c.texts = d, 0, c.numbers[:0], c.seconds[:0], c.lost[:0], columnar.NewDictionary(nil)
	}
	for ; c.read < len(d.batches); c.read++ {
		b := d.batches[c.read]
		if b.rows > mostEntries-int64(len(c.lost)) {
			return fmt.Errorf("%d values, wanted at most %d", b.rows, mostEntries)
		}
		for from := int64(0); from < b.rows; {
			n := int(min(b.rows-from, 1<<12))
			if err := c.learnSome(b, from, n); err != nil {
				return err
			}
			from += int64(n)
		}
	}
	return nil
}

// learnSome reads some values of a dictionary.
func (c *column) learnSome(b *batch, from int64, n int) error {
	of := *c.field
	of.coded = false
	c.entries.field = &of
	valid, err := c.entries.validity(b, where{}, -1, 0, from, n)
	if err != nil {
		return err
	}
	for i := range n {
		c.lost = append(c.lost, !is(valid, i))
	}
	at := len(c.lost) - n
	switch c.as {
	case columnar.Numbers:
		c.numbers = slices.Grow(c.numbers, n)[:at+n]
		return c.entries.numbers(b, where{}, -1, 0, from, valid, c.numbers[at:])
	case columnar.Times:
		c.seconds = slices.Grow(c.seconds, n)[:at+n]
		return c.entries.times(b, where{}, from, valid, c.seconds[at:])
	}
	return c.entries.texts(b, where{}, -1, 0, from, n, valid, func(_ int, text []byte) { c.texts.Texts = append(c.texts.Texts, string(text)) })
}

// reader reads values of a field from batches. Its arrays are used again.
type reader struct {
	field                *field
	valid, list          scratch
	data, offsets, bytes scratch
	heap                 []scratch // that views point into
	both                 []byte
	room                 []byte
}

// is reports whether bit i is set; no bits are all set.
func is(bits []byte, i int) bool { return bits == nil || bits[i/8]>>(i%8)&1 == 1 }

// bits returns n bits of a buffer from a place on, the first of them as bit 0; nil for an empty buffer.
func (b *batch) bits(k int, from int64, n int, s *scratch) ([]byte, error) {
	if b.buffers[k].size == 0 {
		return nil, nil
	}
	lead := int(from % 8)
	raw, err := b.part(k, from/8, int64(lead+n+7)/8, s)
	if err != nil || lead == 0 {
		return raw, err
	}
	out := make([]byte, (n+7)/8)
	for i := range out {
		out[i] = raw[i] >> lead
		if i+1 < len(raw) {
			out[i] |= raw[i+1] << (8 - lead)
		}
	}
	return out, nil
}

// validity returns which of some values are there, as bits; nil for all. Those of a list of one size are
// there where the list is and the value in it.
func (r *reader) validity(b *batch, at where, element, size int, from int64, rows int) ([]byte, error) {
	if r.field.kind == nulls && !r.field.coded {
		return make([]byte, (rows+7)/8), nil
	}
	if element < 0 {
		return b.bits(at.buffer, from, rows, &r.valid)
	}
	list, err := b.bits(at.buffer, from, rows, &r.list)
	if err != nil {
		return nil, err
	}
	values, err := b.bits(at.buffer+1, from*int64(size), rows*size, &r.valid)
	if err != nil || list == nil && values == nil {
		return nil, err
	}
	r.both = append(r.both[:0], make([]byte, (rows+7)/8)...)
	for i := range rows {
		if is(list, i) && is(values, i*size+element) {
			r.both[i/8] |= 1 << (i % 8)
		}
	}
	return r.both, nil
}

// raw returns the bytes of some values of one width, and how far they are apart.
func (r *reader) raw(b *batch, at where, element, size int, from int64, rows int) (data []byte, step int, err error) {
	w, k, step := r.field.width, at.buffer+1, r.field.width
	if w <= 0 {
		return nil, 0, errors.New("damaged: values of no bytes")
	}
	if element >= 0 {
		k, step = k+1, w*size
	}
	if data, err = b.part(k, from*int64(step), int64(rows)*int64(step), &r.data); err != nil {
		return nil, 0, err
	}
	return data[max(element, 0)*w:], step, nil
}

// numbers decodes numbers and truths.
func (r *reader) numbers(b *batch, at where, element, size int, from int64, valid []byte, out []float64) error {
	switch {
	case len(out) == 0:
		return nil
	case r.field.kind == nulls:
		for i := range out {
			out[i] = math.NaN()
		}
		return nil
	case r.field.kind == truths:
		return r.truths(b, at, element, size, from, len(out), func(i int, v byte) {
			if out[i] = float64(v); !is(valid, i) {
				out[i] = math.NaN()
			}
		})
	}
	data, step, err := r.raw(b, at, element, size, from, len(out))
	if err != nil {
		return err
	}
	r.field.numbers(data, step, out)
	if valid != nil {
		for i := range out {
			if !is(valid, i) {
				out[i] = math.NaN()
			}
		}
	}
	return nil
}

// truths calls see with truths.
func (r *reader) truths(b *batch, at where, element, size int, from int64, rows int, see func(i int, v byte)) error {
	k, step := at.buffer+1, 1
	if element >= 0 {
		k, step = k+1, size
	}
	bits, err := b.bits(k, from*int64(step), rows*step, &r.data)
	if err != nil {
		return err
	}
	if bits == nil {
		return errCut
	}
	for i := range rows {
		v := byte(0)
		if is(bits, i*step+max(element, 0)) {
			v = 1
		}
		see(i, v)
	}
	return nil
}

// numbers decodes values that are so many bytes apart.
func (f *field) numbers(data []byte, step int, out []float64) {
	switch {
	case f.kind == floats && f.width == 8:
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[i*step:]))
		}
	case f.kind == floats && f.width == 4:
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i*step:])))
		}
	case f.kind == floats:
		for i := range out {
			out[i] = columnar.Half(binary.LittleEndian.Uint16(data[i*step:]))
		}
	case f.kind == ints && f.width == 8 && !f.signed:
		for i := range out {
			out[i] = float64(binary.LittleEndian.Uint64(data[i*step:]))
		}
	case f.kind == ints:
		for i := range out {
			out[i] = float64(whole(data[i*step:], f.width, f.signed))
		}
	default:
		for i := range out {
			out[i] = f.decimal(data[i*step:])
		}
	}
}

// whole returns a whole number of so many bytes; one of eight without a sign has its bits.
func whole(data []byte, width int, signed bool) int64 {
	switch {
	case width == 8:
		return int64(binary.LittleEndian.Uint64(data))
	case width == 4 && signed:
		return int64(int32(binary.LittleEndian.Uint32(data)))
	case width == 4:
		return int64(binary.LittleEndian.Uint32(data))
	case width == 2 && signed:
		return int64(int16(binary.LittleEndian.Uint16(data)))
	case width == 2:
		return int64(binary.LittleEndian.Uint16(data))
	case signed:
		return int64(int8(data[0]))
	}
	return int64(data[0])
}

// digitsOf returns the digits of a decimal as a whole number.
func (f *field) digitsOf(data []byte) *big.Int {
	b := slices.Clone(data[:f.width])
	slices.Reverse(b)
	v := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// decimal returns the number nearest to a decimal.
func (f *field) decimal(data []byte) float64 {
	v := whole(data, min(f.width, 8), true)
	exact := f.width <= 8
	if f.width == 16 {
		exact = int64(binary.LittleEndian.Uint64(data[8:])) == v>>63
	}
	if exact {
		if out, ok := columnar.Decimal(v, f.digits); ok {
			return out
		}
	}
	out, _ := strconv.ParseFloat(string(columnar.AppendDecimal(nil, f.digitsOf(data), f.digits)), 64)
	return out
}

// seconds returns a time in seconds since 1970, and its nanoseconds.
func (f *field) seconds(data []byte) (seconds int64, nanos int) {
	if f.parts == 0 {
		return whole(data, 4, true) * 86400, 0
	}
	return columnar.Since1970(whole(data, 8, true), f.parts)
}

// times decodes dates and times.
func (r *reader) times(b *batch, at where, from int64, valid []byte, out []int64) error {
	data, step, err := r.raw(b, at, -1, 0, from, len(out))
	if err != nil {
		return err
	}
	for i := range out {
		if out[i] = columnar.NoTime; is(valid, i) {
			out[i], _ = r.field.seconds(data[i*step:])
		}
	}
	return nil
}

// texts calls see with values as texts, nil for a missing one.
func (r *reader) texts(b *batch, at where, element, size int, from int64, rows int, valid []byte, see func(i int, text []byte)) error {
	switch r.field.kind {
	case texts, binaries:
		return r.spans(b, at, 4, from, rows, valid, see)
	case largeTexts, largeBinaries:
		return r.spans(b, at, 8, from, rows, valid, see)
	case textViews, binaryViews:
		return r.views(b, at, from, rows, valid, see)
	case nulls:
		for i := range rows {
			see(i, nil)
		}
		return nil
	case truths:
		return r.truths(b, at, element, size, from, rows, func(i int, v byte) {
			if r.room = strconv.AppendBool(r.room[:0], v == 1); is(valid, i) {
				see(i, r.room)
			} else {
				see(i, nil)
			}
		})
	}
	data, step, err := r.raw(b, at, element, size, from, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if is(valid, i) {
			r.room = r.field.text(r.room[:0], data[i*step:])
			see(i, r.room)
		} else {
			see(i, nil)
		}
	}
	return nil
}

// text appends a number or a time as a text.
func (f *field) text(dst, data []byte) []byte {
	switch f.kind {
	case ints:
		if v := whole(data, f.width, f.signed); f.signed {
			return strconv.AppendInt(dst, v, 10)
		} else {
			return strconv.AppendUint(dst, uint64(v), 10)
		}
	case decimals:
		return columnar.AppendDecimal(dst, f.digitsOf(data), f.digits)
	case dates, timestamps:
		seconds, nanos := f.seconds(data)
		return columnar.AppendTime(dst, seconds, nanos, f.kind == dates, f.utc)
	}
	var v [1]float64
	f.numbers(data, f.width, v[:])
	return columnar.AppendNumber(dst, v[0], min(8*max(f.width, 4), 64))
}

// spans reads texts that stand one behind the other, with the place of each.
func (r *reader) spans(b *batch, at where, width int, from int64, rows int, valid []byte, see func(i int, text []byte)) error {
	if rows == 0 {
		return nil
	}
	places, err := b.part(at.buffer+1, from*int64(width), int64(rows+1)*int64(width), &r.offsets)
	if err != nil {
		return err
	}
	place := func(i int) int64 { return whole(places[i*width:], width, true) }
	first, last := place(0), place(rows)
	if first < 0 || last < first {
		return errors.New("damaged: a text ends before it begins")
	}
	data, err := b.part(at.buffer+2, first, last-first, &r.bytes)
	if err != nil {
		return err
	}
	for i := range rows {
		lo, hi := place(i)-first, place(i+1)-first
		switch {
		case lo < 0 || hi < lo || hi > int64(len(data)):
			return errors.New("damaged: a text ends before it begins")
		case is(valid, i):
			see(i, data[lo:hi:hi])
		default:
			see(i, nil)
		}
	}
	return nil
}

// views reads texts by where each is: in its place, if it is short, or in one of several buffers.
func (r *reader) views(b *batch, at where, from int64, rows int, valid []byte, see func(i int, text []byte)) error {
	const width, short = 16, 12
	data, err := b.part(at.buffer+1, from*width, int64(rows)*width, &r.data)
	if err != nil {
		return err
	}
	heaps := b.views[at.views]
	if len(r.heap) < heaps {
		r.heap = make([]scratch, heaps)
	}
	for i := range rows {
		view := data[i*width : (i+1)*width]
		n := whole(view, 4, true)
		switch {
		case !is(valid, i):
			see(i, nil)
			continue
		case n < 0:
			return errors.New("damaged: a text of less than nothing")
		case n <= short:
			see(i, view[4:4+n])
			continue
		}
		heap := whole(view[8:], 4, true)
		if heap < 0 || heap >= int64(heaps) {
			return errors.New("damaged: a text in a buffer that is not there")
		}
		text, err := b.view(at.buffer+2+int(heap), whole(view[12:], 4, true), n, &r.heap[heap])
		if err != nil {
			return err
		}
		see(i, text)
	}
	return nil
}

// view returns a text of a buffer, which is held as a whole: texts stand in it in any order.
func (b *batch) view(k int, from, n int64, s *scratch) ([]byte, error) {
	if s.of != b || s.buffer != k {
		all, err := b.all(k, nil)
		if err != nil {
			return nil, err
		}
		s.of, s.buffer, s.whole = b, k, all
	}
	if from < 0 || n > int64(len(s.whole)) || from > int64(len(s.whole))-n {
		return nil, errCut
	}
	return s.whole[from : from+n], nil
}
