// Package jsonscan parses JSON in one pass, without building a tree, and locates errors: for rows
// of requests and lines of files.
package jsonscan

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON is a scanner of a JSON document. Returned strings are slices of the document, or of a buffer
// if they contain escapes; they are valid until the next call of Begin.
type JSON struct {
	Whole   string // name of a document in errors, such as "line"
	Deepest int    // maximum nesting depth of arrays and objects
	Lenient bool   // whether NaN is null, and an unpaired surrogate is U+FFFD

	b       []byte
	i       int
	scratch []byte
	depth   int
}

// Error is the position of invalid or unexpected JSON. Nothing after it is read.
type Error struct {
	At    int    // byte, from 0
	Whole string // name of the document
	What  string
}

// Error returns the message with the byte offset.
func (e Error) Error() string { return fmt.Sprintf("byte %d of the %s: %s", e.At, e.Whole, e.What) }

// Wrong returns an error at the current position.
func (s *JSON) Wrong(what string) error { return Error{s.i, s.Whole, what} }

// Begin starts parsing a document.
func (s *JSON) Begin(document []byte) error {
	s.b, s.i, s.depth, s.scratch = document, 0, 0, s.scratch[:0]
	if utf8.Valid(document) {
		return nil
	}
	for {
		r, n := utf8.DecodeRune(document[s.i:])
		if r == utf8.RuneError && n <= 1 {
			return s.Wrong("this is not UTF-8")
		}
		s.i += n
	}
}

// Forget releases the document, and returns the size of the string buffer kept for the next one.
func (s *JSON) Forget() int {
	s.b, s.i = nil, 0
	return cap(s.scratch)
}

// At returns the current position, in bytes.
func (s *JSON) At() int { return s.i }

// Go sets the position, to the start or the end of a value.
func (s *JSON) Go(to int) { s.i = to }

// Constraint returns the error for an unexpected token at the current position.
func (s *JSON) Constraint(what string) error {
	if s.i >= len(s.b) {
		return s.Wrong("must be " + what + ", got the end of the " + s.Whole)
	}
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(s.b[s.i:], []byte(word)) {
			return s.Wrong("must be " + what + ", got " + word + ", which is not JSON (use null for a missing value)")
		}
	}
	r, _ := utf8.DecodeRune(s.b[s.i:])
	return s.Wrong("must be " + what + ", got " + strconv.QuoteRune(r))
}

// Next advances to the next non-blank byte and returns it, 0 at the end.
func (s *JSON) Next() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// End returns an error if anything follows the document.
func (s *JSON) End() error {
	if s.Next(); s.i < len(s.b) {
		return s.Constraint("nothing behind the document")
	}
	return nil
}

// enter consumes the start of an object or an array.
func (s *JSON) enter(c byte, what string) error {
	if s.Next() != c || s.i >= len(s.b) {
		return s.Constraint(what)
	}
	if s.depth++; s.depth > s.Deepest {
		return s.Wrong(fmt.Sprintf("more than %d arrays and objects in each other", s.Deepest))
	}
	s.i++
	return nil
}

// more reports whether another element follows in an object or an array with the given closing
// byte.
func (s *JSON) more(first bool, end byte) (bool, error) {
	switch c := s.Next(); {
	case c == end:
		s.i++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.i++
		return true, nil
	}
	if end == ']' {
		return false, s.Constraint("a comma or ]")
	}
	return false, s.Constraint("a comma or }")
}

// key reads a key and the colon after it.
func (s *JSON) key() ([]byte, error) {
	if s.Next() != '"' {
		return nil, s.Constraint("a key in quotes")
	}
	key, err := s.text()
	if err != nil {
		return nil, err
	}
	if s.Next() != ':' {
		return nil, s.Constraint("a colon behind the key")
	}
	s.i++
	return key, nil
}

// Object calls see for every key, which has to read the value.
func (s *JSON) Object(what string, see func(key []byte) error) error {
	if err := s.enter('{', what); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.more(first, '}')
		if !more {
			return err
		}
		key, err := s.key()
		if err == nil {
			err = see(key)
		}
		if err != nil {
			return err
		}
	}
}

// Array calls see for every element, which has to read it.
func (s *JSON) Array(what string, see func(i int) error) error {
	if err := s.enter('[', what); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := s.more(i == 0, ']')
		if !more {
			return err
		}
		if err := see(i); err != nil {
			return err
		}
	}
}

// Kind is the type of a value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Number
	Text
	Truth
	Object
	Array
)

