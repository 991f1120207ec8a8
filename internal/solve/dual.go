package solve

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

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
// A column that is not zero in one row only has the weight β_i·x_ij, and need not be kept: it adds
// β_i·x_ij² to the score of its row. Rows are without such columns, where Own has them.
type Dual struct {
	Rows      Rows
	Target    []float64
	Own       []float64 // nil for zeros: squared norms of what only this row has, in columns left out of Rows
	Low, High []float64 // may be infinite where Diagonal is positive; Low ≤ 0 ≤ High
	Diagonal  []float64 // nil for zeros
	Epsilon   float64
	Logistic  bool // the other loss; Target, Diagonal and Epsilon mean nothing
	Intercept bool
	Start     *DualResult // solution of a problem with other bounds to begin from; nil for β = 0
}

// DualResult is a solution of [Dual].
type DualResult struct {
	W         []float64
	B         float64
	Beta      []float64
	Epochs    int     // passes over the rows
	Converged bool    // whether the gap is within the tolerance
	Gap       float64 // (primal − dual) / primal, both at this solution
	Objective float64 // of the primal
}

// Solve goes by coordinate descent on the dual with shrinking, until the relative duality gap is at
// most tol or after maxEpochs passes. Each step minimises over one β_i exactly and keeps w = Σβ_i·x_i,
// in O(width of the row) operations. Rows whose β_i is stuck at a bound or at 0 are left out of
// further passes and looked at again before the end.
//
// The constraint of the intercept is met by the method of multipliers: b, the multiplier, is moved
// along with w as if a column of value √ρ had been added, which penalises (Σβ)²·ρ/2, and steps on
// by ρ·Σβ whenever β has settled for the b there is. That is the proximal point method on b, so
// the intercept is not penalised at the optimum. Scores are those of centred rows, which changes
// nothing at the optimum but makes the coordinates less dependent; with x_i'x̄ known for each row
// it costs nothing either, and sparse rows stay as they are. The gap is taken at the nearest β that
// meets the constraint, and so is a certificate.
//
// (Hsieh, Chang, Lin, Keerthi & Sundararajan, ICML 2008; Ho & Lin, JMLR 2012; the multiplier:
// Hestenes 1969, Powell 1969.) The order of rows is random from a fixed seed.
func (p *Dual) Solve(ctx context.Context, tol float64, maxEpochs int) (DualResult, error) {
	d := newDescent(ctx, p)
	threshold := 0.1 * d.scale()
	for d.epochs < maxEpochs {
		if err := ctx.Err(); err != nil {
			return DualResult{}, err
		}
		violation := d.epoch()
		off := math.Abs(d.rho * d.total)
		if off > 0 && violation <= off {
			d.b += d.rho * d.total
		}
		if max(violation, off) > threshold {
			continue
		}
		if len(d.active) < p.Rows.Len() {
			d.unshrink()
			continue
		}
		d.project()
		if d.measure() <= tol || violation == 0 && off == 0 {
			break
		}
		threshold /= 2
	}
	d.project()
	d.measure()
	if err := ctx.Err(); err != nil {
		return DualResult{}, err
	}
	return DualResult{W: d.w, B: d.b - d.offset, Beta: d.beta, Epochs: d.epochs, Converged: d.gap <= tol, Gap: d.gap, Objective: d.primal}, nil
}

// descent is the state of one run.
type descent struct {
	*Dual
	ctx       context.Context // once it is done nothing is worth going on with
	w, beta   []float64       // w is Σβ_i·x_i, of rows that are not centred
	b, rho    float64
	total     float64   // Σβ
	along     []float64 // x_i'x̄, nil without an intercept
	offset    float64   // Σβ_i·along_i
	level     float64   // ‖x̄‖²
	curvature []float64 // ‖x_i−x̄‖² + ρ + diagonal_i
	active    []int
	stuck     []bool  // by place in active
	slack     float64 // how far beyond its bound a gradient is to be for the row to be left out
	violation float64 // largest of this epoch
	epochs    int
	rng       *rand.Rand
	gap       float64
	primal    float64
}

