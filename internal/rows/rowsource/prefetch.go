package rowsource

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
)

// Prefetch returns a source that reads the next block of src in another goroutine while the caller
// processes the current one. It stores copies of two blocks. A source in memory is returned
// unchanged.
func Prefetch(src datasets.Source) datasets.Source {
	if _, ok := datasets.InMemory(src); ok {
		return src
	}
	if _, ok := src.(prefetched); ok {
		return src
	}
	return prefetched{src}
}

type prefetched struct{ datasets.Source }

func (p prefetched) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ready := make(chan *datasets.Buffer)
	free := make(chan *datasets.Buffer, 2)
	free <- &datasets.Buffer{}
	free <- &datasets.Buffer{}
	failed := make(chan error, 1)
	go func() {
		defer close(ready)
		failed <- p.read(ctx, func(block datasets.Set) error { return send(ctx, block, free, ready) })
	}()
	defer func() {
		cancel()
		for range ready { // waits until the reader has returned
		}
	}()
	for b := range ready {
		if err := yield(b.Set()); err != nil {
			return err
		}
		free <- b
	}
	return <-failed
}

// read passes the blocks of the source to yield; a panic of the source is an error.
func (p prefetched) read(ctx context.Context, yield func(block datasets.Set) error) (err error) {
	defer guard.Recover(&err, p.Source, "Blocks")
	return p.Source.Blocks(ctx, yield)
}

// send copies block into a free buffer and sends it to ready.
func send(ctx context.Context, block datasets.Set, free <-chan *datasets.Buffer, ready chan<- *datasets.Buffer) error {
	if block.Rows() == 0 {
		return nil
	}
	var b *datasets.Buffer
	select {
	case b = <-free:
	case <-ctx.Done():
		return ctxerr.Check(ctx)
	}
	b.Reset()
	if err := b.Append(block); err != nil {
		return err
	}
	select {
	case ready <- b:
		return nil
	case <-ctx.Done():
		return ctxerr.Check(ctx)
	}
}
