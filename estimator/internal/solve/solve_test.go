package solve

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// spd returns a random symmetric positive definite n×n matrix of large condition.
func spd(rng *rand.Rand, n int) [][]float64 {
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
	}
	v := make([]float64, n)
	for k := range n {
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		scale := math.Pow(10, -3*float64(k)/float64(n))
		for i := range n {
			for j := range n {
				a[i][j] += scale * v[i] * v[j]
			}
		}
	}
	for i := range n {
		a[i][i] += 1e-3
	}
	return a
}

// columnwise multiplies n×columns matrices by a.
func columnwise(a [][]float64, columns int) Operator {
	return func(dst, v []float64) error {
		for i := range a {
			for c := range columns {
				s := 0.0
				for j := range a {
					s += a[i][j] * v[j*columns+c]
				}
				dst[i*columns+c] = s
			}
		}
		return nil
	}
}

func TestCGSolvesEveryColumn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, columns := range []int{1, 3} {
		const n = 20
		a := spd(rng, n)
		want, b, x := make([]float64, n*columns), make([]float64, n*columns), make([]float64, n*columns)
		for i := range want {
			want[i] = rng.NormFloat64() * math.Pow(100, float64(i%columns)) // columns of different scale
		}
		apply := columnwise(a, columns)
		_ = apply(b, want)
		diagonal := func(dst, v []float64) error {
			for i := range v {
				dst[i] = v[i] / a[i/columns][i/columns]
			}
			return nil
		}
		for name, m := range map[string]Operator{"plain": nil, "jacobi": diagonal} {
			r, err := CG(apply, m, x, b, columns, StopCriteria{Tol: 1e-13, MaxIter: 500})
			if err != nil || !r.Converged || r.Residual > 1e-13 {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			for i := range x {
				if math.Abs(x[i]-want[i]) > 1e-7*math.Pow(100, float64(i%columns)) {
					t.Errorf("%s, %d columns: x[%d] = %g, want %g", name, columns, i, x[i], want[i])
				}
			}
		}
	}
}

func TestCGColumnsDoNotDependOnEachOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	const n = 12
	a := spd(rng, n)
	b := make([]float64, 2*n)
	for i := range b {
		b[i] = rng.NormFloat64()
	}
	for i := 1; i < len(b); i += 2 {
		b[i] = 0 // a column that is solved before it starts
	}
	alone, both, single := make([]float64, n), make([]float64, 2*n), make([]float64, n)
	for i := range alone {
		single[i] = b[2*i]
	}
	if _, err := CG(columnwise(a, 1), nil, alone, single, 1, StopCriteria{Tol: 1e-6, MaxIter: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := CG(columnwise(a, 2), nil, both, b, 2, StopCriteria{Tol: 1e-6, MaxIter: 100}); err != nil {
		t.Fatal(err)
	}
	for i := range alone {
		if math.Abs(both[2*i]-alone[i]) > 1e-6*math.Abs(alone[i]) || both[2*i+1] != 0 {
			t.Errorf("row %d: %g and %g, want %g and 0", i, both[2*i], both[2*i+1], alone[i])
		}
	}
}

func TestCGOnASingularMatrixStaysInItsRange(t *testing.T) {
	// A = vv' with v = (1, 2, 2): the least-norm solution of Ax = v is v/9.
	a := [][]float64{{1, 2, 2}, {2, 4, 4}, {2, 4, 4}}
	x := make([]float64, 3)
	r, err := CG(columnwise(a, 1), nil, x, []float64{1, 2, 2}, 1, StopCriteria{Tol: 1e-12, MaxIter: 50})
	if err != nil || !r.Converged {
		t.Fatal(r, err)
	}
	for i, want := range []float64{1. / 9, 2. / 9, 2. / 9} {
		if math.Abs(x[i]-want) > 1e-14 {
			t.Errorf("x = %v", x)
		}
	}
}

// TestCGMaxDecrease checks that a column with MaxDecrease stops there, and that another
// column continues to its minimum.
func TestCGMaxDecrease(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n = 12
	apply := columnwise(spd(rng, n), 2)
	b, x, ax := make([]float64, 2*n), make([]float64, 2*n), make([]float64, 2*n)
	for i := range b {
		b[i] = rng.NormFloat64()
	}
	fallen := func(fall ...float64) []float64 {
		r, err := CG(apply, nil, x, b, 2, StopCriteria{Tol: 1e-10, MaxDecrease: fall, MaxIter: 100})
		if err != nil || !r.Converged {
			t.Fatal(r, err)
		}
		_ = apply(ax, x)
		for j, reported := range r.Decrease {
			is := 0.0
			for i := j; i < len(x); i += 2 {
				is += b[i]*x[i] - ax[i]*x[i]/2
			}
			if math.Abs(is-reported) > 1e-9*is {
				t.Errorf("allowed %v, column %d has fallen by %v, reported %v", fall, j, is, reported)
			}
		}
		return r.Decrease
	}
	whole := fallen(math.Inf(1), math.Inf(1))
	if half := fallen(whole[0]/2, 2*whole[1]); half[0] != whole[0]/2 || math.Abs(half[1]-whole[1]) > 1e-9*whole[1] {
		t.Errorf("fallen by %v, want half of the first of %v", half, whole)
	}
}

func TestSolversReturnTheOperatorsError(t *testing.T) {
	broken := errors.New("broken")
	fails := func(dst, v []float64) error { return broken }
	if _, err := CG(fails, nil, make([]float64, 2), []float64{1, 1}, 1,
		StopCriteria{Tol: 1e-9, MaxIter: 5}); err != broken {
		t.Errorf("CG: %v", err)
	}
	if _, err := Newton(&bowls{fail: broken}, make([]float64, 2), 1, nil, 1e-9, 5); err != broken {
		t.Errorf("Newton: %v", err)
	}
}

// bowls are the functions f_c(x) = Σ_i a_ic·(sqrt(1 + (x_ic − m_ic)²)) + x_ic²/2000, one per
// column, which are far from quadratic. If m is known, the quadratic is centered there and so is
// the minimum.
type bowls struct {
	a, m    []float64
	columns int
	at      []float64
	fail    error
	seen    int
}

func (b *bowls) Evaluate(values, gradient, x []float64) error {
	if b.fail != nil {
		return b.fail
	}
	b.at = slices.Clone(x)
	clear(values)
	for i, v := range x {
		d := v - b.m[i]
		root := math.Sqrt(1 + d*d)
		values[i%b.columns] += b.a[i]*root + d*d/2000
		gradient[i] = b.a[i]*d/root + d/1000
	}
	return nil
}

func (b *bowls) Hessian(dst, v []float64) error {
	for i := range v {
		d := b.at[i] - b.m[i]
		dst[i] = v[i] * (b.a[i]*math.Pow(1+d*d, -1.5) + 1e-3)
	}
	return nil
}

func (b *bowls) Precondition(dst, v []float64) error { copy(dst, v); return nil }
func (b *bowls) Advance(products int)                { b.seen += products }
func (b *bowls) Noise() float64                      { return 1e-12 }

func TestNewtonFindsTheMinimumFromFarAway(t *testing.T) {
	// The full Newton step overshoots by orders of magnitude.
	rng := rand.New(rand.NewPCG(4, 4))
	for _, columns := range []int{1, 4} {
		b := &bowls{columns: columns}
		for i := range 5 * columns {
			b.a = append(b.a, 0.5+rng.Float64()*math.Pow(10, float64(i%columns)))
			b.m = append(b.m, 20*rng.NormFloat64())
		}
		x := make([]float64, len(b.a))
		r, err := Newton(b, x, columns, nil, 1e-10, 200)
		if err != nil || !r.Converged {
			t.Fatalf("%+v, %v", r, err)
		}
		if r.Products != b.seen || r.Passes < r.Products+r.Iterations {
			t.Errorf("%d products reported, want %d; %d passes, %d steps", r.Products, b.seen, r.Passes, r.Iterations)
		}
		for i := range x {
			if math.Abs(x[i]-b.m[i]) > 1e-6 {
				t.Errorf("x[%d] = %g, want %g", i, x[i], b.m[i])
			}
		}
	}
}

func TestNewtonReportsNonConvergence(t *testing.T) {
	b := &bowls{columns: 1, a: []float64{1, 1}, m: []float64{30, -20}}
	x := make([]float64, 2)
	r, err := Newton(b, x, 1, nil, 1e-12, 1)
	if err != nil || r.Converged || r.Iterations != 1 || r.Gradient <= 1e-12 {
		t.Errorf("%+v, %v", r, err)
	}
}

// bowl is least + ½Σ h_i·(x_i − 1)², with a multiple of the identity as preconditioner.
type bowl struct{ h, least, times float64 }

func (b bowl) curvature(i int) float64 { return b.h * float64(1+i) }

func (b bowl) Evaluate(values, gradient, x []float64) error {
	values[0] = b.least
	for i, v := range x {
		gradient[i] = b.curvature(i) * (v - 1)
		values[0] += gradient[i] * (v - 1) / 2
	}
	return nil
}

func (b bowl) Hessian(dst, v []float64) error {
	for i := range v {
		dst[i] = b.curvature(i) * v[i]
	}
	return nil
}

func (b bowl) Precondition(dst, v []float64) error {
	for i := range v {
		dst[i] = v[i] / b.times
	}
	return nil
}
func (b bowl) Advance(int)    {}
func (b bowl) Noise() float64 { return 1e-14 }

// A preconditioner that is too large underestimates the remaining decrease; the model scale
// corrects this.
func TestNewtonIsNotDeceivedByALargePreconditioner(t *testing.T) {
	const tol = 1e-2
	for _, times := range []float64{0.1, 1, 10, 1e3, 1e6} {
		b := bowl{h: 1, least: 1e-6, times: times}
		x := make([]float64, 10)
		r, err := Newton(b, x, 1, nil, tol, 200)
		if err != nil || !r.Converged {
			t.Fatalf("%v times: %+v, %v", times, r, err)
		}
		if r.Values[0] > b.least*(1+5*tol) {
			t.Errorf("%v times: ended at %.3g, where %.3g is least", times, r.Values[0], b.least)
		}
	}
}

// table is rows in a slice.
type table [][]float64

func (m table) Len() int   { return len(m) }
func (m table) Width() int { return len(m[0]) }
func (m table) Dot(i int, w []float64) (s float64) {
	for j, v := range m[i] {
		s += v * w[j]
	}
	return s
}
func (m table) Add(i int, f float64, w []float64) {
	for j, v := range m[i] {
		w[j] += f * v
	}
}
func (m table) Square(i int) float64 { return m.Dot(i, m[i]) }

// randomDual returns one of four kinds of problem.
func randomDual(rng *rand.Rand, n, d int, regression, squared, intercept bool) *Dual {
	p := &Dual{Intercept: intercept}
	rows := make(table, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			rows[i][j] = rng.NormFloat64() + 2
		}
		c := 0.2 + rng.Float64()
		low, high, diagonal := -c, c, 0.0
		if squared {
			low, high, diagonal = math.Inf(-1), math.Inf(1), 1/(2*c)
		}
		y := rows[i][0] - rows[i][1] + rng.NormFloat64()
		if !regression {
			if y = math.Copysign(1, y); y > 0 {
				low = 0
			} else {
				high = 0
			}
		}
		p.Target, p.Low, p.High, p.Diagonal = append(p.Target, y), append(p.Low, low), append(p.High, high),
			append(p.Diagonal, diagonal)
	}
	p.Rows = rows
	if regression {
		p.Epsilon = 0.1
	}
	return p
}

