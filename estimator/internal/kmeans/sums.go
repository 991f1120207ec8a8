package kmeans

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// Sums are the sums of a pass: a sample of the rows in the first pass, then those of the rows
// nearest to each center. They implement [pass.Sums].
type Sums struct {
	spec   Spec
	cols   int
	turn   int     // 0 for the pass of the sample
	sample *sample // in that pass
	stop   float64 // squared shift of all centers at which to stop
	near   *nearest
	found  *clusterSums
	bounds *bounds // of rows in memory
}

// NewSums returns the sums of the first pass.
func NewSums(s Spec, cols int) *Sums { return &Sums{spec: s, cols: cols, sample: newSample(s, cols)} }

// clusterSums contains the sums of a pass over the rows nearest to each center.
type clusterSums struct {
	k, d    int
	mass    []float64
	shift   []float64 // k×d, Σ weight·(row − center) of dense rows
	plain   []float64 // k×d, Σ weight·row of sparse rows; nil if there are none
	thin    []float64
	inertia float64
	far     []float64 // squared distance of the farthest row
	row     []float64 // k×d, farthest rows
}

func newFound(k, d int) *clusterSums {
	return &clusterSums{k: k, d: d, mass: make([]float64, k), shift: make([]float64, k*d), far: make([]float64, k),
		row: make([]float64, k*d)}
}

// Add adds a block.
func (s *Sums) Add(ctx context.Context, first int, block datasets.Set) error {
	weights, err := design.BlockWeights(first, block)
	if err != nil {
		return err
	}
	if block.Cols() != s.cols {
		return fmt.Errorf("row %[1]d: number of columns must be %[3]d, got %[2]d", first, block.Cols(), s.cols)
	}
	r := rowsOf(design.Native(block.X))
	for lo := 0; lo < block.Rows(); lo += atOnce {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+atOnce, block.Rows())
		if s.turn == 0 {
			if !s.sample.add(r, lo, hi, weights) {
				return design.NonFiniteError(first, block)
			}
			continue
		}
		if s.found.add(s.near, r, lo, hi, weights, s.bounds, first); s.found.inertia-s.found.inertia != 0 {
			return design.NonFiniteError(first, block)
		}
	}
	return ctxerr.Check(ctx)
}

// add adds rows lo to hi of a block; row 0 of the block is row first.
func (f *clusterSums) add(v *nearest, r rows, lo, hi int, weights []float64, b *bounds, first int) {
	if r.csr != nil && v.columns == nil {
		v.forSparse()
	}
	n := hi - lo
	center := make([]int32, n)
	hold := design.Borrow[float64](n)
	defer hold.Release()
	distance := hold.Data
	v.assign(r, lo, hi, b, first, center, distance)
	lists := byCenter(center, f.k)
	if r.csr != nil && f.plain == nil {
		f.plain, f.thin = make([]float64, f.k*f.d), make([]float64, f.k)
	}
	inertia := make([]float64, f.k)
	kern.Parallel(f.k, 1, func(from, to int) {
		for c := from; c < to; c++ {
			inertia[c] = f.addTo(v, c, r, lo, lists[c], weights)
		}
	})
	for _, v := range inertia {
		f.inertia += v
	}
	if b == nil {
		f.farthest(r, lo, center, distance, weights)
	}
}

// byCenter lists the rows of each center.
func byCenter(center []int32, k int) [][]int32 {
	counts := make([]int, k+1)
	for _, c := range center {
		counts[c+1]++
	}
	for c := range k {
		counts[c+1] += counts[c]
	}
	all, lists := make([]int32, len(center)), make([][]int32, k)
	for c := range lists {
		lists[c] = all[counts[c]:counts[c]:counts[c+1]]
	}
	for i, c := range center {
		lists[c] = append(lists[c], int32(i))
	}
	return lists
}

// addTo adds the rows that are nearest to center c and returns the sum of their squared distances.
func (f *clusterSums) addTo(v *nearest, c int, r rows, lo int, list []int32, weights []float64) (inertia float64) {
	middle, shift := v.center(c), f.shift[c*f.d:(c+1)*f.d]
	hold := design.Borrow[float64](f.d)
	defer hold.Release()
	for _, at := range list {
		i, w := lo+int(at), 1.0
		if weights != nil {
			w = weights[i]
		}
		if w == 0 {
			continue
		}
		f.mass[c] += w
		if r.csr == nil {
			row := hold.Data
			r.write(row, i)
			s := 0.0
			for j, x := range row {
				x -= middle[j]
				shift[j] += w * x
				s += x * x
			}
			inertia += w * s
			continue
		}
		f.thin[c] += w
		plain, product := f.plain[c*f.d:(c+1)*f.d], 0.0
		columns, values := r.csr.Row(i)
		for p, j := range columns {
			x := r.sparse.Scale
			if values != nil {
				x = values[p]
			}
			plain[j] += w * x
			product += x * middle[j]
		}
		inertia += w * max(0, r.norm(i)-2*product+v.plain[c])
	}
	return inertia
}

// farthest keeps the row of each center that is farthest from it, for clusters that turn out empty.
func (f *clusterSums) farthest(r rows, lo int, center []int32, distance, weights []float64) {
	best := slices.Repeat([]int{-1}, f.k)
	for i, c := range center {
		if distance[i] > f.far[c] && (weights == nil || weights[lo+i] > 0) {
			f.far[c], best[c] = distance[i], i
		}
	}
	for c, i := range best {
		if i >= 0 {
			r.writeAny(f.row[c*f.d:(c+1)*f.d], lo+i)
		}
	}
}

