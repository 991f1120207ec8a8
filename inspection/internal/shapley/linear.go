package shapley

import (
	"math"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// Players of a column of a value, other than the number of an input.
const (
	noInput       = -1 // the column is constant
	severalInputs = -2
)

// analysis is a graph and the input that each column of its values depends on.
type analysis struct {
	g      *graph.Graph
	inputs [][]int       // by node and column: an input, noInput or severalInputs
	values []graph.Value // by node, of those that are operands
}

func analyze(g *graph.Graph, inputs Inputs) *analysis {
	a := &analysis{g: g, values: make([]graph.Value, len(g.Nodes()))}
	for _, n := range g.Nodes() {
		for _, v := range n.In {
			a.values[v.Index()] = v
		}
		of := make([]int, n.Width)
		for c := range of {
			switch n.Op {
			case ops.Rows:
				of[c] = inputs.Of[c]
			case ops.Constant:
				of[c] = noInput
			case ops.Columns:
				of[c] = a.input(n.In[0], n.Columns[c])
			case ops.Concat:
				of[c] = a.input(part(g, n, c))
			case ops.MatMul:
				of[c] = a.inputOfProduct(n, c)
			case ops.RowSum, ops.RowMax, ops.ArgMax, ops.Softmax:
				of[c] = noInput
				for k := range g.Width(n.In[0]) {
					of[c] = union(of[c], a.input(n.In[0], k))
				}
			case ops.Lookup:
				of[c] = a.input(n.In[1], c)
			default:
				of[c] = noInput
				for _, v := range n.In {
					of[c] = union(of[c], a.input(v, c))
				}
			}
		}
		a.inputs = append(a.inputs, of)
	}
	return a
}

// input returns the input of column c of v, which is broadcast if it has one column.
func (a *analysis) input(v graph.Value, c int) int {
	of := a.inputs[v.Index()]
	return of[min(c, len(of)-1)]
}

func (a *analysis) inputOfProduct(n graph.Node, c int) int {
	w, of := a.g.Node(n.In[1]), noInput
	for k := range w.Rows {
		if w.Data[k*w.Width+c] != 0 {
			of = union(of, a.input(n.In[0], k))
		}
	}
	return of
}

func union(a, b int) int {
	switch {
	case a == noInput || a == b:
		return b
	case b == noInput:
		return a
	}
	return severalInputs
}

// part returns the operand of a concatenation that has its column c, and the number of the column
// there.
func part(g *graph.Graph, n graph.Node, c int) (graph.Value, int) {
	for _, v := range n.In {
		if w := g.Width(v); c >= w {
			c -= w
			continue
		}
		return v, c
	}
	panic("shapley: column beyond a concatenation")
}

// column identifies a column of a value.
type column struct {
	value graph.Value
	at    int
}

// coefficients are those of one column in several sums, sparse while few of them are set.
type coefficients struct {
	sums   []int
	values []float64
	dense  []float64
}

func (c *coefficients) add(sum int, v float64, width int) {
	if c.dense == nil && len(c.sums) <= width/4+4 {
		c.sums, c.values = append(c.sums, sum), append(c.values, v)
		return
	}
	if c.dense == nil {
		c.dense = make([]float64, width)
		for k, s := range c.sums {
			c.dense[s] += c.values[k]
		}
		c.sums, c.values = nil, nil
	}
	c.dense[sum] += v
}

func (c *coefficients) none() bool { return c.dense == nil && len(c.sums) == 0 }

// each calls f for the coefficients; a sum may occur twice.
func (c *coefficients) each(f func(sum int, v float64)) {
	for k, s := range c.sums {
		f(s, c.values[k])
	}
	for s, v := range c.dense {
		if v != 0 {
			f(s, v)
		}
	}
}

// addTo adds factor times the coefficients to the sums of a row.
func (c *coefficients) addTo(sums []float64, factor float64) {
	if factor == 0 {
		return
	}
	for k, s := range c.sums {
		sums[s] += factor * c.values[k]
	}
	if c.dense != nil {
		sums = sums[:len(c.dense)]
		for s, v := range c.dense {
			sums[s] += factor * v
		}
	}
}

// summand is a column and its coefficients in several sums.
type summand struct {
	column
	input int
	coefficients
	slot int // of the value, set by a builder
}

// squared is squared differences to points, Σ_c (r_c − a_kc)², and the coefficients of that of each
// point k in several sums.
type squared struct {
	rows         graph.Value
	inputs       []int
	points       graph.Node // −2·a, columns × points
	coefficients []coefficients
	slot         int // of the rows, set by a builder
}

// sums are linear combinations of columns.
type sums struct {
	constant []float64
	single   []summand // of one input each
	squared  []squared
	other    []summand // nonlinear functions of several inputs
}

// linear returns the columns of v as sums of functions of single inputs and of nonlinear functions
// of several. It propagates the coefficients of all columns backwards through linear operations.
func (a *analysis) linear(v graph.Value) sums {
	width := a.g.Width(v)
	a.values[v.Index()] = v
	p := &propagation{analysis: a, width: width, pending: make([][]coefficients, v.Index()+1)}
	p.out.constant = make([]float64, width)
	for c := range width {
		p.push(v, c, c, 1)
	}
	for i := v.Index(); i >= 0; i-- {
		if p.pending[i] == nil {
			continue
		}
		p.visit(a.values[i])
		p.pending[i] = nil
	}
	return p.out
}

// propagation is the state of linear.
type propagation struct {
	*analysis
	width   int
	pending [][]coefficients // by node and column
	out     sums
}

// push adds a coefficient of column c of v.
func (p *propagation) push(v graph.Value, c, sum int, coefficient float64) {
	n := p.g.Node(v)
	c = min(c, n.Width-1)
	if n.Op == ops.Constant {
		p.out.constant[sum] += coefficient * n.Data[c]
		return
	}
	columns := p.pending[v.Index()]
	if columns == nil {
		columns = make([]coefficients, n.Width)
		p.pending[v.Index()] = columns
	}
	columns[c].add(sum, coefficient, p.width)
}

// visit takes the pending coefficients of v to its operands, or to the result.
func (p *propagation) visit(v graph.Value) {
	n := p.g.Node(v)
	distances, isDistance := p.squaredDistances(n)
	for c := range n.Width {
		coefficients := &p.pending[v.Index()][c]
		if coefficients.none() {
			continue
		}
		of := p.inputs[v.Index()][c]
		switch {
		case of != severalInputs: // a constant column is the same for any input
			p.out.single = append(p.out.single, summand{column{v, c}, max(of, 0), *coefficients, 0})
		case isDistance:
			distances.coefficients[c] = *coefficients
		case !p.operands(n, c, coefficients):
			p.out.other = append(p.out.other, summand{column{v, c}, severalInputs, *coefficients, 0})
		}
	}
	if isDistance {
		p.out.squared = append(p.out.squared, distances)
	}
}

// operands pushes the coefficients of column c to the operands of a linear operation. It returns
// false if the operation is not linear.
func (p *propagation) operands(n graph.Node, c int, coefficients *coefficients) bool {
	to := func(v graph.Value, at int, factor float64) {
		coefficients.each(func(sum int, x float64) { p.push(v, at, sum, factor*x) })
	}
	switch n.Op {
	case ops.Add:
		to(n.In[0], c, 1)
		to(n.In[1], c, 1)
	case ops.Sub:
		to(n.In[0], c, 1)
		to(n.In[1], c, -1)
	case ops.Neg:
		to(n.In[0], c, -1)
	case ops.Mul, ops.Div:
		k, factor, ok := p.constantFactor(n, c)
		if !ok {
			return false
		}
		to(n.In[k], c, factor)
	case ops.Columns:
		to(n.In[0], n.Columns[c], 1)
	case ops.Concat:
		v, at := part(p.g, n, c)
		to(v, at, 1)
	case ops.RowSum:
		for k := range p.g.Width(n.In[0]) {
			to(n.In[0], k, 1)
		}
	case ops.MatMul:
		w := p.g.Node(n.In[1])
		for k := range w.Rows {
			if f := w.Data[k*w.Width+c]; f != 0 {
				to(n.In[0], k, f)
			}
		}
	default:
		return false
	}
	return true
}

// constantFactor returns the operand of a product or quotient that is not constant, and the factor
// of its column c.
func (a *analysis) constantFactor(n graph.Node, c int) (operand int, factor float64, ok bool) {
	for k, v := range n.In {
		f := a.g.Node(v)
		if f.Op != ops.Constant {
			continue
		}
		x := f.Data[min(c, f.Width-1)]
		switch {
		case n.Op == ops.Mul:
			return 1 - k, x, true
		case k == 1:
			return 0, 1 / x, true
		}
	}
	return 0, 0, false
}

// squaredDistances recognizes max(0, r·(−2A) + (Σ r² + |a|²)), the squared distances of rows and
// points. As a sum of squares they need no maximum.
func (a *analysis) squaredDistances(n graph.Node) (squared, bool) {
	none := squared{}
	if n.Op != ops.Max || a.g.Node(n.In[1]).Op != ops.Constant || !zero(a.g.Node(n.In[1]).Data) {
		return none, false
	}
	sum := a.g.Node(n.In[0])
	if sum.Op != ops.Add {
		return none, false
	}
	product, squares := a.g.Node(sum.In[0]), a.g.Node(sum.In[1])
	if product.Op != ops.MatMul || squares.Op != ops.Add {
		return none, false
	}
	rowSum, norms := a.g.Node(squares.In[0]), a.g.Node(squares.In[1])
	if rowSum.Op != ops.RowSum || norms.Op != ops.Constant || norms.Width != n.Width {
		return none, false
	}
	rows := product.In[0]
	square := a.g.Node(rowSum.In[0])
	if square.Op != ops.Mul || square.In[0] != rows || square.In[1] != rows {
		return none, false
	}
	out := squared{rows: rows, inputs: a.inputs[rows.Index()], points: a.g.Node(product.In[1]),
		coefficients: make([]coefficients, n.Width)}
	for _, input := range out.inputs {
		if input == severalInputs {
			return none, false
		}
	}
	for k := range n.Width {
		norm := 0.0
		for c := range out.points.Rows {
			v := out.points.Data[c*n.Width+k] / 2
			norm += v * v
		}
		if math.Abs(norm-norms.Data[k]) > 1e-9*norm {
			return none, false
		}
	}
	return out, true
}

func zero(values []float64) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}
