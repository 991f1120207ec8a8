package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/datasets/internal/packed"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// The format's own numbers: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
const (
	booleans = iota
	int32s
	int64s
	int96s
	floats
	doubles
	byteArrays
	fixedArrays
)

// element is a node of the schema: a column, or columns together.
type element struct {
	name       string
	physical   int // -1 for several columns together
	length     int // of fixed arrays
	repetition int // 0 required, 1 optional, 2 repeated
	children   int
	converted  int // -1 for none
	scale      int
	precision  int
	logical    logical
}

// logical is what the values of a column mean.
type logical struct {
	id     int // the number of it in the format, 0 for none
	scale  int
	bits   int
	signed bool
	utc    bool
	unit   int // 1 for milliseconds, 2 for microseconds, 3 for nanoseconds
}

// The logical types in use.
const (
	isText      = 1
	isMapType   = 2
	isListType  = 3
	isEnum      = 4
	isDecimal   = 5
	isDate      = 6
	isTime      = 7
	isTimestamp = 8
	isInteger   = 10
	isNull      = 11
	isJSON      = 12
	isUUID      = 14
	isFloat16   = 15
)

// group is some rows, column after column.
type group struct {
	rows   int
	chunks []chunk
}

// chunk is the values of a column in a group.
type chunk struct {
	physical   int
	codec      int
	values     int64
	size       int64 // packed
	data       int64 // where the first page of values is
	dictionary int64 // where the page of the dictionary is, 0 for none
	elsewhere  bool  // whether it is in another file
	encrypted  bool
}

// footer is what stands at the end of a file.
type footer struct {
	elements []element
	rows     int64
	groups   []group
}

const magic = "PAR1"

// maxFooter bounds the bytes of the footer.
const maxFooter = 1 << 28

// readFooter reads what the file says of itself.
func readFooter(b *steady.Bytes) (footer, error) {
	var f footer
	if b.At == nil {
		return f, errors.New("it is read from its end, column by column, wanted a regular file that is not packed; through a pipe comes the stream format of Arrow")
	}
	var tail [8]byte
	if b.Size < 12 {
		return f, errNotParquet
	}
	if _, err := b.At.ReadAt(tail[:], b.Size-8); err != nil {
		return f, err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case string(tail[4:]) == "PARE":
		return f, errors.New("it is encrypted")
	case string(tail[4:]) != magic:
		var head [4]byte
		if b.At.ReadAt(head[:], 0); string(head[:]) == magic {
			return f, errors.New("the file is cut off: it begins as Parquet does, and does not end so")
		}
		return f, errNotParquet
	case length > b.Size-12 || length > maxFooter:
		return f, fmt.Errorf("damaged: a footer of %d bytes in a file of %d", length, b.Size)
	}
	text := make([]byte, length)
	if _, err := b.At.ReadAt(text, b.Size-8-length); err != nil {
		return f, err
	}
	c := &compact{data: text}
	f.read(c)
	if c.err != nil {
		return f, fmt.Errorf("damaged: the footer: %w", c.err)
	}
	return f, f.check(b.Size)
}

var errNotParquet = errors.New("not a file of Parquet: it does not end with PAR1")

func (f *footer) read(c *compact) {
	c.fields(isStruct, func(id int, k kind) bool {
		switch id {
		case 2:
			c.list(k, func(k kind) { f.elements = append(f.elements, readElement(c, k)) })
		case 3:
			f.rows = c.int(k)
		case 4:
			c.list(k, func(k kind) { f.groups = append(f.groups, readGroup(c, k)) })
		default:
			return false
		}
		return true
	})
}

func readElement(c *compact, k kind) element {
	e := element{physical: -1, converted: -1}
	c.fields(k, func(id int, k kind) bool {
		into := map[int]*int{1: &e.physical, 2: &e.length, 3: &e.repetition, 5: &e.children, 6: &e.converted, 7: &e.scale, 8: &e.precision}[id]
		switch {
		case into != nil:
			*into = int(c.int(k))
		case id == 4:
			e.name = string(c.bytes(k))
		case id == 10:
			c.fields(k, func(id int, k kind) bool {
				e.logical.id = id
				c.fields(k, func(part int, k kind) bool { return e.logical.part(c, part, k) })
				return true
			})
		default:
			return false
		}
		return true
	})
	return e
}

