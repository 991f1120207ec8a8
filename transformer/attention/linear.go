package attention

import (
	"context"
	"fmt"
	"runtime"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/transformer/internal/softmax"
)

// Linear returns linear attention: for each query the mean of the values with weights φ(q)'φ(k).
//
// Shapes: see [Shape]. Cost per query and key of a head: 2·m·(Width + Values) flops and m
// exponentials; causal attention adds 256·(m + Values) flops. Memory: m·(Values + 2) elements per
// head and segment of at least 2048 keys, at most 16 segments; causal attention uses m·(Values +
// 130) elements for each of about 8 chunks per core. Errors: invalid shape, slice lengths or
// elements; insufficient memory; ctx is done.
func (f *Features) Linear(ctx context.Context, shape Shape, q, k, v []float64) ([]float64, error) {
	return linear(ctx, f, shape, q, k, v)
}

// LinearFloat32 is the float32 version of [Features.Linear].
func (f *Features) LinearFloat32(ctx context.Context, shape Shape, q, k, v []float32) ([]float32, error) {
	return linear(ctx, f, shape, q, k, v)
}

func linear[T kern.Float](ctx context.Context, f *Features, shape Shape, q, k, v []T) ([]T, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	features := mapOf[T](f)
	if err := validate(shape, f.Width(), q, k, v, features.Limit, f.Len()); err != nil {
		return nil, err
	}
	if err := memory.Check(linearBytes(shape, f.Len())); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	p := tensors[T]{shape, q, k, v, make([]T, shape.sequences()*shape.Queries*shape.Values)}
	if shape.Causal {
		p.linearCausal(ctx, features)
	} else {
		p.linear(ctx, features)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return p.out, nil
}

// linearBytes returns the working memory of linear attention, without its result.
func linearBytes(s Shape, features int) int64 {
	cores := runtime.GOMAXPROCS(0)
	numbers := float64(cores) * float64(scratchSize(features, s.Width, s.Values))
	if s.Causal {
		numbers += float64(min(cores, s.sequences())) * float64(waveSize(waveLength(s.sequences(), s.Keys), features,
			s.Values))
	} else {
		numbers += float64(s.sequences()*segments(s.Keys)) * float64(features) * float64(s.Values+2)
	}
	return int64(min(8*numbers, 1<<62))
}

// segments returns the number of segments of a head's keys with separate sums. It depends on the
// shape only, so that results do not depend on GOMAXPROCS.
func segments(keys int) int { return min(16, (keys+16*chunk-1)/(16*chunk)) }

// linear computes linear attention over all keys.
func (p *tensors[T]) linear(ctx context.Context, f *softmax.Rounded[T]) {
	hold := design.Borrow[T](p.sequences() * segments(p.Keys) * f.Features() * (p.Values + 2))
	defer hold.Release()
	p.attend(ctx, p.sumKeys(ctx, f, hold.Data))
}

// sumKeys returns the sums over all keys of each head; buffer has space for the sums of all segments.
func (p *tensors[T]) sumKeys(ctx context.Context, f *softmax.Rounded[T], buffer []T) []sums[T] {
	parts, size := segments(p.Keys), f.Features()*(p.Values+2)
	length := (p.Keys + parts - 1) / parts
	all := make([]sums[T], p.sequences()*parts)
	kern.Parallel(len(all), 1, func(i, _ int) {
		t := newScratch(f, p.Values)
		defer t.buffer.Release()
		all[i] = sumsOf(f, p.Values, buffer[i*size:(i+1)*size])
		keys, values := p.keys(i/parts), p.values(i/parts)
		end := min((i%parts+1)*length, p.Keys)
		for lo := i % parts * length; lo < end && ctx.Err() == nil; lo += chunk {
			hi := min(lo+chunk, end)
			all[i].add(&t, keys.Slice(lo, hi, 0, p.Width), values.Slice(lo, hi, 0, p.Values))
		}
	})
	heads := make([]sums[T], p.sequences())
	for i := range heads {
		heads[i] = all[i*parts]
		for _, more := range all[i*parts+1 : (i+1)*parts] {
			heads[i].merge(more, 0, f.Features())
		}
	}
	return heads
}

// attend computes the results of all queries from the sums of each head.
func (p *tensors[T]) attend(ctx context.Context, heads []sums[T]) {
	chunks := (p.Queries + chunk - 1) / chunk
	kern.Parallel(len(heads)*chunks, 1, func(i, _ int) {
		if ctx.Err() != nil {
			return
		}
		sequence, lo := i/chunks, i%chunks*chunk
		s := &heads[sequence]
		t := newScratch(s.features, p.Values)
		defer t.buffer.Release()
		s.attend(&t, p.result(sequence), p.queries(sequence).Slice(lo, min(lo+chunk, p.Queries), 0, p.Width), lo)
	})
}

// stateBytes returns the size of count sums.
func stateBytes(count, features, values int) int64 {
	return int64(min(8*float64(count)*float64(features)*float64(values+2), 1<<62))
}
