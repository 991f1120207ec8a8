package table

import (
	"context"
	"fmt"
	"slices"
)

// labeledReader reads the records that have all targets.
type labeledReader struct {
	Reader
	layout  *layout
	kept    int   // number of records
	skipped []int // skipped records
}

// find makes a pass to find the records without a target.
func (r *labeledReader) find(ctx context.Context) error {
	all := &unlabeledRows{of: r}
	var err error
	if inner, ok := splittable(r.Reader); ok {
		err = readParts(ctx, inner, func() partResult { return &unlabeledRows{of: r} },
			func(w *partTask, before int) (lines int, err error) {
				if w.err != nil {
					return w.part.Records(ctx, before, all.add)
				}
				part := w.result.(*unlabeledRows)
				for _, row := range part.skipped {
					all.skipped = append(all.skipped, all.rows+row)
				}
				all.rows += part.rows
				return w.lines, nil
			})
	} else {
		err = r.Reader.Records(ctx, all.add)
	}
	r.skipped, r.kept = all.skipped, all.rows-len(all.skipped)
	if err == nil && r.kept == 0 && len(r.skipped) > 0 {
		return fmt.Errorf("%s: column %s: %w in all %d rows", r.layout.file, r.layout.columns[r.layout.targets[0]].Name,
			errNoTarget, len(r.skipped))
	}
	return err
}

// unlabeledRows lists the rows of a part without a target.
type unlabeledRows struct {
	of      *labeledReader
	rows    int
	skipped []int
}

func (p *unlabeledRows) begin() { p.rows, p.skipped = 0, p.skipped[:0] }

func (p *unlabeledRows) add(rec *Record) error {
	if p.of.isUnlabeled(rec) {
		p.skipped = append(p.skipped, p.rows)
	}
	p.rows++
	return nil
}

func (r *labeledReader) Records(ctx context.Context, yield func(rec *Record) error) error {
	return r.Reader.Records(ctx, func(rec *Record) error { return r.pass(rec, yield) })
}

// pass passes a record to yield if it has all targets.
func (r *labeledReader) pass(rec *Record, yield func(rec *Record) error) error {
	if r.isUnlabeled(rec) {
		return nil
	}
	return yield(rec)
}

// isUnlabeled reports whether a target is missing. A target that a sparse record omits is zero.
func (r *labeledReader) isUnlabeled(rec *Record) bool {
	for _, j := range r.layout.targets {
		k := j
		if rec.Columns != nil {
			k = slices.Index(rec.Columns, j)
		}
		if k >= 0 && rec.Fields[k] == nil {
			return true
		}
	}
	return false
}
