package datasets

import (
	"context"

	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// Prefetch returns the rows of src as a source that reads one block ahead, on a goroutine of its
// own, while the caller works on the block before. It holds two blocks more than src does.
func Prefetch(src Source) Source {
	switch src.(type) {
	case setSource, prefetched:
		return src
	}
	return prefetched{src}
}

type prefetched struct{ Source }

func (p prefetched) Blocks(ctx context.Context, yield func(block Set) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ready := make(chan *collector)
	free := make(chan *collector, 2)
	free <- &collector{}
	free <- &collector{}
	failed := make(chan error, 1)
	go func() {
		defer close(ready)
		failed <- p.Source.Blocks(ctx, func(block Set) error { return pass(ctx, block, free, ready) })
	}()
	defer func() {
		cancel()
		for range ready { // until the reader has ended
		}
	}()
	for c := range ready {
		if err := yield(c.set()); err != nil {
			return err
		}
		free <- c
	}
	return <-failed
}

// pass copies block into a free collector and hands it over.
func pass(ctx context.Context, block Set, free <-chan *collector, ready chan<- *collector) error {
	if block.Rows() == 0 {
		return nil
	}
	var c *collector
	select {
	case c = <-free:
	case <-ctx.Done():
		return ctxerr.Check(ctx)
	}
	c.reset()
	if err := c.add(block, 0, block.Rows()); err != nil {
		return err
	}
	select {
	case ready <- c:
		return nil
	case <-ctx.Done():
		return ctxerr.Check(ctx)
	}
}
