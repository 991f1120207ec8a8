package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets"
)

// columnLook is what a pass that learns or surveys finds in one column of the layout.
type columnLook struct {
	values  int // rows that have a value
	missing *datasets.Spot
	unknown *datasets.Spot
	weights bool // whether a weight is above 0
	levels  map[string]struct{}
	fault   *rowFault
	more    int // faults beside it

	of         *Dictionary
	seen, lost []bool // by code: whether a text has been looked at, and stands for a missing value
}

// learn reads the columns that the schema needs: those with categories, targets, weights and groups. What can only
// be read in its order is read anyway, so that it takes a look at all of its columns.
func (s *columnSource) learn(ctx context.Context) (datasets.Schema, error) {
	l, all := s.layout, s.typed.Rows < 0
	looks, err := s.look(ctx, func(j int) bool { return all || l.use[j] != input || s.categorical(j) })
	if err != nil {
		return datasets.Schema{}, err
	}
	if all {
		s.content = s.contentOf(looks)
	}
	if l.group >= 0 {
		s.groups = numbered(sorted(slices.Collect(maps.Keys(looks[l.group].levels)), l.numbers))
	}
	return l.schema(func(j int) ([]string, bool) {
		if !s.categorical(j) {
			return nil, false
		}
		return sorted(slices.Collect(maps.Keys(looks[j].levels)), l.numbers), true
	})
}

