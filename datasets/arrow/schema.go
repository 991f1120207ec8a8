package arrow

import (
	"errors"
	"fmt"
	"strconv"

	columnar "github.com/bochner-ml/bochner/datasets/internal/table"
)

// The format's own numbers: https://github.com/apache/arrow/blob/main/format/Schema.fbs
const (
	nulls = iota + 1
	ints
	floats
	binaries
	texts
	truths
	decimals
	dates
	clocks
	timestamps
	intervals
	lists
	structures
	unions
	fixedBinaries
	fixedLists
	maps
	durations
	largeBinaries
	largeTexts
	largeLists
	runEnds
	binaryViews
	textViews
	listViews
	largeListViews
)

// typeNames are the types as errors name them.
var typeNames = []string{"none", "null", "int", "float", "binary", "text", "bool", "decimal", "date", "time of day", "timestamp", "interval", "list", "structure",
	"union", "fixed-size binary", "fixed-size list", "map", "duration", "large binary", "large text", "large list", "run-end encoded", "binary view", "text view", "list view", "large list view"}

// field is a column of the schema, or one inside of another.
type field struct {
	name     string
	kind     int
	width    int // bytes of a value; 0 for bits and for texts
	signed   bool
	digits   int   // of a decimal behind the point
	parts    int64 // of a second; 0 for days
	utc      bool
	size     int // of a fixed-size list; 1 for a dense union
	coded    bool
	id       int64 // of the dictionary
	index    int   // bytes of a code
	unsigned bool  // whether codes have no sign
	children []field
}

// maxFields bounds the columns of a schema, and those inside of them.
const maxFields = 1 << 20

// schema is what a file says about its columns.
type schema struct {
	fields []field
	old    bool // whether it is of a version before 5, in which a union says what is missing
	count  int
}

func readSchema(t table, version int) (*schema, error) {
	s := &schema{old: version < 4}
	if t.int16Of(0, 0) != 0 {
		return nil, errors.New("its numbers are big-endian, wanted little-endian ones")
	}
	var err error
	t.tablesOf(1, func(t table) {
		if err == nil {
			var f field
			f, err = s.field(t, 0)
			s.fields = append(s.fields, f)
		}
	})
	if t.wrong {
		return nil, errFlat
	}
	return s, err
}

func (s *schema) field(t table, depth int) (field, error) {
	if s.count++; depth > 64 || s.count > maxFields {
		return field{}, fmt.Errorf("damaged: more than %d columns, or columns within columns without end", maxFields)
	}
	f := field{name: t.textOf(0), kind: int(t.byteOf(2))}
	f.describe(t.tableOf(3))
	if d := t.tableOf(4); d.at != 0 {
		f.coded, f.id, f.index = true, d.int64Of(0), 4
		if of := d.tableOf(1); of.at != 0 {
			f.index, f.unsigned = of.int32Of(0, 0)/8, of.byteOf(1) == 0
		}
		if f.index != 1 && f.index != 2 && f.index != 4 && f.index != 8 {
			return f, fmt.Errorf("damaged: column %s has codes of %d bytes", f.name, f.index)
		}
	}
	var err error
	t.tablesOf(5, func(t table) {
		if err == nil {
			var child field
			child, err = s.field(t, depth+1)
			f.children = append(f.children, child)
		}
	})
	return f, err
}

// describe reads the parameters of the type.
func (f *field) describe(t table) {
	switch f.kind {
	case ints:
		f.width, f.signed = t.int32Of(0, 0)/8, t.byteOf(1) != 0
	case floats:
		f.width = map[int]int{0: 2, 1: 4, 2: 8}[t.int16Of(0, 0)]
	case decimals:
		f.digits, f.width = t.int32Of(1, 0), t.int32Of(2, 128)/8
	case dates:
		f.width = 4
		if t.int16Of(0, 1) == 1 {
			f.width, f.parts = 8, 1e3
		}
	case timestamps:
		f.width, f.parts = 8, map[int]int64{0: 1, 1: 1e3, 2: 1e6, 3: 1e9}[t.int16Of(0, 0)]
		f.utc = t.field(1) != 0
	case fixedBinaries:
		f.width = t.int32Of(0, 0)
	case fixedLists:
		f.size = t.int32Of(0, 0)
	case unions:
		f.size = t.int16Of(0, 0) & 1
	}
}

