package design

import (
	"math/bits"
	"sync"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Buffer is memory that is used again.
type Buffer[T kern.Float] struct{ Data []T }

// Buffers for up to 2^k numbers.
var float64Buffers, float32Buffers [48]sync.Pool

func buffers[T kern.Float](n int) *sync.Pool {
	k := bits.Len(uint(max(n, 1) - 1))
	if _, ok := any(T(0)).(float32); ok {
		return &float32Buffers[k]
	}
	return &float64Buffers[k]
}

// Borrow returns a buffer of n numbers with arbitrary contents; Release gives it back.
func Borrow[T kern.Float](n int) *Buffer[T] {
	b, ok := buffers[T](n).Get().(*Buffer[T])
	if !ok {
		b = &Buffer[T]{make([]T, 1<<bits.Len(uint(max(n, 1)-1)))}
	}
	b.Data = b.Data[:n]
	return b
}

// Release gives the buffer back; its list is not to be touched any more.
func (b *Buffer[T]) Release() { buffers[T](cap(b.Data)).Put(b) }
