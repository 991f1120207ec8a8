package table

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// textFile reads the records of a text file as columns of type Text. Records are parsed on all cores
// if the reader is [Splittable] and no invalid record is skipped.
type textFile struct {
	Reader
	ordered bool       // whether records must be read in order
	spare   *sync.Pool // of tasks, for all passes and files
}

// newSpare returns the tasks of files.
func newSpare() *sync.Pool { return &sync.Pool{New: func() any { return &partTask{} }} }

func (t textFile) ColumnForm() ColumnForm {
	form := t.Form()
	out := ColumnForm{Name: form.Name, Rows: -1, Text: &form}
	for _, c := range form.Columns {
		out.Columns = append(out.Columns, TypedColumn{Name: c.Name, Type: Text})
	}
	return out
}

func (t textFile) Read(ctx context.Context, requests []ColumnRequest) (Cursor, error) {
	form := t.Form()
	c := &textCursor{file: t, form: form, requests: requests, content: true, byColumn: make([][]int, len(form.Columns)),
		ready: make(chan *recordBatch), done: make(chan struct{}, 1)}
	for k, r := range requests {
		c.content = c.content && r.Content
		c.at = append(c.at, r.Column)
		c.byColumn[r.Column] = append(c.byColumn[r.Column], k)
		if form.Sparse && r.Input {
			continue
		}
		c.dense = append(c.dense, k)
	}
	ctx, c.cancel = context.WithCancel(ctx)
	c.ctx = ctx
	go func() {
		defer close(c.ready)
		c.err = c.run()
	}()
	return c, nil
}

// textCursor is one pass over the records of a text file, one batch at a time.
type textCursor struct {
	file     textFile
	form     Form
	requests []ColumnRequest
	content  bool    // whether no number needs to be known
	at       []int   // columns by request
	byColumn [][]int // requests by column
	dense    []int   // requests with a value in each row
	ctx      context.Context
	cancel   context.CancelFunc
	ready    chan *recordBatch
	done     chan struct{} // receives after a batch was used
	err      error         // set before ready is closed

	batch      *recordBatch
	from, rows int // current rows of the batch
}

// run passes batches to the consumer.
func (c *textCursor) run() error {
	if r, ok := c.file.Reader.(Splittable); ok && !c.file.ordered {
		return readParts(c.ctx, r, c)
	}
	b := c.newBatch()
	b.begin()
	err := c.file.Records(c.ctx, func(rec *Record) error {
		if err := b.add(rec); err != nil || b.rows < maxBatchRows && len(b.cells)+b.entries < maxBatchCells {
			return err
		}
		defer b.begin()
		return c.pass(b)
	})
	return cmp.Or(c.pass(b), err)
}

// collect passes the records of a part that starts after the given number of lines, and returns the
// number of its own.
func (c *textCursor) collect(w *partTask, before int) (lines int, err error) {
	b := w.result
	b.base, b.part, lines = before, w.part, w.lines
	if w.err != nil {
		b.begin()
		lines, err = w.part.Records(c.ctx, before, b.add)
	}
	return lines, cmp.Or(c.pass(b), err)
}

// Bounds of a batch of records that are read in order.
const maxBatchRows, maxBatchCells = 1 << 12, 1 << 16

// pass passes a batch to the consumer and waits until it was used.
func (c *textCursor) pass(b *recordBatch) error {
	if b.rows == 0 {
		return nil
	}
	if len(b.cells) > 0 {
		b.fill(b.rows)
	}
	select {
	case c.ready <- b:
		<-c.done
	case <-c.ctx.Done():
	}
	return ctxerr.Check(c.ctx)
}

func (c *textCursor) Next(maxRows int) (int, error) {
	c.from += c.rows
	for c.rows = 0; c.batch == nil || c.from == c.batch.rows; {
		c.release()
		if c.batch = <-c.ready; c.batch == nil {
			return 0, cmp.Or(c.err, io.EOF)
		}
		c.from = 0
	}
	c.rows = min(maxRows, c.batch.rows-c.from)
	return c.rows, nil
}

