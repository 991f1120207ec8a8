package onnx

import (
	"math"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// operators are the ONNX operators of graph operations.
var operators = map[ops.Op]string{
	ops.MatMul: "MatMul",
	ops.Add:    "Add", ops.Sub: "Sub", ops.Mul: "Mul", ops.Div: "Div", ops.Min: "Min", ops.Max: "Max",
	ops.Less: "Less", ops.LessEqual: "LessOrEqual", ops.Equal: "Equal", ops.IsNaN: "IsNaN",
	ops.Neg: "Neg", ops.Abs: "Abs", ops.Sqrt: "Sqrt", ops.Exp: "Exp", ops.Log: "Log", ops.Cos: "Cos",
	ops.Sin: "Sin", ops.Tanh: "Tanh", ops.Sigmoid: "Sigmoid", ops.Floor: "Floor",
	ops.RowSum: "ReduceSum", ops.RowMax: "ReduceMax", ops.ArgMax: "ArgMax", ops.Softmax: "Softmax",
}

// isBoolean reports whether the result of an operation is a Boolean in ONNX.
func isBoolean(op ops.Op) bool {
	return op == ops.Less || op == ops.LessEqual || op == ops.Equal || op == ops.IsNaN
}

// node adds the operators of one node of the graph.
func (x *writer) node(i int, n graph.Node) {
	if n.Op == ops.Constant {
		return // created at its use
	}
	if n.Op == ops.Columns && x.columns != nil && n.In[0] == x.g.Input() {
		x.pickInputs(i, n)
		return
	}
	in := make([]string, len(n.In))
	for k, v := range n.In {
		switch {
		case n.Op == ops.Where && k == 0:
			in[k] = x.truth(v.Index())
		case n.Op == ops.Lookup && k == 0:
			in[k] = x.table(v.Index(), x.kinds[i])
		case n.Op == ops.Lookup:
			in[k] = x.row(i, v.Index(), x.g.Node(n.In[0]))
		case n.Op == ops.Cos || n.Op == ops.Sin || n.Op == ops.IsNaN:
			in[k] = x.number(v.Index(), x.kinds[v.Index()])
		default:
			in[k] = x.number(v.Index(), x.kinds[i])
		}
	}
	switch {
	case isBoolean(n.Op):
		x.trueValues[i] = x.add(operators[n.Op], in, x.fresh(string(n.Op), i))
	case n.Op == ops.ArgMax:
		x.wholes[i] = x.add("ArgMax", in, x.fresh(string(n.Op), i), integer("axis", 1), integer("keepdims", 1))
	default:
		x.numbers[x.kinds[i]][i] = x.operator(i, n, in, x.nameFor(i, x.kinds[i], string(n.Op)))
	}
}

// table returns a constant in the shape for Gather: one dimension if it has one column.
func (x *writer) table(i int, k kind) string {
	n := x.g.Nodes()[i]
	if n.Width > 1 {
		return x.number(i, k)
	}
	if x.tables[k][i] == "" {
		x.tables[k][i] = x.fresh("table", i)
		x.constant(x.tables[k][i], k, n.Data, n.Rows)
	}
	return x.tables[k][i]
}

// nameFor returns a name for the tensor of a value: that of its output, or an unused name from word.
func (x *writer) nameFor(i int, k kind, word string) string {
	if x.reported[i] != "" && k == x.ioKind {
		return x.reported[i]
	}
	return x.fresh(word, i)
}

// operator adds the operator of a node with a floating-point value.
func (x *writer) operator(i int, n graph.Node, in []string, out string) string {
	op := operators[n.Op]
	switch n.Op {
	case ops.Columns:
		numbers := make([]int64, len(n.Columns))
		for k, c := range n.Columns {
			numbers[k] = int64(c)
		}
		return x.add("Gather", append(in, x.int64s("columns", numbers...)), out, integer("axis", 1))
	case ops.Concat:
		return x.add("Concat", in, out, integer("axis", 1))
	case ops.Where:
		return x.add("Where", in, out)
	case ops.Lookup:
		return x.add("Gather", in, out, integer("axis", 0))
	case ops.Softmax:
		return x.add(op, in, out, integer("axis", 1))
	case ops.RowSum:
		return x.add(op, append(in, x.int64s("axis", 1)), out, integer("keepdims", 1))
	case ops.RowMax:
		if x.o.Opset >= 18 {
			return x.add(op, append(in, x.int64s("axis", 1)), out, integer("keepdims", 1))
		}
		axes := attribute("axes", attrIsInts)
		axes.number(attrInts, 1)
		return x.add(op, in, out, integer("keepdims", 1), axes)
	case ops.Cos, ops.Sin:
		return x.wave(i, n, in[0], out)
	case ops.Min, ops.Max:
		if x.g.Node(n.In[0]).Op == ops.Constant { // old versions of ONNX Runtime propagate NaN from the first operand only
			in[0], in[1] = in[1], in[0]
		}
	}
	return x.add(op, in, out)
}

// wave adds a cosine or a sine. If the phase is double and the result float, it reduces the phase
// modulo 2π first.
func (x *writer) wave(i int, n graph.Node, phase, out string) string {
	from := x.kinds[n.In[0].Index()]
	switch {
	case from != x.kinds[i]:
		turns := x.add("Mul", []string{phase, x.scalar(0.5/math.Pi, from)}, x.fresh("turns", i))
		whole := x.add("Round", []string{turns}, x.fresh("whole_turns", i))
		part := x.cast(x.add("Sub", []string{turns, whole}, x.fresh("part", i)), x.kinds[i], x.fresh("part_turn", i))
		phase = x.add("Mul", []string{part, x.scalar(2*math.Pi, x.kinds[i])}, x.fresh("phase", i))
	case n.Op == ops.Cos && from == typeDouble:
		// ONNX Runtime before summer 2026 has no cosine of doubles.
		shifted := x.add("Add", []string{phase, x.scalar(math.Pi/2, from)}, x.fresh("shifted", i))
		return x.add("Sin", []string{shifted}, out)
	}
	return x.add(operators[n.Op], []string{phase}, out)
}

// pickInputs adds the value of ops.Columns if each column is a separate input.
func (x *writer) pickInputs(i int, n graph.Node) {
	var in []string
	for _, c := range n.Columns {
		in = append(in, x.columns[c])
	}
	out := in[0]
	if len(in) > 1 {
		out = x.add("Concat", in, x.nameFor(i, x.ioKind, "columns"), integer("axis", 1))
	}
	x.numbers[x.ioKind][i] = out
}

// row returns the tensor of the row indices of a lookup: integers, clipped to the table, 0 for NaN.
func (x *writer) row(i, index int, table graph.Node) string {
	last := float64(table.Rows - 1)
	whole := x.wholes[index]
	if whole == "" {
		k := x.kinds[index]
		clipped := x.add("Clip", []string{x.number(index, k), x.scalar(0, k), x.scalar(last, k)}, x.fresh("inside", i))
		whole = x.cast(clipped, typeInt64, x.fresh("whole", i))
	}
	// The conversion of NaN to an integer is undefined; clip its result too.
	whole = x.add("Max", []string{whole, x.int64s("first", 0)}, x.fresh("from", i))
	whole = x.add("Min", []string{whole, x.int64s("last", int64(last))}, x.fresh("to", i))
	if table.Width == 1 { // one index for each entry
		return whole
	}
	return x.add("Reshape", []string{whole, x.int64s("rows_only", -1)}, x.fresh("row", i))
}

// number returns the floating-point tensor of a value.
func (x *writer) number(i int, k kind) string {
	if at := &x.numbers[k][i]; *at == "" {
		*at = x.makeNumber(i, k)
	}
	return x.numbers[k][i]
}

// makeNumber adds a conversion of a value to a floating-point type.
func (x *writer) makeNumber(i int, k kind) string {
	other := x.numbers[typeFloat+typeDouble-k][i]
	switch n := x.g.Nodes()[i]; {
	case n.Op == ops.Constant:
		name := x.fresh("constant", i)
		x.constant(name, k, n.Data, n.Rows, n.Width)
		return name
	case x.trueValues[i] != "":
		other = x.trueValues[i]
	case x.wholes[i] != "":
		other = x.wholes[i]
	case other == "": // the rows, if each column is a separate input
		rows := x.add("Concat", x.columns, x.fresh("rows", i), integer("axis", 1))
		if k == x.ioKind {
			return rows
		}
		x.numbers[x.ioKind][i], other = rows, rows
	}
	return x.cast(other, k, x.nameFor(i, k, "number"))
}

// truth returns the Boolean tensor of a value.
func (x *writer) truth(i int) string {
	if x.trueValues[i] == "" {
		x.trueValues[i] = x.cast(x.number(i, x.kinds[i]), typeBool, x.fresh("truth_of", i))
	}
	return x.trueValues[i]
}

// whole returns the int64 tensor of a value.
func (x *writer) whole(i int) string {
	if x.wholes[i] != "" {
		return x.wholes[i]
	}
	from := x.trueValues[i]
	if from == "" {
		from = x.number(i, x.kinds[i])
	}
	x.wholes[i] = x.cast(from, typeInt64, x.fresh("whole_of", i))
	return x.wholes[i]
}
