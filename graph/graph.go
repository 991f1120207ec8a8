// Package graph represents a fitted pipeline as a computation graph of a few matrix operations,
// which other programs can run: package graph/onnx writes it as an ONNX model, graph/golang and
// graph/python as source code.
//
// Every [Value] of a graph is a matrix with as many rows as the input and a fixed number of
// columns, its width; or a constant, a matrix that does not depend on the rows. Numbers are
// float64. Operations map each row independently. An exportable fitted step is a [StepExporter], an
// exportable fitted model a [ModelExporter]: both add operations to a [Graph].
//
//	func (f *FittedStandardize) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
//		return g.Div(g.Sub(rows, g.Row(f.mean)), g.Row(f.sd)), nil
//	}
//
// Composite operations are built from these: [Graph.PiecewiseLinear] and [Graph.TakeAlong] by
// tables, [Graph.ChebyshevApprox] for smooth functions without an operation, [Graph.KthSmallest]
// for order statistics, [Graph.ClassFromScores] and others for the outputs of a [Prediction]. The
// first inconsistency is stored; later additions are ignored, and [Graph.Err] returns it. A step or
// model that cannot be exported is a [StepErrors] with its path.
//
// A graph has no errors: a row that the step or model rejects, for example because of a missing
// value, yields NaN or an undefined number. modelfile.Model.Graph documents the outputs of a fitted
// pipeline.
//
// [Graph.Run] evaluates a graph; it is the reference implementation for the writers.
//
// A graph is built by one goroutine and is then safe for concurrent reads.
package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// StepExporter is a fitted step that can be exported.
type StepExporter interface {
	// Export adds the step to g and returns its output. An error states what cannot be expressed by
	// graph operations.
	Export(g *Graph, rows Value) (Value, error)
}

// ModelExporter is a fitted model that can be exported.
type ModelExporter interface {
	// ExportModel adds the predictions of the model for rows to g and returns them.
	ExportModel(g *Graph, rows Value) (Prediction, error)
}

// Value is a matrix of a graph. The zero Value means no value.
type Value struct {
	number int // 1-based
}

// None reports whether there is no value.
func (v Value) None() bool { return v.number == 0 }

// Index returns the 0-based index of the node that computes the value.
func (v Value) Index() int { return v.number - 1 }

// Input is a column of the input rows. A categorical one contains category codes, datasets.Unknown
// for unknown categories, NaN for missing values; writers with string inputs look up the codes.
type Input struct {
	Name        string
	Categorical bool
	Categories  []string
	Missing     []string // strings of a categorical column that denote a missing value, in addition to the empty string
}

// Output is a named result for each row.
type Output struct {
	Name  string // such as probabilities
	Value Value
}

// Node is an operation of a graph.
type Node struct {
	Op      ops.Op
	In      []Value   // operands, in order
	Width   int       // number of columns
	Rows    int       // number of rows of an [ops.Constant]; 0 means that of the input
	Data    []float64 // entries of an [ops.Constant] in row-major order
	Columns []int     // indices of [ops.Columns]
}

// AppendBytes appends the numbers of a [ops.Constant] as little-endian float64.
func (n Node) AppendBytes(bytes []byte) []byte {
	for _, v := range n.Data {
		bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(v))
	}
	return bytes
}

// Graph is a list of operations in topological order, from inputs to outputs.
type Graph struct {
	inputs  []Input
	outputs []Output
	nodes   []Node
	classes []string
	err     error
	shared  map[string]Value // scalar constants that nodes share, by value
}

// New returns a graph whose input rows have the given columns.
func New(inputs []Input) *Graph {
	g := &Graph{inputs: slices.Clone(inputs), shared: map[string]Value{}}
	g.add(Node{Op: ops.Rows, Width: len(inputs)})
	return g
}

// Inputs returns the columns of the input rows. The caller must not change them.
func (g *Graph) Inputs() []Input { return g.inputs }

// Input returns the input rows.
func (g *Graph) Input() Value { return Value{1} }

// Nodes returns the operations in topological order; the first is the input. The caller must not
// change them.
func (g *Graph) Nodes() []Node { return g.nodes }

// Node returns the operation that computes a value.
func (g *Graph) Node(v Value) Node { return g.nodes[v.Index()] }

