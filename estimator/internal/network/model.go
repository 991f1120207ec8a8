package network

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// Prepare creates the feature maps of the layers, whose shapes must be compatible.
func (m *Model) Prepare() error {
	m.maps = make([]fourier.Map, len(m.Layers))
	for l, y := range m.Layers {
		d, _ := y.W.Dims()
		var err error
		if m.maps[l], err = (fourier.Draws{Base: y.W, Phase: y.B}).Map(slices.Repeat([]float64{1}, d)); err != nil {
			return err
		}
	}
	return nil
}

// tileRows is the number of rows mapped at a time.
const tileRows = 512

// eachTile maps the rows of X and calls yield with tiles of features, which are valid only during
// the call.
func eachTile(ctx context.Context, maps []fourier.Map, X mat.Matrix, yield func(first int, z *mat.Dense) error) error {
	n, _ := X.Dims()
	buffers := make([]*mat.Dense, len(maps))
	for l := range maps {
		buffers[l] = mat.NewDense(min(tileRows, n), maps[l].Width(), nil)
	}
	for lo := 0; lo < n; lo += tileRows {
		hi := min(lo+tileRows, n)
		in := rowblock.Slice(X, lo, hi)
		for l := range maps {
			to := buffers[l].Slice(0, hi-lo, 0, maps[l].Width()).(*mat.Dense)
			if err := maps[l].Float64.Transform(ctx, design.View(to), in); err != nil {
				return err
			}
			in = to
		}
		if err := yield(lo, in.(*mat.Dense)); err != nil {
			return err
		}
	}
	return nil
}

// Scores writes the outputs for the rows of X, a *mat.Dense or *matrices.CSR, to dst, rows × outputs.
// The outputs of a row do not depend on the other rows, bit for bit.
func (m *Model) Scores(ctx context.Context, dst []float64, X mat.Matrix) error {
	q := len(m.Intercept)
	return eachTile(ctx, m.maps, X, func(first int, z *mat.Dense) error {
		n, _ := z.Dims()
		kern.Parallel(n, rowsAtOnce, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				for c, b := range m.Intercept {
					dst[(first+i)*q+c] = kern.Dot(z.RawRowView(i), m.Head.RawRowView(c)) + b
				}
			}
		})
		return nil
	})
}

// Limit returns the maximum magnitude of inputs.
func (m *Model) Limit() float64 { return m.maps[0].Float64.Limit }
