package sgd

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

func losses() map[string]Loss {
	return map[string]Loss{"hinge": Hinge(), "perceptron": Perceptron(), "squared hinge": SquaredHinge(), "log": LogLoss(),
		"modified huber": ModifiedHuber(),
		"squared":        SquaredError(), "huber": Huber(0.3), "tube": EpsilonInsensitive(0.3),
		"squared tube": SquaredEpsilonInsensitive(0.3)}
}

// TestSlopesAreDerivatives checks that each derivative equals the difference quotient of its loss
// away from kinks, and that no second difference exceeds the curvature bound away from kinks.
func TestSlopesAreDerivatives(t *testing.T) {
	const h = 1e-4
	for name, l := range losses() {
		for _, target := range []float64{-1, 1} {
			for p := -3.013; p < 3; p += 0.05 {
				low, mid, high := l.value(p-h, target), l.value(p, target), l.value(p+h, target)
				bend := (high - 2*mid + low) / (h * h)
				if bend > 100 {
					continue // a kink
				}
				if bend > l.curve+1e-3 {
					t.Errorf("%s: the curvature at %v is %v, above %v", name, p, bend, l.curve)
				}
				if got, want := l.slope(p, target), (high-low)/(2*h); math.Abs(got-want) > 1e-3 {
					t.Errorf("%s: the slope at %v for %v is %v, want %v", name, p, target, got, want)
				}
			}
		}
	}
	if v := LogLoss().value(-800, 1); v != 800 {
		t.Errorf("the log loss of margin −800 is %v", v)
	}
}

// TestStepByHand computes a step of two rows by hand: η = 0.1, l2 = 0.5.
func TestStepByHand(t *testing.T) {
	l := New(Plan{Loss: SquaredError(), Cols: 2, Outputs: 1, L2: 0.5, Rate: "constant", Eta0: 0.1, Batch: 2,
		Intercept: true})
	copy(l.direct, []float64{1, -1})
	l.intercept[0] = 0.5
	x := Rows{Dense: design.View(mat.NewDense(2, 2, []float64{1, 2, 3, 1}))}
	// Scores −0.5 and 2.5, residuals p−t −1.5 and 0.5, of weights 1 and 3: Σ s·r/2 of x is (−1.5·(1,2) + 1.5·(3,1))/2 =
	// (1.5, −0.75), of the intercept 0. Weights shrink to 0.95.
	loss, err := l.Step(x, []float64{1, 2}, []float64{1, 3})
	if err != nil || loss != 0.5*2.25+3*0.5*0.25 {
		t.Fatalf("loss %v, %v", loss, err)
	}
	w, b := l.Model()
	for j, want := range []float64{0.95 - 0.15, -0.95 + 0.075} {
		if math.Abs(w[j]-want) > 1e-15 {
			t.Errorf("weight %d is %v, want %v", j, w[j], want)
		}
	}
	if math.Abs(b[0]-0.5) > 1e-15 {
		t.Errorf("intercept %v, want 0.5", b[0])
	}
}

// made returns rows of which the targets are nearly linear, or classes.
func made(n, cols, classes int) datasets.Set {
	rng := rand.New(rand.NewPCG(5, 6))
	X, y := mat.NewDense(n, cols, nil), make([]float64, n)
	for i := range n {
		row := X.RawRowView(i)
		for j := range row {
			if rng.IntN(3) > 0 {
				row[j] = rng.NormFloat64()
			}
		}
		y[i] = row[0] - 2*row[1] + 0.3*rng.NormFloat64() + 1
		if classes > 0 {
			y[i] = float64(max(0, min(int(y[i]+1), classes-1)))
		}
	}
	return datasets.Set{X: X, Y: y}
}

func given(first int, block datasets.Set) (y, weights []float64, err error) {
	y, _, err = design.BlockTargets(first, block)
	return y, block.Weights, err
}

// learned returns the weights and intercepts of a fit.
func learned(t *testing.T, f Fit, p Plan, r *design.Rows) []float64 {
	t.Helper()
	p.Storage, f.Block = StorageOf(r), given
	l := New(p)
	if _, err := f.Run(context.Background(), r, l); err != nil {
		t.Fatal(err)
	}
	w, b := l.Model()
	return append(w, b...)
}

// cut is a source that yields blocks of odd sizes.
type cut struct{ datasets.Set }

func (c cut) Schema() datasets.Schema { return c.Set.Schema }
func (c cut) Dims() (int, int)        { return -1, c.Cols() }
func (c cut) Blocks(_ context.Context, yield func(datasets.Set) error) error {
	for lo, size := 0, 3; lo < c.Rows(); lo, size = lo+size, size*2%53+1 {
		if err := yield(c.Slice(lo, min(lo+size, c.Rows()))); err != nil {
			return err
		}
	}
	return nil
}

