package datasets

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Set is a set of rows in memory. Zero values of optional fields mean that they are absent.
type Set struct {
	X           mat.Matrix // n×d, preferably *mat.Dense, *matrices.CSR or *matrices.Dense32; NaN is a missing value
	Y           []float64  // n targets, or class codes 0..k-1
	Targets     *mat.Dense // n×t, for several targets, instead of Y
	Weights     []float64  // n sample weights ≥ 0
	Groups      []int      // n group numbers, for folds by group
	Passthrough [][]string // n rows of strings of the columns in Roles.Passthrough
	Schema      Schema     // columns and targets

	origin  []int // row numbers in the set from which the rows were selected; nil if none
	problem error // of the arguments of New, which Check returns; nil if none
}

// Unknown is the code of a category that the schema does not list.
const Unknown = -1

// Rows returns the number of rows.
func (s Set) Rows() int {
	if s.X == nil {
		return 0
	}
	n, _ := s.X.Dims()
	return n
}

// Cols returns the number of columns of X.
func (s Set) Cols() int {
	if s.X == nil {
		return 0
	}
	_, d := s.X.Dims()
	return d
}

// Slice returns rows lo to hi−1 as a view. It panics if the range is invalid.
func (s Set) Slice(lo, hi int) Set {
	out := s
	out.X = rowblock.Slice(s.X, lo, hi)
	if s.Y != nil {
		out.Y = s.Y[lo:hi:hi]
	}
	if s.Targets != nil {
		out.Targets = rowblock.Slice(s.Targets, lo, hi).(*mat.Dense)
	}
	if s.Weights != nil {
		out.Weights = s.Weights[lo:hi:hi]
	}
	if s.Groups != nil {
		out.Groups = s.Groups[lo:hi:hi]
	}
	if s.Passthrough != nil {
		out.Passthrough = s.Passthrough[lo:hi:hi]
	}
	if s.origin != nil {
		out.origin = s.origin[lo:hi:hi]
	}
	return out
}

// EvenlySpaced returns at most maxRows rows, evenly spaced and in order; s itself if it has no more.
func (s Set) EvenlySpaced(maxRows int) Set {
	if s.Rows() <= maxRows {
		return s
	}
	return s.Select(rowblock.EvenlySpaced(s.Rows(), maxRows))
}

// Select returns a copy of the given rows, in that order. It panics if a row number is out of range.
func (s Set) Select(rows []int) Set {
	out := s
	out.X = rowblock.Select(s.X, rows)
	out.Y = pick(s.Y, rows)
	if s.Targets != nil {
		out.Targets = rowblock.Select(s.Targets, rows).(*mat.Dense)
	}
	out.Weights = pick(s.Weights, rows)
	out.Groups = pick(s.Groups, rows)
	out.Passthrough = pick(s.Passthrough, rows)
	out.origin = s.originOf(rows)
	return out
}

// WithoutTargets returns the rows without targets. Unsupervised tasks fit them, and use the targets
// only for scores.
func (s Set) WithoutTargets() Set {
	s.Y, s.Targets, s.Schema.Targets = nil, nil, nil
	return s
}

// Source returns s as a [Source], whose blocks are views.
func (s Set) Source() Source { return setSource{s} }

type setSource struct{ set Set }

// InMemory returns the rows.
func (s setSource) InMemory() (Set, bool) { return s.set, true }

func (s setSource) Schema() Schema         { return s.set.Schema }
func (s setSource) Dims() (rows, cols int) { return s.set.Rows(), s.set.Cols() }

func (s setSource) Blocks(ctx context.Context, yield func(block Set) error) error {
	size := rowblock.SizeFor(s.set.X)
	for lo := 0; lo < s.set.Rows(); lo += size {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if err := yield(s.set.Slice(lo, min(lo+size, s.set.Rows()))); err != nil {
			return err
		}
	}
	return nil
}

func pick[T any](list []T, rows []int) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = list[i]
	}
	return out
}
