package fourier

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Inputs far from 0 lose digits of their angles ω'x in float32. They are split into a part c on a
// coarse grid, with float64 angles, and a remainder near 0:
//
//	cos(ω'x + b) = cos(ω'(x−c) + (b + ω'c mod 2π)).
//
// The grid depends on the frequencies only, so the features of a row do not depend on other rows.
// Nearby rows have the same c, and inputs near 0 have c = 0, without additional work.

// nearAngle is the largest angle, at a typical frequency, of inputs near 0: its rounding error is
// about 1e-5.
const nearAngle = 64

// grids returns the grid spacing of each input, a power of two; +Inf if its frequencies are 0.
func grids(draws Draws, factor []float64) []float64 {
	const some = 63
	typical := func(list []float64) float64 {
		list = slices.Clone(list[:min(len(list), some)])
		for k, v := range list {
			list[k] = math.Abs(v)
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	out := make([]float64, len(factor))
	shared := 0.0
	if draws.Signs != nil { // all columns have the same sizes of frequencies, times their factors
		ones := slices.Repeat([]float64{1}, len(factor))
		shared = typical(fastOf[float64](draws.Signs, ones, draws.Spread).column(0))
	}
	for j, g := range factor {
		size := shared
		if draws.Signs == nil {
			size = typical(draws.Base.RawRowView(j))
		}
		_, exponent := math.Frexp(2 * nearAngle / math.Abs(g*size))
		if out[j] = math.Ldexp(1, exponent); !(math.Abs(g*size) > 0) {
			out[j] = math.Inf(1)
		}
	}
	return out
}

// far reports whether any input is not near 0.
func (f *Rounded[T]) far(x kern.View[float64]) bool {
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if math.Abs(v) > f.grid[j]/2 {
				return true
			}
		}
	}
	return false
}

// mapFar writes the features of rows with inputs far from 0.
func (f *Rounded[T]) mapFar(dst kern.View[T], x kern.View[float64]) {
	if x.Rows <= sparseRows {
		f.mapFarRows(dst, x)
		return
	}
	kern.Parallel(x.Rows, sparseRows, func(lo, hi int) {
		f.mapFarRows(dst.Slice(lo, hi, 0, dst.Cols), x.Slice(lo, hi, 0, x.Cols))
	})
}

func (f *Rounded[T]) mapFarRows(dst kern.View[T], x kern.View[float64]) {
	d := x.Cols
	hold := design.Borrow[T](x.Rows * (f.m + d))
	defer hold.Release()
	angles := kern.Dense(x.Rows, f.m, f.m, hold.Data)
	rest := mat.NewDense(x.Rows, d, nil)
	turns := make([][]T, x.Rows)
	var known []turn[T]
	at := make([]float64, d)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			at[j] = 0
			if h := f.grid[j]; math.Abs(v) > h/2 {
				at[j] = h * math.RoundToEven(v/h)
			}
			rest.Set(i, j, v-at[j])
		}
		turns[i] = f.turnOf(at, &known)
	}
	if f.fast != nil {
		f.fast.project(angles, rest, 0)
	} else {
		near := kern.Dense(x.Rows, d, d, hold.Data[x.Rows*f.m:])
		roundRows(near, design.View(rest), 0, x.Rows)
		kern.Mul(angles, near, f.omega, false)
	}
	for i, turn := range turns {
		a := angles.Row(i)
		if f.fast != nil {
			for k, s := range f.fast.spread {
				a[k] *= s
			}
		}
		for k, v := range turn {
			a[k] += v
		}
	}
	f.waves(dst, angles)
}

// turn is the angles of a point of the grid.
type turn[T kern.Float] struct {
	at     []float64
	angles []T // of the m frequencies
}

// turnOf returns the angles of a point of the grid, computed in double precision, below 2π. It keeps
// those of a few points.
func (f *Rounded[T]) turnOf(at []float64, known *[]turn[T]) []T {
	const kept = 16
	for _, t := range *known {
		if slices.Equal(t.at, at) {
			return t.angles
		}
	}
	sum := make([]float64, f.m)
	exact := f.exact()
	if exact.fast != nil {
		exact.fast.project(kern.Dense(1, f.m, f.m, sum), mat.NewDense(1, len(at), at), 0)
		for k, s := range exact.fast.spread[:f.m] {
			sum[k] *= s
		}
	} else {
		for j, c := range at {
			if c != 0 {
				kern.Axpy(c, exact.omega.Row(j)[:f.m], sum)
			}
		}
	}
	angles := make([]T, f.m)
	for k, v := range sum {
		angles[k] = T(math.Mod(v, 2*math.Pi))
	}
	if len(*known) == kept {
		*known = (*known)[:0]
	}
	*known = append(*known, turn[T]{slices.Clone(at), angles})
	return angles
}
