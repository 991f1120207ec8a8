package arrow

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// OpenRecords returns the rows of record batches in memory, in sequence, as [Options.Open] returns those of
// a file. The batches must have the same schema, and must be retained as long as the rows are read.
// Options.FS is ignored.
func (o Options) OpenRecords(ctx context.Context, batches []arrow.RecordBatch) (datasets.Source, error) {
	if len(batches) == 0 {
		return nil, errors.New("records: there is no batch")
	}
	schema, rows := batches[0].Schema(), 0
	for k, b := range batches {
		if !b.Schema().Equal(schema) {
			return nil, fmt.Errorf("records: batch %d has the schema %v, the first one %v", k, b.Schema(), schema)
		}
		rows += int(b.NumRows())
	}
	f := newFile("records", schema, func() (batchReader, error) { return &recordSlice{batches}, nil })
	f.form.Rows = rows
	return table.OpenColumns(ctx, f, o.Roles)
}

// ReadRecords returns all rows of r. It reads r to its end and retains the batches until it
// returns.
func (o Options) ReadRecords(ctx context.Context, r array.RecordReader) (datasets.Set, error) {
	var batches []arrow.RecordBatch
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	for ctxerr.Check(ctx) == nil && r.Next() {
		r.RecordBatch().Retain()
		batches = append(batches, r.RecordBatch())
	}
	if err := ctxerr.Check(ctx); err != nil {
		return datasets.Set{}, err
	}
	if err := r.Err(); err != nil && err != io.EOF {
		return datasets.Set{}, fmt.Errorf("records: batch %d: %w", len(batches), err)
	}
	src, err := o.OpenRecords(ctx, batches)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.ReadAll(ctx, src)
}

// recordSlice are the batches that have not been read.
type recordSlice struct{ remaining []arrow.RecordBatch }

func (m *recordSlice) Read() (arrow.RecordBatch, error) {
	if len(m.remaining) == 0 {
		return nil, io.EOF
	}
	b := m.remaining[0]
	m.remaining = m.remaining[1:]
	return b, nil
}

func (*recordSlice) Close() error { return nil }
