package leastsquares

import (
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// Bounds of the rank of a preconditioner: a share of the columns, so that it costs a fraction of
// the Gram matrix, and the largest rank that pays. As measured, 100 columns of a product with all
// rows cost as much as a pass that maps the rows, 30 as much as one that reads them from memory.
const (
	minRank        = 64
	maxRank        = 1024
	columnsPerRank = 8
)

// nystroem is the preconditioner P = FᵀF + penalty·I of A = G + alpha·I, where FᵀF = G_·I·(G_II +
// ν)⁻¹·G_I· is the Nyström approximation of G from a sample I of its columns. The penalty is alpha
// plus the mean eigenvalue of the approximation error. By Woodbury's identity,
//
//	P⁻¹v = (v − Fᵀ(FFᵀ + penalty·I)⁻¹Fv)/penalty
//
// takes two products with F. Since FᵀF ≤ G, P is at most penalty/alpha times A. The squared error
// rᵀA⁻¹r of a residual r is thus at most that factor times rᵀP⁻¹r. (Frangella, Tropp & Udell, SIAM
// J. Matrix Anal. Appl. 2023, use random projections instead of columns, for the same accuracy at
// twice the cost.)
type nystroem struct {
	ctx            context.Context
	alpha, penalty float64
	inverse        solve.Preconditioner
}

// rankOf returns the rank of a preconditioner for alpha on d columns with the given trace. At most
// trace/alpha eigenvalues exceed alpha; with a decaying spectrum a twentieth of that suffices
// (measured).
func rankOf(d int, alpha, trace float64) int {
	return int(min(max(minRank, trace/alpha/20), maxRank, float64(max(1, d/columnsPerRank))))
}

// sampleColumns returns count of n indices, drawn at random, in ascending order.
func sampleColumns(n, count int) []int {
	list := rand.New(rand.NewPCG(uint64(n), 0x5a3d)).Perm(n)[:count]
	slices.Sort(list)
	return list
}

// sketch accumulates the sampled columns G_I· of G, rank × columns.
type sketch struct {
	columns []int
	mean    []float64
	sums    kern.View[float32]
}

func newSketch(mean []float64, rank int) *sketch {
	d := len(mean)
	return &sketch{columns: sampleColumns(d, rank), mean: mean,
		sums: kern.Dense(rank, d, d, kern.MakeLarge[float32](rank * d)[:rank*d])}
}

// add adds rows of either precision; nil weights are ones.
func (s *sketch) add(ctx context.Context, X mat.Matrix, weights []float64) error {
	n, d := X.Dims()
	k, size := len(s.columns), min(n, sketchRows)
	sampled, rounded := design.Borrow[float32](size*k), design.Borrow[float32](size*d)
	defer sampled.Release()
	defer rounded.Release()
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		rows, list := kern.Dense(hi-lo, d, d, rounded.Data), sampled.Data[:(hi-lo)*k]
		if float32Rows, ok := X.(*matrices.Dense32); ok {
			rows = design.ViewFloat32(float32Rows).Slice(lo, hi, 0, d)
			s.gatherColumns(list, rows, s.mean, rowWeights(weights, lo, hi-lo))
		} else {
			s.round(rows, design.View(X.(*mat.Dense)).Slice(lo, hi, 0, d))
			s.gatherColumns(list, rows, nil, rowWeights(weights, lo, hi-lo))
		}
		if err := kern.MulContext(ctx, s.sums, kern.Dense(hi-lo, k, k, list).T(), rows, true); err != nil {
			return err
		}
	}
	return nil
}

// sketchRows is the number of rows per product.
const sketchRows = 512

// round writes the centered rows.
func (s *sketch) round(dst kern.View[float32], rows kern.View[float64]) {
	kern.Parallel(rows.Rows, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := dst.Row(i)
			for j, v := range rows.Row(i) {
				to[j] = float32(v - s.mean[j])
			}
		}
	})
}

// gatherColumns writes the sampled columns, minus mean (nil for zeros), times the row weights.
func (s *sketch) gatherColumns(dst []float32, rows kern.View[float32], mean, weights []float64) {
	k := len(s.columns)
	kern.Parallel(rows.Rows, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			weight := 1.0
			if weights != nil {
				weight = weights[i]
			}
			row := rows.Row(i)
			for c, j := range s.columns {
				v := float64(row[j])
				if mean != nil {
					v -= mean[j]
				}
				dst[i*k+c] = float32(weight * v)
			}
		}
	})
}

// newPreconditioner returns the preconditioner for alpha on a matrix with the given trace.
func (s *sketch) newPreconditioner(ctx context.Context, alpha, trace float64) (*nystroem, error) {
	k, d := s.sums.Rows, s.sums.Cols
	lower, err := s.coreFactor(ctx, alpha)
	if err != nil {
		return nil, err
	}
	factor := kern.Dense(d, k, k, make([]float64, d*k)) // Fᵀ: float32 would be inaccurate for a small alpha
	for lo := 0; lo < d; lo += factorColumns {
		hi := min(lo+factorColumns, d)
		stripe := kern.Dense(k, hi-lo, hi-lo, make([]float64, k*(hi-lo)))
		for i := range k {
			design.Widen(stripe.Row(i), s.sums.Row(i)[lo:hi])
		}
		if err := kern.SolveLower(ctx, lower, stripe); err != nil {
			return nil, err
		}
		kern.Transpose(factor.Data[lo*k:hi*k], stripe.Data, hi-lo)
	}
	p := &nystroem{ctx: ctx, alpha: alpha}
	p.penalty = alpha + max(0, trace-kern.Dot(factor.Data, factor.Data))/float64(d)
	shared, err := solve.NewLowRankFactor(ctx, factor, slices.Repeat([]float64{1}, d))
	if err != nil {
		return nil, err
	}
	p.inverse, err = solve.LowRank(ctx, shared, []float64{p.penalty})
	return p, err
}

// factorColumns is the number of columns of F computed together.
const factorColumns = 1024

// coreFactor returns the Cholesky factor of G_II + ν. ν is alpha·k/d for k sampled columns, and
// larger if float32 rounding makes the matrix indefinite.
func (s *sketch) coreFactor(ctx context.Context, alpha float64) (kern.View[float64], error) {
	k, d := s.sums.Rows, s.sums.Cols
	core := kern.Dense(k, k, k, make([]float64, k*k))
	nu := 0.0
	for c, j := range s.columns {
		nu = max(nu, epsilonFloat32*float64(s.sums.At(c, j)))
	}
	for nu = max(nu, alpha*float64(k)/float64(d)); nu-nu == 0; nu *= 8 {
		for r := range k {
			for c, j := range s.columns[:r+1] {
				core.Set(r, c, float64(s.sums.At(r, j)))
			}
			core.Set(r, r, core.At(r, r)+nu)
		}
		if _, ok, err := kern.Cholesky(ctx, core); err != nil || ok {
			return core, err
		}
	}
	return core, solve.ErrRounding
}

// solve writes P⁻¹v to dst; both are columns × outputs.
func (p *nystroem) solve(dst, v []float64, t int) error {
	copy(dst, v)
	return p.inverse.Solve(p.ctx, dst, t)
}
