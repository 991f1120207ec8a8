package spectral

import (
	"context"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// ResolveGamma returns γ for each of cols inputs. For a rule it reads all rows once: each calls
// yield with the blocks of rows, *mat.Dense or *matrices.CSR. The seed draws the rows of
// [kernel.GammaMedian]. A kernel of columns has γ 1 by a rule, because its terms have their own.
func (k Kernel) ResolveGamma(ctx context.Context, g kernel.Gamma, cols int, seed uint64,
	each func(yield func(X mat.Matrix) error) error) ([]float64, error) {
	return g.Resolve(cols, func(rule string) (float64, error) {
		if k.Columns {
			return 1, nil
		}
		w := newWidth(k, rule, cols, seed, nil)
		err := each(func(X mat.Matrix) error {
			w.add(X)
			return ctxerr.Check(ctx)
		})
		if err != nil {
			return 0, err
		}
		return w.gamma(ctx)
	})
}

// width estimates γ of a kernel by a rule from blocks of rows.
type width struct {
	kernel       Kernel
	columns      int
	index        []int // of the columns; nil for all
	picker       rowblock.Picker
	total, block *design.Moments // for the scale rule, else nil
	sample       *sample
}

func newWidth(k Kernel, rule string, columns int, seed uint64, index []int) *width {
	w := &width{kernel: k, columns: columns, index: index}
	if rule == kernel.GammaScale().Rule() {
		w.total, w.block = design.NewMoments(columns), design.NewMoments(columns)
	} else {
		w.sample = newSample(seed)
	}
	return w
}

func (w *width) add(X mat.Matrix) {
	X = w.picker.Columns(X, w.index)
	if w.sample != nil {
		w.sample.add(X)
		return
	}
	w.block.Compute(X)
	w.total.Merge(w.block)
}

func (w *width) gamma(ctx context.Context) (float64, error) {
	if w.sample != nil {
		return w.kernel.medianGamma(ctx, w.sample)
	}
	return w.kernel.GammaOfScale(w.columns, w.total.Pool().Deviation(0)), nil
}

// ResolveGammaOf is [Kernel.ResolveGamma] for rows in memory.
func (k Kernel) ResolveGammaOf(ctx context.Context, g kernel.Gamma, X mat.Matrix, seed uint64) ([]float64, error) {
	_, cols := X.Dims()
	return k.ResolveGamma(ctx, g, cols, seed, func(yield func(mat.Matrix) error) error { return yield(X) })
}

// Factors returns γ_j^power: the scale of input j under the kernel.
func (k Kernel) Factors(gamma []float64) []float64 {
	out := make([]float64, len(gamma))
	for j, g := range gamma {
		out[j] = g
		if k.Power != 1 {
			out[j] = math.Pow(g, k.Power)
		}
	}
	return out
}

// GammaOfScale returns the default γ for rows with the given number of columns, whose entries have
// standard deviation sd.
func (k Kernel) GammaOfScale(columns int, sd float64) float64 {
	d := float64(columns)
	switch {
	case sd == 0:
		return 1
	case k.Power == 0.5:
		return clampGamma(1 / (d * sd * sd))
	case k.L1:
		return clampGamma(1 / (d * sd))
	}
	return clampGamma(1 / (math.Sqrt(d) * sd))
}

// clampGamma replaces 0 and +Inf, which result from extreme inputs, by the nearest valid numbers.
func clampGamma(gamma float64) float64 {
	return min(max(gamma, math.SmallestNonzeroFloat64), math.MaxFloat64)
}

// MedianGamma returns the γ of [kernel.GammaMedian] for the rows of X.
func (k Kernel) MedianGamma(ctx context.Context, X mat.Matrix, seed uint64) (float64, error) {
	gamma, err := k.ResolveGammaOf(ctx, kernel.GammaMedian(), X, seed)
	if err != nil {
		return 0, err
	}
	return gamma[0], nil
}

// medianGamma returns the γ of the median of the nonzero distances between sampled rows.
func (k Kernel) medianGamma(ctx context.Context, s *sample) (float64, error) {
	var distances []float64
	for i, p := range s.points {
		if err := ctxerr.Check(ctx); err != nil {
			return 0, err
		}
		for _, q := range s.points[:i] {
			if d := p.distance(q, k.L1); d > 0 {
				distances = append(distances, d)
			}
		}
	}
	if len(distances) == 0 {
		return 1, nil
	}
	sort.Float64s(distances)
	n := len(distances)
	median := midpoint(distances[(n-1)/2], distances[n/2])
	if k.Power == 0.5 {
		return clampGamma(1 / (2 * median * median)), nil
	}
	return clampGamma(1 / median), nil
}

// midpoint returns the mean of a and b without overflow.
func midpoint(a, b float64) float64 {
	if gap := b - a; !math.IsInf(gap, 0) {
		return b - gap/2
	}
	return b
}

// sampleSize is the number of rows in the sample of pairwise distances.
const sampleSize = 512

// sample is a uniform sample of the added rows, by Vitter's algorithm R (1985).
type sample struct {
	rng    Stream
	seen   int
	points []point
}

// newSample returns an empty sample.
func newSample(seed uint64) *sample {
	s := &sample{rng: NewStream()}
	s.rng.At(seed, SampledRows, 0)
	return s
}

// add offers the rows of X, a *mat.Dense or *matrices.CSR, to the sample.
func (s *sample) add(X mat.Matrix) {
	n, _ := X.Dims()
	for i := range n {
		at := s.seen
		if at >= sampleSize {
			at = s.rng.IntN(s.seen + 1)
		}
		switch {
		case at >= sampleSize:
		case at == len(s.points):
			s.points = append(s.points, pointOf(X, i))
		default:
			s.points[at] = pointOf(X, i)
		}
		s.seen++
	}
}

// point is a row; columns is nil if it is dense.
type point struct {
	columns []uint32
	values  []float64
}

func pointOf(X mat.Matrix, i int) point {
	m, ok := X.(*matrices.CSR)
	if !ok {
		return point{values: slices.Clone(X.(*mat.Dense).RawRowView(i))}
	}
	columns, values := m.Row(i)
	if shared, ok := m.Shared(); ok {
		values = slices.Repeat([]float64{shared}, len(columns))
	}
	return point{columns: append([]uint32{}, columns...), values: slices.Clone(values)}
}

// distance returns ‖p − q‖₁ or ‖p − q‖₂.
func (p point) distance(q point, l1 bool) float64 {
	sum := 0.0
	add := func(delta float64) {
		if l1 {
			sum += math.Abs(delta)
		} else {
			sum += delta * delta
		}
	}
	switch {
	case p.columns == nil && q.columns == nil:
		for j, v := range p.values {
			add(v - q.values[j])
		}
	case p.columns == nil || q.columns == nil:
		a, b := p, q
		if a.columns != nil {
			a, b = b, a
		}
		for j, v := range a.values {
			if k, ok := slices.BinarySearch(b.columns, uint32(j)); ok {
				v -= b.values[k]
			}
			add(v)
		}
	default:
		p.merge(q, add)
	}
	if l1 {
		return sum
	}
	return math.Sqrt(sum)
}

// merge calls add with the difference in every column that at least one of two sparse rows stores.
func (p point) merge(q point, add func(delta float64)) {
	i, k := 0, 0
	for i < len(p.columns) || k < len(q.columns) {
		switch {
		case k == len(q.columns) || i < len(p.columns) && p.columns[i] < q.columns[k]:
			add(p.values[i])
			i++
		case i == len(p.columns) || q.columns[k] < p.columns[i]:
			add(-q.values[k])
			k++
		default:
			add(p.values[i] - q.values[k])
			i++
			k++
		}
	}
}
