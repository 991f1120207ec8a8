package golang

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// predict writes the function Predict: a statement or loop for each value with a variable.
func (x *writer) predict() {
	x.printf("\n// Predict returns the prediction of the model for a row. It does not allocate, and is safe for " +
		"concurrent use.\nfunc Predict(row Row) Prediction {\n")
	x.choose()
	for i, n := range x.g.Nodes() {
		if x.uses[i] > 0 && !x.inlined[i] && n.Op != ops.Constant {
			x.statement(i, n)
		}
	}
	x.printf("\tvar out Prediction\n")
	for k, o := range x.g.Outputs() {
		field := x.written.Outputs[k].Name
		i := o.Value.Index()
		value := x.at(i, "0")
		switch kind := x.kindOf(o); {
		case kind == "string":
			value = fmt.Sprintf("Classes[int(%s)]", value)
		case kind == "int":
			value = fmt.Sprintf("int(%s)", value)
		case kind[0] == '[' && x.g.Width(o.Value) > 1:
			value = x.names[i]
		case kind[0] == '[':
			field += "[0]"
		}
		x.printf("\tout.%s = %s\n", field, value)
	}
	x.printf("\treturn out\n}\n")
}

// choose selects the values that are inlined: results of elementwise operations whose only use is
// an elementwise operation.
func (x *writer) choose() {
	user := make([]int, len(x.names))
	for i, n := range x.g.Nodes() {
		for _, v := range n.In {
			user[v.Index()] = i
		}
	}
	reported := map[int]bool{}
	for _, o := range x.g.Outputs() {
		reported[o.Value.Index()] = true
	}
	for i, n := range x.g.Nodes() {
		to := x.g.Nodes()[user[i]]
		entries := x.entrywise(to) && to.Width == n.Width || to.Op == ops.RowSum || to.Op == ops.MatMul
		x.inlined[i] = x.uses[i] == 1 && !reported[i] && x.entrywise(n) && entries
	}
}

// entrywise reports whether an operation is elementwise.
func (x *writer) entrywise(n graph.Node) bool {
	switch n.Op {
	case ops.Lookup:
		return x.g.Width(n.In[0]) == 1
	case ops.Rows, ops.Constant, ops.Columns, ops.Concat, ops.MatMul, ops.RowSum, ops.RowMax, ops.ArgMax, ops.Softmax:
		return false
	}
	return true
}

// statement writes the declaration and computation of the variable of a value.
func (x *writer) statement(i int, n graph.Node) {
	name := fmt.Sprintf("v%d", i)
	x.names[i] = name
	switch {
	case n.Op == ops.Rows:
		x.printf("\t%s := [%d]float64{\n", name, n.Width)
		for j, in := range x.g.Inputs() {
			value := x.input(j)
			if hasStrings(in) {
				value = fmt.Sprintf("codeOf%s(%s)", x.fields[j], value)
			}
			x.printf("\t\t%s,\n", value)
		}
		x.printf("\t}\n")
	case n.Op == ops.MatMul:
		x.matmul(name, n)
	case n.Op == ops.Columns:
		x.columns(name, n)
	case n.Op == ops.Concat:
		x.printf("\tvar %s [%d]float64\n", name, n.Width)
		from := 0
		for _, v := range n.In {
			if w := x.g.Width(v); w == 1 {
				x.printf("\t%s[%d] = %s\n", name, from, x.at(v.Index(), "0"))
			} else {
				x.printf("\tcopy(%s[%d:], %s[:])\n", name, from, x.names[v.Index()])
			}
			from += x.g.Width(v)
		}
	case n.Op == ops.Lookup && !x.entrywise(n):
		x.printf("\t%s := %s\n", name, x.lookup(n, "0"))
	case n.Op == ops.RowSum && x.g.Width(n.In[0]) == 1:
		x.printf("\t%s := %s\n", name, x.at(n.In[0].Index(), "0"))
	case n.Op == ops.RowSum:
		x.printf("\tvar %s float64\n\tfor j := range %d {\n\t\t%s += %s\n\t}\n", name, x.g.Width(n.In[0]), name,
			x.at(n.In[0].Index(), "j"))
	case n.Op == ops.RowMax || n.Op == ops.ArgMax || n.Op == ops.Softmax:
		x.reduce(name, n)
	default:
		x.entries(i, name, n)
	}
}

