package parquet

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	pq "github.com/apache/arrow-go/v18/parquet/file"

	"github.com/bochner-ml/bochner/datasets/internal/arrays"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// column reads the values of a column, from group to group and within one from page to page.
type column struct {
	leaf
	decoder arrays.Decoder
	name    string
	mem     memory.Allocator
	group   int // current row group; -1 before the first

	chunk      pq.ColumnChunkReader
	levels     []int16 // definition levels: 1 for values that are not missing
	floats     []float64
	singles    []float32
	longs      []int64
	ints       []int32
	booleans   []bool
	times      []parquet.Int96
	byteArrays []parquet.ByteArray
	fixed      []parquet.FixedLenByteArray

	words *table.Dictionary
	seen  *[1 << 11]pageState
}

// pageState caches the code of a string by its address: pages mostly refer to the strings of a
// dictionary.
type pageState struct {
	at   uintptr
	text string
	code int32
}

// decode reads the next values of a group, up to the given number of rows.
func (c *column) decode(r *pq.Reader, group, rows int, v *table.Values) (err error) {
	if group != c.group {
		c.close()
		c.group = group
		if err := c.open(r); err != nil {
			return err
		}
	}
	c.levels = resized(c.levels, rows)
	if doubles, ok := c.chunk.(*pq.Float64ColumnChunkReader); ok && c.decoder.As == table.Numbers {
		there, err := values(c, doubles, &v.Numbers, rows)
		insertMissing(v.Numbers, len(there), c.levels, math.NaN())
		return err
	}
	if byteArrays, ok := c.chunk.(*pq.ByteArrayColumnChunkReader); ok && c.as.ID() == arrow.BINARY {
		return c.decodeStrings(byteArrays, rows, v)
	}
	a, err := c.read(rows)
	if err != nil {
		return err
	}
	defer a.Release()
	n := a.Len()
	if n == rows {
		return c.decoder.Decode(a, v)
	}
	there := table.Values{}
	switch c.decoder.As {
	case table.Numbers:
		there.Numbers = v.Numbers[:n]
		err = c.decoder.Decode(a, &there)
		insertMissing(v.Numbers, n, c.levels, math.NaN())
	case table.Times:
		there.Seconds = v.Seconds[:n]
		err = c.decoder.Decode(a, &there)
		insertMissing(v.Seconds, n, c.levels, table.NoTime)
	default:
		there.Codes = v.Codes[:n]
		err = c.decoder.Decode(a, &there)
		v.Dictionary = there.Dictionary
		insertMissing(v.Codes, n, c.levels, -1)
	}
	return err
}

// insertMissing moves the present values to their rows and fills the others with missing.
func insertMissing[T any](out []T, there int, levels []int16, missing T) {
	for i := len(out) - 1; there <= i; i-- { // the values before are in place
		if levels[i] == 0 {
			out[i] = missing
			continue
		}
		there--
		out[i] = out[there]
	}
}

func resized[T any](a []T, n int) []T {
	if cap(a) < n {
		return make([]T, n)
	}
	return a[:n]
}

// open starts the column chunk of a row group.
func (c *column) open(r *pq.Reader) error {
	chunk, err := r.MetaData().RowGroup(c.group).ColumnChunk(c.index)
	if err != nil {
		return err
	}
	if c.chunk, err = r.RowGroup(c.group).Column(c.index); err != nil {
		return fmt.Errorf("compression must be snappy, zstd, gzip, brotli, lz4 (raw) or none, got %[1]s: %[2]w",
			chunk.Compression(), err)
	}
	return nil
}

func (c *column) close() {
	if c.chunk != nil {
		c.chunk.Close()
		c.chunk = nil
	}
}

var errEnd = errors.New("damaged: its pages end before its values")

// decodeStrings reads the codes of strings, page by page, while their bytes are valid.
func (c *column) decodeStrings(r *pq.ByteArrayColumnChunkReader, rows int, v *table.Values) error {
	before := c.words
	if c.words = c.words.Reuse(); c.words != before {
		c.seen = new([1 << 11]pageState)
	}
	v.Dictionary = c.words
	c.byteArrays = resized(c.byteArrays, rows)
	there := 0
	for done := 0; done < rows; {
		total, n, err := r.ReadBatchInPage(int64(rows-done), c.byteArrays, c.levels[done:], nil)
		if err != nil {
			return arrays.Damaged(err)
		}
		if total == 0 {
			return errEnd
		}
		for _, t := range c.byteArrays[:n] {
			v.Codes[there] = c.code(t)
			there++
		}
		done += int(total)
	}
	insertMissing(v.Codes, there, c.levels, -1)
	return nil
}

