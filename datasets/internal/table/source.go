package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// Open learns the schema of r's records, unless the roles bring one, and returns them as a source.
func Open(ctx context.Context, r Reader, roles datasets.Roles) (datasets.Source, error) {
	r, err := withDates(r, roles.Dates)
	if err != nil {
		return nil, err
	}
	form := r.Form()
	l, err := arrange(form, roles)
	if err != nil {
		return nil, err
	}
	s := &source{reader: r, layout: l, weighted: form.Weighted, rows: -1}
	if roles.DropMissingTarget && len(l.targets) > 0 {
		s.labelled = &labelled{Reader: r, layout: l}
		if err := s.labelled.find(ctx); err != nil {
			return nil, err
		}
		s.reader, r, s.rows = s.labelled, s.labelled, s.labelled.kept
	}
	if roles.Schema != nil {
		s.schema = *roles.Schema
		if len(s.schema.Columns) == 0 {
			for _, j := range l.inputs {
				s.schema.Columns = append(s.schema.Columns, datasets.Column{Name: l.columns[j].Name})
			}
		}
	} else if err := s.learn(ctx, form); err != nil {
		return nil, err
	}
	if err := s.plan(); err != nil {
		return nil, err
	}
	return s, nil
}

// learn finds out the schema and what the columns hold.
func (s *source) learn(ctx context.Context, form Form) error {
	l := &Learned{roles: s.layout.roles}
	l.arrange(form, s.layout)
	end := l.read(ctx, s.reader)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if end == nil && l.rows == 0 {
		end = fmt.Errorf("%s: %w", s.layout.file, datasets.ErrNoRows)
	}
	if err := l.faults(end); err != nil {
		return err
	}
	if len(l.Late()) > 0 {
		l = l.Again()
		if end := l.read(ctx, s.reader); end != nil {
			return l.faults(end)
		}
	}
	var err error
	s.schema, err = l.Schema()
	s.rows, s.content = l.rows, l.content()
	return err
}

// source codes records by a schema.
type source struct {
	reader   Reader
	layout   *layout
	schema   datasets.Schema
	weighted bool
	rows     int                // -1 where nobody has counted
	content  []datasets.Content // of the inputs; nil where nobody has looked
	cells    []cell
	absent   []float64 // codes of targets that a sparse record leaves out
	labelled *labelled // nil where no rows are left out
}

// cell says where the fields of one column go.
type cell struct {
	use   use
	at    int                // column of X or of the targets
	codes map[string]float64 // of a categorical column
	other float64            // code of a category that is not among codes
}

func (s *source) Schema() datasets.Schema { return s.schema }

// LeftOut returns the numbers of the rows of the file that are left out.
func (s *source) LeftOut() []int {
	if s.labelled == nil {
		return nil
	}
	return s.labelled.without
}

func (s *source) Dims() (rows, cols int) { return s.rows, len(s.schema.Columns) }

// plan works out where every field goes.
func (s *source) plan() error {
	l := s.layout
	s.cells = make([]cell, len(l.columns))
	for k, j := range l.inputs {
		s.cells[j] = cell{use: input, at: k, codes: codes(s.schema.Columns[k]), other: datasets.Unknown}
	}
	for k, j := range l.targets {
		if k >= len(s.schema.Targets) || l.roles.Schema != nil && len(l.targets) != len(s.schema.Targets) {
			return fmt.Errorf("%s: %d targets, the schema has %d", l.file, len(l.targets), len(s.schema.Targets))
		}
		s.cells[j] = cell{use: target, at: k, codes: codes(s.schema.Targets[k]), other: datasets.Unknown}
		if len(l.roles.Positive) > 0 && s.cells[j].codes != nil {
			s.cells[j].codes, s.cells[j].other = map[string]float64{}, 0
			for _, name := range l.roles.Positive {
				s.cells[j].codes[name] = 1
			}
		}
	}
	if l.weight >= 0 {
		s.cells[l.weight] = cell{use: weight}
	}
	if l.group >= 0 {
		s.cells[l.group] = cell{use: group}
	}
	return s.planAbsent()
}

