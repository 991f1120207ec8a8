package network

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// small is a spec for d inputs.
func small(d int) Spec {
	k, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	return Spec{Kernel: k, Scales: slices.Repeat([]float64{0.7}, d), Layers: 1, Features: 12, TrainScales: true,
		TrainFrequencies: true, TrainPhases: true,
		Alpha: 0.3, Rate: 0.03, Epochs: 30, Batch: 16, HeldOut: 0.1, Patience: 8, Seed: 5}
}

// drawn returns rows, one in three entries of which is 0, with weights and targets of a loss.
func drawn(loss Loss, n, d, q int) Data {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(q)))
	X := mat.NewDense(n, d, nil)
	data := Data{X: X, Y: make([]float64, n*q), Outputs: q, Weights: make([]float64, n), Loss: loss}
	for i := range n {
		data.Weights[i] = 0.5 + rng.Float64()
		for j := range d {
			if rng.IntN(3) > 0 {
				X.Set(i, j, rng.NormFloat64()+0.4)
			}
		}
		switch class := rng.IntN(max(q, 2)); loss {
		case Squares:
			for c := range q {
				data.Y[i*q+c] = math.Sin(X.At(i, c%d)*2) + X.At(i, (c+1)%d)/2
			}
		case Logistic:
			data.Y[i] = float64(class)
			data.Class = append(data.Class, class)
		case Softmax:
			data.Y[i*q+class] = 1
			data.Class = append(data.Class, class)
		}
	}
	return data
}

// The slope is the gradient of the objective, by every weight: of each loss, of one layer and of more, of dense and of
// sparse rows, and with layers that are not trained below trained ones.
func TestSlopeAgainstDifferences(t *testing.T) {
	ctx := context.Background()
	const n, d, decay = 9, 4, 0.2
	for _, c := range []struct {
		loss      Loss
		q, layers int
		thin      bool
	}{{Squares, 1, 1, false}, {Squares, 3, 1, true}, {Logistic, 1, 1, false}, {Softmax, 3, 1, false},
		{Squares, 1, 2, true}, {Squares, 2, 3, false}, {Logistic, 1, 2, false}, {Softmax, 4, 3, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			data, s := drawn(c.loss, n, d, c.q), small(d)
			s.Layers, s.HeldOut = c.layers, 0
			if c.thin {
				data.X = matrices.CSRFromDense(data.X)
			}
			tr, err := newTraining[float64](ctx, s, data)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(3, 4)) // a head of zeros would hide the layers
			for i := range tr.net.weights {
				tr.net.weights[i] += 0.5 * rng.NormFloat64()
			}
			objective := func() float64 {
				tr.net.refresh()
				tr.batch.take(tr.rows, tr.train)
				if err := tr.net.forward(ctx, tr.batch); err != nil {
					t.Fatal(err)
				}
				sum := lossAndGradient(tr.batch, c.loss, c.q) / n
				for r := range tr.net.head.Rows {
					sum += decay / 2 * kern.Dot(tr.net.head.Row(r), tr.net.head.Row(r))
				}
				return sum
			}
			tr.batch = newMinibatch(tr.net, tr.rows, n)
			objective()
			if err := tr.net.backward(ctx, tr.batch, decay); err != nil {
				t.Fatal(err)
			}
			checkSlope(t, tr.net, objective)
		})
	}
}

// checkSlope compares the slope of a net with central differences by every weight.
func checkSlope(t *testing.T, net *net[float64], objective func() float64) {
	t.Helper()
	slope := slices.Clone(net.slope)
	const h = 2e-4
	unseen := 0
	for i, at := range net.weights {
		value := func(step float64) float64 {
			net.weights[i] = at + step
			return objective()
		}
		want := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
		value(0)
		trained := slices.ContainsFunc(net.trained, func(p part) bool { return p.from <= i && i < p.to })
		if !trained {
			unseen++
		} else if math.Abs(slope[i]-want) > 1e-7*max(1, math.Abs(want)) {
			t.Fatalf("weight %d: slope %v, by differences %v", i, slope[i], want)
		}
	}
	if want := (len(net.layers) - 1) * net.head.Cols; unseen != want { // scales of upper layers
		t.Errorf("%d weights are not trained, want %d", unseen, want)
	}
}

