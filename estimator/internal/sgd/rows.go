package sgd

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// Storage is the storage type of rows.
type Storage int

// Storage types.
const (
	Dense Storage = iota
	Float32
	Sparse
)

// StorageOf returns the storage of rows.
func StorageOf(r *design.Rows) Storage {
	switch {
	case r.Sparse:
		return Sparse
	case r.Float32:
		return Float32
	}
	return Dense
}

// Rows are rows in one of the storage types.
type Rows struct {
	Storage Storage
	Dense   kern.View[float64]
	Single  kern.View[float32]
	Sparse  kern.Sparse[float64]
}

// rowsOf returns the rows of a matrix of a supported type.
func rowsOf(X mat.Matrix) Rows {
	switch m := X.(type) {
	case *matrices.CSR:
		return Rows{Storage: Sparse, Sparse: design.SparseView(m)}
	case *matrices.Dense32:
		return Rows{Storage: Float32, Single: design.ViewFloat32(m)}
	}
	return Rows{Dense: design.View(X.(*mat.Dense))}
}

// Len returns the number of rows.
func (x Rows) Len() int {
	switch x.Storage {
	case Sparse:
		return x.Sparse.Rows
	case Float32:
		return x.Single.Rows
	}
	return x.Dense.Rows
}

// slice returns the first n rows.
func (x Rows) slice(n int) Rows { return x.between(0, n) }

// between returns rows [lo, hi).
func (x Rows) between(lo, hi int) Rows {
	switch x.Storage {
	case Sparse:
		x.Sparse.Rows, x.Sparse.Indptr = hi-lo, x.Sparse.Indptr[lo:hi+1]
	case Float32:
		x.Single = x.Single.Slice(lo, hi, 0, x.Single.Cols)
	default:
		x.Dense = x.Dense.Slice(lo, hi, 0, x.Dense.Cols)
	}
	return x
}

// score returns scale·X·weights + intercept, rows × outputs, in a buffer of the learner.
func (l *Learner) score(x Rows, weights []float64, scale float64, intercept []float64) []float64 {
	n, k := x.Len(), l.Outputs
	l.scores = resize(l.scores, n*k)
	switch x.Storage {
	case Sparse:
		if k == 1 {
			kern.SparseMulVec(l.scores, x.Sparse, weights, false)
		} else {
			kern.SparseMul(kern.Dense(n, k, k, l.scores), x.Sparse, kern.Dense(l.Cols, k, k, weights), false)
		}
	case Float32:
		l.weights32, l.scores32 = resize(l.weights32, len(weights)), resize(l.scores32, n*k)
		design.Round(l.weights32, weights)
		design.MulT(l.scores, x.Single, l.weights32, l.scores32)
	default:
		l.buf = resize(l.buf, n*k)
		design.MulT(l.scores, x.Dense, weights, l.buf)
	}
	for i := range l.scores {
		l.scores[i] = scale*l.scores[i] + intercept[i%k]
	}
	return l.scores
}

// collect computes out += stepsᵀ·X, in the order of the weights.
func (x Rows) collect(l *Learner, out, steps []float64) {
	n, k := x.Len(), l.Outputs
	switch x.Storage {
	case Sparse:
		kern.SparseMulT(kern.Dense(l.Cols, k, k, out), x.Sparse, kern.Dense(n, k, k, steps), true)
	case Float32:
		l.scores32 = resize(l.scores32, (n+l.Cols)*k)
		design.AddTMul(out, x.Single, steps, l.scores32)
	default:
		l.buf = resize(l.buf, (n+l.Cols)*k)
		design.AddTMul(out, x.Dense, steps, l.buf)
	}
}

// norm returns the mean of s·(‖x‖²+bias).
func (x Rows) norm(weights []float64, bias float64) float64 {
	sum, n := 0.0, x.Len()
	for i := range n {
		squared := bias
		switch x.Storage {
		case Sparse:
			lo, hi := x.Sparse.Indptr[i], x.Sparse.Indptr[i+1]
			if values := x.Sparse.Values; values != nil {
				squared += x.Sparse.Scale * x.Sparse.Scale * kern.Dot(values[lo:hi], values[lo:hi])
			} else {
				squared += x.Sparse.Scale * x.Sparse.Scale * float64(hi-lo)
			}
		case Float32:
			row := x.Single.Row(i)
			squared += design.DotFloat32(row, row)
		default:
			squared += kern.Dot(x.Dense.Row(i), x.Dense.Row(i))
		}
		if weights != nil {
			squared *= weights[i]
		}
		sum += squared
	}
	return sum / float64(n)
}

// store is a reusable copy of rows.
type store struct {
	Rows
	cols    int
	dense   []float64
	single  []float32
	indptr  []int
	indices []uint32
	values  []float64 // nil while all entries equal scale
	shared  bool
	scale   float64

	y, weights []float64
	number     []int // index of each row
}

func newStore(form Storage, cols int) *store {
	s := &store{Rows: Rows{Storage: form}, cols: cols}
	s.reset()
	return s
}

// reset removes the rows.
func (s *store) reset() {
	s.dense, s.single, s.indices = s.dense[:0], s.single[:0], s.indices[:0]
	s.indptr = append(s.indptr[:0], 0)
	s.values, s.shared = s.values[:0], false
	s.y, s.weights, s.number = s.y[:0], s.weights[:0], s.number[:0]
}

// add copies row i of x, which has the storage of the store.
func (s *store) add(x Rows, i int) {
	switch s.Storage {
	case Sparse:
		s.addSparse(x.Sparse, i)
	case Float32:
		s.single = append(s.single, x.Single.Row(i)...)
	default:
		s.dense = append(s.dense, x.Dense.Row(i)...)
	}
}

func (s *store) addSparse(x kern.Sparse[float64], i int) {
	lo, hi := x.Indptr[i], x.Indptr[i+1]
	switch sharesValue := x.Values == nil && x.Scale == s.scale; {
	case len(s.indptr) == 1:
		s.shared, s.scale = x.Values == nil, x.Scale
	case s.shared && !sharesValue: // switch to explicit values
		s.shared = false
		for range s.indices {
			s.values = append(s.values, s.scale)
		}
	}
	s.indices = append(s.indices, x.Indices[lo:hi]...)
	s.indptr = append(s.indptr, len(s.indices))
	if s.shared {
		return
	}
	for p := lo; p < hi; p++ {
		v := x.Scale
		if x.Values != nil {
			v *= x.Values[p]
		}
		s.values = append(s.values, v)
	}
}

// rows returns the stored rows.
func (s *store) rows() Rows {
	out := s.Rows
	switch s.Storage {
	case Sparse:
		out.Sparse = kern.Sparse[float64]{Rows: len(s.indptr) - 1, Cols: s.cols, Indptr: s.indptr, Indices: s.indices,
			Values: s.values, Scale: 1}
		if s.shared {
			out.Sparse.Values, out.Sparse.Scale = nil, s.scale
		}
	case Float32:
		out.Single = kern.Dense(len(s.single)/s.cols, s.cols, s.cols, s.single)
	default:
		out.Dense = kern.Dense(len(s.dense)/s.cols, s.cols, s.cols, s.dense)
	}
	return out
}

// gather replaces the stored rows by those listed.
func (s *store) gather(from *rowSet, list []int) {
	s.reset()
	for _, i := range list {
		s.add(from.x, i)
		s.y = append(s.y, from.y[i])
		if from.weights != nil {
			s.weights = append(s.weights, from.weights[i])
		}
	}
}

// rowSet is rows in memory with their targets.
type rowSet struct {
	x          Rows
	y, weights []float64 // nil weights are ones
}
