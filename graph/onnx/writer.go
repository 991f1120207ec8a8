package onnx

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// writer converts a graph to the nodes and constants of an ONNX file.
type writer struct {
	g         *graph.Graph
	o         Options
	graph     message  // inputs, outputs and nodes
	tensors   []tensor // constants
	file      graph.Artifact
	usedNames map[string]bool // names of tensors
	labels    bool            // whether a LabelEncoder is used

	// Names of the tensors that contain a value, by node index; "" if there is none yet.
	numbers    map[kind][]string // floating point
	tables     map[kind][]string // constants in the shape for Gather
	trueValues []string          // bool, results of comparisons
	wholes     []string          // int64, column indices
	columns    []string          // input columns; nil if the input is one matrix
	reported   []string          // output name
	kinds      []kind            // precision in which the value is computed
	ioKind     kind              // precision of inputs and outputs
	scalars    map[string]string
	uses       []int
	problem    error // first error
}

// kind is a floating-point type: typeFloat or typeDouble.
type kind int64

// String returns the name of the type in ONNX.
func (k kind) String() string {
	if k == typeDouble {
		return "double"
	}
	return "float"
}

// bytes returns the size of a number in bytes.
func (k kind) bytes() int {
	if k == typeDouble {
		return 8
	}
	return 4
}

func newWriter(g *graph.Graph, o Options) *writer {
	n := len(g.Nodes())
	x := &writer{g: g, o: o, usedNames: map[string]bool{}, scalars: map[string]string{}, uses: g.UseCounts(),
		ioKind:     typeFloat,
		kinds:      make([]kind, n),
		trueValues: make([]string, n), wholes: make([]string, n), reported: make([]string, n), numbers: map[kind][]string{},
		tables: map[kind][]string{}}
	for _, k := range []kind{typeFloat, typeDouble} {
		x.numbers[k], x.tables[k] = make([]string, n), make([]string, n)
	}
	if o.Precision == "float64" {
		x.ioKind = typeDouble
	}
	x.chooseKinds()
	return x
}

// chooseKinds selects the data types of the values.
func (x *writer) chooseKinds() {
	nodes := x.g.Nodes()
	for i := range nodes {
		x.kinds[i] = x.ioKind
	}
	if x.o.Precision != "float32" {
		return
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		if x.uses[i] == 0 {
			continue
		}
		n := nodes[i]
		for k, v := range n.In {
			phase := n.Op == ops.Cos || n.Op == ops.Sin
			place := n.Op == ops.Lookup && k == 1
			if x.kinds[i] == typeDouble || phase || place {
				x.kinds[v.Index()] = typeDouble
			}
		}
		if n.Op == ops.Rows || n.Op == ops.IsNaN || n.Op == ops.Columns && n.In[0] == x.g.Input() {
			x.kinds[i] = x.ioKind // inputs are not converted
		}
	}
}

// write converts all nodes that the outputs depend on.
func (x *writer) write() error {
	if err := x.nameInputs(); err != nil {
		return err
	}
	names := x.nameOutputs()
	x.inputs()
	for i, uses := range x.uses {
		if node := x.g.Nodes()[i]; uses > 0 && node.Op != ops.Rows {
			x.node(i, node)
		}
	}
	for k, o := range x.g.Outputs() {
		if err := x.output(names[k], o); err != nil {
			return err
		}
	}
	return x.problem
}

// nameInputs reserves the names of the inputs.
func (x *writer) nameInputs() error {
	if !x.o.Columns && !categorical(x.g) {
		x.usedNames["X"] = true
		return nil
	}
	x.columns = make([]string, len(x.g.Inputs()))
	for j, in := range x.g.Inputs() {
		name := in.Name
		if name == "" {
			name = "x" + strconv.Itoa(j)
		}
		if x.usedNames[name] {
			return fmt.Errorf("column names must be unique, got %q twice", name)
		}
		x.usedNames[name] = true
		x.columns[j] = name
	}
	return nil
}

// nameOutputs reserves and returns the names of the outputs.
func (x *writer) nameOutputs() []string {
	var out []string
	for _, o := range x.g.Outputs() {
		name := o.Name
		if name == "value" || name == "values" {
			name = "variable"
		}
		for x.usedNames[name] {
			name = "output_" + name
		}
		x.usedNames[name] = true
		out = append(out, name)
		if i := o.Value.Index(); o.Name != "label" && x.reported[i] == "" {
			x.reported[i] = name
		}
	}
	return out
}

