package table

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rowsource"
)

// learn reads the columns that the schema needs: those with categories, targets, weights and
// groups. It reads all columns if the number of rows is unknown.
func (s *columnSource) learn(ctx context.Context) (datasets.Schema, error) {
	use, all := s.layout.use, s.form.Rows < 0
	l, err := s.scanColumns(ctx, func(j int) bool { return all || use[j] != input || s.categorical(j) })
	if err != nil {
		return datasets.Schema{}, err
	}
	if all {
		s.content = l.content()
	}
	if g := s.layout.group; g >= 0 {
		s.groups = indexByName(sorted(l.columns[g].categories.names, s.layout.notation))
	}
	return s.layout.schema(l)
}

// ScanContent returns the content from the first pass, or else reads all columns.
func (s *columnSource) ScanContent(ctx context.Context) ([]datasets.ColumnContent, error) {
	if s.content != nil {
		return s.content, nil
	}
	l, err := s.scanColumns(ctx, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	return l.content(), nil
}

// scanColumns reads the selected columns of all rows. The error contains the first error of each
// column.
func (s *columnSource) scanColumns(ctx context.Context, selected func(j int) bool) (*SchemaLearner, error) {
	out := &SchemaLearner{roles: s.layout.roles}
	out.setForm(s.layout.form, s.layout)
	feeds := s.columnReaders(selected, false)
	for _, f := range feeds {
		for k := range f.destinations {
			f.destinations[k].numbers = make([]float64, chunk)
		}
	}
	if len(feeds) > 0 || s.rows < 0 {
		p, err := s.pass(ctx, feeds)
		if err != nil {
			return nil, err
		}
		defer p.cursor.Close()
		for {
			n, err := p.next(ctx, chunk, func(f *columnReader, first, n int) error {
				for k := range f.destinations {
					s.observe(f, &f.destinations[k], first, n, &out.columns[f.destinations[k].column])
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			if n == 0 {
				break
			}
		}
		rows := p.first - len(s.skipped)
		if s.rows >= 0 && rows != s.rows {
			return nil, s.errChanged(rows, s.rows)
		}
		s.rows = rows
	}
	var end error
	if s.rows == 0 {
		end = s.errNoRows()
	}
	return out, out.err(end)
}

func (s *columnSource) errNoRows() error {
	return fmt.Errorf("%s: %w", s.layout.file, rowsource.ErrNoRows)
}

func (s *columnSource) errChanged(rows, before int) error {
	return fmt.Errorf("%s: the file has changed: it had %d rows in the first pass, now %d", s.layout.file, before, rows)
}

// observe adds values of a column.
func (s *columnSource) observe(f *columnReader, o *destination, first, rows int, c *columnStats) {
	switch f.As {
	case Strings:
		s.observeStrings(f, o, first, rows, c)
		return
	case Times:
		for i, v := range f.values.Seconds[:rows] {
			if s.isSkipped(first + i) {
				continue
			}
			if c.values++; v == NoTime {
				s.observeMissing(o, first+i, c)
			}
		}
		return
	}
	for i, v := range f.values.Numbers[:rows] {
		row := first + i
		switch {
		case s.isSkipped(row):
		case v-v == 0:
			c.values++
			if o.use == weight {
				c.hasPositiveWeight = c.hasPositiveWeight || v > 0
				if v < 0 {
					c.addError(row, row+1, negativeWeight(v))
				}
			}
		case math.IsNaN(v):
			c.values++
			s.observeMissing(o, row, c)
		case o.use != target || !s.layout.roles.Unlabeled:
			c.addError(row, row+1, infiniteValue)
		}
	}
}

// isSkipped reports whether a row is skipped.
func (s *columnSource) isSkipped(row int) bool { return len(s.skipped) > 0 && s.rowIndex(row) < 0 }

// observeMissing adds a missing value, which was counted as a value.
func (s *columnSource) observeMissing(o *destination, row int, c *columnStats) {
	c.values--
	if o.use != input {
		if err := s.layout.checkRequired(o.column, nil); err != nil {
			c.addError(row, row+1, err.Error())
		}
	}
	if c.missing == nil {
		c.missing = &occurrence{row: s.rowIndex(row), line: row + 1}
	}
}

// observeStrings adds strings. It inspects each string of a dictionary once.
func (s *columnSource) observeStrings(f *columnReader, o *destination, first, rows int, c *columnStats) {
	strs := f.values.Dictionary.Strings
	if o.dictionary != f.values.Dictionary {
		o.dictionary, o.seen, o.missing = f.values.Dictionary, nil, nil
	}
	for len(o.seen) < len(strs) {
		o.seen, o.missing = append(o.seen, false), append(o.missing, s.isMissing(strs[len(o.missing)]))
	}
	collect := s.cells == nil && (s.categorical(o.column) || o.use == group)
	for i, code := range f.values.Codes[:rows] {
		row := first + i
		if s.isSkipped(row) {
			continue
		}
		if c.values++; code < 0 || o.missing[code] {
			s.observeMissing(o, row, c)
			continue
		}
		if o.seen[code] {
			continue
		}
		errs := c.errCount
		switch {
		case collect:
			c.addCategory(row, row+1, []byte(s.trimmed(o.use, strs[code])))
		case o.use != group:
			v, err := s.value(o, strs[code], false)
			if err != nil {
				c.addError(row, row+1, err.Error())
			}
			if v == datasets.Unknown && s.cell(o.column).codes != nil && c.unknown == nil {
				c.unknown = &occurrence{row: s.rowIndex(row), line: row + 1}
			}
			c.hasPositiveWeight = c.hasPositiveWeight || o.use == weight && v > 0
		}
		o.seen[code] = c.errCount == errs // an invalid string is an error in every row
	}
}

// findUnlabeled finds the rows without a target.
func (s *columnSource) findUnlabeled(ctx context.Context) error {
	l := s.layout
	feeds := s.columnReaders(func(j int) bool { return l.use[j] == target }, false)
	for _, f := range feeds {
		for k := range f.destinations {
			f.destinations[k].numbers = make([]float64, chunk)
		}
	}
	p, err := s.pass(ctx, feeds)
	if err != nil {
		return err
	}
	defer p.cursor.Close()
	lack := make([][]bool, len(feeds))
	for {
		n, err := p.next(ctx, chunk, func(f *columnReader, _, n int) error {
			k := 0
			for feeds[k] != f {
				k++
			}
			lack[k] = resized(lack[k], n)
			for i := range n {
				lack[k][i] = s.isMissingAt(f, i)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		for i := range n {
			for k := range feeds {
				if lack[k][i] {
					s.skipped = append(s.skipped, p.first-n+i)
					break
				}
			}
		}
	}
	s.rows = p.first - len(s.skipped)
	if s.rows == 0 && len(s.skipped) > 0 {
		return fmt.Errorf("%s: column %s: %w in all %d rows", l.file, l.columns[l.targets[0]].Name, errNoTarget,
			len(s.skipped))
	}
	return nil
}

// isMissingAt reports whether decoded value i is missing.
func (s *columnSource) isMissingAt(f *columnReader, i int) bool {
	if f.As == Strings {
		code := f.values.Codes[i]
		return code < 0 || s.isMissing(f.values.Dictionary.Strings[code])
	}
	return math.IsNaN(f.values.Numbers[i])
}

// rowIndex returns the index of a row of the file among the rows that are not skipped, or -1.
func (s *columnSource) rowIndex(row int) int {
	before, is := slices.BinarySearch(s.skipped, row)
	if is {
		return -1
	}
	return row - before
}
