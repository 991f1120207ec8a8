// Package oneclass finds the plane of the one-class support vector machine by its dual. Inputs and
// outputs are numeric columns.
//
// The primal is ½‖w‖² + Σ C_i·max(0, ρ − w'z_i) − ρ with C_i = s_i/(ν·Σs), the dual ½‖Σ α_i z_i‖² over 0 ≤ α_i ≤ C_i,
// Σα = 1. Each step reads all rows for g_i = w'z_i, takes the rows whose α have most to gain, up to a thousand of them,
// and solves for these with their products in memory, two α at a time (Joachims 1999; Fan, Chen & Lin, JMLR 2005).
package oneclass

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Task contains the parameters of the problem.
type Task struct {
	Nu      float64
	Tol     float64 // duality gap relative to the objective at which to stop
	MaxIter int     // most steps
}

// Plane is the fitted hyperplane: rows with W'z < Rho are outliers.
type Plane struct {
	W          []float64
	Rho        float64
	Objective  float64 // ½‖w‖² − ρ + …, of the primal
	Gap        float64 // of the primal and the dual, relative to ½‖w‖²
	Iterations int
	Converged  bool
	Flat       bool // whether W is 0 up to rounding: the origin is inside the data
}

// minNorm is the threshold of ½‖w‖², relative to the mean of ‖z‖², below which there is no hyperplane.
const minNorm = 1e-9

// Fit finds the plane for rows in memory, a *mat.Dense, *matrices.Dense32 or *matrices.CSR, with weights or nil.
func (t Task) Fit(ctx context.Context, X mat.Matrix, weights []float64) (*Plane, error) {
	s, err := t.begin(ctx, X, weights)
	if err != nil {
		return nil, err
	}
	for turn := 0; ; turn++ {
		if err := s.margins(ctx, s.g, s.w); err != nil {
			return nil, err
		}
		objective, gap := s.gap()
		half := kern.Dot(s.w, s.w) / 2
		size := max(half, minNorm*s.size)
		p := &Plane{W: s.w, Rho: s.rho(), Objective: objective, Gap: gap / size, Iterations: turn,
			Converged: gap <= t.Tol*size, Flat: half <= minNorm*s.size}
		list := s.violators()
		if p.Converged || turn == t.MaxIter || len(list) < 2 {
			p.Converged = p.Converged || len(list) < 2
			return p, nil
		}
		if err := s.improve(ctx, list); err != nil {
			return nil, err
		}
	}
}

// state is an iterate of the dual.
type state struct {
	X            mat.Matrix
	n, d         int
	most         []float64 // C_i
	alpha, g     []float64
	w            []float64
	low, high    float64 // the least g that may gain weight, the largest that may lose it
	order        []int
	workingCount int
	size         float64 // mean of ‖z‖²
}

// maxWorking bounds the rows of a working set, and the numbers in them.
const (
	maxWorking = 1 << 10
	maxNumbers = 1 << 25
)

// begin puts all weight on the rows farthest from the mean.
func (t Task) begin(ctx context.Context, X mat.Matrix, weights []float64) (*state, error) {
	n, d := X.Dims()
	s := &state{X: X, n: n, d: d, most: make([]float64, n), alpha: make([]float64, n), g: make([]float64, n),
		w: make([]float64, d), order: make([]int, n)}
	s.workingCount = max(64, min(maxWorking, maxNumbers/max(d, 1)))
	total := 0.0
	for i := range n {
		s.order[i], s.most[i] = i, 1
		if weights != nil {
			s.most[i] = weights[i]
		}
		total += s.most[i]
	}
	mean := make([]float64, d)
	for i := range n {
		s.most[i] /= total
		s.addRow(mean, i, s.most[i])
		s.most[i] /= t.Nu
	}
	squares := make([]float64, d)
	design.AddSquares(squares, X, s.most)
	s.size = t.Nu * kern.Sum(squares)
	if err := s.margins(ctx, s.g, mean); err != nil {
		return nil, err
	}
	s.sort()
	left := 1.0
	for _, i := range s.order {
		s.alpha[i] = min(left, s.most[i])
		left -= s.alpha[i]
		s.addRow(s.w, i, s.alpha[i])
	}
	return s, nil
}

