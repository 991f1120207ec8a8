// Package singular computes the leading singular vectors of degree-normalized rows, without the
// matrix between rows.
//
// For rows z_i of weight s_i, the degree of a row is d_i = z_iᵀΣ s_j z_j, and the normalized matrix
// has rows z_i·√(s_i/d_i). Its right singular vectors are the eigenvectors of A = Σ z_i
// z_iᵀ·s_i/d_i. The first is Σ s_j z_j, with eigenvalue 1. The others are found by a restarted
// block Krylov method with Rayleigh-Ritz: each step multiplies a block of vectors by A in one pass
// over the rows (Saad, Numerical Methods for Large Eigenvalue Problems, 2011, chapter 6).
//
// With fewer rows than columns, the method finds the shorter left singular vectors. They are the
// eigenvectors of the matrix √(s_i/d_i)·z_iᵀz_j·√(s_j/d_j), of which the first is √(s_i·d_i). A
// step then takes two passes, and the right vectors follow at the end.
package singular

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Task is the specification of the computation.
type Task struct {
	Count   int     // number of singular vectors
	Tol     float64 // residual ‖Av − λv‖ at convergence, where λ ≤ 1
	MaxIter int     // maximum number of steps
	Seed    uint64
}

// Vectors is the result.
type Vectors struct {
	Count, Cols int
	Values      []float64 // eigenvalues of A, descending
	Vectors     []float64 // count × cols, of norm 1
	Iterations  int
	Residual    float64
	Converged   bool
}

const (
	oversampling   = 4       // additional vectors that speed up convergence
	minBlocks      = 4       // blocks before a restart
	maxBlocks      = 20      // more blocks need fewer steps
	maxBasisFloats = 1 << 25 // float64 values of a basis beyond minBlocks
)

// maxBasisBlocks returns the number of blocks before a restart.
func maxBasisBlocks(block, length int) int {
	return max(minBlocks, min(maxBlocks, maxBasisFloats/max(1, block*length)))
}

// WorkspaceFloats returns the float64 values allocated by [Task.Find].
func WorkspaceFloats(count, rows, cols int) float64 {
	block, length := count+oversampling, min(rows, cols)
	return 2*float64(maxBasisBlocks(block,
		length))*float64(block)*float64(length) + float64(block+1)*float64(cols) + float64(rows)
}

// Find returns the leading vectors of rows, in several passes.
func (t Task) Find(ctx context.Context, r *design.Rows) (*Vectors, error) {
	s := &search{Task: t, rows: r}
	if err := s.sumRows(ctx); err != nil {
		return nil, err
	}
	if err := s.computeDegrees(ctx); err != nil {
		return nil, err
	}
	s.leftSide = len(s.weightOverDegree) < r.Cols
	s.length = min(len(s.weightOverDegree), r.Cols)
	s.block = min(t.Count+oversampling, s.length)
	next, err := s.startVectors(ctx)
	if err != nil {
		return nil, err
	}
	for turn := 1; ; turn++ {
		if next, err = s.orthonormalize(ctx, next); err != nil {
			return nil, err
		}
		if err := s.multiply(ctx, next); err != nil {
			return nil, err
		}
		residuals, err := s.rayleighRitz(ctx)
		if err != nil {
			return nil, err
		}
		worst := 0.0
		for _, r := range residuals[:min(t.Count, len(residuals))] {
			worst = max(worst, math.Sqrt(kern.Dot(r, r)))
		}
		done := worst <= t.Tol
		if done || turn >= t.MaxIter || len(next) == 0 {
			return s.result(ctx, turn, worst, done || len(next) == 0)
		}
		next = residuals
	}
}

// search is an orthonormal basis and its products with A.
type search struct {
	Task
	rows             *design.Rows
	sums             []float64 // Σ s_j z_j
	weightOverDegree []float64 // s_i/d_i
	leftSide         bool      // whether it iterates on left vectors
	length, block    int
	basis            [][]float64
	products         [][]float64
	inner            [][]float64 // lower triangle of basisᵀ·products
	values           []float64   // Ritz values, descending
	ritz             [][]float64
}