// TestFormsCutsAndCores checks that the weights do not depend on the representation of rows, and
// are equal bit for bit for all blocks of a stream and numbers of cores.
func TestFormsCutsAndCores(t *testing.T) {
	ctx := context.Background()
	for _, outputs := range []int{1, 3, 30} {
		data := made(700, 40, outputs)
		data.Weights = make([]float64, 700)
		for i := range data.Weights {
			data.Weights[i] = float64(i % 4)
		}
		loss := LogLoss()
		if outputs == 1 {
			loss = SquaredError()
		}
		l1 := 0.001
		if outputs == 3 {
			l1 = 0 // sparse rows go without a step on all weights
		}
		plan := Plan{Loss: loss, Cols: 40, Outputs: outputs, L2: 0.01, L1: l1, Alpha: 0.01, Rate: "auto", Average: true,
			Batch: 33, Intercept: true}
		fit := Fit{Epochs: 4, Patience: 9, Shuffle: true, Seed: 7, ValidationShare: 0.1}
		thin, short := data, data
		thin.X, short.X = matrices.CSRFromDense(data.X), matrices.CopyDense32(data.X)
		var want []float64
		for _, form := range []struct {
			name      string
			set       datasets.Set
			tolerance float64
		}{{"dense", data, 0}, {"sparse", thin, 1e-9}, {"float32", short, 1e-4}} {
			r, err := design.FromSet(form.set)
			if err != nil {
				t.Fatal(err)
			}
			got := learned(t, fit, plan, r)
			if want == nil {
				want = got
			}
			for j := range want {
				if math.Abs(got[j]-want[j]) > form.tolerance {
					t.Fatalf("%d outputs, %s: weight %d is %v, want %v", outputs, form.name, j, got[j], want[j])
				}
			}
			stream, err := design.FromSource(ctx, cut{form.set})
			if err != nil {
				t.Fatal(err)
			}
			if again := learned(t, fit, plan, stream); !slices.Equal(again, got) {
				t.Errorf("%d outputs, %s: a stream comes to other weights", outputs, form.name)
			}
			before := runtime.GOMAXPROCS(1)
			again := learned(t, fit, plan, r)
			runtime.GOMAXPROCS(before)
			if !slices.Equal(again, got) {
				t.Errorf("%d outputs, %s: one core comes to other weights", outputs, form.name)
			}
		}
	}
}

// TestAverageOfSteps checks that averages accumulated with scaled weights equal those of
// explicit weights, also if the scale underflows.
func TestAverageOfSteps(t *testing.T) {
	for _, from := range []int{0, 1, 5} {
		data := made(200, 3, 0)
		l := New(Plan{Loss: SquaredError(), Cols: 3, Outputs: 1, L2: 3, L1: 0.01, Rate: "constant", Eta0: 0.2, Batch: 4,
			Intercept: true, Average: true, AverageFrom: from})
		x := rowsOf(data.X)
		sum, count := make([]float64, 4), 0.0
		for lo := 0; lo < 200; lo += 4 {
			if _, err := l.Step(x.between(lo, lo+4), data.Y[lo:lo+4], nil); err != nil {
				t.Fatal(err)
			}
			c := 1.0
			if from == 0 {
				c = float64(l.steps)
			} else if l.steps < from {
				continue
			}
			count += c
			for j, v := range l.direct {
				sum[j] += c * l.scale * v
			}
			sum[3] += c * l.intercept[0]
		}
		w, b := l.Model()
		for j, v := range append(w, b...) {
			if math.Abs(v-sum[j]/count) > 1e-13 {
				t.Errorf("from %d: mean %d is %v, want %v", from, j, v, sum[j]/count)
			}
		}
	}
}

// A resumed fit takes the same steps.
func TestResume(t *testing.T) {
	for _, form := range []string{"dense", "sparse"} {
		data := made(400, 6, 3)
		if form == "sparse" {
			data.X = matrices.CSRFromDense(data.X)
		}
		r, err := design.FromSet(data)
		if err != nil {
			t.Fatal(err)
		}
		plan := Plan{Loss: Hinge(), Cols: 6, Outputs: 3, Storage: StorageOf(r), L2: 0.01, L1: 0.01, Alpha: 0.02, Rate: "auto",
			Average: true, Batch: 10, Intercept: true}
		f := Fit{Epochs: 2, Patience: 9, Shuffle: true, Seed: 1, Block: given}
		whole, parts := New(plan), New(plan)
		if _, err := f.Run(context.Background(), r, whole); err != nil {
			t.Fatal(err)
		}
		f.Epochs = 1
		for range 2 {
			if _, err := f.Run(context.Background(), r, parts); err != nil {
				t.Fatal(err)
			}
			parts = Resume(plan, parts.Progress())
		}
		a, _ := whole.Model()
		b, _ := parts.Model()
		for j := range a {
			if math.Abs(a[j]-b[j]) > 1e-12 {
				t.Errorf("%s: weight %d is %v, want %v", form, j, b[j], a[j])
			}
		}
		if parts.Rows() != 800 || parts.Steps() != 80 {
			t.Errorf("%s: %d rows, %d steps", form, parts.Rows(), parts.Steps())
		}
	}
}

