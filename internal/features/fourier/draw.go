package fourier

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Laws lists the names of the frequency samplers. The j-th frequency does not depend on the number
// of frequencies.
//
//	iid         independent
//	orthogonal  orthogonal directions, in blocks of d
//	qmc         points of a randomized Halton sequence, mapped to the spectral measure
//	structured  rows of products of Hadamard matrices and random signs, in blocks of a power of two
var Laws = []string{"iid", "orthogonal", "qmc", "structured"}

// Suits reports whether a sampler supports the kernel.
func Suits(law string, k spectral.Kernel) bool {
	switch law {
	case "orthogonal", "structured":
		return k.Spread != nil
	case "qmc":
		return k.SpreadOf != nil || k.FrequencyOf != nil
	}
	return true
}

// Law is a frequency sampler and its seed.
type Law struct {
	Name string // one of Laws
	Seed uint64
}

// Draw draws m frequencies of d inputs for a supported kernel.
func (l Law) Draw(ctx context.Context, k spectral.Kernel, d, m int, paired bool) (out Draws, err error) {
	if l.Name == "iid" {
		return Draw(ctx, k, l.Seed, d, m, paired)
	}
	out.Paired = paired
	if l.Name == "structured" {
		out.Signs, err = drawSigns(ctx, l.Seed, d, m)
	} else if err = checkMemory(d, m); err == nil {
		out.Base, err = l.normals(ctx, k, d, m)
	}
	if err != nil {
		return out, err
	}
	if k.Spread != nil {
		out.Spread = l.spreads(k, d, m)
	}
	for j := range m {
		if err := ctxerr.Check(ctx); err != nil {
			return out, err
		}
		if out.Spread != nil && !spectral.Finite(out.Spread[j]) {
			return out, fmt.Errorf("frequency %d is not finite", j)
		}
		if out.Base == nil {
			continue
		}
		for i := range d {
			v := out.Base.At(i, j)
			if out.Spread != nil {
				v *= out.Spread[j]
				out.Base.Set(i, j, v)
			}
			if !spectral.Finite(v) {
				return out, fmt.Errorf("frequency %d is not finite", j)
			}
		}
	}
	if !paired {
		out.Phase = phases(l.Seed, m)
	}
	return out, nil
}

// Cost returns the flops of projecting a row of that many entries, d inputs wide, on m frequencies, and the bytes
// of the frequencies.
func (l Law) Cost(entries, d, m float64) (flops, bytes float64) {
	if l.Name != "structured" {
		return 4 * entries * m, 20 * d * m // narrow products go at half the speed of wide ones
	}
	w := float64(widthOf(max(1, int(d))))
	all := w * math.Ceil(m/w) // frequencies, including the discarded ones of the last block
	return all * (3*math.Log2(w) + 4), 36*all + 20*m
}

// checkMemory returns an error if the frequencies do not fit in memory.
func checkMemory(d, m int) error {
	if err := memory.Check(int64(min(20*float64(d)*float64(m), math.MaxInt64/2))); err != nil {
		return fmt.Errorf("%d columns × %d frequencies: %w", d, m, err)
	}
	return nil
}

func phases(seed uint64, m int) []float64 {
	rng, out := spectral.NewStream(), make([]float64, m)
	for j := range out {
		rng.At(seed, spectral.Phases, j)
		out[j] = 2 * math.Pi * rng.Float64()
	}
	return out
}

// spreads returns the factors of the normal numbers.
func (l Law) spreads(k spectral.Kernel, d, m int) []float64 {
	out := make([]float64, m)
	if l.Name == "qmc" {
		points, u := newPoints(l.Seed, d, k.Uniforms), make([]float64, k.Uniforms)
		for j := range out {
			points.whole(j, u)
			out[j] = k.SpreadOf(u)
		}
		return out
	}
	rng := spectral.NewStream()
	for j := range out {
		rng.At(l.Seed, spectral.Spreads, j)
		out[j] = k.Spread(rng.Rand)
	}
	return out
}

// normals returns the d×m frequencies. For mixtures of gaussian kernels, it returns their normal
// factors, which are the same for all such kernels.
func (l Law) normals(ctx context.Context, k spectral.Kernel, d, m int) (*mat.Dense, error) {
	switch {
	case l.Name == "orthogonal":
		return spectral.Orthogonal(ctx, l.Seed, d, m)
	case l.Name == "iid":
		return spectral.Normals(ctx, l.Seed, d, m)
	}
	out, points := mat.NewDense(d, m, nil), newPoints(l.Seed, d, k.Uniforms)
	u, each, omega := make([]float64, k.Uniforms), make([]float64, d), make([]float64, d)
	for j := range m {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		points.inputs(j, each)
		if k.Spread != nil {
			spectral.NormalAt(each, omega)
		} else {
			points.whole(j, u)
			k.FrequencyOf(u, each, omega)
		}
		out.SetCol(j, omega)
	}
	return out, nil
}

// points is a quasi-random sequence. Its first coordinate is for the frequency as a whole, the next
// d are for the inputs, so that these do not depend on the kernel; the remaining ones are for the
// frequency again.
type points struct {
	sequence *spectral.Halton
	d        int
	buf      []float64
	at       int // index in the buffer, −1 for none
}

func newPoints(seed uint64, d, uniforms int) *points {
	n := d + max(uniforms, 1)
	return &points{sequence: spectral.NewHalton(seed, n), d: d, buf: make([]float64, n), at: -1}
}

func (p *points) point(j int) []float64 {
	if p.at != j {
		p.sequence.Point(j, p.buf)
		p.at = j
	}
	return p.buf
}

func (p *points) inputs(j int, each []float64) { copy(each, p.point(j)[1:]) }

func (p *points) whole(j int, u []float64) {
	all := p.point(j)
	copy(u, slices.Concat(all[:1], all[1+p.d:]))
}
