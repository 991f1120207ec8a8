//go:build !amd64 || noasm

package kern

// available lists the instruction sets of this machine: here, none to speak of.
func available() []instructions { return []instructions{portable} }

// Without assembly isa is portable, and nothing below is called.

func tileAsm[T Float](depth int, a, b, c *T, cRow int, add bool) {
	panic("kern: no assembly")
}

func widenAsm(c *float64, cRow int, sums *float32) { panic("kern: no assembly") }

func peakFlops[T Float](rounds int) float64 { panic("kern: no assembly") }
