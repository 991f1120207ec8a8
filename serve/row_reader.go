package serve

import (
	"bytes"
	"errors"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/jsonscan"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowencoding"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// rowReader parses JSON rows, objects from column names to values, into a row-major matrix.
type rowReader struct {
	*jsonscan.JSON
	*rowencoding.Coding
	maxRows      int
	fieldNumbers []int // by column: 1 + index of the field that set it in this row
	x            []float64
	n            int
	errs         rowerrors.List
	lastField    int // index of the last field
}

// read parses {"rows": [{…}, …]}.
func (r *rowReader) read() error {
	seen := false
	if cap(r.fieldNumbers) < len(r.Fields) {
		r.fieldNumbers = make([]int, len(r.Fields))
	}
	r.fieldNumbers = r.fieldNumbers[:len(r.Fields)]
	err := r.Object(`an object such as {"rows": [{"column": value}]}`, func(key []byte) error {
		if string(key) != "rows" {
			return r.Wrong(`key: must be "rows", got ` + rowerrors.Quote(key))
		}
		if seen {
			return r.Wrong(`duplicate key "rows"`)
		}
		seen = true
		return r.Array("an array of rows", func(int) error { return r.row() })
	})
	if err == errTooManyErrors {
		return r.errs.Err()
	}
	if err == nil {
		err = r.End()
	}
	if err == nil && !seen {
		r.errs.Add(`missing key "rows"; send {"rows": [{"column": value}]}`)
	}
	return r.errs.Join(err)
}

// errTooManyErrors stops parsing.
var errTooManyErrors = errors.New("too many errors")

// row parses a row.
func (r *rowReader) row() error {
	if r.errs.Enough() {
		return errTooManyErrors
	}
	if r.n++; r.n > r.maxRows {
		return newError(protocol.TooLarge, "number of rows: must be at most %d; split the request", r.maxRows)
	}
	if !r.errs.Empty() { // the matrix is not needed after an error
		r.x = r.x[:0]
	}
	from := len(r.x)
	for range r.Width {
		r.x = append(r.x, 0)
	}
	x := r.x[from:]
	clear(r.fieldNumbers)
	r.lastField = -1
	if err := r.Object("a row: an object of values by the names of their columns",
		func(key []byte) error { return r.cell(key, x) }); err != nil {
		return err
	}
	if !slices.Contains(r.fieldNumbers[:len(x)], 0) {
		return nil
	}
	for _, f := range r.Absent(func(j int) bool { return r.fieldNumbers[j] != 0 }) {
		r.errs.At(r.n-1, f.Name, "must be present (null for a missing value)")
	}
	return nil
}

// cell parses the value of a key.
func (r *rowReader) cell(key []byte, x []float64) error {
	k := r.lastField + 1 // most clients send columns in order
	if k >= len(r.Fields) || string(key) != r.Fields[k].Name {
		var known bool
		if k, known = r.Find(key); !known {
			r.errs.At(r.n-1, rowerrors.Clip(key), "the model has no such column; available: %s", r.Names())
			return r.Skip()
		}
	}
	r.lastField = k
	f := &r.Fields[k]
	if r.fieldNumbers[k] == k+1 {
		r.errs.At(r.n-1, f.Name, "duplicate key")
	} else if by := r.fieldNumbers[k]; by != 0 {
		r.errs.At(r.n-1, f.Name, "given twice: also part of the date %q", r.Fields[by-1].Name)
	}
	r.fieldNumbers[k] = k + 1
	if f.Ignored() {
		return r.Skip()
	}
	kind, v, err := r.value(f)
	if err != nil {
		return err
	}
	if f.Date != nil {
		for _, j := range f.Columns {
			if r.fieldNumbers[j] != 0 {
				r.errs.At(r.n-1, r.Fields[j].Name, "given twice: also part of the date %q", f.Name)
			}
			r.fieldNumbers[j] = k + 1
		}
	}
	r.setField(f, kind, v, x)
	return nil
}

// value reads the value of a field. An array of labels becomes a string.
func (r *rowReader) value(f *rowencoding.Field) (jsonscan.Kind, []byte, error) {
	if f.Format.Delimiter == "" || r.Next() != '[' {
		return r.Value()
	}
	var labels []byte
	err := r.Array("an array of labels", func(i int) error {
		kind, v, err := r.Value()
		if err != nil {
			return err
		}
		if kind != jsonscan.Text || bytes.Contains(v, []byte(f.Format.Delimiter)) {
			r.errs.At(r.n-1, f.Name, "label %d must be a string without %q, got %s", i, f.Format.Delimiter, rowerrors.Clip(v))
		}
		if i > 0 {
			labels = append(labels, f.Format.Delimiter...)
		}
		labels = append(labels, v...)
		return nil
	})
	return jsonscan.Text, labels, err
}

// setField writes a value to the columns of a field.
func (r *rowReader) setField(f *rowencoding.Field, kind jsonscan.Kind, v []byte, x []float64) {
	var got, constraint string
	switch {
	case kind == jsonscan.Null:
		f.SetMissing(x)
		return
	case kind == jsonscan.Text:
		if constraint = r.Code(x, f, v); constraint == "" {
			return
		}
		got = rowerrors.Quote(v)
	case f.IsString(), f.Format.Unit != "" && kind != jsonscan.Number:
		constraint = f.Constraint()
	case kind == jsonscan.Number:
		number, finite := parseNumber(v)
		if finite || f.Kind == datasets.Categorical {
			x[f.Columns[0]] = f.Number(v, number)
			return
		}
		got, constraint = rowerrors.Clip(v), "a number of magnitude at most 1.8e308"
	case kind == jsonscan.Truth:
		x[f.Columns[0]] = f.Truth(v[0] == 't')
		return
	case f.Kind == datasets.Categorical:
		constraint = "a string"
	default:
		constraint = "a number"
	}
	if got == "" {
		got = kind.String()
	}
	r.errs.At(r.n-1, f.Name, "must be %s, got %s", constraint, got)
}