// Survey returns what learning has found, or reads all columns for what they hold.
func (s *columnSource) Survey(ctx context.Context) ([]datasets.Content, error) {
	if s.content != nil {
		return s.content, nil
	}
	looks, err := s.look(ctx, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	return s.contentOf(looks), nil
}

// contentOf is what the inputs hold.
func (s *columnSource) contentOf(looks []columnLook) []datasets.Content {
	var out []datasets.Content
	for _, j := range s.layout.inputs {
		c := looks[j]
		out = append(out, datasets.Content{Missing: c.missing, Unknown: c.unknown, Empty: c.values == 0})
	}
	return out
}

// look reads some columns of all rows. Every column has its first fault in the error.
func (s *columnSource) look(ctx context.Context, wanted func(j int) bool) ([]columnLook, error) {
	out := make([]columnLook, len(s.layout.columns))
	known := s.cells != nil
	feeds := s.feeds(wanted, false)
	for _, f := range feeds {
		for k := range f.outs {
			o := &f.outs[k]
			if known {
				o.codes = s.coder(o.column)
			}
			o.into = make([]float64, chunk)
		}
	}
	rows := 0
	if len(feeds) > 0 || s.rows < 0 {
		p, err := s.pass(ctx, feeds)
		if err != nil {
			return nil, err
		}
		defer p.cursor.Close()
		for {
			n, err := p.next(ctx, chunk, func(f *feed, first, n int) error {
				for k := range f.outs {
					s.lookAt(f, k, first, n, &out[f.outs[k].column])
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			if n == 0 {
				break
			}
			rows += n
		}
		if s.rows >= 0 && rows != s.rows+len(s.left) {
			return nil, s.changed(rows-len(s.left), s.rows)
		}
		s.rows = rows - len(s.left)
	}
	return out, s.verdict(out)
}

// verdict is the error of all columns, in the order of their first faults.
func (s *columnSource) verdict(looks []columnLook) error {
	var all []*rowFault
	for j := range looks {
		c := &looks[j]
		if w := s.layout.use[j] == weight; w && s.rows > 0 && c.fault == nil && !c.weights {
			c.fault = &rowFault{row: -1, column: j, LineError: datasets.LineError{File: s.layout.file, Err: fmt.Errorf("column %s: every weight is 0", s.layout.columns[j].Name)}}
		}
		if f := c.fault; f != nil && c.more > 0 {
			f.Err = fmt.Errorf("%w (and %d more in this column)", f.Err, c.more)
		}
		if c.fault != nil {
			all = append(all, c.fault)
		}
	}
	slices.SortStableFunc(all, func(a, b *rowFault) int { return cmp.Compare(a.row, b.row) })
	var out []error
	for _, f := range all {
		out = append(out, f)
	}
	if s.rows == 0 {
		out = append(out, s.noRows())
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

func (s *columnSource) noRows() error {
	return fmt.Errorf("%s: %w", s.layout.file, datasets.ErrNoRows)
}

func (s *columnSource) changed(rows, before int) error {
	return fmt.Errorf("%s: %d rows, there were %d before; the file has changed", s.layout.file, rows, before)
}

// lookAt takes note of the values of some rows in one column.
func (s *columnSource) lookAt(f *feed, k, first, rows int, c *columnLook) {
	o := &f.outs[k]
	switch f.As {
	case Texts:
		s.lookAtTexts(f, k, first, rows, c)
		return
	case Times:
		for i, v := range f.values.Seconds[:rows] {
			if s.skips(first + i) {
				continue
			}
			if v == NoTime {
				s.lookAtMissing(o, first+i, c)
			} else {
				c.values++
			}
		}
		return
	}
	for i, v := range f.values.Numbers[:rows] {
		switch {
		case s.skips(first + i):
		case v-v == 0:
			c.values++
			if o.use == weight {
				c.weights = c.weights || v > 0
				if v < 0 {
					c.add(s.at(first+i, o.column, "%v is not a weight, wanted a number ≥ 0", v))
				}
			}
		case math.IsNaN(v):
			s.lookAtMissing(o, first+i, c)
		default:
			c.add(s.finite(o, first+i, []float64{v}))
		}
	}
}

// skips reports whether a row is left out.
func (s *columnSource) skips(row int) bool { return len(s.left) > 0 && s.number(row) < 0 }

// lookAtMissing takes note of a missing value.
func (s *columnSource) lookAtMissing(o *outlet, row int, c *columnLook) {
	c.add(s.lacks(o, row))
	if c.missing == nil {
		c.missing = &datasets.Spot{Row: s.number(row)}
	}
}

// lookAtTexts takes note of texts: each is looked at once for a dictionary, in its first row.
func (s *columnSource) lookAtTexts(f *feed, k, first, rows int, c *columnLook) {
	o := &f.outs[k]
	texts := f.values.Texts.Texts
	if c.of != f.values.Texts {
		c.of, c.seen, c.lost = f.values.Texts, nil, nil
	}
	for len(c.seen) < len(texts) {
		c.seen, c.lost = append(c.seen, false), append(c.lost, s.isMissing(texts[len(c.lost)]))
	}
	collect := s.cells == nil && (s.categorical(o.column) || o.use == group)
	for i, code := range f.values.Codes[:rows] {
		switch {
		case s.skips(first + i):
			continue
		case code < 0 || c.lost[code]:
			s.lookAtMissing(o, first+i, c)
			continue
		}
		if c.values++; c.seen[code] {
			continue
		}
		c.seen[code] = true
		t := s.trimmed(o.use, texts[code])
		var err error
		if collect && (o.use != group || len(c.levels) < maxLevels) {
			err = c.collectLevel(t)
		} else if o.use != group {
			var v float64
			v, err = s.value(o, texts[code], false)
			if v == datasets.Unknown && o.codes != nil && c.unknown == nil {
				c.unknown = &datasets.Spot{Row: s.number(first + i)}
			}
			c.weights = c.weights || o.use == weight && v > 0
		}
		if err != nil {
			c.seen[code] = false // so that it counts again
			c.add(s.at(first+i, o.column, "%w", err))
		}
	}
}

// collectLevel takes note of a category.
func (c *columnLook) collectLevel(t string) error {
	if _, ok := c.levels[t]; ok {
		return nil
	}
	if c.levels == nil {
		c.levels = map[string]struct{}{}
	}
	if !utf8.ValidString(t) {
		return fmt.Errorf("%q is not UTF-8", t)
	}
	if len(c.levels) == maxLevels {
		return fmt.Errorf("more than %d levels; drop the column", maxLevels)
	}
	c.levels[t] = struct{}{}
	return nil
}

// add keeps the first fault, and counts the others.
func (c *columnLook) add(err error) {
	var at *rowFault
	switch {
	case !errors.As(err, &at):
	case c.fault == nil:
		c.fault = at
	default:
		c.more++
	}
}

// lacks is the error of a row without a value in a column that needs one.
func (s *columnSource) lacks(o *outlet, row int) error {
	switch {
	case o.use == target && !s.layout.roles.Unlabelled:
		return s.at(row, o.column, "%w; missing_target: drop leaves such rows out", errNoTarget)
	case o.use == weight || o.use == group:
		return s.at(row, o.column, "the %s is missing", o.use)
	}
	return nil
}

// findUnlabelled reads the targets for the rows that lack one.
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

// absent reports whether value i of those decoded is missing.
func (s *columnSource) absent(f *feed, i int) bool {
	if f.As == Texts {
		code := f.values.Codes[i]
		return code < 0 || s.isMissing(f.values.Texts.Texts[code])
	}
	return math.IsNaN(f.values.Numbers[i])
}

// number returns that of a row of the file among those that are not left out, -1 for one that is.
func (s *columnSource) number(row int) int {
	before, is := slices.BinarySearch(s.left, row)
	if is {
		return -1
	}
	return row - before
}