// as names the type.
func (f *field) as() string {
	if f.kind <= 0 || f.kind >= len(typeNames) {
		return "unknown"
	}
	return typeNames[f.kind]
}

// columnType returns the type of a column, Unreadable for what cannot be one.
func (f *field) columnType() columnar.Type {
	switch w := f.width; f.kind {
	case nulls:
		return columnar.Numbers
	case ints:
		if w == 1 || w == 2 || w == 4 || w == 8 {
			return columnar.Numbers
		}
	case floats:
		if w > 0 {
			return columnar.Numbers
		}
	case decimals:
		if w == 4 || w == 8 || w == 16 || w == 32 {
			return columnar.Numbers
		}
	case truths:
		return columnar.Truths
	case dates:
		return columnar.Times
	case timestamps:
		if f.parts > 0 {
			return columnar.Times
		}
	case texts, largeTexts, textViews, binaries, largeBinaries, binaryViews:
		return columnar.Texts
	}
	return columnar.Unreadable
}

// mostElements bounds the columns that a list of one size becomes.
const mostElements = 1 << 16

// place is a column of rows in the schema.
type place struct {
	field   *field // of its values
	top     int    // column of the schema
	element int    // of a list of one size, -1 for none
	size    int
}

// columns lists the columns of the rows.
func (s *schema) columns() (typed []columnar.TypedColumn, places []place) {
	for k := range s.fields {
		f := &s.fields[k]
		if f.kind == fixedLists && !f.coded && len(f.children) == 1 && f.size > 0 && f.size <= mostElements {
			child := &f.children[0]
			if t := child.columnType(); (t == columnar.Numbers || t == columnar.Truths) && !child.coded && child.kind != nulls {
				for i := range f.size {
					typed = append(typed, columnar.TypedColumn{Name: f.name + "_" + strconv.Itoa(i), Type: t, As: f.as()})
					places = append(places, place{child, k, i, f.size})
				}
				continue
			}
		}
		typed = append(typed, columnar.TypedColumn{Name: f.name, Type: f.columnType(), As: f.as()})
		places = append(places, place{f, k, -1, 0})
	}
	return typed, places
}

// where says where the nodes and buffers of a column begin in a batch.
type where struct{ node, buffer, views int }

// layout finds the columns in a batch whose views have so many buffers each.
func (s *schema) layout(views []int) (out []where, end where, err error) {
	var at where
	for k := range s.fields {
		out = append(out, at)
		if err := s.pass(&s.fields[k], &at, views); err != nil {
			return nil, at, err
		}
	}
	return out, at, nil
}

// pass goes behind a column.
func (s *schema) pass(f *field, at *where, views []int) error {
	at.node++
	if f.coded {
		at.buffer += 2
		return nil
	}
	switch f.kind {
	case nulls, runEnds:
	case structures, fixedLists:
		at.buffer++
	case ints, floats, truths, decimals, dates, clocks, timestamps, intervals, fixedBinaries, durations, lists, maps, largeLists:
		at.buffer += 2
	case binaries, texts, largeBinaries, largeTexts, listViews, largeListViews:
		at.buffer += 3
	case binaryViews, textViews:
		if at.views >= len(views) {
			return errors.New("damaged: a batch does not say how many buffers its views have")
		}
		at.buffer += 2 + views[at.views]
		at.views++
	case unions:
		at.buffer += 1 + f.size
		if s.old {
			at.buffer++
		}
	default:
		return fmt.Errorf("column %s is of type %d, which is not known", f.name, f.kind)
	}
	for k := range f.children {
		if err := s.pass(&f.children[k], at, views); err != nil {
			return err
		}
	}
	return nil
}