// sort sorts the rows by g.
func (s *state) sort() {
	slices.SortFunc(s.order, func(a, b int) int {
		if c := cmp.Compare(s.g[a], s.g[b]); c != 0 {
			return c
		}
		return a - b
	})
}

// addRow adds f times row i to dst.
func (s *state) addRow(dst []float64, i int, f float64) {
	if f == 0 {
		return
	}
	switch x := s.X.(type) {
	case *mat.Dense:
		kern.Axpy(f, x.RawRowView(i), dst)
	case *matrices.Dense32:
		for j, v := range x.Row(i) {
			dst[j] += f * float64(v)
		}
	case *matrices.CSR:
		columns, values := x.Row(i)
		scale, _ := x.Shared()
		for p, j := range columns {
			if values == nil {
				dst[j] += f * scale
			} else {
				dst[j] += f * values[p]
			}
		}
	}
}

// Margins writes w'z of each row of X to dst.
func Margins(ctx context.Context, dst []float64, X mat.Matrix, w []float64) error {
	n, d := X.Dims()
	s := &state{X: X, n: n, d: d}
	return s.margins(ctx, dst, w)
}

func (s *state) margins(ctx context.Context, dst, w []float64) error {
	const step = 1 << 14
	for lo := 0; lo < s.n; lo += step {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+step, s.n)
		switch x := s.X.(type) {
		case *mat.Dense:
			kern.Parallel(hi-lo, max(1, 1<<14/s.d), func(from, to int) {
				for i := lo + from; i < lo+to; i++ {
					dst[i] = kern.Dot(x.RawRowView(i), w)
				}
			})
		case *matrices.Dense32:
			kern.Parallel(hi-lo, max(1, 1<<14/s.d), func(from, to int) {
				for i := lo + from; i < lo+to; i++ {
					dst[i] = kern.DotMixed(x.Row(i), w)
				}
			})
		case *matrices.CSR:
			kern.SparseMulVec(dst[lo:hi], design.SparseView(x.Slice(lo, hi)), w, false)
		}
	}
	return ctxerr.Check(ctx)
}

// gap returns the objective of the primal at the best ρ, and by how much it exceeds that of the dual. It leaves the
// rows in the order of g.
func (s *state) gap() (objective, gap float64) {
	s.sort()
	rho, mass := 0.0, 0.0
	for _, i := range s.order {
		if s.most[i] == 0 {
			continue
		}
		rho = s.g[i]
		if mass += s.most[i]; mass >= 1 {
			break
		}
	}
	loss := 0.0
	for _, i := range s.order {
		if s.g[i] >= rho {
			break
		}
		loss += s.most[i] * (rho - s.g[i])
	}
	square := kern.Dot(s.w, s.w)
	return square/2 + loss - rho, max(0, square+loss-rho)
}

// rho returns the offset: the mean g of the rows on the margin.
func (s *state) rho() float64 {
	sum, count := 0.0, 0.0
	s.low, s.high = math.Inf(1), math.Inf(-1)
	for i, a := range s.alpha {
		if s.most[i] == 0 {
			continue
		}
		if a > 0 && a < s.most[i] {
			sum, count = sum+s.g[i], count+1
		}
		if a < s.most[i] {
			s.low = min(s.low, s.g[i])
		}
		if a > 0 {
			s.high = max(s.high, s.g[i])
		}
	}
	switch {
	case count > 0:
		return sum / count
	case math.IsInf(s.low, 1): // ν is 1 and all α are at their bounds: any ρ above all g is optimal
		return s.high
	}
	return (s.low + s.high) / 2
}

// violators returns the rows with most to gain: of small g that may gain weight, of large g that may lose it.
func (s *state) violators() []int {
	var list []int
	taken := make(map[int]bool)
	up, down := 0, s.n-1
	for len(list) < s.workingCount && (up < s.n || down >= 0) {
		for up < s.n && (s.alpha[s.order[up]] >= s.most[s.order[up]] || taken[s.order[up]]) {
			up++
		}
		if up < s.n && s.g[s.order[up]] < s.high {
			taken[s.order[up]] = true
			list = append(list, s.order[up])
		} else {
			up = s.n
		}
		for down >= 0 && (s.alpha[s.order[down]] <= 0 || taken[s.order[down]]) {
			down--
		}
		if down >= 0 && s.g[s.order[down]] > s.low {
			taken[s.order[down]] = true
			list = append(list, s.order[down])
		} else {
			down = -1
		}
	}
	slices.Sort(list)
	return list
}

