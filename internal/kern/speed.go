package kern

import (
	"context"
	"time"
)

// MeasureFlops measures the throughput of this host in flop/s, on all cores, for the dominant work
// of a fit: copying rows into a tile, a float64 Gram matrix and a Cholesky factor of typical size.
// It takes about 0.1 s and returns the best of several runs, to reduce the effect of other load.
func MeasureFlops() float64 {
	const n, d = 2048, 768
	rows, tile := make([]float64, n*d), Dense(n, d, d, make([]float64, n*d))
	gram := Dense(d, d, d, make([]float64, d*d))
	for i := range n {
		for j := range d {
			rows[i*d+j] = float64((i*31+j*17)%64) - 31
		}
		rows[i*d+i%d] += 100 // so that no column is a sum of others
	}
	ctx, best := context.Background(), 0.0
	for start, tries := time.Now(), 0; tries < 3 || tries < 8 && time.Since(start) < 100*time.Millisecond; tries++ {
		began := time.Now()
		copy(tile.Data, rows)
		clear(gram.Data)
		err := Gram(ctx, gram, tile, nil)
		if err == nil {
			MirrorLower(gram)
			_, _, err = Cholesky(ctx, gram)
		}
		if err != nil {
			break // the context has no end
		}
		best = max(best, (n*d*d+d*d*d/3.0)/time.Since(began).Seconds())
	}
	return best
}
