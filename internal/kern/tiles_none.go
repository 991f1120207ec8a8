//go:build (!amd64 && !arm64) || noasm

package kern

// available lists the instruction sets of this machine: here, none to speak of.
func available() []instructions { return []instructions{portable} }

func tilesAsm[T Float](panels, depth int, a, b, c *T, cRow int, how finish) {
	panic("kern: no assembly")
}
