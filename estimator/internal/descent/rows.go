package descent

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Rows are rows in memory, prepared for coordinate descent.
type Rows interface {
	solve.Rows
	// own returns the squared norms of left-out columns by row, nil for none.
	own() []float64
	// weights returns the weights of all columns.
	weights(w, beta []float64) []float64
}

// NewRows prepares rows. It fails if an input is missing or infinite.
func NewRows(ctx context.Context, r *design.Rows) (Rows, error) {
	var out Rows
	switch x := r.Set.X.(type) {
	case *matrices.CSR:
		out = newSparseRows(x)
	case *mat.Dense:
		out = denseRows{Dense: x}
	case *matrices.Dense32:
		out = float32Rows{Dense32: x}
	default:
		out = denseRows{Dense: mat.DenseCopyOf(x)}
	}
	own := out.own()
	for i := range r.N {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		q := out.Square(i)
		if own != nil {
			q += own[i]
		}
		if q-q != 0 {
			return nil, design.NonFiniteError(i, r.Set.Slice(i, i+1))
		}
	}
	return out, nil
}

// complete is embedded in rows without left-out columns.
type complete struct{}

func (complete) own() []float64                   { return nil }
func (complete) weights(w, _ []float64) []float64 { return w }

type denseRows struct {
	*mat.Dense
	complete
}

func (r denseRows) Len() int                          { return r.RawMatrix().Rows }
func (r denseRows) Width() int                        { return r.RawMatrix().Cols }
func (r denseRows) Dot(i int, w []float64) float64    { return kern.Dot(r.RawRowView(i), w) }
func (r denseRows) Add(i int, f float64, w []float64) { kern.Axpy(f, r.RawRowView(i), w) }
func (r denseRows) Square(i int) float64              { return kern.Dot(r.RawRowView(i), r.RawRowView(i)) }

type float32Rows struct {
	*matrices.Dense32
	complete
}

func (r float32Rows) Len() int                       { n, _ := r.Dims(); return n }
func (r float32Rows) Width() int                     { _, d := r.Dims(); return d }
func (r float32Rows) Dot(i int, w []float64) float64 { return kern.DotMixed(r.Row(i), w) }

func (r float32Rows) Add(i int, f float64, w []float64) {
	for j, v := range r.Row(i) {
		w[j] += f * float64(v)
	}
}

func (r float32Rows) Square(i int) float64 {
	s := 0.0
	for _, v := range r.Row(i) {
		s += float64(v) * float64(v)
	}
	return s
}

// sparseRows omits columns with a single entry, whose weights follow from β. The other columns are
// numbered by descending frequency, for locality.
type sparseRows struct {
	indptr  []int
	indices []uint32
	values  []float64 // nil if all equal scale
	scale   float64
	left    []float64 // squared norm of the omitted entries of each row
	width   int
	number  []uint32 // of each column, or leftOut
	from    *matrices.CSR
}

// leftOut is the number of a column with at most one entry.
const leftOut = math.MaxUint32

func newSparseRows(m *matrices.CSR) *sparseRows {
	n, _ := m.Dims()
	scale, shared := m.Shared()
	if !shared {
		scale = 1
	}
	r := &sparseRows{scale: scale, left: make([]float64, n), indptr: make([]int, n+1), from: m}
	r.number = columnCounts(m)
	r.width = numberByCount(r.number)
	kern.Parallel(n, design.ChunkRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r.indptr[i+1], r.left[i] = r.split(i)
		}
	})
	for i := range n {
		r.indptr[i+1] += r.indptr[i]
	}
	r.indices = make([]uint32, r.indptr[n])
	if !shared {
		r.values = make([]float64, r.indptr[n])
	}
	kern.Parallel(n, design.ChunkRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r.fill(i)
		}
	})
	return r
}

// columnCounts returns the number of entries of each column.
func columnCounts(m *matrices.CSR) []uint32 {
	n, d := m.Dims()
	count := make([]uint32, d)
	const some = 1 << 18 // columns; their counts fit in the cache
	kern.Parallel(d, some, func(lo, hi int) {
		for i := range n {
			columns, _ := m.Row(i)
			first, _ := slices.BinarySearch(columns, uint32(lo))
			for _, j := range columns[first:] {
				if int(j) >= hi {
					break
				}
				count[j]++
			}
		}
	})
	return count
}

// numberByCount replaces counts by column numbers in order of descending count, leftOut for counts
// below 2, and returns how many numbers were assigned.
func numberByCount(count []uint32) int {
	largest := uint32(0)
	for _, c := range count {
		largest = max(largest, c)
	}
	next := make([]uint32, largest+1) // next number, by count
	for _, c := range count {
		next[c]++
	}
	total := uint32(0)
	for c := int(largest); c >= 2; c-- {
		total, next[c] = total+next[c], total
	}
	for j, c := range count {
		if c < 2 {
			count[j] = leftOut
			continue
		}
		count[j] = next[c]
		next[c]++
	}
	return int(total)
}

// split returns the number of stored entries of row i and the squared norm of the others.
func (r *sparseRows) split(i int) (stay int, left float64) {
	columns, values := r.from.Row(i)
	for p, j := range columns {
		switch {
		case r.number[j] != leftOut:
			stay++
		case values == nil:
			left += r.scale * r.scale
		default:
			left += values[p] * values[p]
		}
	}
	return stay, left
}

// fill writes the stored entries of row i.
func (r *sparseRows) fill(i int) {
	columns, values := r.from.Row(i)
	at := r.indptr[i]
	for p, j := range columns {
		k := r.number[j]
		if k == leftOut {
			continue
		}
		r.indices[at] = k
		if values != nil {
			r.values[at] = values[p]
		}
		at++
	}
}

func (r *sparseRows) Len() int       { return len(r.left) }
func (r *sparseRows) Width() int     { return r.width }
func (r *sparseRows) own() []float64 { return r.left }

func (r *sparseRows) row(i int) (columns []uint32, values []float64) {
	lo, hi := r.indptr[i], r.indptr[i+1]
	if r.values != nil {
		values = r.values[lo:hi]
	}
	return r.indices[lo:hi], values
}

func (r *sparseRows) Dot(i int, w []float64) float64 {
	columns, values := r.row(i)
	return r.scale * design.SparseDot(columns, values, w)
}

func (r *sparseRows) Add(i int, f float64, w []float64) {
	columns, values := r.row(i)
	f *= r.scale
	if values == nil {
		for _, j := range columns {
			w[j] += f
		}
		return
	}
	for p, j := range columns {
		w[j] += f * values[p]
	}
}

func (r *sparseRows) Square(i int) float64 {
	columns, values := r.row(i)
	if values == nil {
		return float64(len(columns)) * r.scale * r.scale
	}
	return kern.Dot(values, values)
}

func (r *sparseRows) weights(w, beta []float64) []float64 {
	out := make([]float64, len(r.number))
	kern.Parallel(len(out), 1<<16, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			if k := r.number[j]; k != leftOut {
				out[j] = w[k]
			}
		}
	})
	kern.Parallel(len(beta), design.ChunkRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			columns, values := r.from.Row(i)
			for p, j := range columns {
				switch {
				case r.number[j] != leftOut:
				case values == nil:
					out[j] = beta[i] * r.scale
				default:
					out[j] = beta[i] * values[p]
				}
			}
		}
	})
	return out
}
