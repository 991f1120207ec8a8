package solve

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Rows gives access to the rows x_i of a matrix.
type Rows interface {
	Len() int
	Width() int
	// Dot returns wᵀx_i.
	Dot(i int, w []float64) float64
	// Add computes w += f·x_i.
	Add(i int, f float64, w []float64)
	// Square returns ‖x_i‖².
	Square(i int) float64
}

// Dual is the problem
//
//	minimize over w, b:  ½‖w‖² + Σ_i L_i(w'x_i + b),
//	L_i(z) = max over low_i ≤ β ≤ high_i of  β(target_i − z) − Epsilon·|β| − ½·diagonal_i·β²
//
// It covers the hinge and epsilon-insensitive losses. Classification has targets y = ±1 and Epsilon
// 0. Its β·y lies in [0, C·s] (hinge), or in [0, ∞) with diagonal 1/(2C·s) (squared hinge).
// Regression has β in [−C·s, C·s], or no bounds and the same diagonal. The dual problem is
//
//	minimize over β:  ½‖Σβ_i·x_i‖² + ½Σ diagonal_i·β_i² − Σ target_i·β_i + Epsilon·Σ|β_i|
//
// within the bounds, with Σβ_i = 0 if there is an intercept b; then w = Σβ_i·x_i. If Logistic is
// true, L_i(z) = c_i·log(1 + exp(−t_i·z)). Its dual term is α·log(α/c_i) + (c_i−α)·log((c_i−α)/c_i)
// with α = |β_i|, where t_i·c_i is the nonzero bound of β_i.
//
// A column that is nonzero in a single row i has weight β_i·x_ij and adds β_i·x_ij² to the score of
// that row. Such columns can be left out of Rows and passed as PrivateSquares.
type Dual struct {
	Rows           Rows
	Target         []float64
	PrivateSquares []float64 // squared norms of the left-out columns by row, nil for zeros
	Low, High      []float64 // may be infinite where Diagonal is positive; Low ≤ 0 ≤ High
	Diagonal       []float64 // nil for zeros
	Epsilon        float64
	Logistic       bool // logistic loss; ignores Target, Diagonal and Epsilon
	Intercept      bool
	WarmStart      *DualResult // solution for other bounds, nil for β = 0
}

// DualResult is a solution of [Dual].
type DualResult struct {
	W             []float64
	B             float64 // optimal intercept for W
	Beta          []float64
	Epochs        int     // passes over the rows
	InteriorSteps int     // interior point steps among the epochs
	Converged     bool    // whether the gap is within the tolerance
	Gap           float64 // (primal − dual)/primal: the objective of this solution and the largest dual value found
	Objective     float64 // primal objective
	Trivial       float64 // objective of [Dual.Trivial], an upper bound of Objective
}

