package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/datasets/internal/packed"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
)

// The kinds of messages.
const (
	isSchema     = 1
	isDictionary = 2
	isBatch      = 3
)

// message is one of a stream: what it says, and where its body is.
type message struct {
	kind    int
	version int
	header  table
	size    int64 // of the body
	at      int64 // of the body in the file, -1 where it comes next
}

// maxMessage bounds the bytes of what a message says of itself.
const maxMessage = 1 << 28

var (
	errNotArrow = errors.New("not a file nor a stream of Arrow")
	errCut      = errors.New("it is cut off")
)

// readMessage reads the next message up to its body; io.EOF is behind the last.
func readMessage(r io.Reader, left int64) (*message, int64, error) {
	var size [4]byte
	took := int64(4)
	if _, err := io.ReadFull(r, size[:]); err == io.EOF {
		return nil, 0, io.EOF // a stream may end so
	} else if err != nil {
		return nil, 0, cut(err)
	}
	if binary.LittleEndian.Uint32(size[:]) == 0xffffffff {
		took += 4
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return nil, 0, cut(err)
		}
	}
	n := int64(int32(binary.LittleEndian.Uint32(size[:])))
	switch {
	case n == 0:
		return nil, took, io.EOF
	case n < 8 || n > maxMessage || left >= 0 && n > left-took:
		return nil, 0, fmt.Errorf("damaged: a message of %d bytes", n)
	}
	text, err := take(r, n)
	if err != nil {
		return nil, 0, err
	}
	m, err := parseMessage(text)
	return m, took + n, err
}

func parseMessage(text []byte) (*message, error) {
	f := &flat{data: text}
	t := f.root()
	m := &message{version: t.int16Of(0, 0), kind: int(t.byteOf(1)), header: t.tableOf(2), size: t.int64Of(3), at: -1}
	if f.wrong || m.header.at == 0 || m.size < 0 {
		return nil, errFlat
	}
	return m, nil
}

// cut is the error where bytes end before their time; another one stays.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	return err
}

// take reads n bytes; memory grows as they come.
func take(r io.Reader, n int64) ([]byte, error) {
	const believed = 1 << 22
	if n <= believed {
		out := make([]byte, n)
		if _, err := io.ReadFull(r, out); err != nil {
			return nil, cut(err)
		}
		return out, nil
	}
	var out bytes.Buffer
	out.Grow(believed)
	if _, err := io.CopyN(&out, r, n); err != nil {
		return nil, cut(err)
	}
	return out.Bytes(), nil
}

// buffer is bytes of a body.
type buffer struct {
	from, size int64 // in the body
	held       []byte
	file       io.ReaderAt // where it is not held
	at         int64
}

// batch is some rows: where the values of their columns are.
type batch struct {
	rows    int64
	lengths []int64 // of the columns, by node
	buffers []buffer
	views   []int
	method  packed.Method
}

// readBatch reads what a message says of its rows.
func readBatch(t table, body int64) (*batch, error) {
	b := &batch{rows: t.int64Of(0)}
	at, nodes := t.listOf(1, 16)
	for k := range nodes {
		b.lengths = append(b.lengths, t.flat.int64(at+16*k))
	}
	at, buffers := t.listOf(2, 16)
	for k := range buffers {
		u := buffer{from: t.flat.int64(at + 16*k), size: t.flat.int64(at + 16*k + 8)}
		if u.from < 0 || u.size < 0 || u.from > body || u.size > body-u.from {
			return nil, errors.New("damaged: a batch has values outside of itself")
		}
		b.buffers = append(b.buffers, u)
	}
	if c := t.tableOf(3); c.at != 0 {
		switch codec := c.byteOf(0); codec {
		case 0:
			b.method = packed.LZ4Frame
		case 1:
			b.method = packed.Zstd
		default:
			return nil, fmt.Errorf("it is packed by method %d, wanted lz4 or zstd", codec)
		}
	}
	at, views := t.listOf(4, 8)
	for k := range views {
		n := t.flat.int64(at + 8*k)
		if n < 0 || n > int64(len(b.buffers)) {
			return nil, errors.New("damaged: a batch has views of what is not there")
		}
		b.views = append(b.views, int(n))
	}
	if t.wrong || b.rows < 0 {
		return nil, errFlat
	}
	return b, nil
}

// load makes the wanted buffers of a batch readable, of a body that is in a file or comes next. wanted
// is nil for all.
func (b *batch) load(m *message, in *steady.Bytes, wanted func(k int) bool) error {
	if m.at >= 0 {
		for k := range b.buffers {
			b.buffers[k].file, b.buffers[k].at = in.At, m.at+b.buffers[k].from
		}
		return nil
	}
	at := int64(0)
	for k := range b.buffers {
		u := &b.buffers[k]
		if wanted != nil && !wanted(k) || u.size == 0 {
			continue
		}
		if u.from < at {
			return errors.New("damaged: the values of a batch are in no order")
		}
		if err := in.Discard(u.from - at); err != nil {
			return cut(err)
		}
		var err error
		if u.held, err = take(in, u.size); err != nil {
			return err
		}
		at = u.from + u.size
	}
	if err := in.Discard(m.size - at); err != nil {
		return cut(err)
	}
	return nil
}

// all returns the bytes of a buffer, unpacked.
func (b *batch) all(k int, room []byte) ([]byte, error) {
	u := &b.buffers[k]
	if u.file == nil && u.held == nil || u.size == 0 {
		return nil, nil
	}
	raw := u.held
	if raw == nil {
		var err error
		if raw, err = take(io.NewSectionReader(u.file, u.at, u.size), u.size); err != nil {
			return nil, err
		}
	}
	if b.method == packed.None {
		return raw, nil
	}
	if len(raw) < 8 {
		return nil, errors.New("damaged: packed values that do not say how many they are")
	}
	size := int64(binary.LittleEndian.Uint64(raw))
	if size == -1 {
		return raw[8:], nil
	}
	if size < 0 || size > 1<<40 {
		return nil, errors.New("damaged: packed values that do not say how many they are")
	}
	return packed.Unpack(b.method, raw[8:], int(size), room)
}

// part returns n bytes of a buffer from a place on; they are valid until the next call with that room.
func (b *batch) part(k int, from, n int64, s *scratch) ([]byte, error) {
	u := &b.buffers[k]
	if n == 0 {
		return []byte{}, nil
	}
	if b.method == packed.None && u.held == nil {
		if from < 0 || n < 0 || from > u.size || n > u.size-from {
			return nil, errCut
		}
		s.bytes = packed.Room(s.bytes, int(n))
		if _, err := u.file.ReadAt(s.bytes, u.at+from); err != nil {
			return nil, cut(err)
		}
		return s.bytes, nil
	}
	if s.of != b || s.buffer != k {
		all, err := b.all(k, s.all)
		if err != nil {
			return nil, err
		}
		if s.of, s.buffer, s.whole = b, k, all; b.method != packed.None && u.held == nil {
			s.all = all
		}
	}
	if from < 0 || n < 0 || from > int64(len(s.whole)) || n > int64(len(s.whole))-from {
		return nil, errCut
	}
	return s.whole[from : from+n], nil
}

// scratch is room for parts of one kind of buffer of one column.
type scratch struct {
	bytes  []byte
	of     *batch // whose buffer is unpacked
	buffer int
	whole  []byte
	all    []byte // to unpack into
}