// fresh returns an unused name for a tensor, such as cos_7.
func (x *writer) fresh(word string, number int) string {
	name := fmt.Sprintf("%s_%d", word, number)
	for x.usedNames[name] {
		name += "_"
	}
	x.usedNames[name] = true
	return name
}

// inputs writes the inputs, and the encoding of string columns.
func (x *writer) inputs() {
	if x.columns == nil {
		x.numbers[x.ioKind][0] = "X"
		x.input(port{"X", x.ioKind.String(), len(x.g.Inputs())},
			"one column for each input, in the order of the metadata \"columns\"")
		return
	}
	for j, in := range x.g.Inputs() {
		t, doc := port{x.columns[j], x.ioKind.String(), 1}, "a number; NaN if missing"
		if hasStrings(in) {
			t.kind, doc = "string", "a string; empty if missing"
			x.columns[j] = x.codes(t.name, j, in)
		}
		x.input(t, doc)
	}
}

// port is an input or an output.
type port struct {
	name  string
	kind  string // float, double, string or int64
	width int    // number of columns; 0 for a vector
}

// as converts the port to an IOSpec.
func (p port) as() graph.IOSpec {
	if p.width == 0 {
		return graph.IOSpec{Name: p.name, Type: p.kind, Shape: "[N]"}
	}
	return graph.IOSpec{Name: p.name, Type: p.kind, Shape: fmt.Sprintf("[N, %d]", p.width)}
}

func (x *writer) input(t port, doc string) {
	x.file.Inputs = append(x.file.Inputs, t.as())
	x.graph.submessage(graphInput, x.value(t, doc))
}

// codes returns the tensor of the codes of a string column.
func (x *writer) codes(name string, j int, in graph.Input) string {
	keys := attribute("keys_strings", attrIsStrings)
	values := attribute("values_floats", attrIsFloats)
	add := func(text string, code float64) {
		keys.text(attrStrings, text)
		values.float(attrFloats, float32(code))
	}
	seen := map[string]bool{}
	for _, text := range append([]string{""}, in.Missing...) {
		if !seen[text] {
			add(text, math.NaN())
		}
		seen[text] = true
	}
	for k, level := range in.Categories {
		if !seen[level] {
			add(level, float64(k))
		}
	}
	unknown := attribute("default_float", attrIsFloat)
	unknown.float(attrFloat, -1)
	x.labels = true
	out := x.fresh("codes", j)
	x.add("LabelEncoder", []string{name}, out, keys, values, unknown)
	if x.ioKind == typeDouble {
		return x.cast(out, typeDouble, x.fresh("double", j))
	}
	return out
}

// output writes an output for a value.
func (x *writer) output(name string, o graph.Output) error {
	i := o.Value.Index()
	t := port{name, x.ioKind.String(), x.g.Width(o.Value)}
	switch {
	case o.Name == "label":
		if t.width != 1 {
			return fmt.Errorf("output label must have 1 column, got %d", t.width)
		}
		t.kind, t.width = x.label(name, i), 0
	case x.number(i, x.ioKind) != name:
		x.add("Identity", []string{x.number(i, x.ioKind)}, name)
	}
	x.file.Outputs = append(x.file.Outputs, t.as())
	x.graph.submessage(graphOutput, x.value(t, ""))
	return nil
}

// label converts class codes to names, and returns their type: int64 if all names are integers or
// the classes are unnamed, else string.
func (x *writer) label(name string, i int) string {
	flat := name
	if len(x.g.Classes()) > 0 {
		flat = x.fresh("class", i)
	}
	x.add("Reshape", []string{x.whole(i), x.int64s("rows_only", -1)}, flat)
	if len(x.g.Classes()) == 0 {
		return "int64"
	}
	t := tensor{}
	t.head.number(tensorDims, int64(len(x.g.Classes())))
	kind, numbers := "string", parseIntegers(x.g.Classes())
	if numbers != nil {
		kind = "int64"
	}
	t.head.number(tensorType, int64(typeOf[kind]))
	for k, class := range x.g.Classes() {
		if numbers != nil {
			t.head.number(tensorInt64, numbers[k])
		} else {
			t.head.text(tensorString, class)
		}
	}
	classes := x.fresh("classes", i)
	t.head.text(tensorName, classes)
	x.tensors = append(x.tensors, t)
	x.add("Gather", []string{classes, flat}, name)
	return kind
}

