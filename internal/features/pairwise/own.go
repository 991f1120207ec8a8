package pairwise

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// ownSpectral is the spectral kernel of one without γ: every γ is 1, and a rule needs no rows.
var ownSpectral = spectral.Kernel{Power: 0, Columns: true}

// ownKernel returns a registered kernel, or one of precomputed values.
func ownKernel(name string) (*Kernel, bool) {
	if name == string(kernel.Precomputed) {
		return &Kernel{Metric: Precomputed, shape: ownShape, spectral: ownSpectral, name: name}, true
	}
	f := kernel.Name(name).Func()
	return &Kernel{Metric: Function, shape: ownShape, spectral: ownSpectral, function: f, name: name}, f != nil
}

// Gram returns the kernel of the precomputed values of training rows, of which row i of X has those with
// all training rows, and unit vectors in place of the rows. ids are the row numbers of rows that were
// selected from others, whose columns are selected too; nil for all rows.
func (k *Kernel) Gram(ctx context.Context, X mat.Matrix, ids []int) (*Kernel, *matrices.CSR, error) {
	gram, _ := k.NewRows(design.ToFloat64(design.Native(X))).(*mat.Dense)
	n, d := gram.Dims()
	if ids == nil && n != d {
		return nil, nil, fmt.Errorf("kernel: precomputed: the Gram matrix of the training rows must be square, got %d×%d",
			n, d)
	}
	if ids == nil {
		ids = allRows(n)
	}
	for _, id := range ids {
		if id >= d {
			return nil, nil, fmt.Errorf("kernel: precomputed: must have a kernel value with each of the training rows, row %d "+
				"has %d values; the Gram matrix must be square", id, d)
		}
	}
	if err := CheckSymmetric(ctx, gram, ids); err != nil {
		return nil, nil, fmt.Errorf("kernel: precomputed: %w", err)
	}
	out := *k
	out.gram = make(map[int][]float64, n)
	for i, id := range ids {
		out.gram[id] = gram.RawRowView(i)
	}
	return &out, units(ids, d), nil
}

// NewRows returns new rows of a kernel of precomputed values as dense rows, because sparse rows are
// training rows, and the rows of other kernels as they are.
func (k *Kernel) NewRows(X mat.Matrix) mat.Matrix {
	if m, ok := X.(*matrices.CSR); ok && k.Metric == Precomputed {
		return m.Dense()
	}
	return X
}

// allRows returns the numbers of n rows.
func allRows(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// SymmetryTol is the tolerance of the difference of two entries of a Gram matrix in transposed positions,
// relative to the largest entry.
const SymmetryTol = 1e-8

// CheckSymmetric returns an error for the first pair of rows of a Gram matrix whose values differ: column
// ids[i] is that of row i; nil for all rows of a square matrix.
func CheckSymmetric(ctx context.Context, gram *mat.Dense, ids []int) error {
	if ids == nil {
		ids = allRows(gram.RawMatrix().Rows)
	}
	largest := max(mat.Max(gram), -mat.Min(gram))
	bad := make([]int, len(ids)) // 1 + the first column, by row
	kern.Parallel(len(ids), 16, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			row := gram.RawRowView(i)
			for j, id := range ids[:i] {
				if !(math.Abs(row[id]-gram.At(j, ids[i])) <= SymmetryTol*largest) {
					bad[i] = 1 + j
					break
				}
			}
		}
	})
	for i, j := range bad {
		if j--; j >= 0 {
			return fmt.Errorf("the Gram matrix must be symmetric, got %v in row %d, column %d and %v in the transposed position",
				gram.At(i, ids[j]), ids[i], ids[j], gram.At(j, ids[i]))
		}
	}
	return ctxerr.Check(ctx)
}

// negativeTol is the tolerance of negative eigenvalues of Gram matrices, relative to the mean of the diagonal.
const negativeTol = 1e-8

// ErrNegative is the cause of errors and warnings about negative eigenvalues.
var ErrNegative = errors.New("has an eigenvalue below −1e-8 of the mean of its diagonal")

// CheckOwn returns an error if k is a kernel of the caller, and its matrix of the rows is not finite, not
// symmetric or has negative eigenvalues. Cost: n³/3 flops for n rows.
func CheckOwn(ctx context.Context, k *Kernel, x Rows[float64]) error {
	if !k.IsOwn() {
		return nil
	}
	n := x.Len()
	lower := kern.Dense(n, n, n, make([]float64, n*n))
	if err := Matrix(ctx, lower, x, x, k); err != nil {
		return err
	}
	if !kern.AllFinite(lower.Data) {
		return fmt.Errorf("kernel %s has values that are not finite", k.name)
	}
	largest, trace := 0.0, 0.0
	for _, v := range lower.Data {
		largest = max(largest, math.Abs(v))
	}
	for i := range n {
		trace += math.Abs(lower.At(i, i))
		for j := range i {
			if math.Abs(lower.At(i, j)-lower.At(j, i)) > SymmetryTol*largest {
				return fmt.Errorf("kernel %s must be symmetric, got %v and %v for the same two rows", k.name, lower.At(i, j),
					lower.At(j, i))
			}
		}
	}
	if largest == 0 {
		return nil
	}
	for i := range n {
		lower.Set(i, i, lower.At(i, i)+negativeTol*trace/float64(n))
	}
	_, ok, err := kern.Cholesky(ctx, lower)
	if err == nil && !ok {
		err = ErrNegative
	}
	return err
}

