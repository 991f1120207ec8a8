package estimator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/matrices"
)

// quantileObjective computes the objective by its definition.
func quantileObjective(data datasets.Set, s estimator.QuantileRegression, w []float64, b float64) float64 {
	sum, total := 0.0, 0.0
	for i, y := range data.Y {
		r, weight := y-b, 1.0
		if data.Weights != nil {
			weight = data.Weights[i]
		}
		for j, v := range w {
			r -= v * data.X.At(i, j)
		}
		sum += weight * max(s.Quantile*r, (s.Quantile-1)*r)
		total += weight
	}
	sum /= total
	for _, v := range w {
		sum += s.Alpha * math.Abs(v)
	}
	return sum
}

// vertexMinimum is the minimum over all vertices of the linear program: models of two inputs and an
// intercept for which three of the residuals and weights are 0.
func vertexMinimum(data datasets.Set, s estimator.QuantileRegression) float64 {
	n := len(data.Y)
	rows := mat.NewDense(n+2, 3, nil)
	y := append(append([]float64{}, data.Y...), 0, 0)
	for i := range n {
		rows.SetRow(i, []float64{data.X.At(i, 0), data.X.At(i, 1), 1})
	}
	rows.Set(n, 0, 1)
	rows.Set(n+1, 1, 1)
	best := math.Inf(1)
	for i := range n + 2 {
		for j := range i {
			for k := range j {
				var m mat.Dense
				m.Stack(rows.Slice(i, i+1, 0, 3), rows.Slice(j, j+1, 0, 3))
				var all mat.Dense
				all.Stack(&m, rows.Slice(k, k+1, 0, 3))
				var x mat.VecDense
				if x.SolveVec(&all, mat.NewVecDense(3, []float64{y[i], y[j], y[k]})) == nil {
					best = min(best, quantileObjective(data, s, x.RawVector().Data[:2], x.AtVec(2)))
				}
			}
		}
	}
	return best
}

func TestQuantileRegressionIsTheBestVertex(t *testing.T) {
	s := estimator.NewQuantileRegression()
	s.Tol = 1e-9
	for seed := range uint64(6) {
		data := spoiled(14, 2, math.Pow(10, float64(seed)-3))
		if seed%2 == 1 {
			data.Weights = nil
		}
		for i := range data.Y {
			if seed == 3 { // ties
				data.Y[i] = math.Round(data.Y[i])
			}
		}
		for _, alpha := range []float64{0, 0.05, 0.2, 10} {
			for _, q := range []float64{0.05, 0.5, 0.7} {
				s.Alpha, s.Quantile = alpha, q
				f := fit(t, s, data).(*estimator.FittedLinear)
				want := vertexMinimum(data, s)
				got := quantileObjective(data, s, f.Coef().RawRowView(0), f.Intercept()[0])
				near(t, "objective", []float64{got, f.Report().Objective}, []float64{want, want}, 2e-9)
			}
		}
	}
}

// Degenerate data have a solution, too: equal rows, columns that depend on each other, fewer rows
// than columns, few distinct targets, a single row, constant targets.
func TestQuantileRegressionOfDegenerateRows(t *testing.T) {
	s := estimator.NewQuantileRegression()
	base := spoiled(60, 3, 1)
	twice := base
	X := mat.NewDense(60, 6, nil)
	X.Augment(base.X, base.X)
	twice.X = X
	few, constant := base, base
	few.Y, constant.Y = make([]float64, 60), make([]float64, 60)
	for i := range few.Y {
		few.Y[i], constant.Y[i] = float64(i%2), 4
	}
	equal := base.Select(make([]int, 30))
	wide := base.Slice(0, 4)
	wide.X = mat.NewDense(4, 9, base.X.(*mat.Dense).RawMatrix().Data[:36])
	for _, alpha := range []float64{0, 1e-3} {
		for name, data := range map[string]datasets.Set{"dependent": twice, "few targets": few, "constant": constant,
			"equal": equal, "wide": wide, "one": base.Slice(0, 1)} {
			s.Alpha = alpha
			p, err := s.Fit(context.Background(), data)
			if err != nil {
				t.Errorf("%s, alpha %v: %v", name, alpha, err)
				continue
			}
			f := p.(*estimator.FittedLinear)
			got := quantileObjective(data, s, f.Coef().RawRowView(0), f.Intercept()[0])
			if r := f.Report(); !r.Converged && !(got < 1e-6) || math.Abs(got-r.Objective) > 1e-6 {
				t.Errorf("%s, alpha %v: objective %v, %+v", name, alpha, got, r)
			}
		}
	}
	s.Alpha = 0
	one := fit(t, s, base).(*estimator.FittedLinear).Report().Objective
	near(t, "objective of dependent columns", []float64{fit(t, s, twice).(*estimator.FittedLinear).Report().Objective},
		[]float64{one}, 1e-6)
}

