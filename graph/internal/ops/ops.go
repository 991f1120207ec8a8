// Package ops names the operations of a graph, for package graph and for those that write graphs.
package ops

// Op is what a node of a graph does.
type Op string

// The operations. Binary ones are elementwise, with broadcasting of a single column and of a
// constant of one row. Comparisons are 1 if true, else 0, also for NaN.
const (
	Rows     Op = "rows"     // what comes in
	Constant Op = "constant" // a matrix
	Columns  Op = "columns"  // some columns
	Concat   Op = "concat"   // concatenation by column
	MatMul   Op = "matmul"   // rows by a constant
	Lookup   Op = "lookup"   // rows of a constant by their numbers; of one with one column, an entry for each number

	Add Op = "add"
	Sub Op = "sub"
	Mul Op = "mul"
	Div Op = "div"
	Min Op = "min" // NaN where one of them is
	Max Op = "max"

	Less      Op = "less"       // a < b
	LessEqual Op = "less_equal" // a ≤ b
	Equal     Op = "equal"      // a = b
	Where     Op = "where"      // the second where the first is not 0, else the third

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
	IsNaN   Op = "isnan" // 1 where it is, else 0

	RowSum  Op = "row_sum" // of all columns, width 1
	RowMax  Op = "row_max"
	ArgMax  Op = "argmax"  // the number of the first column with the largest entry, width 1
	Softmax Op = "softmax" // exp of the entries by the sum of a row's
)
