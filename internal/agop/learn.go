package agop

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
	"github.com/bochner-ml/bochner/internal/spectral"
)

// Options say what to learn, and by what.
type Options struct {
	Kernel    *pairwise.Kernel
	Bandwidth float64 // times the median distance of two mapped rows: the width of the kernel
	Power     float64 // of M
	Rounds    int     // maps that are learned
	Diagonal  bool
	Features  int // of a ridge regression on random Fourier features; 0 for one with the kernel itself
	Seed      uint64
}

// Rows are what to learn from, in random order.
type Rows struct {
	X    *mat.Dense         // n×d
	Y    kern.View[float64] // n×t
	Held int                // the first so many are predicted, never fitted to
}

// Result is the map of the round whose machine predicts the held rows best.
type Result struct {
	Map      *mat.Dense // d×d and symmetric, or d×1 of factors
	Products *mat.Dense // the M that it was made of, of trace 1, d×d or d×1; that of the first machine where no map is better
	Errors   []float64  // mean squared errors on the held rows, of each round, that without a map first
	Alpha    []float64  // the penalty of each round
	Round    int        // 0 for none
}

// machine is a ridge regression on mapped rows.
type machine interface {
	// score fits to mapped rows, with the penalty that predicts the held ones best, and returns their error.
	score(ctx context.Context, u *mat.Dense) (loss float64, err error)
	// gradients adds the products of gradients; round counts from 0.
	gradients(ctx context.Context, p *products, round int) error
	// penalty returns that of the last score.
	penalty() float64
}

func (e *exact) penalty() float64    { return e.alpha }
func (f *features) penalty() float64 { return f.alpha }

// learner is one run.
type learner struct {
	Options
	data    Rows
	machine machine
	out     *Result
}

// Learn learns a map, such that the kernel of γ = 1 behind it is the kernel that it was learned with.
//
// Round by round it maps the rows by A, fits a machine, and takes M^power of its gradients for the next A.
// The exact machine of a round is fitted to half as many rows as that of the next one, the last one to
// all: all rounds together cost little more than one fit.
func Learn(ctx context.Context, o Options, data Rows) (*Result, error) {
	l := &learner{Options: o, data: data, out: &Result{}}
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	_, d := data.X.Dims()
	a := identity(d, o.Diagonal)
	var learned *products
	for round := 0; ; round++ {
		u, err := l.widen(ctx, a)
		if err != nil {
			return nil, err
		}
		loss, err := l.machine.score(ctx, u)
		if err != nil {
			return nil, err
		}
		l.note(round, loss, a, learned)
		if round == o.Rounds {
			return l.out, nil
		}
		learned = newProducts(d, o.Diagonal)
		if err := l.machine.gradients(ctx, learned, round); err != nil {
			return nil, err
		}
		changes := a.pulled(learned)
		if round == 0 {
			l.out.Products = learned.matrix()
		}
		if !changes {
			return l.out, nil
		}
		if a, err = learned.power(ctx, o.Power); err != nil {
			return nil, err
		}
	}
}

// begin centres inputs and targets on the rows that are fitted to, and makes the machine.
func (l *learner) begin(ctx context.Context) (err error) {
	n, d := l.data.X.Dims()
	l.data.X = mat.DenseCopyOf(l.data.X)
	centre(view(l.data.X, 0, n), l.data.Held)
	y := newView[float64](l.data.Y.Rows, l.data.Y.Cols)
	copy(y.Data, l.data.Y.Data)
	centre(y, l.data.Held)
	if l.Features > 0 {
		l.machine, err = newFeatures(ctx, l.Options, l.data.Held, y, d)
		return err
	}
	l.machine = &exact{kernel: l.Kernel, held: l.data.Held, rounds: l.Rounds, y: y, alpha: firstAlpha}
	return nil
}

// centre subtracts from each column its mean from row first on.
func centre(X kern.View[float64], first int) {
	mean := make([]float64, X.Cols)
	for i := first; i < X.Rows; i++ {
		for j, v := range X.Row(i) {
			mean[j] += (v - mean[j]) / float64(i-first+1)
		}
	}
	for i := range X.Rows {
		kern.Axpy(-1, mean, X.Row(i))
	}
}

// note keeps the map of a round that is the best so far.
func (l *learner) note(round int, loss float64, a metric, learned *products) {
	out := l.out
	out.Errors, out.Alpha = append(out.Errors, loss), append(out.Alpha, l.machine.penalty())
	if round > 0 && !(loss < out.Errors[out.Round]) {
		return
	}
	out.Round, out.Map = round, matrixOf(a.full, a.diagonal)
	if learned != nil {
		out.Products = learned.matrix()
	}
}

// sampled is the number of rows whose distances tell the width of the kernel.
const sampled = 512

// widen scales the map so that the kernel's width is bandwidth times the median distance of mapped rows,
// which it returns.
func (l *learner) widen(ctx context.Context, a metric) (*mat.Dense, error) {
	u, err := a.of(ctx, l.data.X)
	if err != nil {
		return nil, err
	}
	n, d := u.Dims()
	sample := spectral.NewSample(l.Seed)
	sample.Add(u.Slice(l.data.Held, min(n, l.data.Held+sampled), 0, d).(*mat.Dense))
	k := l.Kernel.Spectral()
	gamma, err := k.GammaOfSample(ctx, sample)
	if err != nil {
		return nil, err
	}
	factor := math.Pow(gamma, k.Power) / l.Bandwidth
	a.scale(factor)
	kern.Scale(factor, u.RawMatrix().Data)
	return u, nil
}

// The penalties that are tried: the first of all, what the next one differs by, and the ends.
const (
	firstAlpha = 1e-2
	step       = 4
	leastAlpha = 1e-6
	mostAlpha  = 16
)

// walk returns the least error and where it is, from start on downwards, or upwards, until it grows.
func walk(start, lowest, highest float64, errorOf func(v float64) (float64, error)) (least, at float64, err error) {
	at = start
	if least, err = errorOf(start); err != nil {
		return 0, 0, err
	}
	for _, factor := range []float64{1. / step, step} {
		moved := false
		for next := at * factor; lowest <= next && next <= highest; next *= factor {
			e, err := errorOf(next)
			if err != nil {
				return 0, 0, err
			}
			if !(e < least) && !math.IsInf(least, 1) {
				break
			}
			least, at, moved = e, next, true
		}
		if moved {
			break
		}
	}
	return least, at, nil
}

// matrix returns a copy of the products.
func (p *products) matrix() *mat.Dense {
	if p.diagonal == nil {
		kern.MirrorLower(p.full)
	}
	return matrixOf(p.full, p.diagonal)
}

func matrixOf(full kern.View[float64], diagonal []float64) *mat.Dense {
	if diagonal != nil {
		return mat.NewDense(len(diagonal), 1, append([]float64(nil), diagonal...))
	}
	return mat.NewDense(full.Rows, full.Cols, append([]float64(nil), full.Data...))
}

// loss returns the mean squared difference of predictions and the first rows of the targets.
func loss[T kern.Float](predicted kern.View[T], y kern.View[float64]) float64 {
	sum := 0.0
	for i := range predicted.Rows {
		for c := range predicted.Cols {
			e := float64(predicted.At(i, c)) - y.At(i, c)
			sum += e * e
		}
	}
	if sum /= float64(predicted.Rows * predicted.Cols); sum != sum {
		return math.Inf(1)
	}
	return sum
}
