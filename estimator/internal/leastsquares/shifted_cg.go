package leastsquares

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// SolveAlphas solves (X̃X̃ᵀ + alpha·I)a = ỹ on sparse rows in memory for all alpha > 0 by shifted
// CG, and returns the weights X̃ᵀa. CG residuals for all alphas are collinear, so that one product
// per step serves all; the total cost is that of the smallest alpha. Models are nil if excluded or
// not converged. The set of included alphas does not affect results. (Frommer and Maass, "Fast
// CG-based methods for Tikhonov–Phillips regularization", SIAM Journal on Scientific Computing,
// 1999.)
func (p *Problem) SolveAlphas(ctx context.Context, alphas []float64, want []bool) ([]*solve.Linear, error) {
	d, err := p.readCentered(ctx)
	if err != nil {
		return nil, err
	}
	k, out := newRowKernel(d, p.Intercept), make([]*solve.Linear, len(alphas))
	s := newShiftedCG(transpose(d.y, d.targets), d.targets, alphas, want)
	trace := d.traceOfKernel()
	for j, spread := range d.sumSquares() {
		for a, alpha := range alphas {
			// A residual r changes training scores by at most |r|, and those of a new row of equal
			// norm by at most |r|·√(trace/(n·alpha)) / 2.
			s.paths[a][j].goal = p.Tol * math.Sqrt(spread) * min(1, 200*math.Sqrt(alpha/(trace+alpha)))
		}
	}
	if err := s.solve(ctx, k, p.MaxIter); err != nil {
		return nil, err
	}
	for a := range alphas {
		if !want[a] || s.running(a) {
			continue
		}
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		x, report := s.checkSolution(k, a)
		if !report.Converged { // diverged by rounding
			continue
		}
		w := d.primalWeights(transpose(x, d.n))
		model, err := solve.NewLinear(w, intercepts(w, d.mean, d.targetMean), report)
		if err != nil {
			return nil, err
		}
		out[a] = &model
	}
	return out, nil
}

// transpose returns the transpose of a matrix with contiguous columns.
func transpose(list []float64, columns int) []float64 {
	out := make([]float64, len(list))
	rows := len(list) / columns
	for at, v := range list {
		out[at%columns*rows+at/columns] = v
	}
	return out
}

func norm2(x []float64) float64 { return math.Sqrt(kern.Dot(x, x)) }

// traceOfKernel returns Σ |x̃_i|² of sparse rows.
func (c *centeredRows) traceOfKernel() float64 {
	sum := -c.total * kern.Dot(c.mean, c.mean)
	shared, _ := c.sparse.Shared()
	for i, s := range c.weights {
		columns, values := c.sparse.Row(i)
		if values == nil {
			sum += s * shared * shared * float64(len(columns))
		} else {
			sum += s * kern.Dot(values, values)
		}
	}
	return max(sum, 0)
}

// shiftedCG solves (K + alpha·I)x = y for several alphas, in lockstep for several contiguous targets
// y. Directions and residuals are those of the smallest alpha. The residual of
// another alpha is zeta times that, |zeta| ≤ 1.
type shiftedCG struct {
	n        int
	y        []float64
	alphas   []float64
	minAlpha float64
	paths    [][]shiftPath // by alpha and target
	steps    []int         // by alpha
	r, p     []float64     // of the smallest alpha
}

// shiftPath is the iterate of one alpha and target.
type shiftPath struct {
	x, p       []float64
	zeta, last float64 // of this step and the previous one
	goal       float64 // residual norm to reach
	done       bool
}

func newShiftedCG(y []float64, targets int, alphas []float64, want []bool) *shiftedCG {
	n := len(y) / targets
	s := &shiftedCG{n: n, y: y, alphas: alphas, minAlpha: slices.Min(alphas), steps: make([]int, len(alphas)),
		r: slices.Clone(y), p: slices.Clone(y)}
	for a := range alphas {
		list := make([]shiftPath, targets)
		for j := range list {
			if list[j] = (shiftPath{zeta: 1, last: 1, done: true}); want[a] {
				list[j] = shiftPath{zeta: 1, last: 1, x: make([]float64, n), p: slices.Clone(y[j*n : (j+1)*n])}
			}
		}
		s.paths = append(s.paths, list)
	}
	return s
}

// running reports whether an alpha has an unconverged target.
func (s *shiftedCG) running(a int) bool {
	return slices.ContainsFunc(s.paths[a], func(path shiftPath) bool { return !path.done })
}

// targetPart returns the slice of v for a target.
func (s *shiftedCG) targetPart(v []float64, target int) []float64 {
	return v[target*s.n : (target+1)*s.n]
}

