package dataload

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Streams reports whether the rows are streamed: if required, if they would use too much memory, or
// if they would use much and the model makes one pass.
func Streams(ctx context.Context, s config.Spec, train datasets.Source) bool {
	switch {
	case s.Data.Stream == "always":
		return s.Data.Dataset == ""
	case s.Data.Stream == "never" || s.Data.Dataset != "" || s.Data.Gram.Given():
		return false
	}
	size, budget := Memory(s, train), memory.Budget(ctx)
	if s.Search != nil {
		return size > budget
	}
	return size > budget/2 || size > reader.MaxInMemory && s.Pipeline.EstimatorReadsOnce(train.Dims())
}

// Memory estimates the memory of the rows of the files.
func Memory(s config.Spec, train datasets.Source) int64 {
	n, d := train.Dims()
	if f := Files(s.Data); f.IsSVMLight(s.Data.Train) {
		return 4 * f.Bytes(s.Data.Train)
	}
	return int64(max(n, 0)) * int64(d+2) * 8
}

// Entries estimates how many entries the rows of svmlight files have that are not zero, by their size.
func Entries(s config.Spec, rows, cols int) (entries int, sparse bool) {
	const text = 8 // bytes of an entry
	f := Files(s.Data)
	if !f.IsSVMLight(s.Data.Train) {
		return 0, false
	}
	return int(min(f.Bytes(s.Data.Train)/text, int64(rows)*int64(cols))), true
}

// keeps returns the bytes of rows to cache while a file is read for its schema: up to the limit of
// memory, if the size of the file permits.
func keeps(s config.Spec) int64 {
	if s.Data.Stream == "always" {
		return 0
	}
	size := int64(0)
	files, _ := rowfile.List(s.Data.FS, s.Data.Train...)
	for _, path := range files {
		if info, err := s.Data.Stat(path); err == nil {
			size += info.Size()
		}
	}
	if size > 2*reader.MaxInMemory { // a number needs about 8 characters, and 8 bytes in memory
		return 0
	}
	return reader.MaxInMemory
}

// Gather reads a source into memory, unless it is in memory, and reports its progress.
func Gather(ctx context.Context, source datasets.Source, report func(done, total int)) (datasets.Source, error) {
	n, _ := source.Dims()
	if set, ok := datasets.InMemory(source); ok {
		report(set.Rows(), max(n, 0))
		return set.Source(), nil
	}
	set, err := datasets.ReadAll(ctx, reported{source, func(rows int) { report(rows, max(n, 0)) }})
	if err != nil {
		return nil, err
	}
	return set.Source(), nil
}

// reported is a source that reports its progress.
type reported struct {
	datasets.Source
	report func(rows int)
}

func (r reported) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	rows := 0
	return r.Source.Blocks(ctx, func(block datasets.Set) error {
		rows += block.Rows()
		r.report(rows)
		return yield(block)
	})
}
