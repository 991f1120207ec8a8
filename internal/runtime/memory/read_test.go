package memory_test

import (
	"errors"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestReadAll checks that an endless reader is read only up to a share of the memory.
func TestReadAll(t *testing.T) {
	debug.SetMemoryLimit(64 << 20)
	defer debug.SetMemoryLimit(math.MaxInt64)
	if _, err := memory.ReadAll(endless{}); !errors.Is(err, memory.ErrTooLarge) {
		t.Error(err)
	}
	if b, err := memory.ReadAll(io.LimitReader(strings.NewReader("abc"), 2)); err != nil || string(b) != "ab" {
		t.Errorf("%q, %v", b, err)
	}
}
