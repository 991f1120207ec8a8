// Package python writes a graph as one module of Python that needs nothing but NumPy.
//
//	g, err := model.Graph()
//	…
//	written, err := python.Write(w, g, python.Options{})
//
// The module has predict(rows); predict_proba(rows) for models with probabilities;
// decision_function(rows) for class scores; and outputs(rows), all outputs by name. Rows are a list
// of dicts, columns by name (a dict, or a DataFrame), or a 2-D array. It computes in float64, block
// by block; the summation order of NumPy differs from that of [graph.Graph.Run], with rounding
// differences.
package python

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/internal/ops"
)

// Options of the export.
type Options struct {
	graph.Metadata
	Data string // name of the file next to the module for the matrices of a large model; "" for base64 in the module
}

// rows is the part of the module that makes numbers of rows.
//
//go:embed rows.py
var rows string

// Write writes the graph as Python, and returns its description.
func Write(w io.Writer, g *graph.Graph, o Options) (graph.Artifact, error) {
	if err := g.Check(); err != nil {
		return graph.Artifact{}, err
	}
	g = g.Simplified()
	x := &writer{g: g, o: o, uses: g.UseCounts(), strs: make([]string, len(g.Nodes()))}
	x.head()
	x.block()
	x.printf("%s", rows)
	x.functions()
	x.constants()
	n, err := w.Write(x.text.Bytes())
	x.written.Bytes, x.written.Data = n, x.data
	return x.written, err
}

// writer makes source text of a graph.
type writer struct {
	g       *graph.Graph
	o       Options
	data    []byte // matrices in a file of their own
	uses    []int
	text    bytes.Buffer
	strs    []string // how values are written, by the number of their node
	columns []string
	written graph.Artifact // keys of outputs(rows), and columns
}

func (x *writer) printf(text string, args ...any) { fmt.Fprintf(&x.text, text, args...) }

