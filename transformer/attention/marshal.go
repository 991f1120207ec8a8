package attention

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

var (
	_ encoding.BinaryMarshaler   = (*State)(nil)
	_ encoding.BinaryUnmarshaler = (*State)(nil)
	_ encoding.BinaryMarshaler   = (*StateFloat32)(nil)
	_ encoding.BinaryUnmarshaler = (*StateFloat32)(nil)
)

// A serialized state, with little-endian numbers in this order:
//
//	magic, 8 bytes
//	version, bits per element of the sums: two uint32
//	batch, heads, width, values, features, number of keys: six uint64
//	ω, width × features, float64
//	per head: maximum exponents, features, and sums, features × (values+1), float64 or float32
//	SHA-256 of the preceding bytes, 32 bytes
const (
	magic       = "attn\x00\r\n\x1a"
	version     = 1
	headerBytes = len(magic) + 2*4 + 6*8
)

// precision returns the name of a floating-point format.
func precision(bits uint32) string {
	switch bits {
	case 32:
		return "single precision"
	case 64:
		return "double precision"
	}
	return fmt.Sprintf("%d bits", bits)
}

// bitsOf returns the size of T in bits.
func bitsOf[T kern.Float]() uint32 {
	if _, ok := any(T(0)).(float32); ok {
		return 32
	}
	return 64
}

// MarshalBinary serializes the state with its features: 8·m·width bytes, and m·heads·batch·(values
// + 2) elements of the state's precision.
func (s *stream[T]) MarshalBinary() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	numbers := []int{s.shape.Batch, s.shape.Heads, s.shape.Width, s.shape.Values, s.features.Len(), s.keys}
	size := savedBytes[T](numbers)
	if err := memory.Check(int64(min(size, 1<<62))); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	data := append(make([]byte, 0, int(size)), magic...)
	data = binary.LittleEndian.AppendUint32(data, version)
	data = binary.LittleEndian.AppendUint32(data, bitsOf[T]())
	for _, n := range numbers {
		data = binary.LittleEndian.AppendUint64(data, uint64(n))
	}
	normal := s.features.features.Normal
	for j := range s.shape.Width {
		data = appendNumbers(data, normal.RawRowView(j))
	}
	for _, h := range s.heads {
		data = appendNumbers(appendNumbers(data, h.maxExponents), h.rows.Data)
	}
	seal := sha256.Sum256(data)
	return append(data, seal[:]...), nil
}

// savedBytes returns the length of a serialized state.
func savedBytes[T kern.Float](numbers []int) float64 {
	batch, heads, width, values, features := float64(numbers[0]), float64(numbers[1]), float64(numbers[2]),
		float64(numbers[3]), float64(numbers[4])
	sums := batch * heads * features * (values + 2) * float64(bitsOf[T]()/8)
	return float64(headerBytes+sha256.Size) + 8*width*features + sums
}

// appendNumbers appends numbers to data.
func appendNumbers[T kern.Float](data []byte, numbers []T) []byte {
	for _, v := range numbers {
		if bitsOf[T]() == 32 {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		} else {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64(v)))
		}
	}
	return data
}

// decodeNumbers decodes len(dst) numbers and returns the remaining data.
func decodeNumbers[T kern.Float](data []byte, dst []T) []byte {
	for i := range dst {
		if bitsOf[T]() == 32 {
			dst[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(data)))
			data = data[4:]
		} else {
			dst[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(data)))
			data = data[8:]
		}
	}
	return data
}

// UnmarshalBinary restores a state from MarshalBinary, which continues with the same bits. It
// reuses the features of s if they are equal. Errors: data is no state, has another precision or a
// newer version, or is truncated or corrupt; s is then unchanged.
func (s *stream[T]) UnmarshalBinary(data []byte) error {
	read, err := decodeState[T](data, s.features)
	if err != nil {
		return fmt.Errorf("attention: cannot restore state: %w", err)
	}
	*s = read
	return nil
}