func newDescent(ctx context.Context, p *Dual) *descent {
	n := p.Rows.Len()
	d := &descent{Dual: p, ctx: ctx, w: kern.Spread(p.Rows.Width()), beta: make([]float64, n), curvature: make([]float64, n),
		active: make([]int, n), stuck: make([]bool, n), slack: math.Inf(1), rng: rand.New(rand.NewPCG(2008, 1))}
	for i := range n {
		if d.stopped(i) {
			break
		}
		d.active[i] = i
		d.curvature[i] = p.Rows.Square(i) + d.own(i)
	}
	if p.Intercept {
		d.centre()
	}
	for i := range n {
		d.curvature[i] += d.rho + d.diagonal(i)
	}
	if p.Start != nil {
		for i, v := range p.Start.Beta {
			d.beta[i] = min(max(v, p.Low[i]), p.High[i])
		}
		d.project()
		d.b = p.Start.B + d.offset
	}
	return d
}

// centre finds the mean of the rows that have a say, and sets ρ to the median of their curvatures.
func (d *descent) centre() {
	var live []int
	has := make([]float64, len(d.beta))
	for i := range d.beta {
		if d.Low[i] < d.High[i] {
			live = append(live, i)
			has[i] = 1
		}
	}
	mean := kern.Spread(d.Rows.Width())
	d.combine(mean, has)
	for j := range mean {
		mean[j] /= float64(max(1, len(live)))
		d.level += mean[j] * mean[j]
	}
	d.along = make([]float64, len(d.beta))
	for _, i := range live {
		d.along[i] = d.own(i) / float64(len(live))
		d.level += d.along[i] / float64(len(live))
	}
	kern.Parallel(len(d.beta), rowsAtOnce, func(lo, hi int) {
		for i := lo; i < hi && !d.stopped(i); i++ {
			d.along[i] += d.Rows.Dot(i, mean)
			d.curvature[i] = max(0, d.curvature[i]-2*d.along[i]+d.level)
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

// rowsAtOnce is the number of rows that are a piece of work.
const rowsAtOnce = 512

// stopped reports, once for every piece of work, whether the context is done before row number i.
func (d *descent) stopped(i int) bool { return i%rowsAtOnce == 0 && d.ctx.Err() != nil }

// combine computes dst = Σ factors_i·x_i.
func (d *descent) combine(dst, factors []float64) {
	clear(dst)
	for i, f := range factors {
		if d.stopped(i) {
			return
		}
		if f != 0 {
			d.Rows.Add(i, f, dst)
		}
	}
}

// score returns w'(x_i−x̄) + b, w being that of centred rows.
func (d *descent) score(i int) float64 {
	z := d.Rows.Dot(i, d.w) + d.own(i)*d.beta[i] + d.b
	if d.along != nil {
		z += d.total*(d.level-d.along[i]) - d.offset
	}
	return z
}

// move makes of w, b and the sums what they are after a step of β_i.
func (d *descent) move(i int, step float64) {
	d.total += step
	d.b += d.rho * step
	if d.along != nil {
		d.offset += step * d.along[i]
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

func (d *descent) diagonal(i int) float64 {
	if d.Diagonal == nil {
		return 0
	}
	return d.Diagonal[i]
}

// own is the squared norm of what only row i has.
func (d *descent) own(i int) float64 {
	if d.Own == nil {
		return 0
	}
	return d.Own[i]
}

// epoch takes a step along every active coordinate in random order and returns the largest
// violation of optimality met, in units of the gradient. Rows that are stuck go behind the others.
func (d *descent) epoch() float64 {
	d.epochs++
	d.rng.Shuffle(len(d.active), func(i, j int) { d.active[i], d.active[j] = d.active[j], d.active[i] })
	d.walk()
	last := len(d.active)
	for at := last - 1; at >= 0; at-- {
		if d.stuck[at] {
			last--
			d.active[at], d.active[last] = d.active[last], d.active[at]
		}
	}
	d.active = d.active[:last]
	d.slack = d.violation
	if d.violation == 0 {
		d.slack = math.Inf(1)
	}
	return d.violation
}

// walk goes through the active rows.
func (d *descent) walk() {
	d.violation = 0
	for at, i := range d.active {
		if d.stopped(at) {
			return
		}
		var moved float64
		if d.Logistic {
			moved, d.stuck[at] = d.descendLogistic(i)
		} else {
			moved, d.stuck[at] = d.descend(i)
		}
		d.violation = max(d.violation, moved)
	}
}

// descend minimises over β_i: by soft threshold and clipping of β_i − gradient/curvature. It
// returns how far the gradient was from optimal, and whether β_i is stuck: at a bound, or at 0
// inside the tube, with slack to spare.
func (d *descent) descend(i int) (violation float64, stuck bool) {
	q := d.curvature[i]
	if q == 0 {
		return d.descendFlat(i)
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
		stuck = old == 0 && d.Epsilon-math.Abs(gradient) > d.slack
	}
	to := min(max(soft, d.Low[i]), d.High[i])
	if to == old {
		beyond := max(d.Low[i]-soft, soft-d.High[i]) * q
		return 0, stuck || beyond > d.slack
	}
	d.beta[i] = to
	d.move(i, to-old)
	return math.Abs(to-old) * q, false
}

// descendFlat is descend for a row of zeros without an intercept: its score is 0 whatever w is. It
// costs no more to stay than to be looked at again, which would put off the end.
func (d *descent) descendFlat(i int) (violation float64, stuck bool) {
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
	d.slack = math.Inf(1)
}

// project moves β to the nearest point of Σβ = 0 by scaling the heavier side down, and makes w of
// it anew.
func (d *descent) project() {
	if d.Intercept {
		up, down := 0.0, 0.0
		for _, v := range d.beta {
			up += max(v, 0)
			down -= min(v, 0)
		}
		for i, v := range d.beta {
			switch {
			case v > 0 && up > down:
				d.beta[i] = v * (down / up)
			case v < 0 && down > up:
				d.beta[i] = v * (up / down)
			}
		}
	}
	d.combine(d.w, d.beta)
	d.total, d.offset = 0, 0
	for i, v := range d.beta {
		d.total += v
		if d.along != nil {
			d.offset += v * d.along[i]
		}
	}
}

// measure computes the relative duality gap at (w, b) and β.
func (d *descent) measure() float64 {
	half := 0.0
	for _, v := range d.w {
		half += v * v / 2
	}
	for i, v := range d.beta {
		half += d.own(i) * v * v / 2
	}
	n := len(d.beta)
	losses, gains := make([]float64, (n+rowsAtOnce-1)/rowsAtOnce), make([]float64, (n+rowsAtOnce-1)/rowsAtOnce)
	kern.Parallel(n, rowsAtOnce, func(lo, hi int) {
		loss, gain := 0.0, 0.0
		for i := lo; i < hi && !d.stopped(i); i++ {
			loss += d.loss(i, d.score(i))
			gain += d.gain(i, d.beta[i])
		}
		losses[lo/rowsAtOnce], gains[lo/rowsAtOnce] = loss, gain
	})
	primal, dual := half+kern.Sum(losses), kern.Sum(gains)-half
	d.primal = primal
	d.gap = 0
	if primal > dual && primal > 0 {
		d.gap = (primal - dual) / primal
	}
	return d.gap
}

// gain is what β_i adds to the dual beside −½‖w‖².
func (d *descent) gain(i int, v float64) float64 {
	if d.Logistic {
		return d.entropy(i, v)
	}
	return d.Target[i]*v - d.Epsilon*math.Abs(v) - d.diagonal(i)*v*v/2
}

// loss is L_i(z).
func (d *descent) loss(i int, z float64) float64 {
	if d.Logistic {
		return d.logisticLoss(i, z)
	}
	r := d.Target[i] - z
	over := math.Abs(r) - d.Epsilon
	if over <= 0 {
		return 0
	}
	bound := d.High[i]
	if r < 0 {
		bound = -d.Low[i]
	}
	best := bound
	if c := d.diagonal(i); c > 0 {
		best = min(bound, over/c)
	}
	if best == 0 {
		return 0
	}
	return best*over - d.diagonal(i)*best*best/2
}
