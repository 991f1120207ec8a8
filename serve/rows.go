package serve

import (
	"errors"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/jsonscan"
	"github.com/bochner-ml/bochner/internal/rowencoding"
	"github.com/bochner-ml/bochner/internal/rowerrors"
)

// rowReader reads rows of values by the name of their column, written as JSON, into the rows of a matrix.
type rowReader struct {
	*jsonscan.JSON
	*rowencoding.Coding
	maxRows int
	given   []int // by column: number of the field that gave it in the current row, from 1
	x       []float64
	n       int
	faults  rowerrors.List
	last    int // the field read last
}

// read reads {"rows": [{…}, …]}.
func (r *rowReader) read() error {
	seen := false
	if cap(r.given) < len(r.Fields) {
		r.given = make([]int, len(r.Fields))
	}
	r.given = r.given[:len(r.Fields)]
	err := r.Object(`an object such as {"rows": [{"column": value}]}`, func(key []byte) error {
		if string(key) != "rows" {
			return r.Wrong("got the key " + rowerrors.Quote(key) + `, wanted "rows"`)
		}
		if seen {
			return r.Wrong(`the key "rows" is there twice`)
		}
		seen = true
		return r.Array("an array of rows", func(int) error { return r.row() })
	})
	if err == errEnough {
		return r.faults.Err()
	}
	if err == nil {
		err = r.End()
	}
	if err == nil && !seen {
		r.faults.Add(`there is no "rows", wanted {"rows": [{"column": value}]}`)
	}
	return r.faults.Join(err)
}

// errEnough ends reading after many faults.
var errEnough = errors.New("too many faults")

// row reads a row.
func (r *rowReader) row() error {
	if r.faults.Enough() {
		return errEnough
	}
	if r.n++; r.n > r.maxRows {
		return refuse(TooLarge, "more than %d rows, which is the server's limit; send them in several requests", r.maxRows)
	}
	if !r.faults.Empty() { // there will be no matrix
		r.x = r.x[:0]
	}
	from := len(r.x)
	for range r.Width {
		r.x = append(r.x, 0)
	}
	x := r.x[from:]
	clear(r.given)
	r.last = -1
	if err := r.Object("a row: an object of values by the names of their columns", func(key []byte) error { return r.cell(key, x) }); err != nil {
		return err
	}
	for j := range x {
		if r.given[j] == 0 {
			r.faults.At(r.n-1, r.Fields[j].Name, "there is no value, wanted one (null where it is missing)")
		}
	}
	return nil
}

// cell reads the value of a key.
func (r *rowReader) cell(key []byte, x []float64) error {
	k := r.last + 1 // in most requests the columns come in order
	if k >= len(r.Fields) || string(key) != r.Fields[k].Name {
		var known bool
		if k, known = r.Find(key); !known {
			r.faults.At(r.n-1, rowerrors.Clip(key), "the model has no such column; it has %s", r.Names())
			return r.Skip()
		}
	}
	r.last = k
	f := &r.Fields[k]
	if r.given[k] == k+1 {
		r.faults.At(r.n-1, f.Name, "the key is there twice")
	} else if by := r.given[k]; by != 0 {
		r.faults.At(r.n-1, f.Name, "given twice: the date %q has it too", r.Fields[by-1].Name)
	}
	r.given[k] = k + 1
	if f.Ignored() {
		return r.Skip()
	}
	kind, v, err := r.Value()
	if err != nil {
		return err
	}
	if f.Date != nil {
		for _, j := range f.Columns {
			if r.given[j] != 0 {
				r.faults.At(r.n-1, r.Fields[j].Name, "given twice: the date %q has it too", f.Name)
			}
			r.given[j] = k + 1
		}
	}
	r.put(f, kind, v, x)
	return nil
}

// put writes the value that v is into the columns of a field.
func (r *rowReader) put(f *rowencoding.Field, kind jsonscan.Kind, v []byte, x []float64) {
	var got, wanted string
	switch {
	case kind == jsonscan.Null:
		f.SetMissing(x)
		return
	case kind == jsonscan.Text:
		if wanted = r.Code(x, f, v); wanted == "" {
			return
		}
		got = rowerrors.Quote(v)
	case f.Date != nil:
		wanted = f.Wanted()
	case kind == jsonscan.Number:
		number, finite := parse(v)
		if finite || f.Kind == datasets.Categorical {
			x[f.Columns[0]] = f.Number(v, number)
			return
		}
		got, wanted = rowerrors.Clip(v), "a number of at most 1.8e308"
	case kind == jsonscan.Truth:
		x[f.Columns[0]] = f.Truth(v[0] == 't')
		return
	case f.Kind == datasets.Categorical:
		wanted = "a string"
	default:
		wanted = "a number"
	}
	if got == "" {
		got = kind.String()
	}
	r.faults.At(r.n-1, f.Name, "got %s, wanted %s", got, wanted)
}
