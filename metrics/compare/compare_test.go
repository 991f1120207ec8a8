package compare

import (
	"math"
	"strings"
	"testing"
)

// near compares a value with that of SciPy 1.17.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1e-300, math.Abs(want))) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

func holds(t *testing.T, got Test, method string, difference, low, high, p float64) {
	t.Helper()
	if got.Method != method {
		t.Errorf("by %s, want %s", got.Method, method)
	}
	near(t, "the difference", got.Difference, difference, 1e-12)
	near(t, "the lower end", got.Low, low, 1e-10)
	near(t, "the upper end", got.High, high, 1e-10)
	near(t, "p", got.P, p, 1e-9)
}

// References: scipy.stats.binomtest and chi2.sf; the interval by the formula of Agresti and Min.
func TestMcNemar(t *testing.T) {
	for _, c := range []struct {
		first, second, rows      int
		method                   string
		difference, low, high, p float64
	}{
		{0, 0, 10, mcNemarExact, 0, -0.16333033204500449, 0.16333033204500449, 1},
		{1, 8, 40, mcNemarExact, 0.175, 0.027971569156362702, 0.30536176417697058, 0.0390625},
		{10, 14, 100, mcNemarExact, 0.04, -0.056559088343092298, 0.13499046089211192, 0.54125618934631348},
		{12, 13, 100, mcNemarChiSquared, 0.01, -0.088156962813856904, 0.10776480595111182, 1},
		{25, 60, 1000, mcNemarChiSquared, 0.035, 0.016919856944073126, 0.052940422497044642, 0.00022618552587132289},
		{400, 300, 16281, mcNemarChiSquared, -100.0 / 16281, -0.0093269092387627123, -0.0029558396404364522,
			0.00018267179110955029},
		{2000, 1000, 100000, mcNemarChiSquared, -0.01, -0.011071683604144818, -0.0089279164038550216, 2.5230053428432517e-74},
	} {
		got, err := McNemar(c.first, c.second, c.rows)
		if err != nil {
			t.Fatal(err)
		}
		holds(t, got, c.method, c.difference, c.low, c.high, c.p)
		back, err := McNemar(c.second, c.first, c.rows)
		if err != nil || back.P != got.P || back.Difference != -got.Difference || math.Abs(back.Low+got.High) > 1e-15 {
			t.Errorf("the other way round: %+v, %v", back, err)
		}
	}
	for _, c := range [][3]int{{-1, 2, 5}, {1, 2, 0}, {3, 3, 5}, {-1, -1, -1}} {
		if got, err := McNemar(c[0], c[1], c[2]); err == nil || got != (Test{}) {
			t.Errorf("%v: %+v", c, got)
		}
	}
}

// References: scipy.stats.ttest_rel of the squared errors and its confidence interval.
func TestPaired(t *testing.T) {
	var few, many Paired
	for i := range 40 {
		x := float64(i)
		few.Add(1.1*math.Cos(3*x), 0.9*math.Sin(5*x+1))
	}
	got, err := few.Test()
	if err != nil || few.Rows() != 40 {
		t.Fatal(err)
	}
	holds(t, got, pairedTTest, -0.14935649427475575, -0.3141823444533861, 0.015469355903874604, 0.0744662128056041)
	for i := range 200000 {
		x := float64(i)
		many.Add(1.01*math.Cos(3*x), math.Sin(5*x+1))
	}
	if got, err = many.Test(); err != nil {
		t.Fatal(err)
	}
	holds(t, got, pairedTTest, -0.01005294586166142, -0.012266406695731256, -0.007839485027591584, 5.5449419390285845e-19)
}