// Solve minimizes by dual coordinate descent with shrinking until the relative duality gap is at
// most tol or maxEpochs passes are made. Each step minimizes exactly over one β_i and updates w =
// Σβ_i·x_i, in time proportional to the entries of the row. Shrinking skips rows whose β_i is fixed
// at a bound or at 0.
//
// The constraint of the intercept is met by proximal steps on b. The descent penalizes b about a
// center by (b−center)²/2ρ, as an additional column of value √ρ would. When β has converged for a
// center, the center moves to center + ρ·Σβ. Each such step lowers the objective, so b ends up
// unpenalized. The first center is the best b of w = 0. Rows are centered implicitly by x_iᵀx̄,
// which decorrelates the coordinates and keeps sparse rows sparse.
//
// At increasing intervals updateGap projects β to Σβ = 0, computes all scores and the optimal b,
// and evaluates primal and dual objectives. The gap is therefore a certificate over all rows,
// including skipped ones. Solve returns the point with the lowest objective, which is never above
// that of w = 0. Skipped rows return after each phase and whenever b has moved far, since otherwise
// b is unbounded if every active β_i is at a bound.
//
// For narrow rows the solver switches to an interior point method once descent has cost as much as
// its steps. Its convergence does not depend on C.
//
// Rows are visited in random order from a fixed seed. (Descent: Hsieh, Chang, Lin, Keerthi &
// Sundararajan, ICML 2008; Ho & Lin, JMLR 2012. Proximal steps: Rockafellar, SIAM J. Control 1976.)
func (p *Dual) Solve(ctx context.Context, tol float64, maxEpochs int) (DualResult, error) {
	d, err := newDescent(ctx, p)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil {
		return DualResult{}, err
	}
	threshold, due, patience := 0.1*d.scale(), firstGapEpoch, d.interiorEpoch()
	for d.epochs < maxEpochs && d.gap() > tol {
		if err := ctxerr.Check(ctx); err != nil {
			return DualResult{}, err
		}
		if d.epochs >= patience {
			patience = math.MaxInt
			if err := d.solveInterior(tol, maxEpochs); err != nil {
				return DualResult{}, err
			}
			continue
		}
		settled := d.updateCenter(d.epoch()) <= threshold
		if settled || d.epochs >= due || d.epochs == maxEpochs {
			if err := d.updateGap(); err != nil {
				return DualResult{}, err
			}
			due = d.epochs + d.epochs/2
		}
		if settled || d.drift > maxDrift*threshold {
			d.unshrink()
		}
		if settled {
			threshold /= 2
			d.combine(d.w, d.beta) // removes accumulated rounding
		}
	}
	out := d.result(tol)
	return out, ctxerr.Check(ctx) // cancellation may have truncated the last sums
}

// updateCenter moves the center of b if β has converged for the present one. It returns the
// violation of optimality of both, given that of β.
func (d *descent) updateCenter(violation float64) float64 {
	off := math.Abs(d.rho * d.sumBeta)
	if off > 0 && violation <= off {
		d.b += d.rho * d.sumBeta
		d.drift += off
	}
	return max(violation, off)
}

// firstGapEpoch is the number of passes before the first updateGap. maxDrift bounds the movement of
// b while rows are skipped, relative to the threshold of a phase.
const firstGapEpoch, maxDrift = 10, 10

// descent is the state of one call of Solve.
type descent struct {
	*Dual
	ctx         context.Context // canceled sums are discarded
	w, beta     []float64       // w = Σβ_i·x_i, not centered
	b, rho      float64
	sumBeta     float64   // Σβ
	meanDots    []float64 // x_iᵀx̄, nil without an intercept
	meanDotBeta float64   // Σβ_i·meanDots_i
	meanNormSq  float64   // ‖x̄‖²
	curvature   []float64 // ‖x_i−x̄‖² + ρ + diagonal_i
	active      []int
	shrinkable  []bool  // by position in active
	shrinkTol   float64 // distance of a gradient beyond its bound from which the row is skipped
	drift       float64 // movement of b since all rows were active
	violation   float64 // maximum of this epoch
	epochs      int
	rng         *rand.Rand
	scores      []float64 // wᵀx_i of the last updateGap
	best        struct {  // point of the lowest objective
		beta            []float64
		b, primal, dual float64 // dual is the largest value found, at any β
	}
	trivialObjective float64 // objective of w = 0
	roundingNoise    float64 // rounding error of an objective of 0
	interiorSteps    int     // of the interior point method
}

func newDescent(ctx context.Context, p *Dual) (*descent, error) {
	n := p.Rows.Len()
	d := &descent{Dual: p, ctx: ctx, w: kern.NewHuge(p.Rows.Width()), beta: make([]float64, n),
		curvature: make([]float64, n), scores: make([]float64, n),
		active: make([]int, n), shrinkable: make([]bool, n), shrinkTol: math.Inf(1), rng: rand.New(rand.NewPCG(2008, 1))}
	for i := range n {
		if d.canceled(i) {
			break
		}
		d.active[i] = i
		d.curvature[i] = p.Rows.Square(i) + d.privateSquare(i)
	}
	if p.Intercept {
		d.center()
	}
	for i := range n {
		d.curvature[i] += d.rho + d.diagonal(i)
	}
	d.best.primal, d.best.b = p.trivial(d.scores)
	d.trivialObjective = d.best.primal
	d.roundingNoise = 1e-15 * p.lossScale()
	d.best.beta = make([]float64, n)
	d.b = d.best.b
	if d.best.primal-d.best.primal != 0 {
		return nil, ErrNotFinite
	}
	if p.WarmStart == nil {
		return d, nil
	}
	for i, v := range p.WarmStart.Beta {
		d.beta[i] = min(max(v, p.Low[i]), p.High[i])
	}
	d.combine(d.w, d.beta)
	return d, d.updateGap()
}

