package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/datasets/internal/guard"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

const magic = "PAR1"

// maxFooter bounds the bytes of the footer, and footerRatio its size in memory by them.
const (
	maxFooter   = 1 << 28
	footerRatio = 20
)

var errNotParquet = errors.New("not a file of Parquet: it does not end with PAR1")

// footer is the metadata of a file. The numbers of fields are those of parquet.thrift.
type footer struct {
	schema []element
	leaves int // number of columns that have values
	rows   int
	groups []rowGroup
}

// element is a node of the schema.
type element struct {
	name       string
	physical   int // -1 for a group
	length     int // of a value of fixed size
	repetition int
	children   int
	converted  int // type of old writers
	logical    int // type of recent writers
	scale      int
	unit       int
	utc        bool
	signed     bool
}

type rowGroup struct {
	rows   int
	chunks []chunk
}

// chunk is the values of a column in a row group.
type chunk struct {
	physical, codec          int
	values                   int
	uncompressed, compressed int // bytes
	at, dictionary           int // positions in the file
	elsewhere, encrypted     bool
}

// readTail returns the bytes of the footer.
func readTail(b *steady.Bytes) ([]byte, error) {
	if b.At == nil {
		return nil, errors.New("must be a regular uncompressed file: it is read from its end; use the stream format of " +
			"Arrow for pipes")
	}
	var tail [8]byte
	if b.Size < 12 {
		return nil, errNotParquet
	}
	if _, err := b.At.ReadAt(tail[:], b.Size-8); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case string(tail[4:]) == "PARE":
		return nil, errors.New("it is encrypted")
	case string(tail[4:]) != magic:
		var head [4]byte
		if b.At.ReadAt(head[:], 0); string(head[:]) == magic {
			return nil, errors.New("the file is cut off: it begins as Parquet does, and does not end so")
		}
		return nil, errNotParquet
	case length > b.Size-12 || length > maxFooter:
		return nil, fmt.Errorf("damaged: a footer of %d bytes in a file of %d", length, b.Size)
	}
	if err := memory.Check(footerRatio * length); err != nil {
		return nil, fmt.Errorf("a footer of %s: %w", memory.Size(length), err)
	}
	out := make([]byte, length)
	_, err := b.At.ReadAt(out, b.Size-8-length)
	return out, err
}

// readFooter reads the metadata of the file.
func readFooter(b *steady.Bytes) (*footer, error) {
	text, err := readTail(b)
	if err != nil {
		return nil, err
	}
	f := &footer{}
	if err := f.decode(text); err != nil {
		return nil, fmt.Errorf("damaged: the footer: %w", err)
	}
	return f, nil
}

func (f *footer) decode(text []byte) (err error) {
	defer guard.Recover(&err)
	t := &thrift{b: text, kind: kindStruct}
	t.fields(func(id int) {
		switch id {
		case 2:
			t.list(func() { f.schema = append(f.schema, t.element()) })
		case 3:
			f.rows = t.int()
		case 4:
			t.list(func() { f.groups = append(f.groups, t.rowGroup()) })
		default:
			t.skip()
		}
	})
	return nil
}

func (t *thrift) element() element {
	e := element{physical: -1, converted: -1}
	t.fields(func(id int) {
		switch id {
		case 1:
			e.physical = t.int()
		case 2:
			e.length = t.int()
		case 3:
			e.repetition = t.int()
		case 4:
			e.name = t.text()
		case 5:
			e.children = t.int()
		case 6:
			e.converted = t.int()
		case 7:
			e.scale = t.int()
		case 10:
			t.logicalType(&e)
		default:
			t.skip()
		}
	})
	return e
}

func (t *thrift) logicalType(e *element) {
	t.fields(func(id int) {
		e.logical = id
		t.fields(func(field int) {
			switch {
			case id == logicalDecimal && field == 1:
				e.scale = t.int()
			case (id == logicalTime || id == logicalTimestamp) && field == 1:
				e.utc = t.int() == 1
			case id == logicalTimestamp && field == 2:
				t.fields(func(unit int) { e.unit = unit; t.skip() })
			case id == logicalInteger && field == 2:
				e.signed = t.int() == 1
			default:
				t.skip()
			}
		})
	})
}

