package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// rows is training data as the solvers read it: consecutive blocks, as often as they like. The X of
// a block is a *mat.Dense, a *single.Dense or a *sparse.CSR.
type rows struct {
	schema datasets.Schema
	n      int // -1 where only reading would tell
	cols   int
	sparse bool          // whether the first block is
	single bool          // likewise
	set    *datasets.Set // where all rows are in memory
	each   func(ctx context.Context, yield func(first int, block datasets.Set) error) error
}

// sparseBlock is the number of rows of a block of sparse rows in memory.
const sparseBlock = 1 << 17

// setRows reads a set in memory.
func setRows(data datasets.Set) (*rows, error) {
	n, d := data.Rows(), data.Cols()
	if n == 0 || d == 0 {
		return nil, fmt.Errorf("%w: %d rows, %d columns", datasets.ErrEmpty, n, d)
	}
	if err := allNumeric(data.Schema); err != nil {
		return nil, err
	}
	r := &rows{schema: data.Schema, n: n, cols: d, set: &data}
	size := datasets.BlockRows
	if _, r.sparse = data.X.(*sparse.CSR); r.sparse {
		size = sparseBlock
	}
	data.X = native(data.X)
	_, r.single = data.X.(*single.Dense)
	r.each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		for lo := 0; lo < n; lo += size {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := yield(lo, data.Slice(lo, min(lo+size, n))); err != nil {
				return err
			}
		}
		return nil
	}
	for name, length := range map[string]int{"Y": len(data.Y), "Weights": len(data.Weights)} {
		if length != 0 && length != n {
			return nil, fmt.Errorf("%d rows in X, %d in %s", n, length, name)
		}
	}
	if data.Targets != nil && data.Targets.RawMatrix().Rows != n {
		return nil, fmt.Errorf("%d rows in X, %d in Targets", n, data.Targets.RawMatrix().Rows)
	}
	return r, nil
}

// allNumeric refuses columns whose numbers are codes of levels: a linear model of them means nothing.
func allNumeric(schema datasets.Schema) error {
	for _, c := range schema.Columns {
		if c.Kind == datasets.Categorical {
			return fmt.Errorf("column %s is categorical, wanted numbers; encode it before with onehot or ordinal", c.Name)
		}
	}
	return nil
}

// errEnough ends a pass over blocks early.
var errEnough = errors.New("enough")

// sourceRows reads a source.
func sourceRows(ctx context.Context, src datasets.Source) (*rows, error) {
	n, d := src.Dims()
	if n == 0 || d == 0 {
		return nil, fmt.Errorf("%w: %d rows, %d columns", datasets.ErrEmpty, n, d)
	}
	if err := allNumeric(src.Schema()); err != nil {
		return nil, err
	}
	r := &rows{schema: src.Schema(), n: n, cols: d}
	r.each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		first := 0
		return src.Blocks(ctx, func(block datasets.Set) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if block.Rows() == 0 {
				return nil
			}
			if block.Cols() != d {
				return fmt.Errorf("row %d: %d columns, wanted %d", first, block.Cols(), d)
			}
			block.X = native(block.X)
			at := first
			first += block.Rows()
			return yield(at, block)
		})
	}
	err := r.each(ctx, func(_ int, block datasets.Set) error {
		_, r.sparse = block.X.(*sparse.CSR)
		_, r.single = block.X.(*single.Dense)
		return errEnough
	})
	if err != nil && err != errEnough {
		return nil, err
	}
	return r, nil
}

// again reads rows that had n rows before, and fails where they have another number now.
func (r *rows) again(ctx context.Context, n int, yield func(first int, block datasets.Set) error) error {
	seen := 0
	err := r.each(ctx, func(first int, block datasets.Set) error {
		if seen = first + block.Rows(); seen > n {
			return fmt.Errorf("%d rows when read before, %d or more now", n, seen)
		}
		return yield(first, block)
	})
	if err == nil && seen < n {
		err = fmt.Errorf("%d rows when read before, %d now", n, seen)
	}
	return err
}

// known returns rows that fail where they have not the n rows they had before.
func (r *rows) known(n int) *rows {
	out := *r
	out.each = func(ctx context.Context, yield func(int, datasets.Set) error) error { return r.again(ctx, n, yield) }
	return &out
}

// gather returns the rows with all of them in memory.
func (r *rows) gather(ctx context.Context) (*rows, error) {
	if r.set != nil {
		return r, nil
	}
	var blocks []datasets.Set
	err := r.each(ctx, func(_ int, block datasets.Set) error {
		all := make([]int, block.Rows())
		for i := range all {
			all[i] = i
		}
		blocks = append(blocks, block.Select(all))
		return nil
	})
	if err != nil {
		return nil, err
	}
	set, err := datasets.Stack(blocks...)
	if err != nil {
		return nil, err
	}
	set.Schema = r.schema
	return setRows(set)
}