// Steps do not allocate after the first.
func TestStepsMakeNoGarbage(t *testing.T) {
	for _, outputs := range []int{1, 4} {
		data := made(64, 30, outputs)
		for form, X := range map[string]mat.Matrix{"dense": data.X, "float32": matrices.CopyDense32(data.X),
			"sparse": matrices.CSRFromDense(data.X)} {
			x := rowsOf(X)
			l := New(Plan{Loss: SquaredHinge(), Cols: 30, Outputs: outputs, Storage: x.Storage, L2: 0.01, L1: 0.01, Alpha: 0.01,
				Rate: "auto", Average: true, Batch: 64, Intercept: true})
			l.Prepare(x, data.Y, nil)
			from, into, list := &rowSet{x: x, y: data.Y}, newStore(x.Storage, 30), []int{5, 3, 60, 7, 8}
			step := func() {
				into.gather(from, list)
				if _, err := l.Step(into.rows(), into.y, nil); err != nil {
					t.Fatal(err)
				}
			}
			if n := testing.AllocsPerRun(20, step); n > 0 {
				t.Errorf("%s, %d outputs: %v allocations in a step", form, outputs, n)
			}
		}
	}
}

// Steps that lead away are an error, not weights.
func TestDivergence(t *testing.T) {
	data := made(300, 5, 0)
	r, err := design.FromSet(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, eta := range []float64{3, 300} {
		plan := Plan{Loss: SquaredError(), Cols: 5, Outputs: 1, Rate: "constant", Eta0: eta, Batch: 1, Intercept: true}
		_, err := Fit{Epochs: 20, Patience: 20, Block: given, CheckDivergence: true}.Run(context.Background(), r, New(plan))
		if !errors.Is(err, solve.ErrDiverged) {
			t.Errorf("eta %v: %v", eta, err)
		}
	}
	// The first step adapts to the scale of the rows.
	for _, size := range []float64{1e-6, 1, 1e6} {
		scaled := data
		x := mat.DenseCopyOf(data.X)
		x.Scale(size, x)
		scaled.X = x
		r, err := design.FromSet(scaled)
		if err != nil {
			t.Fatal(err)
		}
		l := New(Plan{Loss: SquaredError(), Cols: 5, Outputs: 1, Rate: "auto", Batch: 16, Intercept: true, Average: true})
		report, err := Fit{Epochs: 30, Patience: 30, Shuffle: true, Block: given,
			CheckDivergence: true}.Run(context.Background(), r, l)
		if err != nil || size == 1 && report.Objective > 0.06 {
			t.Errorf("inputs of size %v: %v, objective %v", size, err, report.Objective)
		}
	}
}

// Rows far larger than the first ones, by which the steps were chosen, do not overshoot.
func TestLargeRowsLate(t *testing.T) {
	data := made(4000, 5, 0)
	for i := 3000; i < 4000; i++ {
		for j := range 5 {
			data.X.(*mat.Dense).Set(i, j, 100*data.X.At(i, j))
		}
		data.Y[i] = data.X.At(i, 0) - 2*data.X.At(i, 1) + 1
	}
	r, err := design.FromSet(data)
	if err != nil {
		t.Fatal(err)
	}
	l := New(Plan{Loss: SquaredError(), Cols: 5, Outputs: 1, Rate: "auto", Batch: 4, Intercept: true})
	report, err := Fit{Epochs: 1, Patience: 1, Block: given, CheckDivergence: true}.Run(context.Background(), r, l)
	if err != nil || report.Objective > 0.5 {
		t.Errorf("%v, objective %v", err, report.Objective)
	}
}

// TestEarlyStopping checks that the weights are those of the best epoch on the validation rows,
// which are not used for training.
func TestEarlyStopping(t *testing.T) {
	data := made(300, 200, 0) // enough inputs to interpolate the rows
	r, err := design.FromSet(data)
	if err != nil {
		t.Fatal(err)
	}
	run := func(epochs int, held float64) (*Learner, solve.Report) {
		l := New(Plan{Loss: SquaredError(), Cols: 200, Outputs: 1, Rate: "auto", Batch: 4, Intercept: true})
		report, err := Fit{Epochs: epochs, Patience: 3, Shuffle: true, Seed: 2, ValidationShare: held,
			Block: given}.Run(context.Background(), r, l)
		if err != nil {
			t.Fatal(err)
		}
		return l, report
	}
	l, report := run(200, 0.3)
	if !report.Converged || report.Iterations > 100 || report.Iterations < 5 {
		t.Fatalf("%+v", report)
	}
	train := l.rows / (report.Iterations - 3)
	if train < 180 || train > 240 {
		t.Errorf("%d rows of 300 are learned from in an epoch", train)
	}
	best, _ := run(report.Iterations-3, 0.3)
	a, _ := l.Model()
	b, _ := best.Model()
	if !slices.Equal(a, b) {
		t.Error("the weights are not those of the best epoch")
	}
}