// primalAt is the objective by definition, with the loss maximized over a grid of β.
func (p *Dual) primalAt(w []float64, b float64) float64 {
	sum := 0.0
	for _, v := range w {
		sum += v * v / 2
	}
	for i := range p.Target {
		r := p.Target[i] - p.Rows.Dot(i, w) - b
		over := math.Abs(r) - p.Epsilon
		if over <= 0 || r > 0 && p.High[i] == 0 || r < 0 && p.Low[i] == 0 {
			continue
		}
		if p.Diagonal[i] > 0 {
			sum += over * over / (2 * p.Diagonal[i])
		} else {
			sum += over * max(p.High[i], -p.Low[i])
		}
	}
	return sum
}

func TestDualReachesTheOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for k := range 40 {
		regression, squared, intercept := k%2 == 0, k/2%2 == 0, k/4%2 == 0
		p := randomDual(rng, 30, 3, regression, squared, intercept)
		r, err := p.Solve(context.Background(), 1e-8, 100_000)
		if err != nil || !r.Converged || r.Gap > 1e-8 {
			t.Fatalf("problem %d: %+v, %v", k, r, err)
		}
		at := p.primalAt(r.W, r.B)
		if math.Abs(at-r.Objective) > 1e-9*at {
			t.Errorf("problem %d: objective %.12g reported, is %.12g", k, r.Objective, at)
		}
		if !intercept && r.B != 0 {
			t.Errorf("problem %d: an intercept %g that was not asked for", k, r.B)
		}
		w := make([]float64, len(r.W))
		for range 2000 { // no perturbation improves by more than the gap
			size := math.Pow(10, 1-5*rng.Float64())
			for j := range w {
				w[j] = r.W[j] + size*rng.NormFloat64()
			}
			b := r.B
			if intercept {
				b += size * rng.NormFloat64()
			}
			if v := p.primalAt(w, b); v < at*(1-2e-8) {
				t.Fatalf("problem %d (regression %v, squared %v, intercept %v): %.12g is not the optimum, there is %.12g", k,
					regression, squared, intercept, at, v)
			}
		}
		feasible(t, p, r)
	}
}