// center computes x̄ over the rows with nonempty bounds and sets ρ to the median of their
// curvatures.
func (d *descent) center() {
	var live []int
	has := make([]float64, len(d.beta))
	for i := range d.beta {
		if d.Low[i] < d.High[i] {
			live = append(live, i)
			has[i] = 1
		}
	}
	mean := kern.NewHuge(d.Rows.Width())
	d.combine(mean, has)
	for j := range mean {
		mean[j] /= float64(max(1, len(live)))
		d.meanNormSq += mean[j] * mean[j]
	}
	d.meanDots = make([]float64, len(d.beta))
	for _, i := range live {
		d.meanDots[i] = d.privateSquare(i) / float64(len(live))
		d.meanNormSq += d.meanDots[i] / float64(len(live))
	}
	kern.Parallel(len(d.beta), chunkRows, func(lo, hi int) {
		for i := lo; i < hi && !d.canceled(i); i++ {
			d.meanDots[i] += d.Rows.Dot(i, mean)
			d.curvature[i] = max(0, d.curvature[i]-2*d.meanDots[i]+d.meanNormSq)
		}
	})
	sizes := make([]float64, len(live))
	for k, i := range live {
		sizes[k] = d.curvature[i]
	}
	slices.Sort(sizes)
	if len(sizes) > 0 {
		d.rho = sizes[len(sizes)/2]
	}
	if d.rho == 0 {
		d.rho = 1
	}
}

// chunkRows is the number of rows per parallel task.
const chunkRows = 512

// canceled reports whether the context is done, checked once per chunkRows rows.
func (d *descent) canceled(i int) bool { return i%chunkRows == 0 && d.ctx.Err() != nil }

// combine computes dst = Σ factors_i·x_i.
func (d *descent) combine(dst, factors []float64) {
	clear(dst)
	for i, f := range factors {
		if d.canceled(i) {
			return
		}
		if f != 0 {
			d.Rows.Add(i, f, dst)
		}
	}
}

// score returns wᵀ(x_i−x̄) + b, with w the sum over centered rows.
func (d *descent) score(i int) float64 {
	z := d.Rows.Dot(i, d.w) + d.privateSquare(i)*d.beta[i] + d.b
	if d.meanDots != nil {
		z += d.sumBeta*(d.meanNormSq-d.meanDots[i]) - d.meanDotBeta
	}
	return z
}

// updateSolution updates w, b and the sums for a step of β_i.
func (d *descent) updateSolution(i int, step float64) {
	d.sumBeta += step
	d.b += d.rho * step
	if d.meanDots != nil {
		d.meanDotBeta += step * d.meanDots[i]
	}
	d.Rows.Add(i, step, d.w)
}

// scale returns the root mean square of the targets, or 1 if all are 0.
func (d *descent) scale() float64 {
	sum := 0.0
	for _, t := range d.Target {
		sum += t * t
	}
	if sum == 0 {
		return 1
	}
	return math.Sqrt(sum / float64(len(d.Target)))
}

func (p *Dual) diagonal(i int) float64 {
	if p.Diagonal == nil {
		return 0
	}
	return p.Diagonal[i]
}

// privateSquare returns the squared norm of the columns that only row i has.
func (d *descent) privateSquare(i int) float64 {
	if d.PrivateSquares == nil {
		return 0
	}
	return d.PrivateSquares[i]
}

