package parquet

import (
	"errors"
	"math"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/internal/memory"
)

// Large pages of all columns together are held to the memory that there is, before they are unpacked.
func TestLargePagesAreCounted(t *testing.T) {
	debug.SetMemoryLimit(512 << 20)
	defer debug.SetMemoryLimit(math.MaxInt64)
	held := new(atomic.Int64)
	one, other := pages{held: held}, pages{held: held}
	for range 1000 { // small pages do not count
		if err := one.hold(largePage - 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.hold(100 << 20); err != nil {
		t.Error(err)
	}
	if err := other.hold(100 << 20); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("twice 100 MB: %v", err)
	}
}
