package serve

import (
	"bytes"
	"errors"
	"math"

	"github.com/bochner-ml/bochner/internal/scan"
)

// rowReader reads rows of values by the name of their column, written as JSON, into the rows of a matrix. The rows are
// coded as those that the model has learned from: see datasets.Schema.Encode.
type rowReader struct {
	*scan.JSON
	model  *loaded
	most   int   // rows
	given  []int // by column: number of the field that gave it in the row at hand, from 1
	x      []float64
	n      int
	faults faults
	last   int // the field read last
}

// read reads {"rows": [{…}, …]}.
func (r *rowReader) read() error {
	seen := false
	if cap(r.given) < len(r.model.fields) {
		r.given = make([]int, len(r.model.fields))
	}
	r.given = r.given[:len(r.model.fields)]
	err := r.Object(`an object such as {"rows": [{"column": value}]}`, func(key []byte) error {
		if string(key) != "rows" {
			return r.Wrong("got the key " + shown(key) + `, wanted "rows"`)
		}
		if seen {
			return r.Wrong(`the key "rows" is there twice`)
		}
		seen = true
		return r.Array("an array of rows", func(int) error { return r.row() })
	})
	if err == errEnough {
		return r.faults.err()
	}
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return r.joined(err)
	}
	if !seen {
		r.faults.add(`there is no "rows", wanted {"rows": [{"column": value}]}`)
	}
	return r.faults.err()
}

// joined is the error at which the reading ended, behind the faults before.
func (r *rowReader) joined(err error) error {
	if wrong, ok := err.(scan.Error); ok && len(r.faults.list) > 0 {
		r.faults.add("%s", wrong.Error())
		return r.faults.err()
	}
	return err
}

// errEnough ends the reading of a request in which nearly all is wrong.
var errEnough = errors.New("enough is wrong")

// row reads a row.
func (r *rowReader) row() error {
	if r.faults.enough() {
		return errEnough
	}
	if r.n++; r.n > r.most {
		return refuse(TooLarge, "more than %d rows, which is the server's limit; send them in several requests", r.most)
	}
	if len(r.faults.list) > 0 { // there will be no matrix
		r.x = r.x[:0]
	}
	from := len(r.x)
	for range r.model.width {
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
			r.faults.at(r.n-1, r.model.fields[j].name, "there is no value, wanted one (null where it is missing)")
		}
	}
	return nil
}

// cell reads the value of a key.
func (r *rowReader) cell(key []byte, x []float64) error {
	k := r.last + 1 // in most requests the columns come in order
	if k >= len(r.model.fields) || string(key) != r.model.fields[k].name {
		var known bool
		if k, known = r.model.byName[string(key)]; !known {
			r.faults.at(r.n-1, string(key[:min(len(key), mostShown)]), "the model has no such column; it has %s", r.model.named())
			return r.Skip()
		}
	}
	r.last = k
	f := &r.model.fields[k]
	if r.given[k] == k+1 {
		r.faults.at(r.n-1, f.name, "the key is there twice")
	} else if by := r.given[k]; by != 0 {
		r.faults.at(r.n-1, f.name, "given twice: the date %q has it too", r.model.fields[by-1].name)
	}
	r.given[k] = k + 1
	if f.use == ignored {
		return r.Skip()
	}
	kind, v, err := r.Value()
	if err != nil {
		return err
	}
	if f.use == date {
		r.date(k, kind, v, x)
		return nil
	}
	x[f.at] = r.number(f, kind, v)
	return nil
}

// number returns the number that a value stands for in a column.
func (r *rowReader) number(f *field, kind scan.Kind, v []byte) float64 {
	switch kind {
	case scan.Null:
		return math.NaN()
	case scan.Number:
		x, finite := parse(v)
		if !finite && f.use == quantity {
			r.faults.at(r.n-1, f.name, "got %s, wanted a number of at most 1.8e308", clipped(v))
			return 0
		}
		return f.ofNumber(v, x)
	case scan.Truth:
		return f.ofTruth(v[0] == 't')
	case scan.Text:
		x, wanted := r.model.ofText(f, v)
		if wanted != "" {
			r.faults.at(r.n-1, f.name, "got %s, wanted %s", shown(v), wanted)
		}
		return x
	}
	wanted := "a number"
	if f.use == category {
		wanted = "a text"
	}
	r.faults.at(r.n-1, f.name, "got %s, wanted %s", kind, wanted)
	return 0
}

// clipped is what somebody has sent, without quotes.
func clipped(v []byte) string {
	if len(v) > mostShown {
		return string(v[:mostShown]) + "…"
	}
	return string(v)
}

// date puts the parts of a date into their columns.
func (r *rowReader) date(k int, kind scan.Kind, v []byte, x []float64) {
	f := &r.model.fields[k]
	for _, j := range f.parts {
		if r.given[j] != 0 {
			r.faults.at(r.n-1, r.model.fields[j].name, "given twice: the date %q has it too", f.name)
		}
		r.given[j] = k + 1
	}
	var got string
	switch {
	case kind == scan.Null:
		f.put(x, nil)
		return
	case kind == scan.Text:
		if r.model.dateOf(f, v, x) {
			return
		}
		got = shown(v)
	default:
		got = kind.String()
	}
	r.faults.at(r.n-1, f.name, "got %s, wanted %s", got, f.wantedDate())
}

// dateOf puts the parts of the date that a text is into their columns; false is a text that is none.
func (m *loaded) dateOf(f *field, v []byte, x []float64) bool {
	if m.missing[string(v)] {
		f.put(x, nil)
		return true
	}
	t, ok := f.date.Parse(bytes.TrimSpace(v))
	if ok {
		f.put(x, f.date.Values(t))
	}
	return ok
}

// put puts the parts of a date, nil for a missing one, into their columns.
func (f *field) put(x []float64, values []int) {
	for p, j := range f.parts {
		if values == nil {
			x[j] = math.NaN()
		} else {
			x[j] = float64(values[p])
		}
	}
}

// wantedDate says how dates are written.
func (f *field) wantedDate() string {
	switch f.date.Order {
	case "dmy":
		return "a date such as 2024-03-31 or 31/3/2024"
	case "mdy":
		return "a date such as 2024-03-31 or 3/31/2024"
	}
	return "a date such as 2024-03-31"
}
