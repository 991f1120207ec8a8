package stacking

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sample returns the outputs of three models and the true values. The third model predicts twice
// the true value, with the same noise as the other two.
func sample(n int) (got [][3]float64, truth []float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range n {
		y := rng.NormFloat64()
		got = append(got, [3]float64{y + 0.3*rng.NormFloat64(), y + 0.4*rng.NormFloat64(), 2*y + 0.8*rng.NormFloat64()})
		truth = append(truth, y)
	}
	return got, truth
}

func sumsOf(got [][3]float64, truth []float64) *Sums {
	s := NewSums(3)
	for i, a := range got {
		s.Add(1, a[:], truth[i])
	}
	return s
}

func loss(got [][3]float64, truth, w []float64) (sum float64) {
	for i, a := range got {
		d := truth[i] - w[0]*a[0] - w[1]*a[1] - w[2]*a[2]
		sum += d * d
	}
	return sum
}

// TestWeightsAreTheBest checks that the weights sum to 1 and none on a fine grid are better.
func TestWeightsAreTheBest(t *testing.T) {
	output, truth := sample(120)
	got := sumsOf(output, truth).Weights()
	best := loss(output, truth, got)
	if total := sum(got); math.Abs(total-1) > 1e-12 {
		t.Errorf("the weights sum to %v", total)
	}
	for u := 0.0; u <= 1; u += 0.02 {
		for v := 0.0; u+v <= 1; v += 0.02 {
			if l := loss(output, truth, []float64{u, v, 1 - u - v}); l < best*(1-1e-12) {
				t.Fatalf("%v with %v, %v with %v %v", best, got, l, u, v)
			}
		}
	}
}

// TestWeightsOfRowsCount checks that a weight of 2 counts as two rows.
func TestWeightsOfRowsCount(t *testing.T) {
	got, truth := sample(40)
	once, twice := NewSums(3), NewSums(3)
	for i, a := range got {
		once.Add(2, a[:], truth[i])
		twice.Add(1, a[:], truth[i])
		twice.Add(1, a[:], truth[i])
	}
	for k, w := range once.Weights() {
		if math.Abs(w-twice.Weights()[k]) > 1e-12 {
			t.Errorf("weight %d is %v, of rows that are there twice %v", k, w, twice.Weights()[k])
		}
	}
}

// After scaling, each single model has weight 1; an anticorrelated one has weight 0.
func TestSizes(t *testing.T) {
	got, truth := sample(200)
	for i := range got {
		got[i][1] = -got[i][1]
	}
	s := sumsOf(got, truth)
	sizes := s.Sizes()
	if sizes[1] != 0 || math.Abs(2*sizes[2]-sizes[0]) > 0.15 {
		t.Errorf("sizes %v", sizes)
	}
	s.Scale(sizes)
	for k, again := range s.Sizes() {
		if want := 1.0; k != 1 && math.Abs(again-want) > 1e-12 || k == 1 && again != 0 {
			t.Errorf("model %d brought to its size has the size %v", k, again)
		}
	}
}

// If all models are anticorrelated, the optimum without constraint is 0; weights that sum to 1
// exist nevertheless.
func TestWeightsAreNotAllZero(t *testing.T) {
	got, truth := sample(50)
	for i := range truth {
		truth[i] = -truth[i]
	}
	if w := sumsOf(got, truth).Weights(); math.Abs(sum(w)-1) > 1e-12 {
		t.Errorf("weights %v", w)
	}
}

func TestFinite(t *testing.T) {
	s := NewSums(1)
	if s.Add(1, []float64{1}, 2); !s.Finite() {
		t.Error("sums of numbers are not finite")
	}
	if s.Add(1, []float64{1e200}, 2); s.Finite() {
		t.Error("the square of 1e200 is finite")
	}
}

func TestPrecisions(t *testing.T) {
	y := []float64{1, 10, 5, 3, 30, 5, 99, 99, 99}
	got := Precisions(y, 3, []float64{1, 1, 0})
	for o, want := range []float64{1, 0.01, 1} {
		if math.Abs(got[o]-want) > 1e-15 {
			t.Errorf("output %d: %v, want %v", o, got[o], want)
		}
	}
	if one := Precisions(y, 1, nil); len(one) != 1 || one[0] != 1 {
		t.Errorf("of one output %v", one)
	}
}

// If all models are anticorrelated, each still has a size, and the models together predict something.
func TestSizesAreNotAllZero(t *testing.T) {
	got, truth := sample(50)
	for i := range truth {
		truth[i] = -truth[i]
	}
	s := sumsOf(got, truth)
	sizes := s.Sizes()
	if math.Abs(2*sizes[2]-sizes[0]) > 0.2 || !(sizes[0] > 0.8 && sizes[0] < 1.2) {
		t.Errorf("sizes %v", sizes)
	}
	s.Scale(sizes)
	if w := s.Weights(); math.Abs(sum(w)-1) > 1e-12 {
		t.Errorf("weights %v", w)
	}
}
