package landmarks

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/matrices"
)

// Sample is some of the rows that were added, each set of them as likely as any other, in a random order. Every row
// draws a number by its place, and the rows with the least numbers are the sample: a small sample is the beginning
// of a large one, and how rows were cut into blocks makes no difference.
type Sample struct {
	size  int
	key   uint64
	seen  int
	rows  []sampled // up to twice the sample size
	limit uint64    // of draws that may be in the sample
}

// sampled is a row of a sample.
type sampled struct {
	draw uint64
	at   int        // place among all rows
	row  mat.Matrix // of one row
}

// NewSample returns a sample of no rows yet, and of at most size.
func NewSample(size int, seed uint64) *Sample {
	purpose := uint64(spectral.Landmarks)
	return &Sample{size: size, key: spectral.Scramble(seed + 0x9e3779b97f4a7c15*purpose), limit: ^uint64(0)}
}

// Add takes the rows of X, a *mat.Dense or *matrices.CSR.
func (s *Sample) Add(X mat.Matrix) {
	n, d := X.Dims()
	for i := range n {
		draw := spectral.Scramble(s.key + 0xd1342543de82ef95*uint64(s.seen+1))
		if draw <= s.limit {
			s.rows = append(s.rows, sampled{draw, s.seen, rowOf(X, i, d)})
		}
		if s.seen++; len(s.rows) >= 2*s.size+64 {
			s.cut()
		}
	}
}

// rowOf copies a row.
func rowOf(X mat.Matrix, i, d int) mat.Matrix {
	if m, ok := X.(*matrices.CSR); ok {
		return m.Select([]int{i})
	}
	row := make([]float64, d)
	design.WriteRow(row, X, i)
	return mat.NewDense(1, d, row)
}

// cut sorts the rows and removes those outside the sample.
func (s *Sample) cut() {
	slices.SortFunc(s.rows, func(a, b sampled) int {
		return cmp.Or(cmp.Compare(a.draw, b.draw), cmp.Compare(a.at, b.at))
	})
	if len(s.rows) > s.size {
		clear(s.rows[s.size:])
		s.rows = s.rows[:s.size]
		s.limit = s.rows[s.size-1].draw
	}
}

// Rows returns the sample: a *matrices.CSR where all rows are sparse, else a *mat.Dense.
func (s *Sample) Rows() mat.Matrix {
	s.cut()
	var parts []*matrices.CSR
	for _, r := range s.rows {
		if m, ok := r.row.(*matrices.CSR); ok {
			parts = append(parts, m)
		}
	}
	if len(parts) == len(s.rows) {
		return parts[0].Append(parts[1:]...)
	}
	_, d := s.rows[0].row.Dims()
	out := mat.NewDense(len(s.rows), d, nil)
	for i, r := range s.rows {
		design.WriteRow(out.RawRowView(i), r.row, 0)
	}
	return out
}

// Take returns the rows of X, a *mat.Dense or *matrices.CSR, in the order of a list.
func Take(X mat.Matrix, list []int) mat.Matrix {
	if m, ok := X.(*matrices.CSR); ok {
		return m.Select(list)
	}
	_, d := X.Dims()
	out := mat.NewDense(len(list), d, nil)
	for i, at := range list {
		design.WriteRow(out.RawRowView(i), X, at)
	}
	return out
}

// First returns the first n rows of X.
func First(X mat.Matrix, n int) mat.Matrix {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return Take(X, list)
}
