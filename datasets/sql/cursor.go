package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// query is a table.Columnar.
type query struct {
	Query
	of   *Snapshot
	form table.ColumnForm

	lock sync.Mutex
	seen map[request]uint64 // checksums of the values of the columns that were read to the end
}

// open queries the columns of a query.
func (s *Snapshot) open(ctx context.Context, of Query, o *Options) (*query, error) {
	q := &query{Query: of, of: s, form: table.ColumnForm{Name: of.name(), Rows: -1},
		seen: map[request]uint64{}}
	rows, end, err := q.run(ctx)
	if err != nil {
		return nil, err
	}
	kinds, err := rows.ColumnTypes()
	rows.Close()
	if err := errors.Join(err, end()); err != nil {
		return nil, q.queryError(ctx, err)
	}
	var unknown []table.ColumnRequest
	for j, k := range kinds {
		c := table.TypedColumn{Name: k.Name(), TypeName: k.DatabaseTypeName()}
		var known bool
		if c.Type, known = typeOf(c.TypeName); !known {
			unknown = append(unknown, table.ColumnRequest{Column: j, As: table.Unsupported})
		}
		q.form.Columns = append(q.form.Columns, c)
	}
	if len(unknown) > 0 && (o.Schema == nil || len(o.Schema.Columns) > 0) {
		return q, q.inferTypes(ctx, unknown)
	}
	return q, nil
}

func (q *query) ColumnForm() table.ColumnForm { return q.form }

// queryError is an error of the database.
func (q *query) queryError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	if limit := q.of.Timeout; limit > 0 &&
		(errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "interrupted")) { // by SQLite
		return fmt.Errorf("%s: the query takes longer than %v", q.form.Name, limit)
	}
	return fmt.Errorf("%s: %w", q.form.Name, err)
}

// run runs the query.
func (q *query) run(ctx context.Context) (*sql.Rows, func() error, error) {
	from, end, err := q.of.begin(ctx)
	if err != nil {
		return nil, nil, q.queryError(ctx, err)
	}
	limited, cancel := ctx, func() {}
	if q.of.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, q.of.Timeout)
	}
	rows, err := from.QueryContext(limited, q.Text, q.Args...)
	if err != nil {
		cancel()
		end()
		return nil, nil, q.queryError(ctx, err)
	}
	return rows, func() error {
		cancel()
		return end()
	}, nil
}

// inferTypes finds out the types of columns from their values.
func (q *query) inferTypes(ctx context.Context, columns []table.ColumnRequest) error {
	c, err := q.cursor(ctx, columns)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		if _, err := c.Next(1 << 14); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	for k, r := range columns {
		column := &q.form.Columns[r.Column]
		column.Type = c.cells[k].found.columnType()
		if column.TypeName == "" {
			column.TypeName = "unknown to the database"
		}
	}
	return nil
}

// valueCounts counts the values of a column.
type valueCounts struct{ numbers, booleans, strings, times, others int }

func (f *valueCounts) add(src any) {
	switch src.(type) {
	case nil:
	case int64, float64, float32, int32, int:
		f.numbers++
	case bool:
		f.booleans++
	case string:
		f.strings++
	case time.Time:
		f.times++
	default:
		f.others++
	}
}

// columnType is the one that takes all values.
func (f *valueCounts) columnType() table.Type {
	switch {
	case f.others > 0 || f.times > 0 && f.numbers+f.booleans+f.strings > 0:
		return table.Unsupported
	case f.times > 0:
		return table.Times
	case f.strings > 0:
		return table.Strings
	case f.booleans > 0 && f.numbers == 0:
		return table.Booleans
	}
	return table.Numbers
}

// Read runs the query.
func (q *query) Read(ctx context.Context, want []table.ColumnRequest) (table.Cursor, error) {
	return q.cursor(ctx, want)
}

func (q *query) cursor(ctx context.Context, want []table.ColumnRequest) (*cursor, error) {
	rows, end, err := q.run(ctx)
	if err != nil {
		return nil, err
	}
	c := &cursor{of: q, ctx: ctx, rows: rows, end: end, cells: make([]cell, len(want)),
		dest: make([]any, len(q.form.Columns))}
	columns := make([]columnScanner, len(q.form.Columns))
	for j := range columns {
		c.dest[j] = &columns[j]
	}
	for k, r := range want {
		column := &q.form.Columns[r.Column]
		c.cells[k] = cell{ColumnRequest: r, zoned: column.TypeName == "TIMESTAMPTZ", labels: column.Type == table.Booleans}
		columns[r.Column].cells = append(columns[r.Column].cells, &c.cells[k])
	}
	return c, nil
}

// request is what the values of a column depend on.
type request struct {
	column int
	as     table.Type
}

// cursor is one run of the query.
type cursor struct {
	of    *query
	ctx   context.Context
	rows  *sql.Rows
	end   func() error
	cells []cell
	dest  []any
	read  int // rows
}

// Next reads rows.
func (c *cursor) Next(most int) (int, error) {
	if err := ctxerr.Check(c.ctx); err != nil {
		return 0, err
	}
	for k := range c.cells {
		c.cells[k].begin()
	}
	n := 0
	for n < most && c.rows.Next() {
		if err := c.rows.Scan(c.dest...); err != nil {
			return 0, c.of.queryError(c.ctx, err)
		}
		for k := range c.cells {
			if err := c.cells[k].err; err != nil {
				name := c.of.form.Columns[c.cells[k].Column].Name
				return 0, &datasets.LineError{File: c.of.form.Name, Err: fmt.Errorf("row %d: column %s: %w", c.read+n, name, err)}
			}
		}
		n++
	}
	c.read += n
	switch err := c.rows.Err(); {
	case c.ctx.Err() != nil:
		return 0, ctxerr.Check(c.ctx)
	case err != nil:
		return 0, c.of.queryError(c.ctx, err)
	case n > 0:
		return n, nil
	}
	return 0, c.checkUnchanged()
}

