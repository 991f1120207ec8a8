package datasets

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowblock"
)

// Set is rows in memory. The zero value of every optional field means "none".
type Set struct {
	X           mat.Matrix // n×d; *mat.Dense, *sparse.CSR or *single.Dense on the fast paths. NaN is a missing value
	Y           []float64  // n targets, or class codes 0..k-1
	Targets     *mat.Dense // n×t, several targets instead of Y
	Weights     []float64  // n sample weights ≥ 0
	Groups      []int      // n group numbers, for grouped folds
	Passthrough [][]string // n rows of texts, of the columns that [Roles] keeps; no input
	Schema      Schema     // names, kinds and categories of the columns; class names

	origin []int // numbers of the rows in those that they were selected from; nil for none
}

// Unknown is the code of a category that the schema does not list.
const Unknown = -1

// Rows returns the number of rows, Cols that of columns.
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

// Slice returns rows lo to hi (hi excluded) as a view of the same arrays. Like indexing it panics
// outside of the rows.
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

// DropTargets returns the same rows for a task that learns without a target: a target that is there only
// scores, and no fit may see it.
func (s Set) WithoutTargets() Set {
	s.Y, s.Targets, s.Schema.Targets = nil, nil, nil
	return s
}

// Source returns the rows of s as a [Source] of views.
func (s Set) Source() Source { return setSource{s} }

type setSource struct{ set Set }

// Set returns the rows. It tells internal/rowsource that src is a Set.
func (s setSource) Set() Set { return s.set }

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