// IsOwn reports whether the caller computes the kernel: it is precomputed or registered.
func (k *Kernel) IsOwn() bool { return k.shape == ownShape }

// RefuseNegative turns an error of [CheckOwn] into that of a method that needs a positive definite kernel.
func RefuseNegative(k *Kernel, err error) error {
	if errors.Is(err, ErrNegative) {
		return fmt.Errorf("kernel %s must be positive definite: its Gram matrix %w; use kernel_svm or kernel_svr, or "+
			"add a multiple of the identity", k.name, ErrNegative)
	}
	return err
}

// units returns unit vectors of d columns: rows that a kernel of precomputed values knows by their number.
func units(ids []int, d int) *matrices.CSR {
	indptr, indices := make([]int, len(ids)+1), make([]uint32, len(ids))
	for i, id := range ids {
		indptr[i+1], indices[i] = i+1, uint32(id)
	}
	out, err := matrices.NewSharedCSR(len(ids), d, indptr, indices, 1)
	if err != nil {
		panic(err) // of numbers that are not below d
	}
	return out
}

// IsUnits reports whether X are unit vectors.
func IsUnits(X mat.Matrix) bool {
	m, ok := X.(*matrices.CSR)
	if !ok {
		return false
	}
	n, _ := m.Dims()
	if v, shared := m.Shared(); !shared || v != 1 {
		return false
	}
	for i := range n {
		if columns, _ := m.Row(i); len(columns) != 1 {
			return false
		}
	}
	return true
}

// CheckExport returns an error if a graph cannot compute the kernel of that name.
func (k *Kernel) CheckExport(name string) error {
	switch k.Metric {
	case Precomputed:
		return errors.New("cannot export kernel precomputed: its values are computed outside of the model; use predict")
	case Function:
		return fmt.Errorf("cannot export kernel %s: it is a function of a Go program; use the model file in the program",
			name)
	}
	return nil
}

// ownRows are rows of a kernel without a frame.
type ownRows struct {
	function kernel.Func
	values   [][]float64 // inputs of the function, or precomputed values
	units    []int       // number of each row among the training rows; nil for new rows
}

// prepareOwn makes r the rows lo to hi of X. Values of new rows are copied.
func (r *Rows[T]) prepareOwn(k *Kernel, X mat.Matrix, lo, hi int) {
	own := &ownRows{function: k.function, values: make([][]float64, 0, hi-lo)}
	r.own, r.norms = own, nil
	if m, ok := X.(*matrices.CSR); ok && k.Metric == Precomputed {
		own.units = make([]int, 0, hi-lo)
		for i := lo; i < hi; i++ {
			columns, _ := m.Row(i)
			own.units = append(own.units, int(columns[0]))
			own.values = append(own.values, k.gram[int(columns[0])])
		}
		return
	}
	buffer := make([]float64, (hi-lo)*r.d)
	for i := lo; i < hi; i++ {
		row := buffer[(i-lo)*r.d : (i-lo+1)*r.d : (i-lo+1)*r.d]
		design.WriteRow(row, X, i)
		own.values = append(own.values, row)
	}
}

func (o *ownRows) slice(lo, hi int) *ownRows {
	out := &ownRows{function: o.function, values: o.values[lo:hi]}
	if o.units != nil {
		out.units = o.units[lo:hi]
	}
	return out
}

func (o *ownRows) pick(list []int) *ownRows {
	out := &ownRows{function: o.function, values: make([][]float64, len(list))}
	if o.units != nil {
		out.units = make([]int, len(list))
	}
	for i, at := range list {
		if out.values[i] = o.values[at]; o.units != nil {
			out.units[i] = o.units[at]
		}
	}
	return out
}

// value returns the kernel value of row i of o and row j of p, of which one is a training row.
func (o *ownRows) value(i int, p *ownRows, j int) float64 {
	switch {
	case o.function != nil:
		return o.function(o.values[i], p.values[j])
	case p.units != nil:
		return o.values[i][p.units[j]]
	}
	return p.values[j][o.units[i]]
}

// ownValues writes the kernel values of all pairs.
func ownValues[T kern.Float](dst kern.View[T], x, y *ownRows) {
	for i := range dst.Rows {
		row := dst.Row(i)
		for j := range row {
			row[j] = T(x.value(i, y, j))
		}
	}
}
