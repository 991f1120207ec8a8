package attention

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
)

// Linear returns linear attention by the features: for each query the mean of the values, weighted by φ(q)'φ(k).
//
// Shapes: see [Shape]. Cost: 2·m·(Width + Values) flops and m exponentials for each query and each key of a head, where
// it is causal 256·(m + Values) flops more for each; m·(Values + 2) numbers for each head, or for each 2048 keys up to
// 16 times. An error names what is wrong with the shape, the slices or a number in them, or is the context's.
func (f *Features) Linear(ctx context.Context, shape Shape, q, k, v []float64) ([]float64, error) {
	return linear(ctx, f, shape, q, k, v)
}

// LinearFloat32 is [Features.Linear] in single precision.
func (f *Features) LinearFloat32(ctx context.Context, shape Shape, q, k, v []float32) ([]float32, error) {
	return linear(ctx, f, shape, q, k, v)
}

func linear[T kern.Float](ctx context.Context, f *Features, shape Shape, q, k, v []T) ([]T, error) {
	features := rounded[T](f)
	if err := checkAll(shape, q, k, v, features.Limit, f.Len()); err != nil {
		return nil, err
	}
	if shape.Width != f.Width() {
		return nil, fmt.Errorf("attention: queries and keys are %d wide, the features are of width %d", shape.Width, f.Width())
	}
	if err := memory.Check(stateBytes(shape.sequences()*segments(shape.Keys), f.Len(), shape.Values)); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	p := problem[T]{shape, q, k, v, make([]T, shape.sequences()*shape.Queries*shape.Values)}
	if shape.Causal {
		p.linearCausal(ctx, features)
	} else {
		p.linear(ctx, features)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.out, nil
}

// stateBytes is the memory of so many sums.
func stateBytes(count, features, values int) int64 {
	return int64(min(8*float64(count)*float64(features)*float64(values+2), 1<<62))
}