// planAbsent works out the codes of what sparse records leave out: zeros and first categories.
func (s *source) planAbsent() error {
	l := s.layout
	s.absent = make([]float64, len(l.targets))
	if !l.sparse {
		return nil
	}
	for j, c := range s.cells {
		if levels := l.columns[j].Levels; c.codes != nil && len(levels) > 0 {
			code := c.lookup([]byte(levels[0]))
			if c.use == target {
				s.absent[c.at] = code
			} else if code != 0 {
				return fmt.Errorf("%s: column %s: sparse rows leave out level %q, the first here, which is not the first in the schema", l.file, l.columns[j].Name, levels[0])
			}
		}
	}
	return nil
}

// codes returns the code of every category, nil for a numeric column.
func codes(c datasets.Column) map[string]float64 {
	if c.Kind != datasets.Categorical {
		return nil
	}
	out := make(map[string]float64, len(c.Levels))
	for code, name := range c.Levels {
		out[name] = float64(code)
	}
	return out
}

// Survey returns what learning has found, or reads rows that are coded by the schema of others.
func (s *source) Survey(ctx context.Context) ([]datasets.Content, error) {
	if s.content != nil {
		return s.content, nil
	}
	out, faults, rows := make([]datasets.Content, len(s.layout.inputs)), newFaults(s.layout), 0
	for k := range out {
		out[k].Empty = !s.layout.sparse
	}
	err := s.reader.Records(ctx, func(rec *Record) error {
		rows++
		return each(rec, s.layout, func(j int, field []byte) error {
			c := &s.cells[j]
			if c.use != input {
				_, err := s.other(rec.Line, j, c, field)
				faults.add(j, err)
				return nil
			}
			faults.add(j, s.see(&out[c.at], datasets.Spot{Row: rows - 1, Line: rec.Line}, j, field))
			return nil
		})
	})
	if err == nil && rows == 0 {
		err = fmt.Errorf("%s: %w", s.layout.file, datasets.ErrNoRows)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out, faults.err(err)
}

// see takes note of an input.
func (s *source) see(out *datasets.Content, at datasets.Spot, j int, field []byte) error {
	c := &s.cells[j]
	if field == nil {
		if out.Missing == nil {
			spot := s.layout.form.spot(at.Row, at.Line)
			out.Missing = &spot
		}
		return nil
	}
	out.Empty = false
	if c.codes == nil {
		if _, ok := s.layout.numbers.Number(field); !ok {
			return s.layout.fault(at.Line, j, "%q is not a number", field)
		}
	} else if c.lookup(field) == datasets.Unknown && out.Unknown == nil {
		spot := s.layout.form.spot(at.Row, at.Line)
		out.Unknown = &spot
	}
	return nil
}

func (s *source) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	b := s.newBlock()
	rows := 0
	err := s.reader.Records(ctx, func(rec *Record) error {
		if err := b.add(rec); err != nil {
			return err
		}
		rows++
		if b.rows < b.full {
			return nil
		}
		return b.flush(yield)
	})
	if err != nil {
		return err
	}
	if err := b.unlabelled(); err != nil {
		return err
	}
	if s.rows >= 0 && rows != s.rows {
		return fmt.Errorf("%s: %d rows, there were %d before; the file has changed", s.layout.file, rows, s.rows)
	}
	if rows == 0 {
		return fmt.Errorf("%s: %w", s.layout.file, datasets.ErrNoRows)
	}
	if b.rows == 0 {
		return nil
	}
	return b.flush(yield)
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

// each calls see with every field that is of use.
func each(rec *Record, l *layout, see func(j int, field []byte) error) error {
	for k, field := range rec.Fields {
		j := k
		if rec.Columns != nil {
			j = rec.Columns[k]
		}
		if l.use[j] == dropped {
			continue
		}
		if err := see(j, field); err != nil {
			return err
		}
	}
	return nil
}
