package kmeans

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
)

// minibatches moves the centers after every few rows (Sculley, WWW 2010): each to the mean of all
// rows assigned to it so far. Rows in memory are shuffled in each pass, those of a stream are not.
func (s Spec) minibatches(ctx context.Context, r *design.Rows, first *Sums) (*Model, error) {
	centers, variance, err := first.sample.seed(ctx)
	if err != nil {
		return nil, err
	}
	b := &batches{spec: s, cols: r.Cols, centers: centers, mass: make([]float64, s.Clusters)}
	before, passes, converged := -1.0, 0, false
	for ; passes < s.MaxIter && !converged; passes++ {
		b.inertia, b.seen = 0, 0
		if err := b.pass(ctx, r, passes); err != nil {
			return nil, err
		}
		mean := b.inertia / b.seen
		converged = before >= 0 && before-mean <= s.Tol*(mean+variance)
		before = mean
	}
	// The last pass computes the distances without moving the centers.
	last := &Sums{spec: s, cols: r.Cols, turn: 1, near: newNearest(b.centers, r.Cols), found: newFound(s.Clusters, r.Cols)}
	if err := last.read(ctx, r); err != nil {
		return nil, err
	}
	m := &Model{Clusters: s.Clusters, Cols: r.Cols, Centers: b.centers, Mass: last.found.mass, Inertia: last.found.inertia,
		Iterations: passes, Converged: converged}
	return m.ordered(), nil
}

// batches is the state between minibatches.
type batches struct {
	spec    Spec
	cols    int
	centers []float64
	mass    []float64 // of the rows that have been nearest to each center
	inertia float64   // of the rows of this pass, before the centers were moved to them
	seen    float64   // their weight
}

func (b *batches) pass(ctx context.Context, r *design.Rows, turn int) error {
	if r.Set == nil {
		return r.Each(ctx, func(first int, block datasets.Set) error {
			for lo := 0; lo < block.Rows(); lo += b.spec.Batch {
				if err := b.take(ctx, first+lo, block.Slice(lo, min(lo+b.spec.Batch, block.Rows()))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	rng := spectral.NewStream()
	rng.At(b.spec.Seed, spectral.Minibatches, turn)
	order := rng.Perm(r.N)
	for lo := 0; lo < r.N; lo += b.spec.Batch {
		list := order[lo:min(lo+b.spec.Batch, r.N)]
		slices.Sort(list)
		if err := b.take(ctx, list[0], design.Select(*r.Set, list)); err != nil {
			return err
		}
	}
	return nil
}

// take moves the centers to the rows of a minibatch.
func (b *batches) take(ctx context.Context, first int, block datasets.Set) error {
	s := &Sums{spec: b.spec, cols: b.cols, turn: 1, near: newNearest(b.centers, b.cols),
		found: newFound(b.spec.Clusters, b.cols)}
	if err := s.Add(ctx, first, block); err != nil {
		return err
	}
	f := s.found
	f.fold(s.near)
	b.inertia += f.inertia
	for c, w := range f.mass {
		if b.seen += w; w == 0 {
			continue
		}
		b.mass[c] += w
		to := b.centers[c*b.cols : (c+1)*b.cols]
		for j, v := range f.shift[c*b.cols : (c+1)*b.cols] {
			to[j] += v / b.mass[c]
		}
	}
	return nil
}
