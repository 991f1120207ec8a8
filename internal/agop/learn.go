package agop

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/spectral"
)

// Options say what to learn, and from what.
type Options struct {
	Kernel    Kernel
	Bandwidth float64 // times the median distance of two mapped rows: the width of the kernel
	Power     float64 // of M
	Rounds    int     // maps that are learned
	Diagonal  bool
	Features  int // of a ridge regression on random Fourier features; 0 for one with the exact kernel
	Seed      uint64
}

// Rows are what to learn from, in random order.
type Rows struct {
	X    kern.View[float64] // n×d
	Y    kern.View[float64] // n×t
	Held int                // the first so many are predicted, never fitted to
}

// Result is the map of the round whose machine predicts the held rows best.
type Result struct {
	Map      *mat.Dense // d×d and symmetric, or d×1 of factors
	Products *mat.Dense // M, of trace 1: d×d, or d×1; nil where no round was better than none
	Errors   []float64  // mean squared errors on the held rows, of each round, that without a map first
	Alpha    []float64  // the penalty of each round
	Round    int        // 0 for none
}

// machine is a ridge regression on mapped rows.
type machine interface {
	// score fits to mapped rows, with the penalty that predicts the held ones best, and returns their error.
	score(ctx context.Context, u points) (loss, alpha float64, err error)
	// gradients adds the products of gradients; round counts from 0.
	gradients(ctx context.Context, p *products, round int) error
}

// Learn learns a map, such that the kernel of γ = 1 behind it is the kernel that it was learned with.
//
// Round by round it maps the rows by A, fits a machine, and takes M^power of its gradients for the next A.
// The exact machine of a round is fitted to half as many rows as the one after it, the last one to all:
// all rounds together cost little more than one fit.
func Learn(ctx context.Context, o Options, data Rows) (*Result, error) {
	n, d := data.X.Rows, data.X.Cols
	a, out := identity(d, o.Diagonal), &Result{}
	u := kern.Dense(n, d, d, make([]float32, n*d))
	m, err := o.machine(ctx, data)
	if err != nil {
		return nil, err
	}
	var learned *products
	for round := 0; ; round++ {
		if err := o.widen(ctx, a, data); err != nil {
			return nil, err
		}
		if err := a.write(ctx, u, data.X); err != nil {
			return nil, err
		}
		loss, alpha, err := m.score(ctx, pointsOf(u))
		if err != nil {
			return nil, err
		}
		out.Errors, out.Alpha = append(out.Errors, loss), append(out.Alpha, alpha)
		if round == 0 || loss < out.Errors[out.Round] {
			out.Round, out.Map, out.Products = round, a.matrix(), learned.matrix()
		}
		if round == o.Rounds {
			return out, nil
		}
		learned = newProducts(d, o.Diagonal)
		if err := m.gradients(ctx, learned, round); err != nil {
			return nil, err
		}
		if !a.pulled(learned) {
			return out, nil
		}
		if a, err = learned.power(ctx, o.Power); err != nil {
			return nil, err
		}
	}
}

// machine returns the machine that the options ask for.
func (o Options) machine(ctx context.Context, data Rows) (machine, error) {
	y := centredTargets(data)
	if o.Features > 0 {
		return newFeatures(ctx, o, data, y)
	}
	return &exact{kernel: o.Kernel, held: data.Held, rounds: o.Rounds, y: y, alpha: firstAlpha}, nil
}

// centredTargets returns the targets less their mean over the rows that are fitted to.
func centredTargets(data Rows) kern.View[float32] {
	n, t := data.Y.Rows, data.Y.Cols
	y := kern.Dense(n, t, t, make([]float32, n*t))
	for c := range t {
		mean := 0.0
		for i := data.Held; i < n; i++ {
			mean += data.Y.At(i, c) / float64(n-data.Held)
		}
		for i := range n {
			y.Set(i, c, float32(data.Y.At(i, c)-mean))
		}
	}
	return y
}

// sampled is the number of rows whose distances tell the width of the kernel.
const sampled = 512

// widen scales the map so that the kernel's width is bandwidth times the median distance of mapped rows.
func (o Options) widen(ctx context.Context, a metric, data Rows) error {
	from, d := data.Held, data.X.Cols
	k := min(sampled, data.X.Rows-from)
	some := kern.Dense(k, d, d, make([]float32, k*d))
	if err := a.write(ctx, some, data.X.Slice(from, from+k, 0, d)); err != nil {
		return err
	}
	sample, rows := spectral.NewSample(o.Seed), mat.NewDense(k, d, nil)
	for i, v := range some.Data {
		rows.RawMatrix().Data[i] = float64(v)
	}
	sample.Add(rows)
	gamma, err := o.Kernel.GammaOfSample(ctx, sample)
	if err != nil {
		return err
	}
	a.scale(math.Pow(gamma, o.Kernel.Power) / o.Bandwidth)
	return nil
}

// The penalties that are tried: the first of all, what the next one differs by, and the ends.
const (
	firstAlpha = 1e-2
	alphaStep  = 4
	leastAlpha = 1e-6
	mostAlpha  = 16
)

// walk returns the least error and its alpha, from start on downwards, or upwards, until it grows.
func walk(start float64, errorOf func(alpha float64) (float64, error)) (best, alpha float64, err error) {
	alpha = start
	if best, err = errorOf(start); err != nil {
		return 0, 0, err
	}
	for _, step := range []float64{1. / alphaStep, alphaStep} {
		moved := false
		for next := alpha * step; leastAlpha <= next && next <= mostAlpha; next *= step {
			e, err := errorOf(next)
			if err != nil {
				return 0, 0, err
			}
			if !(e < best) && !math.IsInf(best, 1) {
				break
			}
			best, alpha, moved = e, next, true
		}
		if moved {
			break
		}
	}
	return best, alpha, nil
}

// matrix returns a copy of the map.
func (a metric) matrix() *mat.Dense { return matrixOf(a.full, a.diagonal) }

// matrix returns a copy of the products.
func (p *products) matrix() *mat.Dense {
	if p == nil {
		return nil
	}
	return matrixOf(p.full, p.diagonal)
}

func matrixOf(full kern.View[float64], diagonal []float64) *mat.Dense {
	if diagonal != nil {
		return mat.NewDense(len(diagonal), 1, append([]float64(nil), diagonal...))
	}
	return mat.NewDense(full.Rows, full.Cols, append([]float64(nil), full.Data...))
}

// loss returns the mean squared difference of two matrices.
func loss(got, want kern.View[float32]) float64 {
	sum := 0.0
	for i := range got.Rows {
		for c := range got.Cols {
			e := float64(got.At(i, c) - want.At(i, c))
			sum += e * e
		}
	}
	if sum /= float64(got.Rows * got.Cols); sum != sum {
		return math.Inf(1)
	}
	return sum
}
