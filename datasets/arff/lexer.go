package arff

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// lexer splits a line into tokens, quoted or not.
type lexer struct {
	b       []byte
	i       int
	scratch []byte // tokens with escapes
}

func (x *lexer) blanks() {
	for x.i < len(x.b) && text.Blank(x.b[x.i]) {
		x.i++
	}
}

// at reports whether the next byte is c, and takes it.
func (x *lexer) at(c byte) bool {
	if x.i < len(x.b) && x.b[x.i] == c {
		x.i++
		return true
	}
	return false
}

// ended reports whether the rest of the line is blank or a comment.
func (x *lexer) ended() bool {
	x.blanks()
	return x.i == len(x.b) || x.b[x.i] == '%'
}

// token returns the next token, empty at the end, and whether it was quoted.
func (x *lexer) token() (word []byte, quoted bool, err error) {
	x.blanks()
	if x.i < len(x.b) && (x.b[x.i] == '\'' || x.b[x.i] == '"') {
		x.i++
		word, err = x.quoted(x.b[x.i-1])
		return word, true, err
	}
	from := x.i
	for x.i < len(x.b) && !text.Blank(x.b[x.i]) && x.b[x.i] != ',' && x.b[x.i] != '{' && x.b[x.i] != '}' {
		if c := x.b[x.i]; c == 0 {
			return nil, false, errors.New("NUL byte; is this a text file?")
		}
		x.i++
	}
	return x.b[from:x.i], false, nil
}

// quoted returns the token up to the closing quote.
func (x *lexer) quoted(quote byte) ([]byte, error) {
	from, start := x.i, len(x.scratch)
	escaped := false
	for ; x.i < len(x.b); x.i++ {
		c := x.b[x.i]
		switch {
		case c == 0:
			return nil, errors.New("NUL byte; is this a text file?")
		case c == quote:
			word := x.b[from:x.i]
			if escaped {
				word = x.scratch[start:len(x.scratch):len(x.scratch)]
			}
			x.i++
			return word, nil
		case c == '\\' && x.i+1 < len(x.b):
			if !escaped {
				escaped = true
				x.scratch = append(x.scratch, x.b[from:x.i]...)
			}
			x.i++
			x.scratch = append(x.scratch, unescape(x.b[x.i]))
		case escaped:
			x.scratch = append(x.scratch, c)
		}
	}
	return nil, fmt.Errorf("%c is never closed", quote)
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// separator takes the blanks and the comma between two values.
func (x *lexer) separator() (comma bool) {
	x.blanks()
	comma = x.at(',')
	x.blanks()
	return comma
}

// categories reads tokens up to the closing brace.
func (x *lexer) categories() ([]string, error) {
	var out []string
	for {
		x.blanks()
		if x.at('}') {
			if len(out) == 0 {
				return nil, errors.New("no levels in braces")
			}
			return out, nil
		}
		word, quoted, err := x.token()
		if err != nil {
			return nil, err
		}
		if len(word) == 0 && !quoted {
			return nil, errors.New("levels in braces end without }, or there is an empty one")
		}
		out = append(out, string(word))
		x.separator()
	}
}

// row is a record and how it was written.
type row struct {
	table.Record
	sparse, weighted bool
	x                lexer
}

// parse reads the values of a line, which r's fields point into.
func (r *row) parse(line []byte) error {
	r.x.b, r.x.i, r.x.scratch = line, 0, r.x.scratch[:0]
	r.Fields, r.Columns = r.Fields[:0], r.Columns[:0]
	r.Weight, r.weighted = 1, false
	r.sparse = r.x.at('{')
	values := r.dense
	if r.sparse {
		values = r.pairs
	}
	if err := values(); err != nil {
		return err
	}
	if !r.x.ended() {
		return fmt.Errorf("%q behind the values", r.x.b[r.x.i:])
	}
	return nil
}

func (r *row) dense() error {
	x := &r.x
	for {
		if len(r.Fields) > 0 && x.at('{') {
			return r.weight()
		}
		if err := r.value(); err != nil {
			return err
		}
		if comma := x.separator(); x.ended() {
			if comma {
				return errors.New("a comma behind the last value")
			}
			return nil
		}
	}
}

// pairs reads attribute numbers and values up to the closing brace.
func (r *row) pairs() error {
	x := &r.x
	for x.blanks(); !x.at('}'); x.separator() {
		if x.ended() {
			return errors.New("a sparse row ends without }")
		}
		word, _, err := x.token()
		if err != nil {
			return err
		}
		j, err := strconv.Atoi(string(word))
		if err != nil || j < 0 {
			return fmt.Errorf("%q is not an attribute number", word)
		}
		if n := len(r.Columns); n > 0 && r.Columns[n-1] >= j {
			return fmt.Errorf("attribute indices must ascend, got %d after %d", j, r.Columns[n-1])
		}
		if err := r.value(); err != nil {
			return err
		}
		r.Columns = append(r.Columns, j)
	}
	if x.separator(); x.at('{') {
		return r.weight()
	}
	return nil
}

func (r *row) value() error {
	word, quoted, err := r.x.token()
	switch {
	case err != nil:
		return err
	case quoted && word == nil:
		word = []byte{}
	case !quoted && len(word) == 0:
		return errors.New("an empty value; a missing one is written ?")
	case !quoted && string(word) == "?":
		word = nil
	}
	r.Fields = append(r.Fields, word)
	return nil
}

// weight reads the weight of a row, after its opening brace.
func (r *row) weight() error {
	word, _, err := r.x.token()
	if err != nil {
		return err
	}
	v, ok := text.Number(word)
	r.x.blanks()
	if !ok || v < 0 || !r.x.at('}') {
		return fmt.Errorf("weight must be a number ≥ 0 in braces, got %q", word)
	}
	r.Weight, r.weighted = v, true
	return nil
}
