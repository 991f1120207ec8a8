// Package fourier maps rows to random Fourier features,
//
//	paired:  z(x) = sqrt(1/m)·[cos ω₁'x, sin ω₁'x, …, cos ω_m'x, sin ω_m'x],   D = 2m
//	phase:   z(x) = sqrt(2/D)·[cos(ω₁'x + b₁), …, cos(ω_D'x + b_D)],  b ~ U[0, 2π)
//
// with frequencies ω from the spectral measure of a kernel.
//
// [Draw] returns [Draws], independent frequencies for γ = 1, and [Law.Draw] those of other
// samplers; [Draws.Map] returns the [Map] for a γ, in either precision; a [Family] contains several
// maps of the same draws, which share the projections of the rows. [Map.Errors] returns the error
// of the kernel approximation.
//
// Sources: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007,
// algorithm 1; Sutherland and Schneider, "On the error of random Fourier features", UAI 2015.
package fourier

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Draws are the frequencies of a kernel for γ = 1, and their phases.
type Draws struct {
	Base   *mat.Dense // d×m; nil for structured frequencies
	Signs  *Signs     // of structured frequencies
	Phase  []float64  // m, none for the paired map
	Spread []float64  // m, factors of the normal numbers; nil if unknown
	Paired bool       // cosine and sine of each frequency, no phases
}

// Len returns m, the number of frequencies.
func (d *Draws) Len() int {
	if d.Base == nil {
		return len(d.Spread)
	}
	_, m := d.Base.Dims()
	return m
}

// Draw draws m independent frequencies of d inputs. The normal factors are the same for all
// mixtures of gaussian kernels.
func Draw(ctx context.Context, k spectral.Kernel, seed uint64, d, m int, paired bool) (Draws, error) {
	out := Draws{Paired: paired}
	if err := checkMemory(d, m); err != nil {
		return out, err
	}
	out.Base = mat.NewDense(d, m, nil)
	omega := make([]float64, d)
	rng := spectral.NewStream()
	for j := range m {
		if err := ctxerr.Check(ctx); err != nil {
			return out, err
		}
		if k.Spread != nil {
			rng.At(seed, spectral.Spreads, j)
			out.Spread = append(out.Spread, k.Spread(rng.Rand))
		}
		rng.At(seed, spectral.Frequencies, j)
		if k.Spread != nil {
			spectral.Normal(rng.Rand, out.Spread[j], omega)
		} else {
			k.Frequency(rng.Rand, omega)
		}
		if !spectral.Finite(omega...) {
			return out, fmt.Errorf("frequency %d is not finite", j)
		}
		out.Base.SetCol(j, omega)
		if !paired {
			rng.At(seed, spectral.Phases, j)
			out.Phase = append(out.Phase, 2*math.Pi*rng.Float64())
		}
	}
	return out, nil
}

// Map is a Fourier map: draws scaled for some γ.
type Map struct {
	Draws
	Factor  []float64 // d, factors of the frequencies relative to the base
	Float64 Rounded[float64]
	Float32 func() *Rounded[float32] // computed on first use, because few maps are used in both precisions
}

// Map returns the map with frequencies factor ∘ base.
func (d Draws) Map(factor []float64) (Map, error) {
	m := Map{Draws: d, Factor: factor}
	m.Float64 = roundFrequencies[float64](d, factor)
	m.Float32 = sync.OnceValue(func() *Rounded[float32] {
		f := roundFrequencies[float32](d, factor)
		f.grid, f.exact = grids(d, factor), func() *Rounded[float64] { return &m.Float64 }
		return &f
	})
	if m.Float64.Limit < 0 {
		return m, errors.New("gamma times a frequency overflows")
	}
	return m, nil
}

// First returns the map of the first m frequencies.
func (f Map) First(m int) Map {
	if f.Base != nil {
		d, _ := f.Base.Dims()
		f.Base = f.Base.Slice(0, d, 0, m).(*mat.Dense)
	} else {
		f.Signs = f.Signs.first(m)
	}
	f.Float64 = f.Float64.first(m)
	all := f.Float32
	f.Float32 = sync.OnceValue(func() *Rounded[float32] {
		some := all().first(m)
		return &some
	})
	if f.Spread != nil {
		f.Spread = f.Spread[:m:m]
	}
	if !f.Paired {
		f.Phase = f.Phase[:m:m]
	}
	return f
}

// Width returns D, the number of features.
func (f *Map) Width() int {
	if f.Paired {
		return 2 * f.Len()
	}
	return f.Len()
}

// Frequencies returns the frequencies, d×m, a copy.
func (f *Map) Frequencies() *mat.Dense {
	if f.Signs != nil {
		return f.Float64.fast.frequencies()
	}
	d, m := f.Base.Dims()
	out := mat.NewDense(d, m, nil)
	for j := range d {
		out.SetRow(j, f.Float64.omega.Row(j))
	}
	return out
}
