package estimator_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// huberObjective returns the objective and its gradient in weights, intercept and scale, written
// from their definition.
// huberModel is a fitted Huber.
type huberModel interface {
	linearModel
	Scale() float64
}

func huberObjective(data datasets.Set, s estimator.Huber, w []float64, b, scale float64) (value float64,
	gradient []float64) {
	d := len(w)
	gradient = make([]float64, d+2)
	for i, y := range data.Y {
		z, weight := b, 1.0
		if data.Weights != nil {
			weight = data.Weights[i]
		}
		for j, v := range w {
			z += v * data.X.At(i, j)
		}
		q := (y - z) / scale
		loss, slope := q*q, 2*q
		if math.Abs(q) >= s.Epsilon {
			loss, slope = 2*s.Epsilon*math.Abs(q)-s.Epsilon*s.Epsilon, math.Copysign(2*s.Epsilon, q)
		}
		value += weight * scale * (1 + loss)
		for j := range w {
			gradient[j] -= weight * slope * data.X.At(i, j)
		}
		gradient[d] -= weight * slope
		gradient[d+1] += weight * (1 + loss - q*slope)
	}
	for j, v := range w {
		value += s.Alpha * v * v
		gradient[j] += 2 * s.Alpha * v
	}
	return value, gradient
}

// spoiled returns rows of a linear model whose targets have the given unit and heavy tails, and weights.
func spoiled(n, d int, unit float64) datasets.Set {
	rng := rand.New(rand.NewPCG(9, uint64(n)))
	X := mat.NewDense(n, d, nil)
	data := datasets.Set{X: X}
	for i := range n {
		y := 5.0
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
			y += X.At(i, j) / float64(1+j)
		}
		noise := rng.NormFloat64()
		if i%10 == 0 {
			noise *= 30 * rng.ExpFloat64()
		}
		data.Y = append(data.Y, unit*(y+noise))
		data.Weights = append(data.Weights, 2*rng.Float64())
	}
	return data
}

func TestHuberSatisfiesTheOptimalityConditions(t *testing.T) {
	for _, unit := range []float64{1e-6, 1, 1e6} {
		for _, alpha := range []float64{0, 0.3, 1000} {
			s, data := estimator.NewHuber(), spoiled(500, 4, unit)
			s.Alpha, s.Tol = alpha, 1e-9
			f := fit(t, s, data).(huberModel)
			value, gradient := huberObjective(data, s, f.Coef().RawRowView(0), f.Intercept()[0], f.Scale())
			near(t, "objective", []float64{f.Report().Objective}, []float64{value}, 1e-9)
			for j, g := range gradient {
				if math.Abs(g) > 1e-5 {
					t.Errorf("unit %v, alpha %v: gradient[%d] is %v", unit, alpha, j, g)
				}
			}
		}
	}
}

// TestHuberOfExactFits checks that with an exact fit of most rows the scale is at its bound, as
// reported, and that constant targets are an error.
func TestHuberOfExactFits(t *testing.T) {
	s, data := estimator.NewHuber(), spoiled(60, 2, 1)
	for i := range data.Y {
		data.Y[i] = 3*data.X.At(i, 0) - data.X.At(i, 1) + 2
		if i%6 == 0 {
			data.Y[i] += 100 + float64(i)
		}
	}
	s.Alpha = 0
	f := fit(t, s, data).(huberModel)
	near(t, "coef", f.Coef().RawRowView(0), []float64{3, -1}, 1e-5)
	near(t, "intercept", f.Intercept(), []float64{2}, 1e-5)
	if w := f.Report().Warnings; len(w) != 1 || !strings.Contains(w[0], "scale of the residuals is at its bound") {
		t.Errorf("warnings %q, scale %v", w, f.Scale())
	}
	for i := range data.Y {
		data.Y[i] = 7
	}
	f = fit(t, s, data).(huberModel)
	near(t, "constant", append(f.Coef().RawRowView(0), f.Intercept()[0], f.Scale()), []float64{0, 0, 7, 0}, 1e-12)
}

// Many equal targets and few others: the scale is at its bound, and the fit ends.
func TestHuberOfManyEqualTargets(t *testing.T) {
	s, data := estimator.NewHuber(), spoiled(300, 3, 1)
	for i := range data.Y {
		if i%3 > 0 {
			data.Y[i] = 0
		}
	}
	f, err := s.Fit(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if r := f.(estimator.Reporter).Report(); !r.Converged || len(r.Warnings) != 1 || r.Iterations > 100 {
		t.Errorf("%+v, scale %v", r, f.(huberModel).Scale())
	}
}
