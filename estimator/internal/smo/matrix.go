package smo

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Matrix is the kernel matrix of rows. It caches the most recently used of its rows in float32, or has all of them
// computed by [Matrix.Fill]; then it is immutable and safe for concurrent use.
type Matrix struct {
	kernel   *pairwise.Kernel
	rows32   pairwise.Rows[float32]
	rows64   pairwise.Rows[float64]
	whole    kern.View[float32] // without rows unless filled
	diagonal []float64          // K_ii, nil if all are 1

	cached   [][]float32 // by row; nil if not cached
	capacity int         // number of cached rows
	count    int
	used     []int // by row: the time of the last use
	clock    int
}

// NewMatrix returns the kernel matrix of the rows of X, a *mat.Dense or *matrices.CSR, in the frame of
// the kernel and its γ. It caches up to the given bytes, but at least the rows of a working set. A panic of a
// registered kernel is an error.
func NewMatrix(k *pairwise.Kernel, f pairwise.Frame, X mat.Matrix, cacheBytes int64) (*Matrix, error) {
	n, _ := X.Dims()
	m := &Matrix{kernel: k, rows32: pairwise.NewRows[float32](f, X), rows64: pairwise.NewRows[float64](f, X),
		cached: make([][]float32, n), used: make([]int, n), capacity: int(max(cacheBytes/(4*int64(n)), minWorkingRows))}
	var err error
	if m.diagonal, err = pairwise.Diagonal(k, m.rows64); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(m.diagonal, func(v float64) bool { return v != 1 }) {
		m.diagonal = nil
	}
	return m, nil
}

// Distances writes the distances of all pairs of rows in a frame to dst, for [Matrix.Fill].
func Distances(ctx context.Context, dst kern.View[float32], metric pairwise.Metric, f pairwise.Frame,
	X mat.Matrix) error {
	x := pairwise.NewRows[float64](f, X)
	n := x.Len()
	kern.Parallel(n, pairwise.TileRows, func(lo, hi int) {
		hold := design.Borrow[float64](pairwise.TileRows * pairwise.TileColumns)
		defer hold.Release()
		for j := 0; j < n && ctx.Err() == nil; j += pairwise.TileColumns {
			end := min(j+pairwise.TileColumns, n)
			tile := kern.Dense(hi-lo, end-j, end-j, hold.Data)
			pairwise.Distances(tile, x.Slice(lo, hi), x.Slice(j, end), metric)
			for i := range hi - lo {
				out := dst.Row(lo + i)[j:end]
				for k, v := range tile.Row(i) {
					out[k] = float32(v)
				}
			}
		}
	})
	return ctxerr.Check(ctx)
}

// Rows returns the number of rows.
func (m *Matrix) Rows() int { return len(m.cached) }

// Whole returns all kernel values after Fill.
func (m *Matrix) Whole() kern.View[float32] { return m.whole }

// Fill computes all kernel values in the memory of dst, from distances of the rows that are to be multiplied by
// scale; distances may be dst.
func (m *Matrix) Fill(ctx context.Context, dst, distances kern.View[float32], scale float64) error {
	n := m.Rows()
	m.whole = dst
	kern.Parallel(n, pairwise.TileRows, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			copy(dst.Row(i), distances.Row(i))
			pairwise.Values(m.kernel, scale, dst.Slice(i, i+1, 0, n))
		}
	})
	return ctxerr.Check(ctx)
}

// square writes the kernel values of rows with each other to dst. Those of cached rows are copied, unless they are so
// long that reading them costs more than computing.
func (m *Matrix) square(ctx context.Context, dst kern.View[float32], rows []int) {
	q := len(rows)
	if m.whole.Rows > 0 {
		kern.Parallel(q, stripe, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				collect(dst.Row(k), m.whole.Row(rows[k]), rows)
			}
		})
		return
	}
	const together, dense = 64, 4
	var missing []int // positions in rows
	for k, i := range rows {
		if m.cached[i] == nil || len(m.cached) > dense*q {
			missing = append(missing, k)
			continue
		}
		collect(dst.Row(k), m.cached[i], rows)
	}
	x := m.rows32.Select(rows)
	left := x.Select(missing)
	kern.Parallel(len(missing), together, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		hold := design.Borrow[float32]((hi - lo) * q)
		defer hold.Release()
		tile := kern.Dense(hi-lo, q, q, hold.Data)
		pairwise.Distances(tile, left.Slice(lo, hi), x, m.kernel.Metric)
		pairwise.Values(m.kernel, 1, tile)
		for k, at := range missing[lo:hi] {
			copy(dst.Row(at), tile.Row(k))
		}
	})
}

// collect copies elements of a row to dst.
func collect(dst, row []float32, columns []int) {
	dst = dst[:len(columns)]
	for j, i := range columns {
		dst[j] = row[i]
	}
}