// Width returns the number of columns of a value.
func (g *Graph) Width(v Value) int {
	if v.number < 1 || v.number > len(g.nodes) {
		return 0
	}
	return g.nodes[v.Index()].Width
}

// Outputs returns the outputs in the order of their declaration.
func (g *Graph) Outputs() []Output { return g.outputs }

// Output declares a value as an output with a name.
func (g *Graph) Output(name string, v Value) {
	switch {
	case g.err != nil:
	case name == "":
		g.fail(errors.New("output name must not be empty"))
	case slices.ContainsFunc(g.outputs, func(o Output) bool { return o.Name == name }):
		g.fail(fmt.Errorf("output names must be unique, got %q twice", name))
	case g.checkValue(v) != nil:
		g.fail(fmt.Errorf("output %q: %w", name, g.checkValue(v)))
	case g.constant(v):
		g.fail(fmt.Errorf("output %q: value must depend on the rows, got a constant", name))
	default:
		g.outputs = append(g.outputs, Output{Name: name, Value: v})
	}
}

// Classes returns the class names of the output "label" in the order of their codes, or the names of
// several labels in the order of the output "values"; nil if there are none.
func (g *Graph) Classes() []string { return g.classes }

// SetClasses sets the names of the classes or labels.
func (g *Graph) SetClasses(names []string) { g.classes = slices.Clone(names) }

// Err returns the first error of the construction, nil if the graph is consistent.
func (g *Graph) Err() error {
	if g.err != nil {
		return fmt.Errorf("graph: %w", g.err)
	}
	return nil
}

func (g *Graph) fail(err error) Value {
	if g.err == nil {
		g.err = err
	}
	return Value{}
}

func (g *Graph) checkValue(v Value) error {
	if v.number < 1 || v.number > len(g.nodes) {
		return errors.New("value does not belong to this graph")
	}
	return nil
}

func (g *Graph) constant(v Value) bool { return g.nodes[v.Index()].Op == ops.Constant }

func (g *Graph) add(n Node) Value {
	g.nodes = append(g.nodes, n)
	return Value{len(g.nodes)}
}

// Row returns a constant of one row, which is broadcast to all rows.
func (g *Graph) Row(values []float64) Value {
	return g.constantOf(1, len(values), slices.Clone(values))
}

// Scalar returns a constant of one number.
func (g *Graph) Scalar(v float64) Value { return g.Row([]float64{v}) }

// Matrix returns a constant.
func (g *Graph) Matrix(m mat.Matrix) Value {
	r, c := m.Dims()
	data := make([]float64, 0, r*c)
	for i := range r {
		for j := range c {
			data = append(data, m.At(i, j))
		}
	}
	return g.constantOf(r, c, data)
}

func (g *Graph) constantOf(rows, cols int, data []float64) Value {
	if g.err != nil {
		return Value{}
	}
	if rows < 1 || cols < 1 {
		return g.fail(fmt.Errorf("constant must have at least 1 row and 1 column, got %d and %d", rows, cols))
	}
	key := ""
	if len(data) == 1 { // scalars such as 1 occur often
		key = fmt.Sprintf("%x", data[0])
		if v, ok := g.shared[key]; ok {
			return v
		}
	}
	v := g.add(Node{Op: ops.Constant, Rows: rows, Width: cols, Data: data})
	if key != "" {
		g.shared[key] = v
	}
	return v
}

// Columns returns the given columns of v in the given order; indices may repeat.
func (g *Graph) Columns(v Value, columns []int) Value {
	if g.err != nil {
		return Value{}
	}
	if err := g.checkRows(v); err != nil {
		return g.fail(fmt.Errorf("columns: %w", err))
	}
	if len(columns) == 0 {
		return g.fail(errors.New("columns: must have at least 1 index, got none"))
	}
	for _, j := range columns {
		if j < 0 || j >= g.Width(v) {
			return g.fail(fmt.Errorf("columns: index must be from 0 to %d, got %d", g.Width(v)-1, j))
		}
	}
	return g.add(Node{Op: ops.Columns, In: []Value{v}, Width: len(columns), Columns: slices.Clone(columns)})
}

