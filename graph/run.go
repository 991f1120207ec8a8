package graph

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// Run returns the outputs for the rows of X, by name. It evaluates the graph node by node without
// optimization and stores all intermediate values that an output needs. It is the reference for
// tests of the writers; use the fitted pipeline to predict.
func (g *Graph) Run(X mat.Matrix) (map[string]*mat.Dense, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	n, d := X.Dims()
	if d != len(g.inputs) {
		return nil, fmt.Errorf("graph: X must have %d columns, got %d", len(g.inputs), d)
	}
	if n == 0 {
		return nil, errors.New("graph: X must have at least 1 row, got none")
	}
	values := make([]*mat.Dense, len(g.nodes))
	uses := g.UseCounts()
	for i, node := range g.nodes {
		if uses[i] == 0 {
			continue
		}
		switch node.Op {
		case ops.Rows:
			values[i] = mat.DenseCopyOf(X)
		case ops.Constant:
			values[i] = mat.NewDense(node.Rows, node.Width, node.Data)
		default:
			values[i] = mat.NewDense(n, node.Width, nil)
			in := make([]*mat.Dense, len(node.In))
			for k, v := range node.In {
				in[k] = values[v.Index()]
			}
			node.run(values[i], in)
		}
	}
	out := map[string]*mat.Dense{}
	for _, o := range g.outputs {
		out[o.Name] = values[o.Value.Index()]
	}
	return out, nil
}

// run writes the value of the node for the operands in to dst.
func (n Node) run(dst *mat.Dense, in []*mat.Dense) {
	rows, _ := dst.Dims()
	for i := range rows {
		row := dst.RawRowView(i)
		switch n.Op {
		case ops.Columns:
			for j, c := range n.Columns {
				row[j] = in[0].At(i, c)
			}
		case ops.Concat:
			for _, m := range in {
				row = row[copy(row, m.RawRowView(i)):]
			}
		case ops.MatMul:
			for j := range row {
				row[j] = 0
				for k, v := range in[0].RawRowView(i) {
					row[j] += v * in[1].At(k, j)
				}
			}
		case ops.Lookup:
			last, width := in[0].Dims()
			for k, v := range in[1].RawRowView(i) {
				copy(row[k*width:], in[0].RawRowView(rowOf(v, last)))
			}
		case ops.RowSum, ops.RowMax, ops.ArgMax:
			row[0] = reduced(n.Op, in[0].RawRowView(i))
		case ops.Softmax:
			softmax(row, in[0].RawRowView(i))
		default:
			n.runEntries(row, i, in)
		}
	}
}

// runEntries writes the result of an elementwise operation for row i of its operands to row.
func (n Node) runEntries(row []float64, i int, in []*mat.Dense) {
	at := func(k, j int) float64 {
		r, c := in[k].Dims()
		return in[k].At(min(i, r-1), min(j, c-1))
	}
	for j := range row {
		switch {
		case n.Op == ops.Where && at(0, j) != 0:
			row[j] = at(1, j)
		case n.Op == ops.Where:
			row[j] = at(2, j)
		case len(in) == 2:
			row[j] = pairs[n.Op](at(0, j), at(1, j))
		default:
			row[j] = each[n.Op](at(0, j))
		}
	}
}

// rowOf converts a number to a row index.
func rowOf(v float64, rows int) int {
	if v != v {
		return 0
	}
	return int(min(max(v, 0), float64(rows-1)))
}

func reduced(op ops.Op, row []float64) float64 {
	sum, largest := 0.0, 0
	for j, v := range row {
		sum += v
		if v > row[largest] {
			largest = j
		}
	}
	switch op {
	case ops.RowSum:
		return sum
	case ops.RowMax:
		return row[largest]
	}
	return float64(largest)
}

func softmax(dst, row []float64) {
	largest, sum := reduced(ops.RowMax, row), 0.0
	for j, v := range row {
		dst[j] = math.Exp(v - largest)
		sum += dst[j]
	}
	for j := range dst {
		dst[j] /= sum
	}
}
