package kern

import "os"

//go:generate go -C _asm run . -family distance -pkg kern -out ../distance_amd64.s -stubs ../distance_amd64.go
//go:generate go -C _asm run . -family elementary -pkg kern -out ../elementary_amd64.s -stubs ../elementary_amd64.go
//go:generate go -C _asm run . -family hadamard -pkg kern -out ../hadamard_amd64.s -stubs ../hadamard_amd64.go
//go:generate go -C _asm run . -family leave -pkg kern -out ../leave_one_out_amd64.s -stubs ../leave_one_out_amd64.go
//go:generate go -C _asm run . -family mixed -pkg kern -out ../mixed_amd64.s -stubs ../mixed_amd64.go
//go:generate go -C _asm run . -family narrow -pkg kern -out ../narrow_amd64.s -stubs ../narrow_amd64.go
//go:generate go -C _asm run . -family pair -pkg kern -out ../pair_amd64.s -stubs ../pair_amd64.go
//go:generate go -C _asm run . -family peak -pkg kern -out ../peak_amd64.s -stubs ../peak_amd64.go
//go:generate go -C _asm run . -family product -pkg kern -out ../product_amd64.s -stubs ../product_amd64.go
//go:generate go -C _asm run . -family vector -pkg kern -out ../vector_amd64.s -stubs ../vector_amd64.go
//go:generate go -C _asm run . -family neon -out ../neon_arm64.s -stubs ../neon_arm64.go
//go:generate go -C _asm run . -family neonelementary -out ../elementary_arm64.s -stubs ../elementary_arm64.go
//go:generate go -C _asm run . -family neonnarrow -out ../narrow_arm64.s -stubs ../narrow_arm64.go
//go:generate go -C _asm run . -family neonvector -out ../vector_arm64.s -stubs ../vector_arm64.go

// instructions is a set of vector instructions.
type instructions int

const (
	portable instructions = iota
	neon                  // arm64: products, elementary functions, Fourier features and vectors
	avx2                  // with FMA
	avx512                // F, DQ, BW and VL
)

func (s instructions) String() string {
	return [...]string{"portable", "neon", "avx2", "avx512"}[s]
}

// complete reports whether every kernel has an assembly version in s. NEON lacks Cholesky
// substitution, packing, transposes, the Walsh–Hadamard transform, and sums of differences.
func (s instructions) complete() bool { return s >= avx2 }

// isa is the instruction set in use: the best one available, or the one named by the environment
// variable BOCHNER_KERN. Unavailable names are ignored here and reported by a test.
var isa = choose(os.Getenv("BOCHNER_KERN"))

func choose(name string) instructions {
	sets := available()
	for _, s := range sets {
		if s.String() == name {
			return s
		}
	}
	return sets[len(sets)-1]
}
