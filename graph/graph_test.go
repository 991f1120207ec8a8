package graph_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/codec/ops"
)

func TestRun(t *testing.T) {
	g := graph.New([]graph.Input{{Name: "a"}, {Name: "b"}})
	rows := g.Input()
	filled := g.Where(g.IsNaN(rows), g.Row([]float64{5, 7}), rows)
	z := g.Affine(filled, g.Matrix(mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})), g.Row([]float64{0.5, 0, -0.5}))
	g.Output("z", z)
	g.Output("best", g.ArgMax(z))
	g.Output("looked", g.Lookup(g.Matrix(mat.NewDense(2, 2, []float64{10, 11, 20, 21})),
		g.Less(g.Scalar(2), g.Columns(filled, []int{0}))))
	g.Output("each", g.Lookup(g.Matrix(mat.NewDense(3, 1, []float64{10, 20, 30})), g.Sub(rows, g.Scalar(1))))
	g.Output("p", g.Softmax(z))
	out, err := g.Run(mat.NewDense(2, 2, []float64{1, 2, math.NaN(), -1}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]*mat.Dense{
		"z":      mat.NewDense(2, 3, []float64{9.5, 12, 14.5, 1.5, 5, 8.5}),
		"best":   mat.NewDense(2, 1, []float64{2, 2}),
		"looked": mat.NewDense(2, 2, []float64{10, 11, 20, 21}),
		"each":   mat.NewDense(2, 2, []float64{10, 20, 10, 10}),
	} {
		if !mat.EqualApprox(out[name], want, 1e-14) {
			t.Errorf("%s is %v, want %v", name, mat.Formatted(out[name]), mat.Formatted(want))
		}
	}
	if p := out["p"]; math.Abs(mat.Sum(p)-2) > 1e-14 || math.Abs(p.At(0, 1)/p.At(0, 0)-math.Exp(2.5)) > 1e-12 {
		t.Errorf("softmax is %v", mat.Formatted(p))
	}
}

func TestOperationErrors(t *testing.T) {
	for want, build := range map[string]func(g *graph.Graph){
		"add: operands must have equal widths or width 1, got 2 and " +
			"3": func(g *graph.Graph) { g.Add(g.Input(), g.Row([]float64{1, 2, 3})) },
		"mul: constant operand must have 1 row, got 3": func(g *graph.Graph) {
			g.Mul(g.Input(),
				g.Matrix(mat.NewDense(3, 2, nil)))
		},
		"matmul: right operand must be a constant of 2 rows, got constant of 3 rows": func(g *graph.Graph) {
			g.MatMul(g.Input(),
				g.Matrix(mat.NewDense(3, 2, nil)))
		},
		"columns: index must be from 0 to 1, got " +
			"2": func(g *graph.Graph) { g.Columns(g.Input(), []int{2}) },
		"exp: operand must depend on the rows, got a constant": func(g *graph.Graph) { g.Exp(g.Scalar(1)) },
		"add: an operand must depend on the rows, got constants " +
			"only": func(g *graph.Graph) { g.Add(g.Scalar(1), g.Scalar(2)) },
		"neg: value does not belong to this graph": func(g *graph.Graph) { g.Neg(graph.Value{}) },
		"output names must be unique, got \"a\" twice": func(g *graph.Graph) {
			g.Output("a", g.Input())
			g.Output("a",
				g.Input())
		},
		"lookup: table must be a constant and index must have 1 column, got constant and 2 columns": func(g *graph.Graph) {
			g.Lookup(g.Row([]float64{1, 2}), g.Input())
		},
		"columns: must have at least 1 index, got none":               func(g *graph.Graph) { g.Columns(g.Input(), nil) },
		"constant must have at least 1 row and 1 column, got 1 and 0": func(g *graph.Graph) { g.Row(nil) },
		"concat: operand must depend on the rows, got a " +
			"constant": func(g *graph.Graph) { g.Concat(g.Input(), g.Scalar(1)) },
	} {
		g := graph.New([]graph.Input{{Name: "a"}, {Name: "b"}})
		build(g)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := g.Run(mat.NewDense(1, 2, nil)); err == nil {
			t.Errorf("%s: Run returns no error", want)
		}
	}
}

func TestUseCounts(t *testing.T) {
	g := graph.New([]graph.Input{{Name: "a"}, {Name: "b"}})
	g.Exp(g.Input())
	both := g.Add(g.Input(), g.Input())
	if err := g.Check(); err == nil || err.Error() != "graph: must have at least 1 output, got none" {
		t.Errorf("graph without outputs: %v", err)
	}
	g.Output("sum", both)
	if got, want := g.UseCounts(), []int{2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("uses are %v, want %v", got, want)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

func TestSimplified(t *testing.T) {
	g := graph.New(make([]graph.Input, 2))
	w := func(r, c int) graph.Value {
		data := make([]float64, r*c)
		for i := range data {
			data[i] = math.Sin(float64(7 * i))
		}
		return g.Matrix(mat.NewDense(r, c, data))
	}
	p := g.MatMul(g.Input(), w(2, 3))
	z := g.Columns(g.Concat(g.Cos(p), g.Sin(p)), []int{0, 3, 1, 4, 2, 5, 5})
	g.Output("scaled", g.MatMul(g.Mul(g.Scalar(0.3), g.Mul(z, g.Row([]float64{1, 2, 3, 4, 5, 6, 7}))), w(7, 2)))
	g.Output("one column", g.MatMul(g.Columns(g.Input(), []int{1}), w(1, 2))) // the other may be NaN
	g.Output("used twice", g.MatMul(g.Mul(p, g.Scalar(2)), w(3, 1)))
	g.Output("spread", g.MatMul(g.Mul(g.RowSum(p), g.Row([]float64{1, 2})), w(2, 1)))
	X := mat.NewDense(3, 2, []float64{1, 2, math.NaN(), 0.5, -3, 4})
	want, err := g.Run(X)
	if err != nil {
		t.Fatal(err)
	}
	folded := g.Simplified()
	got, err := folded.Run(X)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range want {
		for i := range 3 {
			for j, v := range values.RawRowView(i) {
				if other := got[name].At(i, j); !(math.Abs(other-v) <= 1e-14 || other != other && v != v) {
					t.Errorf("%s: %g, want %g", name, other, v)
				}
			}
		}
	}
	count := func(g *graph.Graph, op ops.Op) (n int) {
		for i, uses := range g.UseCounts() {
			if uses > 0 && g.Nodes()[i].Op == op {
				n++
			}
		}
		return n
	}
	if count(g, ops.Columns) != 2 || count(folded, ops.Columns) != 1 || count(g, ops.Mul) != 4 ||
		count(folded, ops.Mul) != 1 {
		t.Errorf("%d choices of columns are left of %d, %d products of %d", count(folded, ops.Columns), count(g, ops.Columns),
			count(folded, ops.Mul), count(g, ops.Mul))
	}
}
