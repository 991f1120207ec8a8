// Package canceltest checks cancellation in tests: after the context is canceled, the next check of
// it ends the computation with its error and without a partial result.
//
// It needs no clock: its context counts its checks and is canceled at a given one.
package canceltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// Context is canceled at a given check, a call of Err.
type Context struct {
	context.Context
	cancel context.CancelCauseFunc
	left   int64
	looks  atomic.Int64
}

// errStop is the cause of the cancellation.
var errStop = errors.New("stop here")

// After returns a context that is canceled after some looks.
func After(looks int) *Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Context{Context: ctx, cancel: cancel, left: int64(looks)}
}

// Err counts its calls, and cancels the context after the given number.
func (c *Context) Err() error {
	if c.looks.Add(1) > c.left {
		c.cancel(errStop)
	}
	return c.Context.Err()
}

// Looks returns how often the context was checked.
func (c *Context) Looks() int { return int(c.looks.Load()) }

// Check runs a computation once undisturbed, then canceled at its first check, its second, and so
// on; of many checks it samples some. run reports whether it returned a result. Check returns a
// violation: a result or another error than context.Canceled with its cause despite the
// cancellation, an error without it, or no check at all.
func Check(run func(ctx context.Context) (result bool, err error)) error {
	whole := After(math.MaxInt)
	result, err := run(whole)
	looks := whole.Looks()
	switch {
	case err != nil:
		return fmt.Errorf("undisturbed, it returns the error %w", err)
	case !result:
		return errors.New("undisturbed, it returns nothing")
	case looks == 0:
		return errors.New("it never checks its context")
	}
	most := exhaustive.Of(8, 40) // checks at which a run is canceled
	for i := range min(looks, most) {
		k := i
		if looks > most {
			k = i * (looks - 1) / (most - 1)
		}
		ctx := After(k)
		result, err := run(ctx)
		switch ended := ctx.Looks() > k; { // how often helpers look may differ from run to run
		case ended && (!errors.Is(err, context.Canceled) || !errors.Is(err, errStop)):
			return fmt.Errorf("cancelled at look %d of %d, it returns the error %v", k, looks, err)
		case ended && result:
			return fmt.Errorf("cancelled at look %d of %d, it returns a result all the same", k, looks)
		case !ended && (err != nil || !result):
			return fmt.Errorf("not cancelled, it returns the error %v", err)
		}
	}
	return nil
}

// WithoutCause returns a run that may return ctx.Err() without the cause, as types outside this module
// do.
func WithoutCause(run func(ctx context.Context) (bool, error)) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		result, err := run(ctx)
		if errors.Is(err, context.Canceled) {
			err = errors.Join(err, context.Cause(ctx))
		}
		return result, err
	}
}
