package softmax

import (
	"context"
	"math"
	"slices"

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
	maps   []*Map
	widest Map // of the factor 1
}

// NewFamily returns the family of maps whose draws are the leading columns of the widest, d×m.
func NewFamily(maps []*Map, widest *mat.Dense) (*Family, error) {
	d, _ := widest.Dims()
	all, err := New(widest, slices.Repeat([]float64{1}, d))
	return &Family{maps: maps, widest: all}, err
}

// Projects reports whether at least two maps share a projection of the rows.
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
	limit := f.widest.Float64.Limit
	for _, i := range which {
		limit = min(limit, f.maps[i].Float64.Limit)
	}
	return limit
}

// Each maps the rows of X, a *mat.Dense or *matrices.CSR without values beyond the limit, by the
// selected maps, and passes the features of each map to yield, in a matrix that is reused. X should
// be a tile of rows: Each stores a projection and the features. The error is that of the context or
// of yield, or an [OverflowError].
func (f *Family) Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error {
	n, _ := X.Dims()
	width, projected := 0, 0
	for _, i := range which {
		width = max(width, f.maps[i].Width())
		if f.Projects() && f.maps[i].uniform() {
			projected = max(projected, f.maps[i].Width())
		}
	}
	tile, buffer := design.Borrow[float64](n*width), design.Borrow[float64](n*(projected+1))
	defer tile.Release()
	defer buffer.Release()
	projection := kern.Dense(n, projected, projected, buffer.Data[n:])
	squares := buffer.Data[:n]
	if projected > 0 {
		f.project(projection, squares, X)
	}
	for _, i := range which {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		m := f.maps[i]
		Z := mat.NewDense(n, m.Width(), tile.Data[:n*m.Width()])
		var err error
		if f.Projects() && m.uniform() {
			err = m.rescale(design.View(Z), projection, squares)
		} else {
			err = m.Float64.Transform(ctx, design.View(Z), X)
		}
		if err != nil {
			return err
		}
		if err := yield(i, Z); err != nil {
			return err
		}
	}
	return nil
}

// project writes the rows' projections and squared norms.
func (f *Family) project(projection kern.View[float64], squares []float64, X mat.Matrix) {
	omega := f.widest.Float64.omega
	omega = omega.Slice(0, omega.Rows-1, 0, projection.Cols)
	switch x := X.(type) {
	case *mat.Dense:
		kern.Mul(projection, design.View(x), omega, false)
		for i := range squares {
			squares[i] = kern.Dot(x.RawRowView(i), x.RawRowView(i))
		}
	case *matrices.CSR:
		kern.SparseMul(projection, design.SparseView(x), omega, false)
		for i := range squares {
			_, values := x.Row(i)
			if value, shared := x.Shared(); shared {
				columns, _ := x.Row(i)
				squares[i] = float64(len(columns)) * value * value
			} else {
				squares[i] = kern.Dot(values, values)
			}
		}
	}
}

// rescale writes the features of the map, computed from projections.
func (f *Map) rescale(dst, projection kern.View[float64], squares []float64) error {
	g := f.Factor[0]
	log := math.Log(float64(f.Width())) / 2
	var worst overflow
	kern.Parallel(dst.Rows, sparseRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, from, shift := dst.Row(i), projection.Row(i), g*g*squares[i]/2+log
			for j := range row {
				row[j] = g*from[j] - shift
			}
			f.Float64.exp(&worst, row, row, i)
		}
	})
	return worst.err()
}
