package profile

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDetermines checks which inputs give the target away, and that noise, identifiers and strong inputs do
// not.
func TestDetermines(t *testing.T) {
	const n = 200
	rng := rand.New(rand.NewPCG(1, 2))
	column := func(f func(i int) float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	y := column(func(int) float64 { return rng.NormFloat64() })
	class := column(func(i int) float64 { return float64(i % 3) })
	rare := column(func(i int) float64 { return float64(i % 100 / 99) })
	numbers := func(v []float64) Variable { return Variable{Values: v} }
	categories := func(v []float64) Variable { return Variable{Values: v, Categories: true} }
	noise := column(func(int) float64 { return rng.NormFloat64() })
	for _, c := range []struct {
		name          string
		input, target Variable
		want          bool
	}{
		{"linear", numbers(column(func(i int) float64 { return 3*y[i] + 1 })), numbers(y), true},
		{"rounded", numbers(column(func(i int) float64 { return math.Round(100 * y[i]) })), numbers(y), true},
		{"with missing values", numbers(column(func(i int) float64 {
			if i%3 == 0 {
				return math.NaN()
			}
			return -y[i]
		})), numbers(y), true},
		{"monotone", numbers(column(func(i int) float64 { return math.Exp(5 * y[i]) })), numbers(y), true},
		{"codes of classes", categories(column(func(i int) float64 { return 2 - class[i] })), categories(class), true},
		{"ranges of classes", numbers(column(func(i int) float64 { return 10*class[i] + rng.Float64() })),
			categories(class), true},
		{"subcategories", categories(column(func(i int) float64 { return class[i] + 3*float64(i%7) })),
			categories(class), true},
		{"strong", numbers(column(func(i int) float64 { return y[i] + 0.05*noise[i] })), numbers(y), false},
		{"noise", numbers(noise), numbers(y), false},
		{"noise of classes", numbers(noise), categories(class), false},
		{"identifier", categories(column(func(i int) float64 { return float64(i) })), categories(class), false},
		{"row number", numbers(column(func(i int) float64 { return float64(i) })), categories(class), false},
		{"two rare rows", numbers(column(func(i int) float64 { return rare[i] })), categories(rare), false},
		{"constant", numbers(make([]float64, n)), numbers(y), false},
		{"overlap", numbers(column(func(i int) float64 { return class[i] + 1.2*rng.Float64() })), categories(class), false},
	} {
		if got := Determines(c.input, c.target); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	short := make([]float64, minDetermined-1)
	for i := range short {
		short[i] = float64(i)
	}
	if Determines(numbers(short), numbers(short)) {
		t.Error("few rows are a coincidence")
	}
}
