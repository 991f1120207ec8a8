package shapley_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/inspection/internal/shapley"
)

// TestVariances compares variances with those over all combinations of input values.
func TestVariances(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	const d, n = 4, 4
	weights := []float64{0.1, 0.2, 0.3, 0.4}
	for name, build := range map[string]func(g *graph.Graph) graph.Value{
		"linear": func(g *graph.Graph) graph.Value { return g.MatMul(g.Input(), g.Matrix(normal(rng, d, 2, 1))) },
		"all": func(g *graph.Graph) graph.Value {
			angles := g.Add(g.MatMul(g.Input(), g.Matrix(normal(rng, d, 50, 1))), g.Scalar(0.3))
			terms := g.Concat(g.Cos(angles), g.Sin(angles), g.Exp(g.MatMul(g.Input(), g.Matrix(normal(rng, d, 9, 0.4)))),
				g.Input(), g.Mul(g.Columns(g.Input(), []int{0}), g.Columns(g.Input(), []int{2})))
			return g.Add(g.MatMul(terms, g.Matrix(normal(rng, 110+d, 2, 1))), g.Scalar(3))
		},
		"one input": func(g *graph.Graph) graph.Value { return g.Cos(g.Columns(g.Input(), []int{1})) },
	} {
		t.Run(name, func(t *testing.T) {
			g := graph.New(make([]graph.Input, d))
			v := build(g)
			g.Output("of all", v)
			form, err := shapley.NewForm(g, v, single(d))
			if err != nil {
				t.Fatal(err)
			}
			background := normal(rng, n, d, 1)
			found, err := form.Variances(context.Background(), shapley.Background{X: background, Weights: weights})
			if err != nil {
				t.Fatal(err)
			}
			all := combinations(background)
			values, err := g.Run(all)
			if err != nil {
				t.Fatal(err)
			}
			for q := range found {
				variance := func(effect map[[d]float64]float64, of ...int) (sum float64) {
					for key, v := range effect {
						w := 1.0
						for _, j := range of {
							w *= weights[slices.Index(mat.Col(nil, j, background), key[j])]
						}
						sum += w * v * v
					}
					return sum
				}
				// effect returns the conditional means of the output given some inputs, by their values.
				effect := func(of ...int) map[[d]float64]float64 {
					out := map[[d]float64]float64{}
					for i, v := range mat.Col(nil, q, values["of all"]) {
						var key [d]float64
						w := 1.0
						for j, x := range all.RawRowView(i) {
							if slices.Contains(of, j) {
								key[j] = x
							} else {
								w *= weights[slices.Index(mat.Col(nil, j, background), x)]
							}
						}
						out[key] += w * v
					}
					return out
				}
				total := 0.0
				mean := effect()[[d]float64{}]
				for key, v := range effect(0, 1, 2, 3) {
					total += variance(map[[d]float64]float64{key: v - mean}, 0, 1, 2, 3)
				}
				check := func(what string, got, want float64) {
					t.Helper()
					if math.Abs(got-want) > 1e-12*(1+total) {
						t.Errorf("output %d: variance of %s is %v, want %v", q, what, got, want)
					}
				}
				check("all", found[q].Total, total)
				for j := range d {
					main := effect(j)
					for key := range main {
						main[key] -= mean
					}
					check("an input", found[q].Inputs[j], variance(main, j))
					for l := range j {
						pair, other := effect(l, j), effect(l)
						for key := range pair {
							var first, second [d]float64
							first[j], second[l] = key[j], key[l]
							pair[key] -= main[first] + other[second]
						}
						check("a pair", found[q].Pairs.At(j, l), variance(pair, l, j))
						check("a pair", found[q].Pairs.At(l, j), variance(pair, l, j))
					}
				}
			}
		})
	}
}

// combinations returns the rows with all combinations of the values of the columns.
func combinations(background *mat.Dense) *mat.Dense {
	n, d := background.Dims()
	rows := 1
	for range d {
		rows *= n
	}
	out := mat.NewDense(rows, d, nil)
	for i := range rows {
		rest := i
		for j := range d {
			out.Set(i, j, background.At(rest%n, j))
			rest /= n
		}
	}
	return out
}