// stripe is the number of columns of kernel rows that are processed together.
const stripe = 512

// addRows adds Σ change_k·K[rows_k] to dst, some rows at a time summed in float32, in a fixed order.
func (m *Matrix) addRows(ctx context.Context, dst []float64, rows []int, change []float64) error {
	list, missing := m.reserve(rows)
	x := m.rows32.Select(missing)
	target := make([][]float32, len(missing))
	for k, i := range missing {
		target[k] = m.cached[i]
	}
	kern.Parallel(len(dst), stripe, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		m.fill(target, x, lo, hi)
		hold := design.Borrow[float32](hi - lo)
		defer hold.Release()
		sum := hold.Data
		const together = 16
		for from := 0; from < len(list); from += together {
			clear(sum)
			for k := from; k < min(from+together, len(list)); k++ {
				kern.Axpy(float32(change[k]), list[k][lo:hi], sum)
			}
			for k, v := range sum {
				dst[lo+k] += float64(v)
			}
		}
	})
	if err := ctxerr.Check(ctx); err != nil {
		for _, i := range missing {
			m.cached[i] = nil // not computed
			m.count--
		}
		return err
	}
	return nil
}

// fill computes columns lo to hi of kernel rows.
func (m *Matrix) fill(target [][]float32, x pairwise.Rows[float32], lo, hi int) {
	hold := design.Borrow[float32](pairwise.TileRows * (hi - lo))
	defer hold.Release()
	y := m.rows32.Slice(lo, hi)
	for from := 0; from < len(target); from += pairwise.TileRows {
		to := min(from+pairwise.TileRows, len(target))
		tile := kern.Dense(to-from, hi-lo, hi-lo, hold.Data)
		pairwise.Distances(tile, x.Slice(from, to), y, m.kernel.Metric)
		pairwise.Values(m.kernel, 1, tile)
		for k := from; k < to; k++ {
			copy(target[k][lo:hi], tile.Row(k-from))
		}
	}
}

// reserve returns the memory of the rows and those that must be computed. Rows that are computed
// for the first time take the memory of the least recently used ones, if more than minCached are
// cached: most rows change once or twice, and memory that was never used costs more than a row of
// kernel values. A row that is computed again extends the cache.
func (m *Matrix) reserve(rows []int) (list [][]float32, missing []int) {
	if m.whole.Rows > 0 {
		for _, i := range rows {
			list = append(list, m.whole.Row(i))
		}
		return list, nil
	}
	m.clock++
	extend := max(0, minCached-m.count)
	for _, i := range rows {
		if m.cached[i] == nil {
			missing = append(missing, i)
			if m.used[i] > 0 {
				extend++
			}
		}
		m.used[i] = m.clock
	}
	extend = min(extend, len(missing), m.capacity-m.count)
	free := m.evict(len(missing) - extend)
	n := len(m.cached)
	if fresh := len(missing) - len(free); fresh > 0 {
		block := kern.MakeLarge[float32](fresh * n)
		for k := range fresh {
			free = append(free, block[k*n:(k+1)*n:(k+1)*n])
		}
	}
	for k, i := range missing {
		m.cached[i] = free[k]
	}
	m.count += len(missing)
	for _, i := range rows {
		list = append(list, m.cached[i])
	}
	return list, missing
}

// minCached is the number of rows up to which the cache grows at once.
const minCached = 1024

// evict removes n rows from the cache, those whose last use is longest ago, and returns their
// memory. Fewer are removed if the rest is in use.
func (m *Matrix) evict(n int) (free [][]float32) {
	var old []int
	for i, row := range m.cached {
		if row != nil && m.used[i] < m.clock {
			old = append(old, i)
		}
	}
	slices.SortStableFunc(old, func(a, b int) int { return m.used[a] - m.used[b] })
	for _, i := range old[:min(max(n, 0), len(old))] {
		free = append(free, m.cached[i])
		m.cached[i] = nil
	}
	m.count -= len(free)
	return free
}

// Multiply writes Kβ, of float64 kernel values, to dst.
func (m *Matrix) Multiply(ctx context.Context, dst, beta []float64) error {
	return m.multiply(ctx, dst, m.rows64, nil, beta)
}

// multiply writes the product of the kernel values of x with the listed rows, or all for nil, and beta to dst.
func (m *Matrix) multiply(ctx context.Context, dst []float64, x pairwise.Rows[float64], rows []int,
	beta []float64) error {
	var support []int
	var v []float64
	for i, b := range beta {
		if b == 0 {
			continue
		}
		if v = append(v, b); rows != nil {
			i = rows[i]
		}
		support = append(support, i)
	}
	clear(dst)
	if len(support) == 0 {
		return nil
	}
	return pairwise.Multiply(ctx, kern.Dense(len(dst), 1, 1, dst), x, m.rows64.Select(support), m.kernel,
		kern.Dense(len(v), 1, 1, v))
}
