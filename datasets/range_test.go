package datasets_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/settest"
)

// TestRange checks that a range has the rows of the set, whatever the blocks of the source, and
// that its blocks depend only on its start and the lengths of its runs.
func TestRange(t *testing.T) {
	set := randomSet(5000)
	for _, c := range []struct{ lo, hi, run int }{{0, 5000, 1000}, {0, 5001, 3000}, {1234, 4321, 700}, {4999, 9000, 1},
		{0, 0, 5}, {5000, 6000, 5}} {
		hi := min(c.hi, 5000)
		var sizes []int
		for _, step := range []int{1, 7, 1000, 2048, 5000} {
			r, err := rowsource.Range(chunks{set, step, 5000}, c.lo, c.hi, c.run)
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := r.Dims(); n != hi-c.lo {
				t.Errorf("%v: %d rows, want %d", c, n, hi-c.lo)
			}
			var own []int
			err = r.Blocks(context.Background(), func(block datasets.Set) error {
				own = append(own, block.Rows())
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if sizes == nil {
				sizes = own
			}
			if len(own) != len(sizes) {
				t.Fatalf("%v: in blocks of %d: %v, before: %v", c, step, own, sizes)
			}
			at := 0
			for k, n := range own {
				if n != sizes[k] || at/c.run != (at+n-1)/c.run {
					t.Errorf("%v: in blocks of %d: %v, before: %v", c, step, own, sizes)
				}
				at += n
			}
			if c.lo == hi {
				continue
			}
			got, err := datasets.ReadAll(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			settest.Equal(t, got, set.Slice(c.lo, hi))
		}
	}
	r, _ := rowsource.Range(chunks{set, 300, 5000}, 100, 4000, 1500)
	sourcetest.Run(t, r)
	if _, err := rowsource.Range(set.Source(), 3, 2, 1); err == nil {
		t.Error("an end before the beginning is no error")
	}
	r, _ = rowsource.Range(set.Source(), 10, 4000, 100)
	stop := errors.New("stop")
	if err := r.Blocks(context.Background(), func(datasets.Set) error { return stop }); err != stop {
		t.Errorf("the error of yield became %v", err)
	}
}
