package shapley

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
)

// tables hold the functions of single inputs of a [Form] for one row.
type tables struct {
	additive []float64        // inputs × outputs
	cosines  []kern.BlockPair // groups × (inputs + 1): sine and cosine of half the angles, the last of half their sum
	products []kern.Block     // groups × inputs
}

// groupsOf returns the number of groups of n terms.
func groupsOf(n int) int { return (n + lanes - 1) / lanes }

func (f *Form) newTables() *tables {
	d := f.inputs.Count
	return &tables{make([]float64, d*f.outputs), make([]kern.BlockPair, groupsOf(len(f.cosines))*(d+1)),
		make([]kern.Block, groupsOf(len(f.products))*d)}
}

// tableBytes is the memory of the tables of a row.
func (f *Form) tableBytes() int {
	d := f.inputs.Count
	return 8 * (d*f.outputs + lanes*(2*(d+1)*groupsOf(len(f.cosines))+d*groupsOf(len(f.products))))
}

// filler fills tables, for one goroutine.
type filler struct {
	*Form
	angles   [][]float64 // by argument, inputs × columns
	exp      [][]float64 // exponentials of angles; nil where none is needed
	half     []float64   // half the angles of a group
	sin, cos []float64
}

func (f *Form) newFiller() *filler {
	d := f.inputs.Count
	n := (d + 1) * lanes
	l := &filler{Form: f, half: make([]float64, n), sin: make([]float64, n), cos: make([]float64, n),
		exp: make([][]float64, len(f.angles))}
	for _, s := range f.angles {
		l.angles = append(l.angles, make([]float64, d*len(s.constant)))
	}
	for _, p := range f.products {
		for _, one := range p.factors {
			if one.angle >= 0 && l.exp[one.angle] == nil {
				l.exp[one.angle] = make([]float64, len(l.angles[one.angle]))
			}
		}
	}
	return l
}

// run returns the needed columns of the graph for rows, by slot.
func (f *Form) run(X mat.Matrix) ([]*mat.Dense, error) {
	if len(f.needed) == 0 {
		return nil, nil
	}
	found, err := f.g.Run(X)
	if err != nil {
		return nil, err
	}
	out := make([]*mat.Dense, len(f.needed))
	for k, name := range f.needed {
		out[k] = found[name]
	}
	return out, nil
}

// fill fills t for row i of values, by slot.
func (l *filler) fill(t *tables, values []*mat.Dense, i int) {
	l.additive.fill(t.additive, l.outputs, values, i)
	for k := range l.angles {
		h := l.angles[k]
		l.Form.angles[k].fill(h, len(l.Form.angles[k].constant), values, i)
		if l.exp[k] != nil {
			kern.Exp(l.exp[k], h)
		}
	}
	for g := range groupsOf(len(l.cosines)) {
		l.fillCosines(t.cosines[g*(l.inputs.Count+1):][:l.inputs.Count+1], g)
	}
	for k := range t.products {
		for lane := range lanes {
			t.products[k][lane] = 1
		}
	}
	for k, p := range l.products {
		l.fillProduct(t.products[k/lanes*l.inputs.Count:], k%lanes, p, values, i)
	}
}

// fill fills dst, inputs × width, with the functions of the inputs.
func (s *sums) fill(dst []float64, width int, values []*mat.Dense, i int) {
	clear(dst)
	for k := range s.single {
		one := &s.single[k]
		one.addTo(dst[one.input*width:][:width], values[one.slot].At(i, one.at))
	}
	for k := range s.squared {
		one := &s.squared[k]
		row := values[one.slot].RawRowView(i)
		points := one.points.Width
		for c, r := range row {
			to := dst[max(one.inputs[c], 0)*width:][:width]
			column := one.points.Data[c*points:][:points]
			for p := range one.coefficients {
				if !one.coefficients[p].none() {
					difference := r + column[p]/2 // points hold −2·a
					one.coefficients[p].addTo(to, difference*difference)
				}
			}
		}
	}
}

// fillCosines fills the tables of group g.
func (l *filler) fillCosines(dst []kern.BlockPair, g int) {
	clear(l.half)
	d := l.inputs.Count
	for lane := range min(lanes, len(l.cosines)-g*lanes) {
		c := &l.cosines[g*lanes+lane]
		constant := l.Form.angles[c.angle].constant
		h, width, sum := l.angles[c.angle], len(constant), constant[c.at]
		for j := range d {
			v := h[j*width+c.at]
			l.half[j*lanes+lane] = v / 2
			sum += v
		}
		l.half[d*lanes+lane] = sum / 2
	}
	kern.SinCos(l.sin, l.cos, l.half)
	for j := range dst {
		copy(dst[j].A[:], l.sin[j*lanes:])
		copy(dst[j].B[:], l.cos[j*lanes:])
	}
}

// fillProduct multiplies the factors of a product into one lane of dst, a group for each input.
func (l *filler) fillProduct(dst []kern.Block, lane int, p product, values []*mat.Dense, i int) {
	multiply := func(input int, v float64, reciprocal bool) {
		if reciprocal {
			v = 1 / v
		}
		dst[input][lane] *= v
	}
	for _, one := range p.factors {
		if one.angle < 0 {
			multiply(one.input, values[one.slot].At(i, one.at), one.reciprocal)
			continue
		}
		constant := l.Form.angles[one.angle].constant
		for j := range l.inputs.Count {
			multiply(j, l.exp[one.angle][j*len(constant)+one.at], one.reciprocal)
		}
		multiply(0, math.Exp(constant[one.at]), one.reciprocal)
	}
}

// value adds the outputs of the row of t to dst.
func (f *Form) value(dst []float64, t *tables) {
	d := f.inputs.Count
	for q := range dst {
		dst[q] += f.additive.constant[q]
		for j := range d {
			dst[q] += t.additive[j*f.outputs+q]
		}
	}
	for k := range f.cosines {
		half := &t.cosines[k/lanes*(d+1)+d]
		sin, cos := half.A[k%lanes], half.B[k%lanes]
		for q := range dst {
			dst[q] += f.cosines[k].re[q]*(cos-sin)*(cos+sin) - f.cosines[k].im[q]*2*sin*cos
		}
	}
	for k := range f.products {
		v := 1.0
		for j := range d {
			v *= t.products[k/lanes*d+j][k%lanes]
		}
		for q := range dst {
			dst[q] += f.products[k].coefficients[q] * v
		}
	}
}
