package graph

import (
	"math"

	"github.com/bochner-ml/bochner/internal/codec/ops"
)

// Add returns a + b.
func (g *Graph) Add(a, b Value) Value { return g.combine(ops.Add, a, b) }

// Sub returns a − b.
func (g *Graph) Sub(a, b Value) Value { return g.combine(ops.Sub, a, b) }

// Mul returns the elementwise product.
func (g *Graph) Mul(a, b Value) Value { return g.combine(ops.Mul, a, b) }

// Div returns the elementwise quotient a/b.
func (g *Graph) Div(a, b Value) Value { return g.combine(ops.Div, a, b) }

// Min returns the minimum of a and b, NaN if either is NaN.
func (g *Graph) Min(a, b Value) Value { return g.combine(ops.Min, a, b) }

// Max returns the maximum of a and b, NaN if either is NaN.
func (g *Graph) Max(a, b Value) Value { return g.combine(ops.Max, a, b) }

// Less returns 1 where a < b, else 0.
func (g *Graph) Less(a, b Value) Value { return g.combine(ops.Less, a, b) }

// LessEqual returns 1 where a ≤ b, else 0.
func (g *Graph) LessEqual(a, b Value) Value { return g.combine(ops.LessEqual, a, b) }

// Equal returns 1 where a = b, else 0.
func (g *Graph) Equal(a, b Value) Value { return g.combine(ops.Equal, a, b) }

// Where returns a where condition is not 0, else b.
func (g *Graph) Where(condition, a, b Value) Value { return g.combine(ops.Where, condition, a, b) }

// Neg returns −a.
func (g *Graph) Neg(a Value) Value { return g.apply(ops.Neg, a) }

// Abs returns |a|.
func (g *Graph) Abs(a Value) Value { return g.apply(ops.Abs, a) }

// Sqrt returns the square root.
func (g *Graph) Sqrt(a Value) Value { return g.apply(ops.Sqrt, a) }

// Exp returns e to the power of a.
func (g *Graph) Exp(a Value) Value { return g.apply(ops.Exp, a) }

// Log returns the natural logarithm.
func (g *Graph) Log(a Value) Value { return g.apply(ops.Log, a) }

// Cos returns the cosine of radians.
func (g *Graph) Cos(a Value) Value { return g.apply(ops.Cos, a) }

// Sin returns the sine of radians.
func (g *Graph) Sin(a Value) Value { return g.apply(ops.Sin, a) }

// Tanh returns the hyperbolic tangent.
func (g *Graph) Tanh(a Value) Value { return g.apply(ops.Tanh, a) }

// Sigmoid returns 1/(1+exp(−a)).
func (g *Graph) Sigmoid(a Value) Value { return g.apply(ops.Sigmoid, a) }

// Floor returns the greatest integer ≤ a.
func (g *Graph) Floor(a Value) Value { return g.apply(ops.Floor, a) }

// IsNaN returns 1 for NaN, else 0.
func (g *Graph) IsNaN(a Value) Value { return g.apply(ops.IsNaN, a) }

// Softmax returns exp(a), divided by its sum over the row.
func (g *Graph) Softmax(a Value) Value { return g.apply(ops.Softmax, a) }

// RowSum returns the sum of each row.
func (g *Graph) RowSum(a Value) Value { return g.reduce(ops.RowSum, a) }

// RowMax returns the largest entry of each row.
func (g *Graph) RowMax(a Value) Value { return g.reduce(ops.RowMax, a) }

// ArgMax returns for each row the index of the first column with the largest entry.
func (g *Graph) ArgMax(a Value) Value { return g.reduce(ops.ArgMax, a) }

// Affine returns v·w + b for a matrix w and a row b.
func (g *Graph) Affine(v, w, b Value) Value { return g.Add(g.MatMul(v, w), b) }

// Log1p returns log(1 + a), accurate also for small a: it corrects the rounding error of 1 + a.
// (Kahan's method; Goldberg, "What every computer scientist should know about floating-point
// arithmetic", 1991.)
func (g *Graph) Log1p(a Value) Value {
	sum := g.Add(a, g.Scalar(1))
	grown := g.Sub(sum, g.Scalar(1))
	return g.Where(g.Equal(grown, g.Scalar(0)), a, g.Div(g.Mul(g.Log(sum), a), grown))
}

// Expm1 returns exp(a) − 1, accurate also for small a, by the same method.
func (g *Graph) Expm1(a Value) Value {
	one := g.Scalar(1)
	power := g.Exp(a)
	powerMinus1 := g.Sub(power, one)
	small := g.Where(g.Equal(power, one), a, g.Div(g.Mul(powerMinus1, a), g.Log(power)))
	return g.Where(g.LessEqual(g.Abs(a), one), small, powerMinus1)
}

// Square returns a·a.
func (g *Graph) Square(a Value) Value { return g.Mul(a, a) }

// each contains the unary elementwise operations.
var each = map[ops.Op]func(float64) float64{
	ops.Neg:     func(a float64) float64 { return -a },
	ops.Abs:     math.Abs,
	ops.Sqrt:    math.Sqrt,
	ops.Exp:     math.Exp,
	ops.Log:     math.Log,
	ops.Cos:     math.Cos,
	ops.Sin:     math.Sin,
	ops.Tanh:    math.Tanh,
	ops.Sigmoid: func(a float64) float64 { return 1 / (1 + math.Exp(-a)) },
	ops.Floor:   math.Floor,
	ops.IsNaN:   func(a float64) float64 { return oneIf(a != a) },
}

// pairs contains the binary elementwise operations.
var pairs = map[ops.Op]func(a, b float64) float64{
	ops.Add:       func(a, b float64) float64 { return a + b },
	ops.Sub:       func(a, b float64) float64 { return a - b },
	ops.Mul:       func(a, b float64) float64 { return a * b },
	ops.Div:       func(a, b float64) float64 { return a / b },
	ops.Min:       func(a, b float64) float64 { return min(a, b) },
	ops.Max:       func(a, b float64) float64 { return max(a, b) },
	ops.Less:      func(a, b float64) float64 { return oneIf(a < b) },
	ops.LessEqual: func(a, b float64) float64 { return oneIf(a <= b) },
	ops.Equal:     func(a, b float64) float64 { return oneIf(a == b) },
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