// native returns X itself where it is of a type the solvers know, else a dense copy.
func native(X mat.Matrix) mat.Matrix {
	switch X.(type) {
	case *mat.Dense, *single.Dense, *sparse.CSR:
		return X
	}
	return mat.DenseCopyOf(X)
}

// widened returns the rows in double precision.
func (r *rows) widened() *rows {
	out := *r
	out.single, out.set = false, nil
	out.each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		return r.each(ctx, func(first int, block datasets.Set) error {
			return whileWide(block.X, func(X mat.Matrix) error {
				block.X = X
				return yield(first, block)
			})
		})
	}
	return &out
}

// whileWide calls f with X in double precision, in room that is used again.
func whileWide(X mat.Matrix, f func(mat.Matrix) error) error {
	m, ok := X.(*single.Dense)
	if !ok {
		return f(X)
	}
	n, d := m.Dims()
	hold := borrow[float64](n * d)
	defer hold.release()
	out := mat.NewDense(n, d, hold.list)
	widenRows(out, m)
	return f(out)
}

// widened returns rows of single precision in double precision, other rows as they are.
func widened(X mat.Matrix) mat.Matrix {
	m, ok := X.(*single.Dense)
	if !ok {
		return X
	}
	n, d := m.Dims()
	out := mat.NewDense(n, d, nil)
	widenRows(out, m)
	return out
}

func widenRows(dst *mat.Dense, m *single.Dense) {
	n, d := m.Dims()
	kern.Parallel(n, max(1, 1<<15/d), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			widen(dst.RawRowView(i), m.Row(i))
		}
	})
}

func widen(dst []float64, row []float32) {
	for j, v := range row {
		dst[j] = float64(v)
	}
}

// view returns a dense matrix as kern sees it.
func view(m *mat.Dense) kern.View[float64] {
	raw := m.RawMatrix()
	return kern.Dense(raw.Rows, raw.Cols, raw.Stride, raw.Data)
}

// compressed returns a sparse matrix as kern sees it.
func compressed(m *sparse.CSR) kern.Sparse[float64] {
	n, d := m.Dims()
	indptr, indices, values := m.Raw()
	scale, shared := m.Shared()
	if !shared {
		scale = 1
	}
	return kern.Sparse[float64]{Rows: n, Cols: d, Indptr: indptr, Indices: indices, Values: values, Scale: scale}
}

// blockWeights returns the weights of a block, nil for ones, or what is wrong with them.
func blockWeights(first int, block datasets.Set) ([]float64, error) {
	if block.Weights == nil {
		return nil, nil
	}
	if len(block.Weights) != block.Rows() {
		return nil, fmt.Errorf("rows from %d: %d weights for %d rows", first, len(block.Weights), block.Rows())
	}
	for i, w := range block.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, block.Locate(&datasets.RowError{Row: first + i, Err: fmt.Errorf("weight %v, wanted a number ≥ 0", w)}, first)
		}
	}
	return block.Weights, nil
}

// blockTargets returns the targets of a block, rows × count in row-major order, or what is wrong
// with them.
func blockTargets(first int, block datasets.Set) (y []float64, count int, err error) {
	switch {
	case block.Targets != nil:
		y, count = denseData(block.Targets), block.Targets.RawMatrix().Cols
	case block.Y != nil:
		y, count = block.Y, 1
	default:
		return nil, 0, errors.New("the data have no targets")
	}
	if len(y) != count*block.Rows() {
		return nil, 0, fmt.Errorf("rows from %d: %d targets for %d rows", first, len(y)/count, block.Rows())
	}
	for i, v := range y {
		if v-v != 0 {
			return nil, 0, block.Locate(&datasets.RowError{Row: first + i/count, Err: fmt.Errorf("target is %v", v)}, first)
		}
	}
	return y, count, nil
}

// denseData returns the elements of m in row-major order without gaps.
func denseData(m *mat.Dense) []float64 {
	if raw := m.RawMatrix(); raw.Stride == raw.Cols {
		return raw.Data[:raw.Rows*raw.Cols]
	}
	return mat.DenseCopyOf(m).RawMatrix().Data
}

// nameFault says which input of a block is missing or infinite, found because a sum over the block
// was not finite.
func nameFault(first int, block datasets.Set) error {
	n, d := block.X.Dims()
	for i := range n {
		for j := range d {
			v := block.X.At(i, j)
			name := block.Schema.Name(j)
			if math.IsNaN(v) {
				return block.Locate(&datasets.RowError{Row: first + i, Column: name, Err: fmt.Errorf("%w; put an impute step before", datasets.ErrMissing)}, first)
			}
			if math.IsInf(v, 0) {
				return block.Locate(&datasets.RowError{Row: first + i, Column: name, Err: errors.New("infinite value")}, first)
			}
		}
	}
	return fmt.Errorf("rows %d to %d: the inputs are too large to be summed; standardize them", first, first+n-1)
}

