package fourier

import (
	"context"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/sparse"
)

// Family is maps of the same draws. Those that scale all columns alike come from one projection of the rows.
type Family struct {
	maps    []*Map
	widest  *mat.Dense  // d×m, the base of all, or what is normal in the bases of several kernels
	factors [][]float64 // of each map's frequencies to widest, for several kernels
	limit   float64     // inputs up to which projections on widest are finite
}

// NewFamily returns the family of maps of one kernel, whose bases are the first columns of the widest.
func NewFamily(maps []*Map, widest *mat.Dense) *Family {
	return &Family{maps: maps, widest: widest, limit: math.MaxFloat64}
}

// NewMixedFamily returns the family of maps of several kernels that are mixtures of gaussian ones: the normal
// numbers in all of their frequencies, up to the number of the widest's, are those of the seed.
func NewMixedFamily(ctx context.Context, maps []*Map, widest *mat.Dense, seed uint64) (*Family, error) {
	d, m := widest.Dims()
	f := &Family{maps: maps, widest: mat.NewDense(d, m, nil)}
	rng, column, most := spectral.NewStream(), make([]float64, d), 0.0
	for j := range m {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rng.At(seed, spectral.Frequencies, j)
		spectral.Normal(rng.Rand, 1, column)
		f.widest.SetCol(j, column)
		reach := 0.0
		for _, g := range column {
			reach += math.Abs(g)
		}
		most = max(most, reach)
	}
	f.limit = math.MaxFloat64 / max(4, 4*most)
	for _, m := range f.maps {
		factors := slices.Clone(m.Spread)
		kern.Scale(m.Factor[0], factors)
		f.factors = append(f.factors, factors)
	}
	return f, nil
}

// Projects reports whether two or more of the maps come from one projection of the rows: those that scale
// all columns alike.
func (f *Family) Projects() bool {
	uniform := 0
	for _, m := range f.maps {
		if m.uniform() {
			uniform++
		}
	}
	return uniform > 1
}

// uniform reports whether all columns are scaled alike.
func (f *Map) uniform() bool {
	for _, g := range f.Factor {
		if g != f.Factor[0] {
			return false
		}
	}
	return true
}

// Limit returns up to what number the inputs of some of the maps may be.
func (f *Family) Limit(which []int) float64 {
	limit := f.limit
	for _, i := range which {
		limit = min(limit, f.maps[i].Float64.Limit)
	}
	return limit
}

// Each maps the rows of X, a *mat.Dense or *sparse.CSR with no number beyond the limit, by some of the maps and
// calls yield with the features of each, in a matrix that the next one reuses. Meant for a tile of rows: it holds a
// projection and the features.
func (f *Family) Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error {
	n, _ := X.Dims()
	width, projected := 0, 0
	for _, i := range which {
		m := f.maps[i]
		width = max(width, m.Width())
		if f.Projects() && m.uniform() {
			projected = max(projected, m.Len())
		}
	}
	hold := tilePool.Get().(*[]float64)
	defer tilePool.Put(hold)
	if need := n * (width + projected); cap(*hold) < need {
		*hold = make([]float64, need)
	}
	tile := (*hold)[:n*width]
	angles := kern.Dense(n, projected, projected, (*hold)[n*width:n*(width+projected)])
	if f.Projects() && projected > 0 {
		f.project(angles, X)
	}
	for _, i := range which {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := f.maps[i]
		Z := mat.NewDense(n, m.Width(), tile[:n*m.Width()])
		if f.Projects() && m.uniform() {
			f.rescale(i, design.View(Z), angles.Slice(0, n, 0, m.Len()))
		} else if err := m.Float64.Transform(ctx, design.View(Z), X); err != nil {
			return err
		}
		if err := yield(i, Z); err != nil {
			return err
		}
	}
	return nil
}

// tilePool holds features and projections of tiles.
var tilePool = sync.Pool{New: func() any { return new([]float64) }}

// project writes X times what the maps' frequencies are multiples of.
func (f *Family) project(angles kern.View[float64], X mat.Matrix) {
	d, _ := f.widest.Dims()
	base := design.View(f.widest).Slice(0, d, 0, angles.Cols)
	switch m := X.(type) {
	case *mat.Dense:
		kern.Mul(angles, design.View(m), base, false)
	case *sparse.CSR:
		kern.SparseMul(angles, design.Compressed(m), base, false)
	}
}

// rescale writes the features that map i makes of projections.
func (f *Family) rescale(i int, dst, angles kern.View[float64]) {
	m := f.maps[i]
	switch {
	case f.factors != nil && m.Paired:
		kern.SinCosRescaledColumns(dst, angles, f.factors[i], m.Float64.norm())
	case f.factors != nil:
		kern.CosRescaledColumns(dst, angles, m.Phase, f.factors[i], m.Float64.norm())
	case m.Paired:
		kern.SinCosRescaled(dst, angles, m.Factor[0], m.Float64.norm())
	default:
		kern.CosRescaled(dst, angles, m.Phase, m.Factor[0], m.Float64.norm())
	}
}
