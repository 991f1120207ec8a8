package evidence

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Product is the covariance of a product of kernels of groups of inputs, or of a mean of products with
// weights w_s. With the distance D_g of group g and p_t = 2 for kernels φ_t of the squared distance, 1 for
// those of the L1 distance,
//
//	M = Σ_s w_s·Π_{t in s} φ_t(Σ_{g in t} s_g^p_t·D_g) + ρI,  Σ_s w_s = 1
//	dJ/dlog s_g = ½·Σ_il G_il·w_s·(Π_{u≠t} φ_u)·φ_t'·p_t·s_g^p_t·D_g
//
// with a sum of the latter over the groups that share a scale. The distances are stored once, so that a
// value costs a multiplication per group and pair. Memory: 2n² bytes per group, and 4nm for m held-out rows.
type Product struct {
	n       int // rows of M
	held    int // further rows, whose targets M predicts
	terms   []*pairwise.Kernel
	groups  []distances
	scales  []int     // the first group of each scale
	first   []int     // the first term of each product, and the number of terms
	weights []float64 // of the products, of sum 1
}

// Group is some inputs in a term, with a common scale.
type Group struct {
	Term   int     // number of the kernel
	Scale  int     // number of the scale, which groups of several products may share
	Inputs []int   // ascending
	Factor float64 // of the inputs at scale 1
}

// distances are those of the pairs of rows in the inputs of a group.
type distances struct {
	term   int
	scale  int
	rows   [][]float32 // of row i from the rows of M before it
	center float64     // mean over all pairs of rows of M
	least  float64     // minimum of these above 0, +Inf without any
}

// NewProduct returns the mean of products with the given weights, in which each list of terms is the factors
// of one, with metric Squared or L1, of the first n rows of X, a *mat.Dense or *matrices.CSR. Terms are numbered
// through.
func NewProduct(ctx context.Context, X mat.Matrix, n int, products [][]*pairwise.Kernel, weights []float64,
	groups []Group) (*Product, error) {
	all, _ := X.Dims()
	terms := slices.Concat(products...)
	p := &Product{n: n, held: all - n, terms: terms, first: []int{0}}
	for s, factors := range products {
		p.first = append(p.first, p.first[s]+len(factors))
		p.weights = append(p.weights, weights[s]/kern.Sum(weights))
	}
	tile := newMatrix[float64](all, n)
	sums, least := make([]float64, n), make([]float64, n)
	for at, g := range groups {
		if g.Scale == len(p.scales) {
			p.scales = append(p.scales, at)
		}
		if same := slices.IndexFunc(groups[:at], func(o Group) bool {
			return slices.Equal(o.Inputs, g.Inputs) && terms[o.Term].Metric == terms[g.Term].Metric
		}); same >= 0 {
			d := p.groups[same]
			d.term, d.scale = g.Term, g.Scale
			p.groups = append(p.groups, d)
			continue
		}
		own, k := new(rowblock.Picker).Columns(X, g.Inputs), terms[g.Term]
		// Far from the origin squared distances lose digits; only dense rows are centered.
		if m, ok := own.(*matrices.CSR); ok && 4*m.NNZ() >= n*len(g.Inputs) {
			own = m.Dense()
		}
		factor := make([]float64, len(g.Inputs))
		for j := range factor {
			factor[j] = g.Factor
		}
		rows := pairwise.NewRows[float64](k.Frame(factor, own), own)
		if err := pairwise.Tiles(ctx, tile, rows, rows.Slice(0, n), k.Metric); err != nil {
			return nil, err
		}
		d := distances{term: g.Term, scale: g.Scale, rows: make([][]float32, all)}
		kern.Parallel(all, pairwise.TileRows, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				from := tile.Row(i)[:min(i, n)]
				d.rows[i] = make([]float32, len(from))
				for l, v := range from {
					d.rows[i][l] = float32(v)
				}
				if i < n {
					sums[i], least[i] = kern.Sum(from), math.Inf(1)
					for _, v := range from {
						if v > 0 {
							least[i] = min(least[i], v)
						}
					}
				}
			}
		})
		d.center, d.least = 2*kern.Sum(sums)/(float64(n)*float64(n-1)), slices.Min(least)
		p.groups = append(p.groups, d)
	}
	return p, ctxerr.Check(ctx)
}

// head returns the product in which M has the first n rows, with the mean distances of all.
func (p *Product) head(n int) *Product {
	out := *p
	out.n, out.groups = n, slices.Clone(p.groups)
	for g, d := range out.groups {
		out.groups[g].rows = slices.Concat(d.rows[:n], d.rows[p.n:])
	}
	return &out
}

// Start returns the point of scales whose terms Σ_g s_g^p·D_g sum up to 1 on average, with equal shares
// of the groups. Values of the kernel are then neither all near 0 nor all near 1.
func (p *Product) Start() Point {
	out := Problem{Group: make([]int, 1)}.Start(1)
	out.Scales = make([]float64, len(p.scales))
	for s, g := range p.scales {
		share := 1 / float64(len(p.scales))
		if d := p.groups[g]; d.center > 0 {
			share /= d.center
		}
		out.Scales[s] = math.Pow(share, 1/p.power(g))
	}
	return out
}

