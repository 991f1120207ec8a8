package solve

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Rows is the rows x_i of a matrix, one at a time.
type Rows interface {
	Len() int
	Width() int
	// Dot returns w'x_i.
	Dot(i int, w []float64) float64
	// Add computes w += f·x_i.
	Add(i int, f float64, w []float64)
	// Square returns ‖x_i‖².
	Square(i int) float64
}

// Dual is the problem
//
//	minimise over w, b:  ½‖w‖² + Σ_i L_i(w'x_i + b),
//	L_i(z) = max over low_i ≤ β ≤ high_i of  β(target_i − z) − Epsilon·|β| − ½·diagonal_i·β²
//
// which holds every hinge and epsilon-insensitive loss: support vector classification has targets
// y = ±1, Epsilon 0 and β·y from 0 to C·s (hinge), or from 0 to infinity and diagonal 1/(2C·s)
// (squared hinge); regression has β from −C·s to C·s, or no bounds and the same diagonal. Its dual is
//
//	minimise over β:  ½‖Σβ_i·x_i‖² + ½Σ diagonal_i·β_i² − Σ target_i·β_i + Epsilon·Σ|β_i|
//
// (or, where Logistic is true, L_i(z) = c_i·log(1 + exp(−t_i·z)), whose part of the dual is
// α·log(α/c_i) + (c_i−α)·log((c_i−α)/c_i) with α = |β_i|, the one bound of β_i that is not 0 being
// t_i·c_i) within the bounds, and Σβ_i = 0 where there is an intercept b; then w = Σβ_i·x_i.
//
// A column that is not zero in one row only has the weight β_i·x_ij, and need not be stored: it adds
// β_i·x_ij² to the score of its row. Rows are without such columns, where Own has them.
type Dual struct {
	Rows           Rows
	Target         []float64
	PrivateSquares []float64 // nil for zeros: squared norms of what only this row has, in columns left out of Rows
	Low, High      []float64 // may be infinite where Diagonal is positive; Low ≤ 0 ≤ High
	Diagonal       []float64 // nil for zeros
	Epsilon        float64
	Logistic       bool // the other loss; Target, Diagonal and Epsilon mean nothing
	Intercept      bool
	WarmStart      *DualResult // solution of a problem with other bounds to begin from; nil for β = 0
}

// DualResult is a solution of [Dual].
type DualResult struct {
	W             []float64
	B             float64 // the best for W
	Beta          []float64
	Epochs        int     // passes over the rows
	InteriorSteps int     // of the interior point method, of those passes
	Converged     bool    // whether the gap is within the tolerance
	Gap           float64 // (primal − dual) / primal, the primal at this solution, the dual at the best β met
	Objective     float64 // of the primal
	Trivial       float64 // that of [Dual.Trivial], which Objective is never above
}

// Solve goes by coordinate descent on the dual with shrinking, until the relative duality gap is at
// most tol or after maxEpochs passes. Each step minimises over one β_i exactly and keeps w = Σβ_i·x_i,
// in O(width of the row) operations. Rows whose β_i is stuck at a bound or at 0 are left out of
// further passes.
//
// The constraint of the intercept is met by proximal steps on b: the descent runs with b penalised
// about a centre, (b−centre)²/2ρ, as if a column of value √ρ had been added, and the centre moves to
// the b that is found, centre + ρ·Σβ, whenever β has settled for it. Such steps only ever lower the
// objective, so the intercept is not penalised in the end. They begin at the best b of w = 0. Scores
// are those of centred rows, which changes nothing at the optimum but makes the coordinates less
// dependent; with x_i'x̄ known for each row it costs nothing either, and sparse rows stay as they are.
//
// Every so often β is moved to Σβ = 0, the scores of all rows are computed, b is set to the exact best
// for w, and the objective and the dual are taken: the gap is a certificate over all rows, whatever
// was left out before. The least objective so met is what is returned, that of w = 0 being the first:
// a solution is never worse than the trivial one. Rows that were left out come back after each such
// look that ends a phase, and whenever b has moved far without them: else nothing would stop b where
// every β_i in the descent sits at its bound.
//
// Where rows are so narrow that the descent has cost as much as steps of the interior point method
// would, those are taken; it does not mind a large C.
//
// (Descent: Hsieh, Chang, Lin, Keerthi & Sundararajan, ICML 2008; Ho & Lin, JMLR 2012. Proximal
// steps: Rockafellar, SIAM J. Control 1976.) The order of rows is random from a fixed seed.
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
			d.combine(d.w, d.beta) // which steps have rounded
		}
	}
	out := d.result(tol)
	return out, ctxerr.Check(ctx) // whose end may have stopped the last sums
}

// updateCenter moves the centre of b where β has settled for the one there is, and returns how far from
// the optimum either is, violation being that of β.
func (d *descent) updateCenter(violation float64) float64 {
	off := math.Abs(d.rho * d.sumBeta)
	if off > 0 && violation <= off {
		d.b += d.rho * d.sumBeta
		d.drift += off
	}
	return max(violation, off)
}