// solve iterates until every alpha has converged, or for maxSteps steps.
func (s *shiftedCG) solve(ctx context.Context, k *rowKernel, maxSteps int) error {
	product, targets := make([]float64, len(s.r)), len(s.r)/s.n
	// step length and β of the previous step
	stepLengths, betas := slices.Repeat([]float64{1}, targets), make([]float64, targets)
	for range maxSteps {
		for j := range targets {
			s.markDone(j)
		}
		goes := false
		for a := range s.alphas {
			if s.running(a) {
				goes = true
				s.steps[a]++
			}
		}
		if !goes {
			return nil
		}
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		k.apply(product, s.p)
		kern.Axpy(s.minAlpha, s.p, product)
		for j := range targets {
			stepLengths[j], betas[j] = s.step(j, s.targetPart(product, j), stepLengths[j], betas[j])
		}
	}
	for j := range targets {
		s.markDone(j)
	}
	return nil
}

// step updates one target for every active alpha, given the product of the matrix with the
// direction. It returns the step length and β.
func (s *shiftedCG) step(target int, product []float64, prevStepLength, prevBeta float64) (stepLength, beta float64) {
	r, p := s.targetPart(s.r, target), s.targetPart(s.p, target)
	size, curvature := kern.Dot(r, r), kern.Dot(p, product)
	if size > 0 && curvature > 0 {
		stepLength = size / curvature
		kern.Axpy(-stepLength, product, r)
		beta = kern.Dot(r, r) / size
	}
	for a, alpha := range s.alphas {
		path := &s.paths[a][target]
		if path.done {
			continue
		}
		current, last := path.zeta, path.last
		next := current * last * prevStepLength /
			(stepLength*prevBeta*(last-current) + last*prevStepLength*(1+(alpha-s.minAlpha)*stepLength))
		ratio := next / current
		path.last, path.zeta = current, next
		kern.Axpy(stepLength*ratio, path.p, path.x)
		kern.Scale(beta*ratio*ratio, path.p)
		kern.Axpy(next, r, path.p)
	}
	kern.Scale(beta, p)
	kern.Axpy(1, r, p)
	return stepLength, beta
}

// markDone marks the alphas that have converged for a target.
func (s *shiftedCG) markDone(target int) {
	size := norm2(s.targetPart(s.r, target))
	for a := range s.paths {
		path := &s.paths[a][target]
		path.done = path.done || math.Abs(path.zeta)*size <= path.goal
	}
}

// checkSolution returns the solution for an alpha and reports whether its true residual confirms
// convergence.
func (s *shiftedCG) checkSolution(k *rowKernel, a int) (x []float64, report solve.Report) {
	for _, path := range s.paths[a] {
		x = append(x, path.x...)
	}
	alpha, residual := s.alphas[a], make([]float64, len(x))
	k.apply(residual, x)
	kern.Axpy(alpha, x, residual)
	kern.Scale(-1, residual)
	kern.Axpy(1, s.y, residual)
	report = solve.Report{Solver: "cg", Iterations: s.steps[a], Converged: true}
	for j, path := range s.paths[a] {
		size := norm2(s.targetPart(residual, j))
		report.Converged = report.Converged && size <= 2*path.goal
		if first := norm2(s.targetPart(s.y, j)); first > 0 {
			report.Gradient = max(report.Gradient, size/first)
		}
	}
	for at, v := range x {
		remaining := residual[at] + alpha*v // of the target
		report.Objective += remaining*remaining + alpha*v*(s.y[at]-remaining)
	}
	return x, report
}

// rowKernel multiplies by the centered kernel of sparse rows, S^½(I − 1sᵀ/Σs)XXᵀ(I − s1ᵀ/Σs)S^½. It
// stores X by column and reads it once per product. Columns with one entry contribute to the
// diagonal only.
type rowKernel struct {
	n, targets       int
	centered         bool
	weights          []float64 // s
	total            float64
	singletonSquares []float64 // by row, Σ x² over columns with one entry
	start            []int     // of each stored column
	rows             []uint32
	values           []float64 // nil if all values are equal
	scale            float64   // squared shared value
	parts            []int     // column ranges of parallel tasks
	sums             [][]float64
	in               []float64
}

// A product has at most maxParts tasks of at least minPartEntries entries, independently of the
// number of cores.
const (
	maxParts       = 8
	minPartEntries = 1 << 16
)

