package pairwise

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Export adds to g the kernel values of rows and the points, rows × points. The frame must be that
// of k and its γ.
//
// Squared distances are computed from norms and products if the kernel is smooth in them, so that
// cancellation is harmless, else from differences by input, as other distances are. The values
// agree with [Matrix] to a few roundings of the largest squared norm in the frame; for a Matérn
// kernel without closed form to about 1e-11.
func (k *Kernel) Export(g *graph.Graph, rows graph.Value, f Frame, points mat.Matrix) graph.Value {
	if f.blocks != nil {
		return f.blocks.export(g, rows, points)
	}
	if f.Center != nil {
		rows = g.Sub(rows, g.Row(f.Center))
	}
	rows = g.Mul(rows, g.Row(f.Factor))
	m, d := points.Dims()
	within := mat.NewDense(m, d, nil)
	for i := range m {
		enter(f, within.RawRowView(i), design.Row(points, i, make([]float64, d)))
	}
	bound := exportBound / math.Sqrt(float64(max(d, 1)))
	for _, v := range within.RawMatrix().Data {
		bound = max(bound, 2*math.Abs(v))
	}
	rows = g.Max(g.Min(rows, g.Scalar(bound)), g.Scalar(-bound))
	switch {
	case k.Metric == Squared && k.smooth():
		return k.export(g, exportProducts(g, rows, within))
	case k.Metric == Dot || k.Metric == Cosine:
		return k.export(g, k.exportDot(g, rows, within))
	default:
		return k.export(g, k.exportDifferences(g, rows, within))
	}
}

// export adds the values of a kernel of columns.
func (b *blocks) export(g *graph.Graph, rows graph.Value, points mat.Matrix) (sum graph.Value) {
	for s, p := range b.products {
		product := g.Scalar(p.weight)
		for i := b.first[s]; i < b.first[s+1]; i++ {
			own := b.flat[i]
			product = g.Mul(own.kernel.Export(g, g.Columns(rows, own.index), b.frames[i], selectDense(points, own.index)),
				product)
		}
		if s == 0 {
			sum = product
			continue
		}
		sum = g.Add(sum, product)
	}
	return sum
}

// exportBound bounds the length of rows in the frame. Kernel values are 0 to all digits long before, and
// squares of longer rows overflow in float32, where the difference of two infinite numbers is NaN.
const exportBound = 1e17

// smooth reports whether the kernel is differentiable in the squared distance at 0.
func (k *Kernel) smooth() bool {
	return k.shape != exponential && k.shape != poweredExponential && !(k.shape == maternTable && k.parameter < 1)
}

// exportDot returns products, or cosines.
func (k *Kernel) exportDot(g *graph.Graph, rows graph.Value, points *mat.Dense) graph.Value {
	if k.Metric == Cosine {
		unit := func(norm graph.Value) graph.Value { return g.Where(g.Less(g.Scalar(0), norm), norm, g.Scalar(1)) }
		rows = g.Div(rows, unit(g.Sqrt(g.RowSum(g.Square(rows)))))
		points = mat.DenseCopyOf(points)
		m, _ := points.Dims()
		for i := range m {
			if norm := mat.Norm(points.RowView(i), 2); norm > 0 {
				kern.Scale(1/norm, points.RawRowView(i))
			}
		}
	}
	return g.MatMul(rows, g.Matrix(points.T()))
}

// exportProducts returns squared distances of norms and products.
func exportProducts(g *graph.Graph, rows graph.Value, points *mat.Dense) graph.Value {
	m, d := points.Dims()
	turned, norms := mat.NewDense(d, m, nil), make([]float64, m)
	for i := range m {
		for j, v := range points.RawRowView(i) {
			turned.Set(j, i, -2*v)
			norms[i] += v * v
		}
	}
	squares := g.Add(g.RowSum(g.Square(rows)), g.Row(norms))
	return g.Max(g.Add(g.MatMul(rows, g.Matrix(turned)), squares), g.Scalar(0))
}

// exportDifferences returns distances of differences, input by input.
func (k *Kernel) exportDifferences(g *graph.Graph, rows graph.Value, points *mat.Dense) (sum graph.Value) {
	_, d := points.Dims()
	for j := range d {
		difference := g.Sub(g.Columns(rows, []int{j}), g.Row(mat.Col(nil, j, points)))
		var one graph.Value
		switch k.Metric {
		case L1:
			one = g.Abs(difference)
		case Cauchy:
			one = g.Add(g.Square(difference), g.Scalar(1))
		case Chi2:
			total := g.Add(g.Columns(rows, []int{j}), g.Row(mat.Col(nil, j, points)))
			one = g.Div(g.Square(difference), g.Where(g.Less(g.Scalar(0), total), total, g.Scalar(1)))
		default:
			one = g.Square(difference)
		}
		switch {
		case j == 0:
			sum = one
		case k.Metric == Cauchy:
			sum = g.Mul(sum, one)
		default:
			sum = g.Add(sum, one)
		}
	}
	return sum
}

// export turns distances into kernel values.
func (k *Kernel) export(g *graph.Graph, s graph.Value) graph.Value {
	root := func(times float64) graph.Value { return g.Sqrt(g.Mul(s, g.Scalar(times))) }
	one := g.Scalar(1)
	switch k.shape {
	case gaussian, laplacian:
		return g.Exp(g.Neg(s))
	case exponential:
		return g.Exp(g.Neg(g.Sqrt(s)))
	case matern15:
		r := root(3)
		return g.Mul(g.Add(r, one), g.Exp(g.Neg(r)))
	case matern25:
		r := root(5)
		return g.Mul(g.Add(g.Add(r, one), g.Mul(g.Square(r), g.Scalar(1.0/3))), g.Exp(g.Neg(r)))
	case maternTable:
		return k.exportMatern(g, s)
	case poweredExponential:
		return g.Exp(g.Neg(g.Exp(g.Mul(g.Log(s), g.Scalar(k.parameter)))))
	case polynomial:
		base := g.Add(s, g.Scalar(k.parameter))
		out := base
		for range k.degree - 1 {
			out = g.Mul(out, base)
		}
		return out
	case sigmoid:
		return g.Tanh(g.Add(s, g.Scalar(k.parameter)))
	case cosine:
		return s
	case rationalQuadratic:
		return g.Exp(g.Mul(g.Log1p(g.Mul(s, g.Scalar(1/k.parameter))), g.Scalar(-k.parameter)))
	}
	return g.Div(one, s) // cauchyKernel
}

// exportMatern approximates a Matérn function of the logarithm of the squared distance: intervals
// are short relative to its variation near 0 and far away.
func (k *Kernel) exportMatern(g *graph.Graph, s graph.Value) graph.Value {
	const length = math.Ln2 / 4
	value := func(log float64) float64 { return spectral.Matern(k.parameter, math.Exp(log/2), 1.0/8) }
	lo := math.Log(tableLeast * tableLeast / (2 * k.parameter))
	pieces := 1
	for value(lo+length*float64(pieces)) > 0 {
		pieces++
	}
	near := g.ChebyshevApprox(g.Log(s), lo, lo+length*float64(pieces), pieces, value)
	return g.Where(g.Less(g.Scalar(0), s), near, g.Scalar(1))
}