// sumRows computes Σ s_j z_j.
func (s *search) sumRows(ctx context.Context) error {
	s.sums = make([]float64, s.rows.Cols)
	total := 0.0
	err := s.rows.Each(ctx, func(first int, block datasets.Set) error {
		weights, err := design.BlockWeights(first, block)
		if err != nil {
			return err
		}
		if weights == nil {
			weights = slices.Repeat([]float64{1}, block.Rows())
		}
		total += kern.Sum(weights)
		return eachChunk(ctx, block, func(lo int, X mat.Matrix) error {
			n, _ := X.Dims()
			addProducts(kern.Column(s.sums), X, kern.Column(weights[lo:lo+n]))
			if !kern.AllFinite(s.sums) {
				return design.NonFiniteError(first, block)
			}
			return nil
		})
	})
	if err == nil && total == 0 {
		err = errors.New("every weight is 0")
	}
	return err
}

// computeDegrees computes s_i/d_i.
func (s *search) computeDegrees(ctx context.Context) error {
	return s.rows.Each(ctx, func(first int, block datasets.Set) error {
		at := len(s.weightOverDegree)
		s.weightOverDegree = append(s.weightOverDegree, make([]float64, block.Rows())...)
		return eachChunk(ctx, block, func(lo int, X mat.Matrix) error {
			n, _ := X.Dims()
			shares := s.weightOverDegree[at+lo:][:n]
			Multiply(kern.Column(shares), X, kern.Column(s.sums))
			for i, degree := range shares {
				weight := 1.0
				if block.Weights != nil {
					weight = block.Weights[lo+i]
				}
				if weight > 0 && !(degree > 0) {
					return block.Locate(&datasets.RowError{Row: first + lo + i, Err: errDegree(degree)}, first)
				}
				if shares[i] = 0; weight > 0 {
					shares[i] = weight / degree
				}
			}
			return nil
		})
	})
}

// eachChunk calls f with chunks of a block in float64.
func eachChunk(ctx context.Context, block datasets.Set, f func(lo int, X mat.Matrix) error) error {
	const step = 1 << 13
	n := block.Rows()
	for lo := 0; lo < n; lo += step {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		part := block.Slice(lo, min(lo+step, n))
		if err := design.WithFloat64(design.Native(part.X), func(X mat.Matrix) error { return f(lo, X) }); err != nil {
			return err
		}
	}
	return ctxerr.Check(ctx)
}

// addProducts computes dst += Xᵀ·B.
func addProducts(dst kern.View[float64], X mat.Matrix, b kern.View[float64]) {
	if m, ok := X.(*matrices.CSR); ok {
		kern.SparseMulT(dst, design.SparseView(m), b, true)
		return
	}
	kern.Mul(dst, design.View(X.(*mat.Dense)).T(), b, true)
}

// Multiply computes dst = X·B.
func Multiply(dst kern.View[float64], X mat.Matrix, b kern.View[float64]) {
	if m, ok := X.(*matrices.CSR); ok {
		kern.SparseMul(dst, design.SparseView(m), b, false)
		return
	}
	kern.Mul(dst, design.View(X.(*mat.Dense)), b, false)
}

// startVectors returns the known first vector and random ones.
func (s *search) startVectors(ctx context.Context) ([][]float64, error) {
	known := slices.Clone(s.sums)
	if s.leftSide {
		hold := kern.Column(make([]float64, s.length))
		if err := s.toLeft(ctx, hold, kern.Column(s.sums)); err != nil {
			return nil, err
		}
		known = hold.Data
	}
	rng := spectral.NewStream()
	list := [][]float64{known}
	for i := 1; i < s.block; i++ {
		rng.At(s.Seed, spectral.Vectors, i)
		v := make([]float64, s.length)
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		list = append(list, v)
	}
	return list, nil
}