// TestOnlyNamedParametersAreTrained checks that fixed parameters are unchanged bit for bit, and that
// trained ones change.
func TestOnlyNamedParametersAreTrained(t *testing.T) {
	for _, layers := range []int{1, 2} {
		for set := range 8 {
			s := small(4)
			s.Layers, s.TrainScales, s.TrainFrequencies, s.TrainPhases = layers, set&1 > 0, set&2 > 0, set&4 > 0
			tr, err := newTraining[float32](context.Background(), s, drawn(Squares, 60, 4, 2))
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(tr.net.weights)
			if err := tr.run(context.Background()); err != nil {
				t.Fatal(err)
			}
			for l, y := range tr.net.layers {
				for what, p := range map[string]struct {
					at, count int
					moves     bool
				}{"frequencies": {y.atU, y.in * y.out, s.TrainFrequencies}, "phases": {y.atB, y.out, s.TrainPhases},
					"scales": {y.atS, y.in, s.TrainScales && l == 0}} {
					if same := slices.Equal(before[p.at:p.at+p.count], tr.net.weights[p.at:p.at+p.count]); same == p.moves {
						t.Errorf("set %d, layer %d: are the %s the same: %v", set, l, what, same)
					}
				}
			}
		}
	}
}

// TestAdam compares a step with algorithm 1 of the paper.
func TestAdam(t *testing.T) {
	n := &net[float64]{weights: []float64{1, -2, 3}, slope: make([]float64, 3), trained: []part{{1, 3, 0.5}}}
	a := newAdam[float64](3)
	want, m, v := []float64{1, -2, 3}, make([]float64, 3), make([]float64, 3)
	for step := 1; step <= 5; step++ {
		for i := range 3 {
			g := math.Sin(float64(step * (i + 1)))
			n.slope[i] = g
			if i == 0 {
				continue // not trained
			}
			m[i], v[i] = 0.9*m[i]+0.1*g, 0.999*v[i]+0.001*g*g
			unbiased, square := m[i]/(1-math.Pow(0.9, float64(step))), v[i]/(1-math.Pow(0.999, float64(step)))
			want[i] -= 0.1 * 0.5 * unbiased / (math.Sqrt(square) + 1e-8)
		}
		a.step(n, 0.1)
		for i, w := range n.weights {
			if math.Abs(w-want[i]) > 1e-12 {
				t.Fatalf("step %d: weight %d is %v, want %v", step, i, w, want[i])
			}
		}
	}
}

// With nothing trained but the head, and a penalty, training ends near the ridge regression on the features that were
// drawn, by normal equations in the test.
func TestFixedLayerTendsToRidge(t *testing.T) {
	data, s := drawn(Squares, 200, 3, 1), small(3)
	s.TrainScales, s.TrainFrequencies, s.TrainPhases = false, false, false
	s.HeldOut, s.Epochs, s.Patience, s.Rate, s.Batch, s.Alpha = 0, 600, 40, 0.3, 200, 2
	m, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	n, D := 200, s.Features
	Z := mat.NewDense(n, D+1, nil)
	if err := eachTile(context.Background(), m.maps, data.X, func(first int, z *mat.Dense) error {
		Z.Slice(first, first+z.RawMatrix().Rows, 0, D).(*mat.Dense).Copy(z)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var A mat.Dense
	weighted, b := mat.NewDense(n, D+1, nil), mat.NewVecDense(D+1, nil)
	for i := range n {
		Z.Set(i, D, 1)
		for j := range D + 1 {
			weighted.Set(i, j, data.Weights[i]*Z.At(i, j))
		}
	}
	A.Mul(weighted.T(), Z)
	b.MulVec(weighted.T(), mat.NewVecDense(n, data.Y))
	for j := range D {
		A.Set(j, j, A.At(j, j)+s.Alpha)
	}
	var w mat.VecDense
	if err := w.SolveVec(&A, b); err != nil {
		t.Fatal(err)
	}
	got := make([]float64, n)
	if err := m.Scores(context.Background(), got, data.X); err != nil {
		t.Fatal(err)
	}
	var want mat.VecDense
	want.MulVec(Z, &w)
	for i, v := range got {
		if math.Abs(v-want.AtVec(i)) > 0.02 {
			t.Fatalf("row %d: %v, want %v", i, v, want.AtVec(i))
		}
	}
	if !m.Report.Plateau {
		t.Errorf("no plateau: %+v", m.Report)
	}
}

// lossOnOthers returns the mean squared error on an independent sample, relative to the variance.
func lossOnOthers(t *testing.T, s Spec, d int, f func(x []float64) float64) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 9))
	rows := func(n int) (*mat.Dense, []float64) {
		X, y := mat.NewDense(n, d, nil), make([]float64, n)
		for i := range n {
			for j := range d {
				X.Set(i, j, rng.NormFloat64())
			}
			y[i] = f(X.RawRowView(i))
		}
		return X, y
	}
	X, y := rows(1200)
	m, err := s.Fit(context.Background(), Data{X: X, Y: y, Outputs: 1, Weights: slices.Repeat([]float64{1}, len(y))})
	if err != nil {
		t.Fatal(err)
	}
	X, y = rows(500)
	got := make([]float64, len(y))
	if err := m.Scores(context.Background(), got, X); err != nil {
		t.Fatal(err)
	}
	sum, square := 0.0, 0.0
	for i, v := range y {
		sum, square = sum+(v-got[i])*(v-got[i]), square+v*v
	}
	return sum / square
}

