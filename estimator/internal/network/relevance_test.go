package network

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// bySlopes computes the relevance by central differences of the outputs at all rows, for targets of
// variance 1.
func bySlopes(t *testing.T, m *Model, data Data) []float64 {
	t.Helper()
	const h = 1e-5
	n, d := data.X.Dims()
	q := data.Outputs
	out := make([]float64, d)
	up, down := make([]float64, n*q), make([]float64, n*q)
	for j := range d {
		sum, mean, square := 0.0, 0.0, 0.0
		for side, scores := range [][]float64{up, down} {
			X := mat.DenseCopyOf(data.X)
			for i := range n {
				X.Set(i, j, X.At(i, j)+h*float64(1-2*side))
			}
			if err := m.Scores(context.Background(), scores, X); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			slopes, middle := make([]float64, q), 0.0
			for c := range q {
				slopes[c] = (up[i*q+c] - down[i*q+c]) / (2 * h)
				middle += slopes[c] / float64(q)
			}
			for _, g := range slopes {
				if data.Loss == Softmax {
					g -= middle
				}
				sum += data.Weights[i] * g * g
			}
			mean += data.X.At(i, j) / float64(n)
		}
		for i := range n {
			square += (data.X.At(i, j) - mean) * (data.X.At(i, j) - mean) / float64(n)
		}
		out[j] = math.Sqrt(sum * square)
	}
	largest := slices.Max(out)
	for j := range out {
		out[j] /= largest
	}
	return out
}

// The relevance is that of differences of the outputs: of each loss, of one layer and of more, of
// dense and of sparse rows.
func TestRelevanceAgainstDifferences(t *testing.T) {
	for _, c := range []struct {
		loss      Loss
		q, layers int
		thin      bool
	}{{Squares, 1, 1, false}, {Squares, 3, 2, false}, {Logistic, 1, 1, true}, {Softmax, 4, 1, false},
		{Softmax, 3, 3, true}} {
		data, s := drawn(c.loss, 200, 4, c.q), small(4)
		s.Layers = c.layers
		if c.thin {
			data.X = matrices.CSRFromDense(data.X)
		}
		m, err := s.Fit(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		if m.Report.Best == 0 { // nothing was learned
			t.Fatalf("%+v: nothing was learned", c)
		}
		for j, want := range bySlopes(t, m, data) {
			if math.Abs(m.Relevance[j]-want) > 1e-6 {
				t.Errorf("%+v: input %d has %v, by differences %v", c, j, m.Relevance[j], want)
			}
		}
	}
}

// Of one feature of two inputs, the derivative by each is its frequency times the same, so that relevances are |w|·σ.
func TestRelevanceOfOneFeature(t *testing.T) {
	data, s := drawn(Squares, 300, 2, 1), small(2)
	s.Features = 1
	m, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	var want [2]float64
	for j := range want {
		list := mat.Col(nil, j, data.X)
		mean, square := 0.0, 0.0
		for _, v := range list {
			mean += v / 300
		}
		for _, v := range list {
			square += (v - mean) * (v - mean) / 300
		}
		want[j] = math.Abs(m.Layers[0].W.At(j, 0)) * math.Sqrt(square)
	}
	largest := max(want[0], want[1])
	for j, v := range want {
		if math.Abs(m.Relevance[j]-v/largest) > 1e-12 {
			t.Errorf("input %d has %v, by hand %v", j, m.Relevance[j], v/largest)
		}
	}
}

// TestRelevanceFindsInputs checks that relevant inputs are found independent of their units, and
// that there is no relevance without signal.
func TestRelevanceFindsInputs(t *testing.T) {
	const n, d = 1500, 24
	rng := rand.New(rand.NewPCG(1, 2))
	X, data := mat.NewDense(n, d, nil), Data{Y: make([]float64, n), Outputs: 1, Weights: slices.Repeat([]float64{1}, n)}
	for i := range n {
		x := X.RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		data.Y[i] = (math.Sin(1.5*x[0]) + x[5]*x[11] + math.Abs(x[20]) + 0.1*rng.NormFloat64()) / 1.4
	}
	data.X = X
	s := small(d)
	s.Scales, s.Features, s.Epochs = slices.Repeat([]float64{0.2}, d), 60, 60
	m, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	smallest, largest := 1.0, 0.0
	for j, v := range m.Relevance {
		if j == 0 || j == 5 || j == 11 || j == 20 {
			smallest = min(smallest, v)
		} else {
			largest = max(largest, v)
		}
	}
	if t.Logf("%.2f", m.Relevance); smallest < 0.4 || largest > 0.1 {
		t.Errorf("inputs that matter have %.3f or more, others up to %.3f", smallest, largest)
	}
	for i := range data.Y {
		data.Y[i] = 0
	}
	if m, err = s.Fit(context.Background(), data); err != nil || m.Relevance != nil {
		t.Errorf("%v, %v where there is nothing to learn", m.Relevance, err)
	}
}