// checkUnchanged compares the checksums of the rows with those of earlier passes.
func (c *cursor) checkUnchanged() error {
	q := c.of
	q.lock.Lock()
	defer q.lock.Unlock()
	for k := range c.cells {
		cell := &c.cells[k]
		r := request{cell.Column, cell.As}
		before, is := q.seen[r]
		if is && before != cell.sum {
			return q.queryError(c.ctx, errChanged)
		}
		q.seen[r] = cell.sum
	}
	return io.EOF
}

// errChanged reports rows that differ from those of an earlier pass.
var errChanged error = changedError{}

type changedError struct{}

func (changedError) Error() string {
	return "the rows, or their order, have changed since they were first read; order by a unique key in the query " +
		"fixes the order"
}
func (changedError) Unwrap() error { return datasets.ErrChanged }

// Decode copies the values of the current rows.
func (c *cursor) Decode(k int, v *table.Values) error {
	cell := &c.cells[k]
	switch cell.As {
	case table.Numbers:
		copy(v.Numbers, cell.numbers)
	case table.Times:
		copy(v.Seconds, cell.seconds)
	case table.Strings:
		copy(v.Codes, cell.codes)
		v.Dictionary = cell.strs
	}
	return nil
}

func (c *cursor) Close() error { return errors.Join(c.rows.Close(), c.end()) }

// columnScanner passes the values of a column to the cells that need them.
type columnScanner struct{ cells []*cell }

// Scan takes a value.
func (f *columnScanner) Scan(src any) error {
	for _, c := range f.cells {
		if c.err = c.put(src); c.err != nil {
			break
		}
	}
	return nil
}

// cell is the values of a column in one representation.
type cell struct {
	table.ColumnRequest
	zoned   bool // whether times have a zone
	labels  bool // whether numbers are Booleans, as in SQLite
	numbers []float64
	seconds []int64
	codes   []int32
	strs    *table.Dictionary
	buf     []byte
	found   valueCounts
	sum     uint64 // of all values so far
	err     error
}

func (c *cell) begin() {
	c.numbers, c.seconds, c.codes = c.numbers[:0], c.seconds[:0], c.codes[:0]
	if c.As == table.Strings {
		c.strs = c.strs.Reuse()
	}
}

// put appends a value.
func (c *cell) put(src any) error {
	switch c.As {
	case table.Numbers:
		v, err := numberOf(src)
		c.numbers = append(c.numbers, v)
		c.add(math.Float64bits(v))
		return err
	case table.Times:
		v, err := secondsOf(src)
		c.seconds = append(c.seconds, v)
		c.add(uint64(v))
		return err
	case table.Strings:
		return c.putString(src)
	}
	c.found.add(src)
	return nil
}

// add takes a value into the sum.
func (c *cell) add(v uint64) { c.sum = bits.RotateLeft64((c.sum^v)*0x9e3779b97f4a7c15, 29) }

// seed is the seed of the hashes of strings.
var seed = maphash.MakeSeed()

func (c *cell) putString(src any) error {
	if src == nil {
		c.codes = append(c.codes, -1)
		c.add(1)
		return nil
	}
	if v, ok := src.(int64); ok && c.labels {
		src = v != 0
	}
	var err error
	if c.buf, err = appendString(c.buf[:0], src, c.zoned); err != nil {
		return err
	}
	c.codes = append(c.codes, c.strs.Code(c.buf))
	c.add(maphash.Bytes(seed, c.buf))
	return nil
}

// numberOf returns the number that a value is, NaN for a missing one.
func numberOf(src any) (float64, error) {
	switch v := src.(type) {
	case nil:
		return math.NaN(), nil
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case float32:
		return float64(v), nil
	case []byte:
		return numberIn(v)
	case string:
		return numberIn([]byte(v))
	}
	return 0, unsupportedValue(src, "a number")
}

func numberIn(b []byte) (float64, error) {
	if len(b) == 0 || string(b) == "NaN" {
		return math.NaN(), nil
	}
	if v, ok := text.Number(b); ok {
		return v, nil
	}
	return 0, fmt.Errorf("%q is not a number", b)
}

// secondsOf returns the time that a value is.
func secondsOf(src any) (int64, error) {
	switch v := src.(type) {
	case nil:
		return table.NoTime, nil
	case time.Time:
		return v.Unix(), nil
	case []byte:
		return secondsOf(string(v))
	case string:
		if v == "" {
			return table.NoTime, nil
		}
		if t, ok := (datasets.Date{}).Parse([]byte(v)); ok {
			return t.Unix(), nil
		}
		return 0, fmt.Errorf("must be a date such as 2024-03-31, got %q", v)
	}
	return 0, unsupportedValue(src, "a time")
}

// appendString appends the string representation of a value as a category.
func appendString(dst []byte, src any, zoned bool) ([]byte, error) {
	switch v := src.(type) {
	case string:
		return append(dst, v...), nil
	case []byte:
		return append(dst, v...), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return table.AppendNumber(dst, v, 64), nil
	case float32:
		return table.AppendNumber(dst, float64(v), 32), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case time.Time:
		v = v.UTC()
		day := !zoned && v.Hour() == 0 && v.Minute() == 0 && v.Second() == 0 && v.Nanosecond() == 0
		return table.AppendTime(dst, v.Unix(), v.Nanosecond(), day, zoned), nil
	}
	return dst, unsupportedValue(src, "a string")
}

func unsupportedValue(src any, want string) error {
	return fmt.Errorf("the driver must return %[2]s, got %[1]T", src, want)
}
