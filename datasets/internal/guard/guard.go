// Package guard bounds what decoders of binary files allocate, and makes their panics errors.
package guard

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// MemoryLimit tracks memory for sizes that a file declares, and panics with memory.ErrTooLarge,
// which [Recover] converts to an error, before too much is allocated: a few bytes can declare a
// page of gigabytes.
type MemoryLimit struct {
	held atomic.Int64 // bytes of large pieces
}

// A page of largePiece bytes counts as allocated memory, and again for its strings.
const (
	largePiece = 4 << 20
	perByte    = 3
)

// Reserve adds a piece of the given size to the allocated memory.
func (m *MemoryLimit) Reserve(size int) {
	if size < largePiece {
		return
	}
	if err := memory.Check(perByte * m.held.Add(int64(size))); err != nil {
		panic(fmt.Errorf("%s unpacked: %w", memory.Size(int64(size)), err))
	}
}

// Release subtracts a piece of the given size from the allocated memory.
func (m *MemoryLimit) Release(size int) {
	if size >= largePiece {
		m.held.Add(-int64(size))
	}
}

// Resize returns a buffer of n bytes, b if it has them.
func (m *MemoryLimit) Resize(b []byte, n int) []byte {
	if n > cap(b) {
		m.Release(cap(b))
		m.Reserve(n)
		b = make([]byte, n)
	}
	return b[:n]
}

// Damaged returns the error of a decoder for the content of a file. It replaces the text of a
// failed operation of Go, such as an index out of range, which decoders also return as errors.
func Damaged(err error) error {
	if failed := runtime.Error(nil); errors.As(err, &failed) || strings.Contains(err.Error(), "runtime error") {
		return errors.New("damaged: its values cannot be decoded")
	}
	return fmt.Errorf("damaged: %w", err)
}

// Recover makes a panic of a decoder an error. It is to be deferred.
func Recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = Damaged(r)
	default:
		*err = Damaged(fmt.Errorf("%v", r))
	}
}
