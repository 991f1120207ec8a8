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
	Bandwidth float64 // times the median distance of two mapped rows: the width of the kernel; 0 for the one that predicts best
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
	Width    []float64  // the width of the kernel in each round, in median distances
	Round    int        // 0 for none
}

// machine is a ridge regression whose gradients are looked at.
type machine interface {
	// slopes adds the products of the gradients, at the mapped rows that it is fitted to, with that penalty.
	slopes(ctx context.Context, p *products, u *mat.Dense, alpha float64) error
}

// learner is one run.
type learner struct {
	Options
	data    Rows
	judge   *judge
	machine machine
	out     *Result
}

// Learn learns a map, such that the kernel of γ = 1 behind it is the kernel that it was learned with.
//
// Round by round it maps the rows by A, finds the penalty, and the width, that predict the held rows best,
// fits a machine with these, and takes M^power of its gradients for the next A. It stops where a map is worse
// than the one before: what comes after hardly ever is better than both.
func Learn(ctx context.Context, o Options, data Rows) (*Result, error) {
	l := &learner{Options: o, data: data, out: &Result{}}
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	n, d := data.X.Dims()
	a := identity(d, o.Diagonal)
	var learned *products
	for round := 0; ; round++ {
		u, loss, err := l.score(ctx, a)
		if err != nil {
			return nil, err
		}
		if better := l.note(round, loss, a, learned); !better || round == o.Rounds {
			return l.out, nil
		}
		learned = newProducts(d, o.Diagonal)
		fitted := u.Slice(data.Held, n, 0, d).(*mat.Dense)
		if err := l.machine.slopes(ctx, learned, fitted, l.judge.alpha); err != nil {
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
	l.judge = &judge{kernel: l.Kernel, held: l.data.Held, y: y, alpha: firstAlpha, width: firstWidth}
	if l.Bandwidth > 0 {
		l.judge.width, l.judge.fixed = l.Bandwidth, true
	}
	seen := y.Slice(l.data.Held, n, 0, y.Cols)
	if l.Features > 0 {
		l.machine, err = newFeatures(ctx, l.Options, seen, d)
		return err
	}
	l.machine = &exact{kernel: l.Kernel, y: seen}
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

// note keeps the map of a round that is better than the one before.
func (l *learner) note(round int, loss float64, a metric, learned *products) (better bool) {
	out := l.out
	out.Errors, out.Alpha, out.Width = append(out.Errors, loss), append(out.Alpha, l.judge.alpha), append(out.Width, l.judge.width)
	if round > 0 && !(loss < out.Errors[out.Round]) {
		return false
	}
	out.Round, out.Map = round, matrixOf(a.full, a.diagonal)
	if learned != nil {
		out.Products = learned.matrix()
	}
	return true
}

// sampled is the number of rows whose distances tell the width of the kernel.
const sampled = 512

// score scales the map to the width with which rows mapped by it predict the held ones best, and returns
// these rows, and their error.
func (l *learner) score(ctx context.Context, a metric) (u *mat.Dense, loss float64, err error) {
	if u, err = a.of(ctx, l.data.X); err != nil {
		return nil, 0, err
	}
	n, d := u.Dims()
	sample := spectral.NewSample(l.Seed)
	sample.Add(u.Slice(l.data.Held, min(n, l.data.Held+sampled), 0, d).(*mat.Dense))
	k := l.Kernel.Spectral()
	gamma, err := k.GammaOfSample(ctx, sample)
	if err != nil {
		return nil, 0, err
	}
	scale := func(factor float64) {
		a.scale(factor)
		kern.Scale(factor, u.RawMatrix().Data)
	}
	scale(math.Pow(gamma, k.Power))
	if loss, err = l.judge.score(ctx, u); err != nil {
		return nil, 0, err
	}
	scale(1 / l.judge.width)
	return u, loss, nil
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
