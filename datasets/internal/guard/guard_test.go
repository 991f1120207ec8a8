package guard

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"testing"

	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// TestGuard checks that large allocations are checked against the available memory in total and
// before they are made.
func TestGuard(t *testing.T) {
	debug.SetMemoryLimit(512 << 20)
	defer debug.SetMemoryLimit(math.MaxInt64)
	g := &MemoryLimit{}
	allocate := func(size int) (b []byte, err error) {
		defer Recover(&err)
		return g.Resize(nil, size), nil
	}
	for range 1000 { // small ones do not count
		if _, err := allocate(1000); err != nil {
			t.Fatal(err)
		}
	}
	one, err := allocate(100 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := allocate(100 << 20); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("twice 100 MB: %v", err)
	}
	g = &MemoryLimit{}
	g.held.Store(int64(cap(one)))
	g.Release(cap(one))
	if _, err := allocate(100 << 20); err != nil {
		t.Errorf("100 MB after as much was freed: %v", err)
	}
}

// A failed operation of Go in a decoder, a panic or a returned error, has a readable message.
func TestDamaged(t *testing.T) {
	decode := func(values []int, at int) (err error) {
		defer Recover(&err)
		if values == nil {
			panic(fmt.Sprintf("runtime error: %d", at))
		}
		values[at]++
		panic(io.ErrUnexpectedEOF)
	}
	const want = "damaged: its values cannot be decoded"
	for name, err := range map[string]error{"panic": decode([]int{1}, 2), "string": decode(nil, 1),
		"error": Damaged(errors.New("page: runtime error: index out of range"))} {
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := decode([]int{1}, 0); !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "damaged: unexpected EOF" {
		t.Errorf("error of the decoder: %v", err)
	}
}
