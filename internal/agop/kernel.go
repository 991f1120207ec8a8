package agop

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/spectral"
)

// Kernels are the kernels of exact machines by name.
var Kernels = []string{"exponential", "gaussian", "matern", "rational_quadratic", "laplacian"}

// Kernel is a kernel k_1(x − y) with its gradient, in closed form.
type Kernel struct {
	spectral.Kernel
	// value replaces squared distances, or distances in the L1 norm, by kernel values.
	value func(list []float32)
	// slope replaces squared distances by (dk/dr)/r, so that ∇k = slope·(x − y), where two rows differ.
	slope func(list []float32)
}

// KernelOf returns a kernel by name; nu is 0.5, 1.5 or 2.5.
func KernelOf(name string, nu, alpha float64) (Kernel, bool) {
	if name == "matern" && nu == 0.5 {
		name = "exponential"
	}
	base, ok := spectral.FourierKernel(name, nu, alpha)
	k := Kernel{Kernel: base}
	switch name {
	case "gaussian":
		k.value = func(list []float32) { expOf(list, -1) }
		k.slope = func(list []float32) { expOf(list, -1); kern.Scale(-2, list) }
	case "exponential":
		k.value = func(list []float32) { roots(list, 1); expOf(list, -1) }
		k.slope = eachOf(func(r2 float64) float64 { r := math.Sqrt(r2); return -math.Exp(-r) / r })
	case "laplacian":
		k.value = func(list []float32) { expOf(list, -1) }
	case "matern":
		switch nu {
		case 1.5:
			k.value = eachOf(func(r2 float64) float64 { z := math.Sqrt(3 * r2); return (1 + z) * math.Exp(-z) })
			k.slope = eachOf(func(r2 float64) float64 { return -3 * math.Exp(-math.Sqrt(3*r2)) })
		case 2.5:
			k.value = eachOf(func(r2 float64) float64 { z := math.Sqrt(5 * r2); return (1 + z + z*z/3) * math.Exp(-z) })
			k.slope = eachOf(func(r2 float64) float64 { z := math.Sqrt(5 * r2); return -5. / 3 * (1 + z) * math.Exp(-z) })
		default:
			return k, false
		}
	case "rational_quadratic":
		k.value = eachOf(func(r2 float64) float64 { return math.Exp(-alpha * math.Log1p(r2/alpha)) })
		k.slope = eachOf(func(r2 float64) float64 { return -2 * math.Exp(-(alpha+1)*math.Log1p(r2/alpha)) })
	default:
		return k, false
	}
	return k, ok
}

func eachOf(f func(float64) float64) func([]float32) {
	return func(list []float32) {
		for i, v := range list {
			list[i] = float32(f(float64(v)))
		}
	}
}

func expOf(list []float32, factor float32) {
	kern.Scale(factor, list)
	kern.Exp(list, list)
}

func roots(list []float32, factor float32) {
	for i, v := range list {
		list[i] = float32(math.Sqrt(float64(factor * v)))
	}
}

// points are mapped rows, with their squared norms.
type points struct {
	rows    kern.View[float32]
	squares []float32
}

func pointsOf(rows kern.View[float32]) points {
	p := points{rows: rows, squares: make([]float32, rows.Rows)}
	for i := range p.squares {
		p.squares[i] = kern.Dot(rows.Row(i), rows.Row(i))
	}
	return p
}

func (p points) slice(lo, hi int) points {
	return points{p.rows.Slice(lo, hi, 0, p.rows.Cols), p.squares[lo:hi]}
}

// alike is how far the squared distance of two rows may be from 0 by rounding, relative to their squared
// norms.
const alike = 1e-6

