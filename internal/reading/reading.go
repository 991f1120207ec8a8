// Package reading counts the rows that fits read again and again until they are done. How often that is depends on the rows
// and the penalty, and only a fit tells; who wants to know asks for a counter with the context of the fit.
package reading

import (
	"context"
	"math"
	"sync/atomic"
)

// Counter adds up rows of all fits under a context. It is safe for concurrent use.
type Counter struct{ bits atomic.Uint64 }

type key struct{}

// Counted returns a context under which fits count the rows that they read.
func Counted(ctx context.Context) (context.Context, *Counter) {
	c := new(Counter)
	return context.WithValue(ctx, key{}, c), c
}

// Add says that so many rows were read, where anybody counts. A row of which a part was read counts as that part.
func Add(ctx context.Context, rows float64) {
	c, ok := ctx.Value(key{}).(*Counter)
	for ok {
		old := c.bits.Load()
		ok = !c.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+rows))
	}
}

// Rows returns how many rows were read so far.
func (c *Counter) Rows() float64 { return math.Float64frombits(c.bits.Load()) }
