package evidence

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/sparse"
)

// Starts returns so many places to start from: first the same scale for every input, then scales that follow how much
// each input tells by itself, then smaller and larger ones, then random ones.
func (p Problem) Starts(ctx context.Context, scale float64, count int, rng *rand.Rand) ([]Point, error) {
	var starts []Point
	alike := func(scale float64) []float64 { return slices.Repeat([]float64{scale}, p.Scales()) }
	for k := range count {
		start := Point{Noise: 0.3, Amplitude: 1, Scales: alike(scale)}
		switch k {
		case 0:
		case 1:
			told, err := p.told(ctx)
			if err != nil {
				return nil, err
			}
			for g, t := range told {
				start.Scales[g] *= t
			}
		case 2:
			start.Scales = alike(scale / 3)
		case 3:
			start.Scales = alike(scale * 3)
		default:
			for g := range start.Scales {
				start.Scales[g] *= math.Exp(rng.NormFloat64())
			}
		}
		starts = append(starts, start)
	}
	return starts, nil
}

// told returns a number for each scale that follows how much of the targets an input tells by itself, of mean square 1
// but for inputs that tell next to nothing: the correlation ratio, of the means of the targets on parts of its range.
func (p Problem) told(ctx context.Context) ([]float64, error) {
	const least = 0.02
	n, d := p.X.Dims()
	out, column := make([]float64, p.Scales()), make([]float64, n)
	reader := newColumns(p.X)
	for j := range d {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		reader.read(column, j)
		g := p.group(j)
		out[g] = max(out[g], correlationRatio(column, p.Y))
	}
	sum := 0.0
	for _, v := range out {
		sum += v
	}
	for g, v := range out {
		if sum > 0 {
			out[g] = max(math.Sqrt(v*float64(len(out))/sum), least)
		} else {
			out[g] = 1
		}
	}
	return out, nil
}

// correlationRatio returns the part of the variance of y that lies between equally many smallest, …, largest values of
// x, equal ones together.
func correlationRatio(x []float64, y *mat.Dense) float64 {
	const parts = 16
	n, q := y.Dims()
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	between, sums := 0.0, make([]float64, q)
	for lo := 0; lo < n; {
		hi := min(lo+(n+parts-1)/parts, n)
		for hi < n && x[order[hi]] == x[order[hi-1]] {
			hi++
		}
		clear(sums)
		for _, i := range order[lo:hi] {
			for k, v := range y.RawRowView(i) {
				sums[k] += v
			}
		}
		for _, s := range sums {
			between += s * s / float64(hi-lo)
		}
		lo = hi
	}
	return between / float64(n*q)
}

// columns reads columns of rows of either kind.
type columns struct {
	X      mat.Matrix
	stored [][]entry // of each column of sparse rows
}

type entry struct {
	row   int
	value float64
}

func newColumns(X mat.Matrix) *columns {
	c := &columns{X: X}
	m, ok := X.(*sparse.CSR)
	if !ok {
		return c
	}
	n, d := m.Dims()
	c.stored = make([][]entry, d)
	rows := design.Compressed(m)
	for i := range n {
		for p := rows.Indptr[i]; p < rows.Indptr[i+1]; p++ {
			v := rows.Scale
			if rows.Values != nil {
				v *= rows.Values[p]
			}
			j := rows.Indices[p]
			c.stored[j] = append(c.stored[j], entry{i, v})
		}
	}
	return c
}

// read writes column j to dst.
func (c *columns) read(dst []float64, j int) {
	if c.stored == nil {
		mat.Col(dst, j, c.X)
		return
	}
	clear(dst)
	for _, e := range c.stored[j] {
		dst[e.row] += e.value
	}
}
