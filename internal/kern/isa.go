package kern

import (
	"fmt"
	"os"
)

// instructions is a set of vector instructions.
type instructions int

const (
	portable instructions = iota
	avx2                  // with FMA
	avx512                // F, DQ, BW and VL
)

func (s instructions) String() string { return [...]string{"portable", "avx2", "avx512"}[s] }

// isa is the set in use: the best of this machine, or the one that the
// environment variable BOCHNER_KERN names, for tests and comparisons.
var isa = choose(os.Getenv("BOCHNER_KERN"))

func choose(name string) instructions {
	sets := available()
	if name == "" {
		return sets[len(sets)-1]
	}
	for _, s := range sets {
		if s.String() == name {
			return s
		}
	}
	panic(fmt.Sprintf("kern: BOCHNER_KERN=%s, want one of %v", name, sets))
}
