package parquet

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/bochner-ml/bochner/datasets/internal/guard"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// column reads the values of a column, from group to group and within one from page to page.
type column struct {
	leaf
	as    table.Type
	in    io.ReaderAt
	limit *guard.MemoryLimit
	group int // current row group; -1 before the first

	codec   int
	at, end int    // position in the file
	head    []byte // header of a page
	packed  []byte // bytes of a page in the file
	page    []byte

	left    int           // rows that remain in the page
	defined hybrid        // 1 for values that are not missing
	indexed bool          // whether values are numbers of those of the dictionary
	indices hybrid        // if indexed
	next    func() []byte // if not
	levels  []int32       // of the rows that are decoded at once
	chosen  []int32       // their numbers in the dictionary

	dictionary []byte // its page
	numbers    []float64
	seconds64  []int64
	strings    [][]byte
	codes      []int32 // of strings in words; -1 if unknown, nil for all

	words  *table.Dictionary
	buffer []byte
}

// decode reads the next values of a group, up to the given number of rows.
func (c *column) decode(g *chunk, group, rows int, v *table.Values) error {
	if group != c.group {
		c.group, c.codec, c.at, c.end, c.left = group, g.codec, g.at, g.at+g.compressed, 0
	}
	if c.as == table.Strings {
		before := c.words
		if c.words = c.words.Reuse(); c.words != before {
			c.codes = nil
		}
		v.Dictionary = c.words
	}
	if cap(c.levels) < rows {
		c.levels = make([]int32, rows)
		c.chosen = make([]int32, rows)
	}
	levels, there := c.levels[:rows], 0
	for done := 0; done < rows; {
		if c.left == 0 {
			if err := c.nextPage(); err != nil {
				return err
			}
			continue
		}
		n := min(rows-done, c.left)
		part := levels[done : done+n]
		present := n
		if c.optional {
			present = 0
			c.defined.read(part)
			for _, level := range part {
				present += int(level)
			}
		}
		if c.null {
			present = 0
			clear(part)
		}
		c.read(v, there, present)
		there, done, c.left = there+present, done+n, c.left-n
	}
	if there == rows {
		return nil
	}
	switch c.as {
	case table.Numbers:
		insertMissing(v.Numbers, there, levels, math.NaN())
	case table.Times:
		insertMissing(v.Seconds, there, levels, table.NoTime)
	default:
		insertMissing(v.Codes, there, levels, -1)
	}
	return nil
}

// insertMissing moves the present values to their rows and fills the others with missing.
func insertMissing[T any](out []T, there int, levels []int32, missing T) {
	for i := len(out) - 1; there <= i; i-- { // the values before are in place
		if levels[i] == 0 {
			out[i] = missing
			continue
		}
		there--
		out[i] = out[there]
	}
}

// read reads n values of the page, and writes them to v from the given place.
func (c *column) read(v *table.Values, from, n int) {
	if c.indexed {
		chosen := c.chosen[:n]
		c.indices.read(chosen)
		switch c.as {
		case table.Numbers:
			choose(v.Numbers[from:], c.numbers, chosen)
		case table.Times:
			choose(v.Seconds[from:], c.seconds64, chosen)
		default:
			if c.codes == nil {
				c.codes = make([]int32, len(c.strings))
				for k := range c.codes {
					c.codes[k] = -1
				}
			}
			choose(v.Codes[from:], c.codes, chosen)
			for i, k := range chosen {
				if v.Codes[from+i] < 0 {
					c.codes[k] = c.code(c.strings[k])
					v.Codes[from+i] = c.codes[k]
				}
			}
		}
		return
	}
	switch c.as {
	case table.Numbers:
		for i := range v.Numbers[from : from+n] {
			v.Numbers[from+i] = c.number(c.next())
		}
	case table.Times:
		for i := range v.Seconds[from : from+n] {
			v.Seconds[from+i], _ = c.seconds(c.next())
		}
	default:
		for i := range v.Codes[from : from+n] {
			v.Codes[from+i] = c.code(c.next())
		}
	}
}

// choose writes the values with the given numbers.
func choose[T any](out, values []T, numbers []int32) {
	for i, k := range numbers {
		if uint(k) >= uint(len(values)) {
			panic(fmt.Errorf("code %d of a dictionary of %d values", k, len(values)))
		}
		out[i] = values[k]
	}
}

// code returns the code of a value as a string.
func (c *column) code(value []byte) int32 {
	if c.text == nil {
		return c.words.Code(value)
	}
	c.buffer = c.text(c.buffer[:0], value)
	return c.words.Code(c.buffer)
}

// The kinds of pages, as numbered in parquet.thrift.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

// header describes a page.
type header struct {
	kind         int
	size, packed int // bytes of the page, and in the file
	values       int
	encoding     int
	levels       int // encoding of the definition levels
	levelBytes   int // in a page of version 2, which are not compressed
	repeatBytes  int
	plain        bool // whether values are not compressed
}

