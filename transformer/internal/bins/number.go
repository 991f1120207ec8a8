package bins

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Counts are the bins of a map that rows fell into, and how many in each.
type Counts struct {
	m      *Map
	tables []table
}

// Counts returns counts of no rows.
func (m *Map) Counts() *Counts { return &Counts{m, make([]table, m.Grids)} }

// Add counts the rows of X, a *mat.Dense or *matrices.CSR without values beyond the limit.
func (c *Counts) Add(ctx context.Context, X mat.Matrix) error {
	n, _ := X.Dims()
	t := tilePool.Get().(*tile)
	defer tilePool.Put(t)
	for lo := 0; lo < n; lo += tileRows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		t.read(c.m, X, lo, min(lo+tileRows, n))
		kern.Parallel(c.m.Grids, 1, func(from, to int) {
			w := workPool.Get().(*work)
			defer workPool.Put(w)
			for p := from; p < to; p++ {
				c.tables[p].count(c.m.hash(w, t, p))
			}
		})
	}
	return nil
}

// Number makes the dictionaries of the bins that at least minCount rows fell into, and uses up the counts.
func (m *Map) Number(ctx context.Context, counts *Counts, minCount int) error {
	m.tables = make([]table, m.Grids)
	kern.Parallel(m.Grids, 1, func(from, to int) {
		for p := from; p < to && ctx.Err() == nil; p++ {
			m.tables[p], _ = counts.tables[p].settle(minOf(minCount))
			counts.tables[p] = table{}
		}
	})
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	return m.Place(minCount)
}

func minOf(minCount int) uint32 { return uint32(min(int64(minCount), math.MaxUint32)) }

// gridsAtOnce is the number of grids processed together: the columns of a row then fill a cache
// line of 64 bytes.
const gridsAtOnce = 16

// NumberRows is Number of rows in memory, a few grids after the other, and returns the columns of
// the rows.
func (m *Map) NumberRows(ctx context.Context, X mat.Matrix, minCount int) ([]uint32, error) {
	n, _ := X.Dims()
	tiles := make([]tile, (n+tileRows-1)/tileRows)
	kern.Parallel(len(tiles), 1, func(from, to int) {
		for k := from; k < to && ctx.Err() == nil; k++ {
			tiles[k].read(m, X, k*tileRows, min((k+1)*tileRows, n))
		}
	})
	columns := make([]uint32, n*m.Grids)
	m.tables = make([]table, m.Grids)
	kern.Parallel(m.Grids, gridsAtOnce, func(from, to int) {
		if ctx.Err() != nil {
			return
		}
		var scratch table
		w := workPool.Get().(*work)
		defer workPool.Put(w)
		numbers := make([]uint32, n*(to-from))
		for p := from; p < to; p++ {
			own := numbers[(p-from)*n : (p-from+1)*n]
			scratch.reset()
			for k := range tiles {
				if k%64 == 0 && ctx.Err() != nil {
					return
				}
				hashes := m.hash(w, &tiles[k], p)
				scratch.count(hashes)
				for i, number := range hashes {
					own[k*tileRows+i] = uint32(number)
				}
			}
			var settled []uint32
			m.tables[p], settled = scratch.settle(minOf(minCount))
			for i, number := range own {
				own[i] = settled[number]
			}
		}
		for i := range n {
			row := columns[i*m.Grids+from : i*m.Grids+to]
			for k := range row {
				row[k] = numbers[k*n+i]
			}
		}
	})
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	if err := m.Place(minCount); err != nil {
		return nil, err
	}
	kern.Parallel(n, tileRows, func(from, to int) {
		for i := from; i < to && ctx.Err() == nil; i++ {
			row := columns[i*m.Grids : (i+1)*m.Grids]
			for p, first := range m.First[:m.Grids] {
				if row[p] != missingBin {
					row[p] += uint32(first)
				}
			}
		}
	})
	return columns, ctxerr.Check(ctx)
}
