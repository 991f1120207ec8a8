package datasets_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// The hash folds of a set agree with Of, and have random sizes: chi-squared with 6 degrees of
// freedom exceeds 22.5 with probability 0.001.
func TestHashKFold(t *testing.T) {
	s := datasets.HashKFold{Folds: 7, Seed: 3}
	folds, err := s.Split(randomSet(7000))
	if err != nil {
		t.Fatal(err)
	}
	chi := 0.0
	for f, fold := range folds {
		for _, i := range fold.Test {
			if s.Of(i) != f {
				t.Fatalf("row %d is in fold %d, of reports %d", i, f, s.Of(i))
			}
		}
		if len(fold.Test)+len(fold.Train) != 7000 {
			t.Errorf("fold %d has %d and %d rows", f, len(fold.Train), len(fold.Test))
		}
		chi += math.Pow(float64(len(fold.Test))-1000, 2) / 1000
	}
	if chi > 22.5 {
		t.Errorf("chi-squared of the sizes is %v", chi)
	}
	if _, err := (datasets.HashKFold{Folds: 3}).Split(randomSet(2)); err == nil {
		t.Error("two rows in three folds")
	}
	if _, err := (datasets.HashKFold{Folds: 5}).Split(randomSet(6)); err == nil {
		t.Error("a fold without rows is no error")
	}
	other := datasets.HashKFold{Folds: 7, Seed: 4}
	same := 0
	for i := range 7000 {
		if other.Of(i) == s.Of(i) {
			same++
		}
	}
	if same < 800 || same > 1200 {
		t.Errorf("another seed puts %d of 7000 rows into the same fold, want about 1000", same)
	}
}

// Parts have the rows that of selects, in order, for any blocks of the source.
func TestPartition(t *testing.T) {
	set := randomSet(9000)
	fold := datasets.HashKFold{Folds: 3}
	of := func(row int) int { return fold.Of(row) - 1 }
	for _, step := range []int{1, 700, 2048, 9000} {
		got := make([][]datasets.Set, 2)
		err := rowsource.Partition(context.Background(), chunks{set, step, 9000}, 2, of,
			func(part int, block datasets.Set) error {
				got[part] = append(got[part], block.Select(rowsUpTo(block.Rows())))
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		for k, blocks := range got {
			var rows []int
			for i := range 9000 {
				if of(i) == k {
					rows = append(rows, i)
				}
			}
			all, err := datasets.Set{}.Append(blocks...)
			if err != nil {
				t.Fatal(err)
			}
			sourcetest.Equal(t, all, set.Select(rows))
			if slices.ContainsFunc(blocks[:len(blocks)-1], func(b datasets.Set) bool { return b.Rows() != rowblock.Size }) {
				t.Errorf("in steps of %d, blocks that are not full", step)
			}
		}
	}
	sourcetest.Run(t, rowsource.Filter(chunks{set, 300, 9000}, func(row int) bool { return of(row) == 1 }))
}

func rowsUpTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