// checkRows returns an error unless v is a value of this graph that depends on the rows.
func (g *Graph) checkRows(v Value) error {
	if err := g.checkValue(v); err != nil {
		return err
	}
	if g.constant(v) {
		return errors.New("operand must depend on the rows, got a constant")
	}
	return nil
}

// Concat concatenates values by column.
func (g *Graph) Concat(values ...Value) Value {
	if g.err != nil {
		return Value{}
	}
	width := 0
	for _, v := range values {
		if err := g.checkRows(v); err != nil {
			return g.fail(fmt.Errorf("concat: %w", err))
		}
		width += g.Width(v)
	}
	if len(values) == 0 {
		return g.fail(errors.New("concat: must have at least 1 operand, got none"))
	}
	if len(values) == 1 {
		return values[0]
	}
	return g.add(Node{Op: ops.Concat, In: slices.Clone(values), Width: width})
}

// MatMul returns the matrix product v·w. w is a constant with Width(v) rows.
func (g *Graph) MatMul(v, w Value) Value {
	if g.err != nil {
		return Value{}
	}
	if err := errors.Join(g.checkRows(v), g.checkValue(w)); err != nil {
		return g.fail(fmt.Errorf("matmul: %w", err))
	}
	if n := g.Node(w); n.Op != ops.Constant || n.Rows != g.Width(v) {
		return g.fail(fmt.Errorf("matmul: right operand must be a constant of %d rows, got %s of %d "+
			"rows", g.Width(v), n.Op, n.Rows))
	}
	return g.add(Node{Op: ops.MatMul, In: []Value{v, w}, Width: g.Width(w)})
}

// Lookup returns for each row the row of table, a constant, that index selects; index has width 1
// and contains integers. If table has one column, index may have any width, and each of its entries
// selects an entry of table. Indices are clipped to the rows of table; NaN selects row 0.
func (g *Graph) Lookup(table, index Value) Value {
	if g.err != nil {
		return Value{}
	}
	if err := errors.Join(g.checkValue(table), g.checkRows(index)); err != nil {
		return g.fail(fmt.Errorf("lookup: %w", err))
	}
	width := g.Width(table)
	if !g.constant(table) || width != 1 && g.Width(index) != 1 {
		return g.fail(fmt.Errorf("lookup: table must be a constant and index must have 1 column, got %s and %d columns",
			g.Node(table).Op, g.Width(index)))
	}
	return g.add(Node{Op: ops.Lookup, In: []Value{table, index}, Width: max(width, g.Width(index))})
}

// apply adds a unary elementwise operation.
func (g *Graph) apply(op ops.Op, v Value) Value {
	if g.err != nil {
		return Value{}
	}
	if err := g.checkRows(v); err != nil {
		return g.fail(fmt.Errorf("%s: %w", op, err))
	}
	return g.add(Node{Op: op, In: []Value{v}, Width: g.Width(v)})
}

// reduce adds an operation that reduces each row of a value to one number.
func (g *Graph) reduce(op ops.Op, v Value) Value {
	if v = g.apply(op, v); !v.None() {
		g.nodes[v.Index()].Width = 1
	}
	return v
}

// combine adds an elementwise operation on several values. A value of one column is broadcast to
// all columns, a constant of one row to all rows.
func (g *Graph) combine(op ops.Op, values ...Value) Value {
	if g.err != nil {
		return Value{}
	}
	width, dependsOnRows := 1, false
	for _, v := range values {
		if err := g.checkValue(v); err != nil {
			return g.fail(fmt.Errorf("%s: %w", op, err))
		}
		n := g.Node(v)
		if n.Op == ops.Constant && n.Rows != 1 {
			return g.fail(fmt.Errorf("%s: constant operand must have 1 row, got %d", op, n.Rows))
		}
		if n.Width != 1 && width != 1 && n.Width != width {
			return g.fail(fmt.Errorf("%s: operands must have equal widths or width 1, got %d and %d", op, width, n.Width))
		}
		width, dependsOnRows = max(width, n.Width), dependsOnRows || n.Op != ops.Constant
	}
	if !dependsOnRows {
		return g.fail(fmt.Errorf("%s: an operand must depend on the rows, got constants only", op))
	}
	return g.add(Node{Op: op, In: slices.Clone(values), Width: width})
}
