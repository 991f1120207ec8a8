package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// The .npy format of NumPy, version 1.0: a magic string, a text header with type, order and shape,
// and the data. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
const npyMagic = "\x93NUMPY\x01\x00"

// npyHeader returns the header of a .npy file with the given dimensions; its length is a multiple of 64.
func npyHeader(kind string, dims ...int) []byte {
	sizes := make([]string, len(dims))
	for i, n := range dims {
		sizes[i] = strconv.Itoa(n)
	}
	shape := strings.Join(sizes, ", ")
	if len(sizes) == 1 {
		shape += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, shape)
	const fixed = len(npyMagic) + 2
	padded := (fixed + len(text) + 1 + 63) / 64 * 64
	text += strings.Repeat(" ", padded-fixed-len(text)-1) + "\n"
	head := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(len(text)))
	return append(head, text...)
}

// kind returns the element type in NumPy's notation.
func (a Array) kind() string {
	switch {
	case a.Ints != nil:
		return "<i8"
	case a.Uint32s != nil:
		return "<u4"
	}
	return "<f8"
}

// itemSize returns the bytes per element, 0 for an unknown kind.
func itemSize(kind string) int64 {
	switch kind {
	case "<f8", "<i8":
		return 8
	case "<u4":
		return 4
	}
	return 0
}

// count returns the number of elements of a shape, or an error if it exceeds limit.
func count(shape []int, limit int64) (int64, error) {
	total := int64(1)
	for _, n := range shape {
		if n < 0 {
			return 0, fmt.Errorf("the shape %v is below 0", shape)
		}
		if n > 0 && total > limit/int64(n) {
			return 0, fmt.Errorf("the shape %v does not fit into the file", shape)
		}
		total *= int64(n)
	}
	return total, nil
}

// maxDims is the maximum number of dimensions of an array in a model file.
const maxDims = 8

// check returns an error if the array cannot be written.
func (a Array) check() error {
	held := 0
	for _, n := range []int{len(a.Floats), len(a.Ints), len(a.Uint32s)} {
		held += n
	}
	if (a.Floats != nil && a.Ints != nil) || (a.Floats != nil && a.Uint32s != nil) || (a.Ints != nil && a.Uint32s != nil) {
		return errors.New("it has several kinds of numbers")
	}
	if len(a.Shape) == 0 || len(a.Shape) > maxDims {
		return fmt.Errorf("number of dimensions must be 1 to %[2]d, got %[1]d", len(a.Shape), maxDims)
	}
	n, err := count(a.Shape, math.MaxInt64/16)
	if err == nil && n != int64(held) {
		err = fmt.Errorf("it has %d numbers for the shape %v", held, a.Shape)
	}
	return err
}

// WriteNPY writes an array as an .npy file.
func (a Array) WriteNPY(w io.Writer) error { return writeNpy(w, a) }

// WriteNPYStrings writes a one-dimensional .npy file of Unicode strings.
func WriteNPYStrings(w io.Writer, list []string) error {
	longest := 1
	for _, s := range list {
		longest = max(longest, utf8.RuneCountInString(s))
	}
	out := npyHeader("<U"+strconv.Itoa(longest), len(list))
	for _, s := range list {
		letters := make([]rune, longest)
		copy(letters, []rune(s))
		for _, r := range letters {
			out = binary.LittleEndian.AppendUint32(out, uint32(r))
		}
	}
	_, err := w.Write(out)
	return err
}

// writeNpy writes an array.
func writeNpy(w io.Writer, a Array) error {
	if _, err := w.Write(npyHeader(a.kind(), a.Shape...)); err != nil {
		return err
	}
	size := itemSize(a.kind())
	buffer := make([]byte, 0, 1<<16)
	flush := func(last bool) error {
		if len(buffer) == 0 || !last && len(buffer)+8 <= cap(buffer) {
			return nil
		}
		_, err := w.Write(buffer)
		buffer = buffer[:0]
		return err
	}
	total := max(len(a.Floats), len(a.Ints), len(a.Uint32s))
	for i := range total {
		switch {
		case a.Ints != nil:
			buffer = binary.LittleEndian.AppendUint64(buffer, uint64(a.Ints[i]))
		case size == 4:
			buffer = binary.LittleEndian.AppendUint32(buffer, a.Uint32s[i])
		default:
			buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(a.Floats[i]))
		}
		if err := flush(false); err != nil {
			return err
		}
	}
	return flush(true)
}

// readNpy reads an array of the kind and shape declared in the index. Its allocation is bounded by
// the size of the entry, which the caller has checked against the file size.
func readNpy(r io.Reader, size int64, kind string, shape []int) (Array, error) {
	item := itemSize(kind)
	if item == 0 {
		return Array{}, fmt.Errorf("type must be <f8, <i8 or <u4, got %q", kind)
	}
	n, err := count(shape, size/item)
	if err != nil {
		return Array{}, err
	}
	a := Array{Shape: slices.Clone(shape)}
	switch kind {
	case "<i8":
		a.Ints = []int64{}
	case "<u4":
		a.Uint32s = []uint32{}
	default:
		a.Floats = []float64{}
	}
	head := npyHeader(a.kind(), a.Shape...)
	if int64(len(head))+n*item != size {
		return Array{}, fmt.Errorf("it has %d bytes, %v numbers of type %s would have %d", size, shape, kind,
			int64(len(head))+n*item)
	}
	header := make([]byte, len(head))
	if _, err := io.ReadFull(r, header); err != nil {
		return Array{}, err
	}
	if string(header) != string(head) {
		return Array{}, errors.New("its header is not that of its type and shape")
	}
	return a, a.read(r, int(n))
}

// chunkBytes is the number of bytes read at a time, so that the checksum finds them in the cache.
const chunkBytes = 256 << 10

// read fills the array with n elements in native byte order.
func (a *Array) read(r io.Reader, n int) error {
	switch {
	case a.Ints != nil:
		a.Ints = make([]int64, n)
	case a.Uint32s != nil:
		a.Uint32s = make([]uint32, n)
	default:
		a.Floats = make([]float64, n)
	}
	for rest := a.bytes(); len(rest) > 0; {
		part := rest[:min(len(rest), chunkBytes)]
		if _, err := io.ReadFull(r, part); err != nil {
			return err
		}
		rest = rest[len(part):]
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		a.reverse()
	}
	return nil
}

// bytes returns the memory of the numbers, in native byte order.
func (a *Array) bytes() []byte {
	switch {
	case a.Ints != nil:
		return bytesOf(a.Ints)
	case a.Uint32s != nil:
		return bytesOf(a.Uint32s)
	}
	return bytesOf(a.Floats)
}

func bytesOf[T float64 | int64 | uint32](list []T) []byte {
	var number T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(number)))
}

// reverse reverses the bytes of each number, for big-endian hosts.
func (a *Array) reverse() {
	item := int(itemSize(a.kind()))
	for rest := a.bytes(); len(rest) > 0; rest = rest[item:] {
		slices.Reverse(rest[:item])
	}
}
