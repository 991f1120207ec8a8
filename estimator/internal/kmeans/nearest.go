package kmeans

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// nearest finds the two nearest centers of a row.
type nearest struct {
	k, d    int
	centers []float64 // k×d
	middle  []float64 // of the centers: dense rows are compared less it, so that a far origin costs no digits
	less    []float64 // k×d, centers less the middle
	norms   []float64 // ‖less‖²
	columns []float64 // d×k, of the centers, for sparse rows; made when first needed
	plain   []float64 // ‖center‖², for these
}

func newNearest(centers []float64, d int) *nearest {
	k := len(centers) / d
	v := &nearest{k: k, d: d, centers: centers, middle: make([]float64, d), less: make([]float64, k*d),
		norms: make([]float64, k)}
	for c := range k {
		kern.Axpy(1/float64(k), v.center(c), v.middle)
	}
	for c := range k {
		row := v.less[c*d : (c+1)*d]
		for j, x := range v.center(c) {
			row[j] = x - v.middle[j]
		}
		v.norms[c] = kern.Dot(row, row)
	}
	return v
}

func (v *nearest) center(c int) []float64 { return v.centers[c*v.d : (c+1)*v.d] }

// forSparse computes the factors for sparse rows.
func (v *nearest) forSparse() {
	v.columns, v.plain = make([]float64, len(v.centers)), make([]float64, v.k)
	for c := range v.k {
		v.plain[c] = kern.Dot(v.center(c), v.center(c))
		for j, x := range v.center(c) {
			v.columns[j*v.k+c] = x
		}
	}
}

// tile returns the number of rows compared with all centers at a time.
func (v *nearest) tile() int { return max(16, min(256, 1<<16/max(v.d, v.k))) }

// comparison is the result of a comparison: the nearest center of a row, the squared distances to it
// and to the second nearest, and a bound of their rounding errors.
type comparison struct {
	center       int
	first, other float64
	off          float64
}

// rows are rows of one of the kinds that the solvers know.
type rows struct {
	dense  *mat.Dense
	narrow *matrices.Dense32
	csr    *matrices.CSR
	sparse kern.Sparse[float64]
}

func rowsOf(X any) rows {
	switch x := X.(type) {
	case *mat.Dense:
		return rows{dense: x}
	case *matrices.Dense32:
		return rows{narrow: x}
	case *matrices.CSR:
		return rows{csr: x, sparse: design.SparseView(x)}
	}
	panic("kmeans: rows of an unknown kind")
}

// each calls f for the rows lo to hi, or for those listed in want (ascending).
func (v *nearest) each(r rows, lo, hi int, want []int, f func(i int, found comparison)) {
	count := hi - lo
	if want != nil {
		count = len(want)
	}
	at := func(p int) int {
		if want != nil {
			return want[p]
		}
		return lo + p
	}
	size := min(v.tile(), count)
	width := v.d
	if r.csr != nil {
		width = 0
	}
	hold := design.Borrow[float64](size * (width + v.k))
	defer hold.Release()
	tile, products := hold.Data[:size*width], hold.Data[size*width:]
	for p := 0; p < count; p += size {
		m := min(size, count-p)
		out := kern.Dense(m, v.k, v.k, products)
		if r.csr != nil {
			for q := range m {
				i := at(p + q)
				one := r.sparse
				one.Rows, one.Indptr = 1, r.sparse.Indptr[i:i+2]
				kern.SparseMul(out.Slice(q, q+1, 0, v.k), one, kern.Dense(v.d, v.k, v.k, v.columns), false)
				f(i, v.judge(out.Row(q), r.norm(i), v.plain))
			}
			continue
		}
		X := kern.Dense(m, v.d, v.d, tile)
		for q := range m {
			row := X.Row(q)
			r.write(row, at(p+q))
			kern.Axpy(-1, v.middle, row)
		}
		kern.Mul(out, X, kern.Dense(v.k, v.d, v.d, v.less).T(), false)
		for q := range m {
			row := X.Row(q)
			f(at(p+q), v.judge(out.Row(q), kern.Dot(row, row), v.norms))
		}
	}
}

// judge compares the products of a row with all centers.
func (v *nearest) judge(products []float64, norm float64, norms []float64) comparison {
	f := comparison{first: math.Inf(1), other: math.Inf(1)}
	largest := 0.0
	for c, p := range products {
		s := norms[c] - 2*p
		largest = max(largest, norms[c])
		switch {
		case s < f.first:
			f.center, f.first, f.other = c, s, f.first
		case s < f.other:
			f.other = s
		}
	}
	f.first, f.other = max(0, f.first+norm), max(0, f.other+norm)
	f.off = v.rounding(norm, largest)
	return f
}

// rounding bounds the error of a squared distance of a row and a center of such squared norms.
func (v *nearest) rounding(row, center float64) float64 {
	return 4 * float64(v.d+8) * 0x1p-53 * (row + center)
}

// norm returns the squared norm of a sparse row.
func (r rows) norm(i int) float64 {
	_, values := r.csr.Row(i)
	if values == nil {
		return float64(r.sparse.Indptr[i+1]-r.sparse.Indptr[i]) * r.sparse.Scale * r.sparse.Scale
	}
	return kern.Dot(values, values)
}

// write writes row i of dense rows to dst.
func (r rows) write(dst []float64, i int) {
	if r.narrow != nil {
		design.Widen(dst, r.narrow.Row(i))
		return
	}
	copy(dst, r.dense.RawRowView(i))
}

// writeAny writes row i to dst.
func (r rows) writeAny(dst []float64, i int) {
	if r.csr != nil {
		r.csr.RowTo(dst, i)
		return
	}
	r.write(dst, i)
}
