package specs

import (
	"crypto/sha256"
	"encoding/binary"
)

// DeriveSeed returns the seed of the step at path, such as "columns.numeric.rff", in an experiment
// with the given seed. It is an integer that a float64 represents exactly.
func DeriveSeed(seed uint64, path string) uint64 {
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), path...))
	return binary.LittleEndian.Uint64(sum[:8]) >> 11
}
