package arrays

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	arrow "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// MemoryLimit tracks memory for sizes that a file declares, and panics with memory.ErrTooLarge,
// which [Recover] converts to an error, before too much is allocated: a few bytes can declare a
// page of gigabytes.
type MemoryLimit struct {
	arrow.GoAllocator
	held atomic.Int64 // bytes of large pieces
}

// A page of largePiece bytes counts as allocated memory, and again for its strings.
const (
	largePiece = 4 << 20
	perByte    = 3
)

// Allocate returns size bytes.
func (g *MemoryLimit) Allocate(size int) []byte {
	g.reserve(size)
	return g.GoAllocator.Allocate(size)
}

// Reallocate returns size bytes that start with the content of b.
func (g *MemoryLimit) Reallocate(size int, b []byte) []byte {
	if size > cap(b) {
		g.reserve(size)
		g.Free(b)
	}
	return g.GoAllocator.Reallocate(size, b)
}

// Free subtracts b from the allocated memory.
func (g *MemoryLimit) Free(b []byte) {
	if cap(b) >= largePiece {
		g.held.Add(-int64(cap(b)))
	}
}

func (g *MemoryLimit) reserve(size int) {
	if size < largePiece {
		return
	}
	if err := memory.Check(perByte * g.held.Add(int64(size))); err != nil {
		panic(fmt.Errorf("%s unpacked: %w", memory.Size(int64(size)), err))
	}
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
