package network

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// lossAndGradient returns Σ r·l over the rows of a minibatch, and replaces its outputs by the derivatives of
// Σ r·l / rows.
func lossAndGradient[T kern.Float](b *minibatch[T], loss Loss, q int) (sum float64) {
	for i := range b.rows {
		r := float64(b.weight[i])
		sum += r * lossOfRow(loss, b.out[i*q:(i+1)*q], b.y[i*q:(i+1)*q], r/float64(b.rows))
	}
	return sum
}

// lossOfRow returns the loss of a row, and replaces its outputs by the derivatives times factor.
func lossOfRow[T kern.Float](loss Loss, out, y []T, factor float64) (sum float64) {
	switch loss {
	case Squares:
		for c, f := range out {
			e := float64(f) - float64(y[c])
			sum += e * e
			out[c] = T(2 * factor * e)
		}
	case Logistic:
		f, t := float64(out[0]), float64(y[0])
		small := math.Exp(-math.Abs(f))
		p := 1 / (1 + small) // probability of class 1
		if f < 0 {
			p = small / (1 + small)
		}
		sum = max(f, 0) - t*f + math.Log1p(small)
		out[0] = T(factor * (p - t))
	case Softmax:
		top, total := float64(slices.Max(out)), 0.0
		for c, f := range out {
			total += math.Exp(float64(f) - top)
			sum -= float64(y[c]) * float64(f)
		}
		sum += top + math.Log(total)
		for c, f := range out {
			out[c] = T(factor * (math.Exp(float64(f)-top)/total - float64(y[c])))
		}
	}
	return sum
}