// labels are the targets and weights of all rows, read once and kept.
type labels struct {
	y       []float64
	weights []float64 // ones where the data have none
	total   float64   // Σ weights
	classes []string  // of a classification
	absent  []bool    // classes that no row of positive weight has
}

// readLabels reads one target and the weight of every row.
func (r *rows) readLabels(ctx context.Context) (*labels, error) {
	l := &labels{}
	take := func(first int, block datasets.Set) error {
		y, count, err := blockTargets(first, block)
		if err != nil {
			return err
		}
		if count != 1 {
			return fmt.Errorf("%d targets, wanted one", count)
		}
		w, err := blockWeights(first, block)
		if err != nil {
			return err
		}
		l.y = append(l.y, y...)
		if w == nil {
			for range y {
				l.weights = append(l.weights, 1)
			}
		} else {
			l.weights = append(l.weights, w...)
		}
		return nil
	}
	var err error
	if r.set != nil {
		err = take(0, *r.set)
	} else {
		err = r.each(ctx, take)
	}
	if err != nil {
		return nil, err
	}
	if len(l.y) == 0 {
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	}
	r.n = len(l.y)
	if l.total = kern.Sum(l.weights); l.total == 0 {
		return nil, errors.New("every weight is 0")
	}
	return l, nil
}

// readClasses reads the class code and the weight of every row, and multiplies the weights of each
// class by what the class weight says.
func (r *rows) readClasses(ctx context.Context, by ClassWeight) (*labels, error) {
	l, err := r.readLabels(ctx)
	if err != nil {
		return nil, err
	}
	l.classes = r.schema.Classes()
	if len(l.classes) == 0 {
		last := 0.0
		for _, y := range l.y {
			last = max(last, y)
		}
		for c := range int(min(last, maxClasses-1)) + 1 {
			l.classes = append(l.classes, strconv.Itoa(c))
		}
	}
	if err := l.checkCodes(0); err != nil {
		return nil, err
	}
	return l, l.weigh(by)
}

// blockLabels returns the labels of a block, whose classes are known, without weights.
func blockLabels(first int, block datasets.Set, classes []string) (*labels, error) {
	y, count, err := blockTargets(first, block)
	if err == nil && count != 1 {
		err = fmt.Errorf("%d targets, wanted one", count)
	}
	if err != nil {
		return nil, err
	}
	l := &labels{y: y, classes: classes}
	return l, l.checkCodes(first)
}

func (l *labels) checkCodes(first int) error {
	for i, y := range l.y {
		if y != math.Trunc(y) || y < 0 || y >= float64(len(l.classes)) {
			return &datasets.RowError{Row: first + i, Err: fmt.Errorf("target %v, wanted a class code from 0 to %d", y, len(l.classes)-1)}
		}
	}
	return nil
}

// severalClasses fails where fewer than two classes have rows of positive weight.
func severalClasses(classes []string, mass []float64) error {
	present, only := 0, 0
	for c, m := range mass {
		if m > 0 {
			present++
			only = c
		}
	}
	if present < 2 {
		return fmt.Errorf("every row is of class %q: there is nothing to tell apart", classes[only])
	}
	return nil
}

// maxClasses is the largest number of classes where the schema does not list them.
const maxClasses = 1 << 16

// weigh checks that there are two classes or more and applies the class weights.
func (l *labels) weigh(by ClassWeight) error {
	mass := make([]float64, len(l.classes))
	for i, y := range l.y {
		mass[int(y)] += l.weights[i]
	}
	if err := severalClasses(l.classes, mass); err != nil {
		return err
	}
	l.absent = make([]bool, len(mass))
	present := 0
	for c, m := range mass {
		if l.absent[c] = m == 0; m > 0 {
			present++
		}
	}
	factors, err := by.factors(l.classes, mass, present)
	if err != nil || factors == nil {
		return err
	}
	weights := make([]float64, len(l.weights))
	for i, y := range l.y {
		weights[i] = l.weights[i] * factors[int(y)]
	}
	l.weights = weights
	if l.total = kern.Sum(weights); l.total == 0 {
		return errors.New("class_weight gives every row weight 0")
	}
	return nil
}

// outputs returns the number of scores of each row: one for two classes, else one for each class.
func (l *labels) outputs() int {
	if len(l.classes) == 2 {
		return 1
	}
	return len(l.classes)
}

// signs writes the ±1 codes of rows from first on, rows × outputs: with one output +1 is the second
// class, with more +1 in column c is class c.
func (l *labels) signs(dst []float64, first int) []float64 {
	k := l.outputs()
	for i := range len(dst) / k {
		c := int(l.y[first+i])
		if k == 1 {
			dst[i] = float64(2*c - 1)
			continue
		}
		for j := range k {
			dst[i*k+j] = -1
		}
		dst[i*k+c] = 1
	}
	return dst
}
