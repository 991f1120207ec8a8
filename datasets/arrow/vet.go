package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/bochner-ml/bochner/datasets/internal/guard"
)

// Message metadata are checked before they are decoded: a list of a few bytes can claim a large
// length, which the decoder would allocate.
//
// Format: https://github.com/apache/arrow/tree/main/format (Message.fbs, Schema.fbs, File.fbs)

// maxMessage bounds the bytes of message metadata.
const maxMessage = 1 << 28

var errInconsistent = errors.New("a message does not go together")

// node is a table of a message.
type node struct{ flatbuffers.Table }

// list returns the start and the length of a list with elements of the given width.
func (t *node) list(field flatbuffers.VOffsetT, width int) (at flatbuffers.UOffsetT, n int) {
	o := flatbuffers.UOffsetT(t.Offset(field))
	if o == 0 {
		return 0, 0
	}
	at, n = t.Vector(o), t.VectorLen(o)
	if n < 0 || int(at) > len(t.Bytes) || n > (len(t.Bytes)-int(at))/width {
		panic(errInconsistent)
	}
	return at, n
}

// table returns a nested table; its Bytes are nil if the field is missing.
func (t *node) table(field flatbuffers.VOffsetT) (out node) {
	if o := flatbuffers.UOffsetT(t.Offset(field)); o != 0 {
		out.Bytes, out.Pos = t.Bytes, t.Indirect(t.Pos+o)
	}
	return out
}

// int64 returns the value of a field, 0 if it is missing.
func (t *node) int64(field flatbuffers.VOffsetT) int64 { return t.GetInt64Slot(field, 0) }

func root(b []byte) *node {
	return &node{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

// maxFields bounds the number of fields of a schema, including nested ones.
const maxFields = 1 << 20

// checkFields checks the fields in a list of a schema or of another field.
func (t *node) checkFields(field, metadata flatbuffers.VOffsetT, depth int, count *int) {
	t.list(metadata, 4)
	at, n := t.list(field, 4)
	if *count += n; depth > 64 || *count > maxFields {
		panic(fmt.Errorf("more than %d columns, or columns within columns without end", maxFields))
	}
	for k := range n {
		child := node{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + flatbuffers.UOffsetT(4*k))}}
		child.checkFields(14, 16, depth+1, count)
	}
}

func (t *node) checkSchema() { t.checkFields(6, 8, 0, new(int)) }

// message is the metadata of a message.
type message struct {
	kind byte
	rows int64
	body int64 // bytes
}

// The kinds of messages.
const (
	isSchema     = 1
	isDictionary = 2
	isBatch      = 3
)

// checkMessage checks a message.
func checkMessage(b []byte) (m message, err error) {
	defer guard.Recover(&err)
	t := root(b)
	m.kind, m.body = t.GetByteSlot(6, 0), t.int64(10)
	header := t.table(8)
	if m.body < 0 || header.Bytes == nil {
		panic(errInconsistent)
	}
	switch m.kind {
	case isSchema:
		header.checkSchema()
		return m, nil
	case isDictionary:
		if header = header.table(6); header.Bytes == nil {
			panic(errInconsistent)
		}
	case isBatch:
		m.rows = header.int64(4)
	default:
		return m, nil
	}
	_, nodes := header.list(6, 16)
	_, buffers := header.list(8, 16)
	at, views := header.list(12, 8)
	for k := range views {
		if n := header.GetInt64(at + flatbuffers.UOffsetT(8*k)); n < 0 || n > int64(buffers) {
			panic(errInconsistent)
		}
	}
	if m.rows < 0 || nodes == 0 && m.rows > math.MaxInt32 {
		panic(errInconsistent)
	}
	return m, nil
}

