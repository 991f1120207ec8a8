// Package sourcetest is a conformance test for implementations of datasets.Source.
package sourcetest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/panictest"
	"github.com/bochner-ml/bochner/internal/testing/settest"
)

// check is one property of every source, of which all are the rows.
type check struct {
	name string
	hold func(t testing.TB, src datasets.Source, all datasets.Set)
}

var checks = []check{
	{"size", testSize},
	{"again", testSecondPass},
	{"prefetch", testPrefetch},
	{"at once", testConcurrent},
	{"subset", testSubset},
	{"survey", testContent},
	{"error", testStop},
	{"cancel", testCancel},
}

// Run checks every invariant of src, each in a subtest: it can be read repeatedly and by two
// concurrent readers, declares its size, stops at errors and cancellation, is unchanged by Prefetch
// and Subset, and its content scan agrees with its blocks. A panic of the tested code is a
// failure of the subtest.
func Run(t *testing.T, src datasets.Source) {
	t.Helper()
	defer panictest.Report(t)
	all := gather(t, src)
	if err := all.Check(); err != nil {
		t.Fatal(err)
	}
	for _, l := range checks {
		t.Run(l.name, func(t *testing.T) {
			defer panictest.Report(t)
			l.hold(t, src, all)
		})
	}
}

// testSize checks that the declared number of rows is correct.
func testSize(t testing.TB, src datasets.Source, all datasets.Set) {
	rows, cols := src.Dims()
	if cols != all.Cols() || rows >= 0 && rows != all.Rows() {
		t.Errorf("Dims is %d×%d, the blocks are %d×%d", rows, cols, all.Rows(), all.Cols())
	}
	if columns := src.Schema().Columns; columns != nil && len(columns) != cols {
		t.Errorf("%d columns in the schema, %d in the blocks", len(columns), cols)
	}
}

// testSecondPass checks that a second pass reads the same rows as the first.
func testSecondPass(t testing.TB, src datasets.Source, all datasets.Set) {
	settest.Equal(t, gather(t, src), all)
}

// testPrefetch checks that a consumer may read blocks ahead.
func testPrefetch(t testing.TB, src datasets.Source, all datasets.Set) {
	settest.Equal(t, gather(t, rowsource.Prefetch(src)), all)
}

// testConcurrent checks that passes may overlap.
func testConcurrent(t testing.TB, src datasets.Source, all datasets.Set) {
	err := src.Blocks(context.Background(), func(outer datasets.Set) error {
		before := outer.X.At(0, 0)
		defer func() {
			if v := outer.X.At(0, 0); v != before && !(math.IsNaN(v) && math.IsNaN(before)) {
				t.Error("a second reader changed the first one's block")
			}
		}()
		settest.Equal(t, gather(t, src), all)
		return errStop
	})
	if err != errStop {
		t.Error(err)
	}
}

var errStop = errors.New("stop")

// testStop checks that an error of the reader ends the pass and is returned unchanged.
func testStop(t testing.TB, src datasets.Source, _ datasets.Set) {
	for _, s := range []datasets.Source{src, rowsource.Prefetch(src)} {
		calls := 0
		err := s.Blocks(context.Background(), func(datasets.Set) error { calls++; return errStop })
		if err != errStop || calls != 1 {
			t.Errorf("%d blocks after an error, and %v", calls-1, err)
		}
	}
}

// testCancel checks that no block is yielded after the context has ended.
func testCancel(t testing.TB, src datasets.Source, _ datasets.Set) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range []datasets.Source{src, rowsource.Prefetch(src)} {
		err := s.Blocks(done, func(datasets.Set) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled pass returns %v", err)
		}
	}
}

// testContent checks that the content scan of a source agrees with its blocks.
func testContent(t testing.TB, src datasets.Source, all datasets.Set) {
	got, err := datasets.ScanContent(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	want, err := datasets.ScanContent(context.Background(), all.Source())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("ScanContent returns %d columns, want %d", len(got), len(want))
	}
	for j := range want {
		name := all.Schema.Name(j)
		if got[j].Empty != want[j].Empty {
			t.Errorf("column %s: ScanContent has Empty %v, the blocks %v", name, got[j].Empty, want[j].Empty)
		}
		for what, spots := range map[string][2]*datasets.Position{"a missing value": {got[j].Missing, want[j].Missing},
			"an unknown category": {got[j].Unknown, want[j].Unknown}} {
			if (spots[0] == nil) != (spots[1] == nil) || spots[0] != nil && spots[0].Row != spots[1].Row {
				t.Errorf("column %s: the survey finds %s at %v, the blocks have it at %v", name, what, spots[0], spots[1])
			}
		}
	}
}

// testSubset checks that selected rows come in the same blocks as from memory.
func testSubset(t testing.TB, src datasets.Source, all datasets.Set) {
	rng := uint32(1)
	var rows []int
	for i := range all.Rows() {
		if rng = rng*1664525 + 1013904223; rng>>30 != 0 {
			rows = append(rows, i)
		}
	}
	sub, err := rowsource.Subset(src, rows)
	if err != nil {
		t.Fatal(err)
	}
	want := all.Select(rows)
	settest.Equal(t, gather(t, sub), want)
	if a, b := blocks(t, sub), blocks(t, want.Source()); !slices.Equal(a, b) {
		t.Errorf("blocks of %d rows, those of the same rows in memory have %d", a, b)
	}
}

// gather copies all blocks of src.
func gather(t testing.TB, src datasets.Source) datasets.Set {
	t.Helper()
	set, err := datasets.ReadAll(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// blocks returns the number of rows of each block.
func blocks(t testing.TB, src datasets.Source) []int {
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
