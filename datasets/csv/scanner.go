package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// scanner splits a string into records.
type scanner struct {
	io.Closer
	dialect
	w        *text.Window
	bound    int       // of the bytes of a record
	fields   [][]byte  // fields of the current record; nil for a missing value
	numbers  []float64 // values of unquoted numeric fields; NaN for missing values and other fields
	line     int       // first line of the current record
	upcoming int       // line at the beginning of the window
	lines    int       // ends of lines seen since
	scratch  []byte    // fields that had quotes inside
	encoding string    // of the file
}

var (
	errMore    = errors.New("the record does not end here")
	errNUL     = errors.New("NUL byte; is this a text file? csv.encoding: utf-16 reads one of two bytes a letter")
	errBare    = errors.New(`" inside of a field that does not begin with one` + plainQuotes)
	errAfter   = errors.New(`text behind the closing " of a field` + plainQuotes)
	errReturns = errors.New(`lines must end with \n or \r\n, got \r alone; convert the file, as by tr '\r' '\n'`)
	errOpen    = errors.New(`quoted field is never closed`)
)

// plainQuotes is the remedy for quotes that do not enclose fields.
const plainQuotes = "; csv.quote: none (Options.Quote) reads quotes as ordinary characters"

// next reads the next record into s.fields and s.line; after the last it returns io.EOF. The parse
// of a record depends only on its own bytes, not on how many bytes are buffered.
func (s *scanner) next() error {
	final := false
	for {
		b, last := s.w.Bytes(), final
		if len(b) > s.bound+1 {
			b, last = b[:s.bound+1], false
		}
		s.line, s.lines = s.upcoming, 0
		n, skip, err := 0, false, errMore
		if len(b) > 0 {
			if n, skip = s.skip(b, last); skip && n > 0 {
				s.w.Consume(n)
				s.upcoming++
				continue
			}
			if !skip {
				n, err = s.record(b, last)
			}
		}
		switch {
		case err == nil && n > s.bound, err == errMore && len(b) > s.bound:
			return s.tooLong(b[:s.bound])
		case err == nil:
			s.w.Consume(n)
			s.upcoming += s.lines
			return s.check(b[:n])
		case err != errMore:
			s.line += s.lines
			return err
		case final && len(b) == 0:
			return io.EOF
		}
		switch err := s.w.Fill(); {
		case err == io.EOF:
			final = true
		case err != nil:
			return err
		}
	}
}

// recover skips the line with the error of the last record, and reports whether the next record may be valid.
func (s *scanner) recover(err error) bool {
	switch err.(type) {
	case invalid: // the record is consumed
		return true
	}
	if err != errNUL && err != errBare && err != errAfter {
		return false
	}
	if _, err := s.w.Line(); err != nil {
		return false
	}
	s.upcoming++
	return true
}

// tooLong returns the error for a record that begins with b and exceeds the limit.
func (s *scanner) tooLong(b []byte) error {
	if s.quotes && bytes.Count(b, quote)%2 == 1 {
		return fmt.Errorf("%w: more than %d bytes; is a quote left open?", text.ErrTooLong, s.bound)
	}
	return fmt.Errorf("%w: more than %d bytes", text.ErrTooLong, s.bound)
}

var quote = []byte{'"'}

// invalid is a place where a record is not in the encoding of its file.
type invalid struct {
	line, column int // column counts characters
	field        int // -1 for none
}

func (invalid) Error() string { return "not in the encoding of the file" }

// check returns the position of invalid UTF-8 in a parsed record.
func (s *scanner) check(record []byte) error {
	at := text.Invalid(record)
	if at < 0 {
		return nil
	}
	before := record[:at]
	newline := bytes.LastIndexByte(before, '\n')
	return invalid{
		line:   s.line + bytes.Count(before, []byte{'\n'}),
		column: utf8.RuneCount(before[newline+1:]) + 1,
		field:  slices.IndexFunc(s.fields, func(f []byte) bool { return !utf8.Valid(f) }),
	}
}

// skip reports whether b begins with a line without a record, and returns the length of that line,
// 0 if it is incomplete in b.
func (s *scanner) skip(b []byte, final bool) (n int, ok bool) {
	if s.comment != "" {
		if bytes.HasPrefix(b, []byte(s.comment)) {
			return lineLength(b, final), true
		}
		if !final && len(b) < len(s.comment) {
			return 0, true
		}
	}
	for i, c := range b {
		switch {
		case c == '\n':
			return i + 1, true
		case c == '\r' && (i+1 < len(b) && b[i+1] == '\n' || i+1 == len(b)):
		case s.trim && text.Blank(c) && (c != s.delimiter || s.runs):
		default:
			return 0, false
		}
	}
	if final {
		return len(b), true
	}
	return 0, true
}

func lineLength(b []byte, final bool) int {
	if at := bytes.IndexByte(b, '\n'); at >= 0 {
		return at + 1
	}
	if final {
		return len(b)
	}
	return 0
}

