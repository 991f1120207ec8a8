package agop

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Options of the learner.
type Options struct {
	Kernel *pairwise.Kernel
	// times the median distance of two mapped rows: the width of the kernel; 0 for the one that
	// predicts best
	Bandwidth float64
	Power     float64 // of M; 0 for the one of ½ and ¼ that predicts best
	Rounds    int     // maps that are learned
	Diagonal  bool
	Features  int // of a ridge regression on random Fourier features; 0 for one with the kernel itself
	Part      int // rows, at most, that one machine with the kernel itself is fitted to
	Seed      uint64
}

// Rows are the training rows, in random order.
type Rows struct {
	X    *mat.Dense         // n×d
	Y    kern.View[float64] // n×t
	Held int                // the first Held rows are held out
}

// Result is the map of the round with the lowest error on the held-out rows.
type Result struct {
	Map *mat.Dense // d×d and symmetric, or d×1 of factors
	// the M that it was made of, of trace 1, d×d or d×1; that of the first machine where no map is
	// better
	Products *mat.Dense
	Errors   []float64 // mean squared error on the held-out rows: without a map, then after each round
	Alpha    []float64 // the penalty of each round
	Width    []float64 // the width of the kernel in each round, in median distances
	Round    int       // 0 for none
}

// machine is a ridge regression with gradients.
type machine interface {
	// slopes adds the products of the gradients at the mapped training rows, fitted with penalty
	// alpha.
	slopes(ctx context.Context, p *products, u *mat.Dense, alpha float64) error
}

// powers returns the candidate powers.
func (o Options) powers() []float64 {
	if o.Power > 0 {
		return []float64{o.Power}
	}
	return []float64{0.5, 0.25}
}

// learner is the state of Learn.
type learner struct {
	Options
	data    Rows
	judge   *validator
	machine machine
	at      setting // of the last round
	out     *Result
}

// Learn learns a map, scaled such that the kernel with γ = 1 after it equals the kernel of the
// machine.
//
// Each round fits a machine to the rows mapped by A, and computes M^power from its gradients as the
// next A. Candidates are several powers and, if A is full, the diagonal of M; the one with the
// lowest error on the held-out rows is selected, with its best penalty and width. Learn stops when
// the error increases or no longer decreases significantly; further rounds rarely reduce it.
func Learn(ctx context.Context, o Options, data Rows) (*Result, error) {
	l := &learner{Options: o, data: data, out: &Result{}}
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	n, d := data.X.Dims()
	maps := []metric{identity(d, o.Diagonal)}
	var learned *products
	for round := 0; ; round++ {
		a, loss, err := l.choose(ctx, maps)
		if err != nil {
			return nil, err
		}
		if round == 0 && loss-loss != 0 {
			return nil, errors.New("the error of the first fit is not finite: the inputs are too large; standardize them")
		}
		if !l.note(round, loss, a, learned) {
			return l.out, nil
		}
		u, err := a.of(ctx, l.data.X.Slice(data.Held, n, 0, d).(*mat.Dense))
		if err != nil {
			return nil, err
		}
		learned = newProducts(d, o.Diagonal)
		if err := l.machine.slopes(ctx, learned, u, l.at.alpha); err != nil {
			return nil, err
		}
		changes := a.pullback(learned)
		if round == 0 {
			l.out.Products = learned.matrix()
		}
		if !changes {
			return l.out, nil
		}
		if maps, err = l.maps(ctx, learned); err != nil {
			return nil, err
		}
	}
}

// maps returns the candidate maps computed from products.
func (l *learner) maps(ctx context.Context, p *products) ([]metric, error) {
	powers := l.powers()
	maps, err := p.powers(ctx, powers)
	if err == nil && !l.Diagonal {
		maps = append(maps, p.diagonals(powers)...)
	}
	return maps, err
}

// begin centers inputs and targets on the training rows, and creates the machine.
func (l *learner) begin(ctx context.Context) (err error) {
	n, d := l.data.X.Dims()
	l.data.X = mat.DenseCopyOf(l.data.X)
	center(view(l.data.X, 0, n), l.data.Held)
	y := newView[float64](l.data.Y.Rows, l.data.Y.Cols)
	copy(y.Data, l.data.Y.Data)
	center(y, l.data.Held)
	l.judge = newJudge(l.Kernel, y, l.data.Held, l.Bandwidth > 0)
	if l.at = first; l.Bandwidth > 0 {
		l.at.width = l.Bandwidth
	}
	seen := y.Slice(l.data.Held, n, 0, y.Cols)
	if l.Features > 0 {
		l.machine, err = newFeatures(ctx, l.Options, seen, d)
		return err
	}
	l.machine = &exact{kernel: l.Kernel, y: seen, part: l.Part}
	return nil
}

// center subtracts from each column its mean from row first on.
func center(X kern.View[float64], first int) {
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

// maxErrorRatio is the maximum ratio of the errors of two rounds for which another round follows.
const maxErrorRatio = 0.995

// note stores the map of a round that improves the loss, and reports whether to continue.
func (l *learner) note(round int, loss float64, a metric, learned *products) bool {
	out, before := l.out, math.Inf(1)
	if round > 0 {
		before = out.Errors[out.Round]
	}
	out.Errors, out.Alpha, out.Width = append(out.Errors, loss), append(out.Alpha, l.at.alpha),
		append(out.Width, l.at.width)
	if round > 0 && !(loss < before) {
		return false
	}
	out.Round, out.Map = round, matrixOf(a.full, a.diagonal)
	if learned != nil {
		out.Products = learned.matrix()
	}
	return round < l.Rounds && loss < maxErrorRatio*before
}

// choose returns the map with the lowest error on the held-out rows, scaled to its best width, and
// the error.
func (l *learner) choose(ctx context.Context, maps []metric) (a metric, loss float64, err error) {
	var u *mat.Dense
	begin, smallest := l.at, math.Inf(1)
	for i, one := range maps {
		mapped, err := l.mapped(ctx, one)
		if err != nil {
			return a, 0, err
		}
		at, e, err := l.judge.best(ctx, mapped, begin)
		if err != nil {
			return a, 0, err
		}
		if i == 0 || e < smallest {
			a, u, l.at, smallest = one, mapped, at, e
		}
	}
	l.judge.selectRows(u, scored)
	loss, err = l.judge.error(ctx, l.at)
	a.scale(1 / l.at.width)
	return a, loss, err
}

// sampled is the number of rows whose distances determine the width of the kernel.
const sampled = 256

// mapped scales the map so that the width of the kernel of γ = 1 is the median distance, and
// returns the mapped rows for the evaluation.
func (l *learner) mapped(ctx context.Context, a metric) (*mat.Dense, error) {
	n, d := l.data.X.Dims()
	held := l.data.Held
	u, err := a.of(ctx, l.data.X.Slice(0, min(n, held+scored), 0, d).(*mat.Dense))
	if err != nil {
		return nil, err
	}
	k := l.Kernel.Spectral()
	gamma, err := k.MedianGamma(ctx, u.Slice(held, min(n, held+sampled), 0, d), l.Seed)
	if err != nil {
		return nil, err
	}
	factor := math.Pow(gamma, k.Power)
	a.scale(factor)
	kern.Scale(factor, u.RawMatrix().Data)
	return u, nil
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
