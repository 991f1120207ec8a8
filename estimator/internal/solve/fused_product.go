package solve

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// accumulators is the number of partial sums of a block. Rows are assigned by their number, so that
// the sums do not depend on the number of cores.
const accumulators = 8

// Sums are the results of a [FusedProduct].
type Sums struct {
	Rows   []float64 // Xᵀf(XWᵀ + b), outputs × cols
	Totals []float64 // column sums of f, by output
	Values []float64 // sums kept by the caller's ScoreFunc
}

// Finite reports whether all sums are finite.
func (s *Sums) Finite() bool {
	return kern.AllFinite(s.Rows) && kern.AllFinite(s.Totals) && kern.AllFinite(s.Values)
}

// Accumulator holds the partial sums of some rows of a block.
type Accumulator struct {
	Values  []float64 // for the ScoreFunc to add to
	Scratch []float64 // scratch of the ScoreFunc, MaxTileRows long
	totals  []float64
	scores  []float64 // of one tile
}

// A ScoreFunc replaces the scores of a tile, outputs × rows, by f(scores). The tile begins at row
// first.
type ScoreFunc func(p *Accumulator, scores kern.View[float64], first int)

// FusedProduct accumulates Xᵀf(XWᵀ + b) in one pass over dense rows, one cache-resident tile at a
// time. Tiles are summed in the precision of X, totals in float64. The sums of a block do not
// depend on earlier blocks.
type FusedProduct interface {
	// Add adds a block of rows whose first row has number first.
	Add(X mat.Matrix, first int, f ScoreFunc)
	// Sums returns the sums so far.
	Sums() *Sums
}

// NewFusedProduct returns a product without rows, for float32 or float64 rows. W is outputs × cols,
// offsets is b, and values is the length of Sums.Values. If widths is not nil, output j uses only
// the first widths[j] columns and its other sums stay 0; widths must descend.
func NewFusedProduct(short bool, w, offsets []float64, widths []int, values int) FusedProduct {
	if short {
		return newTiledProduct[float32](w, offsets, widths, values)
	}
	return newTiledProduct[float64](w, offsets, widths, values)
}

// FusedProductFloats estimates the number of float64 values that a FusedProduct allocates.
func FusedProductFloats(cols, outputs float64) float64 {
	return (accumulators + 2) * (cols + 1) * outputs
}

// tiledProduct implements FusedProduct for rows of element type T.
type tiledProduct[T kern.Float] struct {
	offsets      []float64
	widths       []int // nil for all columns
	sums         Sums
	accumulators []Accumulator
	passes       []*kern.FusedPass[T]
	tileRows     int // of a tile
}

func newTiledProduct[T kern.Float](w, offsets []float64, widths []int, values int) FusedProduct {
	k := len(offsets)
	t := &tiledProduct[T]{offsets: offsets, widths: widths, sums: Sums{make([]float64, len(w)), make([]float64, k),
		make([]float64, values)}}
	if k == 0 {
		return t
	}
	own := make([]T, len(w))
	design.Round(own, w)
	vectors := kern.NewFewVectors(kern.Dense(k, len(w)/k, len(w)/k, own), widths)
	t.tileRows = vectors.TileRows()
	for range accumulators {
		t.passes = append(t.passes, vectors.NewPass())
		t.accumulators = append(t.accumulators, Accumulator{make([]float64, values), make([]float64, kern.MaxTileRows),
			make([]float64, k), make([]float64, k*kern.MaxTileRows)})
	}
	return t
}

func (t *tiledProduct[T]) Sums() *Sums { return &t.sums }

func (t *tiledProduct[T]) Add(X mat.Matrix, first int, f ScoreFunc) {
	if len(t.offsets) == 0 {
		return
	}
	rows := viewOf[T](X)
	kern.Parallel(accumulators, 1, func(from, to int) {
		for p := from; p < to; p++ {
			lo, hi := p*rows.Rows/accumulators, (p+1)*rows.Rows/accumulators
			t.addRows(p, rows.Slice(lo, hi, 0, rows.Cols), first+lo, f)
		}
	})
	t.reduce(rows.Cols)
}

// viewOf returns the kern view of dense rows with elements of type T.
func viewOf[T kern.Float](X mat.Matrix) kern.View[T] {
	if m, ok := X.(*matrices.Dense32); ok {
		return any(design.ViewFloat32(m)).(kern.View[T])
	}
	return any(design.View(X.(*mat.Dense))).(kern.View[T])
}

// addRows adds rows to accumulator number place. The first row has number first.
func (t *tiledProduct[T]) addRows(place int, rows kern.View[T], first int, f ScoreFunc) {
	p, pass := &t.accumulators[place], t.passes[place]
	for lo := 0; lo < rows.Rows; lo += t.tileRows {
		z := rows.Slice(lo, min(lo+t.tileRows, rows.Rows), 0, rows.Cols)
		own := pass.Scores(z)
		scores := kern.Dense(own.Rows, own.Cols, kern.MaxTileRows, p.scores)
		for q, b := range t.offsets {
			to := scores.Row(q)
			for i, v := range own.Row(q) {
				to[i] = float64(v) + b
			}
		}
		f(p, scores, first+lo)
		for q := range t.offsets {
			p.totals[q] += kern.Sum(scores.Row(q))
			design.Round(own.Row(q), scores.Row(q))
		}
		pass.Add(z)
	}
}

// reduce adds the accumulators of a block to the sums and clears them.
func (t *tiledProduct[T]) reduce(cols int) {
	k := len(t.offsets)
	kern.Parallel(k*cols, reduceGrain, func(lo, hi int) {
		for lo < hi {
			row, from := lo/cols, lo%cols
			end := min(cols, from+hi-lo)
			lo += end - from
			if t.widths != nil {
				end = max(from, min(end, t.widths[row]))
			}
			t.reduceRow(row, from, end)
		}
	})
	for _, p := range t.accumulators[1:] {
		kern.Axpy(1, p.totals, t.accumulators[0].totals)
		kern.Axpy(1, p.Values, t.accumulators[0].Values)
	}
	kern.Axpy(1, t.accumulators[0].totals, t.sums.Totals)
	kern.Axpy(1, t.accumulators[0].Values, t.sums.Values)
	for _, p := range t.accumulators {
		clear(p.totals)
		clear(p.Values)
	}
}

// reduceGrain is the number of sums reduced per parallel task.
const reduceGrain = 1 << 13

// reduceRow reduces columns [from, to) of an output.
func (t *tiledProduct[T]) reduceRow(row, from, to int) {
	var parts [accumulators][]T
	for p, pass := range t.passes {
		parts[p] = pass.Sums().Row(row)[from:to]
	}
	out := t.sums.Rows[row*t.passes[0].Sums().Cols:][from:to]
	a, b, c, d, e, f, g, h := parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7]
	for i := range out {
		out[i] += ((float64(a[i]) + float64(b[i])) + (float64(c[i]) + float64(d[i]))) +
			((float64(e[i]) + float64(f[i])) + (float64(g[i]) + float64(h[i])))
	}
	for _, part := range parts {
		clear(part)
	}
}