// feasible checks the constraints of β.
func feasible(t *testing.T, p *Dual, r DualResult) {
	t.Helper()
	w, sum := make([]float64, len(r.W)), 0.0
	for i, v := range r.Beta {
		if v < p.Low[i] || v > p.High[i] {
			t.Errorf("β[%d] = %g, bounds %g and %g", i, v, p.Low[i], p.High[i])
		}
		p.Rows.Add(i, v, w)
		sum += v
	}
	if p.Intercept && math.Abs(sum) > 1e-9 {
		t.Errorf("Σβ = %g", sum)
	}
	for j := range w {
		if math.Abs(w[j]-r.W[j]) > 1e-9 {
			t.Errorf("w = %v, Σβx = %v", r.W, w)
		}
	}
}

func TestDualCancel(t *testing.T) {
	p := randomDual(rand.New(rand.NewPCG(1, 2)), 50, 4, false, false, true)
	r, err := p.Solve(context.Background(), 1e-14, 2)
	if err != nil || r.Converged || r.Epochs != 2 || r.Gap <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Solve(ctx, 1e-3, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDualWithZeroRows(t *testing.T) {
	p := randomDual(rand.New(rand.NewPCG(3, 4)), 200, 3, false, false, false)
	loss := 0.0
	for i := range 5 {
		clear(p.Rows.(table)[i])
		loss += max(p.High[i], -p.Low[i])
	}
	want, err := p.Solve(context.Background(), 1e-6, 10_000)
	if err != nil || !want.Converged {
		t.Fatalf("%+v, %v", want, err)
	}
	without := *p
	without.Rows, without.Target = p.Rows.(table)[5:], p.Target[5:]
	without.Low, without.High, without.Diagonal = p.Low[5:], p.High[5:], p.Diagonal[5:]
	rest, err := without.Solve(context.Background(), 1e-6, 10_000)
	if err != nil || math.Abs(rest.Objective+loss-want.Objective) > 1e-5*want.Objective {
		t.Errorf("objective %v with rows of zeros, whose loss is %v; %v without, %v", want.Objective, loss, rest.Objective,
			err)
	}
}

// For the logistic loss, the gap is a certificate, the objective agrees with the definition, and
// warm starts reach the same optimum.
func TestDualOfTheLogisticLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for k := range 20 {
		p := randomDual(rng, 40, 3, false, false, k%2 == 0)
		for i := range p.Low { // bounds of different magnitude
			f := math.Pow(10, 4*rng.Float64()-2)
			p.Low[i], p.High[i] = f*p.Low[i], f*p.High[i]
		}
		p.Logistic, p.Target, p.Diagonal = true, nil, nil
		r, err := p.Solve(context.Background(), 1e-9, 100_000)
		if err != nil || !r.Converged || r.Gap > 1e-9 {
			t.Fatalf("problem %d: %+v, %v", k, r, err)
		}
		at := func(w []float64, b float64) float64 {
			sum := 0.0
			for _, v := range w {
				sum += v * v / 2
			}
			for i := range p.Low {
				sign := 1.0
				if p.High[i] == 0 {
					sign = -1
				}
				sum += (p.High[i] - p.Low[i]) * math.Log1p(math.Exp(-sign*(p.Rows.Dot(i, w)+b)))
			}
			return sum
		}
		best := at(r.W, r.B)
		if math.Abs(best-r.Objective) > 1e-9*best {
			t.Errorf("problem %d: objective %.12g reported, is %.12g", k, r.Objective, best)
		}
		w := make([]float64, len(r.W))
		for range 2000 {
			size := math.Pow(10, 1-5*rng.Float64())
			for j := range w {
				w[j] = r.W[j] + size*rng.NormFloat64()
			}
			b := r.B
			if p.Intercept {
				b += size * rng.NormFloat64()
			}
			if v := at(w, b); v < best*(1-2e-9) {
				t.Fatalf("problem %d: %.12g is not the optimum, there is %.12g", k, best, v)
			}
		}
		feasible(t, p, r)
		p.WarmStart = &r
		again, err := p.Solve(context.Background(), 1e-9, 100_000)
		if err != nil || !again.Converged || again.Epochs > r.Epochs || math.Abs(again.Objective-r.Objective) > 1e-8*best {
			t.Errorf("problem %d: from its solution %v after %d epochs, from 0 %v after %d; %v", k, again.Objective,
				again.Epochs, r.Objective, r.Epochs, err)
		}
	}
}

// PrivateSquares are equivalent to the left-out columns.
func TestDualWithColumnsOfOneRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for k := range 8 {
		p := randomDual(rng, 30, 3, k%2 == 0, k/2%2 == 0, k/4%2 == 0)
		rows := p.Rows.(table)
		p.PrivateSquares = make([]float64, len(rows))
		whole := *p
		wide := make(table, len(rows))
		for i := range rows {
			wide[i] = make([]float64, 3+len(rows))
			copy(wide[i], rows[i])
			wide[i][3+i] = rng.NormFloat64()
			p.PrivateSquares[i] = wide[i][3+i] * wide[i][3+i]
		}
		whole.Rows, whole.PrivateSquares = wide, nil
		a, err := p.Solve(context.Background(), 1e-9, 100_000)
		b, failed := whole.Solve(context.Background(), 1e-9, 100_000)
		if err != nil || failed != nil || !a.Converged || !b.Converged ||
			math.Abs(a.Objective-b.Objective) > 1e-8*b.Objective || math.Abs(a.B-b.B) > 1e-3 {
			t.Errorf("problem %d: %v and intercept %v left out, %v and %v with them", k, a.Objective, a.B, b.Objective, b.B)
		}
	}
}

