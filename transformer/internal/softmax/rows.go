package softmax

import (
	"context"
	"fmt"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// OverflowError reports that a feature of a row is too large.
type OverflowError struct {
	Row            int
	Exponent, Most float64 // of the feature, and of the largest that is possible
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("a feature is exp(%.4g), at most exp(%.4g) is possible here; take a smaller gamma, or scale the "+
		"inputs before", e.Exponent, e.Most)
}

// tileRows is the number of rows mapped between two checks of the context.
const tileRows = 2048

// Transform writes the features of the rows of X, a *mat.Dense or *matrices.CSR with no number beyond
// the limit, to dst. The error is the context's or an [OverflowError].
func (f *Rounded[T]) Transform(ctx context.Context, dst kern.View[T], X mat.Matrix) error {
	d := f.Inputs()
	for lo := 0; lo < dst.Rows; lo += tileRows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+tileRows, dst.Rows)
		tile := dst.Slice(lo, hi, 0, dst.Cols)
		var err error
		switch x := X.(type) {
		case *mat.Dense:
			err = f.mapDense(ctx, tile, design.View(x).Slice(lo, hi, 0, d), lo)
		case *matrices.CSR:
			err = f.mapSparse(tile, design.SparseView(x), lo, hi)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mapDense maps the rows of x, which are numbered from first on.
func (f *Rounded[T]) mapDense(ctx context.Context, dst kern.View[T], x kern.View[float64], first int) error {
	d := f.Inputs()
	hold := design.Borrow[T](x.Rows * (d + 1))
	defer hold.Release()
	longer := kern.Dense(x.Rows, d+1, d+1, hold.Data)
	for i := range x.Rows {
		row := longer.Row(i)
		for j, v := range x.Row(i) {
			row[j] = T(f.factor[j] * v)
		}
		row[d] = kern.Dot(row[:d], row[:d])/2 + f.log()
	}
	var worst overflow
	err := kern.MulRows(ctx, longer, f.omega, func(from int, exponents kern.View[T]) {
		for i := range exponents.Rows {
			f.exp(&worst, dst.Row(from+i), exponents.Row(i), first+from+i)
		}
	})
	if err != nil {
		return err
	}
	return worst.err()
}

// exp writes the features of row i, given their exponents.
func (f *Rounded[T]) exp(worst *overflow, dst, exponents []T, i int) {
	if !f.small {
		top := exponents[0]
		for _, e := range exponents {
			top = max(top, e)
		}
		if float64(top) > most[T]() {
			worst.note(&OverflowError{Row: i, Exponent: float64(top), Most: most[T]()})
		}
	}
	kern.Exp(dst, exponents)
}

// overflow is the first row with a feature that is too large.
type overflow struct {
	mutex sync.Mutex
	first *OverflowError
}

func (o *overflow) note(e *OverflowError) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.first == nil || e.Row < o.first.Row {
		o.first = e
	}
}

func (o *overflow) err() error {
	if o.first == nil {
		return nil
	}
	return o.first
}

// sparseRows is the number of sparse rows of one piece of work.
const sparseRows = 64

// mapSparse maps rows lo to hi of x.
func (f *Rounded[T]) mapSparse(dst kern.View[T], x kern.Sparse[float64], lo, hi int) error {
	from, to := x.Indptr[lo], x.Indptr[hi]
	hold := design.Borrow[T](to - from)
	defer hold.Release()
	u := kern.Sparse[T]{Rows: hi - lo, Cols: x.Cols, Indptr: make([]int, hi-lo+1), Indices: x.Indices[from:to],
		Values: hold.Data, Scale: 1}
	for i, p := range x.Indptr[lo : hi+1] {
		u.Indptr[i] = p - from
	}
	for k, j := range u.Indices {
		v := x.Scale
		if x.Values != nil {
			v *= x.Values[from+k]
		}
		u.Values[k] = T(f.factor[j] * v)
	}
	kern.SparseMul(dst, u, f.omega.Slice(0, x.Cols, 0, f.omega.Cols), false)
	var worst overflow
	kern.Parallel(hi-lo, sparseRows, func(from, to int) {
		for i := from; i < to; i++ {
			row, values := dst.Row(i), u.Values[u.Indptr[i]:u.Indptr[i+1]]
			shift := kern.Dot(values, values)/2 + f.log()
			for j := range row {
				row[j] -= shift
			}
			f.exp(&worst, row, row, lo+i)
		}
	})
	return worst.err()
}
