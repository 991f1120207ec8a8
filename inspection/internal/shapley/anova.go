package shapley

import (
	"context"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Variances is the functional ANOVA decomposition of the variance of an output when the inputs are
// independent of each other, each with its distribution in a background.
type Variances struct {
	Total  float64
	Inputs []float64  // of the main effect of each input
	Pairs  *mat.Dense // inputs × inputs, symmetric: of the interaction of each pair; the diagonal is 0
}

// Variances returns the decomposition for each output. With means m_kj of the functions of input j,
// the effects of inputs and pairs are
//
//	f_j(x)     = a_j(x_j) − E[a_j] + Re Σ_k β_k·(g_kj(x_j) − m_kj)·Π_{l≠j} m_kl
//	f_jl(x)    = Re Σ_k β_k·(g_kj(x_j) − m_kj)·(g_kl(x_l) − m_kl)·Π_{r≠j, r≠l} m_kr
//	E[(Re Σ_k β_k·T_k)²] = ½·Re Σ_kk' (β_k·β_k'·Π_j E[g_kj·g_k'j] + β_k·β̄_k'·Π_j E[g_kj·ḡ_k'j])
//
// Cost: O(inputs² · background² · terms + terms² · background · inputs).
//
// Source: Hoeffding, "A class of statistics with asymptotically normal distribution", Annals of
// Mathematical Statistics 19, 1948.
func (f *Form) Variances(ctx context.Context, background Background) ([]Variances, error) {
	n, d := len(background.Weights), f.inputs.Count
	terms := len(f.cosines) + len(f.products)
	if err := memory.Check(8 * int64(n) * int64(2*terms+f.outputs) * int64(d+2)); err != nil {
		return nil, err
	}
	v := &variances{Form: f, weights: background.Weights, terms: terms, additive: dense(n, d*f.outputs)}
	for range d {
		v.functions = append(v.functions, dense(n, 2*terms))
	}
	err := f.eachBlock(ctx, background.X, func(lo int, t []*tables) error {
		for i := range t {
			v.store(lo+i, t[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	v.center()
	out := make([]Variances, f.outputs)
	for q := range out {
		if out[q], err = v.of(ctx, q); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// variances is the state of Variances.
type variances struct {
	*Form
	weights  []float64
	terms    int
	additive kern.View[float64] // background × (inputs × outputs)
	// For each input, background × (2 × terms): real and imaginary parts of the functions, after center without their
	// means.
	functions []kern.View[float64]
	mean      [][]complex128 // inputs × terms
}

func dense(rows, cols int) kern.View[float64] {
	return kern.Dense(rows, cols, cols, make([]float64, rows*cols))
}

// store stores the functions of a background row.
func (v *variances) store(i int, t *tables) {
	d := v.inputs.Count
	copy(v.additive.Row(i), t.additive)
	for j := range d {
		row := v.functions[j].Row(i)
		for k := range v.cosines {
			half := &t.cosines[k/lanes*(d+1)+j]
			sin, cos := half.A[k%lanes], half.B[k%lanes]
			row[k], row[v.terms+k] = (cos-sin)*(cos+sin), 2*sin*cos
		}
		for k := range v.products {
			row[len(v.cosines)+k] = t.products[k/lanes*d+j][k%lanes]
		}
	}
}

// center subtracts the means of all functions.
func (v *variances) center() {
	v.subtractMeans(v.additive)
	for _, m := range v.functions {
		mean := v.subtractMeans(m)
		both := make([]complex128, v.terms)
		for k := range both {
			both[k] = complex(mean[k], mean[v.terms+k])
		}
		v.mean = append(v.mean, both)
	}
}

func (v *variances) subtractMeans(m kern.View[float64]) []float64 {
	mean := make([]float64, m.Cols)
	for i, w := range v.weights {
		for k, x := range m.Row(i) {
			mean[k] += w * x
		}
	}
	for i := range v.weights {
		row := m.Row(i)
		for k := range row {
			row[k] -= mean[k]
		}
	}
	return mean
}

// beta returns the coefficients of the terms for output q.
func (v *variances) beta(q int) []complex128 {
	out := make([]complex128, 0, v.terms)
	for _, c := range v.cosines {
		phase := cmplx.Exp(complex(0, v.angles[c.angle].constant[c.at]))
		out = append(out, complex(c.re[q], c.im[q])*phase)
	}
	for _, p := range v.products {
		out = append(out, complex(p.coefficients[q], 0))
	}
	return out
}

// of returns the decomposition of output q.
func (v *variances) of(ctx context.Context, q int) (Variances, error) {
	d := v.inputs.Count
	out := Variances{Inputs: make([]float64, d), Pairs: mat.NewDense(d, d, nil)}
	beta := v.beta(q)
	before, after := make([][]complex128, d+1), make([][]complex128, d+1) // products of the means, with β
	before[0], after[d] = beta, ones(v.terms)
	for j := range d {
		before[j+1] = multiply(before[j], v.mean[j])
		after[d-1-j] = multiply(after[d-j], v.mean[d-1-j])
	}
	total, err := v.secondMoment(ctx, beta)
	if err != nil {
		return out, err
	}
	mean := 0.0
	for _, x := range before[d] {
		mean += real(x)
	}
	out.Total = total - mean*mean
	for j := range d {
		coefficients := multiply(before[j], after[j+1])
		for i, w := range v.weights {
			own, row := 0.0, v.functions[j].Row(i)
			for k, c := range coefficients {
				own += real(c)*row[k] - imag(c)*row[v.terms+k]
			}
			all := own + v.additive.At(i, j*v.outputs+q)
			out.Inputs[j] += w * all * all
			out.Total += w * (all*all - own*own)
		}
	}
	if v.terms == 0 {
		return out, nil
	}
	err = v.parallel(ctx, d, func(j int) {
		between := before[j]
		for l := j + 1; l < d; l++ {
			variance := v.pair(j, l, multiply(between, after[l+1]))
			out.Pairs.Set(j, l, variance)
			out.Pairs.Set(l, j, variance)
			between = multiply(between, v.mean[l])
		}
	})
	return out, err
}

// parallel calls f for 0 to n−1 concurrently, until the context ends.
func (v *variances) parallel(ctx context.Context, n int, f func(k int)) error {
	kern.Parallel(n, 1, func(lo, _ int) {
		if ctx.Err() == nil {
			f(lo)
		}
	})
	return ctxerr.Check(ctx)
}

func ones(n int) []complex128 { return slices.Repeat([]complex128{1}, n) }

func multiply(a, b []complex128) []complex128 {
	out := make([]complex128, len(a))
	for k := range out {
		out[k] = a[k] * b[k]
	}
	return out
}

// pair returns the variance of Re Σ_k c_k·g_kj(x)·g_kl(z) over all pairs of rows x and z.
func (v *variances) pair(j, l int, c []complex128) float64 {
	n := len(v.weights)
	left, product := dense(n, 2*v.terms), dense(n, n)
	for i := range n {
		from, to := v.functions[j].Row(i), left.Row(i)
		for k, b := range c {
			x := b * complex(from[k], from[v.terms+k])
			to[k], to[v.terms+k] = real(x), -imag(x)
		}
	}
	kern.Mul(product, left, v.functions[l].T(), false)
	variance := 0.0
	for i, w := range v.weights {
		for z, x := range product.Row(i) {
			variance += w * v.weights[z] * x * x
		}
	}
	return variance
}

// termsPerTask is the number of terms whose products with all others are computed per task.
const termsPerTask = 32

// secondMoment returns E[(Re Σ_k β_k·T_k)²].
func (v *variances) secondMoment(ctx context.Context, beta []complex128) (float64, error) {
	sums := make([]float64, (v.terms+termsPerTask-1)/termsPerTask)
	err := v.parallel(ctx, len(sums), func(task int) {
		lo := task * termsPerTask
		sums[task] = v.moments(lo, min(lo+termsPerTask, v.terms), beta)
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total, err
}

// moments returns the part of the second moment with first terms lo to hi−1.
func (v *variances) moments(lo, hi int, beta []complex128) float64 {
	n, size := len(v.weights), hi-lo
	plain, conjugate := ones(size*v.terms), ones(size*v.terms) // Π E[g·g'], Π E[g·ḡ']
	left, both := dense(n, 2*size), dense(2*size, 2*v.terms)
	for j, functions := range v.functions {
		for i, w := range v.weights {
			row, to := functions.Row(i), left.Row(i)
			for k := range size {
				to[k], to[size+k] = w*row[lo+k], w*row[v.terms+lo+k]
			}
		}
		kern.Mul(both, left.T(), functions, false)
		for k := range size {
			re, im := both.Row(k), both.Row(size+k) // of products with real and imaginary parts
			m := v.mean[j][lo+k]
			for l := range v.terms {
				rr, ri, ir, ii := re[l], re[v.terms+l], im[l], im[v.terms+l]
				plain[k*v.terms+l] *= complex(rr-ii, ri+ir) + m*v.mean[j][l]
				conjugate[k*v.terms+l] *= complex(rr+ii, ir-ri) + m*cmplx.Conj(v.mean[j][l])
			}
		}
	}
	sum := 0.0
	for k := range size {
		for l, b := range beta {
			at := k*v.terms + l
			sum += real(beta[lo+k]*(b*plain[at]+cmplx.Conj(b)*conjugate[at])) / 2
		}
	}
	return sum
}
