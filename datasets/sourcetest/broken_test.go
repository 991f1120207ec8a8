package sourcetest

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// notes is a testing.TB that records whether a check failed.
type notes struct {
	testing.TB
	failed bool
}

func (n *notes) Helper()               {}
func (n *notes) Error(...any)          { n.failed = true }
func (n *notes) Errorf(string, ...any) { n.failed = true }
func (n *notes) Fatal(...any)          { n.failed = true; runtime.Goexit() }
func (n *notes) Fatalf(string, ...any) { n.failed = true; runtime.Goexit() }

// breaks reports whether src fails a check.
func breaks(l check, src datasets.Source, all datasets.Set) bool {
	n := &notes{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.hold(n, src, all)
	}()
	<-done
	return n.failed
}

// rows is 50 rows of two columns, some of them without a value.
func rows() datasets.Set {
	set := datasets.Set{X: mat.NewDense(50, 2, nil), Y: make([]float64, 50), Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "a"}, {Name: "b", Kind: datasets.Categorical, Categories: []string{"u", "v"}}}}}
	for i := range set.Y {
		set.Y[i] = float64(i)
		set.X.(*mat.Dense).SetRow(i, []float64{math.Sqrt(float64(i)), float64(i%3 - 1)})
	}
	set.X.(*mat.Dense).Set(7, 0, math.NaN())
	return set
}

// tape returns the rows as blocks of ten, all in the same arrays, and violates the given invariant.
type tape struct {
	set    datasets.Set
	breaks string
	passes *int
	shared []float64 // of all passes
}

func (s tape) Schema() datasets.Schema { return s.set.Schema }

func (s tape) Dims() (n, cols int) {
	if s.breaks == "size" {
		return s.set.Rows() + 1, s.set.Cols()
	}
	return -1, s.set.Cols()
}

func (s tape) ScanContent(ctx context.Context) ([]datasets.ColumnContent, error) {
	out, err := datasets.ScanContent(ctx, s.set.Source())
	if s.breaks == "survey" {
		out[0].Missing = nil
	}
	return out, err
}

func (s tape) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	*s.passes++
	x := make([]float64, 20)
	if s.breaks == "at once" {
		x = s.shared
	}
	last := s.set.Rows()
	// the last block is forgotten
	if s.breaks == "subset" && *s.passes > 2 || s.breaks == "prefetch" && ctx.Done() != nil {
		last -= 10
	}
	for lo := 0; lo < last; lo += 10 {
		if s.breaks != "cancel" && ctx.Err() != nil {
			return ctx.Err()
		}
		block := s.set.Slice(lo, lo+10)
		block.Y = slices.Clone(block.Y)
		n := block.Rows()
		X := mat.NewDense(n, 2, x[:2*n])
		X.Copy(block.X)
		block.X = X
		if s.breaks == "again" && *s.passes > 1 {
			X.Set(0, 1, 1-X.At(0, 1))
		}
		if err := yield(block); err != nil && s.breaks != "error" {
			return err
		}
	}
	return nil
}

// Every property passes for correct code and fails for broken code.
func TestChecksDetectViolations(t *testing.T) {
	all := rows()
	for _, l := range checks {
		if src := (tape{set: all, passes: new(int)}); breaks(l, src, all) {
			t.Errorf("%s: a source that keeps the law fails", l.name)
		}
		if src := (tape{set: all, breaks: l.name, passes: &[]int{1}[0], shared: make([]float64, 20)}); !breaks(l, src, all) {
			t.Errorf("%s: a source that breaks the law passes", l.name)
		}
	}
}
