package graph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

// table runs a graph on rows and returns its only output.
func table(t *testing.T, rows *mat.Dense, build func(g *graph.Graph, v graph.Value) graph.Value) *mat.Dense {
	t.Helper()
	_, d := rows.Dims()
	g := graph.New(make([]graph.Input, d))
	g.Output("out", build(g, g.Input()))
	out, err := g.Run(rows)
	if err != nil {
		t.Fatal(err)
	}
	return out["out"]
}

func TestSearchSorted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, longest := range []int{1, 2, 3, 4, 7, 8, 100} {
		knots := [][]float64{{0.5}, nil, {-1, 0, 2}}
		for range longest {
			knots[1] = append(knots[1], math.Round(8*rng.NormFloat64())/4)
		}
		slices.Sort(knots[1])
		knots[1] = slices.Compact(knots[1])
		rows := mat.NewDense(200, 3, nil)
		for i := range 200 {
			rows.SetRow(i, []float64{rng.NormFloat64(), math.Round(8*rng.NormFloat64()) / 4, math.Round(2 * rng.NormFloat64())})
		}
		rows.Set(3, 1, math.NaN())
		rows.Set(4, 1, math.Inf(1))
		rows.Set(5, 1, math.Inf(-1))
		got := table(t, rows, func(g *graph.Graph, v graph.Value) graph.Value { return g.SearchSorted(v, knots) })
		for i := range 200 {
			for j, list := range knots {
				want := 0
				for _, knot := range list {
					if knot < rows.At(i, j) {
						want++
					}
				}
				if got.At(i, j) != float64(want) && !math.IsInf(rows.At(i, j), 1) {
					t.Fatalf("%v in %v: %v, want %d", rows.At(i, j), list, got.At(i, j), want)
				}
			}
		}
	}
}

func TestPiecewiseLinear(t *testing.T) {
	knots, values := [][]float64{{1, 2, 4}, {7}}, [][]float64{{10, 20, 0}, {3}}
	rows := mat.NewDense(8, 2, []float64{0, 0, 1, 7, 1.5, 8, 2, 0, 3, 0, 4, 0, 9, 0, math.NaN(), math.NaN()})
	got := table(t, rows, func(g *graph.Graph, v graph.Value) graph.Value { return g.PiecewiseLinear(v, knots, values) })
	for i, want := range []float64{10, 10, 15, 20, 10, 0, 0} {
		if got.At(i, 0) != want || got.At(i, 1) != 3 {
			t.Errorf("at %v: %v and %v, want %v and 3", rows.At(i, 0), got.At(i, 0), got.At(i, 1), want)
		}
	}
	one := table(t, rows, func(g *graph.Graph, v graph.Value) graph.Value {
		return g.PiecewiseLinear(v, knots[:1],
			values[:1])
	})
	if one.At(4, 0) != got.At(4, 0) || one.At(1, 1) != 0 {
		t.Errorf("one list for all: %v", mat.Formatted(one))
	}
	if !math.IsNaN(got.At(7, 0)) {
		t.Errorf("NaN becomes %v", got.At(7, 0))
	}
}

func TestChebyshevApprox(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := mat.NewDense(500, 2, nil)
	for i := range 500 {
		rows.SetRow(i, []float64{20 * (rng.Float64() - 0.5), 20 * (rng.Float64() - 0.5)})
	}
	got := table(t, rows, func(g *graph.Graph, v graph.Value) graph.Value {
		return g.ChebyshevApprox(v, -9, 9, 72,
			math.Erf)
	})
	for i := range 500 {
		for j := range 2 {
			if want := math.Erf(min(max(rows.At(i, j), -9), 9)); math.Abs(got.At(i, j)-want) > 1e-14 {
				t.Errorf("at %v: %v, want %v", rows.At(i, j), got.At(i, j), want)
			}
		}
	}
}

func TestExpm1Accuracy(t *testing.T) {
	rows := mat.NewDense(8, 1, []float64{0, 1e-300, -1e-17, 1e-9, 0.3, -800, 20, 800})
	got := table(t, rows, func(g *graph.Graph, v graph.Value) graph.Value { return g.Expm1(v) })
	for i := range 8 {
		if want := math.Expm1(rows.At(i, 0)); got.At(i, 0) != want && !(math.Abs(got.At(i, 0)-want) <= 4e-16*math.Abs(want)) {
			t.Errorf("at %v: %v, want %v", rows.At(i, 0), got.At(i, 0), want)
		}
	}
}

func TestKthSmallest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 7, 50} {
		rows := mat.NewDense(60, n, nil)
		for i := range 60 {
			for j := range n {
				rows.Set(i, j, rng.NormFloat64()*math.Pow(10, float64(rng.IntN(6))))
				if i < 10 { // rows with ties
					rows.Set(i, j, float64(rng.IntN(3)))
				}
			}
		}
		for k := 1; k <= n; k += 1 + n/10 {
			got := table(t, rows, func(g *graph.Graph, v graph.Value) graph.Value { return g.KthSmallest(v, k) })
			for i := range 60 {
				if sorted := slices.Sorted(slices.Values(rows.RawRowView(i))); got.At(i, 0) != sorted[k-1] {
					t.Fatalf("number %d of %v: %v", k, sorted, got.At(i, 0))
				}
			}
		}
	}
}

func TestLog1pAccuracy(t *testing.T) {
	rows := mat.NewDense(6, 1, []float64{0, 1e-300, 1e-17, 1e-9, 0.3, 1e9})
	got := table(t, rows, func(g *graph.Graph, v graph.Value) graph.Value { return g.Log1p(v) })
	for i := range 6 {
		if want := math.Log1p(rows.At(i, 0)); math.Abs(got.At(i, 0)-want) > 4e-16*want {
			t.Errorf("at %v: %v, want %v", rows.At(i, 0), got.At(i, 0), want)
		}
	}
}

func TestCompositeOperationErrors(t *testing.T) {
	for want, build := range map[string]func(g *graph.Graph){
		"graph: searchsorted: must have 1 list or one for each of 2 columns, got 3": func(g *graph.Graph) {
			g.SearchSorted(g.Input(),
				[][]float64{{1}, {1}, {1}})
		},
		"graph: takealong: list of column 1 must not be empty": func(g *graph.Graph) {
			g.TakeAlong(g.Input(),
				[][]float64{{1}, {}})
		},
		"graph: piecewiselinear: operand must depend on the rows, got a constant": func(g *graph.Graph) {
			g.PiecewiseLinear(g.Scalar(1), nil,
				nil)
		},
		"graph: piecewiselinear: values of column 1 must have the length of its knots, 2": func(g *graph.Graph) {
			g.PiecewiseLinear(g.Input(),
				[][]float64{{1}, {1, 2}}, [][]float64{{1}, {1}})
		},
		"graph: chebyshevapprox: must have lo < hi and at least 1 piece, got 0, 1 and 0": func(g *graph.Graph) {
			g.ChebyshevApprox(g.Input(), 0, 1, 0,
				math.Sin)
		},
		"graph: kthsmallest: k must be from 1 to 2, got 3": func(g *graph.Graph) { g.KthSmallest(g.Input(), 3) },
		"graph: chebyshevapprox: f must be finite from -1 to 1": func(g *graph.Graph) {
			g.ChebyshevApprox(g.Input(), -1, 1,
				4, math.Log)
		},
	} {
		g := graph.New(make([]graph.Input, 2))
		build(g)
		if err := g.Err(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
