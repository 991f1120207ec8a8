package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
)

// DeriveSeed returns the seed of the step at path ("columns.numeric.rff") in an experiment with
// that seed: an integer that a float64 holds exactly.
func DeriveSeed(seed uint64, path string) uint64 {
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), path...))
	return binary.LittleEndian.Uint64(sum[:8]) >> 11
}
