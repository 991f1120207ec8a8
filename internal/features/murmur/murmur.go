// Package murmur implements the 32-bit MurmurHash3 (Appleby, 2011; public domain), with which scikit-learn hashes
// features, and the column and sign that follow from it.
package murmur

import "math/bits"

// Sum32 returns the hash of data with seed 0.
func Sum32[T string | []byte](data T) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	var h uint32
	n := len(data)
	i := 0
	for ; i+4 <= n; i += 4 {
		k := uint32(data[i]) | uint32(data[i+1])<<8 | uint32(data[i+2])<<16 | uint32(data[i+3])<<24
		h ^= bits.RotateLeft32(k*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var k uint32
	for j := n - 1; j >= i; j-- {
		k = k<<8 | uint32(data[j])
	}
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// Column returns the column, from 0 to columns−1, and the sign, 1 or −1, of a feature with the given hash, as
// scikit-learn's FeatureHasher has them: of the hash as a signed number the absolute value and the sign.
func Column(hash uint32, columns int) (column int, sign float64) {
	if h := int64(int32(hash)); h < 0 {
		return int(-h % int64(columns)), -1
	}
	return int(int64(hash) % int64(columns)), 1
}
