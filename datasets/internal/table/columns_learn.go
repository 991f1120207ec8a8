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
	use, all := s.layout.use, s.typed.Rows < 0
	l, err := s.look(ctx, func(j int) bool { return all || use[j] != input || s.categorical(j) })
	if err != nil {
		return datasets.Schema{}, err
	}
	if all {
		s.content = l.content()
	}
	if g := s.layout.group; g >= 0 {
		s.groups = numbered(sorted(l.columns[g].levels.names, s.layout.numbers))
	}
	return s.layout.schema(l.levels)
}

// ScanContent returns the content from the first pass, or else reads all columns.
func (s *columnSource) Survey(ctx context.Context) ([]datasets.ColumnContent, error) {
	if s.content != nil {
		return s.content, nil
	}
	l, err := s.look(ctx, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	return l.content(), nil
}

// scanColumns reads the selected columns of all rows. The error contains the first error of each
// column.
func (s *columnSource) look(ctx context.Context, wanted func(j int) bool) (*Learned, error) {
	out := &Learned{roles: s.layout.roles}
	out.arrange(s.layout.form, s.layout)
	feeds := s.feeds(wanted, false)
	for _, f := range feeds {
		for k := range f.outs {
			f.outs[k].into = make([]float64, chunk)
		}
	}
	if len(feeds) > 0 || s.rows < 0 {
		p, err := s.pass(ctx, feeds)
		if err != nil {
			return nil, err
		}
		defer p.cursor.Close()
		for {
			n, err := p.next(ctx, chunk, func(f *feed, first, n int) error {
				for k := range f.outs {
					s.lookAt(f, &f.outs[k], first, n, &out.columns[f.outs[k].column])
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
		rows := p.first - len(s.left)
		if s.rows >= 0 && rows != s.rows {
			return nil, s.changed(rows, s.rows)
		}
		s.rows = rows
	}
	var end error
	if s.rows == 0 {
		end = s.noRows()
	}
	return out, out.faults(end)
}

func (s *columnSource) noRows() error {
	return fmt.Errorf("%s: %w", s.layout.file, rowsource.ErrNoRows)
}

func (s *columnSource) changed(rows, before int) error {
	return fmt.Errorf("%s: the file has changed: it had %d rows in the first pass, now %d", s.layout.file, before, rows)
}

// observe adds values of a column.
func (s *columnSource) lookAt(f *feed, o *outlet, first, rows int, c *finding) {
	switch f.As {
	case Texts:
		s.lookAtTexts(f, o, first, rows, c)
		return
	case Times:
		for i, v := range f.values.Seconds[:rows] {
			if s.skips(first + i) {
				continue
			}
			if c.values++; v == NoTime {
				s.lookAtMissing(o, first+i, c)
			}
		}
		return
	}
	for i, v := range f.values.Numbers[:rows] {
		row := first + i
		switch {
		case s.skips(row):
		case v-v == 0:
			c.values++
			if o.use == weight {
				c.weights = c.weights || v > 0
				if v < 0 {
					c.wrong(row, row+1, notWeight(v))
				}
			}
		case math.IsNaN(v):
			c.values++
			s.lookAtMissing(o, row, c)
		case o.use != target || !s.layout.roles.Unlabelled:
			c.wrong(row, row+1, isInfinite)
		}
	}
}

// isSkipped reports whether a row is skipped.
func (s *columnSource) skips(row int) bool { return len(s.left) > 0 && s.number(row) < 0 }

// observeMissing adds a missing value, which was counted as a value.
func (s *columnSource) lookAtMissing(o *outlet, row int, c *finding) {
	c.values--
	if o.use != input {
		if err := s.layout.lacks(o.column, nil); err != nil {
			c.wrong(row, row+1, err.Error())
		}
	}
	if c.missing == nil {
		c.missing = &note{row: s.number(row), line: row + 1}
	}
}

// observeStrings adds strings. It inspects each string of a dictionary once.
func (s *columnSource) lookAtTexts(f *feed, o *outlet, first, rows int, c *finding) {
	texts := f.values.Texts.Texts
	if o.of != f.values.Texts {
		o.of, o.seen, o.lost = f.values.Texts, nil, nil
	}
	for len(o.seen) < len(texts) {
		o.seen, o.lost = append(o.seen, false), append(o.lost, s.isMissing(texts[len(o.lost)]))
	}
	collect := s.cells == nil && (s.categorical(o.column) || o.use == group)
	for i, code := range f.values.Codes[:rows] {
		row := first + i
		if s.skips(row) {
			continue
		}
		if c.values++; code < 0 || o.lost[code] {
			s.lookAtMissing(o, row, c)
			continue
		}
		if o.seen[code] {
			continue
		}
		faults := c.more
		switch {
		case collect:
			c.add(row, row+1, []byte(s.trimmed(o.use, texts[code])))
		case o.use != group:
			v, err := s.value(o, texts[code], false)
			if err != nil {
				c.wrong(row, row+1, err.Error())
			}
			if v == datasets.Unknown && s.cell(o.column).codes != nil && c.unknown == nil {
				c.unknown = &note{row: s.number(row), line: row + 1}
			}
			c.weights = c.weights || o.use == weight && v > 0
		}
		o.seen[code] = c.more == faults // an invalid string is an error in every row
	}
}

// findUnlabelled finds the rows without a target.
func (s *columnSource) findUnlabelled(ctx context.Context) error {
	l := s.layout
	feeds := s.feeds(func(j int) bool { return l.use[j] == target }, false)
	for _, f := range feeds {
		for k := range f.outs {
			f.outs[k].into = make([]float64, chunk)
		}
	}
	p, err := s.pass(ctx, feeds)
	if err != nil {
		return err
	}
	defer p.cursor.Close()
	lack := make([][]bool, len(feeds))
	for {
		n, err := p.next(ctx, chunk, func(f *feed, _, n int) error {
			k := 0
			for feeds[k] != f {
				k++
			}
			lack[k] = grown(lack[k], n)
			for i := range n {
				lack[k][i] = s.absent(f, i)
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
					s.left = append(s.left, p.first-n+i)
					break
				}
			}
		}
	}
	s.rows = p.first - len(s.left)
	if s.rows == 0 && len(s.left) > 0 {
		return fmt.Errorf("%s: column %s: %w in all %d rows", l.file, l.columns[l.targets[0]].Name, errNoTarget, len(s.left))
	}
	return nil
}

// isMissingAt reports whether decoded value i is missing.
func (s *columnSource) absent(f *feed, i int) bool {
	if f.As == Texts {
		code := f.values.Codes[i]
		return code < 0 || s.isMissing(f.values.Texts.Texts[code])
	}
	return math.IsNaN(f.values.Numbers[i])
}

// rowIndex returns the index of a row of the file among the rows that are not skipped, or -1.
func (s *columnSource) number(row int) int {
	before, is := slices.BinarySearch(s.left, row)
	if is {
		return -1
	}
	return row - before
}
