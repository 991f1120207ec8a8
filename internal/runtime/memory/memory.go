// Package memory measures the available memory, and rejects work that exceeds it.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
)

// modestMemory is assumed if the memory of the host is unknown.
const modestMemory = 4 << 30

// Available returns the bytes that a run may take: what the host, the control groups of the process,
// its limits of address space and GOMEMLIMIT leave.
func Available() int64 {
	budget := available()
	if budget <= 0 {
		budget = modestMemory
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		budget = min(budget, limit)
	}
	return budget
}

// budgetKey is the key of a budget in a context.
type budgetKey struct{}

// WithBudget returns a context whose work may take the given bytes, see [Budget].
func WithBudget(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, budgetKey{}, bytes)
}

// Budget returns the bytes that fits may take: those of the context, which a search passes to its fits, or half of the
// available memory, because the rows and their copies need the rest.
func Budget(ctx context.Context) int64 {
	if bytes, ok := ctx.Value(budgetKey{}).(int64); ok {
		return bytes
	}
	return Available() / 2
}

// minCheckedBytes is the memory that is assumed to be available without a check.
const minCheckedBytes = 64 << 20

// Check returns an error if work of the given size exceeds the available memory. Call it before
// allocating: a process that exceeds the memory is killed without a message.
func Check(bytes int64) error {
	if bytes <= minCheckedBytes {
		return nil
	}
	if there := Available(); bytes > there {
		return fmt.Errorf("%w: needs about %s, %s available", ErrTooLarge, Size(bytes), Size(there))
	}
	return nil
}

// ErrTooLarge means that data does not fit in memory.
var ErrTooLarge = errors.New("more memory than there is")

// ReadAll reads all of r. It returns an error above a quarter of the available memory, because a
// growing slice may need twice its size.
func ReadAll(r io.Reader) ([]byte, error) {
	most := Available() / 4
	out, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(out)) > most {
		return nil, fmt.Errorf("%w: it has more than %s", ErrTooLarge, Size(most))
	}
	return out, err
}

// Size writes bytes in the unit that suits: "1.5 GB".
func Size(bytes int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
	v, u := float64(bytes), 0
	for v >= 1000 && u < len(units)-1 {
		v, u = v/1000, u+1
	}
	return fmt.Sprintf("%.3g %s", v, units[u])
}