// A fitted quantile has the part of the rows below it, up to the rows that it passes through.
func TestQuantileRegressionSplitsTheRows(t *testing.T) {
	n := 2000
	if exhaustive.Tests() {
		n = 20_000
	}
	rng := rand.New(rand.NewPCG(2, 2))
	X := mat.NewDense(n, 40, nil)
	data := datasets.Set{X: X}
	for i := range n {
		for j := range 40 {
			X.Set(i, j, math.Cos(float64(j)*rng.Float64()+float64(i)))
		}
		data.Y = append(data.Y, X.At(i, 3)*(1+rng.ExpFloat64()))
	}
	for _, q := range []float64{0.02, 0.5, 0.9} {
		s := estimator.NewQuantileRegression()
		s.Quantile, s.Alpha = q, 0
		f := fit(t, s, data)
		predicted, err := f.Predict(context.Background(), X)
		if err != nil {
			t.Fatal(err)
		}
		below := 0.0
		for i, y := range data.Y {
			if y < predicted[i]-1e-4 {
				below++
			}
		}
		if part := below / float64(n); part > q || part < q-45/float64(n) {
			t.Errorf("%v of the rows are below the %v-quantile", part, q)
		}
		if r := f.(estimator.Reporter).Report(); r.Iterations > 60 {
			t.Errorf("%+v", r)
		}
	}
}

func TestQuantileRegressionRefusesWideRows(t *testing.T) {
	_, err := estimator.NewQuantileRegression().Fit(context.Background(), datasets.Set{
		X: matrices.CSRFromDense(mat.NewDense(2, 8200, nil)), Y: []float64{1, 2}})
	if err == nil || !strings.Contains(err.Error(), "must have at most 8192 columns, got 8200") {
		t.Error(err)
	}
}

// A quantile whose objective is as small as the rounding errors of residuals is fitted: no residual
// but those of rounding is negative.
func TestQuantileRegressionNearZero(t *testing.T) {
	for k, quantile := range append(slices.Repeat([]float64{1e-12}, 100), 1e-13, 1e-9, 1e-6, 1-1e-12) {
		rng := rand.New(rand.NewPCG(1, uint64(k)))
		X, y := mat.NewDense(300, 2, nil), make([]float64, 300)
		for i := range y {
			a, b := rng.Float64(), rng.Float64()
			X.SetRow(i, []float64{math.Sqrt(12) * (a - 0.5), math.Sqrt(12) * (b - 0.5)})
			y[i] = a + 2*b + 0.3*rng.NormFloat64()
		}
		s := estimator.NewQuantileRegression()
		s.Quantile = quantile
		m, err := s.Fit(context.Background(), datasets.Set{X: X, Y: y})
		if err != nil {
			t.Errorf("%v: %v", quantile, err)
			continue
		}
		got, err := m.Predict(context.Background(), X)
		if err != nil {
			t.Fatal(err)
		}
		for i := range y {
			if r := y[i] - got[i]; quantile < 0.5 && r < -1e-3 || quantile > 0.5 && r > 1e-3 {
				t.Fatalf("%v: residual %v of row %d", quantile, r, i)
			}
		}
	}
}
