package landmarks

import (
	"context"
	"math"
	"sort"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Partial is a partial Cholesky factorization of the kernel matrix K of some rows: K ≈ F·F', exact at the pivots.
type Partial[T kern.Float] struct {
	Pivots []int        // numbers of the rows chosen, in their order
	F      kern.View[T] // rows × pivots; F at the pivots is their Cholesky factor
	Rest   float64      // trace of K − F·F'
}

// proposals is the number of pivots proposed at a time. It is constant, so that the first pivots of
// a long sequence equal those of a short one.
const proposals = 128

// Pivoted selects up to maxPivots pivots for the kernel of x by randomly pivoted Cholesky: each pivot is
// drawn with probability proportional to the residuals diag(K − F·F'). The frame of x must be that
// of the kernel and its γ. Pivots are proposed in blocks by slightly outdated residuals and
// accepted with the ratio of the current residual to the outdated one, which gives the same
// distribution. It stops early when residuals are rounding error.
//
// Cost: n·m kernel values and n·m² flops for m = maxPivots; F takes n·m numbers.
func Pivoted[T kern.Float](ctx context.Context, x pairwise.Rows[T], k *pairwise.Kernel, maxPivots int,
	seed uint64) (*Partial[T], error) {
	return PivotedUntil(ctx, x, k, maxPivots, seed, nil)
}

// PivotedUntil is [Pivoted] that stops when enough, which may be nil, returns true for the number
// of pivots and the trace of the residual.
func PivotedUntil[T kern.Float](ctx context.Context, x pairwise.Rows[T], k *pairwise.Kernel, maxPivots int, seed uint64,
	enough func(pivots int, rest float64) bool) (*Partial[T], error) {
	n := x.Len()
	maxPivots = min(maxPivots, n)
	if err := memory.Check(int64(unsafe.Sizeof(T(0))) * int64(n) * int64(maxPivots)); err != nil {
		return nil, err
	}
	residual, err := pairwise.Diagonal(k, x)
	if err != nil {
		return nil, err
	}
	p := &pivoting[T]{x: x, k: k, most: maxPivots, rng: spectral.NewStream(), residual: residual, sums: make([]float64, n)}
	p.F = kern.Dense(n, maxPivots, maxPivots, make([]T, n*maxPivots))
	p.scale = kern.Sum(p.residual) / float64(n)
	const fruitless = 16 // stop after this number of rounds without a pivot
	for round, empty := 0, 0; len(p.Pivots) < maxPivots && empty < fruitless; round++ {
		p.rng.At(seed, spectral.Pivots, round)
		if p.Rest = p.sum(); p.Rest <= p.roundingResidual()*float64(n) || enough != nil && enough(len(p.Pivots), p.Rest) {
			break
		}
		before := len(p.Pivots)
		if err := p.round(ctx); err != nil {
			return nil, err
		}
		empty++
		if len(p.Pivots) > before {
			empty = 0
		}
	}
	p.Rest = p.sum()
	p.F = p.F.Slice(0, n, 0, len(p.Pivots))
	return &p.Partial, nil
}

// pivoting is the state of [Pivoted].
type pivoting[T kern.Float] struct {
	Partial[T]
	x        pairwise.Rows[T]
	k        *pairwise.Kernel
	most     int
	rng      spectral.Stream
	residual []float64
	scale    float64   // mean of the diagonal of K
	sums     []float64 // of residuals up to each row
}

// roundingResidual returns the maxPivots residual that may be rounding error.
func (p *pivoting[T]) roundingResidual() float64 {
	if unsafe.Sizeof(T(0)) == 8 {
		return 1e-13 * p.scale
	}
	return 1e-6 * p.scale
}

// sum adds the residuals up.
func (p *pivoting[T]) sum() (total float64) {
	for i, r := range p.residual {
		total += r
		p.sums[i] = total
	}
	return total
}

// round proposes a block of pivots and takes the accepted ones.
func (p *pivoting[T]) round(ctx context.Context) error {
	proposed := make([]int, proposals)
	for i := range proposed {
		u := p.rng.Float64() * p.Rest
		at := sort.Search(len(p.sums), func(i int) bool { return p.sums[i] > u })
		proposed[i] = min(at, len(p.sums)-1)
	}
	rows := p.x.Select(proposed)
	left, err := p.residualMatrix(ctx, rows, p.negatedRows(proposed))
	if err != nil {
		return err
	}
	taken, factor := p.accept(proposed, left)
	if len(taken) == 0 {
		return ctxerr.Check(ctx)
	}
	return p.take(ctx, taken, factor)
}

// negatedRows returns the listed rows of F, negated.
func (p *pivoting[T]) negatedRows(list []int) kern.View[T] {
	k := len(p.Pivots)
	out := kern.Dense(len(list), k, k, make([]T, len(list)*k))
	for i, at := range list {
		for j, v := range p.F.Row(at)[:k] {
			out.Row(i)[j] = -v
		}
	}
	return out
}

// residualMatrix returns K − F·F' at some rows, given their negated rows of F.
func (p *pivoting[T]) residualMatrix(ctx context.Context, rows pairwise.Rows[T], negative kern.View[T]) (kern.View[T],
	error) {
	n := rows.Len()
	out := kern.Dense(n, n, n, make([]T, n*n))
	if err := pairwise.Matrix(ctx, out, rows, rows, p.k); err != nil {
		return out, err
	}
	positive := kern.Dense(n, negative.Cols, negative.Cols, make([]T, n*negative.Cols))
	for i, v := range negative.Data {
		positive.Data[i] = -v
	}
	return out, kern.MulContext(ctx, out, negative, positive.T(), true)
}

// accept tests the proposals sequentially and returns the accepted rows with the Cholesky factor of
// their residuals.
func (p *pivoting[T]) accept(proposed []int, left kern.View[T]) (taken []int, factor kern.View[T]) {
	b := len(proposed)
	h := make([][]float64, b)
	for i := range h {
		h[i] = make([]float64, b)
		for j, v := range left.Row(i) {
			h[i][j] = float64(v)
		}
	}
	var places []int
	columns := make([][]float64, 0, b)
	for i := range b {
		accepted := p.rng.Float64()*p.residual[proposed[i]] < h[i][i] && h[i][i] > p.roundingResidual()
		if !accepted || len(p.Pivots)+len(taken) == p.most {
			continue
		}
		column, root := make([]float64, b), math.Sqrt(h[i][i])
		for j := i; j < b; j++ {
			column[j] = h[j][i] / root
		}
		for j := i; j < b; j++ {
			kern.Axpy(-column[j], column[i:], h[j][i:])
		}
		taken, places, columns = append(taken, proposed[i]), append(places, i), append(columns, column)
	}
	t := len(taken)
	factor = kern.Dense(t, t, t, make([]T, t*t))
	for i, at := range places {
		for j := range i + 1 {
			factor.Set(i, j, T(columns[j][at]))
		}
	}
	return taken, factor
}

// take adds the columns of the rows taken to F.
func (p *pivoting[T]) take(ctx context.Context, taken []int, factor kern.View[T]) error {
	n, k, t := p.x.Len(), len(p.Pivots), len(taken)
	columns := p.F.Slice(0, n, k, k+t)
	if err := pairwise.Matrix(ctx, columns, p.x, p.x.Select(taken), p.k); err != nil {
		return err
	}
	if err := kern.MulContext(ctx, columns, p.F.Slice(0, n, 0, k), p.negatedRows(taken).T(), true); err != nil {
		return err
	}
	if err := kern.SolveLower(ctx, factor, columns.T()); err != nil {
		return err
	}
	for i := range n {
		for _, v := range columns.Row(i) {
			p.residual[i] -= float64(v) * float64(v)
		}
		p.residual[i] = max(p.residual[i], 0)
	}
	// Where pivots are, all is known exactly.
	for _, at := range p.Pivots {
		clear(columns.Row(at))
	}
	for i, at := range taken {
		p.residual[at] = 0
		row := columns.Row(at)
		clear(row)
		copy(row, factor.Row(i)[:i+1])
	}
	p.Pivots = append(p.Pivots, taken...)
	return nil
}

// Choose returns the numbers of up to most rows of X, a *mat.Dense or *matrices.CSR, that [Pivoted]
// takes as pivots under a kernel whose inputs are multiplied by factors: in float32, or where that
// overflows in float64.
func Choose(ctx context.Context, k *pairwise.Kernel, factors []float64, X mat.Matrix, most int, seed uint64) ([]int,
	error) {
	frame := k.Frame(factors, X)
	if finite(X, pairwise.Limit[float32](frame)) {
		return pivotsOf[float32](ctx, k, frame, X, most, seed)
	}
	return pivotsOf[float64](ctx, k, frame, X, most, seed)
}

func pivotsOf[T kern.Float](ctx context.Context, k *pairwise.Kernel, frame pairwise.Frame, X mat.Matrix, most int,
	seed uint64) ([]int, error) {
	p, err := Pivoted(ctx, pairwise.NewRows[T](frame, X), k, most, seed)
	if err != nil {
		return nil, err
	}
	return p.Pivots, nil
}
