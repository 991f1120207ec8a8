// Package kmeans finds centers of groups of rows: seeding, Lloyd's passes, minibatches. Inputs and
// outputs are numeric columns.
//
// A fit samples the rows (all distinct rows, if there are few), selects the best of several starts
// on the sample, and continues with Lloyd's iterations on all rows. The sample depends on the set
// of rows, not on their order; duplicated rows have double weight; the sums of a pass are
// accumulated in the order of the rows. The same rows give the same bits on any number of cores,
// and the same centers for any order and partition.
//
// Nearest centers are computed by matrix products over some hundred rows. For rows in memory,
// Hamerly's bounds (SDM 2010) skip rows whose center cannot have changed; the bounds account for
// rounding, so every row has the center that the products alone would give.
package kmeans

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Spec contains the parameters.
type Spec struct {
	Clusters int
	Restarts int
	Random   bool    // whether the first centers are rows drawn evenly, not by k-means++
	MaxIter  int     // most passes over all rows
	Tol      float64 // squared movement of the centers at which to stop, relative to the mean variance of the columns
	Batch    int     // rows of a minibatch, 0 for none
	Seed     uint64
}

// Model is the result of a fit. Cluster 0 is the largest.
type Model struct {
	Clusters, Cols int
	Centers        []float64 // clusters × cols
	Mass           []float64 // clusters: weight of their rows
	Inertia        float64   // Σ weight·‖row − center‖²
	Iterations     int       // passes over all rows
	Converged      bool
}

// Fit finds the centers of all rows.
func (s Spec) Fit(ctx context.Context, r *design.Rows) (*Model, error) {
	sums := NewSums(s, r.Cols)
	if err := sums.read(ctx, r); err != nil {
		return nil, err
	}
	if s.Batch > 0 {
		return s.minibatches(ctx, r, sums)
	}
	next, err := sums.next(ctx)
	if err != nil {
		return nil, err
	}
	return lloyd(ctx, r, next)
}

// From is Fit from given centers, clusters × cols; a shift of at most tolerance, squared, ends it.
func (s Spec) From(ctx context.Context, r *design.Rows, centers []float64, tolerance float64) (*Model, error) {
	return lloyd(ctx, r, &Sums{spec: s, cols: r.Cols, turn: 1, stop: tolerance, near: newNearest(centers, r.Cols),
		found: newFound(s.Clusters, r.Cols)})
}

// lloyd makes passes until the centers converge.
func lloyd(ctx context.Context, r *design.Rows, sums *Sums) (*Model, error) {
	if r.Set != nil {
		sums.bounds = newBounds(r.N)
	}
	for {
		if err := sums.read(ctx, r); err != nil {
			return nil, err
		}
		if sums.bounds != nil && slices.Contains(sums.found.mass, 0) {
			// An empty cluster takes the farthest row, which the bounds do not determine.
			sums.found, sums.bounds = newFound(sums.spec.Clusters, sums.cols), nil
			continue
		}
		next, err := sums.next(ctx)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return sums.Model()
		}
		if r.Set != nil && next.bounds == nil {
			next.bounds = newBounds(r.N)
		}
		sums = next
	}
}

// read adds all rows.
func (s *Sums) read(ctx context.Context, r *design.Rows) error {
	return r.Each(ctx, func(first int, block datasets.Set) error { return s.Add(ctx, first, block) })
}

// ordered returns the model with its clusters from the largest to the smallest.
func (m *Model) ordered() *Model {
	order := make([]int, m.Clusters)
	for c := range order {
		order[c] = c
	}
	center := func(c int) []float64 { return m.Centers[c*m.Cols : (c+1)*m.Cols] }
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(m.Mass[b], m.Mass[a]), slices.Compare(center(a), center(b)))
	})
	out := *m
	out.Centers, out.Mass = nil, nil
	for _, c := range order {
		out.Centers = append(out.Centers, center(c)...)
		out.Mass = append(out.Mass, m.Mass[c])
	}
	return &out
}

// Assign writes the number of the nearest center of each row of X, a *mat.Dense, *matrices.Dense32 or *matrices.CSR.
func (m *Model) Assign(ctx context.Context, dst []float64, X any) error {
	n := len(dst)
	near := newNearest(m.Centers, m.Cols)
	rows := rowsOf(X)
	if rows.csr != nil {
		near.forSparse()
	}
	for lo := 0; lo < n; lo += atOnce {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+atOnce, n)
		kern.Parallel(hi-lo, near.tile(), func(from, to int) {
			near.each(rows, lo+from, lo+to, nil, func(i int, f comparison) { dst[i] = float64(f.center) })
		})
	}
	return ctxerr.Check(ctx)
}

// atOnce is the number of rows between two checks of the context.
const atOnce = 2048

// errFewRows reports that there are fewer distinct rows than clusters.
func errFewRows(different, clusters int) error {
	return fmt.Errorf("number of distinct rows of positive weight must be at least %[2]d, the number of clusters, got "+
		"%[1]d", different, clusters)
}

// square returns x².
func square(x float64) float64 { return x * x }

// root returns the square root of a number that rounding may have made negative.
func root(x float64) float64 { return math.Sqrt(max(x, 0)) }
