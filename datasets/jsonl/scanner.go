package jsonl

import (
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/codec/jsonscan"
)

// scanner reads the object of a line.
type scanner struct{ jsonscan.JSON }

// newScanner returns a lenient scanner: like other programs, it accepts NaN and unpaired
// surrogates, which JSON excludes.
func newScanner() scanner {
	return scanner{jsonscan.JSON{Whole: "line", Deepest: 10000, Lenient: true}}
}

// syntaxError is an error in a line with its position in characters, from 1.
type syntaxError struct {
	letter int
	what   string
}

func (m syntaxError) Error() string { return m.what }

// read calls see for every key with its value: the characters of a string, else the literal. Both
// are valid until the next line.
func (s *scanner) read(line []byte, see func(key []byte, kind jsonscan.Kind, v []byte) error) error {
	err := s.Begin(line)
	if err == nil {
		err = s.Object("an object, one on each line", func(key []byte) error {
			kind, v, err := s.Value()
			if err != nil {
				return err
			}
			return see(key, kind, v)
		})
	}
	if err == nil {
		err = s.End()
	}
	if e, is := err.(jsonscan.Error); is {
		return syntaxError{utf8.RuneCount(line[:min(e.At, len(line))]) + 1, e.What}
	}
	return err
}
