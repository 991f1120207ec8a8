// Package attention computes attention, exactly and by random features in time that grows with the length alone.
//
// Attention replaces each position i of a sequence by a mean of values v_j, weighted by how well the query q_i and the
// keys k_j go together:
//
//	out_i = Σ_j w_ij·v_j / Σ_j w_ij,   w_ij = exp(q_i'k_j / sqrt(width))
//
// over all keys, or, causal, over those up to j = i. [Exact] does just that: 2·length²·(width + values) flops, and
// memory of a tile, not of the whole matrix of weights.
//
// The weights are a kernel, so that random features replace them: w_ij ≈ φ(q_i)'φ(k_j) with
//
//	φ(x) = m^−½·[exp(ω₁'u − ‖u‖²/2), …, exp(ω_m'u − ‖u‖²/2)],   u = x/width^¼,   ω ~ N(0, I)
//
//	out_i ≈ φ(q_i)'S / φ(q_i)'s,   S = Σ_j φ(k_j)·v_j',   s = Σ_j φ(k_j)
//
// The sums are made once for all queries, or go on from key to key where attention is causal: 2·length·m·(2·width +
// 2·values) flops, which is less than those of [Exact] where the length is well above 2m. All weights are positive, so that out_i is a mean of values, as it is
// of exact attention. [Features] are such draws, [Features.Linear] is linear attention with them, and a [State] goes on
// token by token in memory that does not grow; it can be kept as bytes.
//
// The relative error of a weight has the variance (exp(‖u + v‖²) − 1)/m for u, v of a query and a key: linear attention
// is near to the exact one where queries and keys are short, and far from it where they are long. docs/attention.md
// measures it.
//
// Exponents are never taken as they are: a factor that is common to a query's features cancels, and of each feature the
// largest exponent of the keys so far is taken out of the sums and put into the query's. So nothing overflows, and no
// sum of weights is 0, whatever the lengths of queries and keys.
//
// Tensors are flat slices in the order [batch][head][position][width], see [Shape]. Results are the same bits for any
// number of cores.
//
// Sources: Vaswani et al., "Attention is all you need", NIPS 2017; Katharopoulos et al., "Transformers are RNNs", ICML
// 2020, for linear attention and its causal form; Choromanski et al., "Rethinking attention with Performers", ICLR 2021,
// for the features; Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018, for exact attention in one
// reading of the keys.
package attention

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
)

// Shape says how large the tensors of attention are. Each is a flat slice in row-major order:
//
//	queries  [Batch][Heads][Queries][Width]
//	keys     [Batch][Heads][Keys][Width]
//	values   [Batch][Heads][Keys][Values]
//	result   [Batch][Heads][Queries][Values]
//
// so that the number of a key is ((batch·Heads + head)·Keys + position)·Width + column. All are 1 or more.
type Shape struct {
	Batch, Heads  int
	Queries, Keys int  // positions
	Width         int  // of a query and a key
	Values        int  // width of a value
	Causal        bool // position i looks at the keys up to i only; there are as many queries as keys
}

// NewShape returns the shape of self-attention: as many queries as keys, values as wide as both.
func NewShape(batch, heads, length, width int) Shape {
	return Shape{Batch: batch, Heads: heads, Queries: length, Keys: length, Width: width, Values: width}
}

// tensor is one of the slices of a problem.
type tensor struct {
	name        string
	rows, width int // of a head
}

// tensors returns queries, keys, values and the result.
func (s Shape) tensors() [4]tensor {
	return [4]tensor{{"queries", s.Queries, s.Width}, {"keys", s.Keys, s.Width}, {"values", s.Keys, s.Values}, {"result", s.Queries, s.Values}}
}

// sequences returns how many sequences there are, each with a head.
func (s Shape) sequences() int { return s.Batch * s.Heads }

// faults returns all that is wrong with a shape.
func (s Shape) faults() (faults []error) {
	for _, n := range []struct {
		name  string
		value int
	}{{"Batch", s.Batch}, {"Heads", s.Heads}, {"Queries", s.Queries}, {"Keys", s.Keys}, {"Width", s.Width}, {"Values", s.Values}} {
		if n.value < 1 {
			faults = append(faults, fmt.Errorf("attention: %s: got %d, wanted 1 or more", n.name, n.value))
		}
	}
	if s.Causal && s.Queries != s.Keys {
		faults = append(faults, fmt.Errorf("attention: causal: %d queries and %d keys, wanted as many", s.Queries, s.Keys))
	}
	for _, t := range s.tensors() {
		if s.sized(t) && s.size(t) > math.MaxInt/16 {
			faults = append(faults, fmt.Errorf("attention: %s: %w", t.name, memory.ErrTooLarge))
		}
	}
	return faults
}

