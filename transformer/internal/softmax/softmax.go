// Package softmax maps rows to positive random features of the softmax kernel, exp(x'y).
//
//	z(x) = m^−½·[exp(ω₁'u − ‖u‖²/2), …, exp(ω_m'u − ‖u‖²/2)],   u = factor ∘ x,   ω ~ N(0, I)
//
// Because E[exp(ω't)] = exp(‖t‖²/2) and ‖u + v‖² = ‖u‖² + ‖v‖² + 2u'v, E[z(x)'z(y)] = exp(u'v). All
// features are positive. The variance of z(x)'z(y), with independent ω, is
//
//	exp(2u'v)·(exp(‖u + v‖²) − 1) / m
//
// which increases rapidly with the norms of the rows. A feature is at most m^−½·exp(‖ω‖²/2),
// whatever x is.
//
// [Draw] draws normal numbers, [New] returns the [Map] for them, in either precision. [Rounded.Exponents]
// computes the exponents only, for callers that normalize by a sum of features and can shift them first.
//
// Source: Choromanski et al., "Rethinking attention with Performers", ICLR 2021, lemma 1 and
// section 2.4.
package softmax

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Draws lists the samplers: independent ω, or ω orthogonal in blocks.
var Draws = []string{"iid", "orthogonal"}

// Draw returns m columns of d standard normal numbers, d×m. The first columns do not depend on m.
func Draw(ctx context.Context, draw string, seed uint64, d, m int) (*mat.Dense, error) {
	if err := memory.Check(int64(min(20*float64(d)*float64(m), math.MaxInt64/2))); err != nil {
		return nil, fmt.Errorf("%d columns × %d features: %w", d, m, err)
	}
	if draw == "orthogonal" {
		return spectral.Orthogonal(ctx, seed, d, m)
	}
	return spectral.Normals(ctx, seed, d, m)
}

// Map is a softmax map: draws scaled by input factors.
type Map struct {
	Normal  *mat.Dense // d×m
	Factor  []float64  // d
	Float64 Rounded[float64]
	Float32 Rounded[float32]
}

// New returns the map of finite normal numbers, d×m, and finite factors.
func New(normal *mat.Dense, factor []float64) (Map, error) {
	f := Map{Normal: normal, Factor: factor}
	f.Float64 = roundNormal[float64](normal, factor)
	f.Float32 = roundNormal[float32](normal, factor)
	if f.Float64.Limit < 0 {
		return f, errors.New("a normal number overflows")
	}
	return f, nil
}

// First returns the map of the first m features.
func (f Map) First(m int) Map {
	d, _ := f.Normal.Dims()
	f.Normal = f.Normal.Slice(0, d, 0, m).(*mat.Dense)
	f.Float64, f.Float32 = f.Float64.first(m), f.Float32.first(m)
	return f
}

// Width returns m, the number of features.
func (f *Map) Width() int {
	_, m := f.Normal.Dims()
	return m
}

// Rounded is the arithmetic of a map in one precision.
type Rounded[T kern.Float] struct {
	omega  kern.View[T] // (d+1)×m: ω, and below it −1, which half a squared norm is multiplied by
	factor []float64
	small  bool    // no exponent can be above most
	Limit  float64 // inputs up to which exponents are finite, below 0 where the draws are not
}

func roundNormal[T kern.Float](normal *mat.Dense, factor []float64) Rounded[T] {
	d, m := normal.Dims()
	f := Rounded[T]{omega: kern.Dense(d+1, m, m, make([]T, (d+1)*m)), factor: factor, Limit: -1}
	reach, squares := make([]float64, m), make([]float64, m)
	for j := range d {
		to := f.omega.Row(j)
		for k, w := range normal.RawRowView(j) {
			to[k] = T(w)
			reach[k] += math.Abs(w)
			squares[k] += w * w
		}
	}
	for k := range m {
		f.omega.Row(d)[k] = -1
	}
	widest := slices.Max(reach)
	f.small = slices.Max(squares)/2 <= most[T]()
	if spectral.Finite(float64(T(widest))) {
		f.Limit = min(largest[T]()/max(4, 4*widest), math.Sqrt(largest[T]()/(4*float64(d)))) / max(1, slices.Max(factor))
	}
	return f
}

// largest returns the largest finite T.
func largest[T kern.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// most returns the largest exponent of a feature: the sum of squares of 10⁶ such features is finite.
func most[T kern.Float]() float64 { return math.Floor(math.Log(largest[T]())/2 - 7) }

// first returns the map of the first m features.
func (f Rounded[T]) first(m int) Rounded[T] {
	f.omega = f.omega.Slice(0, f.omega.Rows, 0, m)
	return f
}

// Features returns m.
func (f *Rounded[T]) Features() int { return f.omega.Cols }

// Inputs returns d.
func (f *Rounded[T]) Inputs() int { return f.omega.Rows - 1 }

// log returns the logarithm of sqrt(m).
func (f *Rounded[T]) log() T { return T(math.Log(float64(f.omega.Cols)) / 2) }

// Exponents writes ω'u − ‖u‖²/2 of the rows of x to dst, rows × m; without norms it writes ω'u,
// which differs by a constant in each row. scratch has rows × (d+1) elements. No number in x
// exceeds the limit.
func (f *Rounded[T]) Exponents(dst, x kern.View[T], norms bool, scratch []T) {
	d := f.Inputs()
	longer := kern.Dense(x.Rows, d+1, d+1, scratch)
	for i := range x.Rows {
		row := longer.Row(i)
		for j, v := range x.Row(i) {
			row[j] = T(f.factor[j]) * v
		}
		row[d] = 0
		if norms {
			row[d] = kern.Dot(row[:d], row[:d]) / 2
		}
	}
	if x.Rows == 1 { // the matrix is read once, and not rearranged before
		kern.MulVecT(dst.Row(0), f.omega, longer.Row(0), false)
		return
	}
	kern.Mul(dst, longer, f.omega, false)
}