// part reads a parameter of a logical type.
func (l *logical) part(c *compact, part int, k kind) bool {
	switch {
	case l.id == isDecimal && part == 1:
		l.scale = int(c.int(k))
	case l.id == isInteger && part == 1:
		l.bits = int(c.int(k))
	case l.id == isInteger && part == 2:
		l.signed = k == isTrue
	case (l.id == isTimestamp || l.id == isTime) && part == 1:
		l.utc = k == isTrue
	case (l.id == isTimestamp || l.id == isTime) && part == 2:
		c.fields(k, func(unit int, k kind) bool {
			l.unit = unit
			return false
		})
	default:
		return false
	}
	return true
}

func readGroup(c *compact, k kind) group {
	var g group
	c.fields(k, func(id int, k kind) bool {
		switch id {
		case 1:
			c.list(k, func(k kind) { g.chunks = append(g.chunks, readChunk(c, k)) })
		case 3:
			g.rows = int(c.int(k))
		default:
			return false
		}
		return true
	})
	return g
}

func readChunk(c *compact, k kind) chunk {
	var h chunk
	c.fields(k, func(id int, k kind) bool {
		switch id {
		case 1:
			h.elsewhere = len(c.bytes(k)) > 0
		case 3:
			h.read(c, k)
		case 8:
			h.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	return h
}

func (h *chunk) read(c *compact, k kind) {
	c.fields(k, func(id int, k kind) bool {
		switch id {
		case 1:
			h.physical = int(c.int(k))
		case 4:
			h.codec = int(c.int(k))
		case 5:
			h.values = c.int(k)
		case 7:
			h.size = c.int(k)
		case 9:
			h.data = c.int(k)
		case 11:
			h.dictionary = c.int(k)
		default:
			return false
		}
		return true
	})
}

// check looks whether the footer goes together, and with the size of the file.
func (f *footer) check(size int64) error {
	if len(f.elements) == 0 {
		return errors.New("damaged: the footer has no schema")
	}
	rows := int64(0)
	for k, g := range f.groups {
		if g.rows < 0 || int64(g.rows) > math.MaxInt64/4-rows {
			return fmt.Errorf("damaged: row group %d says it has %d rows", k, g.rows)
		}
		rows += int64(g.rows)
		for _, h := range g.chunks {
			if g.rows == 0 {
				continue // where it would be nobody knows
			}
			if from := h.start(); from < 4 || h.size < 0 || from > size || h.size > size-from {
				return fmt.Errorf("damaged: row group %d says that it has columns outside of the file, of %d bytes; it may be cut off", k, size)
			}
		}
	}
	if rows != f.rows {
		return fmt.Errorf("damaged: the footer says that there are %d rows, the row groups %d", f.rows, rows)
	}
	return nil
}

// start is where the first page of a chunk is.
func (h *chunk) start() int64 {
	if h.dictionary > 0 && h.dictionary < h.data {
		return h.dictionary
	}
	return h.data
}

// methods are the codecs that are known; the others are lzo, brotli and an lz4 that is no more in use.
var methods = map[int]packed.Method{0: packed.None, 1: packed.Snappy, 2: packed.Gzip, 6: packed.Zstd, 7: packed.LZ4Block}

// codecs are their names.
var codecs = map[int]string{3: "lzo", 4: "brotli", 5: "lz4 in the frame of Hadoop"}

// leaf is a column of the schema as a column of rows.
type leaf struct {
	element
	index    int // among the chunks of a group
	optional bool
}

// maxElements bounds the columns of the schema, those inside of others too.
const maxElements = 1 << 20

// columns lists the columns of the file.
func (f *footer) columns() ([]table.TypedColumn, []leaf, error) {
	if len(f.elements) > maxElements {
		return nil, nil, fmt.Errorf("%d columns, wanted at most %d", len(f.elements), maxElements)
	}
	var typed []table.TypedColumn
	var leaves []leaf
	at, index := 1, 0
	for range f.elements[0].children {
		if at >= len(f.elements) {
			return nil, nil, errors.New("damaged: the schema in the footer ends before its time")
		}
		e := f.elements[at]
		from, first := at, index
		if err := f.walk(&at, &index, 0); err != nil {
			return nil, nil, err
		}
		c := table.TypedColumn{Name: e.name, As: e.as()}
		if at == from+1 && e.children == 0 && e.repetition != 2 {
			c.Type = e.columnType()
		}
		typed = append(typed, c)
		leaves = append(leaves, leaf{e, first, e.repetition == 1})
	}
	if at != len(f.elements) {
		return nil, nil, errors.New("damaged: the schema in the footer has more than its columns")
	}
	for k, g := range f.groups {
		if len(g.chunks) != index {
			return nil, nil, fmt.Errorf("damaged: row group %d has %d columns, the schema has %d", k, len(g.chunks), index)
		}
	}
	return typed, leaves, nil
}

// walk passes over an element and those inside of it, and counts the chunks.
func (f *footer) walk(at, index *int, depth int) error {
	if depth > 64 || *at >= len(f.elements) {
		return errors.New("damaged: the schema in the footer does not end")
	}
	e := f.elements[*at]
	*at++
	if e.children == 0 && e.physical >= 0 {
		*index++
	}
	for range e.children {
		if err := f.walk(at, index, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// columnType returns the type of a column, Unreadable for what cannot be one.
func (e *element) columnType() table.Type {
	switch l := e.meaning(); {
	case l == isNull:
		return table.Numbers
	case e.physical == booleans:
		return table.Truths
	case (e.physical == int32s && l == isDate) || (e.physical == int64s && l == isTimestamp && e.unit() > 0) || e.physical == int96s:
		return table.Times
	case l == isTime:
		return table.Unreadable
	case e.physical == int32s || e.physical == int64s || e.physical == floats || e.physical == doubles:
		return table.Numbers
	case e.physical == byteArrays && l == isDecimal:
		return table.Numbers
	case e.physical == fixedArrays && (l == isDecimal && e.length > 0 || l == isFloat16 && e.length == 2):
		return table.Numbers
	case e.physical == byteArrays, e.physical == fixedArrays && l == isUUID && e.length == 16:
		return table.Texts
	}
	return table.Unreadable
}

// meaning is the number of the logical type, from the older notation where there is no other.
func (e *element) meaning() int {
	if e.logical.id != 0 {
		return e.logical.id
	}
	switch c := e.converted; {
	case c == 0:
		return isText
	case c == 1 || c == 2:
		return isMapType
	case c == 3:
		return isListType
	case c == 4:
		return isEnum
	case c == 5:
		return isDecimal
	case c == 6:
		return isDate
	case c == 7 || c == 8:
		return isTime
	case c == 9 || c == 10:
		return isTimestamp
	case c >= 11 && c <= 18:
		return isInteger
	case c == 19:
		return isJSON
	}
	return 0
}

// unit is that of a time stamp: parts of a second, 0 where it is none that is known.
func (e *element) unit() int64 {
	unit := e.logical.unit
	if e.logical.id == 0 {
		unit = e.converted - 8
	}
	return map[int]int64{1: 1e3, 2: 1e6, 3: 1e9}[unit]
}

// decimals is how many digits a decimal has behind the point.
func (e *element) decimals() int {
	if e.logical.id == isDecimal {
		return e.logical.scale
	}
	return e.scale
}

// unsigned reports whether whole numbers have no sign.
func (e *element) unsigned() bool {
	if e.logical.id == isInteger {
		return !e.logical.signed
	}
	return e.logical.id == 0 && e.converted >= 11 && e.converted <= 14
}

// as names the type.
func (e *element) as() string {
	l := e.meaning()
	names := map[int]string{isText: "text", isMapType: "map", isListType: "list", isEnum: "enum", isDecimal: "decimal", isDate: "date", isTime: "time of day",
		isTimestamp: "timestamp", isJSON: "json", isUUID: "uuid", isFloat16: "float16", isNull: "null"}
	switch name := names[l]; {
	case name != "" && e.repetition == 2:
		return "repeated " + name
	case name != "":
		return name
	case e.children > 0:
		return "structure"
	}
	name := "unknown"
	if types := []string{"boolean", "int32", "int64", "int96", "float", "double", "binary", "fixed binary"}; e.physical >= 0 && e.physical < len(types) {
		name = types[e.physical]
	}
	if e.repetition == 2 {
		return "repeated " + name
	}
	return strings.TrimSpace(name)
}
