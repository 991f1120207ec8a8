package shapley_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/inspection/internal/shapley"
)

// allSubsets returns the values of the outputs of a graph for a row by all subsets of the inputs.
func allSubsets(t *testing.T, g *graph.Graph, output string, inputs shapley.Inputs, x []float64,
	background *mat.Dense) [][]float64 {
	t.Helper()
	n, _ := background.Dims()
	d := inputs.Count
	value := make([][]float64, 1<<d)
	for s := range value {
		X := mat.DenseCopyOf(background)
		for i := range n {
			for j, v := range x {
				if s>>inputs.Of[j]&1 == 1 {
					X.Set(i, j, v)
				}
			}
		}
		found, err := g.Run(X)
		if err != nil {
			t.Fatal(err)
		}
		_, outputs := found[output].Dims()
		value[s] = make([]float64, outputs)
		for i := range n {
			for q, v := range found[output].RawRowView(i) {
				value[s][q] += v / float64(n)
			}
		}
	}
	factorial := func(k int) float64 { return math.Gamma(float64(k + 1)) }
	out := make([][]float64, len(value[0]))
	for q := range out {
		out[q] = make([]float64, d)
		for s := range value {
			size := bits.OnesCount(uint(s))
			for j := range d {
				if s>>j&1 == 0 {
					out[q][j] += factorial(size) * factorial(d-1-size) / factorial(d) * (value[s|1<<j][q] - value[s][q])
				}
			}
		}
	}
	return out
}

// TestFormOfOperations checks that the values of every supported operation equal those over all
// subsets.
func TestFormOfOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const d = 6
	column := func(g *graph.Graph, j ...int) graph.Value { return g.Columns(g.Input(), j) }
	for name, build := range map[string]func(g *graph.Graph) graph.Value{
		"linear": func(g *graph.Graph) graph.Value {
			sum := g.Affine(g.Input(), g.Matrix(normal(rng, d, 3, 1)), g.Row([]float64{1, 2, 3}))
			return g.Sub(g.Row([]float64{1, 0, 2}), g.Div(g.Neg(g.MatMul(sum, g.Matrix(normal(rng, 3, 3, 1)))), g.Scalar(4)))
		},
		"functions of one input": func(g *graph.Graph) graph.Value {
			x := g.Concat(g.Tanh(column(g, 0)), g.Where(g.Less(column(g, 1), g.Scalar(0)), column(g, 1), g.Scalar(2)),
				g.Lookup(g.Matrix(mat.NewVecDense(3, []float64{5, 1, 7})), g.Floor(column(g, 2))), g.RowMax(column(g, 3)))
			return g.RowSum(x)
		},
		"polynomial": func(g *graph.Graph) graph.Value {
			product := g.Mul(g.Mul(column(g, 0, 1, 2), column(g, 3)), g.Neg(column(g, 1, 4, 5)))
			return g.Add(g.RowSum(product), g.Mul(column(g, 2), g.Square(column(g, 4))))
		},
		"quotients": func(g *graph.Graph) graph.Value {
			positive := g.Add(g.Square(g.Input()), g.Scalar(1))
			return g.Div(g.Div(column(g, 0), g.Mul(g.Columns(positive, []int{1}), g.Columns(positive, []int{2}))),
				g.Div(g.Columns(positive, []int{3}), g.Columns(positive, []int{4})))
		},
		"exponentials": func(g *graph.Graph) graph.Value {
			sum := g.Add(g.MatMul(g.Input(), g.Matrix(normal(rng, d, 9, 0.3))), g.Scalar(0.5))
			return g.MatMul(g.Div(g.Mul(g.Exp(sum), column(g, 1)), g.Exp(g.Mul(column(g, 2), g.Scalar(0.1)))),
				g.Matrix(normal(rng, 9, 2, 1)))
		},
		"cosines": func(g *graph.Graph) graph.Value {
			angles := g.Add(g.MatMul(g.Input(), g.Matrix(normal(rng, d, 20, 1))), g.Row(normal(rng, 1, 20, 1).RawRowView(0)))
			return g.Add(g.MatMul(g.Concat(g.Cos(angles), g.Sin(angles)), g.Matrix(normal(rng, 40, 2, 1))),
				g.Cos(g.Columns(angles, []int{3})))
		},
		"parts of inputs": func(g *graph.Graph) graph.Value { // products of some inputs only, with equal columns
			return g.Concat(g.Mul(column(g, 0), column(g, 5)), g.Cos(g.Add(column(g, 1), column(g, 2))), column(g, 3),
				g.Add(g.Mul(column(g, 4), g.Scalar(0)), g.Scalar(2)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, inputs := range []shapley.Inputs{single(d), {Of: []int{0, 1, 0, 2, 1, 2}, Count: 3}} {
				g := graph.New(make([]graph.Input, d))
				v := build(g)
				g.Output("of all", v)
				X, background := normal(rng, 2, d, 1), normal(rng, 4, d, 1)
				background.Set(1, 2, X.At(0, 2)) // equal inputs
				found := explain(t, g, v, inputs, X, background)
				for i := range 2 {
					for q, want := range allSubsets(t, g, "of all", inputs, X.RawRowView(i), background) {
						for j, v := range want {
							if got := found.Inputs[q].At(i, j); math.Abs(got-v) > 1e-12*(1+math.Abs(v)) {
								t.Errorf("output %d, row %d, input %d: %v, want %v", q, i, j, got, v)
							}
						}
					}
				}
			}
		})
	}
}

// An operation on several inputs that is no sum of products is named.
func TestFormRefuses(t *testing.T) {
	for want, build := range map[string]func(g *graph.Graph) graph.Value{
		"tanh":    func(g *graph.Graph) graph.Value { return g.Tanh(g.RowSum(g.Input())) },
		"row_max": func(g *graph.Graph) graph.Value { return g.Exp(g.RowMax(g.Input())) },
		"row_sum": func(g *graph.Graph) graph.Value { return g.Mul(g.RowSum(g.Input()), g.Columns(g.Input(), []int{0})) },
		"max": func(g *graph.Graph) graph.Value { // not a sum of squares
			square := g.RowSum(g.Square(g.Input()))
			products := g.MatMul(g.Input(), g.Matrix(mat.NewDense(2, 1, []float64{-2, -4})))
			return g.Exp(g.Neg(g.Max(g.Add(products, g.Add(square, g.Row([]float64{4}))), g.Scalar(0))))
		},
	} {
		g := graph.New(make([]graph.Input, 2))
		if _, err := shapley.NewForm(g, build(g), single(2)); err == nil ||
			!strings.HasPrefix(err.Error(), want+" of several inputs") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