// record splits the record at the beginning of b and returns its length.
func (s *scanner) record(b []byte, final bool) (n int, err error) {
	s.fields, s.numbers, s.scratch = s.fields[:0], s.numbers[:0], s.scratch[:0]
	i := 0
	for {
		if s.simple {
			if i, n = s.plainNumbers(b, i); n > 0 {
				return n, nil
			}
		}
		if s.trim {
			for i < len(b) && text.Blank(b[i]) && (b[i] != s.delimiter || s.runs) {
				i++
			}
		}
		if s.runs && len(s.fields) > 0 {
			switch {
			case !final && (i == len(b) || b[i] == '\r' && i+1 == len(b)):
				return 0, errMore
			case i == len(b) || atEnd(b[i:]):
				return s.end(b, i), nil // blanks at the end of the line
			}
		}
		var field []byte
		if i < len(b) && b[i] == '"' && s.quotes {
			field, i, err = s.quoted(b, i+1, final)
		} else {
			field, i, err = s.plain(b, i, final)
		}
		if err != nil {
			return 0, err
		}
		s.fields, s.numbers = append(s.fields, s.value(field)), append(s.numbers, math.NaN())
		if i == len(b) || atEnd(b[i:]) {
			return s.end(b, i), nil
		}
		i++
	}
}

// plainNumbers parses the fields from b[i:] on, as long as they are plain numbers with a delimiter.
// It returns the end of the last one, and the length of the record if it is complete.
func (s *scanner) plainNumbers(b []byte, i int) (at, n int) {
	fields, numbers, delimiter := s.fields, s.numbers, s.delimiter
	for i < len(b) && b[i] <= '9' {
		v, size := text.Leading(b[i:])
		end := i + size
		if size == 0 || end == len(b) {
			break
		}
		next := b[end]
		if next == '\r' && end+1 < len(b) {
			next = b[end+1]
		}
		if next != delimiter && next != '\n' || next == delimiter && b[end] == '\r' {
			break
		}
		field := b[i:end:end]
		if s.maybe[field[0]] {
			if field = s.value(field); field == nil {
				v = math.NaN()
			}
		}
		fields, numbers = append(fields, field), append(numbers, v)
		if next == '\n' {
			n = s.end(b, end)
			break
		}
		i = end + 1
	}
	s.fields, s.numbers = fields, numbers
	return i, n
}

// atEnd reports whether a line ends at the beginning of b, which has at least a byte.
func atEnd(b []byte) bool {
	return b[0] == '\n' || b[0] == '\r' && (len(b) == 1 || b[1] == '\n')
}

// end returns the start of the next line, given the end i of this one.
func (s *scanner) end(b []byte, i int) int {
	if i < len(b) && b[i] == '\r' {
		i++
	}
	if i < len(b) {
		s.lines++
		i++
	}
	return i
}

// plain returns the unquoted field at b[i:] and its end.
func (s *scanner) plain(b []byte, i int, final bool) (field []byte, end int, err error) {
	from := i
	for i < len(b) && !s.stop[b[i]] {
		i++
	}
	switch {
	case i == len(b):
		if !final {
			return nil, 0, errMore
		}
	case b[i] == '"' && s.quotes:
		return nil, 0, errBare
	case b[i] == 0:
		return nil, 0, errNUL
	}
	end = i
	if i > from && b[i-1] == '\r' && (i == len(b) || b[i] == '\n') {
		i--
		end--
	}
	if s.trim {
		for i > from && text.Blank(b[i-1]) {
			i--
		}
	}
	return b[from:i], end, nil
}

// quoted returns the quoted field that starts at b[i:], after its opening quote, and its end.
func (s *scanner) quoted(b []byte, i int, final bool) (field []byte, end int, err error) {
	from, line := i, s.lines
	start := len(s.scratch)
	copied := false
	for {
		at := bytes.IndexByte(b[i:], '"')
		if at < 0 {
			if final {
				s.lines = line
				return nil, 0, errOpen
			}
			return nil, 0, errMore
		}
		part := b[i : i+at]
		if bytes.IndexByte(part, 0) >= 0 {
			return nil, 0, errNUL
		}
		newlines := bytes.Count(part, []byte{'\n'})
		s.lines += newlines
		i += at + 1
		if i == len(b) && !final {
			return nil, 0, errMore
		}
		doubled := i < len(b) && b[i] == '"'
		if doubled || copied || newlines > 0 {
			copied = true
			s.scratch = appendUnix(s.scratch, part)
		}
		if !doubled {
			break
		}
		s.scratch = append(s.scratch, '"')
		i++
	}
	field = b[from : i-1]
	if copied {
		field = s.scratch[start:len(s.scratch):len(s.scratch)]
	}
	if s.trim {
		for i < len(b) && text.Blank(b[i]) && b[i] != s.delimiter {
			i++
		}
	}
	switch {
	case i == len(b) || b[i] == '\r' && i+1 == len(b):
		if !final {
			return nil, 0, errMore
		}
	case b[i] != s.delimiter && !atEnd(b[i:]) && !(s.runs && text.Blank(b[i])):
		return nil, 0, errAfter
	}
	return field, i, nil
}

// appendUnix appends part with \n for every \r\n.
func appendUnix(dst, part []byte) []byte {
	for {
		at := bytes.Index(part, []byte("\r\n"))
		if at < 0 {
			return append(dst, part...)
		}
		dst = append(dst, part[:at]...)
		part = part[at+1:]
	}
}

// value returns field, or nil if it denotes a missing value.
func (s *scanner) value(field []byte) []byte {
	if len(field) == 0 {
		return nil
	}
	if s.maybe[field[0]] {
		for _, m := range s.missing {
			if string(field) == m {
				return nil
			}
		}
	}
	return field
}
