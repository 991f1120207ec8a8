package serve

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
)

// predictionRow returns the prediction of row i.
func predictionRow(all estimator.Prediction, i int) (one estimator.Prediction) {
	vectors, matrices := all.Parts()
	toVectors, toMatrices := one.Parts()
	for k, v := range vectors {
		if *v != nil {
			*toVectors[k] = (*v)[i : i+1 : i+1]
		}
	}
	for k, m := range matrices {
		if *m != nil {
			*toMatrices[k] = (*m).Slice(i, i+1, 0, (*m).RawMatrix().Cols).(*mat.Dense)
		}
	}
	return one
}

// equalRows reports whether row i of a and row j of b are equal.
func equalRows(a estimator.Prediction, i int, b estimator.Prediction, j int) bool {
	va, ma := a.Parts()
	vb, mb := b.Parts()
	for k := range va {
		if v, w := *va[k], *vb[k]; (v == nil) != (w == nil) || v != nil && v[i] != w[j] {
			return false
		}
	}
	for k := range ma {
		if m, w := *ma[k], *mb[k]; (m == nil) != (w == nil) || m != nil && !slices.Equal(m.RawRowView(i), w.RawRowView(j)) {
			return false
		}
	}
	return true
}

// nonFiniteRow returns the index of a row with a non-finite value, or -1.
func nonFiniteRow(p estimator.Prediction) int {
	vectors, matrices := p.Parts()
	for _, v := range vectors {
		if i := slices.IndexFunc(*v, isNonFinite); i >= 0 {
			return i
		}
	}
	for _, m := range matrices {
		if *m != nil {
			raw := (*m).RawMatrix()
			if i := slices.IndexFunc(raw.Data[:min(len(raw.Data), raw.Rows*raw.Stride)], isNonFinite); i >= 0 {
				return i / max(raw.Stride, 1)
			}
		}
	}
	return -1
}

func isNonFinite(v float64) bool { return v-v != 0 }