// fold adds the sums of sparse rows to those of dense ones.
func (f *clusterSums) fold(v *nearest) {
	if f.plain == nil {
		return
	}
	for c, w := range f.thin {
		for j, m := range v.center(c) {
			f.shift[c*f.d+j] += f.plain[c*f.d+j] - w*m
		}
	}
	f.plain, f.thin = nil, nil
}

// Merge adds the sums of other rows.
func (s *Sums) Merge(_ context.Context, other pass.Sums) error {
	o, ok := other.(*Sums)
	switch {
	case !ok || o.turn != s.turn || s.turn > 0 && !slices.Equal(o.near.centers, s.near.centers):
		return errors.New("these are not the rows of the pass before")
	case s.turn == 0:
		s.sample.merge(o.sample)
		return nil
	}
	f, g := s.found, o.found
	f.fold(s.near)
	g.fold(o.near)
	kern.Axpy(1, g.mass, f.mass)
	kern.Axpy(1, g.shift, f.shift)
	f.inertia += g.inertia
	for c, far := range g.far {
		if far > f.far[c] {
			f.far[c] = far
			copy(f.row[c*f.d:(c+1)*f.d], g.row[c*f.d:(c+1)*f.d])
		}
	}
	return nil
}

// moved returns the centers of the rows that the pass has found nearest to each, how far they have moved (squared,
// all together), and the inertia about them.
func (s *Sums) moved() (centers []float64, shift, inertia float64) {
	f := s.found
	f.fold(s.near)
	centers, inertia = slices.Clone(s.near.centers), f.inertia
	far := slices.Clone(f.far)
	for c, w := range f.mass {
		to := centers[c*f.d : (c+1)*f.d]
		if w > 0 {
			for j, v := range f.shift[c*f.d : (c+1)*f.d] {
				v /= w
				to[j] += v
				shift += v * v
				inertia -= w * v * v
			}
		} else if from := kern.ArgMax(far); far[from] > 0 {
			copy(to, f.row[from*f.d:(from+1)*f.d])
			shift += squaredDistance(to, s.near.center(c))
			far[from] = 0
		}
	}
	return centers, shift, max(inertia, 0)
}

// Next returns the sums of the next pass.
func (s *Sums) Next(ctx context.Context) (pass.Sums, error) {
	next, err := s.next(ctx)
	if err != nil || next == nil {
		return nil, err
	}
	return next, nil
}

func (s *Sums) next(ctx context.Context) (*Sums, error) {
	next := &Sums{spec: s.spec, cols: s.cols, turn: s.turn + 1, stop: s.stop, found: newFound(s.spec.Clusters, s.cols)}
	if s.turn == 0 {
		centers, variance, err := s.sample.seed(ctx)
		if err != nil {
			return nil, err
		}
		next.near, next.stop = newNearest(centers, s.cols), s.spec.Tol*variance
		return next, nil
	}
	centers, shift, _ := s.moved()
	if shift <= s.stop || s.turn >= s.spec.MaxIter {
		return nil, ctxerr.Check(ctx)
	}
	next.near = newNearest(centers, s.cols)
	if next.bounds = s.bounds; next.bounds != nil {
		next.bounds.follow(s.near, next.near)
	}
	return next, nil
}

// Model returns the model of the last pass.
func (s *Sums) Model() (*Model, error) {
	if s.turn == 0 {
		return nil, errors.New("the pass is not the last: Next returns the one that has to read the rows again")
	}
	centers, shift, inertia := s.moved()
	m := &Model{Clusters: s.spec.Clusters, Cols: s.cols, Centers: centers, Mass: slices.Clone(s.found.mass),
		Inertia:    inertia,
		Iterations: s.turn, Converged: shift <= s.stop}
	return m.ordered(), nil
}

// State serializes the sums.
func (s *Sums) State(st *model.State) {
	turn := s.turn
	st.Int("turn", &turn)
	st.Require(turn >= 0, "the number of the pass is negative")
	if st.Err() != nil {
		return
	}
	if turn == 0 {
		if s.sample == nil {
			s.sample = newSample(s.spec, s.cols)
		}
		s.turn = 0
		s.sample.state(st)
		return
	}
	k, d := s.spec.Clusters, s.cols
	if st.Restoring() {
		s.turn, s.sample, s.near, s.found = turn, nil, newNearest(make([]float64, k*d), d), newFound(k, d)
	}
	s.found.fold(s.near)
	centers := s.near.centers
	pass.Floats(st, "centres", &centers, k*d, pass.Finite)
	st.Float("stop", &s.stop)
	st.Require(s.stop >= 0, "the movement at which to stop is negative")
	f := s.found
	pass.Floats(st, "mass", &f.mass, k, pass.NonNegative)
	pass.Floats(st, "shift", &f.shift, k*d, pass.Finite)
	st.Float("inertia", &f.inertia)
	st.Require(f.inertia >= 0, "the inertia is negative")
	pass.Floats(st, "far", &f.far, k, pass.NonNegative)
	pass.Floats(st, "row", &f.row, k*d, pass.Finite)
	if st.Restoring() && st.Err() == nil {
		s.near = newNearest(centers, d)
	}
}
