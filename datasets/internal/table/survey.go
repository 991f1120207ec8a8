package table

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowsource"
)

// ScanContent returns the content from the first pass, or reads the rows if they are encoded by a
// given schema.
func (s *source) ScanContent(ctx context.Context) ([]datasets.ColumnContent, error) {
	if s.content != nil {
		return s.content, nil
	}
	l := &SchemaLearner{roles: s.layout.roles, coder: s}
	l.setForm(s.layout.form, s.layout)
	end := l.read(ctx, s.reader, nil)
	if ctx.Err() != nil {
		return nil, ctxerr.Check(ctx)
	}
	if end == nil && l.rows == 0 {
		end = fmt.Errorf("%s: %w", s.layout.file, rowsource.ErrNoRows)
	}
	return l.content(), l.err(end)
}

// check adds field k of a record that is encoded by a schema; it is in column j.
func (l *SchemaLearner) check(j, k int, rec *Record) {
	c, in, field := &l.columns[j], &l.coder.cells[j], rec.Fields[k]
	switch {
	case in.use != input:
		if _, err := l.coder.parseOther(j, in, field); err != nil {
			c.addError(l.rows, rec.Line, err.Error())
		}
		return
	case field == nil:
		if c.missing == nil {
			c.missing = &occurrence{row: l.rows, line: rec.Line}
		}
		return
	}
	if c.values++; in.isText {
		return
	}
	if in.codes == nil {
		if _, ok := l.layout.number(rec, k); !ok {
			c.addError(l.rows, rec.Line, fmt.Sprintf("%q is not a number", field))
		}
	} else if c.unknown == nil && in.lookup(field) == datasets.Unknown {
		c.unknown = &occurrence{row: l.rows, line: rec.Line}
	}
}
