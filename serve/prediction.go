package serve

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
)

// vectors returns the outputs of a prediction with a number for each row.
func vectors(p *estimator.Prediction) [5]*[]float64 {
	return [...]*[]float64{&p.Values, &p.Std, &p.Lower, &p.Upper, &p.Anomaly}
}

// matrices returns the outputs of a prediction with several numbers for each row.
func matrices(p *estimator.Prediction) [7]**mat.Dense {
	return [...]**mat.Dense{&p.Targets, &p.Scores, &p.Probabilities, &p.StdTargets, &p.LowerTargets, &p.UpperTargets, &p.Sets}
}

// rowOf returns the prediction of row i.
func rowOf(all estimator.Prediction, i int) (one estimator.Prediction) {
	from, to := vectors(&all), vectors(&one)
	for k, v := range from {
		if *v != nil {
			*to[k] = (*v)[i : i+1 : i+1]
		}
	}
	fromM, toM := matrices(&all), matrices(&one)
	for k, m := range fromM {
		if *m != nil {
			*toM[k] = (*m).Slice(i, i+1, 0, (*m).RawMatrix().Cols).(*mat.Dense)
		}
	}
	return one
}

// equalRow reports whether the predictions of row i of a and row j of b have the same bits.
func equalRow(a estimator.Prediction, i int, b estimator.Prediction, j int) bool {
	va, vb := vectors(&a), vectors(&b)
	for k := range va {
		if v, w := *va[k], *vb[k]; (v == nil) != (w == nil) || v != nil && v[i] != w[j] {
			return false
		}
	}
	ma, mb := matrices(&a), matrices(&b)
	for k := range ma {
		if m, w := *ma[k], *mb[k]; (m == nil) != (w == nil) || m != nil && !slices.Equal(m.RawRowView(i), w.RawRowView(j)) {
			return false
		}
	}
	return true
}

// notFinite returns a row with a number that is NaN or infinite, or -1.
func notFinite(p estimator.Prediction) int {
	for _, v := range vectors(&p) {
		if i := slices.IndexFunc(*v, isNotFinite); i >= 0 {
			return i
		}
	}
	for _, m := range matrices(&p) {
		if *m != nil {
			raw := (*m).RawMatrix()
			if i := slices.IndexFunc(raw.Data[:min(len(raw.Data), raw.Rows*raw.Stride)], isNotFinite); i >= 0 {
				return i / max(raw.Stride, 1)
			}
		}
	}
	return -1
}

func isNotFinite(v float64) bool { return v-v != 0 }