// improve solves for the α of some rows.
func (s *state) improve(ctx context.Context, list []int) error {
	products, err := s.products(ctx, list)
	if err != nil {
		return err
	}
	p := pairs{k: products, alpha: make([]float64, len(list)), most: make([]float64, len(list)),
		g: make([]float64, len(list))}
	for q, i := range list {
		p.alpha[q], p.most[q], p.g[q] = s.alpha[i], s.most[i], s.g[i]
	}
	if err := p.solve(ctx, 1e-3*(s.high-s.low)); err != nil {
		return err
	}
	for q, i := range list {
		s.addRow(s.w, i, p.alpha[q]-s.alpha[i])
		s.alpha[i] = p.alpha[q]
	}
	return nil
}

// products returns z_i'z_j of all pairs of the list.
func (s *state) products(ctx context.Context, list []int) (kern.View[float64], error) {
	r := len(list)
	out := kern.Dense(r, r, r, make([]float64, r*r))
	csr, ok := s.X.(*matrices.CSR)
	if !ok {
		hold := design.Borrow[float64](r * s.d)
		defer hold.Release()
		rows := kern.Dense(r, s.d, s.d, hold.Data)
		for q, i := range list {
			design.WriteRow(rows.Row(q), s.X, i)
		}
		return out, kern.MulContext(ctx, out, rows, rows.T(), false)
	}
	scale, shared := csr.Shared()
	kern.Parallel(r, 16, func(lo, hi int) {
		hold := design.Borrow[float64](s.d)
		defer hold.Release()
		for q := lo; q < hi && ctx.Err() == nil; q++ {
			csr.RowTo(hold.Data, list[q])
			for p, i := range list {
				columns, values := csr.Row(i)
				v := design.SparseDot(columns, values, hold.Data)
				if shared {
					v *= scale
				}
				out.Set(q, p, v)
			}
		}
	})
	return out, ctxerr.Check(ctx)
}

// pairs is the dual restricted to some rows, with a fixed sum of their α.
type pairs struct {
	k              kern.View[float64]
	alpha, most, g []float64
}

// solve moves weight between two rows at a time: to the row of smallest gradient g below its upper bound, from the
// row that reduces the objective most. It ends when the optimality conditions hold to tol, or the objective stalls.
func (p pairs) solve(ctx context.Context, tol float64) error {
	most := 200 * max(len(p.g), 50)
	for step := range most {
		if step%256 == 0 {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
		}
		i, j, ok := p.choose(tol)
		if !ok {
			return nil
		}
		gain, lose := p.most[i]-p.alpha[i], p.alpha[j]
		delta := min((p.g[j]-p.g[i])/p.bend(i, j), gain, lose)
		p.alpha[i] += delta
		p.alpha[j] -= delta
		if delta == gain {
			p.alpha[i] = p.most[i]
		}
		if delta == lose {
			p.alpha[j] = 0
		}
		kern.Axpy(delta, p.k.Row(i), p.g)
		kern.Axpy(-delta, p.k.Row(j), p.g)
	}
	return nil
}

// bend returns the second derivative of moving weight from j to i.
func (p pairs) bend(i, j int) float64 {
	a, b := p.k.At(i, i), p.k.At(j, j)
	return max(a+b-2*p.k.At(i, j), 1e-12*(a+b), math.SmallestNonzeroFloat64)
}

func (p pairs) choose(tol float64) (i, j int, ok bool) {
	i, j = -1, -1
	high := math.Inf(-1)
	for q, g := range p.g {
		if p.alpha[q] < p.most[q] && (i < 0 || g < p.g[i]) {
			i = q
		}
		if p.alpha[q] > 0 {
			high = max(high, g)
		}
	}
	if i < 0 || high-p.g[i] <= tol {
		return 0, 0, false
	}
	best := 0.0
	for q, g := range p.g {
		if d := g - p.g[i]; p.alpha[q] > 0 && d > 0 {
			if gain := d * d / p.bend(i, q); j < 0 || gain > best {
				j, best = q, gain
			}
		}
	}
	return i, j, j >= 0
}
