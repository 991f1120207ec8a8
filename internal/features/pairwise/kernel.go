package pairwise

import (
	"math"
	"slices"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/kernel"
)

// Kernel is a kernel as a function of a distance. It is immutable and safe for concurrent use.
type Kernel struct {
	Metric Metric

	shape     shape
	parameter float64 // ν, α, p/2, c₀
	degree    int     // of a polynomial
	table     *table  // of Matérn and powered exponential kernels without a closed form here
	spectral  spectral.Kernel
	products  []productKernel   // of a kernel of columns
	function  kernel.Func       // of a registered kernel
	name      string            // of a kernel of the caller
	gram      map[int][]float64 // precomputed values of training rows, by their number
}

type shape int

const (
	gaussian shape = iota
	exponential
	matern15
	matern25
	maternTable
	rationalQuadratic
	poweredExponential
	laplacian
	cauchyKernel
	polynomial
	sigmoid
	cosine
	columnKernel
	ownShape
)

// Kernels are the kernels by name that are positive definite, if the values are for precomputed:
// [spectral.AllFourierKernels], those that are not shift-invariant, and precomputed. [NewKernel] has
// registered kernels, too, and sigmoid, which is indefinite.
var Kernels = append(slices.Clip(spectral.AllFourierKernels), "polynomial", "cosine", "chi2",
	string(kernel.Precomputed))

// NewKernel returns the kernel of [Kernels] or sigmoid with the given name and shape parameters, a
// registered kernel, or a resolved kernel of columns.
func NewKernel(name string, s spectral.Shape) (*Kernel, bool) {
	if k, ok := ownKernel(name); ok {
		return k, true
	}
	if list := kernel.Name(name).Summands(); list != nil {
		return newColumnKernel(list)
	}
	of, ok := spectral.FourierKernel(name, s)
	k, nu := &Kernel{spectral: of}, s.Nu
	switch {
	case name == "polynomial":
		k.shape, k.Metric, k.degree, k.parameter, k.spectral.Power = polynomial, Dot, s.Degree, s.Coef0, 0.5
	case name == "sigmoid":
		k.shape, k.Metric, k.parameter, k.spectral.Power = sigmoid, Dot, s.Coef0, 0.5
	case name == "cosine":
		k.shape, k.Metric = cosine, Cosine // γ⁰ = 1
	case name == "chi2":
		k.shape, k.Metric, k.spectral.Power, k.spectral.L1 = laplacian, Chi2, 1, true
	case !ok:
		return nil, false
	case name == "powered_exponential" && s.Exponent == 1:
		k.shape = exponential
	case name == "powered_exponential" && s.Exponent == 2, name == "gaussian":
		k.shape = gaussian
	case name == "exponential", name == "matern" && nu == 0.5:
		k.shape = exponential
	case name == "matern" && nu == 1.5:
		k.shape = matern15
	case name == "matern" && nu == 2.5:
		k.shape = matern25
	case name == "matern":
		k.shape, k.parameter, k.table = maternTable, nu, tableOf(nu)
	case name == "rational_quadratic":
		k.shape, k.parameter = rationalQuadratic, s.Alpha
	case name == "powered_exponential":
		k.shape, k.parameter, k.table = poweredExponential, s.Exponent/2, poweredTable(s.Exponent/2)
	case name == "laplacian":
		k.shape, k.Metric = laplacian, L1
	case name == "cauchy":
		k.shape, k.Metric = cauchyKernel, Cauchy
	default:
		return nil, false
	}
	return k, true
}

// Factors returns the factors of the inputs in a frame for γ.
func (k *Kernel) Factors(gamma []float64) []float64 { return k.spectral.Factors(gamma) }

// Spectral returns the kernel as random features see it.
func (k *Kernel) Spectral() spectral.Kernel { return k.spectral }

// Scale returns the factor of distances in a frame of factors 1 for a common γ of all inputs. The
// metric Cauchy has no such factor: its frame must be that of γ.
func (k *Kernel) Scale(gamma float64) float64 {
	factor := k.spectral.Factors([]float64{gamma})[0]
	if k.Metric == Squared || k.Metric == Dot {
		return factor * factor
	}
	return factor
}

// Diagonal returns k(x_i, x_i) of the rows in a frame of k and its γ. A panic of a registered kernel is an error.
func Diagonal[T kern.Float](k *Kernel, x Rows[T]) (out []float64, err error) {
	if k.function != nil {
		defer guard.Recover(&err, k.function, k.name)
	}
	out = slices.Repeat([]float64{1}, x.n)
	for i := 0; x.own != nil && i < x.n; i++ {
		out[i] = x.own.value(i, x.own, i)
	}
	for i, norm := range x.norms {
		switch {
		case k.shape == sigmoid:
			out[i] = math.Tanh(float64(norm + T(k.parameter)))
		case k.Metric == Dot:
			out[i] = float64(power(norm+T(k.parameter), k.degree))
		case k.Metric == Cosine && norm == 0:
			out[i] = 0
		}
	}
	return out, nil
}

