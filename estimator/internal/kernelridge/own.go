package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/sparse"
)

// Tolerances of Gram matrices: of the difference of two entries in transposed positions, relative to the
// largest entry, and of negative eigenvalues, relative to the mean of the diagonal.
const (
	symmetryTol = 1e-8
	negativeTol = 1e-8
)

// DenseValues returns new rows of a kernel of precomputed values as dense rows, because sparse rows are
// training rows, and the rows of other kernels as they are.
func DenseValues(k *pairwise.Kernel, X mat.Matrix) mat.Matrix {
	if m, ok := X.(*sparse.CSR); ok && k.Metric == pairwise.Precomputed {
		return m.Dense()
	}
	return X
}

// gramRows returns training rows for a kernel of precomputed values, of which the rows of the set have
// those with all training rows. Rows that were selected from others have the values of their numbers.
func gramRows(ctx context.Context, k *pairwise.Kernel, set datasets.Set) (*pairwise.Kernel, *sparse.CSR, error) {
	X := design.ToFloat64(design.Native(set.X))
	if m, ok := X.(*sparse.CSR); ok {
		X = m.Dense()
	}
	gram := X.(*mat.Dense)
	n, d := gram.Dims()
	ids := set.RowNumbers()
	if ids == nil && n == d {
		ids = make([]int, n)
		for i := range ids {
			ids[i] = i
		}
	}
	if ids == nil {
		return nil, nil, fmt.Errorf("kernel: precomputed: the Gram matrix of the training rows must be square, got %d×%d",
			n, d)
	}
	for i, id := range ids {
		if id >= d {
			return nil, nil, &datasets.RowError{Row: i, Err: fmt.Errorf("kernel: precomputed: must have a kernel value with "+
				"each of the training rows, row %d has %d values; the Gram matrix must be square", id, d)}
		}
	}
	if err := checkSymmetric(ctx, gram, ids); err != nil {
		return nil, nil, err
	}
	return k.WithGram(gram, ids), pairwise.Units(ids, d), nil
}

// checkSymmetric returns an error for the first pair of rows whose values differ.
func checkSymmetric(ctx context.Context, gram *mat.Dense, ids []int) error {
	largest := mat.Max(gram)
	largest = max(largest, -mat.Min(gram))
	bad := make([]int, len(ids)) // 1 + the first column, by row
	var found atomic.Bool
	kern.Parallel(len(ids), 16, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			row := gram.RawRowView(i)
			for j, id := range ids[:i] {
				if !(math.Abs(row[id]-gram.At(j, ids[i])) <= symmetryTol*largest) {
					bad[i] = 1 + j
					found.Store(true)
					break
				}
			}
		}
	})
	for i, j := range bad {
		if j--; found.Load() && j >= 0 {
			return fmt.Errorf("kernel: precomputed: the Gram matrix must be symmetric, got %v in row %d, column %d and %v in the "+
				"transposed position", gram.At(i, ids[j]), ids[i], ids[j], gram.At(j, ids[i]))
		}
	}
	return ctxerr.Check(ctx)
}

// errNegative is the cause of errors and warnings about negative eigenvalues.
var errNegative = errors.New("has an eigenvalue below −1e-8 of the mean of its diagonal")

// CheckOwn returns an error if the kernel of the rows is that of the caller, and its matrix of X, some of the
// rows, is not finite or has negative eigenvalues. Cost: n³/3 flops for n rows.
func (r *Rows) CheckOwn(ctx context.Context, X mat.Matrix) error {
	if !r.Name.IsOwn() {
		return nil
	}
	f, err := r.Frame(X)
	if err != nil {
		return err
	}
	x := pairwise.NewRows[float64](f, X)
	n := x.Len()
	lower := kern.Dense(n, n, n, make([]float64, n*n))
	if err := pairwise.Matrix(ctx, lower, x, x, r.Kernel); err != nil {
		return err
	}
	if !kern.AllFinite(lower.Data) {
		return fmt.Errorf("kernel %s has values that are not finite", r.Name)
	}
	largest, trace := 0.0, 0.0
	for _, v := range lower.Data {
		largest = max(largest, math.Abs(v))
	}
	for i := range n {
		trace += math.Abs(lower.At(i, i))
		for j := range i {
			if math.Abs(lower.At(i, j)-lower.At(j, i)) > symmetryTol*largest {
				return fmt.Errorf("kernel %s must be symmetric, got %v and %v for the same two rows", r.Name, lower.At(i, j),
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
		err = errNegative
	}
	return err
}

// refuseNegative turns an error of CheckOwn into that of a solver.
func refuseNegative(name kernel.Name, err error) error {
	if errors.Is(err, errNegative) {
		return fmt.Errorf("kernel %s must be positive definite: its Gram matrix %w; use kernel_svm or kernel_svr, or "+
			"add a multiple of the identity", name, errNegative)
	}
	return err
}

// NegativeWarning returns a warning for an error of CheckOwn that is not one of a support vector machine.
func NegativeWarning(err error) (warning string, ok bool) {
	if errors.Is(err, errNegative) {
		return "the Gram matrix " + errNegative.Error() + ": the machine is a stationary point, not a unique minimum", true
	}
	return "", false
}