// Equal models have p = 1; NaN and infinite errors are rejected.
func TestPairedEnds(t *testing.T) {
	var same, one, broken Paired
	for i := range 5 {
		same.Add(float64(i), -float64(i))
	}
	if got, err := same.Test(); err != nil || got != (Test{Method: pairedTTest, P: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	one.Add(1, 2)
	if _, err := one.Test(); err == nil || !strings.Contains(err.Error(), "rows must be ≥ 2, got 1") {
		t.Error(err)
	}
	broken.Add(1, 2)
	broken.Add(math.NaN(), 2)
	if _, err := broken.Test(); err == nil {
		t.Error("NaN has been tested")
	}
	var huge Paired
	huge.Add(1e200, 0)
	huge.Add(1, 0)
	if _, err := huge.Test(); err == nil {
		t.Error("what is too large to square has been tested")
	}
	var shifted Paired
	shifted.Add(0, 1)
	shifted.Add(0, 1)
	if got, err := shifted.Test(); err != nil || got.P != 0 || got.Low != 1 || got.High != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Reference: the formula of Nadeau and Bengio with scipy.stats.t.
func TestCorrectedT(t *testing.T) {
	got, err := CorrectedT([]float64{0.01, 0.03, -0.005, 0.02, 0.012}, 800, 200)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, got, correctedTTest, 0.0134, -0.01072633347296205, 0.03752633347296205, 0.19791942462086154)
	var ten []float64
	for i := range 10 {
		ten = append(ten, 0.01*math.Cos(float64(i))+0.004)
	}
	if got, err = CorrectedT(ten, 9, 1); err != nil {
		t.Fatal(err)
	}
	holds(t, got, correctedTTest, 0.004421623782620546, -0.003537044313020982, 0.012380291878262074, 0.24046558321194533)
	_, err = CorrectedT([]float64{math.NaN()}, 0, 1)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"folds must be ≥ 2, got 1", "training and test rows must be " +
		"positive", "differences[0] must be finite, got NaN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

// Reference: statsmodels.stats.multitest, method holm; results are capped at 1.
func TestHolm(t *testing.T) {
	got, err := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		near(t, "p", got[i], want, 1e-14)
	}
	if got, err = Holm([]float64{0.9, 0.8, 0}); err != nil || got[0] != 1 || got[1] != 1 || got[2] != 0 {
		t.Error(got, err)
	}
	if got, err = Holm(nil); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	if _, err = Holm([]float64{0.1, math.NaN(), 2}); err == nil || !strings.Contains(err.Error(),
		"p[1] must be in [0, 1], got NaN") || !strings.Contains(err.Error(), "p[2] must be in [0, 1], got 2") {
		t.Error(err)
	}
}

// Under the null hypothesis about 5 % of the p values are below 0.05, for Paired and McNemar.
func TestLevels(t *testing.T) {
	const trials = 2000
	state := uint64(1)
	random := func() float64 { // SplitMix64
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return float64((z^z>>31)>>11) / (1 << 53)
	}
	numbers, classes, covered := 0, 0, 0
	for range trials {
		var p Paired
		first, second := 0, 0
		for range 300 {
			p.Add(random()-0.5, random()-0.5)
			switch u := random(); {
			case u < 0.1:
				first++
			case u < 0.2:
				second++
			}
		}
		if got, err := p.Test(); err != nil {
			t.Fatal(err)
		} else if got.P < 0.05 {
			numbers++
		}
		got, err := McNemar(first, second, 300)
		if err != nil {
			t.Fatal(err)
		}
		if got.P < 0.05 {
			classes++
		}
		if got.Low <= 0 && got.High >= 0 {
			covered++
		}
	}
	deviation := math.Sqrt(0.05 * 0.95 * trials)
	if off := math.Abs(float64(numbers)-0.05*trials) / deviation; off > 4 {
		t.Errorf("%d of %d differences of equal numbers are found", numbers, trials)
	}
	if float64(classes) > 0.05*trials+4*deviation || classes < trials/100 { // the continuity correction is conservative
		t.Errorf("%d of %d differences of equal classifiers are found", classes, trials)
	}
	if float64(covered) < 0.95*trials-4*deviation {
		t.Errorf("%d of %d intervals hold the difference", covered, trials)
	}
}