// parseIntegers parses integers; nil if one is invalid.
func parseIntegers(words []string) []int64 {
	out := make([]int64, len(words))
	for k, text := range words {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != text {
			return nil
		}
		out[k] = v
	}
	return out
}

var typeOf = map[string]int{"float": typeFloat, "double": typeDouble, "string": typeString, "int64": typeInt64}

// value describes an input or an output.
func (x *writer) value(t port, doc string) message {
	var rows, shape, tensor, kind, out message
	rows.text(dimParam, "N")
	shape.submessage(shapeDim, rows)
	if t.width > 0 {
		var width message
		width.number(dimValue, int64(t.width))
		shape.submessage(shapeDim, width)
	}
	tensor.number(tensorElem, int64(typeOf[t.kind]))
	tensor.submessage(tensorShape, shape)
	kind.submessage(typeTensor, tensor)
	out.text(valueName, t.name)
	out.submessage(valueType, kind)
	if doc != "" {
		out.text(valueDoc, doc)
	}
	return out
}

// add adds an operator, and returns its output.
func (x *writer) add(op string, in []string, out string, attributes ...message) string {
	var m message
	for _, name := range in {
		m.text(nodeInput, name)
	}
	m.text(nodeOutput, out)
	m.text(nodeName, "make_"+out)
	m.text(nodeOp, op)
	for _, a := range attributes {
		m.submessage(nodeAttr, a)
	}
	if op == "LabelEncoder" {
		m.text(nodeDomain, "ai.onnx.ml")
	}
	x.graph.submessage(graphNode, m)
	return out
}

func attribute(name string, kind int64) message {
	var m message
	m.text(attrName, name)
	m.number(attrType, kind)
	return m
}

// integer returns an attribute that is an integer.
func integer(name string, v int64) message {
	m := attribute(name, attrIsInt)
	m.number(attrInt, v)
	return m
}

func (x *writer) cast(in string, to kind, out string) string {
	return x.add("Cast", []string{in}, out, integer("to", int64(to)))
}

// constant adds a matrix of numbers.
func (x *writer) constant(name string, k kind, data []float64, dims ...int) {
	if k == typeFloat && x.problem == nil {
		for _, v := range data {
			if math.IsInf(float64(float32(v)), 0) && math.Abs(v) < math.MaxFloat64 { // MaxFloat64 pads lists and may become +Inf
				x.problem = fmt.Errorf("constants must be within ±%.2g in float32, got %g; use precision "+
					"float64", math.MaxFloat32, v)
			}
		}
	}
	t := tensor{data: data, size: k.bytes()}
	for _, d := range dims {
		t.head.number(tensorDims, int64(d))
	}
	t.head.number(tensorType, int64(k))
	t.head.text(tensorName, name)
	x.tensors = append(x.tensors, t)
}

// scalar returns the constant of one number.
func (x *writer) scalar(v float64, k kind) string {
	key := fmt.Sprintf("%v %x", k, v)
	if x.scalars[key] == "" {
		x.scalars[key] = x.fresh("number", len(x.scalars))
		x.constant(x.scalars[key], k, []float64{v})
	}
	return x.scalars[key]
}

// int64s returns a constant of integers.
func (x *writer) int64s(word string, values ...int64) string {
	key := fmt.Sprint(word, values)
	if x.scalars[key] == "" {
		x.scalars[key] = x.fresh(word, len(x.scalars))
		var t tensor
		t.head.number(tensorDims, int64(len(values)))
		t.head.number(tensorType, typeInt64)
		for _, v := range values {
			t.head.number(tensorInt64, v)
		}
		t.head.text(tensorName, x.scalars[key])
		x.tensors = append(x.tensors, t)
	}
	return x.scalars[key]
}

func jsonOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil { // strings are always valid
		return ""
	}
	return string(text)
}