// firstGapEpoch is the number of passes before the first look at all rows, and farDrift how far b may move
// while rows are left out, in units of the violation at which a phase ends.
const firstGapEpoch, maxDrift = 10, 10

// descent is the state of one run.
type descent struct {
	*Dual
	ctx         context.Context // once it is done nothing is worth going on with
	w, beta     []float64       // w is Σβ_i·x_i, of rows that are not centred
	b, rho      float64
	sumBeta     float64   // Σβ
	meanDots    []float64 // x_i'x̄, nil without an intercept
	meanDotBeta float64   // Σβ_i·along_i
	meanNormSq  float64   // ‖x̄‖²
	curvature   []float64 // ‖x_i−x̄‖² + ρ + diagonal_i
	active      []int
	shrinkable  []bool  // by place in active
	shrinkTol   float64 // how far beyond its bound a gradient is to be for the row to be left out
	drift       float64 // how far b was moved since all rows were active
	violation   float64 // largest of this epoch
	epochs      int
	rng         *rand.Rand
	scores      []float64 // w'x_i, of the last look
	best        struct {  // the least objective met, and where
		beta            []float64
		b, primal, dual float64 // dual being the largest met, at any β
	}
	trivialObjective float64 // the objective of w = 0
	roundingNoise    float64 // what rounding may leave of an objective of 0
	interiorSteps    int     // of the interior point method
}

func newDescent(ctx context.Context, p *Dual) (*descent, error) {
	n := p.Rows.Len()
	d := &descent{Dual: p, ctx: ctx, w: kern.NewHuge(p.Rows.Width()), beta: make([]float64, n), curvature: make([]float64, n), scores: make([]float64, n),
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

// center finds the mean of the rows that have a say, and sets ρ to the median of their curvatures.
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

// chunkRows is the number of rows that are a piece of work.
const chunkRows = 512

// canceled reports, once for every piece of work, whether the context is done before row number i.
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

// score returns w'(x_i−x̄) + b, w being that of centred rows.
func (d *descent) score(i int) float64 {
	z := d.Rows.Dot(i, d.w) + d.privateSquare(i)*d.beta[i] + d.b
	if d.meanDots != nil {
		z += d.sumBeta*(d.meanNormSq-d.meanDots[i]) - d.meanDotBeta
	}
	return z
}

// updateSolution makes of w, b and the sums what they are after a step of β_i.
func (d *descent) updateSolution(i int, step float64) {
	d.sumBeta += step
	d.b += d.rho * step
	if d.meanDots != nil {
		d.meanDotBeta += step * d.meanDots[i]
	}
	d.Rows.Add(i, step, d.w)
}

// scale returns the root mean square of the targets, 1 where all are 0.
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

// privateSquare is the squared norm of what only row i has.
func (d *descent) privateSquare(i int) float64 {
	if d.PrivateSquares == nil {
		return 0
	}
	return d.PrivateSquares[i]
}

// epoch takes a step along every active coordinate in random order and returns the largest
// violation of optimality met, in units of the gradient. Rows that are stuck go behind the others.
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

// sweep goes through the active rows.
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

// stays is the part of the reading of a row where β_i stays what it is.
const stays = 0.4

// descend minimises over β_i: by soft threshold and clipping of β_i − gradient/curvature. It
// returns how far the gradient was from optimal, and whether β_i is stuck: at a bound, or at 0
// inside the tube, with slack to spare.
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
		beyond := max(d.Low[i]-soft, soft-d.High[i]) * q
		return 0, stuck || beyond > d.shrinkTol
	}
	d.beta[i] = to
	d.updateSolution(i, to-old)
	return math.Abs(to-old) * q, false
}

// descendZeroRow is descend for a row of zeros without an intercept: its score is 0 whatever w is. It
// costs no more to stay than to be looked at again, which would put off the end.
func (d *descent) descendZeroRow(i int) (violation float64, stuck bool) {
	switch {
	case d.Target[i] > d.Epsilon:
		d.beta[i] = d.High[i]
	case d.Target[i] < -d.Epsilon:
		d.beta[i] = d.Low[i]
	}
	return 0, false
}

// unshrink brings back the rows that were left out, which were only moved behind the others.
func (d *descent) unshrink() {
	d.active = d.active[:len(d.beta)]
	d.shrinkTol = math.Inf(1)
	d.drift = 0
}

// dualTerm is what β_i adds to the dual beside −½‖w‖².
func (d *descent) dualTerm(i int, v float64) float64 {
	if d.Logistic {
		return d.entropy(i, v)
	}
	return d.Target[i]*v - d.Epsilon*math.Abs(v) - d.diagonal(i)*v*v/2
}

// loss is L_i(z).
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
