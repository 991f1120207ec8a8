package shapley_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/inspection/internal/shapley"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/testing/golden"
)

func dense(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}

func equalWeights(n int) []float64 { return slices.Repeat([]float64{1 / float64(n)}, n) }

// single returns Inputs in which each of the d columns is an input of its own.
func single(d int) shapley.Inputs {
	of := make([]int, d)
	for j := range of {
		of[j] = j
	}
	return shapley.Inputs{Of: of, Count: d}
}

// explain returns the exact values of value v of g.
func explain(t *testing.T, g *graph.Graph, v graph.Value, inputs shapley.Inputs, X,
	background *mat.Dense) shapley.Values {
	t.Helper()
	form, err := shapley.NewForm(g, v, inputs)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := background.Dims()
	out, err := form.Explain(context.Background(), X, shapley.Background{X: background, Weights: equalWeights(n)},
		false)
	if err != nil {
		t.Fatal(err)
	}
	if gap := out.EfficiencyGap(); !(gap < 1e-12) {
		t.Errorf("efficiency gap %v", gap)
	}
	return out
}

func compare(t *testing.T, got *mat.Dense, want [][]float64, tolerance float64) {
	t.Helper()
	for i, row := range want {
		for j, v := range row {
			if off := math.Abs(got.At(i, j) - v); !(off <= tolerance) {
				t.Errorf("row %d, input %d: %v, want %v (off by %.1e)", i, j, got.At(i, j), v, off)
			}
		}
	}
}

func TestGoldenRandomFourierFeatures(t *testing.T) {
	var in struct {
		W, Background, X [][]float64
		B, C             []float64
		Groups           [][]int
	}
	var want struct {
		Base           float64
		Values, Groups [][]float64
	}
	golden.Load(t, "shapley_rff", &in, &want)
	inputs := single(len(in.W))
	grouped := shapley.Inputs{Of: make([]int, len(in.W)), Count: len(in.Groups)}
	for k, columns := range in.Groups {
		for _, j := range columns {
			grouped.Of[j] = k
		}
	}
	for _, c := range []struct {
		inputs shapley.Inputs
		want   [][]float64
	}{{inputs, want.Values}, {grouped, want.Groups}} {
		g := graph.New(make([]graph.Input, len(in.W)))
		features := g.Cos(g.Add(g.MatMul(g.Input(), g.Matrix(dense(in.W))), g.Row(in.B)))
		out := explain(t, g, g.Affine(features, g.Matrix(mat.NewVecDense(len(in.C), in.C)), g.Scalar(0.7)), c.inputs,
			dense(in.X), dense(in.Background))
		if math.Abs(out.Base[0]-want.Base) > 1e-12 {
			t.Errorf("base %v, want %v", out.Base[0], want.Base)
		}
		compare(t, out.Inputs[0], c.want, 1e-12)
	}
}

func TestGoldenKernels(t *testing.T) {
	for _, name := range []string{"gaussian", "laplacian"} {
		t.Run(name, func(t *testing.T) {
			var in struct {
				Points, Background, X [][]float64
				Alpha                 []float64
				Gamma                 float64
			}
			var want struct {
				Base   float64
				Values [][]float64
			}
			golden.Load(t, "shapley_kernel_"+name, &in, &want)
			d := len(in.Points[0])
			k, _ := pairwise.NewKernel(name, spectral.Shape{})
			g := graph.New(make([]graph.Input, d))
			values := k.Export(g, g.Input(), pairwise.Frame{Factor: k.Factors(slices.Repeat([]float64{in.Gamma}, d))},
				dense(in.Points))
			out := explain(t, g, g.MatMul(values, g.Matrix(mat.NewVecDense(len(in.Alpha), in.Alpha))), single(d),
				dense(in.X), dense(in.Background))
			if math.Abs(out.Base[0]-want.Base) > 1e-12 {
				t.Errorf("base %v, want %v", out.Base[0], want.Base)
			}
			compare(t, out.Inputs[0], want.Values, 1e-12)
		})
	}
}