// line returns the line of current row i.
func (c *textCursor) line(i int) int { return c.batch.base + c.batch.lines[c.from+i] }

// release returns the batch.
func (c *textCursor) release() {
	if c.batch != nil {
		c.batch = nil
		c.done <- struct{}{}
	}
}

func (c *textCursor) Close() error {
	c.cancel()
	c.release()
	for range c.ready {
		c.done <- struct{}{}
	}
	return nil
}

// Decode sets v to a view of the batch.
func (c *textCursor) Decode(k int, v *Values) error {
	b, col := c.batch, &c.batch.columns[k]
	if c.requests[k].collect.Load() && !col.strings && col.others < b.rows {
		if err := b.reread(k); err != nil {
			return err
		}
	}
	lo, hi := c.from, c.from+c.rows
	v.Rows, v.Step, v.Plain = nil, 1, col.others == 0 && !col.strings
	v.Codes, v.Dictionary = nil, col.dictionary
	n := b.rows
	if c.form.Sparse && c.requests[k].Input {
		first, _ := slices.BinarySearch(col.rows, int32(lo))
		last, _ := slices.BinarySearch(col.rows, int32(hi))
		v.Rows = make([]int32, last-first)
		for i, row := range col.rows[first:last] {
			v.Rows[i] = row - int32(lo)
		}
		n, lo, hi = len(col.rows), first, last
		v.Numbers = col.numbers[lo:hi]
	} else {
		at, _ := slices.BinarySearch(c.dense, k)
		v.Numbers, v.Step = b.cells[min(lo*len(c.dense)+at, len(b.cells)):], len(c.dense)
	}
	if len(col.codes) > 0 || col.strings {
		col.pad(n)
		v.Codes = col.codes[lo:hi]
	}
	if col.strings {
		v.Numbers = nil
	}
	return nil
}

// recordBatch contains consecutive records, row by row and, of strings, by request.
type recordBatch struct {
	*textCursor
	part    Part // nil if the records cannot be read again
	rows    int
	base    int // lines before the first one
	lines   []int
	weights []float64
	cells   []float64 // rows × dense requests: numbers, NaN for other values
	entries int       // of sparse rows
	columns []textColumn
	strings bool // whether any column has strings only
	invalid []invalidRow
	partMu  sync.Mutex // of part
}

// invalidRow is a row with an error.
type invalidRow struct {
	row int
	err error
}

// textColumn contains the strings of a request, and the entries of a sparse input.
type textColumn struct {
	strings    bool    // whether numbers are strings too
	others     int     // number of values that are not numbers
	codes      []int32 // −1 for missing values and numbers; may be shorter than the rows
	dictionary *Dictionary
	rows       []int32
	numbers    []float64
}

func (c *textCursor) newBatch() *recordBatch {
	b := &recordBatch{textCursor: c, columns: make([]textColumn, len(c.requests)), cells: []float64{}}
	for k := range b.columns {
		b.columns[k].numbers = []float64{} // not nil, as are cells: there are no numbers
	}
	return b
}

// begin empties the batch.
func (b *recordBatch) begin() {
	b.part, b.rows, b.base, b.strings, b.invalid, b.entries = nil, 0, 0, false, nil, 0
	b.lines, b.weights, b.cells = b.lines[:0], b.weights[:0], b.cells[:0]
	for k := range b.columns {
		col := &b.columns[k]
		col.strings, col.others = b.requests[k].As == Strings || b.requests[k].collect.Load(), 0
		b.strings = b.strings || col.strings
		col.codes, col.rows, col.numbers = col.codes[:0], col.rows[:0], col.numbers[:0]
		if col.dictionary != nil && len(col.dictionary.Strings) > 0 || col.dictionary == nil && col.strings {
			col.dictionary = col.dictionary.cleared()
		}
	}
}

