//go:build !noasm

package kern

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go -C _asm run . -family peak -pkg kern -out ../peak_amd64.s -stubs ../peak_amd64.go
//go:generate go -C _asm run . -family product -pkg kern -out ../product_amd64.s -stubs ../product_amd64.go

// available lists the instruction sets of this machine, the best one last.
func available() []instructions {
	sets := []instructions{portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets = append(sets, avx2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
			sets = append(sets, avx512)
		}
	}
	return sets
}

// The functions below choose among the assembly kernels; isa is not portable
// when they are called. Direct calls, not function variables, keep the
// arguments from escaping.

func p64[T Float](x *T) *float64 { return (*float64)(unsafe.Pointer(x)) }
func p32[T Float](x *T) *float32 { return (*float32)(unsafe.Pointer(x)) }

func tileAsm[T Float](depth int, a, b, c *T, cRow int, add bool) {
	switch {
	case isa == avx512 && is64[T]():
		tileAVX512F64(depth, p64(a), p64(b), p64(c), cRow, add)
	case isa == avx512:
		tileAVX512F32(depth, p32(a), p32(b), p32(c), cRow, add)
	case is64[T]():
		tileAVX2F64(depth, p64(a), p64(b), p64(c), cRow, add)
	default:
		tileAVX2F32(depth, p32(a), p32(b), p32(c), cRow, add)
	}
}

func widenAsm(c *float64, cRow int, sums *float32) {
	if isa == avx512 {
		widenAVX512(c, cRow, sums)
	} else {
		widenAVX2(c, cRow, sums)
	}
}

// peakFlops makes rounds·12 register-wide multiply-adds and returns their flops.
func peakFlops[T Float](rounds int) float64 {
	switch {
	case isa == avx512 && is64[T]():
		peakAVX512F64(rounds)
		return float64(rounds) * 12 * 8 * 2
	case isa == avx512:
		peakAVX512F32(rounds)
		return float64(rounds) * 12 * 16 * 2
	case is64[T]():
		peakAVX2F64(rounds)
		return float64(rounds) * 12 * 4 * 2
	default:
		peakAVX2F32(rounds)
		return float64(rounds) * 12 * 8 * 2
	}
}