// With PrecondRHS, CG makes the same steps with one preconditioning less.
func TestCGInitialGuess(t *testing.T) {
	const n = 6
	a := func(dst, v []float64) error {
		for i := range dst {
			dst[i] = float64(i+1) * v[i]
			if i > 0 {
				dst[i] -= v[i-1] / 2
			}
			if i+1 < n {
				dst[i] -= v[i+1] / 2
			}
		}
		return nil
	}
	calls := 0
	half := func(dst, v []float64) error {
		calls++
		for i := range dst {
			dst[i] = v[i] / float64(i+2)
		}
		return nil
	}
	b := []float64{1, -2, 3, 0.5, 2, -1}
	run := func(first []float64) (x []float64, made int) {
		x, calls = make([]float64, n), 0
		if r, err := CG(a, half, x, b, 1, StopCriteria{Tol: 1e-10, MaxIter: 100, PrecondRHS: first}); err != nil ||
			!r.Converged {
			t.Fatal(r, err)
		}
		return x, calls
	}
	want, all := run(nil)
	first := make([]float64, n)
	if err := half(first, b); err != nil {
		t.Fatal(err)
	}
	if got, made := run(first); !slices.Equal(got, want) || made != all-1 {
		t.Errorf("%v with %d calls, want %v with %d", got, made, want, all-1)
	}
}
