package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// column reads the values of a column, from group to group and from page to page.
type column struct {
	at     io.ReaderAt
	groups []group
	leaf   leaf
	as     table.Type

	group   int // the next one
	left    int // values of the chunk at hand
	pages   pages
	values  int   // left of the page at hand
	present *runs // which values are there; nil for all
	stored  *stored
	codes   *runs // of the dictionary; nil for values as they are

	entries  int       // of the dictionary of the chunk
	numbers  []float64 // what the dictionary stands for, by representation
	seconds  []int64
	texts    []string
	words    *table.Dictionary
	ownWords bool // whether the codes of words are those of the dictionary

	mask  []uint32
	index []uint32
	room  []byte
}

// next makes sure that a value is at hand.
func (c *column) next() error {
	for c.values == 0 {
		if c.left == 0 {
			if err := c.nextChunk(); err != nil {
				return err
			}
			continue
		}
		if err := c.nextPage(); err != nil {
			return err
		}
	}
	return nil
}

// nextChunk goes to the next group that has rows.
func (c *column) nextChunk() error {
	g := &c.groups[c.group]
	h := &g.chunks[c.leaf.index]
	c.group++
	switch {
	case g.rows == 0:
		return nil
	case h.elsewhere:
		return errors.New("its values are in another file")
	case h.encrypted:
		return errors.New("it is encrypted")
	case h.physical != c.leaf.physical:
		return errors.New("damaged: it is of another type than in the schema")
	case h.values != int64(g.rows):
		return fmt.Errorf("damaged: it has %d values, the group has %d rows", h.values, g.rows)
	}
	c.left, c.entries, c.words = g.rows, -1, nil
	return c.pages.open(c.at, h)
}

// nextPage goes to the next page of values. A page without any is passed over.
func (c *column) nextPage() error {
	h, data, err := c.pages.next()
	if err != nil {
		return err
	}
	switch h.kind {
	case 2:
		return c.readDictionary(h, data)
	case 0, 3:
	default: // an index
		return nil
	}
	if h.values > c.left {
		return fmt.Errorf("damaged: a page of %d values, where %d are left", h.values, c.left)
	}
	if c.present, data, err = h.split(data, c.leaf.optional); err != nil {
		return err
	}
	c.values = h.values
	c.codes, c.stored = nil, nil
	if h.encoding == plainDictionary || h.encoding == dictionaryCodes {
		switch {
		case c.entries < 0:
			return errors.New("damaged: it has codes without a dictionary")
		case len(data) == 0:
			c.codes = &runs{} // of nothing
			return nil
		case data[0] > 31:
			return errors.New("damaged: codes of more than 31 bits")
		}
		c.codes = &runs{data: data[1:], width: int(data[0])}
		return nil
	}
	c.stored, err = newStored(&c.leaf, h.encoding, data)
	return err
}

// readDictionary reads the values that codes stand for.
func (c *column) readDictionary(h head, data []byte) error {
	if h.encoding != plain && h.encoding != plainDictionary {
		return fmt.Errorf("a dictionary in encoding %d, which is not known", h.encoding)
	}
	if c.entries >= 0 {
		return errors.New("damaged: it has two dictionaries")
	}
	s, err := newStored(&c.leaf, plain, data)
	if err != nil {
		return err
	}
	if h.values > 8*len(data) { // a value has a bit at least
		return fmt.Errorf("damaged: %d bytes are no dictionary of %d values", len(data), h.values)
	}
	c.entries = h.values
	switch c.as {
	case table.Numbers:
		c.numbers = grown(c.numbers, h.values)
		return s.numbers(c.numbers)
	case table.Times:
		c.seconds = grown(c.seconds, h.values)
		return c.readSeconds(s, c.seconds)
	}
	c.texts = make([]string, 0, min(h.values, len(data)))
	for range h.values {
		b, err := s.next()
		if err != nil {
			return err
		}
		c.room = c.leaf.text(c.room[:0], b)
		c.texts = append(c.texts, string(c.room))
	}
	return nil
}

func grown[T any](a []T, n int) []T {
	if cap(a) < n {
		return make([]T, n)
	}
	return a[:n]
}

func (c *column) readSeconds(s *stored, out []int64) error {
	for i := range out {
		b, err := s.next()
		if err != nil {
			return err
		}
		out[i], _ = c.leaf.seconds(b)
	}
	return nil
}

