package datasets_test

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
)

// counted is rows of two columns, of which some values are missing.
func counted(n int) datasets.Set {
	out := datasets.Set{X: mat.NewDense(n, 2, nil), Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "a"}, {Name: "k", Kind: datasets.Categorical, Levels: []string{"x", "y"}}}, Targets: []datasets.Column{{Name: "t"}}}}
	for i := range n {
		out.X.(*mat.Dense).SetRow(i, []float64{float64(i), float64(i % 2)})
		out.Y = append(out.Y, float64(-i))
	}
	return out
}

// Sources of consecutive rows, stacked, are the source of all of them, block for block, and may begin anywhere.
func TestStackSources(t *testing.T) {
	all := counted(9000)
	var parts []datasets.Source
	for lo, k := 0, 0; lo < 9000; k++ {
		hi := min(lo+[]int{1, 2048, 700, 5000, 0, 17}[k%6], 9000)
		if hi > lo {
			parts = append(parts, all.Slice(lo, hi).Source())
		}
		lo = hi
	}
	src, err := datasets.StackSources(parts...)
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, src)
	got, err := datasets.Gather(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Equal(t, got, all)
	sizes := func(s datasets.Source) (out []int) {
		if err := s.Blocks(context.Background(), func(b datasets.Set) error { out = append(out, b.Rows()); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if a, b := sizes(src), sizes(all.Source()); !slices.Equal(a, b) {
		t.Errorf("blocks of %d, wanted %d", a, b)
	}
	for _, from := range []int{0, 1, 2, 2049, 7749, 8999} {
		next := from
		err := src.(datasets.Seeker).BlocksFrom(context.Background(), from, func(b datasets.Set) error {
			for i := range b.Rows() {
				if b.X.At(i, 0) != float64(next) || b.Y[i] != float64(-next) {
					t.Fatalf("from %d: %v in place of row %d", from, b.X.At(i, 0), next)
				}
				next++
			}
			return nil
		})
		if err != nil || next != 9000 {
			t.Errorf("from %d: up to %d, %v", from, next, err)
		}
	}
}

// Sources that do not go together are refused.
func TestStackSourcesRefuses(t *testing.T) {
	a := counted(3)
	other := func(change func(s *datasets.Schema)) datasets.Source {
		s := a
		s.Schema.Columns, s.Schema.Targets = slices.Clone(a.Schema.Columns), slices.Clone(a.Schema.Targets)
		change(&s.Schema)
		return s.Source()
	}
	narrow := datasets.Set{X: mat.NewDense(1, 1, nil)}
	for want, src := range map[string]datasets.Source{
		`datasets: 2 columns, then 1 in source 1`:                     narrow.Source(),
		`datasets: source 1: column 0 is "b", wanted "a"`:             other(func(s *datasets.Schema) { s.Columns[0].Name = "b" }),
		`datasets: source 1: column k is numeric, wanted categorical`: other(func(s *datasets.Schema) { s.Columns[1].Kind = datasets.Numeric }),
		`datasets: source 1: column k has other categories`:           other(func(s *datasets.Schema) { s.Columns[1].Levels = []string{"y", "x"} }),
		`datasets: source 1: target: 0 columns are named, wanted 1`:   other(func(s *datasets.Schema) { s.Targets = nil }),
	} {
		if _, err := datasets.StackSources(a.Source(), src); err == nil || err.Error() != want {
			t.Errorf("%v, wanted %s", err, want)
		}
	}
	if _, err := datasets.StackSources(); err == nil {
		t.Error("no sources are stacked")
	}
}
