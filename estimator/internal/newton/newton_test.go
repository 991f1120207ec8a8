package newton

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// classes returns rows of k overlapping classes with weights, some of them 0.
func classes(n, d, k int) (*mat.Dense, *design.Labels) {
	random := rand.New(rand.NewPCG(5, uint64(k)))
	X := mat.NewDense(n, d, nil)
	l := &design.Labels{Y: make([]float64, n), Weights: make([]float64, n), Classes: make([]string, k),
		Absent: make([]bool, k)}
	for i := range n {
		c := i % k
		l.Y[i], l.Weights[i] = float64(c), float64(random.IntN(4))
		for j := range d {
			X.Set(i, j, random.NormFloat64()+float64(c)*float64(j%3)/2)
		}
	}
	return X, l
}

// rounding is leading with float32 rows in addition.
func rounding(t *testing.T, X *mat.Dense) func(width int) *design.Rows {
	blurred := matrices.CopyDense32(X)
	return func(width int) *design.Rows {
		both := *leading(t, X)(width)
		var err error
		if both.Float32Rows, err = design.FromSet(datasets.Set{X: blurred.Leading(width)}); err != nil {
			t.Fatal(err)
		}
		return &both
	}
}

// leading reads the leading columns of rows.
func leading(t *testing.T, X *mat.Dense) func(width int) *design.Rows {
	return func(width int) *design.Rows {
		n, _ := X.Dims()
		r, err := design.FromSet(datasets.Set{X: X.Slice(0, n, 0, width)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// off is the largest difference of weights and intercepts of two models.
func off(a, b solve.Linear) float64 {
	largest := 0.0
	for i, v := range a.Weights {
		largest = max(largest, math.Abs(v-b.Weights[i]))
	}
	for j, v := range a.Intercept {
		largest = max(largest, math.Abs(v-b.Intercept[j]))
	}
	return largest
}

const exact = 1e-11 // relative gradient to go to

// alone solves a single task with weights times C on the leading columns.
func alone(t *testing.T, task Task, C float64, r *design.Rows) solve.Linear {
	t.Helper()
	weights := make([]float64, len(task.weights))
	for i, s := range task.weights {
		weights[i] = C * s
	}
	task.weights, task.ObjectiveBound = weights, C*task.ObjectiveBound
	m, err := task.Solve(context.Background(), r, exact, 200)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// SolveScaled agrees with Solve on scaled features, for few and many columns and float32 rows.
func TestScaledIsTheTaskByItself(t *testing.T) {
	const n, d, scale = 90, 6, 0.5
	for _, k := range []int{2, 3} {
		X, l := classes(n, d, k)
		rows := leading(t, X)
		for name, task := range map[string]Task{"logistic": Logistic(l, true, exact), "hinge": SquaredHinge(l, true, exact),
			"no intercept": Logistic(l, false, exact), "logistic by rounded rows": Logistic(l, true, exact)} {
			read := rows
			if name == "logistic by rounded rows" {
				read = rounding(t, X)
			}
			for _, width := range []int{3, d} {
				for _, C := range []float64{0.3, 4} {
					got, err := task.SolveScaled(context.Background(), read(width), C, scale, exact, 200)
					if err != nil {
						t.Fatal(err)
					}
					want := alone(t, task, C*scale*scale, rows(width))
					if e := off(got, want); e > 1e-6 ||
						math.Abs(got.Report.Objective*scale*scale-want.Report.Objective) > 1e-6*want.Report.Objective {
						t.Errorf("%s of %d classes, C %v on %d columns: off by %.2g, objective %v", name, k, C, width, e,
							got.Report.Objective)
					}
				}
			}
		}
	}
}

// A batch of several C and widths, with left-out rows, has the solutions of independent problems.
func TestBatchIsEachProblemByItself(t *testing.T) {
	const n, d = 120, 6
	X, l := classes(n, d, 2)
	half := *l
	half.Weights = make([]float64, n)
	copy(half.Weights[:n/2], l.Weights)
	for _, intercept := range []bool{true, false} {
		var problems []Problem
		var want []solve.Linear
		rows := leading(t, X)
		for _, on := range []*design.Labels{l, &half} {
			for _, task := range []Task{Logistic(on, intercept, exact), SquaredHinge(on, intercept, exact)} {
				for _, width := range []int{4, d} {
					for _, C := range []float64{0.2, 3} {
						problems = append(problems, task.Problems(on.Y, on.Weights, C, 1, width)...)
						want = append(want, alone(t, task, C, rows(width)))
					}
				}
			}
		}
		for _, read := range []*design.Rows{rows(d), rounding(t, X)(d)} {
			b := NewBatch(context.Background(), read, intercept, problems)
			if err := b.Solve(exact, 200); err != nil {
				t.Fatal(err)
			}
			for p, w := range want {
				got := b.Model(p, 1, exact)
				if e := off(got, w); e > 1e-6 || len(got.Weights) != problems[p].Width || !got.Report.Converged {
					t.Errorf("intercept %v, problem %d: off by %.2g, converged %v", intercept, p, e, got.Report.Converged)
				}
				if v := got.Report.Objective; math.Abs(v-w.Report.Objective) > 1e-8*w.Report.Objective {
					t.Errorf("intercept %v, problem %d: objective %v, want %v", intercept, p, v, w.Report.Objective)
				}
			}
		}
	}
}

// Mixed precision reaches the float64 minimum, also if float32 overflows.
func TestRoundedRowsLeadToTheSameMinimum(t *testing.T) {
	const n, d = 300, 7
	for _, k := range []int{2, 3} {
		X, l := classes(n, d, k)
		for what, scale := range map[string]float64{"usual": 1, "too large for single precision": 1e39} {
			X := mat.DenseCopyOf(X)
			for i := range n {
				X.Set(i, 0, scale*X.At(i, 0))
			}
			rows, err := design.FromSet(datasets.Set{X: X})
			if err != nil {
				t.Fatal(err)
			}
			for name, task := range map[string]Task{"logistic": Logistic(l, true, exact),
				"no intercept": Logistic(l, false, exact),
				"hinge":        SquaredHinge(l, true, exact), "tube": SquaredEpsilonInsensitive(l, 0.4, true, math.Inf(1)),
				"huber": Huber(l, 1.35, 0.1, true, exact), "poisson": Tweedie(l, 1, 0.1, true, exact)} {
				solved := func(r *design.Rows) solve.Linear {
					m, err := task.Solve(context.Background(), r, 1e-9, 100)
					if err != nil {
						t.Fatal(err)
					}
					return m
				}
				want := solved(rows)
				both := rounding(t, X)(d)
				got := solved(both)
				if e := off(got, want); e > 1e-6 || !got.Report.Converged || got.Report.Gradient > 1e-9 {
					t.Errorf("%s of %d classes, rows %s: off by %.2g, %+v", name, k, what, e, got.Report)
				}
				if scale == 1 && off(solved(both.Float32Rows), want) <= off(got, want) {
					t.Errorf("%s of %d classes: rounded rows alone are as good", name, k)
				}
			}
		}
	}
}

// The gradient is the derivative of the value for every loss and kind of rows.
func TestGradientIsTheDerivative(t *testing.T) {
	const n, d = 40, 3
	X, l := classes(n, d, 3)
	for name, m := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X)} {
		rows, err := design.FromSet(datasets.Set{X: m})
		if err != nil {
			t.Fatal(err)
		}
		checkGradient(t, name, rows, l)
	}
}

func checkGradient(t *testing.T, kind string, rows *design.Rows, l *design.Labels) {
	t.Helper()
	positive := slices.Clone(l.Y)
	for i := range positive {
		positive[i] = math.Exp(2 * positive[i])
	}
	for name, task := range map[string]Task{"softmax": Logistic(l, true, exact), "hinge": SquaredHinge(l, true, exact),
		"tube": SquaredEpsilonInsensitive(l, 0.4, true, math.Inf(1)), "poisson": Tweedie(l, 1, 1, true, exact),
		"tweedie": Tweedie(l, 1.3, 0, false, exact),
		"gamma":   Tweedie(&design.Labels{Y: positive, Weights: l.Weights}, 2, 0.1, false, exact)} {
		n := len(l.Y)
		o := task.batch(context.Background(), rows, n, task.weights)
		o.setCurves(make([]float64, n*task.Outputs))
		random := rand.New(rand.NewPCG(1, 1))
		x, g := make([]float64, o.size()), make([]float64, o.size())
		for i := range x {
			x[i] = random.NormFloat64() / 3
		}
		value := func() float64 {
			values, unused := make([]float64, task.Groups), make([]float64, o.size())
			if err := o.Evaluate(values, unused, x); err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, v := range values {
				sum += v
			}
			copy(g, unused)
			return sum
		}
		value()
		want := append([]float64(nil), g...)
		for i := range x {
			const h = 1e-6
			at := x[i]
			x[i] = at + h
			up := value()
			x[i] = at - h
			down := value()
			x[i] = at
			if slope := (up - down) / (2 * h); math.Abs(slope-want[i]) > 1e-5*(1+math.Abs(want[i])) {
				t.Errorf("%s, %s rows: derivative %d is %v, the gradient %v", name, kind, i, slope, want[i])
			}
		}
	}
}
