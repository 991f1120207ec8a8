package monotone

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/model"
)

// amounts are positive numbers with long tails, and weights.
func amounts(n int) (y, w []float64) {
	rng := rand.New(rand.NewPCG(5, 8))
	for range n {
		y, w = append(y, math.Exp(rng.NormFloat64())), append(w, 1+rng.Float64())
	}
	return y, w
}

// TestInverse checks that Inverse inverts the transform, which is increasing.
func TestInverse(t *testing.T) {
	y, w := amounts(3000)
	for _, kind := range Kinds {
		one := Learn(kind, y, w)
		rising := slices.Sorted(slices.Values(y))[1 : len(y)-1]
		for i, v := range rising {
			z := one.Forward(v)
			if i > 0 && z < one.Forward(rising[i-1]) {
				t.Fatalf("%s falls at %v", kind, v)
			}
			if back := one.Inverse(z); math.Abs(back-v) > 1e-9*v {
				t.Fatalf("%s: %v comes back as %v", kind, v, back)
			}
			if one.Value(z) != one.Inverse(z) {
				t.Fatalf("%s: what was not smeared is", kind)
			}
		}
		if one.Positive() != (kind == "log") {
			t.Errorf("%s takes positive numbers only: %v", kind, one.Positive())
		}
	}
	if one := Power(0.25); one.Forward(-16) != -2 || math.Abs(one.Inverse(-2)+16) > 1e-12 || one.Positive() {
		t.Errorf("the fourth root of −16 is %v, its inverse %v", one.Forward(-16), one.Inverse(-2))
	}
	for _, kind := range []string{"signed_log", "sqrt"} {
		if one := Learn(kind, nil, nil); one.Forward(-3) != -one.Forward(3) || one.Inverse(one.Forward(-4)) > -3.99 {
			t.Errorf("%s of negative numbers", kind)
		}
	}
}

// TestWeightsCount checks that a weight of 2 counts as two rows.
func TestWeightsCount(t *testing.T) {
	y, twice := []float64{3, 1, 2, 10}, []float64{3, 1, 2, 2, 10}
	for _, kind := range []string{"quantile", "standardize"} {
		a, b := Learn(kind, y, []float64{1, 1, 2, 1}), Learn(kind, twice, []float64{1, 1, 1, 1, 1})
		for _, v := range []float64{0, 1, 1.5, 2, 7, 11} {
			if math.Abs(a.Forward(v)-b.Forward(v)) > 1e-12 {
				t.Errorf("%s of %v: %v, want %v", kind, v, a.Forward(v), b.Forward(v))
			}
		}
	}
}

// TestLearnedTransformsAreNormal checks that standardized normal numbers are z-scores, and that
// quantile transforms any distribution to normal.
func TestLearnedTransformsAreNormal(t *testing.T) {
	y, w := amounts(20_000)
	for i := range w {
		w[i] = 1
	}
	one := Learn("quantile", y, w)
	for _, z := range []float64{-2, -1, 0, 1, 2} {
		if got := one.Forward(math.Exp(z)); math.Abs(got-z) > 0.1 {
			t.Errorf("the transform of e^%v is %v", z, got)
		}
	}
	if got := Learn("quantile", []float64{5, 1, 2}, []float64{1, 1, 1}).Forward(2); math.Abs(got) > 1e-12 {
		t.Errorf("the transform of the median is %v", got)
	}
	mean, square := 0.0, 0.0
	std := Learn("standardize", y, w)
	for _, v := range y {
		z := std.Forward(v)
		mean, square = mean+z/float64(len(y)), square+z*z/float64(len(y))
	}
	if math.Abs(mean) > 1e-10 || math.Abs(square-1) > 1e-10 {
		t.Errorf("mean %v, mean square %v", mean, square)
	}
}

// The deviations of a lognormal and of the square of a normal are in every book.
func TestDeviation(t *testing.T) {
	if got, want := Learn("log", nil, nil).Deviation(0.5, 0.3),
		math.Exp(0.5+0.045)*math.Sqrt(math.Expm1(0.09)); math.Abs(got-want) > 1e-12 {
		t.Errorf("log: %v, want %v", got, want)
	}
	// Far from 0 the square is z², of deviation √(4z²s² + 2s⁴).
	if got, want := Learn("sqrt", nil, nil).Deviation(9, 0.5), math.Sqrt(4*81*0.25+2*0.0625); math.Abs(got-want) > 1e-9 {
		t.Errorf("sqrt: %v, want %v", got, want)
	}
	std := Learn("standardize", []float64{0, 10}, []float64{1, 1})
	if got := std.Deviation(3, 0.2); math.Abs(got-1) > 1e-12 {
		t.Errorf("standardize: %v, want 1", got)
	}
}

