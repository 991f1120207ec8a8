package design

import (
	"math/bits"
	"sync"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Buffer is a pooled slice.
type Buffer[T kern.Float] struct{ Data []T }

// The k-th pool contains buffers of 2ᵏ elements.
var float64Buffers, float32Buffers [48]sync.Pool

func buffers[T kern.Float](n int) *sync.Pool {
	k := bits.Len(uint(max(n, 1) - 1))
	if _, ok := any(T(0)).(float32); ok {
		return &float32Buffers[k]
	}
	return &float64Buffers[k]
}

// Borrow returns a buffer of n elements with arbitrary contents. Call Release to return it to the
// pool.
func Borrow[T kern.Float](n int) *Buffer[T] {
	b, ok := buffers[T](n).Get().(*Buffer[T])
	if !ok {
		b = &Buffer[T]{make([]T, 1<<bits.Len(uint(max(n, 1)-1)))}
	}
	b.Data = b.Data[:n]
	return b
}

// Release returns the buffer to the pool. The caller must not use Data afterwards.
func (b *Buffer[T]) Release() { buffers[T](cap(b.Data)).Put(b) }
