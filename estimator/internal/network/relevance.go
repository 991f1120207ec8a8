package network

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// relevanceRows is the maximum number of rows for the relevance of inputs.
const relevanceRows = 512

// relevance returns the importance of each input: the RMS change of the outputs per standard
// deviation σ of the input,
//
//	σ_j·sqrt(Σ r·Σ_c (∂f_c/∂x_j)² / Σ r)
//
// relative to the largest. Outputs are those for targets of variance 1; those of Softmax are
// relative to the mean of all classes, which has no effect on probabilities. It is nil if the
// outputs do not depend on any input. The rows are a random sample of at most relevanceRows rows of
// data.X. Cost: 2·q·D·(d + (L−1)·D) flops per row.
func (s Spec) relevance(ctx context.Context, m *Model, data Data, deviations []float64) ([]float64, error) {
	derivatives, err := m.derivativeMaps()
	if err != nil {
		return nil, err
	}
	n, d := data.X.Dims()
	stream := spectral.NewStream()
	stream.At(s.Seed, spectral.SampledRows, 0)
	list := stream.Perm(n)[:min(n, relevanceRows)]
	slices.Sort(list)
	mean := make([]float64, m.Head.RawMatrix().Cols) // mean weights over the outputs
	if data.Loss == Softmax {
		for c := range data.Outputs {
			kern.Axpy(1/float64(data.Outputs), m.Head.RawRowView(c), mean)
		}
	}
	out := make([]float64, d)
	for rows := range slices.Chunk(list, rowsAtOnce) {
		slopes, err := m.slopes(ctx, derivatives, rowblock.Select(data.X, rows))
		if err != nil {
			return nil, err
		}
		for c := range data.Outputs {
			by := slices.Clone(m.Head.RawRowView(c))
			kern.Axpy(-1, mean, by)
			gradients, err := m.gradients(ctx, slopes, by)
			if err != nil {
				return nil, err
			}
			for k, i := range rows {
				for j, g := range gradients.Row(k) {
					out[j] += data.Weights[i] * g * g
				}
			}
		}
	}
	for j, sum := range out {
		out[j] = deviations[j] * math.Sqrt(sum)
	}
	largest := slices.Max(out)
	if !(largest > 0 && kern.AllFinite(out)) {
		return nil, nil
	}
	kern.Scale(1/largest, out)
	return out, nil
}

// derivativeMaps returns maps whose features are the derivatives of those of m by their angles:
// −sin(a) = cos(a + π/2).
func (m *Model) derivativeMaps() ([]fourier.Map, error) {
	out := make([]fourier.Map, len(m.maps))
	for l, y := range m.maps {
		phase := slices.Clone(y.Phase)
		for k := range phase {
			phase[k] += math.Pi / 2
		}
		var err error
		if out[l], err = (fourier.Draws{Base: y.Base, Phase: phase}).Map(y.Factor); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// slopes returns the derivatives of the features of each layer by its angles, rows × D, at the rows
// of X.
func (m *Model) slopes(ctx context.Context, derivatives []fourier.Map, X mat.Matrix) ([]kern.View[float64], error) {
	n, _ := X.Dims()
	var out []kern.View[float64]
	for l := range m.maps {
		slope, features := mat.NewDense(n, m.maps[l].Width(), nil), mat.NewDense(n, m.maps[l].Width(), nil)
		if err := derivatives[l].Float64.Transform(ctx, design.View(slope), X); err != nil {
			return nil, err
		}
		if out = append(out, design.View(slope)); l == len(m.maps)-1 {
			break
		}
		if err := m.maps[l].Float64.Transform(ctx, design.View(features), X); err != nil {
			return nil, err
		}
		X = features
	}
	return out, nil
}

// gradients returns the derivatives by the inputs, rows × d, of a weighted sum of the features of
// the last layer.
func (m *Model) gradients(ctx context.Context, slopes []kern.View[float64], weights []float64) (kern.View[float64],
	error) {
	n := slopes[0].Rows
	gradient := kern.Dense(n, len(weights), len(weights), slices.Repeat(weights, n))
	for l := len(slopes) - 1; l >= 0; l-- {
		for i := range n {
			times(gradient.Row(i), 1, slopes[l].Row(i))
		}
		W := design.View(m.Layers[l].W)
		below := kern.Dense(n, W.Rows, W.Rows, make([]float64, n*W.Rows))
		if err := kern.MulContext(ctx, below, gradient, W.T(), false); err != nil {
			return gradient, err
		}
		gradient = below
	}
	return gradient, nil
}
