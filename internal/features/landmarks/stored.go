package landmarks

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// Stored is a map as a file keeps it: landmarks of one kind, and the lower triangle of L row by row.
type Stored struct {
	Dense  *mat.Dense
	Sparse *matrices.CSR
	Factor []float64
}

// Stored returns the serialized form of the map.
func (f *Map) Stored() Stored {
	var s Stored
	switch m := f.Landmarks.(type) {
	case *mat.Dense:
		s.Dense = m
	case *matrices.CSR:
		s.Sparse = m
	}
	m := f.Width()
	s.Factor = make([]float64, 0, m*(m+1)/2)
	for i := range m {
		s.Factor = append(s.Factor, f.Factor[i*m:i*m+i+1]...)
	}
	return s
}

// State serializes the parts of the map.
func (s *Stored) State(st *model.State) {
	compressed := s.Sparse != nil
	st.Bool("sparse", &compressed)
	if st.Err() != nil {
		return
	}
	if compressed {
		st.Sparse("landmarks", &s.Sparse)
	} else {
		st.Matrix("landmarks", &s.Dense)
	}
	st.Floats("factor", &s.Factor)
}

// Rows returns the landmarks, nil for none.
func (s Stored) Rows() mat.Matrix {
	switch {
	case s.Dense != nil:
		return s.Dense
	case s.Sparse != nil:
		return s.Sparse
	}
	return nil
}

// Map returns the serialized map, or an error if it is invalid.
func (s Stored) Map(k *pairwise.Kernel, factors []float64) (*Map, error) {
	rows := s.Rows()
	if rows == nil {
		return nil, errors.New("there are no landmarks")
	}
	m, d := rows.Dims()
	if m < 1 || d != len(factors) || len(s.Factor) != m*(m+1)/2 {
		return nil, errors.New("landmarks, gamma and factor do not fit")
	}
	if !finite(rows, Limit(k, factors, rows)) || !kern.AllFinite(s.Factor) {
		return nil, errors.New("landmarks or factor are not finite")
	}
	if err := Check(m, d); err != nil {
		return nil, err
	}
	if k.Metric == pairwise.Precomputed && !pairwise.IsUnits(rows) {
		return nil, errors.New("the rows of a precomputed kernel must be unit vectors")
	}
	factor := make([]float64, m*m)
	for i, rest := 0, s.Factor; i < m; i++ {
		copy(factor[i*m:], rest[:i+1])
		if rest[i] <= 0 {
			return nil, errors.New("the factor has no positive diagonal")
		}
		rest = rest[i+1:]
	}
	return Restore(k, factors, rows, factor), nil
}

// finite reports whether all entries are within the limit.
func finite(X mat.Matrix, limit float64) bool {
	within := func(list []float64) bool {
		for _, v := range list {
			if !(math.Abs(v) <= limit) {
				return false
			}
		}
		return true
	}
	if m, ok := X.(*matrices.CSR); ok {
		_, _, values := m.Raw()
		shared, _ := m.Shared()
		return within(values) && within([]float64{shared})
	}
	n, _ := X.Dims()
	for i := range n {
		if !within(X.(*mat.Dense).RawRowView(i)) {
			return false
		}
	}
	return true
}
