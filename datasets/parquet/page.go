package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync/atomic"

	"github.com/bochner-ml/bochner/datasets/internal/packed"
	"github.com/bochner-ml/bochner/internal/memory"
)

// head is what stands before a page.
type head struct {
	kind     int // 0 for values, 2 for a dictionary, 3 for values of the second version
	unpacked int
	packed   int
	sum      int64 // of the packed bytes; -1 for none
	values   int
	encoding int
	levels   int // encoding of the definition levels
	plain    int // bytes before those that are packed: of repetition and definition levels
	defined  int // of which are definition levels
	repeated int // and these are repetition levels
	isPacked bool
}

func readHead(data []byte) (h head, length int, err error) {
	h.sum, h.isPacked, h.values, h.unpacked, h.packed = -1, true, -1, -1, -1
	c := &compact{data: data}
	c.fields(isStruct, func(id int, k kind) bool {
		switch id {
		case 1:
			h.kind = int(c.int(k))
		case 2:
			h.unpacked = int(c.int(k))
		case 3:
			h.packed = int(c.int(k))
		case 4:
			h.sum = int64(uint32(c.int(k)))
		case 5, 7, 8:
			c.fields(k, func(part int, k kind) bool { return h.part(c, id, part, k) })
		default:
			return false
		}
		return true
	})
	return h, c.at, c.err
}

// part reads a field of the header that is for its kind of page.
func (h *head) part(c *compact, of, part int, k kind) bool {
	switch {
	case part == 1:
		h.values = int(c.int(k))
	case of == 8 && part == 4, of != 8 && part == 2:
		h.encoding = int(c.int(k))
	case of == 5 && part == 3:
		h.levels = int(c.int(k))
	case of == 8 && part == 5:
		h.defined = int(c.int(k))
	case of == 8 && part == 6:
		h.repeated = int(c.int(k))
	case of == 8 && part == 7:
		h.isPacked = k == isTrue
	default:
		return false
	}
	return true
}

// pages reads the pages of a chunk one by one. Its arrays are used again for the next page.
type pages struct {
	in     *bufio.Reader
	left   int64 // bytes of the chunk
	method packed.Method
	raw    []byte
	room   []byte
	held   *atomic.Int64 // bytes of large pages of all columns of the cursor
}

// A page of largePage bytes counts as memory that is held, and again as the texts that it has.
const (
	largePage = 4 << 20
	perByte   = 3
)

// hold counts the memory of a page before it is unpacked. A few bytes can stand for a page of 2 GB.
func (p *pages) hold(size int) error {
	if size < largePage || size <= cap(p.room) {
		return nil
	}
	if err := memory.Check(perByte * p.held.Add(int64(size-cap(p.room)))); err != nil {
		return fmt.Errorf("a page of %s unpacked: %w", memory.Size(int64(size)), err)
	}
	return nil
}

// The header of a page is small, unless it has statistics of long texts, and has a bound.
const (
	smallHead = 1 << 12
	maxHead   = 1 << 20
)

// open begins with a chunk.
func (p *pages) open(at io.ReaderAt, h *chunk) error {
	method, known := methods[h.codec]
	if !known {
		name := codecs[h.codec]
		if name == "" {
			name = fmt.Sprintf("method %d", h.codec)
		}
		return fmt.Errorf("it is packed by %s, wanted snappy, zstd, gzip, lz4 (raw) or nothing", name)
	}
	in := io.NewSectionReader(at, h.start(), h.size)
	if p.in == nil {
		p.in = bufio.NewReaderSize(in, smallHead)
	} else {
		p.in.Reset(in)
	}
	p.left, p.method = h.size, method
	return nil
}

var errNoPage = errors.New("damaged: its pages end before its values")

// next reads the next page: its header, and its bytes unpacked, which are valid until the call after it.
func (p *pages) next() (head, []byte, error) {
	if p.left <= 0 {
		return head{}, nil, errNoPage
	}
	var h head
	var length int
	for want := 512; ; want *= 8 {
		if want > p.in.Size() {
			p.in = bufio.NewReaderSize(p.in, want)
		}
		start, err := p.in.Peek(int(min(int64(want), p.left, maxHead)))
		if err != nil && err != io.EOF {
			return h, nil, err
		}
		if h, length, err = readHead(start); err == nil {
			break
		}
		if !errors.Is(err, errThriftCut) || want >= maxHead || len(start) < want {
			return h, nil, fmt.Errorf("damaged: the header of a page: %w", err)
		}
	}
	p.in.Discard(length)
	p.left -= int64(length)
	if h.packed < 0 || int64(h.packed) > p.left || h.unpacked < 0 || h.values < 0 && h.kind != 1 {
		return h, nil, errors.New("damaged: a page says it has a size that cannot be")
	}
	p.left -= int64(h.packed)
	p.raw = packed.Room(p.raw, h.packed)
	if _, err := io.ReadFull(p.in, p.raw); err != nil {
		return h, nil, fmt.Errorf("damaged: a page is cut off: %w", err)
	}
	if h.sum >= 0 && crc32.ChecksumIEEE(p.raw) != uint32(h.sum) {
		return h, nil, errors.New("damaged: the check sum of a page is another one")
	}
	if err := p.hold(h.unpacked); err != nil {
		return h, nil, err
	}
	data, err := p.unpack(&h)
	return h, data, err
}

// unpack unpacks a page. The levels of the second version are never packed.
func (p *pages) unpack(h *head) ([]byte, error) {
	if h.kind != 3 {
		out, err := packed.Unpack(p.method, p.raw, h.unpacked, p.room)
		if p.method != packed.None {
			p.room = out
		}
		return out, err
	}
	h.plain = h.repeated + h.defined
	if h.repeated < 0 || h.defined < 0 || h.plain > len(p.raw) || h.plain > h.unpacked {
		return nil, errors.New("damaged: a page says it has a size that cannot be")
	}
	if !h.isPacked || p.method == packed.None {
		return p.raw, nil
	}
	var values []byte
	if h.unpacked > h.plain { // where no value is there, some write nothing, which is nothing packed
		var err error
		if values, err = packed.Unpack(p.method, p.raw[h.plain:], h.unpacked-h.plain, p.room); err != nil {
			return nil, err
		}
		p.room = values
	}
	p.raw = append(p.raw[:h.plain], values...)
	return p.raw, nil
}

// levels splits a page into what tells which values are there and the values themselves.
func (h *head) split(data []byte, optional bool) (present *runs, values []byte, err error) {
	if h.kind == 3 {
		if h.repeated > 0 {
			return nil, nil, errors.New("damaged: it has repeated values, and should have none")
		}
		values = data[h.plain:]
		if optional {
			present = &runs{data: data[:h.plain], width: 1}
		}
		return present, values, nil
	}
	if !optional {
		return nil, data, nil
	}
	if h.levels != runLength {
		return nil, nil, fmt.Errorf("what is missing is told in encoding %d, which is not known", h.levels)
	}
	if len(data) < 4 {
		return nil, nil, errCut
	}
	n := binary.LittleEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return nil, nil, errCut
	}
	return &runs{data: data[4 : 4+n], width: 1}, data[4+n:], nil
}
