package attention

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/softmax"
)

// State is linear attention that goes on token by token: keys and values are added as they come, and queries are
// answered by all that have been. To append the key and value of a position and then to ask its query gives, to rounding,
// what [Features.Linear] gives where it is causal. It takes m·(values + 2) numbers for each head, however many keys it has seen, and
// 2·m·(width + values) flops and m exponentials for each key and each query.
//
// A State changes with Append: it is not for several goroutines at once. Queries alone are. [State.MarshalBinary] keeps
// it, features included, and what is restored goes on with the same bits.
type State struct{ stream[float64] }

// StateFloat32 is a [State] in single precision.
type StateFloat32 struct{ stream[float32] }

// NewState returns the state of no keys for so many sequences, of heads each, with values of a width.
func (f *Features) NewState(batch, heads, values int) (*State, error) {
	s, err := newStream[float64](f, batch, heads, values)
	if err != nil {
		return nil, err
	}
	return &State{s}, nil
}

// NewStateFloat32 is [Features.NewState] in single precision.
func (f *Features) NewStateFloat32(batch, heads, values int) (*StateFloat32, error) {
	s, err := newStream[float32](f, batch, heads, values)
	if err != nil {
		return nil, err
	}
	return &StateFloat32{s}, nil
}

// Clone returns a state that goes on by itself from here.
func (s *State) Clone() *State { return &State{s.clone()} }

// Clone returns a state that goes on by itself from here.
func (s *StateFloat32) Clone() *StateFloat32 { return &StateFloat32{s.clone()} }

// stream is a state in either precision.
type stream[T kern.Float] struct {
	by    *Features
	shape Shape // of one position
	heads []sums[T]
	seen  int
}

// Len returns how many keys each head has seen.
func (s *stream[T]) Len() int { return s.seen }

// Features returns the features that weigh the keys.
func (s *stream[T]) Features() *Features { return s.by }

// mostKeys is how many keys a head can see: the sums of so many largest values are finite.
const mostKeys = min(1<<40, math.MaxInt)

func newStream[T kern.Float](f *Features, batch, heads, values int) (stream[T], error) {
	if err := f.check(); err != nil {
		return stream[T]{}, err
	}
	s := stream[T]{by: f, shape: Shape{batch, heads, 1, 1, f.Width(), values, true}}
	if err := errors.Join(s.shape.faults()...); err != nil {
		return s, err
	}
	if err := memory.Check(stateBytes(s.shape.sequences(), f.Len(), values)); err != nil {
		return s, fmt.Errorf("attention: %w", err)
	}
	s.heads = s.fresh()
	return s, nil
}

// fresh returns the sums of no keys for each head.
func (s *stream[T]) fresh() []sums[T] {
	size := s.by.Len() * (s.shape.Values + 2)
	heads, room := make([]sums[T], s.shape.sequences()), make([]T, s.shape.sequences()*size)
	for i := range heads {
		heads[i] = sumsOf(rounded[T](s.by), s.shape.Values, room[i*size:(i+1)*size])
	}
	return heads
}

func (s *stream[T]) clone() stream[T] {
	out := *s
	if s.by == nil {
		return out
	}
	out.heads = s.fresh()
	for i, h := range s.heads {
		out.heads[i].set(h)
	}
	return out
}

// check reports a state that nobody made.
func (s *stream[T]) check() error {
	if s.by == nil {
		return errors.New("attention: an empty state, wanted one that NewState made or that was restored")
	}
	return nil
}

// given returns how many positions data has, of a tensor with one position, and what is wrong with it.
func (s *stream[T]) given(t tensor, data []T, limit float64) (positions int, fault error) {
	one, shape := s.shape.sequences()*t.width, s.shape
	t.rows = 0 // not known
	if len(data) == 0 || len(data)%one != 0 {
		fault = fmt.Errorf("attention: %s: %d numbers, wanted a multiple of %d×%d×%d", t.name, len(data), shape.Batch, shape.Heads, t.width)
	} else {
		t.rows = len(data) / one
	}
	return t.rows, errors.Join(fault, checkNumbers(shape, t, data, limit))
}

// atOnce is how many flops are made without a look at the context.
const atOnce = 1 << 27

// Append adds one or more keys and values to every head, [batch][head][position][width]. Of many, as a prompt has, all
// cores make the sums. Where it fails, or the context ends, the state is as it was.
func (s *stream[T]) Append(ctx context.Context, k, v []T) error {
	if err := s.check(); err != nil {
		return err
	}
	f, t := rounded[T](s.by), s.shape.tensors()
	n, keys := s.given(t[1], k, f.Limit)
	m, values := s.given(t[2], v, mostValue[T](s.by.Len()))
	faults := []error{keys, values}
	if n != m && min(n, m) > 0 {
		faults = append(faults, fmt.Errorf("attention: %d keys and %d values, wanted as many", n, m))
	}
	if n > mostKeys-s.seen {
		faults = append(faults, fmt.Errorf("attention: %d keys after %d, wanted at most %d in all", n, s.seen, mostKeys))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	p := &problem[T]{Shape: s.shape, k: k, v: v}
	p.Keys = n
	if flops := 2 * float64(len(s.heads)*n) * float64(s.by.Len()) * float64(p.Width+p.Values); n <= chunk && flops <= atOnce {
		kern.Parallel(len(s.heads), 1, func(i, _ int) {
			t := newScratch(f, p.Values)
			defer t.hold.Release()
			s.heads[i].add(&t, p.keys(i), p.values(i))
		})
	} else if err := s.appendMany(ctx, f, p); err != nil {
		return err
	}
	s.seen += n
	return nil
}

// appendMany makes the sums of keys apart from the state, which is replaced when all are made.
func (s *stream[T]) appendMany(ctx context.Context, f *softmax.Rounded[T], p *problem[T]) error {
	parts := len(s.heads) * segments(p.Keys)
	if err := memory.Check(stateBytes(len(s.heads)+parts, f.Features(), p.Values)); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	hold := design.Borrow[T](parts * f.Features() * (p.Values + 2))
	defer hold.Release()
	more, heads := p.sum(ctx, f, hold.Data), s.fresh()
	kern.Parallel(len(heads), 1, func(i, _ int) {
		if ctx.Err() == nil {
			heads[i].set(s.heads[i])
			heads[i].merge(more[i], 0, f.Features())
		}
	})
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	s.heads = heads
	return nil
}

// Query returns attention of one or more queries of every head, [batch][head][position][width], to all keys so far:
// [batch][head][position][values].
func (s *stream[T]) Query(ctx context.Context, q []T) ([]T, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	n, fault := s.given(s.shape.tensors()[0], q, rounded[T](s.by).Limit)
	if s.seen == 0 {
		fault = errors.Join(fault, errors.New("attention: a state that has seen no keys"))
	}
	if fault != nil {
		return nil, fault
	}
	p := &problem[T]{Shape: s.shape, q: q}
	p.Queries = n
	if err := memory.Check(int64(8 * p.size(p.tensors()[3]))); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	p.out = make([]T, len(s.heads)*n*p.Values)
	p.answer(ctx, s.heads)
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return p.out, nil
}
