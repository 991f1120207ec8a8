// Package ops names the operations of a graph, for package graph and the packages that write
// graphs.
package ops

// Op is the operation of a graph node.
type Op string

// Operations. Binary operations are elementwise and broadcast a single column and a constant of one
// row. Comparisons return 1 if true, else 0; they are false for NaN.
const (
	Rows     Op = "rows"     // the input
	Constant Op = "constant" // a matrix
	Columns  Op = "columns"  // selected columns
	Concat   Op = "concat"   // concatenation by column
	MatMul   Op = "matmul"   // product with a constant matrix
	Lookup   Op = "lookup"   // rows of a constant by index; entries by index if it has one column

	Add Op = "add"
	Sub Op = "sub"
	Mul Op = "mul"
	Div Op = "div"
	Min Op = "min" // NaN if an operand is NaN
	Max Op = "max"

	Less      Op = "less"       // a < b
	LessEqual Op = "less_equal" // a ≤ b
	Equal     Op = "equal"      // a = b
	Where     Op = "where"      // the second operand where the first is not 0, else the third

	Neg     Op = "neg"
	Abs     Op = "abs"
	Sqrt    Op = "sqrt"
	Exp     Op = "exp"
	Log     Op = "log"
	Cos     Op = "cos"
	Sin     Op = "sin"
	Tanh    Op = "tanh"
	Sigmoid Op = "sigmoid" // 1/(1+exp(−a))
	Floor   Op = "floor"
	IsNaN   Op = "isnan" // 1 for NaN, else 0

	RowSum  Op = "row_sum" // of all columns, width 1
	RowMax  Op = "row_max"
	ArgMax  Op = "argmax"  // index of the first column with the largest entry, width 1
	Softmax Op = "softmax" // exp of the entries, divided by the sum over the row
)
