package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encodings are the names of the encodings that Decode knows.
var Encodings = []string{"utf-8", "latin-1", "windows-1252", "utf-16"}

// invalidByte replaces invalid characters. It never occurs in UTF-8, so that validation finds its
// position.
const invalidByte = 0xff

// MarkedEncoding returns the encoding that the byte order mark of a text returned by Open declares, or else
// the named one.
func MarkedEncoding(r io.Reader, encoding string) string {
	s, ok := r.(*stream)
	if !ok {
		return encoding
	}
	switch mark, _ := s.Peek(2); {
	case s.marked:
		return "utf-8"
	case string(mark) == "\xfe\xff" || string(mark) == "\xff\xfe":
		return "utf-16"
	}
	return encoding
}

// Decode returns r, in the named encoding ("" is utf-8), converted to UTF-8. Invalid bytes remain
// invalid.
func Decode(r io.Reader, encoding string) (io.Reader, error) {
	var next func(*bufio.Reader) (rune, error)
	src := bufio.NewReaderSize(r, 64<<10)
	switch encoding {
	case "", "utf-8":
		return r, nil
	case "latin-1":
		next = nextLatin1
	case "windows-1252":
		next = nextWindows1252
	case "utf-16":
		next = nextUTF16(byteOrder(src))
	default:
		return nil, fmt.Errorf("encoding must be %[2]s, got %[1]q", encoding, strings.Join(Encodings, ", "))
	}
	return bufio.NewReaderSize(&decoder{src: src, next: next}, 64<<10), nil
}

// decoder converts characters to UTF-8. It is read through a buffer with capacity for a whole
// character.
type decoder struct {
	src  *bufio.Reader
	next func(src *bufio.Reader) (rune, error) // returns -1 for an invalid character
}

func (d *decoder) Read(p []byte) (n int, err error) {
	for n+utf8.UTFMax <= len(p) {
		c, err := d.next(d.src)
		switch {
		case err != nil && n > 0:
			return n, nil // the next call returns the error again
		case err != nil:
			return 0, err
		case c < 0:
			p[n] = invalidByte
			n++
		default:
			n += utf8.EncodeRune(p[n:], c)
		}
	}
	return n, nil
}

func nextLatin1(src *bufio.Reader) (rune, error) {
	c, err := src.ReadByte()
	return rune(c), err
}

func nextWindows1252(src *bufio.Reader) (rune, error) {
	c, err := src.ReadByte()
	if c >= 0x80 && c < 0xa0 {
		return windows1252[c-0x80], err
	}
	return rune(c), err
}

// windows1252 contains the characters 0x80 to 0x9f, which differ from Latin-1.
var windows1252 = [32]rune{
	'€', -1, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', -1, 'Ž', -1,
	-1, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', -1, 'ž', 'Ÿ',
}

// byteOrder reports whether UTF-16 is big-endian: by the byte order mark, which it consumes, else
// by the first character, which is usually ASCII.
func byteOrder(src *bufio.Reader) (bigEndian bool) {
	first, _ := src.Peek(2)
	switch mark := string(first); {
	case mark == "\xfe\xff" || mark == "\xff\xfe":
		src.Discard(2)
		return mark == "\xfe\xff"
	case len(first) == 2:
		return first[0] == 0
	}
	return false
}

func nextUTF16(bigEndian bool) func(src *bufio.Reader) (rune, error) {
	order := func(b []byte) rune {
		if bigEndian {
			return rune(b[0])<<8 | rune(b[1])
		}
		return rune(b[1])<<8 | rune(b[0])
	}
	return func(src *bufio.Reader) (rune, error) {
		b, err := src.Peek(2)
		if len(b) < 2 {
			if len(b) == 1 && err == io.EOF { // half a unit
				src.Discard(1)
				return -1, nil
			}
			return 0, err
		}
		c := order(b)
		src.Discard(2)
		if !utf16.IsSurrogate(c) {
			return c, nil
		}
		if b, _ = src.Peek(2); len(b) < 2 {
			return -1, nil
		}
		pair := utf16.DecodeRune(c, order(b))
		if pair == utf8.RuneError {
			return -1, nil
		}
		src.Discard(2)
		return pair, nil
	}
}

// Invalid returns where b stops being UTF-8, -1 where all of it is.
func Invalid(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; ; {
		c, size := utf8.DecodeRune(b[i:])
		if c == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}
