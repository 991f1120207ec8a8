package matrices_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// random returns a matrix of which a third of the entries are not zero.
func random(rows, cols int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(int, int, float64) float64 {
		if rng.IntN(3) > 0 {
			return 0
		}
		return rng.NormFloat64()
	}, m)
	return m
}

// ones returns m's pattern with one shared value.
func ones(t *testing.T, m *matrices.CSR, value float64) *matrices.CSR {
	t.Helper()
	rows, cols := m.Dims()
	indptr, indices, _ := m.Raw()
	out, err := matrices.NewSharedCSR(rows, cols, indptr, indices, value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDense: a CSR has the entries of its dense matrix, by every method of access.
func TestDense(t *testing.T) {
	want := random(17, 9, 1)
	want.SetRow(4, make([]float64, 9))
	want.Set(5, 3, math.NaN())
	m := matrices.CSRFromDense(want)
	if r, c := m.Dims(); r != 17 || c != 9 {
		t.Fatalf("%d×%d", r, c)
	}
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	nnz := 0
	dense := m.Dense()
	for i := range 17 {
		columns, values := m.Row(i)
		row := make([]float64, 9)
		for k, j := range columns {
			row[j] = values[k]
		}
		nnz += len(columns)
		for j := range 9 {
			w := want.At(i, j)
			if !same(m.At(i, j), w) || !same(row[j], w) || !same(dense.At(i, j), w) || !same(m.T().At(j, i), w) {
				t.Fatalf("entry %d, %d: %v, %v, %v, %v; want %v", i, j, m.At(i, j), row[j], dense.At(i, j), m.T().At(j, i), w)
			}
		}
	}
	if m.NNZ() != nnz {
		t.Errorf("%d entries, rows have %d", m.NNZ(), nnz)
	}
	if _, ok := m.Shared(); ok {
		t.Error("the entries differ and are called shared")
	}
}

func TestShared(t *testing.T) {
	m := matrices.CSRFromDense(random(6, 5, 2))
	s := ones(t, m, 2.5)
	if v, ok := s.Shared(); !ok || v != 2.5 {
		t.Errorf("shared value %v, %v", v, ok)
	}
	for i := range 6 {
		columns, values := s.Row(i)
		if values != nil {
			t.Fatal("a shared row has values")
		}
		for range columns {
		}
		for j := range 5 {
			want := 0.0
			if m.At(i, j) != 0 {
				want = 2.5
			}
			if s.At(i, j) != want || s.Dense().At(i, j) != want {
				t.Errorf("entry %d, %d: %v, want %v", i, j, s.At(i, j), want)
			}
		}
	}
}

// TestRows checks that Slice and Select equal those of the dense matrix, and that Concat inverts
// them.
func TestRows(t *testing.T) {
	dense := random(20, 6, 3)
	plain := matrices.CSRFromDense(dense)
	for name, m := range map[string]*matrices.CSR{"values": plain, "shared": ones(t, plain, -3)} {
		all := m.Dense()
		for _, c := range [][2]int{{0, 20}, {0, 7}, {7, 20}, {5, 6}, {9, 9}} {
			lo, hi := c[0], c[1]
			s := m.Slice(lo, hi)
			if r, _ := s.Dims(); r != hi-lo {
				t.Fatalf("%s: %d rows, want %d", name, r, hi-lo)
			}
			if hi > lo && !mat.Equal(s, all.Slice(lo, hi, 0, 6)) {
				t.Errorf("%s: rows %d to %d differ", name, lo, hi)
			}
			if hi > lo+2 && !mat.Equal(s.Slice(1, hi-lo-1), all.Slice(lo+1, hi-1, 0, 6)) {
				t.Errorf("%s: a slice of rows %d to %d differs", name, lo, hi)
			}
		}
		rows := []int{3, 3, 19, 0}
		picked := m.Select(rows)
		for k, i := range rows {
			for j := range 6 {
				if picked.At(k, j) != all.At(i, j) {
					t.Fatalf("%s: row %d is not row %d", name, k, i)
				}
			}
		}
		row := slices.Repeat([]float64{5}, 6) // RowTo overwrites all elements
		for i := range 20 {
			if m.RowTo(row, i); !slices.Equal(row, all.RawRowView(i)) {
				t.Fatalf("%s: row %d is %v", name, i, row)
			}
		}
		whole := m.Slice(0, 4).Append(m.Slice(4, 4), m.Slice(4, 20))
		if !mat.Equal(whole, all) {
			t.Errorf("%s: the stack of the parts differs", name)
		}
		_, was := m.Shared()
		if _, is := whole.Shared(); is != was {
			t.Errorf("%s: shared %v became %v", name, was, is)
		}
	}
	mixed := plain.Append(ones(t, plain, 1), ones(t, plain, 2))
	for i := range 20 {
		for j := range 6 {
			if p := plain.At(i, j); mixed.At(i, j) != p || p != 0 && (mixed.At(20+i, j) != 1 || mixed.At(40+i, j) != 2) {
				t.Fatalf("entry %d, %d of a mixed stack", i, j)
			}
		}
	}
	two := ones(t, plain, 1).Append(ones(t, plain, 2))
	if _, ok := two.Shared(); ok {
		t.Error("two values are called shared")
	}
}

func TestSelectAllocates(t *testing.T) {
	m := matrices.CSRFromDense(random(100, 10, 4))
	rows := []int{1, 50, 99}
	if n := testing.AllocsPerRun(20, func() { m.Select(rows) }); n > 4 {
		t.Errorf("%v allocations, want at most 4", n)
	}
	if n := testing.AllocsPerRun(20, func() { m.Slice(0, 50) }); n > 1 {
		t.Errorf("%v allocations for the first rows, want 1", n)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		rows, cols int
		indptr     []int
		indices    []uint32
		values     []float64
		want       string
	}{
		{2, 3, []int{0, 1, 2}, []uint32{0, 2}, []float64{1}, "matrices: values must have length 2, as indices, got 1"},
		{2, 3, []int{0, 1}, []uint32{0}, []float64{1}, "matrices: indptr must describe 2 rows and 1 entries"},
		{2, 3, nil, nil, nil, "matrices: indptr must describe 2 rows and 0 entries"},
		{1, 3, []int{1, 1}, []uint32{0}, []float64{1}, "matrices: indptr must describe 1 rows and 1 entries"},
		{1, 3, []int{0, 2}, []uint32{0}, []float64{1}, "matrices: indptr must describe 1 rows and 1 entries"},
		{2, 3, []int{0, 2, 1}, []uint32{0}, []float64{1}, "matrices: indptr of row 0 must ascend, got 0 and 2"},
		{3, 3, []int{0, 1, 0, 1}, []uint32{0}, []float64{1}, "matrices: indptr of row 1 must ascend, got 1 and 0"},
		{1, 3, []int{0, 1}, []uint32{3}, []float64{1}, "matrices: row 0: columns must be below 3, got 3"},
		{1, 3, []int{0, 2}, []uint32{1, 1}, []float64{1, 2}, "matrices: row 0: columns must ascend, got 1 after 1"},
		{-1, 3, nil, nil, nil, "matrices: invalid dimensions -1×3"},
	} {
		_, err := matrices.NewCSR(c.rows, c.cols, c.indptr, c.indices, c.values)
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if len(c.values) == len(c.indices) {
			if _, err := matrices.NewSharedCSR(c.rows, c.cols, c.indptr, c.indices, 1); err == nil || err.Error() != c.want {
				t.Errorf("shared: error %v, want %s", err, c.want)
			}
		}
	}
	if _, err := matrices.NewSharedCSR(0, 1, []int{0}, nil, math.NaN()); err == nil || err.Error() != "matrices: scale must "+
		"be finite, got NaN" {
		t.Error(err)
	}
}

// At panics out of range, as every mat.Matrix.
func TestAtPanics(t *testing.T) {
	m := matrices.CSRFromDense(random(2, 2, 5))
	for _, c := range []struct {
		i, j int
		want error
	}{{2, 0, mat.ErrRowAccess}, {-1, 0, mat.ErrRowAccess}, {0, 2, mat.ErrColAccess}, {0, -1, mat.ErrColAccess}} {
		func() {
			defer func() {
				if r := recover(); r != c.want {
					t.Errorf("At(%d, %d): %v, want %v", c.i, c.j, r, c.want)
				}
			}()
			m.At(c.i, c.j)
		}()
	}
}

func TestEmpty(t *testing.T) {
	m, err := matrices.NewCSR(0, 4, []int{0}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, c := m.Dims(); r != 0 || c != 4 || m.NNZ() != 0 || !m.Dense().IsEmpty() {
		t.Errorf("%d×%d, %d entries", r, c, m.NNZ())
	}
}

func ExampleNewCSR() {
	// Row 0 is (0, 2, 0), row 1 is (1, 0, 3).
	m, err := matrices.NewCSR(2, 3, []int{0, 1, 3}, []uint32{1, 0, 2}, []float64{2, 1, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	columns, values := m.Row(1)
	fmt.Println(columns, values, m.At(0, 1))
	// Output: [0 2] [1 3] 2
}
