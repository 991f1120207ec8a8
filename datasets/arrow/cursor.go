package arrow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/bochner-ml/bochner/datasets/internal/steady"
	columnar "github.com/bochner-ml/bochner/datasets/internal/table"
)

// cursor is one pass over some columns.
type cursor struct {
	file         *file
	bytes        *steady.Bytes
	stream       *stream // of what can only be read in its order
	block        int     // the next one, of a file
	number       int     // of the batch at hand
	columns      []*column
	dictionaries map[int64]*dictionary // those that are wanted
	lists        map[int]*list         // by column of the schema
	batch        *batch
	from         int64 // rows of the batch that are passed
	rows         int   // at hand
}

// dictionary is the values that codes stand for, in batches.
type dictionary struct {
	field   *field
	batches []*batch
}

func (f *file) Read(_ context.Context, wanted []columnar.Reading) (columnar.Cursor, error) {
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	c := &cursor{file: f, bytes: b, number: -1, dictionaries: map[int64]*dictionary{}, lists: map[int]*list{}}
	for _, w := range wanted {
		p := f.places[w.Column]
		c.columns = append(c.columns, &column{place: p, as: w.As, name: f.form.Columns[w.Column].Name})
		if p.element >= 0 {
			c.lists[p.top] = &list{place: p}
		}
		if p.field.coded {
			c.dictionaries[p.field.id] = &dictionary{field: p.field}
		}
	}
	if b.At == nil {
		c.stream = &stream{in: b}
		err := c.stream.magic()
		if err == nil {
			err = c.stream.begin()
		}
		if err != nil {
			b.Close()
			return nil, f.fault(err)
		}
	}
	return c, nil
}

func (c *cursor) Close() error { return c.bytes.Close() }

func (c *cursor) Next(most int) (int, error) {
	c.from += int64(c.rows)
	c.rows = 0
	for c.batch == nil || c.from == c.batch.rows {
		if err := c.advance(); err == io.EOF {
			if err := c.bytes.Same(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		} else if err != nil {
			return 0, c.fault(c.number+1, err)
		}
	}
	c.rows = int(min(int64(most), c.batch.rows-c.from))
	for _, l := range c.lists {
		l.once, l.result, l.err = sync.Once{}, nil, nil
	}
	return c.rows, nil
}

func (c *cursor) fault(batch int, err error) error {
	return c.file.fault(fmt.Errorf("batch %d: %w", batch, err))
}

// next returns the next message.
func (c *cursor) next() (*message, error) {
	if c.stream != nil {
		return c.stream.next()
	}
	if c.block == len(c.file.blocks) {
		return nil, io.EOF
	}
	m, err := c.file.blocks[c.block].message(c.bytes)
	c.block++
	return m, err
}

// advance goes to the next batch of rows, by the dictionaries before it.
func (c *cursor) advance() error {
	m, err := c.next()
	if err != nil {
		return err
	}
	switch m.kind {
	case isBatch:
		return c.open(m)
	case isDictionary:
		return c.read(m)
	case isSchema:
		return errors.New("damaged: it has two schemas")
	}
	return c.pass(m)
}

// pass passes over the body of a message.
func (c *cursor) pass(m *message) error {
	if c.stream != nil {
		return c.stream.skip(m)
	}
	return nil
}

// open makes the rows of a batch ready to be decoded.
func (c *cursor) open(m *message) error {
	b, err := readBatch(m.header, m.size)
	if err != nil {
		return err
	}
	starts, end, err := c.file.schema.layout(b.views)
	if err != nil {
		return err
	}
	if end.node > len(b.lengths) || end.buffer > len(b.buffers) {
		return fmt.Errorf("damaged: it has %d columns and %d buffers, the schema %d and %d", len(b.lengths), len(b.buffers), end.node, end.buffer)
	}
	needed := make([]bool, len(b.buffers))
	for _, col := range c.columns {
		at := starts[col.top]
		after := end
		if col.top+1 < len(starts) {
			after = starts[col.top+1]
		}
		if b.lengths[at.node] != b.rows {
			return fmt.Errorf("damaged: column %s has %d rows, the batch %d", col.name, b.lengths[at.node], b.rows)
		}
		if col.element >= 0 && (b.rows > 1<<40 || b.lengths[at.node+1] < b.rows*int64(col.size)) {
			return fmt.Errorf("damaged: column %s has %d values, wanted %d for each of %d rows", col.name, b.lengths[at.node+1], col.size, b.rows)
		}
		col.at = at
		for k := at.buffer; k < after.buffer; k++ {
			needed[k] = true
		}
	}
	if err := b.load(m, c.bytes, func(k int) bool { return needed[k] }); err != nil {
		return err
	}
	c.batch, c.from = b, 0
	c.number++
	return nil
}

// read takes note of a batch of a dictionary.
func (c *cursor) read(m *message) error {
	d := c.dictionaries[m.header.int64Of(0)]
	if d == nil {
		return c.pass(m)
	}
	b, err := readBatch(m.header.tableOf(1), m.size)
	if err != nil {
		return err
	}
	of := *d.field
	of.coded = false
	end := where{}
	if err := c.file.schema.pass(&of, &end, b.views); err != nil {
		return err
	}
	if end.node > len(b.lengths) || end.buffer > len(b.buffers) || end.node > 0 && b.lengths[0] != b.rows {
		return errors.New("damaged: a dictionary is not of the type in the schema")
	}
	if err := b.load(m, c.bytes, nil); err != nil {
		return err
	}
	if m.header.byteOf(2) == 0 { // it takes the place of the one before
		d = &dictionary{field: d.field}
		c.dictionaries[m.header.int64Of(0)] = d
	}
	d.batches = append(d.batches, b)
	return nil
}

func (c *cursor) Decode(k int, v *columnar.Values) error {
	col := c.columns[k]
	col.list = c.lists[col.top]
	var d *dictionary
	if col.field.coded {
		d = c.dictionaries[col.field.id]
	}
	if err := col.decode(c.batch, d, c.from, c.rows, v); err != nil {
		return c.fault(c.number, fmt.Errorf("column %s: %w", col.name, err))
	}
	return nil
}
