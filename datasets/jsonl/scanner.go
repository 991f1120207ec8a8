package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// value is what a key has.
type value uint8

const (
	null   value = iota // also NaN, which some programs write
	number              // as it is written
	letters
	truth
	nested // an object or an array
)

// String is how a value is called.
func (v value) String() string {
	return [...]string{"null", "a number", "a text", "a truth", "an object or an array"}[v]
}

// scanner reads the object of a line.
type scanner struct {
	b       []byte
	i       int
	scratch []byte // texts that had escapes inside
}

// syntax is a place where a line is no JSON.
type syntax struct {
	letter int // from 1
	what   string
}

func (s syntax) Error() string { return s.what }

// wanted is the error at the byte at hand.
func (s *scanner) wanted(what string) error {
	found := "the end of the line"
	if s.i < len(s.b) {
		found = strconv.Quote(string(bytes.Runes(s.b[s.i:])[:1]))
	}
	return s.at(s.i, fmt.Sprintf("%s, wanted %s", found, what))
}

func (s *scanner) at(i int, what string) error {
	return syntax{utf8.RuneCount(s.b[:min(i, len(s.b))]) + 1, what}
}

// object calls see for every key with its value: the letters of a text, else what is written. Both are valid until
// the next line.
func (s *scanner) object(b []byte, see func(key []byte, kind value, v []byte) error) error {
	s.b, s.i, s.scratch = b, 0, s.scratch[:0]
	if at := text.Invalid(b); at >= 0 {
		return s.at(at, "this is not utf-8, in which JSON lines are read")
	}
	if s.next() != '{' {
		return s.wanted("an object, one on each line")
	}
	s.i++
	if s.next() == '}' {
		s.i++
		return s.end()
	}
	for {
		if s.next() != '"' {
			return s.wanted("a key in quotes")
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if s.next() != ':' {
			return s.wanted("a colon behind the key")
		}
		s.i++
		kind, v, err := s.value()
		if err != nil {
			return err
		}
		if err := see(key, kind, v); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.i++
		case '}':
			s.i++
			return s.end()
		default:
			return s.wanted("a comma or a brace")
		}
	}
}

// end looks whether anything is behind the object.
func (s *scanner) end() error {
	if s.next(); s.i < len(s.b) {
		return s.wanted("nothing behind the object")
	}
	return nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// next goes on to what is no blank, and returns it; 0 at the end.
func (s *scanner) next() byte {
	for s.i < len(s.b) {
		if c := s.b[s.i]; !isBlank(c) {
			return c
		}
		s.i++
	}
	return 0
}

// value reads a value.
func (s *scanner) value() (value, []byte, error) {
	switch c := s.next(); {
	case c == '"':
		v, err := s.text()
		return letters, v, err
	case c == '-' || c-'0' <= 9:
		v, err := s.number()
		return number, v, err
	case c == '{' || c == '[':
		v, err := s.nested()
		return nested, v, err
	case c == 'n' && s.word("null"), c == 'N' && s.word("NaN"):
		return null, nil, nil
	case c == 't' && s.word("true"):
		return truth, []byte("true"), nil
	case c == 'f' && s.word("false"):
		return truth, []byte("false"), nil
	}
	return 0, nil, s.wanted("a value")
}

// word reads a word.
func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return false
	}
	s.i += len(w)
	return true
}

// number reads a number.
func (s *scanner) number() ([]byte, error) {
	from := s.i
	if s.b[s.i] == '-' {
		s.i++
	}
	first := s.i
	switch n := s.digits(); {
	case n == 0 && bytes.HasPrefix(s.b[s.i:], []byte("Infinity")):
		return nil, s.at(from, "the value is infinite, wanted a number")
	case n == 0:
		return nil, s.wanted("a digit")
	case n > 1 && s.b[first] == '0':
		return nil, s.at(first, "a number begins with 0")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return nil, s.wanted("a digit")
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if s.digits() == 0 {
			return nil, s.wanted("a digit")
		}
	}
	return s.b[from:s.i], nil
}

// digits reads digits and returns how many there are.
func (s *scanner) digits() int {
	from := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i - from
}

// nested reads an object or an array.
func (s *scanner) nested() ([]byte, error) {
	from, depth := s.i, 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if _, err := s.text(); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.i++; depth == 0 {
			if v := s.b[from:s.i]; json.Valid(v) {
				return v, nil
			}
			return nil, s.at(from, "an object or an array that is no JSON")
		}
	}
	return nil, s.at(from, "an object or an array that does not end on its line")
}

// plain are the bytes that mean themselves in a text.
var plain = func() (out [256]bool) {
	for c := range out {
		out[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return out
}()

// text reads a text in quotes.
func (s *scanner) text() ([]byte, error) {
	open := s.i
	s.i++
	from := s.i
	for s.i < len(s.b) && plain[s.b[s.i]] {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '"' {
		s.i++
		return s.b[from : s.i-1 : s.i-1], nil
	}
	begin := len(s.scratch)
	s.scratch = append(s.scratch, s.b[from:s.i]...)
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.scratch[begin:len(s.scratch):len(s.scratch)], nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
		case c < ' ':
			return nil, s.wanted(`an escape such as \n or \u0000 for a letter that does not show`)
		default:
			s.scratch = append(s.scratch, c)
			s.i++
		}
	}
	return nil, s.at(open, "a text that does not end on its line")
}

// escapes are the letters behind a backslash, and what they stand for.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads what begins with a backslash.
func (s *scanner) escape() error {
	s.i++
	if s.i < len(s.b) && s.b[s.i] == 'u' {
		s.i++
		r, err := s.hex()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			r = s.surrogate(r)
		}
		s.scratch = utf8.AppendRune(s.scratch, r)
		return nil
	}
	if s.i < len(s.b) {
		if c, ok := escapes[s.b[s.i]]; ok {
			s.scratch = append(s.scratch, c)
			s.i++
			return nil
		}
	}
	return s.wanted(`one of " \ / b f n r t u behind a backslash`)
}

// hex reads four hexadecimal digits.
func (s *scanner) hex() (r rune, err error) {
	for range 4 {
		var c byte
		if s.i < len(s.b) {
			c = s.b[s.i]
		}
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, s.wanted("a hexadecimal digit")
		}
		s.i++
	}
	return r, nil
}

// surrogate reads the second half of a letter beyond the first 65,536; a half alone is the letter that stands for
// none.
func (s *scanner) surrogate(first rune) rune {
	at := s.i
	if bytes.HasPrefix(s.b[s.i:], []byte(`\u`)) {
		s.i += 2
		if second, err := s.hex(); err == nil {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r
			}
		}
	}
	s.i = at
	return utf8.RuneError
}