// orthonormalize returns an orthonormal basis of the components of vectors orthogonal to the basis.
func (s *search) orthonormalize(ctx context.Context, vectors [][]float64) (out [][]float64, err error) {
	for _, v := range vectors {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		size := math.Sqrt(kern.Dot(v, v))
		if size == 0 {
			continue
		}
		kern.Scale(1/size, v)
		left := 1.0
		for range 3 {
			for _, list := range [][][]float64{s.basis, out} {
				for _, q := range list {
					kern.Axpy(-kern.Dot(q, v), q, v)
				}
			}
			left = math.Sqrt(kern.Dot(v, v))
			if left < 1e-10 {
				break
			}
			kern.Scale(1/left, v)
		}
		if left >= 1e-10 && len(s.basis)+len(out) < s.length {
			out = append(out, v)
		}
	}
	return out, nil
}

// multiply adds vectors and their products with A, or with the matrix between rows, to the basis.
func (s *search) multiply(ctx context.Context, vectors [][]float64) error {
	b := len(vectors)
	if b == 0 {
		return nil
	}
	in, out := columns(vectors, s.length), zero(s.length, b)
	var err error
	if s.leftSide {
		right := zero(s.rows.Cols, b)
		if err = s.toRight(ctx, right, in); err == nil {
			err = s.toLeft(ctx, out, right)
		}
	} else {
		err = s.multiplyGram(ctx, out, in)
	}
	if err != nil {
		return err
	}
	s.basis = append(s.basis, vectors...)
	for c := range vectors {
		product := make([]float64, s.length)
		for j := range product {
			product[j] = out.At(j, c)
		}
		s.products = append(s.products, product)
	}
	return nil
}

// columns returns the matrix with the given columns.
func columns(vectors [][]float64, length int) kern.View[float64] {
	m := zero(length, len(vectors))
	for j := range length {
		row := m.Row(j)
		for c, v := range vectors {
			row[c] = v[j]
		}
	}
	return m
}

func zero(rows, cols int) kern.View[float64] {
	return kern.Dense(rows, cols, cols, make([]float64, rows*cols))
}

// multiplyGram computes dst += A·V in one pass.
func (s *search) multiplyGram(ctx context.Context, dst, v kern.View[float64]) error {
	b := v.Cols
	return s.rows.Each(ctx, func(first int, block datasets.Set) error {
		return eachChunk(ctx, block, func(lo int, X mat.Matrix) error {
			n, _ := X.Dims()
			hold := design.Borrow[float64](n * b)
			defer hold.Release()
			scores := kern.Dense(n, b, b, hold.Data)
			Multiply(scores, X, v)
			for i, share := range s.weightOverDegree[first+lo:][:n] {
				kern.Scale(share, scores.Row(i))
			}
			addProducts(dst, X, scores)
			return nil
		})
	})
}

// toLeft multiplies right vectors by the normalized matrix.
func (s *search) toLeft(ctx context.Context, dst, right kern.View[float64]) error {
	return s.rows.Each(ctx, func(first int, block datasets.Set) error {
		return eachChunk(ctx, block, func(lo int, X mat.Matrix) error {
			n, _ := X.Dims()
			Multiply(dst.Slice(first+lo, first+lo+n, 0, dst.Cols), X, right)
			for i, share := range s.weightOverDegree[first+lo:][:n] {
				kern.Scale(math.Sqrt(share), dst.Row(first+lo+i))
			}
			return nil
		})
	})
}

// toRight adds the products of left vectors with the transposed normalized matrix to dst.
func (s *search) toRight(ctx context.Context, dst, left kern.View[float64]) error {
	b := left.Cols
	return s.rows.Each(ctx, func(first int, block datasets.Set) error {
		return eachChunk(ctx, block, func(lo int, X mat.Matrix) error {
			n, _ := X.Dims()
			hold := design.Borrow[float64](n * b)
			defer hold.Release()
			scaled := kern.Dense(n, b, b, hold.Data)
			for i, share := range s.weightOverDegree[first+lo:][:n] {
				row := scaled.Row(i)
				copy(row, left.Row(first+lo+i))
				kern.Scale(math.Sqrt(share), row)
			}
			addProducts(dst, X, scaled)
			return nil
		})
	})
}

