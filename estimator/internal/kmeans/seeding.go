package kmeans

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// first returns the initial centers of a start: rows drawn by weight, or by greedy k-means++
// (Arthur & Vassilvitskii, SODA 2007), where several candidates are drawn in proportion to their
// squared distances and the one that reduces the inertia most is selected.
func (s Spec) first(ctx context.Context, r rows, weights []float64, d, start int) ([]float64, error) {
	n := len(weights)
	rng := spectral.NewStream()
	rng.At(s.Seed, spectral.Centers, start)
	chance := slices.Clone(weights)
	distance := slices.Repeat([]float64{math.Inf(1)}, n)
	trials := 2 + bits.Len(uint(s.Clusters))
	centers := make([]float64, 0, s.Clusters*d)
	taken := make([]bool, n)
	row := make([]float64, d)
	for c := range s.Clusters {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		try := trials
		if c == 0 || s.Random {
			try = 1
		}
		best, bestSum := -1, math.Inf(1)
		var bestDistance []float64
		for range try {
			at := draw(chance, taken, rng.Float64())
			r.writeAny(row, at)
			after := distancesTo(r, row, n)
			sum := 0.0
			for i, v := range after {
				after[i] = min(v, distance[i])
				sum += weights[i] * after[i]
			}
			if best < 0 || sum < bestSum {
				best, bestSum, bestDistance = at, sum, after
			}
		}
		taken[best] = true
		r.writeAny(row, best)
		centers, distance = append(centers, row...), bestDistance
		for i, w := range weights {
			if chance[i] = w * distance[i]; s.Random {
				chance[i] = w
			}
			if taken[i] {
				chance[i] = 0
			}
		}
	}
	return centers, nil
}

// draw samples a row with probability proportional to chance; if all are 0, it returns a row that is not taken.
func draw(chance []float64, taken []bool, u float64) int {
	total := 0.0
	for _, c := range chance {
		total += c
	}
	u *= total
	last := slices.Index(taken, false)
	for i, c := range chance {
		if c > 0 {
			if last = i; u < c {
				return i
			}
			u -= c
		}
	}
	return last
}

// distancesTo returns the squared distances of all rows to one.
func distancesTo(r rows, row []float64, n int) []float64 {
	out := make([]float64, n)
	if r.csr != nil {
		one := newNearest(slices.Clone(row), len(row))
		one.forSparse()
		one.assign(r, 0, n, nil, 0, make([]int32, n), out)
		return out
	}
	kern.Parallel(n, max(64, 1<<14/len(row)), func(lo, hi int) {
		hold := design.Borrow[float64](len(row))
		defer hold.Release()
		for i := lo; i < hi; i++ {
			x := hold.Data
			if r.narrow == nil {
				x = r.dense.RawRowView(i)
			} else {
				r.write(x, i)
			}
			out[i] = squaredDistance(x, row)
		}
	})
	return out
}
