package onnx

import (
	"encoding/binary"
	"io"
	"math"
)

// message is an encoded protocol buffer message, to which fields are appended.
type message []byte

// Wire types.
const (
	varint    = 0
	delimited = 2 // length and bytes
	fixed32   = 5
)

func (m *message) tag(field, way int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(way))
}

func (m *message) number(field int, v int64) {
	m.tag(field, varint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) float(field int, v float32) {
	m.tag(field, fixed32)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) text(field int, s string) {
	m.length(field, len(s))
	*m = append(*m, s...)
}

func (m *message) submessage(field int, other message) {
	m.length(field, len(other))
	*m = append(*m, other...)
}

// length appends the tag and length of a field of n bytes.
func (m *message) length(field, n int) {
	m.tag(field, delimited)
	*m = binary.AppendUvarint(*m, uint64(n))
}

// tensor is a constant of the file. Its numbers are converted while they are written, so a large
// model is not copied in memory.
type tensor struct {
	head message   // all fields except the numbers
	data []float64 // nil if head is complete
	size int       // bytes of a number
}

// bytes returns the length of the message in bytes.
func (t tensor) bytes() int {
	if t.data == nil {
		return len(t.head)
	}
	return len(t.header()) + t.size*len(t.data)
}

// header returns the part of the message before the numbers.
func (t tensor) header() message {
	header := append(message(nil), t.head...)
	header.length(tensorRaw, t.size*len(t.data))
	return header
}

// chunkLen is the number of values that are encoded at a time.
const chunkLen = 1 << 13

func (t tensor) write(w io.Writer) error {
	if t.data == nil {
		_, err := w.Write(t.head)
		return err
	}
	if _, err := w.Write(t.header()); err != nil {
		return err
	}
	var buffer []byte
	for from := 0; from < len(t.data); from += chunkLen {
		buffer = buffer[:0]
		for _, v := range t.data[from:min(from+chunkLen, len(t.data))] {
			if t.size == 4 {
				buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(float32(v)))
			} else {
				buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
			}
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

// Field numbers and type codes of onnx.proto.
const (
	modelIR              = 1
	modelProducer        = 2
	modelProducerVersion = 3
	modelDoc             = 6
	modelGraph           = 7
	modelOpset           = 8
	modelMetadata        = 14

	opsetDomain  = 1
	opsetVersion = 2

	entryKey   = 1
	entryValue = 2

	graphNode    = 1
	graphName    = 2
	graphTensor  = 5
	graphInput   = 11
	graphOutput  = 12
	nodeInput    = 1
	nodeOutput   = 2
	nodeName     = 3
	nodeOp       = 4
	nodeAttr     = 5
	nodeDomain   = 7
	attrName     = 1
	attrFloat    = 2
	attrInt      = 3
	attrFloats   = 7
	attrInts     = 8
	attrStrings  = 9
	attrType     = 20
	valueName    = 1
	valueType    = 2
	valueDoc     = 3
	typeTensor   = 1
	tensorElem   = 1
	tensorShape  = 2
	shapeDim     = 1
	dimValue     = 1
	dimParam     = 2
	tensorDims   = 1
	tensorType   = 2
	tensorString = 6
	tensorInt64  = 7
	tensorName   = 8
	tensorRaw    = 9

	typeFloat  = 1
	typeInt64  = 7
	typeString = 8
	typeBool   = 9
	typeDouble = 11

	attrIsFloat   = 1
	attrIsInt     = 2
	attrIsFloats  = 6
	attrIsInts    = 7
	attrIsStrings = 8
)