func newRowKernel(d *centeredRows, centered bool) *rowKernel {
	k := &rowKernel{n: d.n, targets: d.targets, centered: centered, weights: d.weights, total: d.total,
		singletonSquares: make([]float64, d.n), scale: 1}
	shared, isShared := d.sparse.Shared()
	if isShared {
		k.scale = shared * shared
	}
	counts := make([]int, d.cols)
	for i := range d.n {
		columns, _ := d.sparse.Row(i)
		for _, j := range columns {
			counts[j]++
		}
	}
	next := counts // position of the next entry of a column, -1 for the diagonal
	k.start = []int{0}
	entries := 0
	for j, count := range counts {
		if next[j] = entries; count < 2 {
			next[j] = -1
			continue
		}
		entries += count
		k.start = append(k.start, entries)
	}
	k.placeEntries(d.sparse, next, entries, isShared)
	k.parts = []int{0}
	size := max(minPartEntries, (entries+maxParts-1)/maxParts)
	for c, at := range k.start {
		if at >= len(k.parts)*size || c == len(k.start)-1 {
			k.parts = append(k.parts, c)
		}
	}
	k.sums = make([][]float64, len(k.parts)-1)
	for i := range k.sums {
		k.sums[i] = make([]float64, d.n*d.targets)
	}
	k.in = make([]float64, d.n*d.targets)
	return k
}

// placeEntries stores every entry at its position.
func (k *rowKernel) placeEntries(x *matrices.CSR, next []int, entries int, shared bool) {
	k.rows = make([]uint32, entries)
	if !shared {
		k.values = make([]float64, entries)
	}
	for i := range k.n {
		columns, values := x.Row(i)
		for q, j := range columns {
			at := next[j]
			if at < 0 {
				v := 1.0
				if !shared {
					v = values[q]
				}
				k.singletonSquares[i] += v * v
				continue
			}
			k.rows[at] = uint32(i)
			if !shared {
				k.values[at] = values[q]
			}
			next[j]++
		}
	}
}

// apply writes the product with v to dst, both stored target by target.
func (k *rowKernel) apply(dst, v []float64) {
	t := k.targets
	for i, s := range k.weights {
		root := math.Sqrt(s)
		for j := range t {
			k.in[i*t+j] = root * v[j*k.n+i]
		}
	}
	if k.centered {
		for j, sum := range columnSums(k.in, t) {
			for i, s := range k.weights {
				k.in[i*t+j] -= s * sum / k.total
			}
		}
	}
	kern.Parallel(len(k.sums), 1, func(lo, hi int) {
		for part := lo; part < hi; part++ {
			clear(k.sums[part])
			k.add(k.sums[part], k.in, k.parts[part], k.parts[part+1])
		}
	})
	out := k.sums[0]
	for _, part := range k.sums[1:] {
		kern.Axpy(1, part, out)
	}
	mean := make([]float64, t)
	for i, s := range k.weights {
		for at := i * t; at < (i+1)*t; at++ {
			out[at] = k.scale * (out[at] + k.singletonSquares[i]*k.in[at])
		}
		kern.Axpy(s/k.total, out[i*t:(i+1)*t], mean)
	}
	for i, s := range k.weights {
		root := math.Sqrt(s)
		for j, m := range mean {
			if !k.centered {
				m = 0
			}
			dst[j*k.n+i] = root * (out[i*t+j] - m)
		}
	}
}

// add adds the products of columns [from, to).
func (k *rowKernel) add(out, v []float64, from, to int) {
	if k.values != nil || k.targets > 1 {
		k.addGeneral(out, v, from, to)
		return
	}
	for c := from; c < to; c++ {
		rows := k.rows[k.start[c]:k.start[c+1]]
		var s0, s1, s2, s3 float64
		at := 0
		for ; at+4 <= len(rows); at += 4 {
			four := rows[at : at+4 : at+4]
			s0 += v[four[0]]
			s1 += v[four[1]]
			s2 += v[four[2]]
			s3 += v[four[3]]
		}
		for _, i := range rows[at:] {
			s0 += v[i]
		}
		sum := (s0 + s1) + (s2 + s3)
		for _, i := range rows {
			out[i] += sum
		}
	}
}

// addGeneral is add for several targets or explicit values.
func (k *rowKernel) addGeneral(out, v []float64, from, to int) {
	t := k.targets
	sum := make([]float64, t)
	in, sums := kern.Dense(k.n, t, t, v), kern.Dense(k.n, t, t, out)
	for c := from; c < to; c++ {
		lo, hi := k.start[c], k.start[c+1]
		var values []float64
		if k.values != nil {
			values = k.values[lo:hi]
		}
		clear(sum)
		kern.GatherRows(sum, k.rows[lo:hi], values, 1, in)
		kern.ScatterRows(sums, k.rows[lo:hi], values, 1, sum)
	}
}