// maxLog returns an upper bound of the logarithm of a scale: a larger one changes nothing, because the
// kernel of all unequal rows is 0. It keeps the scale of categories comparable with others.
func (p *Product) maxLog(scale int) float64 {
	const vanishing = 20 // distance at which the kernel is negligible
	largest := math.Inf(-1)
	for g, d := range p.groups {
		if d.scale == scale && d.center > 0 {
			largest = max(largest, math.Log(vanishing/d.least)/p.power(g))
		}
	}
	if math.IsInf(largest, -1) {
		return maxLogScale
	}
	return largest
}

// power returns p_t of a group.
func (p *Product) power(group int) float64 {
	if p.terms[p.groups[group].term].Metric == pairwise.L1 {
		return 1
	}
	return 2
}

// powers returns s_g^p of each group.
func (p *Product) powers(point []float64) []float64 {
	out := make([]float64, len(p.groups))
	for g, d := range p.groups {
		out[g] = math.Exp(p.power(g) * point[d.scale])
	}
	return out
}

// distances writes the scaled distances of row i from the rows of M before it, a row for each term.
func (p *Product) distances(dst kern.View[float64], weights []float64, i int) {
	for t := range p.terms {
		clear(dst.Row(t))
	}
	for g, d := range p.groups {
		w := weights[g]
		if w == 0 {
			continue
		}
		to := dst.Row(d.term)
		for l, v := range d.rows[i][:len(to)] {
			to[l] += w * float64(v)
		}
	}
}

// each calls f with every row of M and buffers of a row for each term.
func (p *Product) each(ctx context.Context, buffers int, f func(i int, of []kern.View[float64])) error {
	const rows = 32
	kern.Parallel(p.n, rows, func(lo, hi int) {
		of := make([]kern.View[float64], buffers)
		for b := range of {
			of[b] = newMatrix[float64](len(p.terms), hi)
		}
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			own := make([]kern.View[float64], buffers)
			for b := range own {
				own[b] = of[b].Slice(0, len(p.terms), 0, i)
			}
			f(i, own)
		}
	})
	return ctxerr.Check(ctx)
}

func (p *Product) compute(ctx context.Context, dst kern.View[float64], point []float64, ratio float64) error {
	powers := p.powers(point)
	return p.each(ctx, 1, func(i int, of []kern.View[float64]) {
		p.distances(of[0], powers, i)
		combine(p, dst.Row(i)[:i], of[0])
		dst.Set(i, i, 1+ratio)
	})
}

// combine writes the kernel of a row, given the distances of each term, which it overwrites.
func combine[T kern.Float](p *Product, to []T, terms kern.View[T]) {
	clear(to)
	for s, weight := range p.weights {
		product := terms.Row(p.first[s])
		for t := p.first[s]; t < p.first[s+1]; t++ {
			pairwise.Values(p.terms[t], 1, terms.Slice(t, t+1, 0, terms.Cols))
			if t > p.first[s] {
				kern.MulElem(product, product, terms.Row(t))
			}
		}
		kern.Axpy(T(weight), product, to)
	}
}

// predict writes the products of the kernel of the held-out rows and the rows of M with each row of solved, in
// float32: their errors are far larger than its resolution.
func (p *Product) predict(ctx context.Context, dst *mat.Dense, point []float64, solved kern.View[float64]) error {
	powers, single := p.powers(point), newMatrix[float32](solved.Rows, p.n)
	for t := range solved.Rows {
		for i, v := range solved.Row(t) {
			single.Set(t, i, float32(v))
		}
	}
	const rows = 32
	kern.Parallel(p.held, rows, func(lo, hi int) {
		terms, to := newMatrix[float32](len(p.terms), p.n), make([]float32, p.n)
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			clear(terms.Data)
			for g, d := range p.groups {
				if powers[g] > 0 {
					kern.Axpy(float32(powers[g]), d.rows[p.n+i][:p.n], terms.Row(d.term))
				}
			}
			combine(p, to, terms)
			for t := range dst.RawMatrix().Cols {
				dst.Set(i, t, float64(kern.Dot(to, single.Row(t))))
			}
		}
	})
	return ctxerr.Check(ctx)
}

func (p *Product) slope(ctx context.Context, gradient []float64, g kern.View[float64], point []float64) error {
	powers, parts := p.powers(point), newMatrix[float64](p.n, len(p.groups))
	err := p.each(ctx, 2, func(i int, of []kern.View[float64]) {
		values, slopes := of[0], of[1]
		p.distances(values, powers, i)
		for t, k := range p.terms {
			copy(slopes.Row(t), values.Row(t))
			pairwise.Values(k, 1, values.Slice(t, t+1, 0, i))
			pairwise.Slopes(k, slopes.Slice(t, t+1, 0, i))
			kern.MulElem(slopes.Row(t), slopes.Row(t), g.Row(i)[:i])
		}
		for s, weight := range p.weights {
			for t := p.first[s]; t < p.first[s+1]; t++ {
				for u := p.first[s]; u < p.first[s+1]; u++ {
					if u != t {
						kern.MulElem(slopes.Row(t), slopes.Row(t), values.Row(u))
					}
				}
				kern.Scale(weight, slopes.Row(t))
			}
		}
		for at, d := range p.groups {
			h, sum := slopes.Row(d.term), 0.0
			for l, v := range d.rows[i] {
				sum += h[l] * float64(v)
			}
			parts.Set(i, at, sum)
		}
	})
	for i := range p.n { // the lower triangle counts twice
		for at := range p.groups {
			gradient[p.groups[at].scale] += p.power(at) * powers[at] * parts.At(i, at)
		}
	}
	return err
}