// smeared returns a summary of residuals of the given weights.
func smeared(residuals, weights []float64) *Residuals {
	r := new(Residuals)
	for i, e := range residuals {
		r.Add(e, weights[i])
	}
	return r
}

// Smeared over residuals, the value is the mean of the inverse, by weight; also over many with long
// tails.
func TestSmear(t *testing.T) {
	one := Learn("log", nil, nil)
	one.Smear(smeared([]float64{1, -1, 1}, []float64{1, 2, 1}))
	if got, want := one.Value(0.5), (math.Exp(1.5)+math.Exp(-0.5))/2; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	y, w := amounts(300)
	residuals, weights := make([]float64, 20_000), make([]float64, 20_000)
	for i := range residuals {
		residuals[i], weights[i] = rng.NormFloat64(), 0.5+rng.Float64()
		if i%100 == 0 {
			residuals[i] *= 4
		}
	}
	for kind, tol := range map[string]float64{"log": 1e-12, "signed_log": 2e-3, "sqrt": 2e-3, "quantile": 2e-3,
		"standardize": 1e-12} {
		one := Learn(kind, y, w)
		one.Smear(smeared(residuals, weights))
		if len(one.residuals) > maxResiduals {
			t.Errorf("%s: %d residuals are kept", kind, len(one.residuals))
		}
		for _, z := range []float64{-1, 0.3, 2} {
			mean, total := 0.0, 0.0
			for i, e := range residuals {
				mean, total = mean+weights[i]*one.Inverse(z+e), total+weights[i]
			}
			if got := one.Value(z); math.Abs(got*total/mean-1) > tol {
				t.Errorf("%s: %v at %v, want %v", kind, got, z, mean/total)
			}
		}
	}
	few := Learn("sqrt", nil, nil)
	few.Smear(smeared([]float64{2, -1, 2}, []float64{1, 2, 1}))
	if !slices.Equal(few.residuals, []float64{-1, 2}) || !slices.Equal(few.shares, []float64{0.5, 0.5}) {
		t.Errorf("few residuals %v, shares %v", few.residuals, few.shares)
	}
}

// TestState checks that the state is restored, and that a damaged one is rejected.
func TestState(t *testing.T) {
	y, w := amounts(50)
	one := Learn("quantile", y, w)
	one.Smear(smeared([]float64{-0.1, 0.1}, []float64{1, 1}))
	archive, err := model.Record(one)
	if err != nil {
		t.Fatal(err)
	}
	again := new(Transform)
	if err := model.Restore(archive, again); err != nil || again.Value(0.3) != one.Value(0.3) ||
		again.Forward(2) != one.Forward(2) {
		t.Errorf("%v: another transform comes back", err)
	}
	for name, damage := range map[string]func(*Transform){
		"another kind":  func(t *Transform) { t.kind = "cube" },
		"no scale":      func(t *Transform) { t.scale = 0 },
		"falling":       func(t *Transform) { t.values = []float64{2, 1}; t.ranks = []float64{0.1, 0.2} },
		"fewer ranks":   func(t *Transform) { t.ranks = t.ranks[1:] },
		"no values":     func(t *Transform) { t.values, t.ranks = nil, nil },
		"fewer shares":  func(t *Transform) { t.shares = t.shares[1:] },
		"no residual":   func(t *Transform) { t.residuals = []float64{math.NaN(), 1} },
		"infinite rank": func(t *Transform) { t.ranks = slices.Repeat([]float64{math.Inf(1)}, len(t.values)) },
	} {
		bad := *one
		damage(&bad)
		archive, err := model.Record(&bad)
		if err != nil {
			continue // nor is it written
		}
		if err := model.Restore(archive, new(Transform)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestInterpolate(t *testing.T) {
	knots, values := []float64{1, 2, 4}, []float64{10, 20, 0}
	for at, want := range map[float64]float64{0: 10, 1: 10, 1.5: 15, 2: 20, 3: 10, 4: 0, 9: 0} {
		if got := Interpolate(knots, values, at); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}
