package landmarks

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Family contains maps with the same landmarks. Maps whose input scales differ by one common factor
// share a tile of distances.
type Family struct {
	maps   []*Map
	kept   [][]int // indices of the landmarks of each map
	all    mat.Matrix
	groups []*group
	of     []int     // group of distances of each map, -1 for none
	scale  []float64 // scale of each map relative to its group
}

// group contains maps that share distances.
type group struct {
	metric pairwise.Metric
	frame  pairwise.Frame
	rows   pairwise.Rows[float64]
	size   int // number of maps
}

// NewFamily returns the family of maps, given the indices of their landmarks in all.
func NewFamily(maps []*Map, kept [][]int, all mat.Matrix) *Family {
	f := &Family{maps: maps, kept: kept, all: all, scale: make([]float64, len(maps))}
	for i, m := range maps {
		f.of = append(f.of, f.join(i, m))
	}
	for i, g := range f.of {
		if g >= 0 && f.groups[g].size < 2 {
			f.of[i] = -1
		}
	}
	return f
}

// join returns the number of the group that map i belongs to.
func (f *Family) join(i int, m *Map) int {
	metric, largest := m.kernel.Metric, slices.Max(m.frame.Factor)
	if metric == pairwise.Cauchy || metric >= pairwise.Columns || !(largest > 0) {
		return -1
	}
	direction := make([]float64, len(m.frame.Factor))
	for j, g := range m.frame.Factor {
		direction[j] = g / largest
	}
	f.scale[i] = largest
	if metric == pairwise.Squared || metric == pairwise.Dot {
		f.scale[i] = largest * largest
	}
	at := slices.IndexFunc(f.groups, func(g *group) bool {
		return g.metric == metric && slices.Equal(g.frame.Factor, direction)
	})
	if at < 0 {
		at = len(f.groups)
		g := &group{metric: metric, frame: m.kernel.Frame(direction, f.all)}
		g.rows = pairwise.NewRows[float64](g.frame, f.all)
		f.groups = append(f.groups, g)
	}
	f.groups[at].size++
	return at
}

// Inputs returns the number of columns that go in.
func (f *Family) Inputs() int { return f.maps[0].Inputs() }

// Shares reports whether at least two maps share distances.
func (f *Family) Shares() bool { return slices.ContainsFunc(f.of, func(g int) bool { return g >= 0 }) }

// Limit returns the maximum magnitude of the inputs of the selected maps.
func (f *Family) Limit(which []int) float64 {
	limit := pairwise.Limit[float64](pairwise.Frame{})
	for _, i := range which {
		limit = min(limit, f.maps[i].Limit(false))
		if g := f.of[i]; g >= 0 {
			limit = min(limit, pairwise.Limit[float64](f.groups[g].frame))
		}
	}
	return limit
}

// Domain returns the constraint on the inputs of the maps, "" for all numbers, and reports whether v violates it.
func (f *Family) Domain() (constraint string, violated func(v float64) bool) {
	for _, m := range f.maps {
		if constraint, violated = m.kernel.Domain(); constraint != "" {
			break
		}
	}
	return constraint, violated
}

// NewRows returns new rows as the maps take them; see [pairwise.Kernel.NewRows].
func (f *Family) NewRows(X mat.Matrix) mat.Matrix { return f.maps[0].kernel.NewRows(X) }

// Each maps the rows of X, a *mat.Dense or *matrices.CSR without values beyond the limit, by the
// selected maps, and passes the features of each map to yield, in a matrix that is reused. X should
// be a tile of rows: Each stores the distances of each group and the features.
func (f *Family) Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error {
	n, _ := X.Dims()
	m, _ := f.all.Dims()
	hold := design.Borrow[float64](n * m)
	defer hold.Release()
	distances := make([]*design.Buffer[float64], len(f.groups))
	defer func() {
		for _, d := range distances {
			if d != nil {
				d.Release()
			}
		}
	}()
	for _, i := range which {
		width := f.maps[i].Width()
		Z := mat.NewDense(n, width, hold.Data[:n*width])
		err := ctxerr.Check(ctx)
		g := f.of[i]
		switch {
		case err != nil:
		case g < 0:
			err = f.maps[i].Float64(ctx, design.View(Z), X)
		default:
			if distances[g] == nil {
				distances[g] = design.Borrow[float64](n * m)
				err = f.groups[g].distances(ctx, kern.Dense(n, m, m, distances[g].Data), X)
			}
			if err == nil {
				err = f.finish(ctx, i, design.View(Z), kern.Dense(n, m, m, distances[g].Data))
			}
		}
		if err == nil {
			err = yield(i, Z)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// distances writes the distances between the rows of X and all landmarks.
func (g *group) distances(ctx context.Context, dst kern.View[float64], X mat.Matrix) error {
	hold := prepared64.Get().(*pairwise.Rows[float64])
	defer prepared64.Put(hold)
	hold.Prepare(g.frame, X, 0, dst.Rows)
	return pairwise.Tiles(ctx, dst, *hold, g.rows, g.metric)
}

// finish writes the features of map i, computed from distances.
func (f *Family) finish(ctx context.Context, i int, dst, distances kern.View[float64]) error {
	m, kept := f.maps[i], f.kept[i]
	kern.Parallel(dst.Rows, pairwise.TileRows, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			to, from := dst.Row(r), distances.Row(r)
			for j, at := range kept {
				to[j] = from[at]
			}
		}
		pairwise.Values(m.kernel, f.scale[i], dst.Slice(lo, hi, 0, dst.Cols))
	})
	return solve(ctx, m.float64.factor, dst)
}
