package estimator_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// linearModel is a fitted linear model.
type linearModel interface {
	estimator.FullPredictor
	Coef() *mat.Dense
	Intercept() []float64
	Report() estimator.Report
}

// glms returns a spec of each generalized linear model, with alpha and a tight tolerance.
func glms(alpha float64) map[float64]estimator.Estimator {
	poisson, gamma, tweedie := estimator.NewPoisson(), estimator.NewGammaRegression(), estimator.NewTweedie()
	poisson.Alpha, gamma.Alpha, tweedie.Alpha = alpha, alpha, alpha
	poisson.Tol, gamma.Tol, tweedie.Tol = 1e-9, 1e-9, 1e-9
	return map[float64]estimator.Estimator{1: poisson, 2: gamma, 1.5: tweedie}
}

// amounts returns rows whose positive targets have the mean exp(w'x + offset), and weights.
func amounts(n, d int, scale, offset float64) datasets.Set {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	X := mat.NewDense(n, d, nil)
	data := datasets.Set{X: X}
	for i := range n {
		z := offset
		for j := range d {
			X.Set(i, j, scale*rng.NormFloat64())
			z += X.At(i, j) / (scale * float64(1+j))
		}
		data.Y = append(data.Y, math.Exp(z)*rng.ExpFloat64()+1e-9)
		data.Weights = append(data.Weights, 3*rng.Float64())
	}
	return data
}

// The gradient of the objective, written from its definition, is 0 at the solution, and the report
// has the objective.
func TestGLMsSatisfyTheOptimalityConditions(t *testing.T) {
	for _, alpha := range []float64{0, 0.01, 10} {
		for power, s := range glms(alpha) {
			data := amounts(500, 4, 2, 7)
			f := fit(t, s, data).(linearModel)
			mu, err := f.Predict(context.Background(), data.X)
			if err != nil {
				t.Fatal(err)
			}
			w := f.Coef().RawRowView(0)
			gradient, total, objective, size := make([]float64, 5), 0.0, 0.0, 0.0
			for _, s := range data.Weights {
				total += s
			}
			for i, m := range mu {
				y, s := data.Y[i], data.Weights[i]/total
				g := s * (m - y) * math.Pow(m, 1-power)
				size += math.Abs(g)
				for j := range w {
					gradient[j] += g * data.X.At(i, j)
				}
				gradient[4] += g
				switch power {
				case 1:
					objective += s * (y*math.Log(y/m) - y + m)
				case 2:
					objective += s * (math.Log(m/y) + y/m - 1)
				default:
					objective += s * (math.Pow(y, 2-power)/((1-power)*(2-power)) - y*math.Pow(m, 1-power)/(1-power) +
						math.Pow(m, 2-power)/(2-power))
				}
			}
			for j, v := range w {
				gradient[j] += alpha * v
				objective += alpha / 2 * v * v
			}
			near(t, "objective", []float64{f.Report().Objective}, []float64{objective}, 1e-9)
			for j, g := range gradient {
				if math.Abs(g) > 1e-7*size {
					t.Errorf("power %v, alpha %v: gradient[%d] is %v of %v", power, alpha, j, g, size)
				}
			}
		}
	}
}

// Targets in another unit have the same gamma model but for the intercept; steps from zeros on
// inputs and targets of any scale neither overflow nor stop early.
func TestGLMsOnAnyScale(t *testing.T) {
	for power, s := range glms(1e-8) {
		for _, scale := range []float64{1e-3, 1, 1e3} {
			for _, offset := range []float64{-30, 0, 30} {
				data := amounts(300, 3, scale, offset)
				p, err := s.Fit(context.Background(), data)
				if err != nil {
					t.Fatal(err)
				}
				if r := p.(estimator.Reporter).Report(); r.Iterations > 60 {
					t.Errorf("power %v, scale %v, offset %v: %+v", power, scale, offset, r)
				}
			}
		}
	}
	gamma := glms(0.1)[2]
	data := amounts(300, 3, 1, 0)
	w := fit(t, gamma, data).(linearModel).Coef().RawRowView(0)
	for i := range data.Y {
		data.Y[i] *= 1e6
	}
	near(t, "coef", fit(t, gamma, data).(linearModel).Coef().RawRowView(0), w, 1e-7)
}

// Rates weighted by exposure have the optimum of counts with the offset log exposure.
func TestExposureIsAWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	data := amounts(400, 3, 1, 1)
	for i, y := range data.Y {
		data.Weights[i] = 0.1 + 5*rng.Float64()
		data.Y[i] = math.Floor(y*data.Weights[i]) / data.Weights[i]
	}
	f := fit(t, glms(0)[1], data).(linearModel)
	gradient := make([]float64, 4)
	for i := range data.Y {
		e, z := data.Weights[i], f.Intercept()[0]
		for j := range 3 {
			z += data.X.At(i, j) * f.Coef().At(0, j)
		}
		residual := math.Exp(z+math.Log(e)) - data.Y[i]*e // of counts
		for j := range 3 {
			gradient[j] += residual * data.X.At(i, j)
		}
		gradient[3] += residual
	}
	for _, g := range gradient {
		if math.Abs(g) > 1e-5 {
			t.Errorf("the gradient of counts with an offset is %v", gradient)
		}
	}
}

func TestGLMsRefuseTargetsOutsideTheSupport(t *testing.T) {
	X := mat.NewDense(3, 1, []float64{1, 2, 3})
	for _, c := range []struct {
		power float64
		y     []float64
		want  string
	}{
		{1, []float64{1, 0, -2}, "row 2: target must be ≥ 0 for poisson, got -2"},
		{2, []float64{1, 0, 2}, "row 1: target must be > 0 for gamma_regression, got 0"},
		{1.5, []float64{-0.5, 0, 2}, "row 0: target must be ≥ 0 for tweedie, got -0.5"},
		{1, []float64{0, 0, 0}, "every target is 0"},
	} {
		s, data := glms(1)[c.power], datasets.Set{X: X, Y: c.y}
		_, err := s.Fit(context.Background(), data)
		_, passes := estimator.Learn(context.Background(), s.(estimator.PassEstimator), data.Source())
		for _, err := range []error{err, passes} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("power %v on %v: %v, want %q", c.power, c.y, err, c.want)
			}
		}
	}
}

// A mean that overflows is an error.
func TestGLMsRefuseRowsTooLargeToPredict(t *testing.T) {
	f := fit(t, glms(1e-6)[1], amounts(100, 2, 1, 0))
	if _, err := f.Predict(context.Background(), mat.NewDense(1, 2, []float64{1e6, 1e6})); !errors.Is(err,
		estimator.ErrTooLarge) {
		t.Error(err)
	}
}