// quoted writes a string as Python and JSON have it.
func quoted(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `""`
	}
	var out strings.Builder
	for _, r := range strings.TrimSpace(b.String()) {
		if r == '\ufeff' || unicode.Is(unicode.Bidi_Control, r) { // would not be seen in the source
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// head writes the docstring of the module, and the columns.
func (x *writer) head() {
	title := "A model"
	if x.o.Name != "" {
		title = "The model " + x.o.Name
	}
	if x.o.Task != "" {
		title += " (" + x.o.Task + ")"
	}
	version := ""
	if x.o.Version != "" {
		version = " " + x.o.Version
	}
	doc := title + " that Bochner has fitted, as code for NumPy. Written by bochner" + version + "; do not edit."
	module := "base64"
	if x.o.Data != "" {
		module = "os\nimport zlib"
	}
	x.printf("%s\n\nimport %s\n\nimport numpy as np\n\n", quoted(doc), module)
	levels := map[string]map[string]int{}
	for j, in := range x.g.Inputs() {
		name := in.Name
		if name == "" {
			name = "x" + strconv.Itoa(j)
		}
		x.columns = append(x.columns, name)
		x.written.Inputs = append(x.written.Inputs, graph.IOSpec{Name: name, Type: "number"})
		if in.Categorical && len(in.Categories) > 0 {
			levels[name] = map[string]int{}
			x.written.Inputs[j].Type = "text"
			for k, level := range slices.Backward(in.Categories) {
				levels[name][level] = k
			}
			for _, text := range in.Missing {
				delete(levels[name], text)
			}
		}
	}
	x.printf("COLUMNS = %s\n", quoted(x.columns))
	x.printf("CLASSES = %s\n", quoted(append([]string{}, x.g.Classes()...)))
	x.printf("\n# Codes of the categories, and the strings that denote a missing value in addition to the empty one.\n_CODES = {\n")
	for j, name := range x.columns {
		if levels[name] != nil {
			x.printf("    %s: {", quoted(name))
			for k, level := range x.g.Inputs()[j].Categories {
				if levels[name][level] == k {
					x.printf("%s: %d, ", quoted(level), k)
				}
			}
			x.printf("},\n")
		}
	}
	x.printf("}\n_MISSING = {\n")
	for j, name := range x.columns {
		if levels[name] != nil {
			x.printf("    %s: %s,\n", quoted(name), quoted(append([]string{""}, x.g.Inputs()[j].Missing...)))
		}
	}
	x.printf("}\n")
}

// block writes the function that computes the outputs of a block of rows.
func (x *writer) block() {
	x.printf("\n\ndef _block(x):\n    # Every value is a matrix of as many rows as x, one line for each that is used more than once.\n")
	for i, n := range x.g.Nodes() {
		if x.uses[i] == 0 {
			continue
		}
		text := x.expression(i, n)
		if n.Op != ops.Rows && n.Op != ops.Constant && (x.uses[i] > 1 || !entrywise(n.Op)) {
			x.printf("    v%d = %s\n", i, text)
			text = fmt.Sprintf("v%d", i)
		}
		x.strs[i] = text
	}
	x.printf("    return {\n")
	for _, o := range x.g.Outputs() {
		x.written.Outputs = append(x.written.Outputs, graph.IOSpec{Name: o.Name, Type: "array",
			Shape: fmt.Sprintf("[N, %d]", x.g.Width(o.Value))})
		x.printf("        %s: %s,\n", quoted(o.Name), x.strs[o.Value.Index()])
	}
	x.printf("    }\n\n\n")
}

// The ways in which operations are written.
var expressions = map[ops.Op]string{
	ops.MatMul: "%s @ %s",
	ops.Add:    "(%s + %s)", ops.Sub: "(%s - %s)", ops.Mul: "(%s * %s)", ops.Div: "(%s / %s)",
	ops.Min: "np.minimum(%s, %s)", ops.Max: "np.maximum(%s, %s)",
	ops.Where: "np.where(%s, %s, %s)",
	ops.Neg:   "(-%s)", ops.Abs: "np.abs(%s)", ops.Sqrt: "np.sqrt(%s)", ops.Exp: "np.exp(%s)", ops.Log: "np.log(%s)",
	ops.Cos: "np.cos(%s)", ops.Sin: "np.sin(%s)", ops.Tanh: "np.tanh(%s)", ops.Sigmoid: "(1 / (1 + np.exp(-%s)))",
	ops.Floor:  "np.floor(%s)",
	ops.RowSum: "%s.sum(axis=1, keepdims=True)", ops.RowMax: "%s.max(axis=1, keepdims=True)",
	ops.ArgMax: "(1.0 * %s.argmax(axis=1))[:, None]", ops.Softmax: "_softmax(%s)",
}

// entrywise reports whether an operation is one on entries.
func entrywise(op ops.Op) bool {
	switch op {
	case ops.Columns, ops.Concat, ops.MatMul, ops.Lookup, ops.RowSum, ops.RowMax, ops.ArgMax, ops.Softmax:
		return false
	}
	return true
}

// expression is how the value of a node is computed.
func (x *writer) expression(i int, n graph.Node) string {
	var args []any
	for _, v := range n.In {
		args = append(args, x.strs[v.Index()])
	}
	switch n.Op {
	case ops.Rows:
		return "x"
	case ops.Constant:
		if len(n.Data) == 1 && !x.matrix(i) {
			return number(n.Data[0])
		}
		return fmt.Sprintf("_C%d", i)
	case ops.Columns:
		first, following := n.Columns[0], true
		for k, c := range n.Columns {
			following = following && c == first+k
		}
		if following {
			return fmt.Sprintf("%s[:, %d:%d]", args[0], first, first+n.Width)
		}
		return fmt.Sprintf("%s[:, %s]", args[0], quoted(n.Columns))
	case ops.Concat:
		var list []string
		for _, v := range n.In {
			list = append(list, x.strs[v.Index()])
		}
		return "np.hstack([" + strings.Join(list, ", ") + "])"
	case ops.Where:
		args[0] = x.condition(n.In[0].Index())
	case ops.Lookup:
		table := x.g.Node(n.In[0])
		if table.Width == 1 {
			return fmt.Sprintf("%s[_row(%s, %d), 0]", args[0], args[1], table.Rows)
		}
		return fmt.Sprintf("%s[_row(%s, %d)[:, 0]]", args[0], args[1], table.Rows)
	}
	if labels[n.Op] != "" {
		return "(1.0 * " + fmt.Sprintf(labels[n.Op], args...) + ")"
	}
	return fmt.Sprintf(expressions[n.Op], args...)
}

// labels are the operations with Boolean results.
var labels = map[ops.Op]string{
	ops.Less: "(%s < %s)", ops.LessEqual: "(%s <= %s)", ops.Equal: "(%s == %s)", ops.IsNaN: "np.isnan(%s)",
}

// condition is how it is asked where a value is not 0.
func (x *writer) condition(i int) string {
	n := x.g.Nodes()[i]
	if x.uses[i] > 1 || labels[n.Op] == "" {
		return x.strs[i] + " != 0"
	}
	var args []any
	for _, v := range n.In {
		args = append(args, x.strs[v.Index()])
	}
	return fmt.Sprintf(labels[n.Op], args...)
}

// matrix reports whether a constant is used as one even where it is a single number.
func (x *writer) matrix(i int) bool {
	return slices.ContainsFunc(x.g.Nodes(), func(n graph.Node) bool {
		return n.Op == ops.MatMul && n.In[1].Index() == i || n.Op == ops.Lookup && n.In[0].Index() == i
	})
}

// number writes a number so that it reads back to the bit.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "np.nan"
	case math.IsInf(v, 1):
		return "np.inf"
	case math.IsInf(v, -1):
		return "(-np.inf)"
	case v < 0 || math.Signbit(v):
		return "(" + strconv.FormatFloat(v, 'g', -1, 64) + ")"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// functions writes those that a program calls.
func (x *writer) functions() {
	has := func(name string) bool {
		return slices.ContainsFunc(x.g.Outputs(), func(o graph.Output) bool { return o.Name == name })
	}
	add := func(name, doc, body string) {
		x.printf("\n\ndef %s(rows):\n    \"\"\"%s\"\"\"\n    return %s\n", name, doc, body)
	}
	switch {
	case has("label") && len(x.g.Classes()) > 0:
		add("predict", "The name of the class of each row.", `np.array(CLASSES)[outputs(rows)["label"][:, 0].astype(int)]`)
	case has("label"):
		add("predict", "The number that each row gets.", `outputs(rows)["label"][:, 0].astype(int)`)
	case has("values"):
		add("predict", "The numbers that are predicted for each row.", `outputs(rows)["values"]`)
	case has("value"):
		add("predict", "The number that is predicted for each row.", `outputs(rows)["value"][:, 0]`)
	}
	if has("probabilities") {
		add("predict_proba", "The probability of each class, in the order of CLASSES.", `outputs(rows)["probabilities"]`)
	}
	if has("scores") {
		add("decision_function", "The scores of the classes.", `outputs(rows)["scores"]`)
	}
}

// few is how many numbers a constant may have that is written as numbers.
const few = 8

// constants writes the matrices, those of more than a few numbers in base64 or to a file.
func (x *writer) constants() {
	var matrices []int
	for i, n := range x.g.Nodes() {
		if n.Op == ops.Constant && x.uses[i] > 0 && (len(n.Data) > 1 || x.matrix(i)) {
			matrices = append(matrices, i)
			if x.o.Data != "" && len(n.Data) > few {
				x.data = n.AppendBytes(x.data)
			}
		}
	}
	if x.o.Data != "" {
		x.printf("\n\n_NUMBERS = np.fromfile(os.path.join(os.path.dirname(os.path.abspath(__file__)), %s), \"<f8\")\n",
			quoted(x.o.Data))
		x.printf("if zlib.crc32(_NUMBERS) != %d:\n    raise ValueError(%s)\n\n", crc32.ChecksumIEEE(x.data),
			quoted(x.o.Data+" is not the file that was written with this module"))
	} else {
		x.printf("\n\ndef _read(rows, text):\n    return np.frombuffer(base64.b64decode(text), \"<f8\").reshape(rows, -1)\n\n\n")
	}
	from := 0
	for _, i := range matrices {
		n := x.g.Nodes()[i]
		switch {
		case len(n.Data) <= few:
			var words []string
			for _, v := range n.Data {
				words = append(words, number(v))
			}
			x.printf("_C%d = np.array([%s]).reshape(%d, -1)\n", i, strings.Join(words, ", "), n.Rows)
		case x.o.Data != "":
			x.printf("_C%d = _NUMBERS[%d:%d].reshape(%d, -1)\n", i, from, from+len(n.Data), n.Rows)
			from += len(n.Data)
		default:
			x.printf("_C%d = _read(%d, \"\"\"\n", i, n.Rows)
			for text := base64.StdEncoding.EncodeToString(n.AppendBytes(nil)); text != ""; {
				line := text[:min(len(text), 120)]
				x.printf("%s\n", line)
				text = text[len(line):]
			}
			x.printf("\"\"\")\n")
		}
	}
}
