// Package attention implements exact attention, and linear attention by random features.
//
// Attention replaces each position i of a sequence by a weighted mean of values v_j, with weights
// given by the query q_i and the keys k_j:
//
//	out_i = Σ_j w_ij·v_j / Σ_j w_ij,   w_ij = exp(q_i'k_j / sqrt(width))
//
// The sum is over all keys, or over j ≤ i for causal attention. [Exact] costs 2·length²·(width +
// values) flops and stores one tile of the weights at a time.
//
// Linear attention approximates the weights by positive random features, w_ij ≈ φ(q_i)'φ(k_j), with
//
//	φ(x) = m^−½·[exp(ω₁'u − ‖u‖²/2), …, exp(ω_m'u − ‖u‖²/2)],   u = x/width^¼,   ω ~ N(0, I)
//
//	out_i ≈ φ(q_i)'S / φ(q_i)'s,   S = Σ_j φ(k_j)·v_j',   s = Σ_j φ(k_j)
//
// It computes S and s once for all queries, or as running sums if causal: 2·length·m·(2·width +
// 2·values) flops, less than [Exact] for lengths well above 2m. All weights are positive, so that
// each result is a weighted mean of values. [Features] are the random features, [Features.Linear]
// is linear attention, and a [State] processes a sequence token by token in constant memory; it can
// be serialized.
//
// The relative variance of a weight is (exp(‖u + v‖²) − 1)/m for scaled queries u and keys v. The
// approximation is accurate for short queries and keys and poor for long ones; docs/attention.md
// has measurements.
//
// Exponentials do not overflow, and sums of weights do not underflow: factors common to all
// features of a query cancel, and the sums of each feature are scaled by the running maximum of its
// exponents.
//
// Tensors are flat slices in the order [batch][head][position][width], see [Shape]. Results are
// bitwise equal for any GOMAXPROCS.
//
// Sources: Vaswani et al., "Attention is all you need", NIPS 2017; Katharopoulos et al.,
// "Transformers are RNNs", ICML 2020 (linear and causal linear attention); Choromanski et al.,
// "Rethinking attention with Performers", ICLR 2021 (features); Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018 (exact attention in one pass over the keys).
package attention

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Shape contains the dimensions of the tensors, flat slices in row-major order:
//
//	queries  [Batch][Heads][Queries][Width]
//	keys     [Batch][Heads][Keys][Width]
//	values   [Batch][Heads][Keys][Values]
//	result   [Batch][Heads][Queries][Values]
//
// The index of a key element is ((batch·Heads + head)·Keys + position)·Width + column. All
// dimensions must be ≥ 1.
type Shape struct {
	Batch, Heads  int
	Queries, Keys int  // positions
	Width         int  // width of queries and keys
	Values        int  // width of a value
	Causal        bool // position i attends to keys j ≤ i; requires Queries = Keys
}

// NewShape returns the shape of self-attention: Queries = Keys = length, Values = Width = width.
func NewShape(batch, heads, length, width int) Shape {
	return Shape{Batch: batch, Heads: heads, Queries: length, Keys: length, Width: width, Values: width}
}

// tensor describes a tensor of a Shape.
type tensor struct {
	name             string
	positions, width int // per head
}

// layout returns queries, keys, values and result.
func (s Shape) layout() [4]tensor {
	return [4]tensor{{"queries", s.Queries, s.Width}, {"keys", s.Keys, s.Width}, {"values", s.Keys, s.Values},
		{"result", s.Queries, s.Values}}
}

// sequences returns the number of sequences, Batch·Heads.
func (s Shape) sequences() int { return s.Batch * s.Heads }

// errs returns all errors of the dimensions.
func (s Shape) errs() (errs []error) {
	for _, n := range []struct {
		name  string
		value int
	}{{"Batch", s.Batch}, {"Heads", s.Heads}, {"Queries", s.Queries}, {"Keys", s.Keys}, {"Width", s.Width},
		{"Values", s.Values}} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("attention: %s must be ≥ 1, got %d", n.name, n.value))
		}
	}
	if s.Causal && s.Queries != s.Keys {
		errs = append(errs, fmt.Errorf("attention: causal: Queries must equal Keys, got %d and %d", s.Queries, s.Keys))
	}
	for _, t := range s.layout() {
		if s.isValid(t) && s.size(t) > math.MaxInt/16 {
			errs = append(errs, fmt.Errorf("attention: %s: %w", t.name, memory.ErrTooLarge))
		}
	}
	return errs
}

