package kern

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Speed measures how many flops a second this machine makes, now and on all cores, at what a fit mostly
// does: rows are copied into a tile, their Gram matrix is summed and factored, in float64 and as large as
// they are in a fit. It takes about 0.1 s: the best of several tries counts, for a machine is busy now and
// then.
func Speed() float64 {
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

// OtherSpeed measures how fast this machine is, now and on all cores, at what no wide instruction makes faster: numbers that wait
// for one another, looked up here and there in more than the nearest cache holds. It says so in flops that costs count for such
// work, of which products with 256 bits are about as many in the same time. It takes some hundredths of a second.
func OtherSpeed() float64 {
	const (
		looks = 1 << 21
		flops = 170 // of a look; measured
	)
	cores, best := runtime.GOMAXPROCS(0), time.Duration(0)
	tables, sums := make([][]float64, cores), make([]float64, cores)
	for i := range tables {
		tables[i] = make([]float64, 1<<17)
	}
	for tries := range 5 {
		var all sync.WaitGroup
		began := time.Now()
		for i, table := range tables {
			all.Go(func() { sums[i] += lookUp(table, looks) })
		}
		all.Wait()
		if took := time.Since(began); tries == 0 || took < best {
			best = took
		}
	}
	return flops * looks * float64(cores) / best.Seconds()
}

// lookUp adds up numbers of a table in an order that is drawn on the way.
func lookUp(table []float64, times int) (sum float64) {
	state := uint64(1)
	for range times {
		state = state*6364136223846793005 + 1442695040888963407
		at := &table[state>>33%uint64(len(table))]
		if *at = *at/2 + sum/8 + 1; *at > 1.5 {
			sum += *at
		}
		sum /= 2
	}
	return sum
}
