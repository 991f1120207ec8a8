// Package sourcetest holds the laws that every datasets.Source keeps, as a test.
package sourcetest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
)

// Run tests that src can be read again, says its size, stops at an error and when it is cancelled,
// lets two readers work at once, and reads the same through Prefetch and Subset.
func Run(t *testing.T, src datasets.Source) {
	t.Helper()
	ctx := context.Background()
	all := gather(t, src)
	if err := all.Check(); err != nil {
		t.Fatal(err)
	}
	t.Run("size", func(t *testing.T) {
		rows, cols := src.Dims()
		if cols != all.Cols() || rows >= 0 && rows != all.Rows() {
			t.Errorf("Dims is %d×%d, the blocks are %d×%d", rows, cols, all.Rows(), all.Cols())
		}
		if columns := src.Schema().Columns; columns != nil && len(columns) != cols {
			t.Errorf("%d columns in the schema, %d in the blocks", len(columns), cols)
		}
	})
	t.Run("again", func(t *testing.T) { Equal(t, gather(t, src), all) })
	t.Run("prefetch", func(t *testing.T) { Equal(t, gather(t, datasets.Prefetch(src)), all) })
	t.Run("at once", func(t *testing.T) {
		err := src.Blocks(ctx, func(outer datasets.Set) error {
			before := outer.X.At(0, 0)
			defer func() {
				if v := outer.X.At(0, 0); v != before && !(math.IsNaN(v) && math.IsNaN(before)) {
					t.Error("a second reader changed the first one's block")
				}
			}()
			Equal(t, gather(t, src), all)
			return errStop
		})
		if err != errStop {
			t.Error(err)
		}
	})
	t.Run("subset", func(t *testing.T) { testSubset(t, src, all) })
	t.Run("error", func(t *testing.T) {
		for _, s := range []datasets.Source{src, datasets.Prefetch(src)} {
			calls := 0
			err := s.Blocks(ctx, func(datasets.Set) error { calls++; return errStop })
			if err != errStop || calls != 1 {
				t.Errorf("%d blocks after an error, and %v", calls-1, err)
			}
		}
	})
	t.Run("cancel", func(t *testing.T) {
		done, cancel := context.WithCancel(ctx)
		cancel()
		for _, s := range []datasets.Source{src, datasets.Prefetch(src)} {
			err := s.Blocks(done, func(datasets.Set) error { return nil })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled reading returns %v", err)
			}
		}
	})
}

var errStop = errors.New("stop")

func testSubset(t *testing.T, src datasets.Source, all datasets.Set) {
	rng := uint32(1)
	var rows []int
	for i := range all.Rows() {
		if rng = rng*1664525 + 1013904223; rng>>30 != 0 {
			rows = append(rows, i)
		}
	}
	sub, err := datasets.Subset(src, rows)
	if err != nil {
		t.Fatal(err)
	}
	want := all.Select(rows)
	Equal(t, gather(t, sub), want)
	if a, b := blocks(t, sub), blocks(t, want.Source()); !slices.Equal(a, b) {
		t.Errorf("blocks of %d rows, those of the same rows in memory have %d", a, b)
	}
}

// gather copies all blocks of src.
func gather(t *testing.T, src datasets.Source) datasets.Set {
	t.Helper()
	set, err := datasets.Gather(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// blocks returns the number of rows of each block.
func blocks(t *testing.T, src datasets.Source) []int {
	t.Helper()
	var sizes []int
	err := src.Blocks(context.Background(), func(b datasets.Set) error {
		sizes = append(sizes, b.Rows())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sizes
}

// Equal fails the test where got and want differ in a bit; a missing value equals another.
func Equal(t *testing.T, got, want datasets.Set) {
	t.Helper()
	if got.Rows() != want.Rows() || got.Cols() != want.Cols() {
		t.Fatalf("%d×%d, wanted %d×%d", got.Rows(), got.Cols(), want.Rows(), want.Cols())
	}
	for i := range want.Rows() {
		for j := range want.Cols() {
			if a, b := got.X.At(i, j), want.X.At(i, j); a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
				t.Fatalf("row %d, column %s: %v, wanted %v", i, want.Schema.Name(j), a, b)
			}
		}
	}
	if !slices.Equal(got.Y, want.Y) || !slices.Equal(got.Weights, want.Weights) || !slices.Equal(got.Groups, want.Groups) {
		t.Fatal("targets, weights or groups differ")
	}
	if !slices.EqualFunc(got.Kept, want.Kept, slices.Equal) {
		t.Fatal("kept columns differ")
	}
	if (got.Targets == nil) != (want.Targets == nil) {
		t.Fatal("one has several targets")
	}
	if want.Targets != nil && !slices.Equal(got.Targets.RawMatrix().Data, want.Targets.RawMatrix().Data) {
		t.Fatal("targets differ")
	}
}
