package serve

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// deepest is how many arrays and objects of a body may be in each other.
const deepest = 16

// scanner reads the JSON of a body in one go, without a tree of it. Texts that it returns are parts of the
// body, or of scratch where they had escapes.
type scanner struct {
	b       []byte
	i       int
	scratch []byte
	depth   int
}

// syntax is a place where a body is no JSON, or another one than is wanted. Nothing behind it is read.
type syntax struct {
	at   int // byte, from 0
	what string
}

func (s syntax) Error() string { return fmt.Sprintf("byte %d of the body: %s", s.at, s.what) }

// wanted is the error at the byte at hand.
func (s *scanner) wanted(what string) error {
	found := "the body ends"
	switch {
	case s.i >= len(s.b):
	case bytes.HasPrefix(s.b[s.i:], []byte("NaN")), bytes.HasPrefix(s.b[s.i:], []byte("Infinity")), bytes.HasPrefix(s.b[s.i:], []byte("-Infinity")):
		found = "got NaN or Infinity, which JSON has not (a missing value is null)"
	default:
		r, _ := utf8.DecodeRune(s.b[s.i:])
		found = "got " + strconv.QuoteRune(r)
	}
	return syntax{s.i, found + ", wanted " + what}
}

// next goes on to what is no blank and returns it, 0 at the end.
func (s *scanner) next() byte {
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

// end looks whether anything is behind the document.
func (s *scanner) end() error {
	if s.next(); s.i < len(s.b) {
		return s.wanted("nothing behind the document")
	}
	return nil
}

// enter begins an object or an array.
func (s *scanner) enter(c byte, what string) error {
	if s.next() != c || s.i >= len(s.b) {
		return s.wanted(what)
	}
	if s.depth++; s.depth > deepest {
		return syntax{s.i, fmt.Sprintf("more than %d arrays and objects in each other", deepest)}
	}
	s.i++
	return nil
}

// more reports whether another element follows in an object or an array that ends with the byte, behind the
// first elements.
func (s *scanner) more(first bool, end byte) (bool, error) {
	switch c := s.next(); {
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
		return false, s.wanted("a comma or ]")
	}
	return false, s.wanted("a comma or }")
}

// key reads a key and the colon behind it.
func (s *scanner) key() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.wanted("a key in quotes")
	}
	key, err := s.text()
	if err != nil {
		return nil, err
	}
	if s.next() != ':' {
		return nil, s.wanted("a colon behind the key")
	}
	s.i++
	return key, nil
}

// object calls see for every key, which has to read the value.
func (s *scanner) object(what string, see func(key []byte) error) error {
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

// array calls see for every element, which has to read it.
func (s *scanner) array(what string, see func(i int) error) error {
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

// kind is what a value is.
type kind uint8

const (
	null kind = iota
	number
	letters
	truth
	object
	array
)

// String is how a value is called.
func (k kind) String() string {
	return [...]string{"null", "a number", "a text", "true or false", "an object", "an array"}[k]
}

// value reads a value: the letters of a text, else what is written.
func (s *scanner) value() (kind, []byte, error) {
	switch c := s.next(); {
	case c == '"':
		v, err := s.text()
		return letters, v, err
	case c == '-' || c-'0' <= 9:
		v, err := s.number()
		return number, v, err
	case c == 'n' && s.word("null"):
		return null, nil, nil
	case c == 't' && s.word("true"):
		return truth, s.b[s.i-4 : s.i], nil
	case c == 'f' && s.word("false"):
		return truth, s.b[s.i-5 : s.i], nil
	case c == '{', c == '[':
		from := s.i
		err := s.skip()
		k := object
		if c == '[' {
			k = array
		}
		return k, s.b[from:s.i], err
	}
	return 0, nil, s.wanted("a value")
}

// skip reads a value that nobody wants.
func (s *scanner) skip() error {
	switch s.next() {
	case '{':
		return s.object("", func([]byte) error { return s.skip() })
	case '[':
		return s.array("", func(int) error { return s.skip() })
	}
	_, _, err := s.value()
	return err
}

// word reads a word.
func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
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
	case n == 0:
		s.i = from
		if s.b[from] == '-' && bytes.HasPrefix(s.b[from:], []byte("-Infinity")) {
			return nil, s.wanted("a number")
		}
		s.i = first
		return nil, s.wanted("a digit")
	case n > 1 && s.b[first] == '0':
		return nil, syntax{first, "a number begins with 0"}
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

// parse returns the number that is written as JSON has it, and whether it is finite.
func parse(text []byte) (float64, bool) {
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64) // which keeps nothing of it
	return v, err == nil && !math.IsInf(v, 0)
}

// plainLetters are the bytes that mean themselves in a text.
var plainLetters = func() (out [256]bool) {
	for c := range out {
		out[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return out
}()

// text reads a text in quotes.
func (s *scanner) text() ([]byte, error) {
	s.i++
	from := s.i
	for s.i < len(s.b) && plainLetters[s.b[s.i]] {
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
	return nil, s.wanted(`the " at the end of a text`)
}

// escape reads what begins with a backslash.
func (s *scanner) escape() error {
	s.i++
	if s.i >= len(s.b) {
		return s.wanted("a letter behind the backslash")
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
		return s.wanted(`one of " \ / b f n r t u behind the backslash`)
	}
	s.i++
	return nil
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

// surrogate reads the second half of a letter beyond the first 65,536.
func (s *scanner) surrogate(first rune) (rune, error) {
	if s.word(`\u`) {
		second, err := s.hex()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, s.wanted("both halves of a letter that takes two escapes")
}

// begin begins the reading of a body.
func (s *scanner) begin(body []byte) error {
	s.b, s.i, s.depth, s.scratch = body, 0, 0, s.scratch[:0]
	if utf8.Valid(body) {
		return nil
	}
	for at := 0; ; {
		r, n := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && n <= 1 {
			return syntax{at, "this is not UTF-8"}
		}
		at += n
	}
}

// appendText appends a text as JSON has it.
func appendText(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// appendNumber appends a number as package encoding/json has it.
func appendNumber(dst []byte, v float64) []byte {
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}
