package table

import (
	"context"
	"fmt"
	"slices"
)

// labelled is the records that have all targets.
type labelled struct {
	Reader
	layout  *layout
	kept    int   // number of records
	without []int // numbers of the records left out
}

// find reads the records once for those without a target.
func (r *labelled) find(ctx context.Context) error {
	err := r.Reader.Records(ctx, func(rec *Record) error {
		if r.lacks(rec) {
			r.without = append(r.without, r.kept+len(r.without))
		} else {
			r.kept++
		}
		return nil
	})
	if err == nil && r.kept == 0 && len(r.without) > 0 {
		return fmt.Errorf("%s: column %s: %w in all %d rows", r.layout.file, r.layout.columns[r.layout.targets[0]].Name, errNoTarget, len(r.without))
	}
	return err
}

func (r *labelled) Records(ctx context.Context, yield func(rec *Record) error) error {
	return r.Reader.Records(ctx, func(rec *Record) error {
		if r.lacks(rec) {
			return nil
		}
		return yield(rec)
	})
}

// lacks reports whether a target is missing. One that a sparse record leaves out is zero.
func (r *labelled) lacks(rec *Record) bool {
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
