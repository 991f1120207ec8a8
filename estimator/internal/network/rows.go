package network

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// rows contains the training rows in precision T.
type rows[T kern.Float] struct {
	x       kern.View[T]    // n×d, centered
	entries *kern.Sparse[T] // sparse rows, not centered; replaces x
	y       []T             // n×q
	weight  []T             // n, with mean 1
	q, d    int
	loss    Loss
}

// newRows converts the rows to precision T and centers dense ones.
func newRows[T kern.Float](data Data, center []float64) *rows[T] {
	n, d := data.X.Dims()
	r := &rows[T]{y: rounded[T](data.Y), weight: make([]T, n), q: data.Outputs, d: d, loss: data.Loss}
	total := kern.Sum(data.Weights)
	for i, w := range data.Weights {
		r.weight[i] = T(w * float64(n) / total)
	}
	if m, ok := data.X.(*matrices.CSR); ok {
		from := design.SparseView(m)
		r.entries = &kern.Sparse[T]{Rows: n, Cols: d, Indptr: from.Indptr, Indices: from.Indices, Scale: T(from.Scale)}
		if from.Values != nil {
			r.entries.Values = rounded[T](from.Values)
		}
		return r
	}
	r.x = kern.Dense(n, d, d, make([]T, n*d))
	m := data.X.(*mat.Dense)
	kern.Parallel(n, 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := r.x.Row(i)
			for j, v := range m.RawRowView(i) {
				to[j] = T(v - center[j])
			}
		}
	})
	return r
}

// minibatch contains some rows with their activations; it is reused.
type minibatch[T kern.Float] struct {
	rows    int
	x       kern.View[T]
	entries *kern.Sparse[T]
	y       []T
	weight  []T
	offset  []T            // D
	angles  []kern.View[T] // by layer, rows×D: angles, then their sines, then derivatives by the angles
	z       []kern.View[T] // by layer, rows×D: features, then derivatives by the features
	out     []T            // rows×q: outputs, then derivatives by the outputs
}

// newMinibatch allocates a minibatch of at most maxRows rows.
func newMinibatch[T kern.Float](n *net[T], r *rows[T], maxRows int) *minibatch[T] {
	D := n.head.Cols
	b := &minibatch[T]{y: make([]T, maxRows*r.q), weight: make([]T, maxRows), out: make([]T, maxRows*r.q)}
	for range n.layers {
		b.angles = append(b.angles, kern.Dense(maxRows, D, D, make([]T, maxRows*D)))
		b.z = append(b.z, kern.Dense(maxRows, D, D, make([]T, maxRows*D)))
	}
	if r.entries != nil {
		b.entries, b.offset = &kern.Sparse[T]{Cols: r.d, Scale: r.entries.Scale}, make([]T, D)
	} else {
		b.x = kern.Dense(maxRows, r.d, r.d, make([]T, maxRows*r.d))
	}
	return b
}

// take sets the rows of the minibatch.
func (b *minibatch[T]) take(r *rows[T], list []int) {
	b.rows = len(list)
	for k, i := range list {
		copy(b.y[k*r.q:(k+1)*r.q], r.y[i*r.q:(i+1)*r.q])
		b.weight[k] = r.weight[i]
	}
	if r.entries == nil {
		b.x = kern.Dense(b.rows, r.d, r.d, b.x.Data)
		for k, i := range list {
			copy(b.x.Row(k), r.x.Row(i))
		}
		return
	}
	e, from := b.entries, r.entries
	e.Rows, e.Indptr, e.Indices, e.Values = b.rows, append(e.Indptr[:0], 0), e.Indices[:0], e.Values[:0]
	for _, i := range list {
		lo, hi := from.Indptr[i], from.Indptr[i+1]
		e.Indices = append(e.Indices, from.Indices[lo:hi]...)
		if from.Values != nil {
			e.Values = append(e.Values, from.Values[lo:hi]...)
		}
		e.Indptr = append(e.Indptr, len(e.Indices))
	}
	if from.Values != nil && e.Values == nil {
		e.Values = []T{} // empty rather than nil, which would mean a shared value
	}
}
