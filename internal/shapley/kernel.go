package shapley

import "math"

// lanes is the number of terms that are processed together.
const lanes = 8

// group is one number for each of some terms.
type group = [lanes]float64

// pair is the sines and cosines, or the means and half differences, of some terms.
type pair struct{ a, b group }

// workspace holds the intermediate results for one pair of rows and some terms.
type workspace struct {
	factors []pair  // cosine and sine of half the angle; mean and half difference
	prefix  []pair  // products of the factors before
	out     []group // for each changed input
}

func newWorkspace(inputs int) *workspace {
	return &workspace{make([]pair, inputs), make([]pair, inputs), make([]group, inputs)}
}

// cosines sets w.out[l] to sin(θ_l/2)·∫ Π_{m≠l} (cos(θ_m/2) + i·s·sin(θ_m/2)) ds/2 for the changed
// inputs l, in ascending order. x and z hold sin(h_l/2) and cos(h_l/2) of all inputs for the two rows.
func (w *workspace) cosines(x, z []pair, changed []int) {
	d := len(changed)
	var squares, sum, largest group
	for l, input := range changed {
		f := &w.factors[l]
		px, pz := &x[input], &z[input]
		for k := range lanes {
			c := px.b[k]*pz.b[k] + px.a[k]*pz.a[k]
			s := px.a[k]*pz.b[k] - px.b[k]*pz.a[k]
			f.a[k], f.b[k] = c, s
			squares[k] += s * s
			sum[k] += 2 * s * c
			largest[k] = max(largest[k], math.Abs(2*s*c))
		}
	}
	worstSquares, worstSines := 0.0, 0.0
	for k := range lanes {
		worstSquares = max(worstSquares, squares[k])
		worstSines = max(worstSines, math.Abs(sum[k])+largest[k])
	}
	clear(w.out[:d])
	r := evenRule(nodesFor(d, worstSquares, worstSines))
	for n, s := range r.at {
		w.rotationNode(d, s, r.weight[n])
	}
	for l := range d {
		for k := range lanes {
			w.out[l][k] *= w.factors[l].b[k]
		}
	}
}

// rotationNode adds the value at one node of a quadrature to w.out.
func (w *workspace) rotationNode(d int, s, weight float64) {
	factors, prefix, out := w.factors[:d], w.prefix[:d], w.out[:d]
	for k := range lanes {
		re, im := 1.0, 0.0
		for l := range factors {
			prefix[l].a[k], prefix[l].b[k] = re, im
			c, t := factors[l].a[k], s*factors[l].b[k]
			re, im = re*c-im*t, re*t+im*c
		}
		re, im = weight, 0.0
		for l := len(factors) - 1; l >= 0; l-- {
			out[l][k] += prefix[l].a[k]*re - prefix[l].b[k]*im
			c, t := factors[l].a[k], s*factors[l].b[k]
			re, im = re*c-im*t, re*t+im*c
		}
	}
}

// products sets w.out[l] to (p_l − q_l)·∫ Π_{m≠l} (q_m + t·(p_m − q_m)) dt for the changed inputs l,
// in ascending order, with the factors p of one row and q of another. Other factors are equal in
// both.
func (w *workspace) products(p, q []group, changed []int) {
	d := len(changed)
	var common group // product of the equal factors
	for k := range lanes {
		common[k] = 1
	}
	l := 0
	for input := range p {
		if l == d || input != changed[l] {
			for k := range lanes {
				common[k] *= p[input][k]
			}
			continue
		}
		f := &w.factors[l]
		for k := range lanes {
			f.a[k], f.b[k] = (p[input][k]+q[input][k])/2, (p[input][k]-q[input][k])/2
		}
		l++
	}
	clear(w.out[:d])
	r := fullRule((d + 1) / 2)
	for n, s := range r.at {
		w.productNode(d, s, r.weight[n])
	}
	for l := range d {
		for k := range lanes {
			w.out[l][k] *= 2 * w.factors[l].b[k] * common[k]
		}
	}
}

// productNode adds the value at one node of a quadrature to w.out.
func (w *workspace) productNode(d int, s, weight float64) {
	factors, prefix, out := w.factors[:d], w.prefix[:d], w.out[:d]
	for k := range lanes {
		v := 1.0
		for l := range factors {
			prefix[l].a[k] = v
			v *= factors[l].a[k] + s*factors[l].b[k]
		}
		v = weight
		for l := len(factors) - 1; l >= 0; l-- {
			out[l][k] += prefix[l].a[k] * v
			v *= factors[l].a[k] + s*factors[l].b[k]
		}
	}
}
