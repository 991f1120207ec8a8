package attention

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/transformer/internal/softmax"
)

// State is a streaming form of causal linear attention: Append adds keys and values, and Query
// attends to all keys so far. Appending a position and querying it gives the result of causal
// [Features.Linear], up to rounding. Memory: m·(values + 2) elements per head, independent of the
// number of keys. Cost per key and per query: 2·m·(width + values) flops and m exponentials.
//
// Append must not be called concurrently with other methods; Query alone is safe for concurrent
// use. [State.MarshalBinary] serializes a state, which continues with the same bits.
type State struct{ stream[float64] }

// StateFloat32 is the float32 version of [State].
type StateFloat32 struct{ stream[float32] }

// NewState returns an empty state for the given numbers of sequences, heads and value columns.
func (f *Features) NewState(batch, heads, values int) (*State, error) {
	s, err := newStream[float64](f, batch, heads, values)
	if err != nil {
		return nil, err
	}
	return &State{s}, nil
}

// NewStateFloat32 is the float32 version of [Features.NewState].
func (f *Features) NewStateFloat32(batch, heads, values int) (*StateFloat32, error) {
	s, err := newStream[float32](f, batch, heads, values)
	if err != nil {
		return nil, err
	}
	return &StateFloat32{s}, nil
}

// Clone returns an independent copy.
func (s *State) Clone() *State { return &State{s.clone()} }

// Clone returns an independent copy.
func (s *StateFloat32) Clone() *StateFloat32 { return &StateFloat32{s.clone()} }

// stream is a state in precision T.
type stream[T kern.Float] struct {
	features *Features
	shape    Shape // of a single position
	heads    []sums[T]
	keys     int
}

// Len returns the number of keys per head.
func (s *stream[T]) Len() int { return s.keys }

// Features returns the features of the state.
func (s *stream[T]) Features() *Features { return s.features }

// maxKeys is the maximum number of keys of a head, for which sums are finite.
const maxKeys = min(1<<40, math.MaxInt)

func newStream[T kern.Float](f *Features, batch, heads, values int) (stream[T], error) {
	if err := f.check(); err != nil {
		return stream[T]{}, err
	}
	s := stream[T]{features: f, shape: Shape{batch, heads, 1, 1, f.Width(), values, true}}
	if err := errors.Join(s.shape.errs()...); err != nil {
		return s, err
	}
	if err := memory.Check(stateBytes(s.shape.sequences(), f.Len(), values)); err != nil {
		return s, fmt.Errorf("attention: %w", err)
	}
	s.heads = s.emptySums()
	return s, nil
}

// emptySums returns empty sums for each head.
func (s *stream[T]) emptySums() []sums[T] {
	size := s.features.Len() * (s.shape.Values + 2)
	heads, buffer := make([]sums[T], s.shape.sequences()), make([]T, s.shape.sequences()*size)
	for i := range heads {
		heads[i] = sumsOf(mapOf[T](s.features), s.shape.Values, buffer[i*size:(i+1)*size])
	}
	return heads
}

func (s *stream[T]) clone() stream[T] {
	out := *s
	if s.features == nil {
		return out
	}
	out.heads = s.emptySums()
	for i, h := range s.heads {
		out.heads[i].copyFrom(h)
	}
	return out
}

// check returns an error for a zero state.
func (s *stream[T]) check() error {
	if s.features == nil {
		return errors.New("attention: zero state; use NewState or UnmarshalBinary")
	}
	return nil
}

// countPositions returns the number of positions in data, and an error if data is invalid.
func (s *stream[T]) countPositions(t tensor, data []T, limit float64) (positions int, problem error) {
	one, shape := s.shape.sequences()*t.width, s.shape
	t.positions = 0 // unknown until the length is validated
	if len(data) == 0 || len(data)%one != 0 {
		problem = fmt.Errorf("attention: %s must have a positive multiple of %d×%d×%d elements, got %d", t.name,
			shape.Batch, shape.Heads,
			t.width, len(data))
	} else {
		t.positions = len(data) / one
	}
	return t.positions, errors.Join(problem, checkElements(shape, t, data, limit))
}

// maxUncheckedFlops is the maximum number of flops between checks of the context.
const maxUncheckedFlops = 1 << 27

// Append adds one or more keys and values to every head, [batch][head][position][width]. Long
// inputs such as prompts use all cores. On an error, the state is unchanged.
func (s *stream[T]) Append(ctx context.Context, k, v []T) error {
	if err := s.check(); err != nil {
		return err
	}
	f, t := mapOf[T](s.features), s.shape.layout()
	n, keys := s.countPositions(t[1], k, f.Limit)
	m, values := s.countPositions(t[2], v, maxValue[T](s.features.Len()))
	errs := []error{keys, values}
	if n != m && min(n, m) > 0 {
		errs = append(errs, fmt.Errorf("attention: keys and values must have equal lengths, got %d and %d", n, m))
	}
	if n > maxKeys-s.keys {
		errs = append(errs, fmt.Errorf("attention: keys must be at most %d, got %d after %d", maxKeys, n, s.keys))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	p := &tensors[T]{Shape: s.shape, k: k, v: v}
	p.Keys = n
	if flops := 2 * float64(len(s.heads)*n) * float64(s.features.Len()) * float64(p.Width+p.Values); n <= chunk &&
		flops <= maxUncheckedFlops {
		kern.Parallel(len(s.heads), 1, func(i, _ int) {
			t := newScratch(f, p.Values)
			defer t.buffer.Release()
			s.heads[i].add(&t, p.keys(i), p.values(i))
		})
	} else if err := s.appendMany(ctx, f, p); err != nil {
		return err
	}
	s.keys += n
	return nil
}

// appendMany computes sums in a copy, which replaces the state when complete.
func (s *stream[T]) appendMany(ctx context.Context, f *softmax.Rounded[T], p *tensors[T]) error {
	parts := len(s.heads) * segments(p.Keys)
	if err := memory.Check(stateBytes(len(s.heads)+parts, f.Features(), p.Values)); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	hold := design.Borrow[T](parts * f.Features() * (p.Values + 2))
	defer hold.Release()
	more, heads := p.sumKeys(ctx, f, hold.Data), s.emptySums()
	kern.Parallel(len(heads), 1, func(i, _ int) {
		if ctx.Err() == nil {
			heads[i].copyFrom(s.heads[i])
			heads[i].merge(more[i], 0, f.Features())
		}
	})
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	s.heads = heads
	return nil
}

// Query returns attention of one or more queries per head, [batch][head][position][width], to all
// keys so far: [batch][head][position][values].
func (s *stream[T]) Query(ctx context.Context, q []T) ([]T, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	n, problem := s.countPositions(s.shape.layout()[0], q, mapOf[T](s.features).Limit)
	if s.keys == 0 {
		problem = errors.Join(problem, errors.New("attention: the state must have at least one key"))
	}
	if problem != nil {
		return nil, problem
	}
	p := &tensors[T]{Shape: s.shape, q: q}
	p.Queries = n
	if err := memory.Check(int64(8 * p.size(p.layout()[3]))); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	p.out = make([]T, len(s.heads)*n*p.Values)
	p.attend(ctx, s.heads)
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return p.out, nil
}
