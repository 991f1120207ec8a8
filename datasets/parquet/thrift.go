package parquet

import (
	"encoding/binary"
	"errors"
)

// compact reads values of Thrift's compact protocol, in which the format describes itself. The first
// mistake stays; after it there is nothing more to read.
//
// Protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type compact struct {
	data []byte
	at   int
	err  error
}

// kind is the type of a value.
type kind byte

const (
	isTrue   kind = 1
	isFalse  kind = 2
	isByte   kind = 3
	isI64    kind = 6 // and 4 and 5, for fewer bits
	isDouble kind = 7
	isBinary kind = 8
	isList   kind = 9
	isSet    kind = 10
	isMap    kind = 11
	isStruct kind = 12
)

var (
	errThriftCut  = errors.New("it ends before its time")
	errThriftKind = errors.New("a value is of another type than it should be")
	errThriftDeep = errors.New("it is too deep")
)

func (c *compact) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.at = len(c.data)
}

func (c *compact) byte() byte {
	if c.at >= len(c.data) {
		c.fail(errThriftCut)
		return 0
	}
	c.at++
	return c.data[c.at-1]
}

func (c *compact) varint() uint64 {
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		c.fail(errThriftCut)
		return 0
	}
	c.at += n
	return v
}

// int reads a whole number.
func (c *compact) int(k kind) int64 {
	switch k {
	case isByte:
		return int64(int8(c.byte()))
	case 4, 5, isI64:
		v := c.varint()
		return int64(v>>1) ^ -int64(v&1)
	}
	c.fail(errThriftKind)
	return 0
}

// bytes reads a text; it is part of the data.
func (c *compact) bytes(k kind) []byte {
	if k != isBinary {
		c.fail(errThriftKind)
		return nil
	}
	n := c.varint()
	if n > uint64(len(c.data)-c.at) {
		c.fail(errThriftCut)
		return nil
	}
	c.at += int(n)
	return c.data[c.at-int(n) : c.at]
}

// fields calls see with every field of a struct; see reads it, or returns false.
func (c *compact) fields(k kind, see func(id int, k kind) bool) {
	if k != isStruct {
		c.fail(errThriftKind)
	}
	id := 0
	for c.err == nil {
		head := c.byte()
		if head == 0 {
			return
		}
		if step := int(head >> 4); step != 0 {
			id += step
		} else {
			id = int(c.int(isI64))
		}
		if k := kind(head & 0x0f); !see(id, k) {
			c.skip(k, 0)
		}
	}
}

// list calls see for every element of a list, which see reads.
func (c *compact) list(k kind, see func(k kind)) {
	if k != isList && k != isSet {
		c.fail(errThriftKind)
		return
	}
	head := c.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = c.varint()
	}
	for ; n > 0 && c.err == nil; n-- { // an element takes a byte at least
		see(kind(head & 0x0f))
	}
}

// skip leaves out a value.
func (c *compact) skip(k kind, depth int) {
	if depth > 32 {
		c.fail(errThriftDeep)
	}
	switch k {
	case isTrue, isFalse:
	case isByte, 4, 5, isI64:
		c.int(k)
	case isDouble:
		c.at = min(c.at+8, len(c.data))
	case isBinary:
		c.bytes(k)
	case isList, isSet:
		c.list(k, func(k kind) {
			if k == isTrue || k == isFalse {
				c.byte()
				return
			}
			c.skip(k, depth+1)
		})
	case isMap:
		n := c.varint()
		if n == 0 {
			return
		}
		kinds := c.byte()
		for ; n > 0 && c.err == nil; n-- {
			c.skip(kind(kinds>>4), depth+1)
			c.skip(kind(kinds&0x0f), depth+1)
		}
	case isStruct:
		for c.err == nil {
			head := c.byte()
			if head == 0 {
				return
			}
			if head>>4 == 0 {
				c.int(isI64)
			}
			c.skip(kind(head&0x0f), depth+1)
		}
	default:
		c.fail(errThriftKind)
	}
}
