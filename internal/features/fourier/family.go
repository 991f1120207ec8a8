package fourier

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Family contains maps of the same draws. Maps with uniform column scales share one projection of
// the rows.
type Family struct {
	maps    []*Map
	widest  *mat.Dense     // d×m, base of all maps, or the normal factors for several kernels
	fast    *fast[float64] // replaces widest for structured maps
	factors [][]float64    // factors of each map's frequencies relative to the projection, for several kernels
	limit   float64        // inputs up to which projections are finite
}

// NewFamily returns the family of maps of one kernel; their draws are the first ones of widest.
func NewFamily(maps []*Map, widest Draws) *Family {
	f := &Family{maps: maps, widest: widest.Base, limit: math.MaxFloat64}
	if widest.Signs != nil {
		f.structure(widest)
	}
	return f
}

// NewMixedFamily returns the family of maps of several mixtures of gaussian kernels; the normal
// factors of their frequencies are the first ones drawn by law for the widest.
func NewMixedFamily(ctx context.Context, maps []*Map, widest Draws, law Law) (*Family, error) {
	f := &Family{maps: maps}
	if widest.Signs != nil {
		f.structure(widest)
		return f, nil
	}
	d, m := widest.Base.Dims()
	var err error
	if f.widest, err = law.normals(ctx, spectral.Kernel{Spread: func(*rand.Rand) float64 { return 1 }}, d, m); err != nil {
		return nil, err
	}
	reach := make([]float64, m)
	for i := range d {
		for j, g := range f.widest.RawRowView(i) {
			reach[j] += math.Abs(g)
		}
	}
	f.limit = math.MaxFloat64 / max(4, 4*slices.Max(reach))
	f.rescaleEach()
	return f, nil
}

// structure projects by fast transforms.
func (f *Family) structure(widest Draws) {
	d := widest.Signs.Inputs
	f.fast = fastOf[float64](widest.Signs, slices.Repeat([]float64{1}, d), slices.Repeat([]float64{1}, widest.Len()))
	f.limit = f.fast.limit()
	f.rescaleEach()
}

// rescaleEach sets a separate factor for every frequency of every map.
func (f *Family) rescaleEach() {
	for _, m := range f.maps {
		factors := slices.Clone(m.Spread)
		kern.Scale(m.Factor[0], factors)
		f.factors = append(f.factors, factors)
	}
}

// Projects reports whether at least two of the maps share a projection of the rows, because their
// column scales are uniform.
func (f *Family) Projects() bool {
	uniform := 0
	for _, m := range f.maps {
		if m.uniform() {
			uniform++
		}
	}
	return uniform > 1
}

// uniform reports whether all columns have the same scale.
func (f *Map) uniform() bool { return spectral.Uniform(f.Factor) }

// Limit returns the maximum magnitude of the inputs of the selected maps.
func (f *Family) Limit(which []int) float64 {
	limit := f.limit
	for _, i := range which {
		limit = min(limit, f.maps[i].Float64.Limit)
	}
	return limit
}

// Each maps the rows of X, a *mat.Dense or *matrices.CSR without values beyond the limit, by the
// selected maps, and passes the features of each map to yield, in a matrix that is reused. X should
// be a tile of rows: Each stores a projection and the features.
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
		*hold = kern.MakeLarge[float64](need)
	}
	tile := (*hold)[:n*width]
	angles := kern.Dense(n, projected, projected, (*hold)[n*width:n*(width+projected)])
	if f.Projects() && projected > 0 {
		f.project(angles, X)
	}
	for _, i := range which {
		if err := ctxerr.Check(ctx); err != nil {
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

// project writes the projections of X, of which the angles of the maps are multiples.
func (f *Family) project(angles kern.View[float64], X mat.Matrix) {
	if f.fast != nil {
		kern.Parallel(angles.Rows, fastRows, func(lo, hi int) {
			f.fast.project(angles.Slice(lo, hi, 0, angles.Cols), X, lo)
		})
		return
	}
	d, _ := f.widest.Dims()
	base := design.View(f.widest).Slice(0, d, 0, angles.Cols)
	switch m := X.(type) {
	case *mat.Dense:
		kern.Mul(angles, design.View(m), base, false)
	case *matrices.CSR:
		kern.SparseMul(angles, design.SparseView(m), base, false)
	}
}

// rescale writes the features of map i, computed from projections.
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
