package bins

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/matrices"
)

// drawn returns grids of a kernel over all inputs or a few, hashed into some columns or not, over rows of which
// some are 0.
func drawn(t *testing.T, name string, few *Subsets, hashed int) (Map, *mat.Dense) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	X := mat.NewDense(tileRows+150, 4, nil)
	for i := range X.RawMatrix().Rows {
		row := X.RawRowView(i)
		row[0], row[1] = rng.Float64(), rng.Float64()
		row[2+rng.IntN(2)] = float64(rng.IntN(8) / 7)
	}
	k, _ := spectral.BinningKernel(name)
	m, err := Draw(context.Background(), k, 3, []float64{1, 2, 1, 0.5}, few, 19, hashed)
	if err != nil {
		t.Fatal(err)
	}
	return m, X
}

// grouped returns the distribution of sets of three inputs, the second of which has two separate
// columns.
func grouped(size int) *Subsets {
	s := NewSubsets([]float64{1, 2, 1}, size)
	s.Group = []int{1, 0, 1, 2}
	return s
}

func transformed(t *testing.T, m *Map, X mat.Matrix) *matrices.CSR {
	t.Helper()
	Z, err := m.Transform(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	return Z
}

func same(t *testing.T, what string, got, want *matrices.CSR) {
	t.Helper()
	n, width := want.Dims()
	if rows, cols := got.Dims(); rows != n || cols != width {
		t.Fatalf("%s: %d×%d, want %d×%d", what, rows, cols, n, width)
	}
	a, b := make([]float64, width), make([]float64, width)
	for i := range n {
		got.RowTo(a, i)
		want.RowTo(b, i)
		if !slices.Equal(a, b) {
			t.Fatalf("%s: row %d differs", what, i)
		}
	}
}

// Bin numbers do not depend on the form of the rows: all at once, in blocks, dense or sparse; a
// deserialized map is equal.
func TestWaysToNumberBins(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		few  *Subsets
	}{{"laplacian", nil}, {"smooth", nil}, {"laplacian", NewSubsets([]float64{1, 2, 1, 1}, 2)},
		{"smooth", NewSubsets([]float64{1, 2, 1, 1}, 3)},
		{"laplacian", grouped(1)}, {"smooth", grouped(2)}} {
		m, X := drawn(t, c.name, c.few, 0)
		thin := matrices.CSRFromDense(X)
		atOnce := m
		columns, err := atOnce.NumberRows(ctx, X, 2)
		if err != nil {
			t.Fatal(err)
		}
		want, err := atOnce.Features(ctx, X, columns)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := X.Dims()
		counts := m.Counts()
		for _, block := range []mat.Matrix{thin.Slice(0, 30), X.Slice(30, 31, 0, 4), X.Slice(31, n, 0, 4)} {
			if err := counts.Add(ctx, block); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Number(ctx, counts, 2); err != nil {
			t.Fatal(err)
		}
		same(t, "block by block", transformed(t, &m, X), want)
		same(t, "sparse", transformed(t, &m, thin), want)
		few := want.Slice(40, 43) // hashed individually
		same(t, "few rows", transformed(t, &m, X.Slice(40, 43, 0, 4)), few)
		same(t, "few sparse rows", transformed(t, &m, thin.Slice(40, 43)), few)
		again := Map{Grids: m.Grids, Smooth: m.Smooth, Gamma: m.Gamma, Inputs: m.Inputs, Group: m.Group, Base: m.Base,
			Shift: m.Shift, Multipliers: m.Multipliers, First: m.First}
		if err := again.Restore(m.Hashes()); err != nil {
			t.Fatal(err)
		}
		same(t, "recomputed", transformed(t, &again, X), want)
		hashes, p := m.Hashes(), 0
		for m.First[p+1]-m.First[p] < 2 {
			p++
		}
		hashes[m.First[p]+1] = hashes[m.First[p]]
		if err := again.Restore(hashes); err == nil {
			t.Error("two bins of one hash are taken")
		}
	}
}

// TestHashedColumns checks that two rows share a hashed column of a grid if they share a bin, and
// rarely otherwise; that grids have disjoint columns; and that the leading grids equal the smaller
// map.
func TestHashedColumns(t *testing.T) {
	for _, few := range []*Subsets{nil, NewSubsets([]float64{1, 1, 1, 1}, 2), grouped(2)} {
		hashedColumns(t, few)
	}
}

func hashedColumns(t *testing.T, few *Subsets) {
	exact, X := drawn(t, "triangular", few, 0)
	if _, err := exact.NumberRows(context.Background(), X, 1); err != nil {
		t.Fatal(err)
	}
	hashed, _ := drawn(t, "triangular", few, 19<<24)
	a, b := transformed(t, &exact, X), transformed(t, &hashed, X)
	n, _ := X.Dims()
	column := map[uint32]uint32{} // hashed of exact
	for i := range n {
		from, _ := a.Row(i)
		to, _ := b.Row(i)
		for p, c := range from {
			if at, ok := column[c]; ok && at != to[p] {
				t.Fatalf("rows of bin %d have the columns %d and %d", c, at, to[p])
			}
			if column[c] = to[p]; int(to[p]) < hashed.First[p] || int(to[p]) >= hashed.First[p+1] {
				t.Fatalf("column %d of grid %d", to[p], p)
			}
		}
	}
	different := map[uint32]bool{}
	for _, c := range column {
		different[c] = true
	}
	if len(different) != len(column) {
		t.Errorf("%d bins in %d columns of %d", len(column), len(different), hashed.Width())
	}
	for _, m := range []Map{exact, hashed} {
		few, err := m.FirstGrids(4)
		if err != nil {
			t.Fatal(err)
		}
		long, short := transformed(t, &m, X), transformed(t, &few, X)
		for i := range n {
			x, _ := long.Row(i)
			y, _ := short.Row(i)
			if !slices.Equal(x[:4], y) || len(y) > 0 && int(y[3]) >= few.Width() {
				t.Fatalf("row %d: columns %v, of the first 4 grids %v", i, x, y)
			}
		}
	}
}

// A grid of a few inputs has the bins of a grid over these columns only.
func TestGridsOfAFewInputs(t *testing.T) {
	m, X := drawn(t, "laplacian", NewSubsets([]float64{1, 2, 1, 1}, 2), 19<<24)
	Z := transformed(t, &m, X)
	n, _ := X.Dims()
	drawn := map[int]bool{}
	for p := range m.Grids {
		set := m.Inputs[2*p : 2*p+2]
		drawn[set[0]], drawn[set[1]] = true, true
		type key [2]uint64
		columns := map[key]uint32{}
		seen := map[uint32]key{}
		for i := range n {
			var at key
			for s, j := range set {
				at[s] = bin(X.At(i, j), m.Base[2*p+s]*m.Gamma[j], m.Shift[2*p+s])
			}
			row, _ := Z.Row(i)
			if c, ok := columns[at]; ok && c != row[p] {
				t.Fatalf("grid %d: rows of one bin of inputs %v are apart", p, set)
			}
			if other, ok := seen[row[p]]; ok && other != at {
				t.Fatalf("grid %d: rows of two bins of inputs %v are together", p, set)
			}
			columns[at], seen[row[p]] = row[p], at
		}
	}
	if len(drawn) != 4 {
		t.Errorf("only %v are drawn", drawn)
	}
}

// TestGridsOfInputsOfSeveralColumns checks that all columns of an input are used together, with
// separate pitches.
func TestGridsOfInputsOfSeveralColumns(t *testing.T) {
	m, X := drawn(t, "laplacian", grouped(1), 19<<24)
	Z := transformed(t, &m, X)
	n, _ := X.Dims()
	pitches := 0
	for p := range m.Grids {
		columns := m.Columns(p)
		if want := [][]int{{1}, {0, 2}, {3}}[m.Inputs[p]]; !slices.Equal(columns, want) {
			t.Fatalf("grid %d of input %d uses the columns %v", p, m.Inputs[p], columns)
		}
		seen, at := map[[2]uint64]uint32{}, [2]uint64{}
		for i := range n {
			for s, j := range columns {
				at[s] = bin(X.At(i, j), m.Base[pitches+s]*m.Gamma[j], m.Shift[pitches+s])
			}
			row, _ := Z.Row(i)
			if c, ok := seen[at]; ok && c != row[p] {
				t.Fatalf("grid %d: rows of one bin of the columns %v are apart", p, columns)
			}
			seen[at] = row[p]
		}
		pitches += len(columns)
	}
	if pitches != len(m.Base) || m.Most() != 2 {
		t.Errorf("%d pitches, want %d; %d columns at most", len(m.Base), pitches, m.Most())
	}
	m.Base = m.Base[1:]
	if err := m.Restore(nil); err == nil {
		t.Error("no error for a missing pitch")
	}
}

// The table agrees with a Go map, numbered by the number of rows, then by hash.
func TestTableAgainstMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var pool []uint64
	for range 900 {
		pool = append(pool, rng.Uint64())
	}
	counts, counting := map[uint64]uint32{}, table{}
	for range 40 {
		some := make([]uint64, 100)
		for i := range some {
			some[i] = pool[int(float64(len(pool))*rng.Float64()*rng.Float64()*rng.Float64())]
			counts[some[i]]++
		}
		counting.count(some)
	}
	for _, least := range []uint32{1, 3, 1 << 30} {
		var want []uint64
		for h, n := range counts {
			if n >= least {
				want = append(want, h)
			}
		}
		size := func(h uint64) (bits int) {
			for n := counts[h]; n > 0; n /= 2 {
				bits++
			}
			return bits
		}
		slices.SortFunc(want, func(a, b uint64) int {
			if size(a) != size(b) {
				return size(b) - size(a)
			}
			if a < b {
				return -1
			}
			return 1
		})
		settled, _ := counting.settle(least)
		if got := settled.list(); !slices.Equal(got, want) {
			t.Fatalf("%d hashes with %d rows, want %d, or in another order", len(got), least, len(want))
		}
		for _, h := range append(slices.Clone(pool), 12345) {
			look := []uint64{h}
			settled.find(look)
			at := slices.Index(want, h)
			if at < 0 && look[0] != missingBin || at >= 0 && look[0] != uint64(at) {
				t.Fatalf("hash %x has the number %d, want %d", h, look[0], at)
			}
		}
	}
	crowd := make([]uint64, 3000) // all at one place
	for i := range crowd {
		crowd[i] = uint64(i + 1)
	}
	if new(table).of(crowd) {
		t.Error("hashes that crowd are taken")
	}
}
