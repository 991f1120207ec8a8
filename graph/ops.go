package graph

import "math"

// Op is what a [Node] does.
type Op string

// The operations. Those of two values combine entries at the same place, where one column stands beside many and a
// constant of one row beside all rows. Comparisons are 1 where they hold and 0 where they do not, NaN with anything
// among the latter.
const (
	Rows     Op = "rows"     // what comes in
	Constant Op = "constant" // a matrix
	Columns  Op = "columns"  // some columns
	Concat   Op = "concat"   // values side by side
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

// Add returns a + b.
func (g *Graph) Add(a, b Value) Value { return g.combine(Add, a, b) }

// Sub returns a − b.
func (g *Graph) Sub(a, b Value) Value { return g.combine(Sub, a, b) }

// Mul returns a·b, entry by entry.
func (g *Graph) Mul(a, b Value) Value { return g.combine(Mul, a, b) }

// Div returns a/b, entry by entry.
func (g *Graph) Div(a, b Value) Value { return g.combine(Div, a, b) }

// Min returns the lesser of a and b, NaN where one of them is.
func (g *Graph) Min(a, b Value) Value { return g.combine(Min, a, b) }

// Max returns the greater of a and b, NaN where one of them is.
func (g *Graph) Max(a, b Value) Value { return g.combine(Max, a, b) }

// Less returns 1 where a < b, else 0.
func (g *Graph) Less(a, b Value) Value { return g.combine(Less, a, b) }

// LessEqual returns 1 where a ≤ b, else 0.
func (g *Graph) LessEqual(a, b Value) Value { return g.combine(LessEqual, a, b) }

// Equal returns 1 where a = b, else 0.
func (g *Graph) Equal(a, b Value) Value { return g.combine(Equal, a, b) }

// Where returns a where condition is not 0, else b.
func (g *Graph) Where(condition, a, b Value) Value { return g.combine(Where, condition, a, b) }

// Neg returns −a.
func (g *Graph) Neg(a Value) Value { return g.apply(Neg, a) }

// Abs returns |a|.
func (g *Graph) Abs(a Value) Value { return g.apply(Abs, a) }

// Sqrt returns the square root.
func (g *Graph) Sqrt(a Value) Value { return g.apply(Sqrt, a) }

// Exp returns e to the power of a.
func (g *Graph) Exp(a Value) Value { return g.apply(Exp, a) }

// Log returns the natural logarithm.
func (g *Graph) Log(a Value) Value { return g.apply(Log, a) }

// Cos returns the cosine of radians.
func (g *Graph) Cos(a Value) Value { return g.apply(Cos, a) }

// Sin returns the sine of radians.
func (g *Graph) Sin(a Value) Value { return g.apply(Sin, a) }

// Tanh returns the hyperbolic tangent.
func (g *Graph) Tanh(a Value) Value { return g.apply(Tanh, a) }

// Sigmoid returns 1/(1+exp(−a)).
func (g *Graph) Sigmoid(a Value) Value { return g.apply(Sigmoid, a) }

// Floor returns the greatest whole number ≤ a.
func (g *Graph) Floor(a Value) Value { return g.apply(Floor, a) }

// IsNaN returns 1 where an entry is missing, else 0.
func (g *Graph) IsNaN(a Value) Value { return g.apply(IsNaN, a) }

// Softmax returns exp of the entries by the sum of their row's.
func (g *Graph) Softmax(a Value) Value { return g.apply(Softmax, a) }

// RowSum returns the sum of each row.
func (g *Graph) RowSum(a Value) Value { return g.reduce(RowSum, a) }

// RowMax returns the largest entry of each row.
func (g *Graph) RowMax(a Value) Value { return g.reduce(RowMax, a) }

// ArgMax returns for each row the number of the first column with the largest entry.
func (g *Graph) ArgMax(a Value) Value { return g.reduce(ArgMax, a) }

// Affine returns v·w + b, of a matrix w and a row b.
func (g *Graph) Affine(v, w, b Value) Value { return g.Add(g.MatMul(v, w), b) }

// Log1p returns log(1 + a), to nearly all digits also where a is small: what adding 1 has rounded away is made good.
// (Kahan's way, as in Goldberg, "What every computer scientist should know about floating-point arithmetic", 1991.)
func (g *Graph) Log1p(a Value) Value {
	sum := g.Add(a, g.Number(1))
	grown := g.Sub(sum, g.Number(1))
	return g.Where(g.Equal(grown, g.Number(0)), a, g.Div(g.Mul(g.Log(sum), a), grown))
}

// Expm1 returns exp(a) − 1, to nearly all digits also where a is small, likewise.
func (g *Graph) Expm1(a Value) Value {
	one := g.Number(1)
	power := g.Exp(a)
	less := g.Sub(power, one)
	small := g.Where(g.Equal(power, one), a, g.Div(g.Mul(less, a), g.Log(power)))
	return g.Where(g.LessEqual(g.Abs(a), one), small, less)
}

// Square returns a·a.
func (g *Graph) Square(a Value) Value { return g.Mul(a, a) }

// each is what operations on entries of one value do.
var each = map[Op]func(float64) float64{
	Neg:     func(a float64) float64 { return -a },
	Abs:     math.Abs,
	Sqrt:    math.Sqrt,
	Exp:     math.Exp,
	Log:     math.Log,
	Cos:     math.Cos,
	Sin:     math.Sin,
	Tanh:    math.Tanh,
	Sigmoid: func(a float64) float64 { return 1 / (1 + math.Exp(-a)) },
	Floor:   math.Floor,
	IsNaN:   func(a float64) float64 { return oneIf(a != a) },
}

// pairs is what operations on entries of two values do.
var pairs = map[Op]func(a, b float64) float64{
	Add:       func(a, b float64) float64 { return a + b },
	Sub:       func(a, b float64) float64 { return a - b },
	Mul:       func(a, b float64) float64 { return a * b },
	Div:       func(a, b float64) float64 { return a / b },
	Min:       func(a, b float64) float64 { return min(a, b) },
	Max:       func(a, b float64) float64 { return max(a, b) },
	Less:      func(a, b float64) float64 { return oneIf(a < b) },
	LessEqual: func(a, b float64) float64 { return oneIf(a <= b) },
	Equal:     func(a, b float64) float64 { return oneIf(a == b) },
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
