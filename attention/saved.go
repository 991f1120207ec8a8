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
	"github.com/bochner-ml/bochner/internal/memory"
)

var (
	_ encoding.BinaryMarshaler   = (*State)(nil)
	_ encoding.BinaryUnmarshaler = (*State)(nil)
	_ encoding.BinaryMarshaler   = (*StateFloat32)(nil)
	_ encoding.BinaryUnmarshaler = (*StateFloat32)(nil)
)

// A state is saved in this order, all numbers little-endian:
//
//	magic, 8 bytes
//	version, bits of a number in the sums: two uint32
//	batch, heads, width, values, features, keys seen: six uint64
//	ω, width × features, float64
//	for each head the largest exponents, features, and the sums, features × (values+1), float64 or float32
//	SHA-256 of all before, 32 bytes
const (
	magic       = "attn\x00\r\n\x1a"
	version     = 1
	headerBytes = len(magic) + 2*4 + 6*8
)

// precision names numbers of so many bits.
func precision(bits uint32) string {
	switch bits {
	case 32:
		return "single precision"
	case 64:
		return "double precision"
	}
	return fmt.Sprintf("%d bits a number", bits)
}

// bitsOf returns how many bits a number has.
func bitsOf[T kern.Float]() uint32 {
	if _, ok := any(T(0)).(float32); ok {
		return 32
	}
	return 64
}

// MarshalBinary returns all that the state needs to go on, its features included: 8·m·width bytes for these, and
// m·heads·batch·(values + 2) numbers of the state's precision.
func (s *stream[T]) MarshalBinary() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	numbers := []int{s.shape.Batch, s.shape.Heads, s.shape.Width, s.shape.Values, s.by.Len(), s.seen}
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
	normal := s.by.features.Normal
	for j := range s.shape.Width {
		data = put(data, normal.RawRowView(j))
	}
	for _, h := range s.heads {
		data = put(put(data, h.top), h.rows.Data)
	}
	seal := sha256.Sum256(data)
	return append(data, seal[:]...), nil
}

// savedBytes is the length of a saved state of these numbers.
func savedBytes[T kern.Float](numbers []int) float64 {
	batch, heads, width, values, features := float64(numbers[0]), float64(numbers[1]), float64(numbers[2]), float64(numbers[3]), float64(numbers[4])
	sums := batch * heads * features * (values + 2) * float64(bitsOf[T]()/8)
	return float64(headerBytes+sha256.Size) + 8*width*features + sums
}

// put appends numbers.
func put[T kern.Float](data []byte, numbers []T) []byte {
	for _, v := range numbers {
		if bitsOf[T]() == 32 {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		} else {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64(v)))
		}
	}
	return data
}

