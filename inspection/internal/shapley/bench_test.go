package shapley_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/inspection/internal/shapley"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
)

func normal(rng *rand.Rand, rows, cols int, scale float64) *mat.Dense {
	out := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			out.Set(i, j, scale*rng.NormFloat64())
		}
	}
	return out
}

// fourierGraph is a linear function of m paired random Fourier features of standardized inputs, with γ = 1/d.
func fourierGraph(rng *rand.Rand, d, m int) (*graph.Graph, graph.Value) {
	g := graph.New(make([]graph.Input, d))
	angles := g.MatMul(g.Input(), g.Matrix(normal(rng, d, m, math.Sqrt(2/float64(d)))))
	return g, g.MatMul(g.Concat(g.Cos(angles), g.Sin(angles)), g.Matrix(normal(rng, 2*m, 1, 1/float64(m))))
}

// BenchmarkExplain explains 64 rows by 100 background rows.
func BenchmarkExplain(b *testing.B) {
	const rows = 64
	for _, d := range []int{13, 54} {
		run := func(name string, build func(rng *rand.Rand) (*graph.Graph, graph.Value)) {
			b.Run(fmt.Sprintf("%s/d=%d", name, d), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				g, v := build(rng)
				form, err := shapley.NewForm(g, v, single(d))
				if err != nil {
					b.Fatal(err)
				}
				X, background := normal(rng, rows, d, 1), normal(rng, 100, d, 1)
				for b.Loop() {
					if _, err := form.Explain(context.Background(), X,
						shapley.Background{X: background, Weights: equalWeights(100)}, false); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows*1000), "µs/row")
			})
		}
		run("rff/D=1000", func(rng *rand.Rand) (*graph.Graph, graph.Value) { return fourierGraph(rng, d, 500) })
		run("gaussian/n=1000", func(rng *rand.Rand) (*graph.Graph, graph.Value) {
			k, _ := pairwise.NewKernel("gaussian", spectral.Shape{})
			gamma := make([]float64, d)
			for j := range gamma {
				gamma[j] = 1 / float64(d)
			}
			g := graph.New(make([]graph.Input, d))
			return g, g.MatMul(k.Export(g, g.Input(), pairwise.Frame{Factor: k.Factors(gamma)}, normal(rng, 1000, d, 1)),
				g.Matrix(normal(rng, 1000, 1, 1)))
		})
	}
}
