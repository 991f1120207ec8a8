package landmarks

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// factorBlock is the number of landmarks factorized at a time.
const factorBlock = 64

// factoring is a Cholesky factorization that leaves out rows that depend on the ones before.
type factoring struct {
	k      *pairwise.Kernel
	rows   pairwise.Rows[float64]
	kept   []int
	factor kern.View[float64] // rows × rows, of which the first len(kept) are made
}

// independent returns the rows of which something is left when the ones before are known, and the lower Cholesky
// factor of their kernel matrix, row by row.
func independent(ctx context.Context, k *pairwise.Kernel, rows pairwise.Rows[float64]) (kept []int, factor []float64,
	err error) {
	m := rows.Len()
	f := &factoring{k: k, rows: rows, factor: kern.Dense(m, m, m, make([]float64, m*m))}
	for lo := 0; lo < m; lo += factorBlock {
		if err := f.block(ctx, lo, min(lo+factorBlock, m)); err != nil {
			return nil, nil, err
		}
	}
	r := len(f.kept)
	factor = f.factor.Data
	if r < m {
		factor = make([]float64, r*r)
		for i := range r {
			copy(factor[i*r:i*r+i+1], f.factor.Row(i)[:i+1])
		}
	}
	return f.kept, factor, nil
}

// block adds rows lo to hi.
func (f *factoring) block(ctx context.Context, lo, hi int) error {
	r, b := len(f.kept), hi-lo
	rows, before := f.rows.Slice(lo, hi), f.rows.Slice(0, r)
	if r < lo {
		before = f.rows.Select(f.kept)
	}
	known := kern.Dense(b, r, r, make([]float64, b*r))
	left := kern.Dense(b, b, b, make([]float64, b*b))
	if err := pairwise.Matrix(ctx, known, rows, before, f.k); err != nil {
		return err
	}
	if err := pairwise.Matrix(ctx, left, rows, rows, f.k); err != nil {
		return err
	}
	if err := kern.SolveLower(ctx, f.factor.Slice(0, r, 0, r), known.T()); err != nil {
		return err
	}
	for i := range b {
		for j := range i + 1 {
			left.Set(i, j, left.At(i, j)-kern.Dot(known.Row(i), known.Row(j)))
		}
	}
	f.eliminate(lo, known, left)
	return ctxerr.Check(ctx)
}

// eliminate factors the remainder of a block.
func (f *factoring) eliminate(lo int, known, left kern.View[float64]) {
	r := known.Cols
	for i := range left.Rows {
		row := f.factor.Row(len(f.kept))
		copy(row, known.Row(i))
		rest := left.At(i, i)
		scale := rest + kern.Dot(known.Row(i), known.Row(i)) // k(x, x)
		for j, at := range f.kept[r:] {
			above := f.factor.Row(r + j)
			row[r+j] = (left.At(i, at-lo) - kern.Dot(row[r:r+j], above[r:r+j])) / above[r+j]
			rest -= row[r+j] * row[r+j]
		}
		if !(rest > dependent*scale) {
			clear(row)
			continue
		}
		row[len(f.kept)] = math.Sqrt(rest)
		f.kept = append(f.kept, lo+i)
	}
}