// sized reports whether the shape says how many numbers a tensor has.
func (s Shape) sized(t tensor) bool { return min(s.Batch, s.Heads, t.rows, t.width) >= 1 }

// size returns how many numbers a tensor has.
func (s Shape) size(t tensor) float64 {
	return float64(s.Batch) * float64(s.Heads) * float64(t.rows) * float64(t.width)
}

// checkAll reports all that is wrong with a shape and with what is said to have it: widths, lengths, missing or infinite
// numbers, and numbers of queries and keys beyond limit. Each value is summed up with so many weights; the features, if
// any, are for queries and keys of a width.
func checkAll[T kern.Float](s Shape, width int, q, k, v []T, limit float64, weights int) error {
	faults := s.faults()
	if width > 0 && s.Width > 0 && s.Width != width {
		faults = append(faults, fmt.Errorf("attention: queries and keys are %d wide, the features are of width %d", s.Width, width))
	}
	for i, data := range [][]T{q, k, v} {
		t, most := s.tensors()[i], limit
		if t.name == "values" {
			most = mostValue[T](weights)
		}
		if s.sized(t) && s.size(t) != float64(len(data)) {
			faults = append(faults, fmt.Errorf("attention: %s: %d numbers, wanted %d×%d×%d×%d = %.0f", t.name, len(data), s.Batch, s.Heads, t.rows, t.width, s.size(t)))
		}
		faults = append(faults, checkNumbers(s, t, data, most))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return memory.Check(int64(8 * s.size(s.tensors()[3])))
}

// fault is the first of some numbers that cannot be taken.
type fault struct {
	place, count int
	value        float64
}

// outside returns which numbers are missing, infinite or beyond limit.
func outside[T kern.Float](data []T, limit float64) fault {
	const grain = 1 << 16
	found := fault{place: len(data)}
	var mutex sync.Mutex
	kern.Parallel(len(data), grain, func(lo, hi int) {
		for i, v := range data[lo:hi] {
			if v <= T(limit) && v >= -T(limit) {
				continue
			}
			mutex.Lock()
			found.count++
			if lo+i < found.place {
				found.place, found.value = lo+i, float64(v)
			}
			mutex.Unlock()
		}
	})
	return found
}

// checkNumbers says which numbers of a tensor cannot be taken, and where the first of them is.
func checkNumbers[T kern.Float](s Shape, t tensor, data []T, limit float64) error {
	f := outside(data, limit)
	if f.count == 0 {
		return nil
	}
	place := fmt.Sprintf("number %d", f.place)
	if s.sized(t) && s.size(t) == float64(len(data)) {
		row, sequence := f.place/t.width, f.place/t.width/t.rows
		place = fmt.Sprintf("batch %d, head %d, position %d, column %d", sequence/s.Heads, sequence%s.Heads, row%t.rows, f.place%t.width)
	}
	return fmt.Errorf("attention: %s: %s: %s", t.name, place, f.problem(limit))
}

// problem says what is wrong with the first number, and whether there are more.
func (f fault) problem(limit float64) string {
	wanted := fmt.Sprintf("wanted a number of at most %.3g", limit)
	if math.IsNaN(f.value) || math.IsInf(f.value, 0) {
		wanted = "wanted a finite number"
	}
	if f.count > 1 {
		wanted += fmt.Sprintf("; it is the first of %d that cannot be taken", f.count)
	}
	return fmt.Sprintf("got %g, %s", f.value, wanted)
}

// mostValue returns the largest value that can be summed up, with so many weights up to 1 for each of 2⁴⁰ keys.
func mostValue[T kern.Float](weights int) float64 { return largest[T]() / float64(weights) / (1 << 42) }

// largest returns the largest finite T.
func largest[T kern.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// problem is tensors of a shape.
type problem[T kern.Float] struct {
	Shape
	q, k, v, out []T
}

func (p *problem[T]) queries(sequence int) kern.View[T] {
	return view(p.q, sequence, p.Queries, p.Width)
}

func (p *problem[T]) keys(sequence int) kern.View[T] { return view(p.k, sequence, p.Keys, p.Width) }

func (p *problem[T]) values(sequence int) kern.View[T] { return view(p.v, sequence, p.Keys, p.Values) }

func (p *problem[T]) result(sequence int) kern.View[T] {
	return view(p.out, sequence, p.Queries, p.Values)
}

// view returns one of several matrices of a size.
func view[T kern.Float](data []T, i, rows, cols int) kern.View[T] {
	return kern.Dense(rows, cols, cols, data[i*rows*cols:])
}