// Domain returns the constraint on inputs, "" for all numbers, and reports whether v violates it.
func (k *Kernel) Domain() (constraint string, violated func(v float64) bool) {
	if k.Metric != Chi2 {
		return "", func(float64) bool { return false }
	}
	return "must be ≥ 0 for kernel: chi2", func(v float64) bool { return v < 0 }
}

// Values turns a tile of distances, times scale, into kernel values, in place. The rows of the tile are contiguous.
func Values[T kern.Float](k *Kernel, scale float64, tile kern.View[T]) {
	hold := design.Borrow[T](tile.Cols)
	defer hold.Release()
	for i := range tile.Rows {
		values(k, T(scale), tile.Row(i), hold.Data)
	}
}

// values turns a row of distances into kernel values; buffer has the same length.
func values[T kern.Float](k *Kernel, scale T, row, buffer []T) {
	switch k.shape {
	case gaussian, laplacian:
		kern.ScaleFloor(-scale, minExponent[T](), row)
		kern.Exp(row, row)
	case exponential:
		kern.NegSqrt(buffer, scale, row)
		kern.ScaleFloor(1, minExponent[T](), buffer)
		kern.Exp(row, buffer)
	case matern15:
		kern.NegSqrt(buffer, 3*scale, row)
		kern.Exp(row, buffer)
		for j, r := range buffer {
			row[j] *= 1 - r
		}
	case matern25:
		kern.NegSqrt(buffer, 5*scale, row)
		kern.Exp(row, buffer)
		for j, r := range buffer {
			row[j] *= 1 - r + r*r/3
		}
	case maternTable, poweredExponential:
		for j, s := range row {
			row[j] = T(k.table.value(float64(scale) * float64(s)))
		}
	case rationalQuadratic:
		quadratic(row, scale/T(k.parameter), k.parameter, 1)
	case polynomial:
		for j, s := range row {
			row[j] = power(scale*s+T(k.parameter), k.degree)
		}
	case sigmoid:
		for j, s := range row {
			row[j] = T(math.Tanh(float64(scale*s + T(k.parameter))))
		}
	case cauchyKernel:
		for j, p := range row {
			row[j] = 1 / p
		}
	}
}

// power returns v to a power of at least 1.
func power[T kern.Float](v T, degree int) T {
	out := v
	for range degree - 1 {
		out *= v
	}
	return out
}

// minExponent bounds the exponents of float32 kernel values from below, at values of about 1e-30,
// which are negligible. Denormal values would make exp and later operations ten times slower.
func minExponent[T kern.Float]() T {
	if unsafe.Sizeof(T(0)) == 8 {
		return -1000
	}
	return -69
}

// quadratic turns each s of a row into factor·(1 + scale·s)^−power.
func quadratic[T kern.Float](row []T, scale T, power float64, factor T) {
	switch power {
	case 0.5:
		for j, s := range row {
			row[j] = factor / T(math.Sqrt(float64(1+scale*s)))
		}
	case 1:
		for j, s := range row {
			row[j] = factor / (1 + scale*s)
		}
	case 2:
		for j, s := range row {
			b := 1 / (1 + scale*s)
			row[j] = factor * b * b
		}
	default:
		for j, s := range row {
			row[j] = T(-power * math.Log1p(float64(scale*s)))
		}
		kern.Exp(row, row)
		if factor != 1 {
			kern.Scale(factor, row)
		}
	}
}

// Slopes replaces a tile of distances in a frame by the derivatives of the kernel with respect to
// them, for a scale of 1. It writes 0 where there is no derivative, at equal rows under the
// exponential kernel and rough Matérn kernels. Only the
// metrics Squared and L1 are supported.
func Slopes[T kern.Float](k *Kernel, tile kern.View[T]) {
	hold := design.Borrow[T](tile.Cols)
	defer hold.Release()
	for i := range tile.Rows {
		slopes(k, tile.Row(i), hold.Data)
	}
}

// slopes turns a row of distances into derivatives; buffer has the same length.
func slopes[T kern.Float](k *Kernel, row, buffer []T) {
	switch k.shape {
	case gaussian, laplacian:
		values(k, 1, row, buffer)
		kern.Scale(-1, row)
	case exponential:
		kern.NegSqrt(buffer, 1, row)
		kern.Exp(row, buffer)
		for j, r := range buffer {
			if r == 0 {
				row[j] = 0
				continue
			}
			row[j] /= 2 * r
		}
	case matern15:
		kern.NegSqrt(buffer, 3, row)
		kern.Exp(row, buffer)
		kern.Scale(-1.5, row)
	case matern25:
		kern.NegSqrt(buffer, 5, row)
		kern.Exp(row, buffer)
		for j, r := range buffer {
			row[j] *= -5.0 / 6 * (1 - r)
		}
	case maternTable:
		for j, s := range row {
			row[j] = T(k.table.slope(float64(s)))
		}
	case rationalQuadratic:
		quadratic(row, T(1/k.parameter), k.parameter+1, -1)
	case poweredExponential:
		for j, s := range row {
			if s > 0 {
				power := math.Pow(float64(s), k.parameter)
				s = T(-k.parameter * power / float64(s) * math.Exp(-power))
			}
			row[j] = s
		}
	default:
		panic("pairwise: the metric of the kernel has no slopes")
	}
}
