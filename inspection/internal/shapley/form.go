package shapley

import (
	"fmt"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// Form is an output of a graph as a sum of functions of single inputs, of cosines of such sums, and
// of products of such functions; see the documentation of the package.
type Form struct {
	g        *graph.Graph
	inputs   Inputs
	outputs  int
	additive sums
	angles   []sums // arguments of cosines and exponentials
	cosines  []cosine
	products []product
	needed   []string // names of the outputs of g with the columns of the sums, by slot
}

// cosine is Re(β·e^{i·angle}), of a column of angles.
type cosine struct {
	angle, at int
	re, im    []float64 // of β, for each output
}

// product is a product of factors.
type product struct {
	coefficients []float64 // for each output
	factors      []factor
}

// factor is a function of an input or, if angle ≥ 0, the exponential of column at of a sum.
type factor struct {
	slot, at   int // of the function
	input      int
	angle      int
	reciprocal bool
}

// NewForm expresses value v of g as a sum of products over inputs. The error states the operation
// that prevents it. The Form keeps g and adds outputs to it.
func NewForm(g *graph.Graph, v graph.Value, inputs Inputs) (*Form, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	b := &builder{analysis: analyze(g, inputs), cosineOf: map[column]int{}, angleOf: map[graph.Value]int{},
		slots: map[graph.Value]int{}, Form: &Form{g: g, inputs: inputs, outputs: g.Width(v)}}
	b.additive = b.linear(v)
	others := b.additive.other
	b.additive.other = nil
	b.assign(&b.additive)
	for _, s := range others {
		if err := b.term(s); err != nil {
			return nil, err
		}
	}
	return b.Form, g.Err()
}

// builder builds a Form.
type builder struct {
	*analysis
	*Form
	cosineOf map[column]int      // number of the cosine of an angle
	angleOf  map[graph.Value]int // number of an argument
	slots    map[graph.Value]int
}

// slot returns the slot of a value, and adds it to the outputs of the graph.
func (b *builder) slot(v graph.Value) int {
	k, known := b.slots[v]
	if !known {
		k = len(b.needed)
		b.slots[v] = k
		b.needed = append(b.needed, fmt.Sprintf("shapley %d", k))
		b.Form.g.Output(b.needed[k], v)
	}
	return k
}

// assign sets the slots of sums.
func (b *builder) assign(s *sums) {
	for k := range s.single {
		s.single[k].slot = b.slot(s.single[k].value)
	}
	for k := range s.squared {
		s.squared[k].slot = b.slot(s.squared[k].rows)
	}
}

// angle returns the number of an argument.
func (b *builder) angle(v graph.Value) (int, error) {
	if k, known := b.angleOf[v]; known {
		return k, nil
	}
	s := b.linear(v)
	if len(s.other) > 0 {
		return 0, b.refuse(s.other[0].column)
	}
	b.assign(&s)
	b.angles = append(b.angles, s)
	b.angleOf[v] = len(b.angles) - 1
	return len(b.angles) - 1, nil
}

// refuse returns the error of a column that is no product.
func (b *builder) refuse(c column) error {
	return fmt.Errorf("%s of several inputs is not a sum of products over inputs", b.analysis.g.Node(c.value).Op)
}

// term adds a nonlinear function of several inputs.
func (b *builder) term(s summand) error {
	n := b.analysis.g.Node(s.value)
	if n.Op == ops.Cos || n.Op == ops.Sin {
		return b.addCosine(n, s)
	}
	p := product{coefficients: make([]float64, b.outputs)}
	coefficient, err := b.factors(&p, s.column, false)
	if err != nil {
		return err
	}
	s.addTo(p.coefficients, coefficient)
	b.products = append(b.products, p)
	return nil
}

// addCosine adds a·cos(h) or a·sin(h) to the term of h: Re((a − i·b)·e^{ih}) = a·cos(h) + b·sin(h).
func (b *builder) addCosine(n graph.Node, s summand) error {
	angle, err := b.angle(n.In[0])
	if err != nil {
		return err
	}
	key := column{n.In[0], s.at}
	k, known := b.cosineOf[key]
	if !known {
		k = len(b.cosines)
		b.cosineOf[key] = k
		b.cosines = append(b.cosines, cosine{angle, s.at, make([]float64, b.outputs), make([]float64, b.outputs)})
	}
	if n.Op == ops.Cos {
		s.addTo(b.cosines[k].re, 1)
	} else {
		s.addTo(b.cosines[k].im, -1)
	}
	return nil
}

// factors appends the factors of a column to p and returns the constant factor.
func (b *builder) factors(p *product, c column, reciprocal bool) (float64, error) {
	n := b.analysis.g.Node(c.value)
	c.at = min(c.at, n.Width-1)
	power := func(v float64) float64 {
		if reciprocal {
			return 1 / v
		}
		return v
	}
	if n.Op == ops.Constant {
		return power(n.Data[c.at]), nil
	}
	if input := b.analysis.inputs[c.value.Index()][c.at]; input != severalInputs {
		p.factors = append(p.factors, factor{b.slot(c.value), c.at, max(input, 0), -1, reciprocal})
		return 1, nil
	}
	switch n.Op {
	case ops.Mul, ops.Div:
		x, err := b.factors(p, column{n.In[0], c.at}, reciprocal)
		if err != nil {
			return 0, err
		}
		y, err := b.factors(p, column{n.In[1], c.at}, reciprocal != (n.Op == ops.Div))
		return x * y, err
	case ops.Neg:
		v, err := b.factors(p, column{n.In[0], c.at}, reciprocal)
		return -v, err
	case ops.Columns:
		return b.factors(p, column{n.In[0], n.Columns[c.at]}, reciprocal)
	case ops.Concat:
		v, at := part(b.analysis.g, n, c.at)
		return b.factors(p, column{v, at}, reciprocal)
	case ops.Exp:
		angle, err := b.angle(n.In[0])
		p.factors = append(p.factors, factor{at: c.at, angle: angle, reciprocal: reciprocal})
		return 1, err
	}
	return 0, b.refuse(c)
}
