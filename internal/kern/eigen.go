package kern

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Eigen is the decomposition A = V·diag(Values)·Vᵀ of a symmetric matrix with orthogonal V. The
// eigenvectors are stored as two factors, so that only requested vectors are multiplied out.
type Eigen struct {
	Values []float64 // ascending

	reflectors View[float64] // row k contains the reflector of column k, starting at column k+1
	factors    []float64     // of the reflectors
	inner      *rotations    // eigenvectors of the tridiagonal matrix
	order      []int         // row of inner of each of Values
}

// ErrNoConvergence reports that the QL iteration did not converge, which is not known to happen for
// finite matrices.
var ErrNoConvergence = errors.New("the eigenvalues did not converge")

// NewEigen decomposes a symmetric A, given by its lower triangle, and retains its memory. Without
// vectors it computes only eigenvalues. Cost 4n³/3 flops for the tridiagonal form, half of them
// memory-bound, and about 6n³ for the vectors. Once ctx is done it returns ctxerr.Check(ctx).
//
// A is tridiagonalized by Householder reflections in panels of columns (Dongarra, Hammarling &
// Sorensen 1989), and the eigenvalues are computed by implicit QL (Dubrulle, Martin & Wilkinson
// 1968).
func NewEigen(ctx context.Context, a View[float64], vectors bool) (*Eigen, error) {
	e, diagonal, offDiagonal, unit, err := tridiagonalized(ctx, a)
	if err != nil {
		return nil, err
	}
	if vectors {
		e.inner = newRotations(a.Rows)
	}
	if err := implicitQL(ctx, diagonal, offDiagonal, e.inner); err != nil {
		return nil, err
	}
	e.order = make([]int, a.Rows)
	for i := range e.order {
		e.order[i] = i
	}
	slices.SortStableFunc(e.order, func(i, j int) int {
		switch {
		case diagonal[i] < diagonal[j]:
			return -1
		case diagonal[i] > diagonal[j]:
			return 1
		}
		return 0
	})
	for _, i := range e.order {
		e.Values = append(e.Values, diagonal[i]*unit)
	}
	return e, nil
}

// tridiagonalized returns the reflections of the tridiagonal form, its diagonal and off-diagonal,
// and their common scale.
func tridiagonalized(ctx context.Context, a View[float64]) (e *Eigen, diagonal, offDiagonal []float64, unit float64,
	err error) {
	if a.Rows != a.Cols || a.ColStride != 1 {
		panic("kern: Eigen of a matrix that is not square in row-major order")
	}
	unit, ok := rescaled(a)
	if !ok {
		return nil, nil, nil, 0, ErrNoConvergence
	}
	MirrorLower(a)
	e = &Eigen{reflectors: a, factors: make([]float64, a.Rows)}
	diagonal, offDiagonal, err = e.tridiagonal(ctx)
	return e, diagonal, offDiagonal, unit, err
}

// Tridiagonal is A = Q·T·Qᵀ with orthogonal Q and tridiagonal T. Systems (A + s·I)x = b for many
// shifts s then cost O(n) each.
type Tridiagonal struct {
	Diagonal    []float64 // of T
	OffDiagonal []float64 // entry k is T(k, k+1); the last is 0

	eigen *Eigen
}

// NewTridiagonal reduces a symmetric A, given by its lower triangle, and retains its memory. Cost
// 4n³/3 flops, half of them memory-bound. Once ctx is done it returns ctxerr.Check(ctx).
func NewTridiagonal(ctx context.Context, a View[float64]) (*Tridiagonal, error) {
	e, diagonal, offDiagonal, unit, err := tridiagonalized(ctx, a)
	if err != nil {
		return nil, err
	}
	Scale(unit, diagonal)
	Scale(unit, offDiagonal)
	return &Tridiagonal{Diagonal: diagonal, OffDiagonal: offDiagonal, eigen: e}, nil
}

// ApplyQ overwrites b with Qᵀb.
func (t *Tridiagonal) ApplyQ(b []float64) {
	for c, tau := range t.eigen.factors {
		if tau == 0 {
			continue
		}
		v := t.eigen.reflectors.Row(c)[c+1:]
		Axpy(-tau*Dot(v, b[c+1:]), v, b[c+1:])
	}
}

// rescaled divides the lower triangle by a power of two, which it returns, such that the largest
// entry is near 1 and squares neither overflow nor underflow.
func rescaled(a View[float64]) (unit float64, ok bool) {
	largest := 0.0
	for i := range a.Rows {
		for _, v := range a.Row(i)[:i+1] {
			if !(math.Abs(v) <= math.MaxFloat64) {
				return 0, false
			}
			largest = max(largest, math.Abs(v))
		}
	}
	if largest == 0 {
		return 1, true
	}
	_, exponent := math.Frexp(largest)
	exponent = min(max(exponent, -1000), 1000) // so that 1/unit is finite
	unit = math.Ldexp(1, exponent)
	for i := range a.Rows {
		Scale(1/unit, a.Row(i)[:i+1])
	}
	return unit, true
}

// eigenPanel is the number of reflections applied together.
const eigenPanel = 32

