package design

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
)

// places is the number of places where the rows of a block are added up, for so many cores at least; rows go to places by
// their number, so that sums do not depend on the cores there are.
const places = 8

// Sums are those of a reading.
type Sums struct {
	Rows   []float64 // of the rows times their weights, outputs × cols
	Totals []float64 // of the weights of the rows, by output
	Values []float64 // of the caller
}

// Finite reports whether all sums are.
func (s *Sums) Finite() bool {
	return kern.Finite(s.Rows) && kern.Finite(s.Totals) && kern.Finite(s.Values)
}

// Place is where some rows of a block are added up.
type Place struct {
	Values []float64 // of the caller
	Room   []float64 // likewise, as long as a tile
	totals []float64
	scores []float64 // of a tile
}

// A Rescore replaces scores, outputs × rows of a tile that begins at row first, by what the rows are multiplied
// with before they are added up.
type Rescore func(p *Place, scores kern.View[float64], first int)

// BothWays is one reading of dense rows X that adds up X'·f(X·w + b), tile by tile while it is in the cache: those of some
// hundred rows in the precision of the rows, all in double precision. Sums over a block do not depend on those before.
type BothWays interface {
	// Add adds the rows of a block that begins at row first of all.
	Add(X mat.Matrix, first int, f Rescore)
	// Sums returns what has been added up.
	Sums() *Sums
}

// NewBothWays begins a reading of rows, in single precision or in double: w is outputs × cols, offsets are b by output, and
// there are so many values. With widths, which descend, an output has only the first so many columns, and its sums of others stay
// 0; nil means all.
func NewBothWays(short bool, w, offsets []float64, widths []int, values int) BothWays {
	if short {
		return tilesOf[float32](w, offsets, widths, values)
	}
	return tilesOf[float64](w, offsets, widths, values)
}

// BothWaysNumbers is about how many numbers a reading holds for so many columns and outputs.
func BothWaysNumbers(cols, outputs float64) float64 { return (places + 2) * (cols + 1) * outputs }

// tiles is BothWays of rows of numbers of type T.
type tiles[T kern.Float] struct {
	offsets []float64
	widths  []int // nil for all columns
	sums    Sums
	places  []Place
	passes  []*kern.NarrowPass[T]
	rows    int // of a tile
}

func tilesOf[T kern.Float](w, offsets []float64, widths []int, values int) BothWays {
	k := len(offsets)
	t := &tiles[T]{offsets: offsets, widths: widths, sums: Sums{make([]float64, len(w)), make([]float64, k), make([]float64, values)}}
	if k == 0 {
		return t
	}
	own := make([]T, len(w))
	Round(own, w)
	vectors := kern.NewNarrow(kern.Dense(k, len(w)/k, len(w)/k, own), widths)
	t.rows = vectors.TileRows()
	for range places {
		t.passes = append(t.passes, vectors.NewPass())
		t.places = append(t.places, Place{make([]float64, values), make([]float64, kern.NarrowTile), make([]float64, k), make([]float64, k*kern.NarrowTile)})
	}
	return t
}

func (t *tiles[T]) Sums() *Sums { return &t.sums }

func (t *tiles[T]) Add(X mat.Matrix, first int, f Rescore) {
	if len(t.offsets) == 0 {
		return
	}
	rows := viewOf[T](X)
	kern.Parallel(places, 1, func(from, to int) {
		for p := from; p < to; p++ {
			lo, hi := p*rows.Rows/places, (p+1)*rows.Rows/places
			t.addRows(p, rows.Slice(lo, hi, 0, rows.Cols), first+lo, f)
		}
	})
	t.fold(rows.Cols)
}

// viewOf returns dense rows, whose numbers are of type T, as kern sees them.
func viewOf[T kern.Float](X mat.Matrix) kern.View[T] {
	if m, ok := X.(*single.Dense); ok {
		return any(ViewFloat32(m)).(kern.View[T])
	}
	return any(View(X.(*mat.Dense))).(kern.View[T])
}

// addRows adds rows that begin at row first of all to a place.
func (t *tiles[T]) addRows(place int, rows kern.View[T], first int, f Rescore) {
	p, pass := &t.places[place], t.passes[place]
	for lo := 0; lo < rows.Rows; lo += t.rows {
		z := rows.Slice(lo, min(lo+t.rows, rows.Rows), 0, rows.Cols)
		own := pass.Scores(z)
		scores := kern.Dense(own.Rows, own.Cols, kern.NarrowTile, p.scores)
		for q, b := range t.offsets {
			to := scores.Row(q)
			for i, v := range own.Row(q) {
				to[i] = float64(v) + b
			}
		}
		f(p, scores, first+lo)
		for q := range t.offsets {
			p.totals[q] += kern.Sum(scores.Row(q))
			Round(own.Row(q), scores.Row(q))
		}
		pass.Add(z)
	}
}

// fold adds what the places have of a block, and clears them.
func (t *tiles[T]) fold(cols int) {
	k := len(t.offsets)
	kern.Parallel(k*cols, foldAtOnce, func(lo, hi int) {
		for lo < hi {
			row, from := lo/cols, lo%cols
			end := min(cols, from+hi-lo)
			lo += end - from
			if t.widths != nil {
				end = max(from, min(end, t.widths[row]))
			}
			t.foldRow(row, from, end)
		}
	})
	for _, p := range t.places[1:] {
		kern.Axpy(1, p.totals, t.places[0].totals)
		kern.Axpy(1, p.Values, t.places[0].Values)
	}
	kern.Axpy(1, t.places[0].totals, t.sums.Totals)
	kern.Axpy(1, t.places[0].Values, t.sums.Values)
	for _, p := range t.places {
		clear(p.totals)
		clear(p.Values)
	}
}

// foldAtOnce is the number of sums that are a piece of work.
const foldAtOnce = 1 << 13

// foldRow folds some columns of an output.
func (t *tiles[T]) foldRow(row, from, to int) {
	var parts [places][]T
	for p, pass := range t.passes {
		parts[p] = pass.Sums().Row(row)[from:to]
	}
	out := t.sums.Rows[row*t.passes[0].Sums().Cols:][from:to]
	a, b, c, d, e, f, g, h := parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7]
	for i := range out {
		out[i] += ((float64(a[i]) + float64(b[i])) + (float64(c[i]) + float64(d[i]))) + ((float64(e[i]) + float64(f[i])) + (float64(g[i]) + float64(h[i])))
	}
	for _, part := range parts {
		clear(part)
	}
}