// decode writes as many values as there is room for. They are of one group.
func (c *column) decode(rows int, v *table.Values) error {
	if c.as == table.Texts {
		if err := c.next(); err != nil {
			return err
		}
		c.openWords()
		v.Texts = c.words
	}
	for done := 0; done < rows; {
		if err := c.next(); err != nil {
			return err
		}
		n, there, err := c.find(min(rows-done, c.values))
		if err != nil {
			return err
		}
		switch c.as {
		case table.Numbers:
			out := v.Numbers[done : done+n]
			if err := c.takeNumbers(out[:there]); err != nil {
				return err
			}
			spread(out, there, c.mask, math.NaN())
		case table.Times:
			out := v.Seconds[done : done+n]
			if err := c.takeSeconds(out[:there]); err != nil {
				return err
			}
			spread(out, there, c.mask, table.NoTime)
		default:
			out := v.Codes[done : done+n]
			if err := c.takeTexts(out[:there]); err != nil {
				return err
			}
			spread(out, there, c.mask, -1)
		}
		done += n
		c.values -= n
		c.left -= n
	}
	return nil
}

// find finds out which of the next values are there, at most so many: the mask says it, unless all or none
// are. It returns how many it has looked at, and how many of them are there.
func (c *column) find(most int) (n, there int, err error) {
	if c.present == nil {
		return most, most, nil
	}
	n, same, err := c.present.take(most)
	if err != nil {
		return 0, 0, err
	}
	if same {
		c.present.left -= n
		if c.present.value == 1 {
			return n, n, nil
		}
		return n, 0, nil
	}
	c.mask = grown(c.mask, n)
	if err := c.present.next(c.mask); err != nil {
		return 0, 0, err
	}
	for _, is := range c.mask {
		there += int(is)
	}
	return n, there, nil
}

// spread moves the values that are there to their places.
func spread[T any](out []T, there int, mask []uint32, missing T) {
	if there == len(out) {
		return
	}
	if there == 0 {
		for i := range out {
			out[i] = missing
		}
		return
	}
	for i := len(out) - 1; i >= 0; i-- {
		if mask[i] == 0 {
			out[i] = missing
			continue
		}
		there--
		out[i] = out[there]
	}
}

// look reads the next codes.
func (c *column) look(n int) error {
	c.index = grown(c.index, n)
	if err := c.codes.next(c.index); err != nil {
		return err
	}
	for _, k := range c.index {
		if int(k) >= c.entries {
			return fmt.Errorf("damaged: code %d of a dictionary of %d values", k, c.entries)
		}
	}
	return nil
}

func (c *column) takeNumbers(out []float64) error {
	if c.codes == nil {
		return c.stored.numbers(out)
	}
	if err := c.look(len(out)); err != nil {
		return err
	}
	for i, k := range c.index {
		out[i] = c.numbers[k]
	}
	return nil
}

func (c *column) takeSeconds(out []int64) error {
	if c.codes == nil {
		return c.readSeconds(c.stored, out)
	}
	if err := c.look(len(out)); err != nil {
		return err
	}
	for i, k := range c.index {
		out[i] = c.seconds[k]
	}
	return nil
}

// openWords makes sure that there is a dictionary to write codes of: that of the chunk as long as it does not
// grow long by texts beside it.
func (c *column) openWords() {
	switch {
	case c.words == nil && c.entries >= 0:
		c.words, c.ownWords = table.NewDictionary(c.texts), true
	case c.words == nil || len(c.words.Texts) > max(c.entries, 0):
		before := c.words
		c.words = c.words.Gathered()
		c.ownWords = c.ownWords && c.words == before
	}
}

func (c *column) takeTexts(out []int32) error {
	if c.codes == nil {
		for i := range out {
			b, err := c.stored.next()
			if err != nil {
				return err
			}
			c.room = c.leaf.text(c.room[:0], b)
			out[i] = c.words.Code(c.room)
		}
		return nil
	}
	if err := c.look(len(out)); err != nil {
		return err
	}
	for i, k := range c.index {
		if c.ownWords {
			out[i] = int32(k)
		} else {
			out[i] = c.words.Code([]byte(c.texts[k]))
		}
	}
	return nil
}
