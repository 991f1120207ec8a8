package spectral

import (
	"math"
	"math/rand/v2"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Part is a component of a sum or product of kernels.
type Part struct {
	Kernel
	Factor float64 // factor of the differences, and hence of the frequencies
	Weight float64 // weight in a sum
}

// Sum returns the kernel Σ w_i·k_i(f_i·Δ) with weights normalized to sum 1. A frequency is drawn
// from part i with probability w_i. A sum of scale mixtures of gaussian kernels is a scale mixture
// itself.
func Sum(parts []Part) Kernel {
	total := 0.0
	for _, p := range parts {
		total += p.Weight
	}
	// choose selects a part by a uniform number u, with probability proportional to its weight, and
	// returns a uniform number for the part.
	choose := func(u float64) (Part, float64) {
		for _, p := range parts[:len(parts)-1] {
			if share := p.Weight / total; u < share {
				return p, openUnit(u / share)
			} else {
				u -= share
			}
		}
		last := parts[len(parts)-1]
		return last, openUnit(u / (last.Weight / total))
	}
	uniforms := 1
	for _, p := range parts {
		uniforms = max(uniforms, p.Uniforms)
	}
	// of returns the uniform numbers of a part: the first has chosen it.
	of := func(u []float64, within float64) []float64 { return append([]float64{within}, u[1:]...) }
	k := Kernel{Power: 1, Uniforms: uniforms, Exact: func(delta []float64) float64 {
		sum := 0.0
		for _, p := range parts {
			sum += p.Weight / total * p.at(delta)
		}
		return sum
	}}
	if mixtures(parts) {
		k.Spread = func(rng *rand.Rand) float64 {
			p, _ := choose(rng.Float64())
			return p.Factor * p.Spread(rng)
		}
		k.SpreadOf = func(u []float64) float64 {
			p, within := choose(u[0])
			return p.Factor * p.SpreadOf(of(u, within))
		}
		return k
	}
	k.Frequency = func(rng *rand.Rand, omega []float64) {
		p, _ := choose(rng.Float64())
		p.draw(rng, omega)
	}
	k.FrequencyOf = func(u, each, omega []float64) {
		p, within := choose(u[0])
		p.FrequencyAt(of(u, within), each, omega)
		kern.Scale(p.Factor, omega)
	}
	return k
}

func mixtures(parts []Part) bool {
	for _, p := range parts {
		if p.Spread == nil {
			return false
		}
	}
	return true
}

// at returns k(f·Δ).
func (p Part) at(delta []float64) float64 {
	scaled := make([]float64, len(delta))
	for j, v := range delta {
		scaled[j] = p.Factor * v
	}
	return p.Exact(scaled)
}

// draw fills omega with a draw.
func (p Part) draw(rng *rand.Rand, omega []float64) {
	if p.Spread != nil {
		Normal(rng, p.Factor*p.Spread(rng), omega)
		return
	}
	p.Frequency(rng, omega)
	kern.Scale(p.Factor, omega)
}

// FrequencyAt fills omega with the frequency for uniform numbers in (0, 1): u for the frequency as
// a whole, each for the inputs. The kernel has SpreadOf or FrequencyOf.
func (k Kernel) FrequencyAt(u, each, omega []float64) {
	if k.SpreadOf == nil {
		k.FrequencyOf(u, each, omega)
		return
	}
	NormalAt(each, omega)
	kern.Scale(k.SpreadOf(u), omega)
}

// NormalAt writes the standard normal quantiles of the probabilities u to x.
func NormalAt(u, x []float64) {
	for j, v := range u {
		x[j] = math.Sqrt2 * math.Erfinv(2*v-1)
	}
}

// openUnit clips u to the open interval (0, 1).
func openUnit(u float64) float64 { return min(max(u, 0x1p-53), 1-0x1p-53) }