// epoch makes a step in every active coordinate in random order. It returns the largest violation
// of optimality, in units of the gradient, and moves shrinkable rows out of the active set.
func (d *descent) epoch() float64 {
	d.epochs++
	d.rng.Shuffle(len(d.active), func(i, j int) { d.active[i], d.active[j] = d.active[j], d.active[i] })
	d.sweep()
	last := len(d.active)
	for at := last - 1; at >= 0; at-- {
		if d.shrinkable[at] {
			last--
			d.active[at], d.active[last] = d.active[last], d.active[at]
		}
	}
	d.active = d.active[:last]
	d.shrinkTol = d.violation
	if d.violation == 0 {
		d.shrinkTol = math.Inf(1)
	}
	return d.violation
}

// sweep visits the active rows.
func (d *descent) sweep() {
	d.violation = 0
	read := 0.0
	for at, i := range d.active {
		if d.canceled(at) {
			return
		}
		var moved float64
		if d.Logistic {
			moved, d.shrinkable[at] = d.descendLogistic(i)
		} else {
			moved, d.shrinkable[at] = d.descend(i)
		}
		d.violation = max(d.violation, moved)
		if read += stays; moved > 0 {
			read += 1 - stays
		}
	}
}

// stays is the fraction of the cost of a row that remains if β_i does not change.
const stays = 0.4

// descend minimizes over β_i by soft thresholding and clipping of β_i − gradient/curvature. It
// returns the violation of optimality and whether the row can be skipped: β_i is at a bound, or at
// 0 inside the tube, by a margin of shrinkTol.
func (d *descent) descend(i int) (violation float64, stuck bool) {
	q := d.curvature[i]
	if q == 0 {
		return d.descendZeroRow(i)
	}
	old := d.beta[i]
	gradient := d.score(i) - d.Target[i] + d.diagonal(i)*old
	free := old - gradient/q
	soft := 0.0
	switch tube := d.Epsilon / q; {
	case free > tube:
		soft = free - tube
	case free < -tube:
		soft = free + tube
	default:
		stuck = old == 0 && d.Epsilon-math.Abs(gradient) > d.shrinkTol
	}
	to := min(max(soft, d.Low[i]), d.High[i])
	if to == old {
		margin := max(d.Low[i]-soft, soft-d.High[i]) * q
		return 0, stuck || margin > d.shrinkTol
	}
	d.beta[i] = to
	d.updateSolution(i, to-old)
	return math.Abs(to-old) * q, false
}

// descendZeroRow is descend for a zero row without intercept, whose score is always 0. It reports
// no violation, since the row never changes again.
func (d *descent) descendZeroRow(i int) (violation float64, stuck bool) {
	switch {
	case d.Target[i] > d.Epsilon:
		d.beta[i] = d.High[i]
	case d.Target[i] < -d.Epsilon:
		d.beta[i] = d.Low[i]
	}
	return 0, false
}

// unshrink restores all rows to the active set.
func (d *descent) unshrink() {
	d.active = d.active[:len(d.beta)]
	d.shrinkTol = math.Inf(1)
	d.drift = 0
}

// dualTerm returns the contribution of β_i = v to the dual objective, apart from −½‖w‖².
func (d *descent) dualTerm(i int, v float64) float64 {
	if d.Logistic {
		return d.entropy(i, v)
	}
	return d.Target[i]*v - d.Epsilon*math.Abs(v) - d.diagonal(i)*v*v/2
}

// loss returns L_i(z).
func (p *Dual) loss(i int, z float64) float64 {
	if p.Logistic {
		return p.logisticLoss(i, z)
	}
	r := p.Target[i] - z
	over := math.Abs(r) - p.Epsilon
	if over <= 0 {
		return 0
	}
	bound := p.High[i]
	if r < 0 {
		bound = -p.Low[i]
	}
	best := bound
	if c := p.diagonal(i); c > 0 {
		best = min(bound, over/c)
	}
	if best == 0 {
		return 0
	}
	return best*over - p.diagonal(i)*best*best/2
}
