package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
)

// operations returns a graph with every operation on the usual columns, including operations that
// no model uses.
func operations() *graph.Graph {
	var inputs []graph.Input
	for _, c := range schema(clusters).Columns {
		inputs = append(inputs, graph.Input{Name: c.Name, Categorical: c.Kind == datasets.Categorical,
			Categories: c.Categories, Missing: []string{"?"}})
	}
	g := graph.New(inputs)
	r := rand.New(rand.NewPCG(1, 2))
	matrix := func(rows, cols int) graph.Value {
		data := make([]float64, rows*cols)
		for i := range data {
			data[i] = r.NormFloat64()
		}
		return g.Matrix(mat.NewDense(rows, cols, data))
	}
	rows := g.Input()
	filled := g.Where(g.IsNaN(rows), g.Row([]float64{40, 2000, 70, 1, 2}), rows)
	small := g.Div(filled, g.Row([]float64{40, 5000, 80, 3, 2}))
	age, city := g.Columns(small, []int{0}), g.Columns(rows, []int{3})
	g.Output("place", g.Concat(g.Lookup(matrix(4, 3), city), g.Lookup(g.Scalar(7), city),
		g.Lookup(matrix(9, 1), g.Mul(small, g.Scalar(5)))))
	g.Output("order", g.Concat(g.Less(age, small), g.LessEqual(small, age), g.Equal(city, g.Row([]float64{0, 1, 2})),
		g.ArgMax(small), g.RowMax(small), g.RowSum(small)))
	g.Output("missing", g.Concat(g.IsNaN(g.Max(rows, g.Scalar(1))), g.IsNaN(g.Min(g.Scalar(1), rows)),
		g.IsNaN(g.Add(rows, age))))
	g.Output("limited", g.Max(g.Min(small, g.Row([]float64{1, 0.5, 1, 0.25, 2})), g.Neg(age)))
	g.Output("curves", g.Concat(g.Abs(g.Sub(small, age)), g.Sqrt(g.Abs(small)), g.Exp(g.Neg(small)),
		g.Log(g.Add(g.Abs(small), g.Scalar(1))),
		g.Cos(g.Mul(small, g.Scalar(50))), g.Sin(g.Mul(small, g.Scalar(-50))), g.Tanh(small), g.Sigmoid(small),
		g.Floor(small)))
	g.Output("weights", g.Softmax(g.Mul(g.Columns(small, []int{4, 0, 0, 1}), g.Row([]float64{1, 2, 2, -300}))))
	g.Output("value", g.MatMul(g.Where(g.Less(small, age), g.Where(small, g.Scalar(-1), g.Scalar(2)), small),
		matrix(5, 1)))
	g.Output("limits", g.Where(g.Less(age, g.Scalar(0.5)), g.Scalar(-math.MaxFloat32), g.Scalar(math.MaxFloat32)))
	return g
}

// exportOperations exports the graph of operations like a model. The expected outputs are those of
// [graph.Graph.Run].
func exportOperations(dir string) (outcome, error) {
	g := operations()
	set := randomRows(clusters, 1000)
	addUnseen(set)
	out := outcome{Name: "every_operation", Inputs: columns(set), Outputs: map[string][]any{}}
	values, err := g.Run(set.X)
	if err != nil {
		return out, err
	}
	for name, m := range values {
		out.Outputs[name] = jsonRows(m, name, nil)
	}
	return out, oneCase{name: out.Name}.write(dir, g)
}
