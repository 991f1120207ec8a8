package design

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// blocks is a source that yields a set in blocks of a given size.
type blocks struct {
	datasets.Set
	size int
}

func (b blocks) Schema() datasets.Schema { return b.Set.Schema }
func (b blocks) Dims() (rows, cols int)  { return -1, b.Cols() }

func (b blocks) Blocks(_ context.Context, yield func(datasets.Set) error) error {
	for lo := 0; lo < b.Rows(); lo += b.size {
		if err := yield(b.Slice(lo, min(lo+b.size, b.Rows()))); err != nil {
			return err
		}
	}
	return nil
}

// other hides the type of a matrix.
type other struct{ mat.Matrix }

// kinds returns the same float32-representable rows in every storage. Some entries are 0; the
// others are equal if shared.
func kinds(t *testing.T, n, d int, shared bool) map[string]mat.Matrix {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	dense, short := mat.NewDense(n, d, nil), matrices.NewDense32(n, d, nil)
	for i := range n {
		for j := range d {
			v := float64(random.IntN(3)-1) * float64(random.IntN(7))
			if shared && v != 0 {
				v = 0.75
			}
			dense.Set(i, j, v)
			short.Row(i)[j] = float32(v)
		}
	}
	csr := matrices.CSRFromDense(dense)
	out := map[string]mat.Matrix{"dense": dense, "float32": short, "sparse": csr, "another kind": other{dense}}
	if shared {
		indptr, indices, _ := csr.Raw()
		one, err := matrices.NewSharedCSR(n, d, indptr, indices, 0.75)
		if err != nil {
			t.Fatal(err)
		}
		out["shared"] = one
	}
	return out
}

// collected reads all rows the given number of times, and their targets.
func collected(t *testing.T, r *Rows, times int) (all, y []float64) {
	t.Helper()
	for range times {
		all, y = nil, nil
		err := r.Each(context.Background(), func(first int, block datasets.Set) error {
			if first*r.Cols != len(all) {
				t.Errorf("a block begins at row %d, want %d", first, len(all)/r.Cols)
			}
			row := make([]float64, r.Cols)
			for i := range block.Rows() {
				WriteRow(row, block.X, i)
				all = append(all, row...)
			}
			y = append(y, block.Y...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, y
}

// Rows of every kind, whether in memory, streamed, selected, cached or converted, yield the same
// data in every pass.
func TestEveryKindOfRowsIsTheSameRows(t *testing.T) {
	const n, d = 37, 5
	ctx := context.Background()
	var y []float64
	var odd []int
	for i := range n {
		y = append(y, float64(i))
		if i%2 == 1 {
			odd = append(odd, i)
		}
	}
	for _, shared := range []bool{false, true} {
		byKind := kinds(t, n, d, shared)
		want := DenseData(byKind["dense"].(*mat.Dense))
		for name, X := range byKind {
			data := datasets.Set{X: X, Y: y}
			whole, err := FromSet(data)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := FromSource(ctx, blocks{data, 7})
			if err != nil {
				t.Fatal(err)
			}
			gathered, err := stream.InMemory(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cached, err := stream.CacheSparse(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, is := X.(*matrices.CSR); stream.Sparse != is || (cached.Set != nil) != is {
				t.Errorf("%s: sparse %v, cached %v", name, stream.Sparse, cached.Set != nil)
			}
			if _, is := X.(*matrices.Dense32); stream.Float32 != is || whole.Float32 != is {
				t.Errorf("%s: float32 %v and %v", name, whole.Float32, stream.Float32)
			}
			for how, r := range map[string]*Rows{"whole": whole, "stream": stream, "gathered": gathered, "cached": cached,
				"widened": stream.ToFloat64(), "known": stream.WithRowCount(n), "selected": FromSelection(data, odd)} {
				all, targets := collected(t, r, 2)
				expected, of := want, y
				if how == "selected" {
					expected, of = nil, nil
					for _, i := range odd {
						expected, of = append(expected, want[i*d:(i+1)*d]...), append(of, y[i])
					}
				}
				if !slices.Equal(all, expected) || !slices.Equal(targets, of) {
					t.Errorf("%s, %s: rows %v with targets %v", name, how, all, targets)
				}
			}
			if _, err := stream.WithRowCount(n - 1).ReadLabels(ctx); err == nil {
				t.Errorf("%s: %d rows where there were %d before are no error", name, n, n-1)
			}
		}
	}
}

// AddSquares agrees for all kinds of rows.
func TestAddSquaresOfEveryKind(t *testing.T) {
	const n, d = 11, 4
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = float64(i) / 4
	}
	for _, shared := range []bool{false, true} {
		byKind := kinds(t, n, d, shared)
		delete(byKind, "another kind")
		want := slices.Repeat([]float64{1}, d)
		for i, s := range weights {
			for j := range d {
				v := byKind["dense"].At(i, j)
				want[j] += s * v * v
			}
		}
		for name, X := range byKind {
			got := slices.Repeat([]float64{1}, d)
			if AddSquares(got, X, weights); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

// MulT and AddTMul are matrix products, for few and many outputs.
func TestProjectAndCollect(t *testing.T) {
	const n, d = 9, 5
	byKind := kinds(t, n, d, false)
	X := byKind["dense"].(*mat.Dense)
	for _, k := range []int{1, 3, MinGEMMOutputs} {
		w := make([]float64, d*k) // outputs × cols, small integers, so that sums are exact
		for i := range w {
			w[i] = float64(i%5 - 2)
		}
		var scores, sums mat.Dense
		scores.Mul(X, mat.NewDense(k, d, w).T())
		sums.Mul(scores.T(), X)
		got, out := make([]float64, n*k), make([]float64, k*d)
		MulT(got, View(X), w, make([]float64, n*k))
		AddTMul(out, View(X), got, make([]float64, (n+d)*k))
		if !slices.Equal(got, DenseData(&scores)) || !slices.Equal(out, DenseData(&sums)) {
			t.Errorf("%d outputs: %v and %v", k, got, out)
		}
		short, got32, out32 := make([]float32, len(w)), make([]float64, n*k), make([]float64, k*d)
		Round(short, w)
		small := ViewFloat32(byKind["float32"].(*matrices.Dense32))
		MulT(got32, small, short, make([]float32, n*k))
		AddTMul(out32, small, got32, make([]float32, (n+d)*k))
		if !slices.Equal(got32, got) || !slices.Equal(out32, out) {
			t.Errorf("%d outputs, float32: %v and %v", k, got32, out32)
		}
	}
}
