package dataload

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/npy"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/param"
)

// GramFiles opens the Gram matrices of the spec, nil for none, and checks by their headers that they have
// numbers and that the one of the training rows is square.
func GramFiles(ctx context.Context, spec config.Spec) (train, test datasets.Source, errs param.FieldErrors) {
	add := func(path, file, format string, args ...any) {
		errs = append(errs, spec.Locate(path, param.FieldError{Problem: file + ": " + fmt.Sprintf(format, args...)}))
	}
	gram := spec.Data.Gram
	for _, part := range []struct {
		path, file string
		to         *datasets.Source
	}{{"data.gram.train", gram.Train, &train}, {"data.gram.test", gram.Test, &test}} {
		if part.file == "" {
			continue
		}
		source, err := npy.Options{FS: spec.Data.FS}.Open(ctx, part.file)
		if err != nil {
			errs = append(errs, FieldErrors(spec, part.path, files.Tell(err))...)
			continue
		}
		for _, c := range source.Schema().Columns {
			if c.Kind != datasets.Numeric {
				add(part.path, part.file, "must be a matrix of numbers, got column %s of strings", c.Name)
				source = nil
				break
			}
		}
		*part.to = source
	}
	if train == nil {
		return train, test, errs
	}
	if n, cols := train.Dims(); n != cols {
		add("data.gram.train", gram.Train, "the Gram matrix must be square, got %d×%d", n, cols)
	}
	return train, test, errs
}

// openGram returns the training and test rows with Gram matrices as their inputs.
func openGram(ctx context.Context, spec config.Spec, train, test datasets.Source) (datasets.Source, datasets.Source,
	error) {
	gram, testGram, errs := GramFiles(ctx, spec)
	from, testFrom := spec.Data.Where()
	trained := -1 // rows of the training file
	for _, part := range []struct {
		path, file, rows, of string
		gram                 datasets.Source
		to                   *datasets.Source
	}{
		{"data.gram.train", spec.Data.Gram.Train, "data.train", from.String(), gram, &train},
		{"data.gram.test", spec.Data.Gram.Test, "data.test", testFrom.String(), testGram, &test},
	} {
		if *part.to == nil {
			continue
		}
		rows, err := datasets.ReadAll(ctx, rowsource.DropInputs(*part.to))
		if err != nil {
			return nil, nil, ErrorOf(ctx, spec, part.rows, err)
		}
		var skipped []int
		if s, ok := (*part.to).(rowsource.FilteredSource); ok {
			skipped = s.SkippedRows()
		}
		all := rows.Rows() + len(skipped)
		if trained < 0 {
			trained = all
		}
		if part.gram == nil {
			continue
		}
		add := func(format string, args ...any) {
			f := param.FieldError{Problem: part.file + ": " + fmt.Sprintf(format, args...)}
			errs = append(errs, spec.Locate(part.path, f))
		}
		n, cols := part.gram.Dims()
		if n != all {
			add("must have a row for each of the %d rows of %s, got %d×%d", all, part.of, n, cols)
		}
		if part.rows == "data.test" && cols != trained {
			add("must have a column for each of the %d rows of %s, got %d×%d", trained, from, n, cols)
		}
		if errs != nil {
			continue
		}
		var of datasets.Set
		if err = memory.Check(8 * int64(n) * int64(cols)); err == nil {
			of, err = datasets.ReadAll(ctx, part.gram)
		}
		if err == nil {
			err = checkGram(ctx, of.X.(*mat.Dense), part.rows == "data.train")
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, ctxerr.Check(ctx)
			}
			errs = append(errs, FieldErrors(spec, part.path, fmt.Errorf("%s: %w", part.file, err))...)
			continue
		}
		*part.to = gramSource{withGram(rows, of, skipped).Source(), skipped}
	}
	return train, test, errs.Err()
}

// checkGram checks the values of a Gram matrix, and that one of training rows is symmetric.
func checkGram(ctx context.Context, gram *mat.Dense, symmetric bool) error {
	n, _ := gram.Dims()
	for i := range n {
		for j, v := range gram.RawRowView(i) {
			if v-v != 0 {
				return fmt.Errorf("must be finite, got %v in row %d, column %d", v, i, j)
			}
		}
	}
	if !symmetric {
		return ctxerr.Check(ctx)
	}
	return pairwise.CheckSymmetric(ctx, gram, nil)
}

// withGram returns rows with a Gram matrix as their inputs, without its skipped rows. The columns of the
// others are found by their row numbers.
func withGram(rows, gram datasets.Set, skipped []int) datasets.Set {
	if len(skipped) > 0 {
		var kept []int
		for i := range gram.Rows() {
			if _, skip := slices.BinarySearch(skipped, i); !skip {
				kept = append(kept, i)
			}
		}
		gram = gram.Select(kept)
	}
	columns := gram.Schema.Columns
	gram.Y, gram.Targets, gram.Weights, gram.Groups, gram.Schema = rows.Y, rows.Targets, rows.Weights, rows.Groups,
		rows.Schema
	gram.Schema.Columns = columns
	return gram
}

// gramSource is a source in memory of a file of which it skips some rows.
type gramSource struct {
	datasets.Source
	skipped []int
}

// InMemory returns the rows.
func (s gramSource) InMemory() (datasets.Set, bool) { return datasets.InMemory(s.Source) }

// SkippedRows returns the rows of the file that are left out.
func (s gramSource) SkippedRows() []int { return s.skipped }