// take reads as many numbers as dst has, and returns what is behind them.
func take[T kern.Float](data []byte, dst []T) []byte {
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

// UnmarshalBinary makes the state one that MarshalBinary returned. Both go on with the same bits. Where the features of
// the state that it was are the same, it goes on sharing them. An error says what is wrong with the data: that it is no
// state, of another precision or a newer version, cut off, or damaged; the state is as it was then.
func (s *stream[T]) UnmarshalBinary(data []byte) error {
	read, err := restored[T](data, s.by)
	if err != nil {
		return fmt.Errorf("attention: a saved state: %w", err)
	}
	*s = read
	return nil
}

// restored returns a saved state, by known features where they are its own.
func restored[T kern.Float](data []byte, known *Features) (stream[T], error) {
	s, m, err := readHeader[T](data)
	if err != nil {
		return s, err
	}
	if err := memory.Check(3 * int64(len(data))); err != nil {
		return s, err
	}
	normal := mat.NewDense(s.shape.Width, m, nil)
	omega := normal.RawMatrix().Data
	data = take(data[headerBytes:], omega)
	if !kern.AllFinite(omega) {
		return s, errors.New("a number of the features is not finite")
	}
	if known != nil && mat.Equal(normal, known.features.Normal) {
		s.by = known
	} else if s.by, err = newFeatures(normal); err != nil {
		return s, err
	}
	s.heads = s.fresh()
	for i, h := range s.heads {
		data = take(take(data, h.top), h.rows.Data)
		if err := h.checkSaved(s.seen); err != nil {
			return s, fmt.Errorf("batch %d, head %d: %w", i/s.shape.Heads, i%s.shape.Heads, err)
		}
	}
	return s, nil
}

// readHeader checks the data as a whole, and returns the shape, how many keys were seen, and how many features there are.
func readHeader[T kern.Float](data []byte) (s stream[T], features int, err error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return s, 0, errors.New("it is not one, wanted what MarshalBinary returned")
	}
	if len(data) < headerBytes+sha256.Size {
		return s, 0, fmt.Errorf("%d bytes, wanted %d or more: it is cut off", len(data), headerBytes+sha256.Size)
	}
	head := data[len(magic):]
	if v := binary.LittleEndian.Uint32(head); v != version {
		return s, 0, fmt.Errorf("version %d, wanted %d", v, version)
	}
	if bits := binary.LittleEndian.Uint32(head[4:]); bits != bitsOf[T]() {
		return s, 0, fmt.Errorf("it is of %s, wanted %s", precision(bits), precision(bitsOf[T]()))
	}
	names, numbers := []string{"batch", "heads", "width", "values", "features", "keys seen"}, make([]int, 6)
	var faults []error
	for i, name := range names {
		low, high := uint64(1), uint64(len(data)) // each of what it counts takes some bytes
		if name == "keys seen" {
			low, high = 0, mostKeys
		}
		n := binary.LittleEndian.Uint64(head[8+8*i:])
		if n < low || n > high {
			faults = append(faults, fmt.Errorf("%s: got %d, wanted a number from %d to %d", name, n, low, high))
		}
		numbers[i] = int(min(n, high))
	}
	if faults != nil {
		return s, 0, errors.Join(faults...)
	}
	if size := savedBytes[T](numbers); size != float64(len(data)) {
		return s, 0, fmt.Errorf("%d bytes, wanted %.0f: it is cut off or damaged", len(data), size)
	}
	body := data[:len(data)-sha256.Size]
	if seal := sha256.Sum256(body); !bytes.Equal(seal[:], data[len(body):]) {
		return s, 0, errors.New("it is damaged: its checksum is another")
	}
	s.shape = Shape{numbers[0], numbers[1], 1, 1, numbers[2], numbers[3], true}
	s.seen = numbers[5]
	return s, numbers[4], nil
}

// checkSaved reports sums that no keys, as many as were seen, have: nothing that is made of others can overflow.
func (s *sums[T]) checkSaved(seen int) error {
	if seen == 0 {
		if slices.ContainsFunc(s.top, func(t T) bool { return !math.IsInf(float64(t), -1) }) ||
			slices.ContainsFunc(s.rows.Data, func(v T) bool { return v != 0 }) {
			return errors.New("it has seen no keys, and has sums of some")
		}
		return nil
	}
	most := T(2 * float64(seen) * mostValue[T](len(s.top)))
	for r, t := range s.top {
		row := s.rows.Row(r)
		values, weights := row[:len(row)-1], row[len(row)-1]
		if exponent := math.Abs(float64(t)); !(exponent <= largest[T]()/2) {
			return fmt.Errorf("feature %d: the largest exponent is %g", r, t)
		}
		// The key of the largest exponent has the weight 1, the others have less.
		if !(float64(weights) >= 0.5 && float64(weights) <= 2*float64(seen)) {
			return fmt.Errorf("feature %d: the weights of %d keys sum to %g", r, seen, weights)
		}
		for _, v := range values {
			if !(v <= most && v >= -most) {
				return fmt.Errorf("feature %d: a sum of values is %g, wanted at most %.3g", r, v, most)
			}
		}
	}
	return nil
}
