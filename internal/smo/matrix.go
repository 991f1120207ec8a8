package smo

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
)

// Matrix is the kernel matrix of rows. It caches the most recently used of its rows in float32.
type Matrix struct {
	kernel *pairwise.Kernel
	rows32 pairwise.Rows[float32]
	rows64 pairwise.Rows[float64]

	cached   [][]float32 // by row; nil if not cached
	capacity int         // number of cached rows
	count    int
	used     []int // by row: the time of the last use
	clock    int
	values   []float32 // of the last call of square
}

// NewMatrix returns the kernel matrix of the rows of X, a *mat.Dense or *sparse.CSR, in the frame of
// the kernel and its γ. It caches up to the given bytes, but at least the rows of a working set.
func NewMatrix(k *pairwise.Kernel, f pairwise.Frame, X mat.Matrix, cacheBytes int64) *Matrix {
	n, _ := X.Dims()
	return &Matrix{kernel: k, rows32: pairwise.NewRows[float32](f, X), rows64: pairwise.NewRows[float64](f, X),
		cached: make([][]float32, n), used: make([]int, n), capacity: int(max(cacheBytes/(4*int64(n)), minWorkingRows))}
}

// square returns the kernel values of rows with each other, in memory that the next call reuses.
// Those of cached rows are copied, unless they are so long that reading them costs more than
// computing.
func (m *Matrix) square(ctx context.Context, rows []int) kern.View[float32] {
	q := len(rows)
	if cap(m.values) < q*q {
		m.values = kern.MakeLarge[float32](q * q)
	}
	dst := kern.Dense(q, q, q, m.values[:q*q])
	const together, dense = 64, 4
	var missing []int // positions in rows
	for k, i := range rows {
		if m.cached[i] == nil || len(m.cached) > dense*q {
			missing = append(missing, k)
			continue
		}
		row, out := m.cached[i], dst.Row(k)
		for j, i := range rows {
			out[j] = row[i]
		}
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
	return dst
}

// stripe is the number of columns of kernel rows that are processed together.
const stripe = 512

// addRows adds Σ change_k·K[rows_k] to dst, summed in float32 and in a fixed order.
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
		clear(sum)
		for k, row := range list {
			kern.Axpy(float32(change[k]), row[lo:hi], sum)
		}
		for k, v := range sum {
			dst[lo+k] += float64(v)
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
	var support []int
	var v []float64
	for i, b := range beta {
		if b != 0 {
			support, v = append(support, i), append(v, b)
		}
	}
	clear(dst)
	if len(support) == 0 {
		return nil
	}
	return pairwise.Multiply(ctx, kern.Dense(len(dst), 1, 1, dst), m.rows64, m.rows64.Select(support), m.kernel,
		kern.Dense(len(v), 1, 1, v))
}
