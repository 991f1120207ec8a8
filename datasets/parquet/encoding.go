package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Encodings of values, as numbered in parquet.thrift.
const (
	plain           = 0
	plainDictionary = 2 // of old writers
	runLength       = 3
	deltaPacked     = 5
	deltaLengths    = 6
	deltaStrings    = 7
	dictionaryCodes = 8
	streamSplit     = 9
)

// values returns a function that returns the next value of a page, in the plain encoding; a Boolean
// is a byte. A value is valid until the next one.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/
func (l *leaf) values(encoding int, data []byte) (func() []byte, error) {
	whole := l.physical == int32s || l.physical == int64s
	width := uint64(l.width)
	var buffer [8]byte
	switch {
	case encoding == plain && l.physical == boolean:
		in := bits{data: data}
		return func() []byte {
			buffer[0] = byte(in.read(1))
			return buffer[:1]
		}, nil
	case encoding == plain && width > 0:
		return func() []byte { return take(&data, width) }, nil
	case encoding == plain:
		return func() []byte { return take(&data, uint64(binary.LittleEndian.Uint32(take(&data, 4)))) }, nil
	case encoding == runLength && l.physical == boolean:
		in := hybrid{data: take(&data, uint64(binary.LittleEndian.Uint32(take(&data, 4)))), width: 1}
		var code [1]int32
		return func() []byte {
			in.read(code[:])
			buffer[0] = byte(code[0])
			return buffer[:1]
		}, nil
	case encoding == deltaPacked && whole:
		in := newDelta(&data)
		return func() []byte {
			binary.LittleEndian.PutUint64(buffer[:], uint64(in.next()))
			return buffer[:width]
		}, nil
	case encoding == deltaLengths && l.physical == byteArrays:
		lengths := newDelta(&data)
		data = lengths.end()
		return func() []byte { return take(&data, uint64(lengths.next())) }, nil
	case encoding == deltaStrings && l.physical >= byteArrays:
		prefixes := newDelta(&data)
		data = prefixes.end()
		lengths := newDelta(&data)
		data = lengths.end()
		var last []byte
		return func() []byte {
			prefix := prefixes.next()
			if prefix < 0 || prefix > int64(len(last)) {
				panic(fmt.Errorf("%d bytes of a string of %d", prefix, len(last)))
			}
			last = append(last[:prefix], take(&data, uint64(lengths.next()))...)
			if width > 0 && len(last) != int(width) {
				panic(fmt.Errorf("a value of %d bytes, the schema has %d", len(last), width))
			}
			return last
		}, nil
	case encoding == streamSplit && width > 1:
		out, at, n := make([]byte, width), 0, len(data)/int(width)
		return func() []byte {
			if at == n {
				panic(errEnd)
			}
			for k := range out {
				out[k] = data[k*n+at]
			}
			at++
			return out
		}, nil
	}
	return nil, fmt.Errorf("encoding %d of values of type %d is not supported", encoding, l.physical)
}

var errEnd = errors.New("its pages end before its values")

// bits reads numbers of a few bits, the lowest bits first.
type bits struct {
	data []byte
	word uint64
	have int // bits of word
}

func (b *bits) read(width int) uint64 {
	if width > 32 {
		low := b.read(32)
		return low | b.read(width-32)<<32
	}
	for b.have < width {
		if len(b.data) >= 4 {
			b.word |= uint64(binary.LittleEndian.Uint32(b.data)) << b.have
			b.data, b.have = b.data[4:], b.have+32
			continue
		}
		b.word |= uint64(take(&b.data, 1)[0]) << b.have
		b.have += 8
	}
	out := b.word & (1<<width - 1)
	b.word, b.have = b.word>>width, b.have-width
	return out
}

// hybrid reads numbers that are packed, or written once for a run of equal ones.
type hybrid struct {
	data   []byte
	width  int
	left   int // numbers of the run
	packed bool
	bits   bits
	value  int32
}

// maxRun bounds the numbers of a run, as the format does.
const maxRun = 1 << 31

func (h *hybrid) read(out []int32) {
	for len(out) > 0 {
		if h.left == 0 {
			h.begin()
			continue
		}
		n := min(len(out), h.left)
		for i := range out[:n] {
			if out[i] = h.value; h.packed {
				out[i] = int32(h.bits.read(h.width))
			}
		}
		out, h.left = out[n:], h.left-n
	}
}

// begin starts the next run.
func (h *hybrid) begin() {
	head := uvarint(&h.data)
	if head > maxRun {
		panic(fmt.Errorf("a run of %d numbers", head>>1))
	}
	h.left, h.packed = int(head>>1), head&1 == 1
	if h.packed { // groups of 8, the last of which may be cut off
		h.bits = bits{data: take(&h.data, min(uint64(h.left*h.width), uint64(len(h.data))))}
		h.left *= 8
		return
	}
	in := bits{data: take(&h.data, uint64(h.width+7)/8)}
	h.value = int32(in.read(8 * len(in.data)))
}

// delta reads integers by their differences, which are packed in blocks.
type delta struct {
	data   *[]byte
	size   int // numbers of a part of a block
	parts  int // of a block
	left   int
	value  int64
	least  int64  // difference in the block
	widths []byte // of the parts that remain
	inPart int    // numbers that remain in a part
	width  int
	bits   bits
}

// maxBlock bounds the numbers of a block.
const maxBlock = 1 << 20

func newDelta(data *[]byte) *delta {
	block, parts := uvarint(data), uvarint(data)
	left := uvarint(data)
	if block > maxBlock || parts == 0 || parts > block || block%(8*parts) != 0 || left > maxRun {
		panic(fmt.Errorf("blocks of %d numbers in %d parts", block, parts))
	}
	return &delta{data: data, size: int(block / parts), parts: int(parts), left: int(left), value: varint(data)}
}

// end returns the bytes after the numbers.
func (d *delta) end() []byte {
	data, ahead := slices.Clip(*d.data), *d
	for ahead.data = &data; ahead.left > 1; {
		ahead.next()
	}
	own := *d.data
	d.data = &own
	return data
}

func (d *delta) next() int64 {
	if d.left == 0 {
		panic(errEnd)
	}
	out := d.value
	if d.left--; d.left == 0 {
		return out
	}
	if d.inPart == 0 {
		if len(d.widths) == 0 {
			d.least = varint(d.data)
			d.widths = take(d.data, uint64(d.parts))
		}
		d.inPart, d.width, d.widths = d.size, int(d.widths[0]), d.widths[1:]
		if d.width > 64 {
			panic(fmt.Errorf("differences of %d bits", d.width))
		}
		d.bits = bits{data: take(d.data, min(uint64(d.size*d.width/8), uint64(len(*d.data))))}
	}
	d.inPart--
	d.value += d.least + int64(d.bits.read(d.width))
	return out
}