// decodeState decodes a state; it uses known if these are its features.
func decodeState[T kern.Float](data []byte, known *Features) (stream[T], error) {
	s, m, err := readHeader[T](data)
	if err != nil {
		return s, err
	}
	if err := memory.Check(3 * int64(len(data))); err != nil {
		return s, err
	}
	normal := mat.NewDense(s.shape.Width, m, nil)
	omega := normal.RawMatrix().Data
	data = decodeNumbers(data[headerBytes:], omega)
	if !kern.AllFinite(omega) {
		return s, errors.New("features must be finite")
	}
	if known != nil && mat.Equal(normal, known.features.Normal) {
		s.features = known
	} else if s.features, err = newFeatures(normal); err != nil {
		return s, err
	}
	s.heads = s.emptySums()
	for i, h := range s.heads {
		data = decodeNumbers(decodeNumbers(data, h.maxExponents), h.rows.Data)
		if err := h.checkSaved(s.keys); err != nil {
			return s, fmt.Errorf("batch %d, head %d: %w", i/s.shape.Heads, i%s.shape.Heads, err)
		}
	}
	return s, nil
}

// readHeader validates the header and the checksum.
func readHeader[T kern.Float](data []byte) (s stream[T], features int, err error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return s, 0, errors.New("not a serialized state")
	}
	if len(data) < headerBytes+sha256.Size {
		return s, 0, fmt.Errorf("truncated: must have at least %d bytes, got %d", headerBytes+sha256.Size, len(data))
	}
	head := data[len(magic):]
	if v := binary.LittleEndian.Uint32(head); v != version {
		return s, 0, fmt.Errorf("version must be %d, got %d", version, v)
	}
	if bits := binary.LittleEndian.Uint32(head[4:]); bits != bitsOf[T]() {
		return s, 0, fmt.Errorf("precision must be %s, got %s", precision(bitsOf[T]()), precision(bits))
	}
	names, numbers := []string{"batch", "heads", "width", "values", "features", "keys"}, make([]int, 6)
	var errs []error
	for i, name := range names {
		low, high := uint64(1), uint64(len(data)) // every counted item takes at least one byte
		if name == "keys" {
			low, high = 0, maxKeys
		}
		n := binary.LittleEndian.Uint64(head[8+8*i:])
		if n < low || n > high {
			errs = append(errs, fmt.Errorf("%s must be %d to %d, got %d", name, low, high, n))
		}
		numbers[i] = int(min(n, high))
	}
	if errs != nil {
		return s, 0, errors.Join(errs...)
	}
	if size := savedBytes[T](numbers); size != float64(len(data)) {
		return s, 0, fmt.Errorf("truncated or corrupt: must have %.0f bytes, got %d", size, len(data))
	}
	body := data[:len(data)-sha256.Size]
	if seal := sha256.Sum256(body); !bytes.Equal(seal[:], data[len(body):]) {
		return s, 0, errors.New("corrupt: checksum mismatch")
	}
	s.shape = Shape{numbers[0], numbers[1], 1, 1, numbers[2], numbers[3], true}
	s.keys = numbers[5]
	return s, numbers[4], nil
}

// checkSaved returns an error for sums that no sequence of that many keys has, so that later
// operations cannot overflow.
func (s *sums[T]) checkSaved(seen int) error {
	if seen == 0 {
		if slices.ContainsFunc(s.maxExponents, func(t T) bool { return !math.IsInf(float64(t), -1) }) ||
			slices.ContainsFunc(s.rows.Data, func(v T) bool { return v != 0 }) {
			return errors.New("sums must be empty without keys")
		}
		return nil
	}
	most := T(2 * float64(seen) * maxValue[T](len(s.maxExponents)))
	for r, t := range s.maxExponents {
		row := s.rows.Row(r)
		values, weights := row[:len(row)-1], row[len(row)-1]
		if exponent := math.Abs(float64(t)); !(exponent <= maxFinite[T]()/2) {
			return fmt.Errorf("feature %d: invalid maximum exponent %g", r, t)
		}
		// The key with the maximum exponent has weight 1, the others less.
		if !(float64(weights) >= 0.5 && float64(weights) <= 2*float64(seen)) {
			return fmt.Errorf("feature %d: invalid sum of weights of %d keys: %g", r, seen, weights)
		}
		for _, v := range values {
			if !(v <= most && v >= -most) {
				return fmt.Errorf("feature %d: sums of values must be at most %.3g in magnitude, got %g", r, most, v)
			}
		}
	}
	return nil
}
