package reading

import (
	"context"
	"sync"
	"testing"
)

// Rows are counted under the context that asks for it and those made of it, from many sides at once, and nowhere else.
func TestRowsAreCounted(t *testing.T) {
	Add(context.Background(), 5) // nobody counts
	ctx, c := Counted(context.Background())
	below, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				Add(below, 0.5)
			}
		})
	}
	all.Wait()
	end()
	if Add(below, 1); c.Rows() != 4001 {
		t.Errorf("%v rows, wanted 4001", c.Rows())
	}
}

// A bounded count ends its context when it is exceeded, and not before.
func TestBoundedEnds(t *testing.T) {
	ctx, c, end := Bounded(context.Background(), 10)
	defer end()
	if Add(ctx, 10); ctx.Err() != nil {
		t.Error("it has ended at the most")
	}
	if Add(ctx, 1); ctx.Err() == nil || c.Rows() != 10 {
		t.Errorf("%v, %v rows", ctx.Err(), c.Rows())
	}
}

// Rows of another kind are not counted, under a counter that counts.
func TestUncounted(t *testing.T) {
	ctx, c := Counted(context.Background())
	if Add(Uncounted(ctx), 3); c.Rows() != 0 {
		t.Errorf("%v rows", c.Rows())
	}
	if Add(ctx, 2); c.Rows() != 2 {
		t.Errorf("%v rows, wanted 2", c.Rows())
	}
}
