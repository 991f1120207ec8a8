package estimator

import (
	"math/bits"
	"sync"

	"github.com/bochner-ml/bochner/internal/kern"
)

// buffer is memory that is used again.
type buffer[T kern.Float] struct{ list []T }

// Buffers for up to 2^k numbers.
var doubleBuffers, singleBuffers [48]sync.Pool

func buffers[T kern.Float](n int) *sync.Pool {
	k := bits.Len(uint(max(n, 1) - 1))
	if _, ok := any(T(0)).(float32); ok {
		return &singleBuffers[k]
	}
	return &doubleBuffers[k]
}

// borrow returns a buffer of n numbers with arbitrary contents; release gives it back.
func borrow[T kern.Float](n int) *buffer[T] {
	b, ok := buffers[T](n).Get().(*buffer[T])
	if !ok {
		b = &buffer[T]{make([]T, 1<<bits.Len(uint(max(n, 1)-1)))}
	}
	b.list = b.list[:n]
	return b
}

func (b *buffer[T]) release() { buffers[T](cap(b.list)).Put(b) }
