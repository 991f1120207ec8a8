package svmlight

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/datasets/internal/text"
)

var errNUL = errors.New("NUL byte; is this a text file?")

// parse reads one line that is not empty.
func (s *source) parse(r *row, b []byte) error {
	word, b := cut(b)
	var ok bool
	if r.label, ok = text.Number(word); !ok {
		switch {
		case bytes.IndexByte(word, 0) >= 0:
			return errNUL
		case bytes.IndexByte(word, ',') >= 0:
			return fmt.Errorf("label %q: several labels for one row are not supported", word)
		case bytes.IndexByte(word, ':') >= 0:
			return fmt.Errorf("must be a label first, got %q", word)
		}
		return fmt.Errorf("label %q is not a number", word)
	}
	r.grouped, r.group = false, 0
	r.columns, r.values = r.columns[:0], r.values[:0]
	for len(b) > 0 {
		word, b = cut(b)
		colon := bytes.IndexByte(word, ':')
		if colon < 0 {
			return fmt.Errorf("must be column:value, got %q", word)
		}
		if string(word[:colon]) == "qid" && len(r.columns) == 0 && !r.grouped {
			group, err := strconv.Atoi(string(word[colon+1:]))
			if err != nil {
				return fmt.Errorf("must be qid: and an integer, got %q", word)
			}
			r.grouped, r.group = true, group
			continue
		}
		if err := s.entry(r, word[:colon], word[colon+1:]); err != nil {
			return err
		}
	}
	return nil
}

// entry appends column:value.
func (s *source) entry(r *row, column, value []byte) error {
	j, ok := index(column)
	if !ok {
		return fmt.Errorf("%q is not a column number", column)
	}
	first := 1
	if s.o.ZeroBased {
		first = 0
	}
	j -= first
	if j < 0 {
		return errors.New("column 0, though columns count from 1; set zero_based if they count from 0")
	}
	if s.cols > 0 && j >= s.cols {
		return fmt.Errorf("column %s of %d, which count from %d", column, s.cols, first)
	}
	if n := len(r.columns); n > 0 && int(r.columns[n-1]) >= j {
		return fmt.Errorf("column indices must ascend, got %d after %d", j+first, int(r.columns[n-1])+first)
	}
	v, ok := text.Number(value)
	if !ok {
		return fmt.Errorf("column %s: %q is not a number", column, value)
	}
	r.columns = append(r.columns, uint32(j))
	r.values = append(r.values, v)
	return nil
}

// index reads a column number.
func index(b []byte) (j int, ok bool) {
	n := int64(0)
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		if n = 10*n + int64(c-'0'); n >= min(math.MaxUint32, math.MaxInt) {
			return 0, false
		}
	}
	return int(n), len(b) > 0
}

// cut returns the first token of b, and the bytes after the blanks that follow it.
func cut(b []byte) (word, rest []byte) {
	i := 0
	for i < len(b) && !text.Blank(b[i]) {
		i++
	}
	word = b[:i]
	for i < len(b) && text.Blank(b[i]) {
		i++
	}
	return word, b[i:]
}

// number writes v as short as can be.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
