package lasso

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// column is a feature of all rows, each multiplied by the root of its weight. A dense one is centered.
type column struct {
	rows   []int32 // of the values of a sparse one
	values []float64
	mean   float64 // of a sparse one
}

func (m *Problem) isSparse() bool { _, ok := m.x.(*matrices.CSR); return ok }

// loadColumns adds the columns of the set that are missing.
func (m *Problem) loadColumns() {
	list := m.set[len(m.columns):]
	if len(list) == 0 {
		return
	}
	if m.isSparse() {
		if m.sparse == nil {
			m.transpose()
		}
		for _, j := range list {
			m.columns = append(m.columns, m.sparse[j])
		}
		return
	}
	x, buffer := m.x.(*mat.Dense), kern.MakeLarge[float64](len(list)*m.n)
	for a := range list {
		m.columns = append(m.columns, column{values: buffer[a*m.n : (a+1)*m.n : (a+1)*m.n]})
	}
	added := m.columns[len(m.columns)-len(list):]
	order := make([]int, len(list))
	for a := range order {
		order[a] = a
	}
	slices.SortFunc(order, func(a, b int) int { return list[a] - list[b] })
	kern.Parallel(m.n, 256, func(lo, hi int) {
		rows, root := make([][]float64, hi-lo), m.root[lo:hi]
		for i := range rows {
			rows[i] = x.RawRowView(lo + i)
		}
		for _, a := range order {
			j, values := list[a], added[a].values[lo:hi]
			mean := m.mean[j]
			for i, row := range rows {
				values[i] = root[i] * (row[j] - mean)
			}
		}
	})
}

// transpose sets the columns of sparse rows.
func (m *Problem) transpose() {
	csr := m.x.(*matrices.CSR)
	counts := make([]int, m.p)
	for i := range m.n {
		columns, _ := csr.Row(i)
		for _, j := range columns {
			counts[j]++
		}
	}
	rows, values := make([]int32, csr.NNZ()), make([]float64, csr.NNZ())
	m.sparse = make([]column, m.p)
	for j, from := 0, 0; j < m.p; j++ {
		to := from + counts[j]
		m.sparse[j] = column{rows: rows[from:from:to], values: values[from:from:to], mean: m.mean[j]}
		from = to
	}
	scale, _ := csr.Shared()
	for i := range m.n {
		columns, list := csr.Row(i)
		for e, j := range columns {
			c, v := &m.sparse[j], scale
			if list != nil {
				v = list[e]
			}
			c.rows, c.values = append(c.rows, int32(i)), append(c.values, m.root[i]*v)
		}
	}
}

// centered writes a sparse column to dst, centered.
func (m *Problem) centered(dst []float64, c column) {
	copy(dst, m.root)
	kern.Scale(-c.mean, dst)
	for e, i := range c.rows {
		dst[i] += c.values[e]
	}
}

// sparseProducts returns the products of the features of the set from the given position on with
// those of the set.
func (m *Problem) sparseProducts(ctx context.Context, from int) ([][]float64, error) {
	m.loadColumns()
	out := make([][]float64, len(m.set)-from)
	kern.Parallel(len(out), 1, func(lo, hi int) {
		dense := make([]float64, m.n)
		for a := lo; a < hi && ctx.Err() == nil; a++ {
			m.centered(dense, m.columns[from+a])
			sum := kern.Dot(m.root, dense)
			for _, c := range m.columns {
				out[a] = append(out[a], c.dot(dense)-sum*c.mean)
			}
			out[a][from+a] = kern.Dot(dense, dense)
		}
	})
	return out, ctxerr.Check(ctx)
}

func (c column) dot(e []float64) (sum float64) {
	for p, i := range c.rows {
		sum += c.values[p] * e[i]
	}
	return sum
}

// variance returns the squared norm of a centered column.
func (m *Problem) variance(c column) float64 {
	if c.rows == nil {
		return kern.Dot(c.values, c.values)
	}
	dense := make([]float64, m.n)
	m.centered(dense, c)
	return kern.Dot(dense, dense)
}

// residuals are those of all rows, each multiplied by the root of its weight.
type residuals struct {
	columns []column
	e       []float64
	root    []float64
	shift   float64 // times the roots, what is missing in e
	read    float64 // numbers read
}

// residualsOf returns the residuals of weights of the set.
func (m *Problem) residualsOf(w []float64) *residuals {
	m.loadColumns()
	r := &residuals{columns: m.columns, root: m.root, e: slices.Clone(m.root)}
	for i, y := range m.y {
		r.e[i] *= y
	}
	if m.isSparse() {
		for k, v := range w {
			r.add(k, -v)
		}
		return r
	}
	kern.Parallel(m.n, 2048, func(lo, hi int) {
		for k, v := range w {
			if v != 0 {
				kern.Axpy(-v, r.columns[k].values[lo:hi], r.e[lo:hi])
			}
		}
	})
	return r
}

// dot returns the product with a feature of the set. The residuals sum to 0 with an intercept; without
// one, there is no mean.
func (r *residuals) dot(k int) float64 {
	c := r.columns[k]
	r.read += float64(len(c.values)) / 2
	if c.rows == nil {
		return kern.Dot(c.values, r.e)
	}
	return c.dot(r.e) + r.shift*c.mean
}

// add adds a multiple of a feature of the set.
func (r *residuals) add(k int, by float64) {
	c := r.columns[k]
	r.read += float64(len(c.values)) / 2
	if c.rows == nil {
		kern.Axpy(by, c.values, r.e)
		return
	}
	for p, i := range c.rows {
		r.e[i] += by * c.values[p]
	}
	r.shift -= by * c.mean
}

// pass writes the products of all features with the residuals to dst.
func (m *Problem) pass(dst []float64, r *residuals) {
	e := make([]float64, m.n)
	for i, root := range m.root {
		e[i] = root * (r.e[i] + r.shift*root)
	}
	m.transposed(dst, e)
	kern.Axpy(-kern.Sum(e), m.mean, dst)
	m.passed += m.whole()
}

// whole returns the number of stored values.
func (m *Problem) whole() float64 { return m.entries() * float64(m.p) }

// entries returns the mean number of stored values of a column.
func (m *Problem) entries() float64 {
	if csr, ok := m.x.(*matrices.CSR); ok {
		return float64(csr.NNZ()) / math.Max(1, float64(m.p))
	}
	return float64(m.n)
}

// squares returns the sum of the squared residuals.
func (r *residuals) squares() (sum float64) {
	if r.shift == 0 {
		return kern.Dot(r.e, r.e)
	}
	for i, e := range r.e {
		e += r.shift * r.root[i]
		sum += e * e
	}
	return sum
}
