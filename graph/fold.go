package graph

import (
	"slices"

	"github.com/bochner-ml/bochner/graph/internal/ops"
)

// Simplified returns a graph that computes the same in fewer operations, up to rounding: what
// multiplies columns by constants or puts them into another order, and then goes into a product
// with a matrix and nowhere else, becomes part of the matrix. Features of a random map come in
// pairs of cosine and sine and are scaled; in front of a linear model neither needs to be done row
// by row.
func (g *Graph) Simplified() *Graph {
	out := *g
	out.nodes = slices.Clone(g.nodes)
	uses := g.UseCounts()
	for i, n := range out.nodes {
		if n.Op != ops.MatMul || uses[i] == 0 || uses[n.In[1].Index()] != 1 {
			continue
		}
		v, w := n.In[0], out.Node(n.In[1])
		for uses[v.Index()] == 1 {
			from, inner, ok := out.fold(v, w)
			if !ok {
				break
			}
			v, w = from, inner
		}
		out.nodes[i].In = []Value{v, n.In[1]}
		out.nodes[n.In[1].Index()] = w
	}
	return &out
}

// fold returns what v is made of, and the matrix whose product with that is v·w.
func (g *Graph) fold(v Value, w Node) (Value, Node, bool) {
	n := g.Node(v)
	switch n.Op {
	case ops.Mul:
		for k, factor := range n.In {
			other := n.In[1-k]
			if f := g.Node(factor); f.Op == ops.Constant && g.Width(other) == n.Width {
				return other, w.rows(n.Width, func(j int) (int, float64) { return j, f.Data[min(j, len(f.Data)-1)] }), true
			}
		}
	case ops.Columns: // all of them: what is left out may be NaN, which is not 0 times anything
		all := make([]bool, g.Width(n.In[0]))
		for _, c := range n.Columns {
			all[c] = true
		}
		if !slices.Contains(all, false) {
			return n.In[0], w.rows(len(all), func(j int) (int, float64) { return n.Columns[j], 1 }), true
		}
	}
	return Value{}, Node{}, false
}

// rows returns a matrix with count rows, to which the rows of n are added at the indices and with
// the factors that to returns.
func (n Node) rows(count int, to func(row int) (int, float64)) Node {
	out := Node{Op: ops.Constant, Rows: count, Width: n.Width, Data: make([]float64, count*n.Width)}
	for j := range n.Rows {
		at, factor := to(j)
		for k := range n.Width {
			out.Data[at*n.Width+k] += factor * n.Data[j*n.Width+k]
		}
	}
	return out
}
