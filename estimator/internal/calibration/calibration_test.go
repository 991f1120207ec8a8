package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/estimator/internal/monotone"
	"github.com/bochner-ml/bochner/internal/testing/golden"
)

// TestGolden compares the maps with those of scikit-learn.
func TestGolden(t *testing.T) {
	var in struct {
		Score, Grid []float64
		Y           []int
		Weights     []float64   `json:"sample_weight"`
		ClassScores [][]float64 `json:"class_scores"`
		ClassOf     []int       `json:"y_classes"`
		Probability []float64   `json:"proba"`
	}
	var want struct {
		Sigmoid          struct{ A, B float64 }
		Isotonic         []float64
		IsotonicWeighted []float64 `json:"isotonic_weighted"`
		Beta             float64   `json:"temperature_beta"`
	}
	golden.Load(t, "calibration", &in, &want)
	positive := make([]bool, len(in.Y))
	for i, y := range in.Y {
		positive[i] = y == 1
	}
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	a, b := Sigmoid(in.Score, positive, nil)
	near("a", a, want.Sigmoid.A, 1e-5) // that of scikit-learn stops there
	near("b", b, want.Sigmoid.B, 1e-5)
	for _, c := range []struct {
		weights, want []float64
	}{{nil, want.Isotonic}, {in.Weights, want.IsotonicWeighted}} {
		knots, values := Isotonic(in.Score, positive, c.weights)
		for i, v := range in.Grid {
			near("isotonic", monotone.Interpolate(knots, values, v), c.want[i], 1e-12)
		}
	}
	var scores []float64
	for _, row := range in.ClassScores {
		scores = append(scores, row...)
	}
	near("β", Temperature(scores, len(in.ClassScores[0]), in.ClassOf, nil), want.Beta, 1e-6)
}

// sample is scores of rows whose class depends on them.
func sample(n int) (score []float64, positive []bool, weights []float64) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range n {
		v := rng.NormFloat64() * 3
		score, positive, weights = append(score, v), append(positive, rng.Float64() < Logistic(0.7*v-0.4)),
			append(weights, float64(rng.IntN(3)))
	}
	return score, positive, weights
}

// TestSigmoidIsTheOptimum checks that the gradient of the likelihood is 0 at the solution, for all
// scales of scores.
func TestSigmoidIsTheOptimum(t *testing.T) {
	for _, scale := range []float64{1e-6, 1, 1e6} {
		score, positive, weights := sample(200)
		for i := range score {
			score[i] *= scale
		}
		a, b := Sigmoid(score, positive, weights)
		s := newSmoothed(score, positive, weights)
		ga, gb, _, _, _ := s.derivatives(a, b)
		if math.Abs(ga)/scale > 1e-8 || math.Abs(gb) > 1e-8 {
			t.Errorf("scores of size %v: gradient %v, %v", scale, ga, gb)
		}
	}
}

// A few passes suffice, also if rounding dominates the last steps.
func TestSigmoidEnds(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		score, positive, _ := sample(1500)
		for i := range score {
			score[i] += rng.NormFloat64()
		}
		s := newSmoothed(score, positive, nil)
		if s.solve(); s.passes > 40 {
			t.Errorf("%d looks", s.passes)
		}
	}
}

// A weight is a number of copies; rows of weight 0 are ignored.
func TestWeightsAreCounts(t *testing.T) {
	score, positive, weights := sample(150)
	var often []float64
	var which []bool
	var class, oftenClass []int
	var two, oftenTwo []float64
	for i, w := range weights {
		c := 0
		if positive[i] {
			c = 1
		}
		class, two = append(class, c), append(two, 0, score[i])
		for range int(w) {
			often, which = append(often, score[i]), append(which, positive[i])
			oftenClass, oftenTwo = append(oftenClass, c), append(oftenTwo, 0, score[i])
		}
	}
	a, b := Sigmoid(score, positive, weights)
	if a2, b2 := Sigmoid(often, which, nil); math.Abs(a-a2)+math.Abs(b-b2) > 1e-9 {
		t.Errorf("%v, %v by weights, %v, %v by rows", a, b, a2, b2)
	}
	knots, values := Isotonic(score, positive, weights)
	oftenKnots, oftenValues := Isotonic(often, which, nil)
	for v := -9.0; v < 9; v += 0.37 {
		if got, want := monotone.Interpolate(knots, values, v), monotone.Interpolate(oftenKnots, oftenValues,
			v); math.Abs(got-want) > 1e-12 {
			t.Errorf("isotonic at %v: %v by weights, %v by rows", v, got, want)
		}
	}
	beta, oftenBeta := Temperature(two, 2, class, weights), Temperature(oftenTwo, 2, oftenClass, nil)
	if math.Abs(beta-oftenBeta) > 1e-9 {
		t.Errorf("β %v by weights, %v by rows", beta, oftenBeta)
	}
}

// Degenerate problems terminate: a constant score, and separable classes.
func TestNothingToLearn(t *testing.T) {
	a, b := Sigmoid([]float64{2, 2, 2}, []bool{true, false, true}, nil)
	if p := Logistic(-(a*2 + b)); !(p > 0.4 && p < 0.8) {
		t.Errorf("one score: probability %v", p)
	}
	a, b = Sigmoid([]float64{-1, -2, 1, 2}, []bool{false, false, true, true}, nil)
	if p := Logistic(-(a*2 + b)); !(p > 0.7 && p < 1) {
		t.Errorf("separating scores: probability %v", p)
	}
	if beta := Temperature([]float64{0, 1, 1, 0}, 2, []int{1, 0}, nil); math.IsInf(beta, 0) || !(beta > 30) {
		t.Errorf("separating scores: β %v", beta)
	}
	if beta := Temperature([]float64{0, 1, 1, 0}, 2, []int{0, 1}, nil); !(beta >= 0 && beta < 1e-6) {
		t.Errorf("scores that are wrong: β %v", beta)
	}
	if beta := Temperature([]float64{1, 1}, 2, []int{0}, nil); beta != 1 {
		t.Errorf("uninformative scores: β %v", beta)
	}
}