// A wave in two of twelve inputs, of which no draw of a few frequencies has the frequency, is found by training.
func TestTrainingFindsAWave(t *testing.T) {
	wave := func(x []float64) float64 { return math.Sin(2*x[0] - x[1]) }
	s := small(12)
	s.Scales, s.Features, s.Epochs, s.Alpha = slices.Repeat([]float64{0.3}, 12), 40, 60, 0.01
	trained := lossOnOthers(t, s, 12, wave)
	s.TrainScales, s.TrainFrequencies, s.TrainPhases = false, false, false
	if fixed := lossOnOthers(t, s, 12, wave); trained > 0.05 || fixed < 0.5 {
		t.Errorf("a part of %.3f is not explained by trained features, and of %.3f by fixed ones", trained, fixed)
	}
}

// TestCoresDoNotMatter checks that the bits do not depend on the number of cores.
func TestCoresDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, loss := range []Loss{Squares, Softmax} {
		data, s := drawn(loss, 700, 5, 3), small(5)
		s.Layers, s.Features, s.Batch, s.Epochs = 2, 150, 256, 3
		var first *Model
		for _, cores := range []int{1, 2, 3} {
			runtime.GOMAXPROCS(cores)
			m, err := s.Fit(context.Background(), data)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = m
			}
			for l := range m.Layers {
				if !mat.Equal(m.Layers[l].W, first.Layers[l].W) || !slices.Equal(m.Layers[l].B, first.Layers[l].B) {
					t.Errorf("layer %d is another with %d cores", l, cores)
				}
			}
			if !mat.Equal(m.Head, first.Head) || !slices.Equal(m.Intercept, first.Intercept) || m.Report != first.Report {
				t.Errorf("the head is another with %d cores", cores)
			}
		}
	}
}

// TestDiverged checks that divergence is an error, and so are targets that are too large.
func TestDiverged(t *testing.T) {
	data, s := drawn(Squares, 80, 4, 1), small(4)
	for _, rate := range []float64{1e6, 1e30} {
		s.Rate = rate
		if m, err := s.Fit(context.Background(), data); !errors.Is(err, solve.ErrDiverged) || m != nil {
			t.Errorf("rate %v: %v, %v", rate, m, err)
		}
	}
	s = small(4)
	s.Scales = slices.Repeat([]float64{1e300}, 4)
	if m, err := s.Fit(context.Background(), data); err == nil || m != nil {
		t.Errorf("%v, %v", m, err)
	}
}

// For targets independent of the inputs the initial model is returned, the mean or the class
// frequencies, also if a large penalty or long steps end above it.
func TestNothingToLearn(t *testing.T) {
	for _, loss := range []Loss{Squares, Logistic} {
		for _, c := range []struct{ alpha, rate, held float64 }{{0.3, 0.03, 0.5}, {1e4, 0.03, 0}, {1e6, 0.03, 0.1},
			{1e3, 0.3, 0.5}, {0, 0.003, 0.5}} {
			data, s := drawn(loss, 300, 4, 1), small(4)
			s.Alpha, s.Rate, s.HeldOut = c.alpha, c.rate, c.held
			rng := rand.New(rand.NewPCG(1, 1))
			for i := range data.Y {
				if data.Weights[i] = 1; loss == Squares {
					data.Y[i] = rng.NormFloat64()
				}
			}
			m, err := s.Fit(context.Background(), data)
			if err != nil {
				t.Errorf("loss %v, %+v: %v", loss, c, err)
				continue
			}
			got := make([]float64, 300)
			if err := m.Scores(context.Background(), got, data.X); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if math.Abs(v) > 0.5 || m.Report.Best == 0 && v != m.Intercept[0] {
					t.Fatalf("loss %v, %+v, row %d: %v, best after %d", loss, c, i, v, m.Report.Best)
				}
			}
		}
	}
}

// TestSplit checks that the validation set is stratified, and disjoint from the training set.
func TestSplit(t *testing.T) {
	data, s := drawn(Softmax, 400, 3, 4), small(3)
	s.HeldOut = 0.25
	train, held := s.split(data, 400)
	all := slices.Sorted(slices.Values(slices.Concat(train, held)))
	for i, k := range all {
		if i != k || len(all) != 400 {
			t.Fatalf("%d rows, row %d is %d", len(all), i, k)
		}
	}
	of := make([][2]int, 4)
	for side, list := range [][]int{train, held} {
		for _, i := range list {
			of[data.Class[i]][side]++
		}
	}
	for c, n := range of {
		if n[1] != (n[0]+n[1])/4 {
			t.Errorf("class %d: %d rows to train on, %d held out", c, n[0], n[1])
		}
	}
}