// String returns the name of the type in errors.
func (k Kind) String() string {
	return [...]string{"null", "a number", "a string", "true or false", "an object", "an array"}[k]
}

// Value reads a value: the characters of a string, else the literal.
func (s *JSON) Value() (Kind, []byte, error) {
	switch c := s.Next(); {
	case c == '"':
		v, err := s.text()
		return Text, v, err
	case c == '-' || c-'0' <= 9:
		v, err := s.number()
		return Number, v, err
	case c == 'n' && s.word("null"), c == 'N' && s.Lenient && s.word("NaN"):
		return Null, nil, nil
	case c == 't' && s.word("true"):
		return Truth, s.b[s.i-4 : s.i], nil
	case c == 'f' && s.word("false"):
		return Truth, s.b[s.i-5 : s.i], nil
	case c == '{', c == '[':
		from := s.i
		err := s.Skip()
		k := Object
		if c == '[' {
			k = Array
		}
		return k, s.b[from:s.i], err
	}
	return 0, nil, s.Constraint("a value")
}

// Skip skips a value.
func (s *JSON) Skip() error {
	switch s.Next() {
	case '{':
		return s.Object("", func([]byte) error { return s.Skip() })
	case '[':
		return s.Array("", func(int) error { return s.Skip() })
	}
	_, _, err := s.Value()
	return err
}

// word consumes the given word, if it is next.
func (s *JSON) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

// number reads a number.
func (s *JSON) number() ([]byte, error) {
	from := s.i
	if s.b[s.i] == '-' {
		s.i++
	}
	first := s.i
	switch n := s.digits(); {
	case n == 0:
		s.i = from
		if s.b[from] == '-' && bytes.HasPrefix(s.b[from:], []byte("-Infinity")) {
			return nil, s.Constraint("a number")
		}
		s.i = first
		return nil, s.Constraint("a digit")
	case n > 1 && s.b[first] == '0':
		return nil, Error{first, s.Whole, "a number begins with 0"}
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return nil, s.Constraint("a digit")
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if s.digits() == 0 {
			return nil, s.Constraint("a digit")
		}
	}
	return s.b[from:s.i], nil
}

// digits consumes digits and returns their number.
func (s *JSON) digits() int {
	from := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i - from
}

// plain are the bytes that mean themselves in a string.
var plain = func() (out [256]bool) {
	for c := range out {
		out[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return out
}()

// text reads a string in quotes.
func (s *JSON) text() ([]byte, error) {
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
			return nil, s.Constraint(`an escape such as \n or \u0000 for a letter that does not show`)
		default:
			s.scratch = append(s.scratch, c)
			s.i++
		}
	}
	return nil, s.Constraint(`the " at the end of a string`)
}

// escape reads an escape sequence.
func (s *JSON) escape() error {
	s.i++
	if s.i >= len(s.b) {
		return s.Constraint("a letter behind the backslash")
	}
	switch c := s.b[s.i]; c {
	case '"', '\\', '/':
		s.scratch = append(s.scratch, c)
	case 'b':
		s.scratch = append(s.scratch, '\b')
	case 'f':
		s.scratch = append(s.scratch, '\f')
	case 'n':
		s.scratch = append(s.scratch, '\n')
	case 'r':
		s.scratch = append(s.scratch, '\r')
	case 't':
		s.scratch = append(s.scratch, '\t')
	case 'u':
		s.i++
		r, err := s.hex()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			if r, err = s.surrogate(r); err != nil {
				return err
			}
		}
		s.scratch = utf8.AppendRune(s.scratch, r)
		return nil
	default:
		return s.Constraint(`one of " \ / b f n r t u behind the backslash`)
	}
	s.i++
	return nil
}

// hex reads four hexadecimal digits.
func (s *JSON) hex() (r rune, err error) {
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
			return 0, s.Constraint("a hexadecimal digit")
		}
		s.i++
	}
	return r, nil
}

// surrogate reads the second half of a surrogate pair.
func (s *JSON) surrogate(first rune) (rune, error) {
	at := s.i
	if s.word(`\u`) {
		second, err := s.hex()
		if err != nil && !s.Lenient {
			return 0, err
		}
		if r := utf16.DecodeRune(first, second); err == nil && r != utf8.RuneError {
			return r, nil
		}
	}
	if s.Lenient {
		s.i = at
		return utf8.RuneError, nil
	}
	return 0, s.Constraint("both halves of a letter that takes two escapes")
}