func (t *thrift) rowGroup() (g rowGroup) {
	t.fields(func(id int) {
		switch id {
		case 1:
			t.list(func() { g.chunks = append(g.chunks, t.chunk()) })
		case 3:
			g.rows = t.int()
		default:
			t.skip()
		}
	})
	return g
}

func (t *thrift) chunk() chunk {
	c := chunk{at: -1}
	t.fields(func(id int) {
		switch id {
		case 1:
			c.elsewhere = t.text() != ""
		case 3:
			t.fields(func(id int) {
				switch id {
				case 1:
					c.physical = t.int()
				case 4:
					c.codec = t.int()
				case 5:
					c.values = t.int()
				case 6:
					c.uncompressed = t.int()
				case 7:
					c.compressed = t.int()
				case 9:
					c.at = t.int()
				case 11:
					c.dictionary = t.int()
				default:
					t.skip()
				}
			})
		case 8:
			c.encrypted = true
			t.skip()
		default:
			t.skip()
		}
	})
	if c.at < 0 && !c.encrypted { // its bytes bound those in memory
		panic(errors.New("a column without a position"))
	}
	if c.dictionary > 0 {
		c.at = min(c.at, c.dictionary)
	}
	return c
}

// check checks that the footer is consistent with itself and with the size of the file.
func (f *footer) check(leaves []leaf, size int64) error {
	rows := 0
	for k, g := range f.groups {
		if g.rows < 0 || g.rows > math.MaxInt/4-rows {
			return fmt.Errorf("damaged: row group %d declares %d rows", k, g.rows)
		}
		if rows += g.rows; len(g.chunks) != f.leaves {
			return fmt.Errorf("damaged: row group %d has %d columns, the schema has %d", k, len(g.chunks), f.leaves)
		}
		for _, l := range leaves {
			if g.rows == 0 || l.index < 0 {
				continue // its position is unknown, or it is not read
			}
			if err := l.check(g.chunks[l.index], g.rows, int(size)); err != nil {
				return fmt.Errorf("row group %d: column %s: %w", k, l.name, err)
			}
		}
	}
	if rows != f.rows {
		return fmt.Errorf("damaged: the footer declares %d rows, the row groups %d", f.rows, rows)
	}
	return nil
}

// check checks the metadata of the column in a row group.
func (l *leaf) check(c chunk, rows, size int) error {
	switch {
	case c.elsewhere:
		return errors.New("its values are in another file")
	case c.encrypted:
		return errors.New("it is encrypted")
	case c.at < 4 || c.compressed < 0 || c.at > size || c.compressed > size-c.at:
		return fmt.Errorf("damaged: its values are outside of the file, of %d bytes; it may be cut off", size)
	case c.physical != l.physical:
		return errors.New("damaged: it is of another type than in the schema")
	case c.values != rows:
		return fmt.Errorf("damaged: it has %d values, the group has %d rows", c.values, rows)
	}
	return nil
}

// columns lists the columns of the file, and how their values are read.
func (f *footer) columns() (typed []table.TypedColumn, leaves []leaf, err error) {
	if len(f.schema) == 0 {
		return nil, nil, errors.New("damaged: the footer: no schema")
	}
	at := 1
	for range f.schema[0].children {
		first := at
		for left := 1; left > 0; left-- { // the elements of a column
			if at == len(f.schema) {
				return nil, nil, errors.New("damaged: the footer: its schema is cut off")
			}
			e := f.schema[at]
			if at++; e.children < 0 || e.children > len(f.schema) {
				return nil, nil, fmt.Errorf("damaged: the footer: column %s has %d children", e.name, e.children)
			}
			left += e.children
		}
		e := &f.schema[first]
		l := leaf{index: -1, name: e.name, physical: e.physical, optional: e.repetition == optional}
		c := table.TypedColumn{Name: e.name}
		if c.TypeName = e.nestedName(); c.TypeName == "" {
			c.Type, c.TypeName = l.describe(e)
		}
		if c.Type != table.Unsupported {
			l.index = f.leaves
		}
		for _, e := range f.schema[first:at] {
			if e.physical >= 0 {
				f.leaves++
			}
		}
		typed, leaves = append(typed, c), append(leaves, l)
	}
	return typed, leaves, nil
}
