package fourier

import (
	"context"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/matrices"
)

// Signs are the random signs of structured frequencies,
//
//	[ω₁ … ω_w]' = sqrt(w)·H·D₁·H·D₂·H·D₃,
//
// in blocks of w, a power of two: H is the Walsh–Hadamard matrix of that order divided by sqrt(w), each D has w signs
// on its diagonal, and inputs are padded by zeros. Times a frequency's spread they take the place of normal numbers:
// all are sqrt(w) long and those of a block at right angles to each other, before inputs are cut off. A block maps a
// row in 3w·log₂w steps instead of d·w.
//
// Source: Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, "Orthogonal random features", NIPS 2016.
type Signs struct {
	Inputs int      // d
	Width  int      // w
	Bits   []uint64 // 3w per block, those of D₁, D₂ and D₃; 1 means −1
}

// minWidth bounds the bias of signs relative to normal numbers, about Σ(ω'Δ)⁴/12w: fewer inputs are
// padded to this width.
const minWidth = 64

// widthOf returns w for d inputs.
func widthOf(d int) int { return max(minWidth, 1<<bits.Len(uint(d-1))) }

// SignsOf returns the signs of m frequencies of d inputs from their bits; ok is false if the number
// of bits is wrong.
func SignsOf(d, m int, bits []uint64) (*Signs, bool) {
	if d < 1 || m < 1 || d > 64*len(bits) {
		return nil, false
	}
	w := widthOf(d)
	return &Signs{Inputs: d, Width: w, Bits: bits}, len(bits) == 3*w/64*((m+w-1)/w)
}

// drawSigns draws the signs of as many blocks as m frequencies take.
func drawSigns(ctx context.Context, seed uint64, d, m int) (*Signs, error) {
	w := widthOf(d)
	blocks := (m + w - 1) / w
	if err := memory.Check(int64(min(40*float64(w)*float64(blocks), math.MaxInt64/2))); err != nil {
		return nil, err
	}
	s, rng := &Signs{Inputs: d, Width: w, Bits: make([]uint64, 0, blocks*3*w/64)}, spectral.NewStream()
	for b := range blocks {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		rng.At(seed, spectral.Signs, b)
		for range 3 * w / 64 {
			s.Bits = append(s.Bits, rng.Uint64())
		}
	}
	return s, nil
}

// first returns the signs of the blocks of the first m frequencies.
func (s *Signs) first(m int) *Signs {
	out := *s
	words := 3 * s.Width / 64 * ((m + s.Width - 1) / s.Width)
	out.Bits = s.Bits[:words:words]
	return &out
}

// fast computes projections by fast transforms.
type fast[T kern.Float] struct {
	inputs, width int
	scale         []T // d, of the inputs: factor/w, for H is not divided by anything here
	spread        []T // d, of the inputs: factor/w, because the transforms do not normalize H
	signs         []T // 3w of each block
}

func fastOf[T kern.Float](s *Signs, factor, spread []float64) *fast[T] {
	f := &fast[T]{inputs: s.Inputs, width: s.Width, scale: make([]T, len(factor)), spread: make([]T, len(spread))}
	for j, v := range factor {
		f.scale[j] = T(v / float64(s.Width))
	}
	for j, v := range spread {
		f.spread[j] = T(v)
	}
	f.signs = make([]T, 64*len(s.Bits))
	for k, word := range s.Bits {
		for bit := range 64 {
			f.signs[64*k+bit] = T(1 - 2*int(word>>bit&1))
		}
	}
	return f
}

// limit returns the maximum magnitude of inputs, negative if no finite input is allowed.
func (f *fast[T]) limit() float64 {
	factor, spread := 0.0, 1.0
	for _, v := range f.scale {
		factor = max(factor, math.Abs(float64(v)))
	}
	for _, v := range f.spread {
		spread = max(spread, math.Abs(float64(v)))
	}
	reach := factor * float64(f.width) * math.Sqrt(float64(f.inputs)*float64(f.width))
	if most := reach * spread; spectral.Finite(float64(T(most))) {
		return largestOf[T]() / max(4, 4*most, 4*reach)
	}
	return -1
}

// first returns the transform of the first m projections.
func (f *fast[T]) first(m int) *fast[T] {
	out := *f
	out.spread = f.spread[:m:m]
	out.signs = f.signs[:3*f.width*((m+f.width-1)/f.width)]
	return &out
}

// project writes the projections of rows of x, without spreads, to angles, which has a column for each of the first
// frequencies.
func (f *fast[T]) project(angles kern.View[T], x mat.Matrix, first int) {
	w := f.width
	hold := design.Borrow[T](2 * w)
	defer hold.Release()
	row, buffer := hold.Data[:w], hold.Data[w:2*w]
	for i := range angles.Rows {
		f.pad(row, x, first+i)
		for at := 0; at < angles.Cols; at += w {
			copy(buffer, row)
			kern.SignedFWHT(buffer, f.signs[3*at:3*(at+w)])
			copy(angles.Row(i)[at:], buffer)
		}
	}
}

// pad writes row i of x, scaled, and zeros after it.
func (f *fast[T]) pad(to []T, x mat.Matrix, i int) {
	clear(to)
	switch x := x.(type) {
	case *mat.Dense:
		for j, v := range x.RawRowView(i) {
			to[j] = f.scale[j] * T(v)
		}
	case *matrices.CSR:
		columns, values := x.Row(i)
		shared, one := x.Shared()
		for k, j := range columns {
			if one {
				to[j] = f.scale[j] * T(shared)
			} else {
				to[j] = f.scale[j] * T(values[k])
			}
		}
	}
}

// fastRows is the number of rows of one piece of work.
const fastRows = 32

// column returns the frequencies of input j.
func (f *fast[T]) column(j int) []float64 {
	m := len(f.spread)
	one, row, out := mat.NewDense(1, f.inputs, nil), make([]T, m), make([]float64, m)
	one.Set(0, j, 1)
	f.project(kern.Dense(1, m, m, row), one, 0)
	for k, v := range row {
		out[k] = float64(v * f.spread[k])
	}
	return out
}

// frequencies returns the frequencies, d×m.
func (f *fast[T]) frequencies() *mat.Dense {
	out := mat.NewDense(f.inputs, len(f.spread), nil)
	for j := range f.inputs {
		out.SetRow(j, f.column(j))
	}
	return out
}
