package parquet

import (
	"encoding/binary"
	"errors"
	"io"
)

// thrift decodes the compact protocol of Apache Thrift, of which footers and headers of pages are
// written. Its methods panic if the bytes are damaged.
//
// Format: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type thrift struct {
	b     []byte // not decoded yet
	kind  byte   // of the next value
	depth int    // of nested values
}

// The kinds of values.
const (
	kindTrue   = 1
	kindFalse  = 2
	kindByte   = 3
	kindInt64  = 6
	kindDouble = 7
	kindBinary = 8
	kindList   = 9
	kindSet    = 10
	kindMap    = 11
	kindStruct = 12
)

// maxDepth bounds the depth of nested values.
const maxDepth = 32

var errThrift = errors.New("a value of another kind than expected")

func (t *thrift) expect(ok bool) {
	if !ok {
		panic(errThrift)
	}
}

// take returns the next n bytes of b, and removes them from it.
func take(b *[]byte, n uint64) []byte {
	if n > uint64(len(*b)) {
		panic(io.ErrUnexpectedEOF)
	}
	out := (*b)[:n:n]
	*b = (*b)[n:]
	return out
}

// uvarint decodes and removes a number of b.
func uvarint(b *[]byte) uint64 {
	v, n := binary.Uvarint(*b)
	switch {
	case n == 0:
		panic(io.ErrUnexpectedEOF)
	case n < 0:
		panic(errors.New("a number of more than 64 bits"))
	}
	*b = (*b)[n:]
	return v
}

// varint decodes and removes a number with a sign.
func varint(b *[]byte) int64 {
	u := uvarint(b)
	return int64(u>>1) ^ -int64(u&1)
}

// int returns an integer, or 1 or 0 for a Boolean.
func (t *thrift) int() int {
	switch {
	case t.kind == kindTrue:
		return 1
	case t.kind == kindFalse:
		return 0
	case t.kind == kindByte:
		return int(int8(take(&t.b, 1)[0]))
	}
	t.expect(t.kind > kindByte && t.kind <= kindInt64)
	return int(varint(&t.b))
}

func (t *thrift) text() string {
	t.expect(t.kind == kindBinary)
	return string(take(&t.b, uvarint(&t.b)))
}

// list calls read for every element, which takes at least a byte.
func (t *thrift) list(read func()) {
	t.expect(t.kind == kindList || t.kind == kindSet)
	head := take(&t.b, 1)[0]
	n := uint64(head >> 4)
	if n == 15 {
		n = uvarint(&t.b)
	}
	for range n {
		t.kind = head & 15
		t.nested(read)
	}
}

// fields calls read for every field of a structure. It must decode or skip the value.
func (t *thrift) fields(read func(id int)) {
	t.expect(t.kind == kindStruct)
	id := 0
	for {
		head := take(&t.b, 1)[0]
		if head == 0 {
			return
		}
		if id += int(head >> 4); head < 16 {
			id = int(varint(&t.b))
		}
		t.kind = head & 15
		t.nested(func() { read(id) })
	}
}

func (t *thrift) nested(read func()) {
	if t.depth++; t.depth > maxDepth {
		panic(errors.New("values within values without end"))
	}
	read()
	t.depth--
}

// skip skips a value.
func (t *thrift) skip() {
	switch t.kind {
	case kindTrue, kindFalse:
	case kindDouble:
		take(&t.b, 8)
	case kindBinary:
		take(&t.b, uvarint(&t.b))
	case kindList, kindSet:
		t.list(t.skipElement)
	case kindMap:
		n := uvarint(&t.b)
		if n == 0 {
			return
		}
		kinds := take(&t.b, 1)[0]
		for range n {
			for _, kind := range []byte{kinds >> 4, kinds & 15} {
				t.kind = kind
				t.nested(t.skipElement)
			}
		}
	case kindStruct:
		t.fields(func(int) { t.skip() })
	default:
		t.int()
	}
}

// skipElement skips a value that is not a field: Booleans take a byte.
func (t *thrift) skipElement() {
	if t.kind <= kindFalse {
		t.kind = kindByte
	}
	t.skip()
}