// isValid reports whether all dimensions of t are valid.
func (s Shape) isValid(t tensor) bool { return min(s.Batch, s.Heads, t.positions, t.width) >= 1 }

// size returns the number of elements of t.
func (s Shape) size(t tensor) float64 {
	return float64(s.Batch) * float64(s.Heads) * float64(t.positions) * float64(t.width)
}

// validate validates the shape and the tensors: width of the features (0 for none), lengths, and
// the magnitude of the elements, at most limit for queries and keys. Each value is summed with that
// number of weights.
func validate[T kern.Float](s Shape, width int, q, k, v []T, limit float64, weights int) error {
	errs := s.errs()
	if width > 0 && s.Width > 0 && s.Width != width {
		errs = append(errs, fmt.Errorf("attention: Width must be %d, as of the features, got %d", width, s.Width))
	}
	for i, data := range [][]T{q, k, v} {
		t, max := s.layout()[i], limit
		if t.name == "values" {
			max = maxValue[T](weights)
		}
		if s.isValid(t) && s.size(t) != float64(len(data)) {
			errs = append(errs, fmt.Errorf("attention: %s must have %d×%d×%d×%d = %.0f elements, got %d", t.name, s.Batch,
				s.Heads,
				t.positions, t.width, s.size(t), len(data)))
		}
		errs = append(errs, checkElements(s, t, data, max))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return memory.Check(int64(8 * s.size(s.layout()[3])))
}

// invalid describes the invalid elements of a slice: index and value of the first, and their count.
type invalid struct {
	index, count int
	value        float64
}

// findInvalid returns the elements that are NaN or whose magnitude exceeds limit.
func findInvalid[T kern.Float](data []T, limit float64) invalid {
	const grain = 1 << 16
	found := invalid{index: len(data)}
	var mutex sync.Mutex
	kern.Parallel(len(data), grain, func(lo, hi int) {
		for i, v := range data[lo:hi] {
			if v <= T(limit) && v >= -T(limit) {
				continue
			}
			mutex.Lock()
			found.count++
			if lo+i < found.index {
				found.index, found.value = lo+i, float64(v)
			}
			mutex.Unlock()
		}
	})
	return found
}

// checkElements returns an error with the position of the first invalid element of a tensor.
func checkElements[T kern.Float](s Shape, t tensor, data []T, limit float64) error {
	f := findInvalid(data, limit)
	if f.count == 0 {
		return nil
	}
	place := fmt.Sprintf("element %d", f.index)
	if s.isValid(t) && s.size(t) == float64(len(data)) {
		row, sequence := f.index/t.width, f.index/t.width/t.positions
		place = fmt.Sprintf("batch %d, head %d, position %d, column %d", sequence/s.Heads, sequence%s.Heads,
			row%t.positions, f.index%t.width)
	}
	return fmt.Errorf("attention: %s: %s %s", t.name, place, f.describe(limit))
}

// describe describes the first invalid element and the number of others.
func (f invalid) describe(limit float64) string {
	constraint, others := fmt.Sprintf("at most %.3g in magnitude", limit), ""
	if math.IsNaN(f.value) || math.IsInf(f.value, 0) {
		constraint = "finite"
	}
	if f.count > 1 {
		others = fmt.Sprintf(" (first of %d invalid elements)", f.count)
	}
	return fmt.Sprintf("must be %s, got %g%s", constraint, f.value, others)
}

// maxValue returns the largest value whose weighted sums over 2⁴⁰ keys, with the given number of
// weights ≤ 1 per key, do not overflow.
func maxValue[T kern.Float](weights int) float64 {
	return maxFinite[T]() / float64(weights) / (1 << 42)
}

// maxFinite returns the maximum finite T.
func maxFinite[T kern.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// tensors contains the tensors of one call.
type tensors[T kern.Float] struct {
	Shape
	q, k, v, out []T
}

func (p *tensors[T]) queries(sequence int) kern.View[T] {
	return view(p.q, sequence, p.Queries, p.Width)
}

func (p *tensors[T]) keys(sequence int) kern.View[T] { return view(p.k, sequence, p.Keys, p.Width) }

func (p *tensors[T]) values(sequence int) kern.View[T] { return view(p.v, sequence, p.Keys, p.Values) }

func (p *tensors[T]) result(sequence int) kern.View[T] {
	return view(p.out, sequence, p.Queries, p.Values)
}

// view returns the i-th matrix of a tensor.
func view[T kern.Float](data []T, i, rows, cols int) kern.View[T] {
	return kern.Dense(rows, cols, cols, data[i*rows*cols:])
}