// tridiagonal reduces the matrix in reflectors to QᵀAQ and returns its diagonal and off-diagonal,
// where offDiagonal[k] is entry (k, k+1).
func (e *Eigen) tridiagonal(ctx context.Context) (diagonal, offDiagonal []float64, err error) {
	a := e.reflectors
	n := a.Rows
	diagonal, offDiagonal = make([]float64, n), make([]float64, n)
	left, right := make([]float64, 2*eigenPanel*n), make([]float64, 2*eigenPanel*n)
	for k := 0; k < n-1; k += eigenPanel {
		w := min(eigenPanel, n-1-k)
		// Rows of p.left are v₀, …, y₀, …; those of p.right are y₀, …, v₀, ….
		p := panel{first: k, width: w, left: Dense(2*w, n, n, left), right: Dense(2*w, n, n, right)}
		for i := range w {
			if err := p.reflect(ctx, e, i, diagonal, offDiagonal); err != nil {
				return nil, nil, err
			}
		}
		rest, from := a.Slice(k+w, n, k+w, n), k+w
		q := product[float64]{c: rest, a: p.left.Slice(0, 2*w, from, n).T(), b: p.right.Slice(0, 2*w, from, n),
			store: subtract, lower: true, ctx: ctx}
		if err := q.run(); err != nil {
			return nil, nil, err
		}
		MirrorLower(rest)
	}
	if n > 0 {
		diagonal[n-1] = a.At(n-1, n-1)
	}
	return diagonal, offDiagonal, ctxerr.Check(ctx)
}

// panel is a set of reflections I − τvvᵀ and their y. The remaining matrix becomes A − Σ(v·yᵀ +
// y·vᵀ).
type panel struct {
	first, width int
	left, right  View[float64]
}

// reflect computes reflection i of the panel, which clears column c = first+i below its second
// entry.
func (p *panel) reflect(ctx context.Context, e *Eigen, i int, diagonal, offDiagonal []float64) error {
	a, c := e.reflectors, p.first+i
	n := a.Rows
	column := a.Row(c)[c:]
	for j := range i {
		v, y := p.left.Row(j), p.right.Row(j)
		Axpy(-v[c], y[c:], column)
		Axpy(-y[c], v[c:], column)
	}
	diagonal[c] = column[0]
	tau := reflector(column[1:], &offDiagonal[c])
	e.factors[c] = tau

	v, y := p.left.Row(i), p.right.Row(i)
	clear(v[:c+1])
	clear(y[:c+1])
	copy(v[c+1:], column[1:])
	v, y = v[c+1:], y[c+1:]
	clear(y)
	if tau != 0 {
		const piece = 1 << 26 // entries between checks of the context
		step := max(1, piece/len(v))
		for lo := 0; lo < len(v); lo += step {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			hi := min(lo+step, len(v))
			MulVec(y[lo:hi], a.Slice(c+1+lo, c+1+hi, c+1, n), v, false)
		}
	}
	for j := range i {
		vj, yj := p.left.Row(j)[c+1:], p.right.Row(j)[c+1:]
		along, across := Dot(vj, v), Dot(yj, v)
		Axpy(-across, vj, y)
		Axpy(-along, yj, y)
	}
	Scale(tau, y)
	Axpy(-tau/2*Dot(y, v), v, y)
	copy(p.left.Row(p.width + i)[:c+1], p.left.Row(i)[:c+1])
	copy(p.right.Row(p.width + i)[:c+1], p.left.Row(i)[:c+1])
	copy(p.left.Row(p.width + i)[c+1:], y)
	copy(p.right.Row(p.width + i)[c+1:], v)
	return nil
}

// reflector replaces x by v with v[0] = 1 such that (I − τvvᵀ)x has beta in its first entry and 0
// elsewhere, and returns τ. If x needs no reflection, τ and v are 0.
func reflector(x []float64, beta *float64) (tau float64) {
	*beta = x[0]
	rest := math.Sqrt(Dot(x[1:], x[1:]))
	if rest == 0 {
		clear(x)
		return 0
	}
	*beta = -math.Copysign(math.Hypot(x[0], rest), x[0])
	tau = (*beta - x[0]) / *beta
	Scale(1/(x[0]-*beta), x[1:])
	x[0] = 1
	return tau
}

// Vectors returns the eigenvectors of Values[from:to], one per row of n values. Cost 2n² flops
// each. Once ctx is done it returns ctxerr.Check(ctx).
func (e *Eigen) Vectors(ctx context.Context, from, to int) ([]float64, error) {
	n, k := e.reflectors.Rows, to-from
	out := make([]float64, k*n)
	for r, i := range e.order[from:to] {
		copy(out[r*n:(r+1)*n], e.inner.row(i))
	}
	last := (n - 2) / eigenPanel * eigenPanel
	hold := make([]float64, eigenPanel*n)
	for c := last; c >= 0 && n > 1; c -= eigenPanel {
		w := min(eigenPanel, n-1-c)
		v := Dense(w, n-1-c, n-1-c, hold)
		for i := range w {
			clear(v.Row(i)[:i])
			copy(v.Row(i)[i:], e.reflectors.Row(c + i)[c+i+1:])
		}
		x := Dense(k, n, n, out).Slice(0, k, c+1, n)
		if err := e.apply(ctx, x, v, e.factors[c:c+w]); err != nil {
			return nil, err
		}
	}
	return out, ctxerr.Check(ctx)
}

// apply multiplies the rows of x by the reflections of the rows of v, the last first: x ← x·(I −
// VᵀTV)ᵀ with the triangular T of Schreiber & Van Loan (1989).
func (e *Eigen) apply(ctx context.Context, x, v View[float64], tau []float64) error {
	w := len(tau)
	products, triangle := Dense(w, w, w, make([]float64, w*w)), Dense(w, w, w, make([]float64, w*w))
	Mul(products, v, v.T(), false)
	triangleOf(triangle, products, tau)
	scores := Dense(x.Rows, w, w, make([]float64, x.Rows*w))
	transformed := Dense(x.Rows, w, w, make([]float64, x.Rows*w))
	if err := MulContext(ctx, scores, x, v.T(), false); err != nil {
		return err
	}
	Mul(transformed, scores, triangle.T(), false)
	return subtractProduct(ctx, x, transformed, v)
}
