package graph

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// Simplified returns an equivalent graph with fewer operations, up to rounding. Scalings and
// permutations of columns whose only use is a product with a constant matrix are folded into the
// matrix. This removes the scaling and interleaving of cosines and sines of a random map before a
// linear model.
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

// fold returns an operand u of v and a matrix m with u·m = v·w. ok is false if v is neither a
// scaling nor a permutation.
func (g *Graph) fold(v Value, w Node) (u Value, m Node, ok bool) {
	n := g.Node(v)
	switch n.Op {
	case ops.Mul:
		for k, factor := range n.In {
			other := n.In[1-k]
			if f := g.Node(factor); f.Op == ops.Constant && g.Width(other) == n.Width {
				return other, w.rows(n.Width, func(j int) (int, float64) { return j, f.Data[min(j, len(f.Data)-1)] }), true
			}
		}
	case ops.Columns: // only if all columns are selected: 0·NaN of an omitted column would be NaN
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

// rows returns a matrix with count rows. It is the sum of the rows of n, multiplied by the factor
// and added to the row that to returns.
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
