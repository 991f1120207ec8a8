// Package reading counts the rows that fits read again and again until they are done. How often that is depends on the rows
// and the penalty, and only a fit tells; who wants to know asks for a counter with the context of the fit.
package reading

import (
	"context"
	"math"
	"sync/atomic"
)

// Counter adds up rows of all fits under a context. It is safe for concurrent use.
type Counter struct {
	bits atomic.Uint64
	most float64 // after which end is called; 0 for any number
	end  context.CancelFunc
}

type key struct{}

// Counted returns a context under which fits count the rows that they read.
func Counted(ctx context.Context) (context.Context, *Counter) {
	c := new(Counter)
	return context.WithValue(ctx, key{}, c), c
}

// Bounded is Counted under a context that ends when fits have read more than so many rows. Who has it calls end when done.
func Bounded(ctx context.Context, most float64) (bounded context.Context, c *Counter, end context.CancelFunc) {
	ctx, end = context.WithCancel(ctx)
	ctx, c = Counted(ctx)
	c.most, c.end = most, end
	return ctx, c, end
}

// Uncounted returns a context under which nobody counts: for a part of a fit that reads rows of another kind, such as a few numbers
// made of each, which would be taken for as many of those that the rest reads.
func Uncounted(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, nil) }

// Add says that so many rows were read, where anybody counts. A row of which a part was read counts as that part.
func Add(ctx context.Context, rows float64) {
	c, ok := ctx.Value(key{}).(*Counter)
	for ok {
		old := c.bits.Load()
		now := math.Float64frombits(old) + rows
		if ok = !c.bits.CompareAndSwap(old, math.Float64bits(now)); !ok && c.most > 0 && now > c.most {
			c.end()
		}
	}
}

// Rows returns how many rows were read so far, of a bounded counter no more than the most.
func (c *Counter) Rows() float64 {
	rows := math.Float64frombits(c.bits.Load())
	if c.most > 0 {
		rows = min(rows, c.most)
	}
	return rows
}