// distances writes the squared distances of the rows of a and b to dst, 0 where only rounding tells them
// apart; their distances in the L1 norm where the kernel is of that.
func (k Kernel) distances(dst kern.View[float32], a, b points) {
	if !k.L1 {
		kern.Mul(dst, a.rows, b.rows.T(), false)
	}
	kern.Parallel(dst.Rows, 8, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to, x := dst.Row(i), a.rows.Row(i)
			if k.L1 {
				for j := range to {
					sum := float32(0)
					for q, v := range b.rows.Row(j) {
						sum += abs(x[q] - v)
					}
					to[j] = sum
				}
				continue
			}
			for j, dot := range to {
				both := a.squares[i] + b.squares[j]
				if to[j] = both - 2*dot; to[j] <= alike*both {
					to[j] = 0
				}
			}
		}
	})
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// values writes the kernel of the rows of a and b to dst.
func (k Kernel) values(dst kern.View[float32], a, b points) {
	k.distances(dst, a, b)
	kern.Parallel(dst.Rows, 8, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			k.value(dst.Row(i))
		}
	})
}

// matrix writes the lower triangle of the kernel matrix of p to dst, and some of the upper one.
func (k Kernel) matrix(ctx context.Context, dst kern.View[float32], p points) error {
	for lo := 0; lo < dst.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+tileRows, dst.Rows)
		k.values(dst.Slice(lo, hi, 0, hi), p.slice(lo, hi), p.slice(0, hi))
	}
	return nil
}

// expansion is functions f_c(x) = Σ_j weights[j, c]·k(x, z_j).
type expansion struct {
	kernel  Kernel
	centres points
	weights kern.View[float32] // m×t
}

// gradients writes ∇f_c at every row of u and for every output c to dst, in rows i·t+c. A kernel that has
// no gradient where both rows are equal counts as flat there.
func (f expansion) gradients(dst kern.View[float32], u points) {
	n, m, t, d := u.rows.Rows, f.centres.rows.Rows, f.weights.Cols, u.rows.Cols
	P := kern.Dense(n, m, m, make([]float32, n*m))
	f.kernel.distances(P, u, f.centres)
	if f.kernel.L1 {
		f.gradientsL1(dst, u, P)
		return
	}
	kern.Parallel(n, 8, func(lo, hi int) {
		list := make([]float32, m)
		for i := lo; i < hi; i++ {
			row := P.Row(i)
			copy(list, row)
			f.kernel.slope(list)
			for j, r2 := range row {
				if row[j] = list[j]; r2 == 0 {
					row[j] = 0
				}
			}
		}
	})
	// Σ_j P_ij·a_jc·(x_i − z_j): the sums of P·a and of P·(a·z), in one product for each output.
	both := kern.Dense(m, d+1, d+1, make([]float32, m*(d+1)))
	sums := kern.Dense(n, d+1, d+1, make([]float32, n*(d+1)))
	for c := range t {
		for j := range m {
			to, a := both.Row(j), f.weights.At(j, c)
			for q, z := range f.centres.rows.Row(j) {
				to[q] = a * z
			}
			to[d] = a
		}
		kern.Mul(sums, P, both, false)
		for i := range n {
			s, x, to := sums.Row(i), u.rows.Row(i), dst.Row(i*t+c)
			for q := range to {
				to[q] = s[d]*x[q] - s[q]
			}
		}
	}
}

// gradientsL1 is gradients for the laplacian kernel, whose gradient has the entries −k·sign(x_q − z_q).
func (f expansion) gradientsL1(dst kern.View[float32], u points, P kern.View[float32]) {
	t := f.weights.Cols
	kern.Parallel(P.Rows, 4, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			k, x := P.Row(i), u.rows.Row(i)
			f.kernel.value(k)
			for c := range t {
				to := dst.Row(i*t + c)
				clear(to)
				for j, v := range k {
					v *= f.weights.At(j, c)
					for q, z := range f.centres.rows.Row(j) {
						switch {
						case x[q] > z:
							to[q] -= v
						case x[q] < z:
							to[q] += v
						}
					}
				}
			}
		}
	})
}

// add adds the products of the gradients at the rows of u.
func (f expansion) add(ctx context.Context, p *products, u points) error {
	d, t := u.rows.Cols, f.weights.Cols
	G := kern.Dense(tileRows*t, d, d, make([]float32, tileRows*t*d))
	for lo := 0; lo < u.rows.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+tileRows, u.rows.Rows)
		of := G.Slice(0, (hi-lo)*t, 0, d)
		f.gradients(of, u.slice(lo, hi))
		if err := p.add(ctx, of); err != nil {
			return err
		}
	}
	return nil
}