// add appends a record. One with an error has no values.
func (b *recordBatch) add(rec *Record) error {
	row, n := b.rows, len(b.requests)
	b.lines = append(b.lines, rec.Line)
	if b.form.Weighted {
		b.weights = append(b.weights, rec.Weight)
	}
	if rec.Err != nil {
		b.invalid = append(b.invalid, invalidRow{row, rec.Err})
	}
	b.rows++
	switch {
	case b.form.Sparse:
		b.addSparse(rec)
		return nil
	case rec.Err != nil:
		b.fill(row + 1)
		for k := range b.columns {
			b.columns[k].others++
			b.cells[row*n+k] = math.NaN()
		}
		return nil
	}
	numbers := rec.Numbers
	plain := numbers != nil && !b.strings
	for k := 0; plain && b.content && k < n; k++ {
		plain = numbers[b.at[k]] == numbers[b.at[k]]
	}
	if plain && b.content {
		return nil
	}
	b.fill(row + 1)
	cells := b.cells[row*n:][:n]
	for k, j := range b.at {
		if plain {
			if v := numbers[j]; v == v {
				cells[k] = v
				continue
			}
		}
		v := math.NaN()
		if numbers != nil && !b.columns[k].strings {
			v = numbers[j]
		}
		if v != v {
			v = b.value(k, row, rec.Fields[j])
		}
		cells[k] = v
	}
	return nil
}

// fill appends rows up to n. Those of numbers that need not be known are zeros.
func (b *recordBatch) fill(n int) {
	n *= len(b.dense)
	from := len(b.cells)
	b.cells = slices.Grow(b.cells, n-from)[:n]
	if b.content {
		clear(b.cells[from:])
	}
}

// value returns the number in a field; of other values it stores the string as that of entry at.
func (b *recordBatch) value(k, at int, field []byte) float64 {
	col := &b.columns[k]
	if !col.strings {
		if field != nil {
			if v, ok := b.form.Notation.Number(field); ok {
				return v
			}
			col.strings = b.requests[k].As == Text && col.others == at // the first value
			b.strings = b.strings || col.strings
		}
		col.others++
	}
	if field != nil {
		if col.pad(at); col.dictionary == nil {
			col.dictionary = &Dictionary{}
		}
		col.codes = append(col.codes, col.dictionary.Code(field))
	}
	return math.NaN()
}

// pad appends codes of missing values up to n.
func (t *textColumn) pad(n int) {
	for len(t.codes) < n {
		t.codes = append(t.codes, -1)
	}
}

// addSparse appends a sparse record, which omits zeros and first categories.
func (b *recordBatch) addSparse(rec *Record) {
	row := b.rows - 1
	b.fill(b.rows)
	b.entries += len(rec.Columns)
	for place, k := range b.dense {
		field, j := []byte("0"), b.requests[k].Column
		if levels := b.form.Columns[j].Categories; len(levels) > 0 {
			field = []byte(levels[0])
		}
		if at, ok := slices.BinarySearch(rec.Columns, j); ok {
			field = rec.Fields[at]
		}
		b.cells[row*len(b.dense)+place] = b.value(k, row, field)
	}
	for i, j := range rec.Columns {
		for _, k := range b.byColumn[j] {
			if b.requests[k].Input {
				col := &b.columns[k]
				v := b.value(k, len(col.rows), rec.Fields[i])
				col.rows, col.numbers = append(col.rows, int32(row)), append(col.numbers, v)
			}
		}
	}
}

// reread stores the numbers of a request as strings too.
func (b *recordBatch) reread(k int) error {
	b.partMu.Lock()
	defer b.partMu.Unlock()
	col, row := &b.columns[k], 0
	col.strings, col.codes, col.dictionary = true, col.codes[:0], col.dictionary.cleared()
	_, err := b.part.Records(b.ctx, 0, func(rec *Record) error {
		b.value(k, row, rec.Fields[b.requests[k].Column])
		row++
		return nil
	})
	return err
}