// matmul writes a product with a constant matrix. It skips zeros, which one-hot columns contain
// many of.
func (x *writer) matmul(name string, n graph.Node) {
	v, w := n.In[0].Index(), n.In[1].Index()
	finite := !slices.ContainsFunc(x.g.Nodes()[w].Data, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if n.Width == 1 {
		x.printf("\tvar %s float64\n", name)
	} else {
		x.printf("\tvar %s [%d]float64\n", name, n.Width)
	}
	x.printf("\tfor k := range c%d {\n\t\ta := %s\n", w, x.at(v, "k"))
	switch {
	case n.Width == 1:
		x.printf("\t\t%s += a * c%d[k][0]\n", name, w)
	default:
		if finite {
			x.printf("\t\tif a == 0 {\n\t\t\tcontinue\n\t\t}\n")
		}
		x.printf("\t\tfor j, w := range &c%d[k] {\n\t\t\t%s[j] += a * w\n\t\t}\n", w, name)
	}
	x.printf("\t}\n")
}

// columns writes a selection of columns.
func (x *writer) columns(name string, n graph.Node) {
	v := n.In[0].Index()
	if n.Width == 1 {
		x.printf("\t%s := %s\n", name, x.at(v, strconv.Itoa(n.Columns[0])))
		return
	}
	first, following := n.Columns[0], true
	for k, c := range n.Columns {
		following = following && c == first+k
	}
	if following && x.g.Nodes()[v].Width > 1 {
		x.printf("\tvar %s [%d]float64\n\tcopy(%s[:], %s[%d:])\n", name, n.Width, name, x.names[v], first)
		return
	}
	x.printf("\t%s := [%d]float64{\n", name, n.Width)
	for _, c := range n.Columns {
		x.printf("\t\t%s,\n", x.at(v, strconv.Itoa(c)))
	}
	x.printf("\t}\n")
}

// reduce writes operations over all entries of a row.
func (x *writer) reduce(name string, n graph.Node) {
	v := n.In[0].Index()
	list := x.names[v] + "[:]"
	if x.g.Nodes()[v].Width == 1 && x.g.Nodes()[v].Op != ops.Rows {
		list = fmt.Sprintf("[]float64{%s}", x.at(v, "0"))
	}
	x.needs["argmax"] = true
	switch {
	case n.Op == ops.Softmax && n.Width == 1:
		x.printf("\t%s := 1.0\n", name)
	case n.Op == ops.Softmax:
		x.needs["softmax"] = true
		x.printf("\t%s := %s\n\tsoftmax(%s[:])\n", name, x.names[v], name)
	case n.Op == ops.RowMax:
		x.printf("\t%s := %s[argmax(%s)]\n", name, strings.TrimSuffix(list, "[:]"), list)
	default:
		x.printf("\t%s := float64(argmax(%s))\n", name, list)
	}
}

// entries writes an elementwise operation. It overwrites the array of an operand without other
// uses, if there is one.
func (x *writer) entries(i int, name string, n graph.Node) {
	if n.Width == 1 {
		x.printf("\t%s := %s\n", name, x.expression(i, "0"))
		return
	}
	if from := x.free(i); from >= 0 {
		x.names[i] = x.names[from]
		name = x.names[i]
	} else {
		x.printf("\tvar %s [%d]float64\n", name, n.Width)
	}
	x.printf("\tfor j := range %s {\n\t\t%s[j] = %s\n\t}\n", name, name, x.expression(i, "j"))
}

// free returns an operand of value i whose array the result may overwrite, because it has no other
// use; -1 if there is none.
func (x *writer) free(i int) int {
	n := x.g.Nodes()[i]
	for _, v := range n.In {
		k := v.Index()
		operand := x.g.Nodes()[k]
		switch {
		case operand.Op == ops.Constant || operand.Op == ops.Rows || operand.Width != n.Width:
		case x.inlined[k]:
			if from := x.free(k); from >= 0 {
				return from
			}
		case x.uses[k] == 1:
			return k
		}
	}
	return -1
}

// at returns the expression for entry j of a value.
func (x *writer) at(i int, j string) string {
	n := x.g.Nodes()[i]
	switch {
	case x.inlined[i] && !infix[n.Op]:
		return x.expression(i, j)
	case x.inlined[i]:
		return "(" + x.expression(i, j) + ")"
	case n.Op == ops.Constant && len(n.Data) == 1 && n.Data[0] < 0:
		return "(" + number(n.Data[0]) + ")"
	case n.Op == ops.Constant && len(n.Data) == 1:
		return number(n.Data[0])
	case n.Op == ops.Constant:
		return fmt.Sprintf("c%d[0][%s]", i, j)
	case n.Op == ops.Rows:
		if n.Width == 1 {
			j = "0"
		}
		return x.names[i] + "[" + j + "]"
	case n.Width == 1:
		return x.names[i]
	}
	return x.names[i] + "[" + j + "]"
}

// expressions are the format strings of elementwise operations.
var expressions = map[ops.Op]string{
	ops.Add: "%s + %s", ops.Sub: "%s - %s", ops.Mul: "%s * %s", ops.Div: "%s / %s",
	ops.Min: "min(%s, %s)", ops.Max: "max(%s, %s)",
	ops.Where: "where(%s, %s, %s)",
	ops.Neg:   "-%s", ops.Abs: "math.Abs(%s)", ops.Sqrt: "math.Sqrt(%s)", ops.Exp: "math.Exp(%s)",
	ops.Log: "math.Log(%s)", ops.Cos: "math.Cos(%s)", ops.Sin: "math.Sin(%s)", ops.Tanh: "math.Tanh(%s)",
	ops.Sigmoid: "1 / (1 + math.Exp(-%s))", ops.Floor: "math.Floor(%s)",
}

// infix lists the operations that need parentheses as operands.
var infix = map[ops.Op]bool{ops.Add: true, ops.Sub: true, ops.Mul: true, ops.Div: true, ops.Neg: true,
	ops.Sigmoid: true}

// labels are the operations with Boolean results.
var labels = map[ops.Op]string{
	ops.Less: "%s < %s", ops.LessEqual: "%s <= %s", ops.Equal: "%s == %s", ops.IsNaN: "math.IsNaN(%s)",
}

// lookup returns the expression for the row of a table that entry j of an index selects.
func (x *writer) lookup(n graph.Node, j string) string {
	x.needs["rowOf"] = true
	return fmt.Sprintf("c%d[rowOf(%s, %d)]", n.In[0].Index(), x.at(n.In[1].Index(), j), x.g.Node(n.In[0]).Rows)
}

// expression returns the expression that computes entry j of an elementwise operation.
func (x *writer) expression(i int, j string) string {
	n := x.g.Nodes()[i]
	if n.Op == ops.Lookup {
		return x.lookup(n, j) + "[0]"
	}
	args := make([]any, len(n.In))
	for k, v := range n.In {
		args[k] = x.at(v.Index(), j)
	}
	if n.Op == ops.Where {
		args[0] = x.condition(n.In[0].Index(), j)
	}
	text := fmt.Sprintf(expressions[n.Op], args...)
	if labels[n.Op] != "" {
		text = "oneIf(" + fmt.Sprintf(labels[n.Op], args...) + ")"
	}
	for _, word := range []string{"oneIf", "where"} {
		x.needs[word] = x.needs[word] || strings.HasPrefix(text, word+"(")
	}
	return text
}

// condition returns the expression that reports whether entry j of a value is not 0.
func (x *writer) condition(i int, j string) string {
	n := x.g.Nodes()[i]
	if !x.inlined[i] || labels[n.Op] == "" {
		return x.at(i, j) + " != 0"
	}
	args := make([]any, len(n.In))
	for k, v := range n.In {
		args[k] = x.at(v.Index(), j)
	}
	return fmt.Sprintf(labels[n.Op], args...)
}

// number formats a number so that it parses to the same bits.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "math.NaN()"
	case math.IsInf(v, 0):
		return fmt.Sprintf("math.Inf(%d)", int(math.Copysign(1, v)))
	case v == 0 && math.Signbit(v):
		return "math.Copysign(0, -1)"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// constants writes the matrices.
func (x *writer) constants() {
	var packed []int
	for i, n := range x.g.Nodes() {
		if n.Op != ops.Constant || x.uses[i] == 0 || len(n.Data) == 1 && !x.matrix(i) {
			continue
		}
		if x.packed && len(n.Data) > 64 {
			x.printf("\nvar c%d [%d][%d]float64\n", i, n.Rows, n.Width)
			packed = append(packed, i)
			continue
		}
		x.printf("\nvar c%d = [%d][%d]float64{\n", i, n.Rows, n.Width)
		for row := range n.Rows {
			x.printf("\t{")
			for j, v := range n.Data[row*n.Width : (row+1)*n.Width] {
				if j > 0 {
					x.printf(", ")
				}
				x.printf("%s", number(v))
			}
			x.printf("},\n")
		}
		x.printf("}\n")
	}
	if len(packed) > 0 {
		x.unpack(packed)
	}
}

// matrix reports whether a constant is an operand of a product or a lookup table, which need a
// matrix also for a single number.
func (x *writer) matrix(i int) bool {
	return slices.ContainsFunc(x.g.Nodes(), func(n graph.Node) bool {
		return n.Op == ops.MatMul && n.In[1].Index() == i || n.Op == ops.Lookup && n.In[0].Index() == i
	})
}

// unpack writes the matrices as strings or to a file, and the function that reads them at program
// start.
func (x *writer) unpack(packed []int) {
	if x.o.Data != "" {
		for _, i := range packed {
			x.data = x.g.Nodes()[i].AppendBytes(x.data)
		}
		x.printf("\n//go:embed %q\nvar numbers string\n", x.o.Data)
	}
	x.printf("\nfunc init() {\n")
	if x.o.Data != "" {
		x.printf(checkSum, crc32.ChecksumIEEE(x.data), x.o.Data+" was not written with this source file")
	}
	from := 0
	for _, i := range packed {
		n, text := x.g.Nodes()[i], fmt.Sprintf("text%d", i)
		if x.o.Data != "" {
			text = fmt.Sprintf("numbers[%d:%d]", from, from+8*len(n.Data))
			from += 8 * len(n.Data)
		}
		x.printf("\tread(%s, func(k int, v float64) { c%d[k/%d][k%%%d] = v })\n", text, i, n.Width, n.Width)
	}
	x.printf("}\n\n")
	if x.o.Data != "" {
		x.printf("// read decodes little-endian numbers.\nfunc read(bits string, set func(k int, v float64)) {\n%s", readBits)
	} else {
		x.printf("%s%s", readText, readBits)
	}
	for _, i := range packed { // at the end, to keep gofmt fast
		if x.o.Data == "" {
			bits := x.g.Nodes()[i].AppendBytes(nil)
			fmt.Fprintf(&x.strs, "\nconst text%d = %q\n", i, base64.StdEncoding.EncodeToString(bits))
		}
	}
}

// checkSum is code that panics if the file belongs to another model. It converts a chunk at a time.
const checkSum = `	sum := uint32(0)
	for rest := numbers; rest != ""; {
		piece := rest[:min(len(rest), 1<<16)]
		sum, rest = crc32.Update(sum, crc32.IEEETable, []byte(piece)), rest[len(piece):]
	}
	if sum != %#x {
		panic(%q)
	}
`

const readText = `// read decodes little-endian numbers in base64.
func read(text string, set func(k int, v float64)) {
	bits, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err) // the text is part of this file
	}
`

const readBits = `	for k := 0; 8*k < len(bits); k++ {
		var v uint64
		for b := 7; b >= 0; b-- {
			v = v<<8 | uint64(bits[8*k+b])
		}
		set(k, math.Float64frombits(v))
	}
}
`

// helpers writes the helper functions that the source calls.
func (x *writer) helpers() {
	if x.needs["softmax"] {
		x.needs["argmax"] = true
	}
	for _, word := range []string{"argmax", "oneIf", "rowOf", "softmax", "where"} {
		if x.needs[word] {
			x.printf("\n%s", helpers[word])
		}
	}
	if !strings.Contains(x.text.String(), "math.") {
		x.printf("\nvar _ = math.NaN\n")
	}
}

var helpers = map[string]string{
	"argmax": `// argmax returns the index of the first largest element.
func argmax(v []float64) int {
	best := 0
	for j := range v {
		if v[j] > v[best] {
			best = j
		}
	}
	return best
}
`,
	"oneIf": `func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
`,
	"rowOf": `// rowOf converts a number to a row index, clipped to the rows of a table.
func rowOf(v float64, rows int) int {
	if math.IsNaN(v) {
		return 0
	}
	return int(min(max(v, 0), float64(rows-1)))
}
`,
	"softmax": `func softmax(v []float64) {
	largest, sum := v[argmax(v)], 0.0
	for j := range v {
		v[j] = math.Exp(v[j] - largest)
		sum += v[j]
	}
	for j := range v {
		v[j] /= sum
	}
}
`,
	"where": `func where(condition bool, a, b float64) float64 {
	if condition {
		return a
	}
	return b
}
`,
}
