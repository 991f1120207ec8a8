package estimator

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/graph"
)

// pairwiseMachine returns a machine of k classes with random weights.
func pairwiseMachine(t *testing.T, k int, probabilities, breakTies bool) *fittedPairwiseSVM {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(k)))
	pairs := k * (k - 1) / 2
	numbers := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = rng.NormFloat64()
		}
		return out
	}
	m := &kernelridge.Model{X: mat.NewDense(7, 2, numbers(14)), Dual: numbers(7 * pairs), Intercept: numbers(pairs)}
	m.Kernel, m.Gamma, m.Shape.Coef0 = "sigmoid", []float64{0.5, 0.5}, -0.3
	if err := m.Prepare(); err != nil {
		t.Fatal(err)
	}
	f := &fittedPairwiseSVM{kernelModel: kernelModel{m}, classes: []string{"a", "b", "c", "d"}[:k], breakTies: breakTies}
	if probabilities {
		f.slope, f.offset = numbers(pairs), numbers(pairs)
		for i, v := range f.slope {
			f.slope[i] = -3 * math.Abs(v)
		}
	}
	return f
}

// Votes, scores and probabilities satisfy their definitions, and the graph computes the same.
func TestPairwiseMachines(t *testing.T) {
	X := mat.NewDense(200, 2, nil)
	rng := rand.New(rand.NewPCG(2, 2))
	X.Apply(func(int, int, float64) float64 { return 2 * rng.NormFloat64() }, X)
	for _, k := range []int{2, 3, 4} {
		for _, breakTies := range []bool{false, true} {
			f := pairwiseMachine(t, k, true, breakTies)
			pairs, err := f.kernelModel.scores(t.Context(), X)
			if err != nil {
				t.Fatal(err)
			}
			out, err := Predict(t.Context(), f, X, Request{})
			if err != nil {
				t.Fatal(err)
			}
			ties := 0
			for i := range 200 {
				votes := make([]float64, k)
				eachPair(k, func(pair, a, b int) {
					if pairs.At(i, pair) > 0 {
						a = b
					}
					votes[a]++
				})
				best := 0
				for c, v := range votes {
					if v > votes[best] {
						best = c
					}
					if math.Abs(mat.Sum(out.Probabilities.RowView(i))-1) > 1e-12 {
						t.Errorf("probabilities %v", out.Probabilities.RawRowView(i))
					}
					if k > 2 && math.Abs(out.Scores.At(i, c)-v) >= 1.0/3 {
						t.Errorf("score %v of %v votes", out.Scores.At(i, c), v)
					}
				}
				if got := int(out.Values[i]); got != best && (!breakTies || votes[got] != votes[best]) {
					t.Errorf("class %d, votes %v", got, votes)
				} else if got != best {
					ties++
				}
				if k == 2 && math.Abs(out.Probabilities.At(i, 0)-
					1/(1+math.Exp(f.offset[0]-f.slope[0]*pairs.At(i, 0)))) > 0.01 {
					t.Errorf("probability %v", out.Probabilities.At(i, 0))
				}
			}
			if breakTies && k > 2 && ties == 0 {
				t.Error("no tie was broken")
			}
			checkPairwiseGraph(t, f, X, out)
		}
	}
}

// checkPairwiseGraph checks that the exported graph predicts the same.
func checkPairwiseGraph(t *testing.T, f *fittedPairwiseSVM, X *mat.Dense, want Prediction) {
	t.Helper()
	g := graph.New([]graph.Input{{Name: "a"}, {Name: "b"}})
	p, err := Export(g, f, g.Input())
	if err != nil {
		t.Fatal(err)
	}
	g.Output("class", p.Values)
	g.Output("scores", p.Scores)
	g.Output("probabilities", p.Probabilities)
	got, err := g.Run(X)
	if err != nil {
		t.Fatal(err)
	}
	values := mat.NewDense(len(want.Values), 1, want.Values)
	if !mat.Equal(got["class"], values) || !mat.EqualApprox(got["scores"], want.Scores, 1e-9) ||
		!mat.EqualApprox(got["probabilities"], want.Probabilities, 1e-9) {
		t.Errorf("%d classes: the graph differs", len(f.classes))
	}
}

// Pairs at exactly 0 are votes for the second class, as in LIBSVM, also of two classes and in the graph.
// scikit-learn breaks ties of three classes or more only.
func TestPairwiseVotesAtZero(t *testing.T) {
	X := mat.NewDense(1, 2, []float64{1, 2})
	for _, test := range []struct {
		k         int
		breakTies bool
		want      float64
	}{{2, false, 1}, {2, true, 1}, {3, false, 2}, {4, false, 3}, {3, true, 0}} {
		f := pairwiseMachine(t, test.k, true, test.breakTies)
		clear(f.m.Dual)
		clear(f.m.Intercept)
		out, err := Predict(t.Context(), f, X, Request{})
		if err != nil {
			t.Fatal(err)
		}
		if out.Values[0] != test.want {
			t.Errorf("%d classes, ties broken: %v: class %v, want %v", test.k, test.breakTies, out.Values[0], test.want)
		}
		checkPairwiseGraph(t, f, X, out)
	}
}
