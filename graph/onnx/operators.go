package onnx

import (
	"math"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/internal/ops"
)

// operators are those that do what an operation of a graph does.
var operators = map[ops.Op]string{
	ops.MatMul: "MatMul",
	ops.Add:    "Add", ops.Sub: "Sub", ops.Mul: "Mul", ops.Div: "Div", ops.Min: "Min", ops.Max: "Max",
	ops.Less: "Less", ops.LessEqual: "LessOrEqual", ops.Equal: "Equal", ops.IsNaN: "IsNaN",
	ops.Neg: "Neg", ops.Abs: "Abs", ops.Sqrt: "Sqrt", ops.Exp: "Exp", ops.Log: "Log", ops.Cos: "Cos",
	ops.Sin: "Sin", ops.Tanh: "Tanh", ops.Sigmoid: "Sigmoid", ops.Floor: "Floor",
	ops.RowSum: "ReduceSum", ops.RowMax: "ReduceMax", ops.ArgMax: "ArgMax", ops.Softmax: "Softmax",
}

// truth reports whether the result of an operation is a Boolean in ONNX.
func truth(op ops.Op) bool {
	return op == ops.Less || op == ops.LessEqual || op == ops.Equal || op == ops.IsNaN
}

// node makes the operators of one node of the graph.
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
	case truth(n.Op):
		x.trueValues[i] = x.add(operators[n.Op], in, x.fresh(string(n.Op), i))
	case n.Op == ops.ArgMax:
		x.wholes[i] = x.add("ArgMax", in, x.fresh(string(n.Op), i), integer("axis", 1), integer("keepdims", 1))
	default:
		x.numbers[x.kinds[i]][i] = x.operator(i, n, in, x.named(i, x.kinds[i], string(n.Op)))
	}
}

// table returns a constant as one of which a Gather takes rows: of a single column it is a list.
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

// named returns what the tensor of a value is called: as the output that it is, or by what it does.
func (x *writer) named(i int, k kind, word string) string {
	if x.reported[i] != "" && k == x.comes {
		return x.reported[i]
	}
	return x.fresh(word, i)
}

// operator adds the operator of a node whose value is numbers.
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
		if x.g.Node(n.In[0]).Op == ops.Constant { // older ones pass NaN on from the first of both only
			in[0], in[1] = in[1], in[0]
		}
	}
	return x.add(op, in, out)
}

// wave adds a cosine or a sine. Of a double phase, where the value is to be float, whole turns are taken off first.
func (x *writer) wave(i int, n graph.Node, phase, out string) string {
	from := x.kinds[n.In[0].Index()]
	switch {
	case from != x.kinds[i]:
		turns := x.add("Mul", []string{phase, x.scalar(0.5/math.Pi, from)}, x.fresh("turns", i))
		whole := x.add("Round", []string{turns}, x.fresh("whole_turns", i))
		part := x.cast(x.add("Sub", []string{turns, whole}, x.fresh("part", i)), x.kinds[i], x.fresh("part_turn", i))
		phase = x.add("Mul", []string{part, x.scalar(2*math.Pi, x.kinds[i])}, x.fresh("phase", i))
	case n.Op == ops.Cos && from == typeDouble:
		// Of doubles ONNX Runtime has had the sine for long, the cosine since the summer of 2026.
		shifted := x.add("Add", []string{phase, x.scalar(math.Pi/2, from)}, x.fresh("shifted", i))
		return x.add("Sin", []string{shifted}, out)
	}
	return x.add(operators[n.Op], []string{phase}, out)
}

// pickInputs makes the value that is some columns of rows that come column by column.
func (x *writer) pickInputs(i int, n graph.Node) {
	var in []string
	for _, c := range n.Columns {
		in = append(in, x.columns[c])
	}
	out := in[0]
	if len(in) > 1 {
		out = x.add("Concat", in, x.named(i, x.comes, "columns"), integer("axis", 1))
	}
	x.numbers[x.comes][i] = out
}

// row returns the tensor of the rows of a table that the numbers in a value name: those below 0 and NaN the first,
// those beyond the last the last.
func (x *writer) row(i, index int, table graph.Node) string {
	last := float64(table.Rows - 1)
	whole := x.wholes[index]
	if whole == "" {
		k := x.kinds[index]
		inside := x.add("Clip", []string{x.number(index, k), x.scalar(0, k), x.scalar(last, k)}, x.fresh("inside", i))
		whole = x.cast(inside, typeInt64, x.fresh("whole", i))
	}
	// What integer NaN becomes is left open; it is brought inside too.
	whole = x.add("Max", []string{whole, x.int64s("first", 0)}, x.fresh("from", i))
	whole = x.add("Min", []string{whole, x.int64s("last", int64(last))}, x.fresh("to", i))
	if table.Width == 1 { // each entry names one
		return whole
	}
	return x.add("Reshape", []string{whole, x.int64s("rows_only", -1)}, x.fresh("row", i))
}

// number returns a value as floating point.
func (x *writer) number(i int, k kind) string {
	if at := &x.numbers[k][i]; *at == "" {
		*at = x.makeNumber(i, k)
	}
	return x.numbers[k][i]
}

// makeNumber makes a value that is not there yet as floating point of a kind.
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
	case other == "": // the rows, where they come column by column
		rows := x.add("Concat", x.columns, x.fresh("rows", i), integer("axis", 1))
		if k == x.comes {
			return rows
		}
		x.numbers[x.comes][i], other = rows, rows
	}
	return x.cast(other, k, x.named(i, k, "number"))
}

// truth returns a value as booleans.
func (x *writer) truth(i int) string {
	if x.trueValues[i] == "" {
		x.trueValues[i] = x.cast(x.number(i, x.kinds[i]), typeBool, x.fresh("truth_of", i))
	}
	return x.trueValues[i]
}

// whole returns a value as int64.
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
