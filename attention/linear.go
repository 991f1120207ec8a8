package attention

import (
	"context"
	"fmt"
	"runtime"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/softmax"
)

// Linear returns linear attention by the features: for each query the mean of the values, weighted by φ(q)'φ(k).
//
// Shapes: see [Shape]. Cost: 2·m·(Width + Values) flops and m exponentials for each query and each key of a head, where
// it is causal 256·(m + Values) flops more for each. Memory: m·(Values + 2) numbers for each head, or for each 2048 keys
// up to 16 times; where it is causal m·(Values + 130) numbers for each of about 8 chunks of 128 positions that a core
// works on, however long a head is. All cores work on one head as on many. An error names all that is wrong with the
// shape, the slices or the numbers in them, or is the context's.
func (f *Features) Linear(ctx context.Context, shape Shape, q, k, v []float64) ([]float64, error) {
	return linear(ctx, f, shape, q, k, v)
}

// LinearFloat32 is [Features.Linear] in single precision.
func (f *Features) LinearFloat32(ctx context.Context, shape Shape, q, k, v []float32) ([]float32, error) {
	return linear(ctx, f, shape, q, k, v)
}

func linear[T kern.Float](ctx context.Context, f *Features, shape Shape, q, k, v []T) ([]T, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	features := rounded[T](f)
	if err := checkAll(shape, f.Width(), q, k, v, features.Limit, f.Len()); err != nil {
		return nil, err
	}
	if err := memory.Check(linearBytes(shape, f.Len())); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	p := problem[T]{shape, q, k, v, make([]T, shape.sequences()*shape.Queries*shape.Values)}
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

// linearBytes is the memory of what linear attention makes besides its result, of the largest numbers.
func linearBytes(s Shape, features int) int64 {
	cores := runtime.GOMAXPROCS(0)
	numbers := float64(cores) * float64(scratchSize(features, s.Width, s.Values))
	if s.Causal {
		numbers += float64(min(cores, s.sequences())) * float64(waveSize(waveLength(s.sequences(), s.Keys), features, s.Values))
	} else {
		numbers += float64(s.sequences()*segments(s.Keys)) * float64(features) * float64(s.Values+2)
	}
	return int64(min(8*numbers, 1<<62))
}

// segments is into how many parts the keys of a head are cut, each of which has sums of its own: enough for all cores,
// and a number that depends on the shape alone.
func segments(keys int) int { return min(16, (keys+16*chunk-1)/(16*chunk)) }

// linear computes linear attention over all keys.
func (p *problem[T]) linear(ctx context.Context, f *softmax.Rounded[T]) {
	hold := design.Borrow[T](p.sequences() * segments(p.Keys) * f.Features() * (p.Values + 2))
	defer hold.Release()
	p.answer(ctx, p.sum(ctx, f, hold.Data))
}

// sum returns the sums of all keys of each head, in room for those of all segments.
func (p *problem[T]) sum(ctx context.Context, f *softmax.Rounded[T], room []T) []sums[T] {
	parts, size := segments(p.Keys), f.Features()*(p.Values+2)
	length := (p.Keys + parts - 1) / parts
	all := make([]sums[T], p.sequences()*parts)
	kern.Parallel(len(all), 1, func(i, _ int) {
		t := newScratch(f, p.Values)
		defer t.hold.Release()
		all[i] = sumsOf(f, p.Values, room[i*size:(i+1)*size])
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

// answer writes the results of all queries, by the sums of each head.
func (p *problem[T]) answer(ctx context.Context, heads []sums[T]) {
	chunks := (p.Queries + chunk - 1) / chunk
	kern.Parallel(len(heads)*chunks, 1, func(i, _ int) {
		if ctx.Err() != nil {
			return
		}
		sequence, lo := i/chunks, i%chunks*chunk
		s := &heads[sequence]
		t := newScratch(s.features, p.Values)
		defer t.hold.Release()
		s.answer(&t, p.result(sequence), p.queries(sequence).Slice(lo, min(lo+chunk, p.Queries), 0, p.Width), lo)
	})
}

// stateBytes is the memory of so many sums.
func stateBytes(count, features, values int) int64 {
	return int64(min(8*float64(count)*float64(features)*float64(values+2), 1<<62))
}
