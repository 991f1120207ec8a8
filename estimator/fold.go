package estimator

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// A change takes the scores of rows lo to hi of a block, leaves something of the same shape in their
// place, and adds to values.
type change func(values, scores []float64, lo, hi int)

// fold adds X̃'·f(X̃·x) over the rows of a block to out, X̃ being X with a column of ones for the
// intercept. Dense rows are used twice while they are in the cache. Products with rows in single
// precision and sums over a tile of them are in single precision, scores and sums over tiles in
// double precision.
func (o *objective) fold(X mat.Matrix, x, out, values []float64, f change) {
	switch m := X.(type) {
	case *sparse.CSR:
		o.foldSparse(m, x, out, values, f)
	case *single.Dense:
		foldDense(o, viewSingle(m), x, out, values, f)
	case *mat.Dense:
		foldDense(o, view(m), x, out, values, f)
	}
}

// foldTile is how many dense rows of d entries are used together.
func foldTile(d int) int { return min(256, max(16, 1<<16/d)) }

// foldRows is how many dense rows of d entries have partial sums of their own, size numbers.
func foldRows(d int, size float64) int { return max(foldTile(d), int(min(256, 1<<22/size))) }

// foldDense is fold of dense rows. Weights, and the partial sums over rows, stand output by output,
// outputs × cols.
func foldDense[T kern.Float](o *objective, X kern.View[T], x, out, values []float64, f change) {
	n, d, k := X.Rows, X.Cols, o.outputs
	w := borrow[T](d * k)
	defer w.release()
	turned(w.list, x[:d*k], k)
	size, slots := len(out), len(values)
	tile := foldTile(d)
	chunk := foldRows(d, float64(size))
	chunks := (n + chunk - 1) / chunk
	if need := chunks * (size + slots); len(o.hold) < need {
		o.hold = make([]float64, need)
	}
	hold := o.hold[:chunks*(size+slots)]
	clear(hold)
	kern.Parallel(n, chunk, func(lo, hi int) {
		mine := hold[lo/chunk*(size+slots):][:size+slots]
		scores, own := borrow[float64](tile*k), borrow[T](tile*k+d*k)
		defer scores.release()
		defer own.release()
		for i := lo; i < hi; i += tile {
			end := min(i+tile, hi)
			part, rows := scores.list[:(end-i)*k], X.Slice(i, end, 0, d)
			project(part, rows, w.list, own.list)
			o.shift(part, x)
			f(mine[size:], part, i, end)
			collect(mine[:d*k], rows, part, own.list)
			o.total(mine[:size], part)
		}
	})
	for c := range chunks {
		mine := hold[c*(size+slots):]
		addTurned(out[:d*k], mine[:d*k], k)
		kern.Axpy(1, mine[d*k:size], out[d*k:])
		kern.Axpy(1, mine[size:size+slots], values)
	}
}

// addTurned adds sums, outputs × cols, to dst, cols × outputs.
func addTurned(dst, sums []float64, outputs int) {
	if outputs == 1 {
		kern.Axpy(1, sums, dst)
		return
	}
	d := len(dst) / outputs
	for j := range outputs {
		for i, v := range sums[j*d : (j+1)*d] {
			dst[i*outputs+j] += v
		}
	}
}

// turned writes w, cols × outputs, to dst, outputs × cols.
func turned[T kern.Float](dst []T, w []float64, outputs int) {
	d := len(w) / outputs
	for i, v := range w {
		dst[i%outputs*d+i/outputs] = T(v)
	}
}

// manyOutputs is the number of outputs from which a product with all of them at once pays, for which
// the rows must be packed.
const manyOutputs = 24

// project computes scores = X·Wᵀ, scores rows × outputs, W outputs × cols, with room for as many T
// as there are scores.
func project[T kern.Float](scores []float64, X kern.View[T], w, room []T) {
	n, k := X.Rows, len(w)/X.Cols
	own := room[:n]
	if k >= manyOutputs {
		own = room[:n*k]
		kern.Mul(kern.Dense(n, k, k, own), X, kern.Dense(k, X.Cols, X.Cols, w).T(), false)
		for i, v := range own {
			scores[i] = float64(v)
		}
		return
	}
	for j := range k {
		kern.MulVec(own, X, w[j*X.Cols:(j+1)*X.Cols], false)
		for i, v := range own {
			scores[i*k+j] = float64(v)
		}
	}
}

// collect adds scores'·X to out, outputs × cols, with room for as many T as both have. Sums over the
// rows of X are in T.
func collect[T kern.Float](out []float64, X kern.View[T], scores []float64, room []T) {
	n, d, k := X.Rows, X.Cols, len(scores)/X.Rows
	if k >= manyOutputs {
		own, sums := room[:n*k], room[n*k:(n+d)*k]
		narrow(own, scores)
		kern.Mul(kern.Dense(k, d, d, sums), kern.Dense(n, k, k, own).T(), X, false)
		widenOnto(out, sums)
		return
	}
	own, sums := room[:n], room[n:n+d]
	for j := range k {
		for i := range own {
			own[i] = T(scores[i*k+j])
		}
		to := out[j*d : (j+1)*d]
		if same, ok := any(to).([]T); ok {
			kern.MulVecT(same, X, own, true)
			continue
		}
		kern.MulVecT(sums, X, own, false)
		widenOnto(to, sums)
	}
}

// widenOnto adds sums to out.
func widenOnto[T kern.Float](out []float64, sums []T) {
	for i, v := range sums {
		out[i] += float64(v)
	}
}

// narrow rounds a list to T.
func narrow[T kern.Float](dst []T, list []float64) {
	for i, v := range list {
		dst[i] = T(v)
	}
}

// viewSingle returns a dense matrix in single precision as kern sees it.
func viewSingle(m *single.Dense) kern.View[float32] {
	n, d := m.Dims()
	data, stride := m.Raw()
	return kern.Dense(n, d, stride, data)
}

// shift adds the intercept to scores.
func (o *objective) shift(scores, x []float64) {
	if !o.intercept {
		return
	}
	k := o.outputs
	b := x[o.rows.cols*k:]
	for i := 0; i < len(scores); i += k {
		for j, v := range b {
			scores[i+j] += v
		}
	}
}

// total adds the sums of scores to the intercept's part of out.
func (o *objective) total(out, scores []float64) {
	if !o.intercept {
		return
	}
	k := o.outputs
	b := out[o.rows.cols*k:]
	for i := 0; i < len(scores); i += k {
		for j := range b {
			b[j] += scores[i+j]
		}
	}
}

func (o *objective) foldSparse(X *sparse.CSR, x, out, values []float64, f change) {
	n, d := X.Dims()
	k := o.outputs
	if len(o.hold) < n*k {
		o.hold = make([]float64, n*k)
	}
	scores := o.hold[:n*k]
	m := compressed(X)
	if k == 1 {
		kern.SparseMulVec(scores, m, x[:d], false)
	} else {
		kern.SparseMul(kern.Dense(n, k, k, scores), m, kern.Dense(d, k, k, x), false)
	}
	o.shift(scores, x)
	const chunk = 4096
	slots := len(values)
	partial := make([]float64, (n+chunk-1)/chunk*slots)
	kern.Parallel(n, chunk, func(lo, hi int) {
		f(partial[lo/chunk*slots:][:slots], scores[lo*k:hi*k], lo, hi)
	})
	for i, v := range partial {
		values[i%slots] += v
	}
	kern.SparseMulT(kern.Dense(d, k, k, out), m, kern.Dense(n, k, k, scores), true)
	o.total(out, scores)
}