// checkFile checks the footer of a file and its messages, and returns the number of rows.
func checkFile(in io.ReaderAt, size int64) (rows int64, err error) {
	defer guard.Recover(&err)
	tail := make([]byte, 10)
	if _, err := in.ReadAt(tail, max(size-10, 0)); err != nil {
		return 0, err
	}
	if string(tail[4:]) != fileMagic {
		return 0, fmt.Errorf("%w: it begins as a file of Arrow does, and does not end so", errCut)
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n < 8 || n > size-18 || n > maxMessage {
		return 0, fmt.Errorf("damaged: a footer of %d bytes in a file of %d", n, size)
	}
	footer := make([]byte, n)
	if _, err := in.ReadAt(footer, size-10-n); err != nil {
		return 0, err
	}
	t := root(footer)
	schema := t.table(6)
	if schema.Bytes == nil {
		panic(errInconsistent)
	}
	schema.checkSchema()
	for _, field := range []flatbuffers.VOffsetT{8, 10} { // dictionaries, batches
		at, count := t.list(field, 24)
		for k := range count {
			block := at + flatbuffers.UOffsetT(24*k)
			m, err := checkBlock(in, size, t.GetInt64(block), int64(t.GetInt32(block+8)), t.GetInt64(block+16))
			if err != nil {
				return 0, err
			}
			if rows += m.rows; rows > math.MaxInt64/4 {
				panic(errInconsistent)
			}
		}
	}
	return rows, nil
}

// checkBlock checks the message at a place of a file.
func checkBlock(in io.ReaderAt, size, at, length, body int64) (m message, err error) {
	if at < 0 || length < 8 || length > maxMessage || body < 0 || at > size || length > size-at || body > size-at-length {
		return m, errors.New("damaged: the footer names batches outside of the file; it may be cut off")
	}
	b := make([]byte, length)
	if _, err := in.ReadAt(b, at); err != nil {
		return m, err
	}
	if binary.LittleEndian.Uint32(b) == continuationMarker {
		b = b[4:]
	}
	b = b[4:]
	if m, err = checkMessage(b); err == nil && m.body != body {
		panic(errInconsistent)
	}
	return m, err
}

// continuationMarker is the continuation marker before the length of a message.
const continuationMarker = 0xffffffff

// checkedReader checks the messages of a stream as it is read. The stream may end only between two
// messages.
type checkedReader struct {
	in   io.Reader
	most int64 // bytes of a body
	head []byte
	body int64 // bytes left
}

func (c *checkedReader) Read(b []byte) (int, error) {
	if len(c.head) == 0 && c.body == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if len(c.head) > 0 {
		n := copy(b, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	n, err := c.in.Read(b[:min(int64(len(b)), c.body)])
	if c.body -= int64(n); err == io.EOF && c.body > 0 {
		err = errCut
	}
	return n, err
}

// next reads the metadata of the next message.
func (c *checkedReader) next() error {
	head := make([]byte, 4, 8)
	if _, err := io.ReadFull(c.in, head); err == io.EOF {
		return io.EOF // a stream may end so
	} else if err != nil {
		return truncated(err)
	}
	if binary.LittleEndian.Uint32(head) == continuationMarker {
		head = head[:8]
		if _, err := io.ReadFull(c.in, head[4:]); err != nil {
			return truncated(err)
		}
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[len(head)-4:])))
	if n == 0 { // the end
		c.head = head
		return nil
	}
	if n < 8 || n > maxMessage {
		return fmt.Errorf("damaged: a message of %d bytes", n)
	}
	text := bytes.NewBuffer(head)
	if _, err := io.CopyN(text, c.in, n); err != nil {
		return truncated(err)
	}
	m, err := checkMessage(text.Bytes()[len(head):])
	if err != nil {
		return err
	}
	if m.body > c.most {
		return fmt.Errorf("%w: a batch of %d bytes", errCut, m.body)
	}
	c.head, c.body = text.Bytes(), m.body
	return nil
}

// truncated replaces EOF errors by errCut and returns other errors unchanged.
func truncated(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	return err
}
