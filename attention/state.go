package attention

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
)

// State is linear attention that goes on token by token: keys and values are added as they come, and queries are
// answered by all that have been. To append the key and value of a position and then to ask its query gives, to rounding,
// what [Features.Linear] gives where it is causal. It takes m·(values + 2) numbers for each head, however many keys it has seen, and
// 2·m·(width + values) flops and m exponentials for each key and each query.
//
// A State changes with Append: it is not for several goroutines at once. Queries alone are.
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

// Append adds one or more keys and values to every head, [batch][head][position][width]. Where it fails the state is as
// it was, unless the context ended, after which it is of no use.
func (s *State) Append(ctx context.Context, k, v []float64) error { return s.append(ctx, k, v) }

// Append adds one or more keys and values to every head, [batch][head][position][width]. Where it fails the state is as
// it was, unless the context ended, after which it is of no use.
func (s *StateFloat32) Append(ctx context.Context, k, v []float32) error { return s.append(ctx, k, v) }

// Query returns attention of one or more queries of every head, [batch][head][position][width], to all keys so far:
// [batch][head][position][values].
func (s *State) Query(ctx context.Context, q []float64) ([]float64, error) { return s.query(ctx, q) }

// Query returns attention of one or more queries of every head, [batch][head][position][width], to all keys so far:
// [batch][head][position][values].
func (s *StateFloat32) Query(ctx context.Context, q []float32) ([]float32, error) {
	return s.query(ctx, q)
}

// Len returns how many keys each head has seen.
func (s *State) Len() int { return s.seen }

// Len returns how many keys each head has seen.
func (s *StateFloat32) Len() int { return s.seen }

// Clone returns a state that goes on by itself from here.
func (s *State) Clone() *State { return &State{s.clone()} }

// Clone returns a state that goes on by itself from here.
func (s *StateFloat32) Clone() *StateFloat32 { return &StateFloat32{s.clone()} }

// stream is a state in either precision.
type stream[T kern.Float] struct {
	features *Features
	shape    Shape // of one position
	heads    []sums[T]
	seen     int
	broken   error // of the context that ended while keys were added
}

func newStream[T kern.Float](f *Features, batch, heads, values int) (stream[T], error) {
	s := stream[T]{features: f, shape: Shape{batch, heads, 1, 1, f.Width(), values, true}}
	if err := s.shape.check(); err != nil {
		return s, err
	}
	if err := memory.Check(stateBytes(s.shape.sequences(), f.Len(), values)); err != nil {
		return s, fmt.Errorf("attention: %w", err)
	}
	size := f.Len() * (values + 2)
	room := make([]T, s.shape.sequences()*size)
	for i := range s.shape.sequences() {
		s.heads = append(s.heads, sumsOf(rounded[T](f), values, room[i*size:(i+1)*size]))
	}
	return s, nil
}

func (s *stream[T]) clone() stream[T] {
	out := *s
	out.heads = make([]sums[T], len(s.heads))
	for i, h := range s.heads {
		out.heads[i] = sumsOf(h.features, s.shape.Values, make([]T, len(h.top)*(s.shape.Values+2)))
		copy(out.heads[i].top, h.top)
		copy(out.heads[i].rows.Data, h.rows.Data)
	}
	return out
}

// positions returns how many positions a slice of some width has.
func (s *stream[T]) positions(name string, data []T, width int) (int, error) {
	one := s.shape.sequences() * width
	if len(data) == 0 || len(data)%one != 0 {
		return 0, fmt.Errorf("attention: %s: %d numbers, wanted a multiple of %d×%d×%d", name, len(data), s.shape.Batch, s.shape.Heads, width)
	}
	return len(data) / one, nil
}

func (s *stream[T]) append(ctx context.Context, k, v []T) error {
	if s.broken != nil {
		return fmt.Errorf("attention: a state of half the keys: %w", s.broken)
	}
	n, err := s.positions("keys", k, s.shape.Width)
	m, errValues := s.positions("values", v, s.shape.Values)
	if err = errors.Join(err, errValues); err != nil {
		return err
	}
	if n != m {
		return fmt.Errorf("attention: %d keys and %d values, wanted as many", n, m)
	}
	f := rounded[T](s.features)
	p := problem[T]{Shape: s.shape, k: k, v: v}
	p.Keys = n
	most := mostValue[T](s.features.Len())
	err = p.checkNumbers(p.tensors()[1], outside(k, f.Limit), f.Limit)
	if err = errors.Join(err, p.checkNumbers(p.tensors()[2], outside(v, most), most), ctx.Err()); err != nil {
		return err
	}
	kern.Parallel(len(s.heads), 1, func(i, _ int) {
		t := newScratch(f, p.Values)
		defer t.hold.Release()
		keys, values := p.keys(i), p.values(i)
		for lo := 0; lo < n && ctx.Err() == nil; lo += chunk {
			hi := min(lo+chunk, n)
			s.heads[i].add(&t, keys.Slice(lo, hi, 0, p.Width), values.Slice(lo, hi, 0, p.Values))
		}
	})
	s.seen += n
	s.broken = ctx.Err()
	return s.broken
}

func (s *stream[T]) query(ctx context.Context, q []T) ([]T, error) {
	if s.broken != nil {
		return nil, fmt.Errorf("attention: a state of half the keys: %w", s.broken)
	}
	n, err := s.positions("queries", q, s.shape.Width)
	if err != nil {
		return nil, err
	}
	if s.seen == 0 {
		return nil, errors.New("attention: a state that has seen no keys")
	}
	f := rounded[T](s.features)
	p := problem[T]{Shape: s.shape, q: q}
	p.Queries = n
	if err := errors.Join(p.checkNumbers(p.tensors()[0], outside(q, f.Limit), f.Limit), ctx.Err()); err != nil {
		return nil, err
	}
	p.out = make([]T, len(s.heads)*n*p.Values)
	kern.Parallel(len(s.heads), 1, func(i, _ int) {
		t := newScratch(f, p.Values)
		defer t.hold.Release()
		queries := p.queries(i)
		for lo := 0; lo < n && ctx.Err() == nil; lo += chunk {
			s.heads[i].answer(&t, p.result(i), queries.Slice(lo, min(lo+chunk, n), 0, p.Width), lo)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.out, nil
}