// nextPage starts the next page of data, or reads one with a dictionary.
func (c *column) nextPage() error {
	h, err := c.readHeader()
	if err != nil {
		return err
	}
	if h.size < 0 || h.packed < 0 || h.packed > c.end-c.at || h.values < 0 {
		return fmt.Errorf("damaged: a page of %d bytes where %d are left", h.packed, c.end-c.at)
	}
	c.packed = c.limit.Resize(c.packed, h.packed)
	if _, err := c.in.ReadAt(c.packed, int64(c.at)); err != nil {
		return err
	}
	c.at += h.packed
	in, levels := c.packed, []byte(nil)
	switch h.kind {
	case dictionaryPage:
		return c.readDictionary(h)
	case dataPage:
		if err := c.unpack(&c.page, h.size, in); err != nil {
			return err
		}
		in = c.page
		if c.optional {
			if h.levels != runLength {
				return fmt.Errorf("levels must be run-length encoded, got encoding %d", h.levels)
			}
			levels = take(&in, uint64(binary.LittleEndian.Uint32(take(&in, 4))))
		}
	case dataPage2:
		take(&in, uint64(h.repeatBytes))
		levels = take(&in, uint64(h.levelBytes))
		if size := h.size - h.repeatBytes - h.levelBytes; !h.plain && size > 0 {
			if err := c.unpack(&c.page, size, in); err != nil {
				return err
			}
			in = c.page
		}
	default:
		return nil
	}
	c.left, c.defined = h.values, hybrid{data: levels, width: 1}
	if c.indexed = h.encoding == dictionaryCodes || h.encoding == plainDictionary; c.indexed {
		c.indices = hybrid{}
		if len(in) > 0 { // else all values are missing
			c.indices = hybrid{data: in[1:], width: int(in[0])}
		}
		if c.indices.width > 32 {
			return fmt.Errorf("damaged: codes of %d bits", c.indices.width)
		}
		return nil
	}
	c.next, err = c.values(h.encoding, in)
	return err
}

// readDictionary reads the values of a page with a dictionary.
func (c *column) readDictionary(h header) error {
	if err := c.unpack(&c.dictionary, h.size, c.packed); err != nil {
		return err
	}
	next, err := c.values(plain, c.dictionary)
	if err != nil || c.physical == boolean {
		return cmp.Or(err, errors.New("damaged: a dictionary of Booleans"))
	}
	c.numbers, c.seconds64, c.strings, c.codes = c.numbers[:0], c.seconds64[:0], c.strings[:0], nil
	for range h.values {
		switch b := next(); {
		case c.null:
		case c.as == table.Numbers:
			c.numbers = append(c.numbers, c.number(b))
		case c.as == table.Times:
			at, _ := c.seconds(b)
			c.seconds64 = append(c.seconds64, at)
		default:
			c.strings = append(c.strings, b)
		}
	}
	return nil
}

// readHeader reads the header of a page, of which the size is unknown before.
func (c *column) readHeader() (header, error) {
	for size := 1 << 10; ; size *= 4 {
		size = min(size, c.end-c.at)
		if size <= 0 {
			return header{}, guard.Damaged(errEnd)
		}
		c.head = c.limit.Resize(c.head, size)
		if _, err := c.in.ReadAt(c.head, int64(c.at)); err != nil {
			return header{}, err
		}
		h, n, err := decodeHeader(c.head)
		if err == nil || size == c.end-c.at || !errors.Is(err, io.ErrUnexpectedEOF) {
			c.at += n
			return h, err
		}
	}
}

// decodeHeader decodes the header of a page, and returns its size.
func decodeHeader(b []byte) (h header, n int, err error) {
	defer guard.Recover(&err)
	t := &thrift{b: b, kind: kindStruct}
	t.fields(func(id int) {
		switch {
		case id == 1:
			h.kind = t.int()
		case id == 2:
			h.size = t.int()
		case id == 3:
			h.packed = t.int()
		case id == 5 && h.kind == dataPage:
			t.pageFields(&h.values, &h.encoding, &h.levels)
		case id == 7 && h.kind == dictionaryPage:
			t.pageFields(&h.values, &h.encoding)
		case id == 8 && h.kind == dataPage2:
			packed, nulls, rows := 1, 0, 0
			t.pageFields(&h.values, &nulls, &rows, &h.encoding, &h.levelBytes, &h.repeatBytes, &packed)
			h.plain = packed == 0
		default:
			t.skip()
		}
	})
	return h, len(b) - len(t.b), nil
}

// pageFields decodes the first fields of a structure, which are numbers.
func (t *thrift) pageFields(fields ...*int) {
	t.fields(func(id int) {
		if id >= 1 && id <= len(fields) {
			*fields[id-1] = t.int()
			return
		}
		t.skip()
	})
}

// unzstd decompresses pages.
var unzstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
})

// unpack decompresses a page of size bytes into a buffer.
func (c *column) unpack(buffer *[]byte, size int, in []byte) (err error) {
	*buffer = c.limit.Resize(*buffer, size)
	out, n := (*buffer)[:size:size], size
	switch c.codec {
	case 0:
		n = copy(out, in) + len(in) - min(size, len(in))
	case 1:
		if n, err = snappy.DecodedLen(in); err == nil && n == size {
			_, err = snappy.Decode(out, in)
		}
	case 2:
		var stream io.Reader
		if stream, err = gzip.NewReader(bytes.NewReader(in)); err == nil {
			_, err = io.ReadFull(stream, out)
		}
	case 6:
		d, failed := unzstd()
		if err = failed; err == nil {
			out, err = d.DecodeAll(in, out[:0])
			n = len(out)
		}
	case 7:
		n, err = lz4.UncompressBlock(in, out)
	default:
		return fmt.Errorf("compression must be snappy, zstd, gzip, lz4 (raw) or none, got number %d", c.codec)
	}
	if err == nil && n != size {
		err = fmt.Errorf("a page of %d bytes, its header declares %d", n, size)
	}
	if err != nil {
		return guard.Damaged(err)
	}
	return nil
}