func errDegree(degree float64) error {
	return fmt.Errorf("the sum of its products with all rows must be > 0, got %.3g; use binning, whose features have "+
		"no negative products, or rff with more features or a smaller gamma", degree)
}

// rayleighRitz computes the Ritz vectors of the basis and returns their residuals. It restarts a
// full basis from them.
func (s *search) rayleighRitz(ctx context.Context) ([][]float64, error) {
	m, before := len(s.basis), len(s.inner)
	for i := before; i < m; i++ {
		s.inner = append(s.inner, make([]float64, i+1))
	}
	kern.Parallel(m-before, 1, func(lo, hi int) {
		for i := before + lo; i < before+hi && ctx.Err() == nil; i++ {
			for j := range i + 1 {
				s.inner[i][j] = (kern.Dot(s.basis[i], s.products[j]) + kern.Dot(s.basis[j], s.products[i])) / 2
			}
		}
	})
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	t := kern.Dense(m, m, m, make([]float64, m*m))
	for i, row := range s.inner {
		copy(t.Row(i), row)
	}
	eigen, err := kern.NewEigen(ctx, t, true)
	if err != nil {
		return nil, err
	}
	keep := min(s.block, m)
	vectors, err := eigen.Vectors(ctx, m-keep, m)
	if err != nil {
		return nil, err
	}
	s.values, s.ritz = make([]float64, keep), make([][]float64, keep)
	products, residuals := make([][]float64, keep), make([][]float64, keep)
	kern.Parallel(keep, 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			mix := vectors[(keep-1-c)*m : (keep-c)*m]
			s.values[c] = eigen.Values[m-1-c]
			s.ritz[c], products[c] = linearCombination(mix, s.basis, s.length), linearCombination(mix, s.products, s.length)
			residuals[c] = slices.Clone(products[c])
			kern.Axpy(-s.values[c], s.ritz[c], residuals[c])
		}
	})
	if m+s.block > maxBasisBlocks(s.block, s.length)*s.block {
		s.basis, s.products, s.inner = slices.Clone(s.ritz), products, nil
		for i, v := range s.values {
			s.inner = append(s.inner, make([]float64, i+1))
			s.inner[i][i] = v
		}
	}
	return residuals, ctxerr.Check(ctx)
}

// linearCombination returns Σ mix_i·list_i.
func linearCombination(mix []float64, list [][]float64, length int) []float64 {
	out := make([]float64, length)
	for i, f := range mix {
		kern.Axpy(f, list[i], out)
	}
	return out
}

// result returns the vectors. It fails if an eigenvalue is not positive.
func (s *search) result(ctx context.Context, turns int, residual float64, converged bool) (*Vectors, error) {
	rank := 0
	for rank < min(s.Count, len(s.values)) && s.values[rank] > 1e-12 {
		rank++
	}
	if rank < s.Count {
		return nil, fmt.Errorf("the features must have rank at least %d for as many clusters, got %d", s.Count, rank)
	}
	v := &Vectors{Count: s.Count, Cols: s.rows.Cols, Values: s.values[:s.Count], Iterations: turns, Residual: residual,
		Converged: converged}
	if !s.leftSide {
		for _, one := range s.ritz[:s.Count] {
			v.Vectors = append(v.Vectors, one...)
		}
		return v, nil
	}
	right := zero(v.Cols, v.Count)
	if err := s.toRight(ctx, right, columns(s.ritz[:s.Count], s.length)); err != nil {
		return nil, err
	}
	v.Vectors = make([]float64, v.Count*v.Cols)
	for c := range v.Count {
		for j := range v.Cols {
			v.Vectors[c*v.Cols+j] = right.At(j, c) / math.Sqrt(v.Values[c])
		}
	}
	return v, nil
}
