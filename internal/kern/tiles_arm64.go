//go:build !noasm

package kern

import "unsafe"

// available lists the instruction sets of this machine, the best one last.
func available() []instructions { return []instructions{portable, neon} }

func tilesAsm[T Float](panels, depth int, a, b, c *T, cRow int, how finish) {
	pa, pb, pc := unsafe.Pointer(a), unsafe.Pointer(b), unsafe.Pointer(c)
	if is64[T]() {
		tilesNEONF64(panels, depth, (*float64)(pa), (*float64)(pb), (*float64)(pc), cRow, int(how))
	} else {
		tilesNEONF32(panels, depth, (*float32)(pa), (*float32)(pb), (*float32)(pc), cRow, int(how))
	}
}
