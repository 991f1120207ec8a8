package kmeans

import (
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// bounds contains distance bounds of the rows in memory since their last comparison with all
// centers.
type bounds struct {
	center []int32   // rows: nearest center; −1 if unknown
	upper  []float64 // rows: at least the distance to it
	lower  []float64 // rows: at most that to any other
	moved  []float64 // centers: how far they went since, nil before the first pass
	most   [2]float64
	which  int       // the center that went farthest, most[0]; another went most[1]
	half   []float64 // centers: half the distance to the next center
	reach  []float64 // centers: distance from their middle
	widest float64   // the largest of these
}

func newBounds(n int) *bounds {
	b := &bounds{center: make([]int32, n), upper: make([]float64, n), lower: make([]float64, n)}
	for i := range b.center {
		b.center[i] = -1
	}
	return b
}

// follow updates the bounds after the centers have moved.
func (b *bounds) follow(from, to *nearest) {
	b.moved, b.most, b.which = make([]float64, to.k), [2]float64{}, 0
	b.widest = 0
	b.half, b.reach = make([]float64, to.k), make([]float64, to.k)
	for c := range to.k {
		m := distance(from.center(c), to.center(c)) * (1 + 1e-9)
		b.moved[c] = m
		if m > b.most[0] {
			b.most, b.which = [2]float64{m, b.most[0]}, c
		} else {
			b.most[1] = max(b.most[1], m)
		}
		b.reach[c] = math.Sqrt(to.norms[c])
		b.widest = max(b.widest, b.reach[c])
		b.half[c] = math.Inf(1)
	}
	for c := range to.k {
		for e := range c {
			h := distance(to.center(c), to.center(e)) / 2 * (1 - 1e-9)
			b.half[c], b.half[e] = min(b.half[c], h), min(b.half[e], h)
		}
	}
}

// unchanged updates the bounds of a row and reports whether they imply that its nearest center has not
// changed.
func (b *bounds) unchanged(i int, v *nearest) bool {
	c := b.center[i]
	if c < 0 || b.moved == nil {
		return false
	}
	other := b.most[0]
	if int(c) == b.which {
		other = b.most[1]
	}
	b.upper[i] += b.moved[c]
	b.lower[i] = max(0, b.lower[i]-other)
	far := max(b.lower[i], b.half[c])
	off := v.rounding(square(b.upper[i]+b.reach[c]), square(b.widest))
	return far > b.upper[i] && square(far)-square(b.upper[i]) > 4*off
}

// update stores the result of a comparison with all centers.
func (b *bounds) update(i int, f comparison) {
	b.center[i] = int32(f.center)
	b.upper[i], b.lower[i] = math.Sqrt(f.first+f.off)*(1+1e-12), root(f.other-f.off)*(1-1e-12)
}

// distance returns ‖x − y‖.
func distance(x, y []float64) float64 { return math.Sqrt(squaredDistance(x, y)) }

func squaredDistance(x, y []float64) float64 {
	s := 0.0
	for j, v := range x {
		s += square(v - y[j])
	}
	return s
}

// assign writes the nearest centers of rows lo to hi of a block, and optionally their squared
// distances. Row 0 of the block is row at of the rows in memory.
func (v *nearest) assign(r rows, lo, hi int, b *bounds, at int, center []int32, distance []float64) {
	kern.Parallel(hi-lo, v.tile(), func(from, to int) {
		var want []int
		if b != nil {
			want = make([]int, 0, to-from)
			for i := lo + from; i < lo+to; i++ {
				if b.unchanged(at+i, v) {
					center[i-lo] = b.center[at+i]
				} else {
					want = append(want, i)
				}
			}
		}
		v.each(r, lo+from, lo+to, want, func(i int, f comparison) {
			center[i-lo] = int32(f.center)
			if b != nil {
				b.update(at+i, f)
			}
			if distance != nil {
				distance[i-lo] = f.first
			}
		})
	})
}