// code returns the code of a string.
func (c *column) code(text []byte) int32 {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(text)))
	s := &c.seen[uint64(at)*0x9e3779b97f4a7c15>>53]
	if s.at != at || s.text != string(text) {
		code := c.words.Code(text)
		*s = pageState{at, c.words.Strings[code], code}
	}
	return s.code
}

// batches reads values of a Parquet type.
type batches[T any] interface {
	ReadBatch(rows int64, values []T, levels, repetitions []int16) (total int64, there int, err error)
}

// values reads the present values of the given number of rows.
func values[T any](c *column, r batches[T], buffer *[]T, rows int) ([]T, error) {
	*buffer = resized(*buffer, rows)
	total, n, err := r.ReadBatch(int64(rows), *buffer, c.levels, nil)
	if err != nil {
		return nil, arrays.Damaged(err)
	}
	if total != int64(rows) || n > rows {
		return nil, errEnd
	}
	return (*buffer)[:n], nil
}

// read reads the present values of the given number of rows as an Arrow array.
func (c *column) read(rows int) (arrow.Array, error) {
	switch r := c.chunk.(type) {
	case *pq.Float64ColumnChunkReader:
		v, err := values(c, r, &c.floats, rows)
		return c.array(len(v), arrow.Float64Traits.CastToBytes(v), err)
	case *pq.Float32ColumnChunkReader:
		v, err := values(c, r, &c.singles, rows)
		return c.array(len(v), arrow.Float32Traits.CastToBytes(v), err)
	case *pq.Int64ColumnChunkReader:
		v, err := values(c, r, &c.longs, rows)
		return c.array(len(v), arrow.Int64Traits.CastToBytes(v), err)
	case *pq.Int32ColumnChunkReader:
		v, err := values(c, r, &c.ints, rows)
		return c.array(len(v), arrow.Int32Traits.CastToBytes(v), err)
	case *pq.Int96ColumnChunkReader:
		v, err := values(c, r, &c.times, rows)
		return c.array(len(v), micros(v), err)
	case *pq.BooleanColumnChunkReader:
		v, err := values(c, r, &c.booleans, rows)
		b := array.NewBooleanBuilder(c.mem)
		b.AppendValues(v, nil)
		return b.NewArray(), err
	case *pq.FixedLenByteArrayColumnChunkReader:
		v, err := values(c, r, &c.fixed, rows)
		if err != nil {
			return nil, err
		}
		return convert(c, v)
	case *pq.ByteArrayColumnChunkReader:
		v, err := values(c, r, &c.byteArrays, rows)
		if err != nil {
			return nil, err
		}
		return convert(c, v)
	}
	return nil, fmt.Errorf("damaged: values of type %s", c.chunk.Type())
}

// array makes an array of bytes that have the values of one of width.
func (c *column) array(n int, values []byte, err error) (arrow.Array, error) {
	if err != nil || c.as.ID() == arrow.NULL {
		return array.NewNull(n), err
	}
	data := array.NewData(c.as, n, []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// micros converts 96-bit times to microseconds since 1970; int64 nanoseconds would overflow.
func micros(times []parquet.Int96) []byte {
	out := make([]int64, len(times))
	for i, t := range times {
		out[i] = t.ToTime().UnixMicro()
	}
	return arrow.Int64Traits.CastToBytes(out)
}

// convert converts byte values to an array of the column's Arrow type.
func convert[T ~[]byte](c *column, values []T) (arrow.Array, error) {
	switch t := c.as.(type) {
	case *arrow.Decimal256Type:
		b := array.NewDecimal256Builder(c.mem, t)
		for _, v := range values {
			if len(v) == 0 || len(v) > 32 {
				return nil, fmt.Errorf("decimal must have 1 to 32 bytes, got %d", len(v))
			}
			b.Append(bigEndian(v))
		}
		return b.NewArray(), nil
	case *arrow.Float16Type:
		b := array.NewFloat16Builder(c.mem)
		for _, v := range values {
			b.Append(float16.FromLEBytes(v))
		}
		return b.NewArray(), nil
	}
	b := array.NewBinaryBuilder(c.mem, arrow.BinaryTypes.Binary)
	for _, v := range values {
		if c.uuid {
			v = fmt.Appendf(nil, "%x-%x-%x-%x-%x", []byte(v[:4]), []byte(v[4:6]), []byte(v[6:8]), []byte(v[8:10]),
				[]byte(v[10:]))
		}
		b.Append(v)
	}
	return b.NewArray(), nil
}

// bigEndian returns a number of up to 32 bytes, with a sign.
func bigEndian(b []byte) decimal256.Num {
	var words [4]uint64
	if b[0] >= 0x80 {
		words = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	}
	for _, next := range b {
		for k := 3; k > 0; k-- {
			words[k] = words[k]<<8 | words[k-1]>>56
		}
		words[0] = words[0]<<8 | uint64(next)
	}
	return decimal256.New(words[3], words[2], words[1], words[0])
}
