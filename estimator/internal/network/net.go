package network

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
)

// net is a network during training. Its weights are in one slice, so that a step of Adam, or a copy
// of the best weights, is a single loop; the slices below are views of it.
type net[T kern.Float] struct {
	layers    []layer[T]
	head      kern.View[T] // q×D
	intercept []T          // q
	center    []T          // d, subtracted from the inputs
	weights   []T
	slope     []T // gradient of the objective
	trained   []part
	headAt    int // offset of head and intercept in weights
}

// part is a trained range of the weights.
type part struct {
	from, to int
	rate     float64 // relative to the learning rate
}

// layer is a layer of a net.
type layer[T kern.Float] struct {
	in, out        int
	base           kern.View[T] // d×D, U
	phase          []T          // D, phases b
	scale          []T          // d, logarithms of the scales relative to factor
	factor         []float64    // d, initial scales
	scales         []T          // d, current scales, factor·exp(scale)
	w              kern.View[T] // d×D, diag(now)·U
	gradW          kern.View[T] // d×D, derivative by w; empty if w is fixed
	trainU, trainB bool
	trainS         bool
	atU, atB, atS  int // offsets in weights
}

// fixed reports whether no parameter of the layer is trained.
func (y *layer[T]) fixed() bool { return !y.trainU && !y.trainB && !y.trainS }

// changes reports whether its frequencies change.
func (y *layer[T]) changes() bool { return y.trainU || y.trainS }

// newNet returns a network with random layers and a zero head.
func newNet[T kern.Float](ctx context.Context, s Spec, center []float64, outputs int) (*net[T], error) {
	d, D := len(center), s.Features
	n := &net[T]{center: rounded[T](center)}
	size := D*outputs + outputs
	for l := range s.Layers {
		y := layer[T]{in: d, out: D, factor: s.Scales, trainU: s.TrainFrequencies, trainB: s.TrainPhases,
			trainS: s.TrainScales && l == 0}
		if l > 0 { // inputs have a norm of about 1
			y.in = D
			y.factor = s.Kernel.Factors(slices.Repeat([]float64{s.Kernel.GammaOfScale(D, math.Sqrt(1/float64(D)))}, D))
		}
		size += y.in*D + D + y.in
		n.layers = append(n.layers, y)
	}
	n.weights, n.slope = make([]T, size), make([]T, size)
	at := 0
	take := func(count int, train bool, rate float64) (from int, list []T) {
		from, at = at, at+count
		if train {
			n.trained = append(n.trained, part{from, at, rate})
		}
		return from, n.weights[from:at:at]
	}
	for l := range n.layers {
		y := &n.layers[l]
		var list []T
		y.atU, list = take(y.in*D, y.trainU, 1/math.Sqrt(float64(y.in)))
		y.base = kern.Dense(y.in, D, D, list)
		y.atB, y.phase = take(D, y.trainB, 1)
		y.atS, y.scale = take(y.in, y.trainS, 1)
		y.w, y.scales = kern.Dense(y.in, D, D, make([]T, y.in*D)), make([]T, y.in)
		if y.changes() {
			y.gradW = kern.Dense(y.in, D, D, make([]T, y.in*D))
		}
		if err := y.draw(ctx, s, l); err != nil {
			return nil, err
		}
		y.refresh()
	}
	from, list := take(D*outputs, true, 1/math.Sqrt(float64(D)))
	n.headAt, n.head = from, kern.Dense(outputs, D, D, list)
	_, n.intercept = take(outputs, true, 1)
	return n, nil
}

// draw sets the initial frequencies and phases of layer l.
func (y *layer[T]) draw(ctx context.Context, s Spec, l int) error {
	seed := s.Seed
	if l > 0 {
		seed = spectral.Scramble(seed + uint64(l))
	}
	draws, err := fourier.Draw(ctx, s.Kernel, seed, y.in, y.out, false)
	if err != nil {
		return err
	}
	for j := range y.in {
		for k, w := range draws.Base.RawRowView(j) {
			y.base.Set(j, k, T(w))
		}
	}
	for k, b := range draws.Phase {
		y.phase[k] = T(b)
	}
	return nil
}

func rounded[T kern.Float](list []float64) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = T(v)
	}
	return out
}

// refresh recomputes the scaled frequencies of trained layers from the weights.
func (n *net[T]) refresh() {
	for l := range n.layers {
		if n.layers[l].changes() {
			n.layers[l].refresh()
		}
	}
}

func (y *layer[T]) refresh() {
	for j := range y.in {
		s, row := T(y.factor[j]*math.Exp(float64(y.scale[j]))), y.w.Row(j)
		y.scales[j] = s
		for k, u := range y.base.Row(j) {
			row[k] = s * u
		}
	}
}

// lowest returns the index of the first trained layer, or the number of layers if only the head is
// trained.
func (n *net[T]) lowest() int {
	for l := range n.layers {
		if !n.layers[l].fixed() {
			return l
		}
	}
	return len(n.layers)
}

// currentLayers returns the current layers, for rows that are not centered.
func (n *net[T]) currentLayers() []Layer {
	out := make([]Layer, len(n.layers))
	for l := range n.layers {
		y := &n.layers[l]
		W, B := mat.NewDense(y.in, y.out, nil), make([]float64, y.out)
		for k, b := range y.phase {
			B[k] = float64(b)
		}
		for j := range y.in {
			for k, w := range y.w.Row(j) {
				W.Set(j, k, float64(w))
				if l == 0 {
					B[k] -= float64(n.center[j]) * float64(w)
				}
			}
		}
		for k, b := range B { // normalize to [0, 2π)
			if B[k] = math.Mod(b, 2*math.Pi); B[k] < 0 {
				B[k] += 2 * math.Pi
			}
		}
		out[l] = Layer{W: W, B: B}
	}
	return out
}
