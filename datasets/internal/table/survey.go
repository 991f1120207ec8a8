package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/cause"
)

// Survey returns what learning has found, or reads rows that are coded by the schema of others.
func (s *source) Survey(ctx context.Context) ([]datasets.Content, error) {
	if s.content != nil {
		return s.content, nil
	}
	all := s.newSurvey()
	var err error
	if r, ok := parted(s.reader); ok {
		err = inTurn(ctx, r, func() share { return s.newSurvey() }, func(w *worked, before int) (lines int, err error) {
			part := w.share.(*survey)
			if w.err != nil || part.faults.any() {
				return w.part.Records(ctx, before, all.add)
			}
			all.join(part, before)
			return w.lines, nil
		})
	} else {
		err = s.reader.Records(ctx, all.add)
	}
	if err == nil && all.rows == 0 {
		err = fmt.Errorf("%s: %w", s.layout.file, datasets.ErrNoRows)
	}
	if ctx.Err() != nil {
		return nil, cause.Err(ctx)
	}
	return all.content(), all.faults.err(err)
}

// survey is what inputs hold, in rows that are coded by a schema.
type survey struct {
	source *source
	rows   int
	inputs []seen
	faults *faults
}

// seen is what an input holds.
type seen struct {
	value            bool // whether there is one
	missing, unknown *note
}

func (s *source) newSurvey() *survey {
	v := &survey{source: s}
	v.begin()
	return v
}

func (v *survey) begin() {
	v.rows, v.inputs, v.faults = 0, make([]seen, len(v.source.layout.inputs)), newFaults(v.source.layout)
}

// add takes note of a record.
func (v *survey) add(rec *Record) error {
	s := v.source
	for k, field := range rec.Fields {
		j := k
		if rec.Columns != nil {
			j = rec.Columns[k]
		}
		if s.layout.use[j] == dropped {
			continue
		}
		if c := &s.cells[j]; c.use != input {
			_, err := s.other(rec.Line, j, c, field)
			v.faults.add(j, err)
		} else {
			v.see(&v.inputs[c.at], j, k, rec)
		}
	}
	v.rows++
	return nil
}

// see takes note of field k of a record, an input in column j.
func (v *survey) see(out *seen, j, k int, rec *Record) {
	field, here := rec.Fields[k], note{row: v.rows, line: rec.Line}
	if field == nil {
		if out.missing == nil {
			out.missing = &here
		}
		return
	}
	out.value = true
	if c := &v.source.cells[j]; c.codes == nil {
		if _, ok := v.source.layout.number(rec, k); !ok {
			v.faults.add(j, v.source.layout.fault(rec.Line, j, "%q is not a number", field))
		}
	} else if out.unknown == nil && c.lookup(field) == datasets.Unknown {
		out.unknown = &here
	}
}

// join adds what the part behind so many lines holds.
func (v *survey) join(part *survey, before int) {
	at := shift{rows: v.rows, lines: before, until: part.rows}
	for k := range v.inputs {
		in, more := &v.inputs[k], &part.inputs[k]
		in.value = in.value || more.value
		in.missing, in.unknown = in.missing.or(more.missing, at), in.unknown.or(more.unknown, at)
	}
	v.rows += part.rows
}

// content returns what the inputs hold.
func (v *survey) content() []datasets.Content {
	l := v.source.layout
	spot := func(n *note) *datasets.Spot {
		if n == nil {
			return nil
		}
		at := l.form.spot(n.row, n.line)
		return &at
	}
	out := make([]datasets.Content, len(v.inputs))
	for k, in := range v.inputs {
		out[k] = datasets.Content{Empty: !in.value && !l.sparse, Missing: spot(in.missing), Unknown: spot(in.unknown)}
	}
	return out
}

// faults keeps the first fault of every column, and counts the others.
type faults struct {
	layout *layout
	first  []error
	more   []int
}

func newFaults(l *layout) *faults {
	return &faults{layout: l, first: make([]error, len(l.columns)), more: make([]int, len(l.columns))}
}

func (f *faults) add(j int, err error) {
	switch {
	case err == nil:
	case f.first[j] == nil:
		f.first[j] = err
	default:
		f.more[j]++
	}
}

func (f *faults) any() bool {
	return slices.ContainsFunc(f.first, func(err error) bool { return err != nil })
}

// err returns all faults in the order of their lines, and what ended the reading.
func (f *faults) err(end error) error {
	var all []*datasets.LineError
	for j, err := range f.first {
		var at *datasets.LineError
		if !errors.As(err, &at) {
			continue
		}
		if n := f.more[j]; n > 0 {
			at = &datasets.LineError{File: at.File, Line: at.Line, Err: fmt.Errorf("%w (and %d more in this column)", at.Err, n)}
		}
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b *datasets.LineError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	var out []error
	for _, at := range all {
		out = append(out, at)
	}
	if end != nil {
		out = append(out, end)
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}
