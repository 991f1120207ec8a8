package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/matrices"
)

// ReadAll reads all blocks of src into one Set. If the rows of src are in memory, it returns them
// without a copy. If src knows its number of rows, ReadAll allocates no more than the result.
func ReadAll(ctx context.Context, src Source) (Set, error) {
	if s, ok := InMemory(src); ok {
		return s, nil
	}
	rows, cols := src.Dims()
	b := &Buffer{capacity: rows}
	if err := src.Blocks(ctx, func(block Set) error { return b.Append(block) }); err != nil {
		return Set{}, err
	}
	if b.rows == 0 {
		return Set{}, fmt.Errorf("datasets: %w: %d rows, %d columns", ErrEmpty, 0, cols)
	}
	return b.Set(), nil
}

// storedSource is a Source whose rows may be in memory.
type storedSource interface {
	InMemory() (set Set, ok bool)
}

// InMemory returns the rows of src if they are in memory: those of [Set.Source], or of a reader that
// stores its rows.
func InMemory(src Source) (set Set, ok bool) {
	if s, is := src.(storedSource); is {
		set, ok = s.InMemory()
	}
	return set, ok
}

// Append returns the rows of s, which may be the zero Set, and of more sets; the result has the schema of the first
// one. The sets must have the same columns, the same type of X, and the same optional fields.
func (s Set) Append(more ...Set) (Set, error) {
	sets, b := append([]Set{s}, more...), &Buffer{}
	if s.X == nil {
		sets = more
	}
	for _, s := range sets {
		b.capacity += s.Rows()
	}
	for _, s := range sets {
		if s.Rows() > 0 && s.Rows() == b.capacity {
			return s, nil
		}
		if err := b.Append(s); err != nil {
			return Set{}, err
		}
	}
	if b.rows == 0 {
		return Set{}, fmt.Errorf("datasets: %w", ErrEmpty)
	}
	return b.Set(), nil
}

// Buffer is a growable set of rows, to which blocks are appended. The zero value is empty.
type Buffer struct {
	capacity int // expected number of rows; ≤ 0 if unknown

	schema      Schema
	rows, cols  int
	sparse      bool
	single      bool
	text        *textrows.Matrix // of the first block; nil without text columns
	strings     *textrows.Strings
	x           []float64 // dense X
	x32         []float32 // X in single precision
	indptr      []int     // sparse X
	indices     []uint32
	values      []float64 // nil while all entries equal scale
	scale       float64
	freeValues  []float64 // array of an earlier set, for values
	y, weights  []float64
	targets     []float64
	targetCols  int
	groups      []int
	passthrough [][]string
	origin      []int
}

// Append appends a copy of all rows of block.
func (b *Buffer) Append(block Set) error { return b.AppendRows(block, 0, block.Rows()) }

// AppendRows appends a copy of rows lo to hi−1 of block. All blocks since the last Reset must have
// the same columns, the same type of X, and the same optional fields.
func (b *Buffer) AppendRows(block Set, lo, hi int) error {
	if lo == hi {
		return nil
	}
	if b.rows == 0 {
		b.start(block)
	}
	if err := b.check(block); err != nil {
		return err
	}
	switch X := block.X.(type) {
	case *matrices.CSR:
		b.addSparse(X, lo, hi)
	case *mat.Dense:
		raw := X.RawMatrix()
		if raw.Stride == raw.Cols {
			b.x = append(b.x, raw.Data[lo*raw.Cols:hi*raw.Cols]...)
			break
		}
		for i := lo; i < hi; i++ {
			b.x = append(b.x, X.RawRowView(i)...)
		}
	case *matrices.Dense32:
		for i := lo; i < hi; i++ {
			b.x32 = append(b.x32, X.Row(i)...)
		}
	case *textrows.Matrix:
		b.x = X.AppendText(b.x, b.strings, lo, hi)
	default:
		for i := lo; i < hi; i++ {
			for j := range b.cols {
				b.x = append(b.x, X.At(i, j))
			}
		}
	}
	if b.targetCols > 0 {
		for i := lo; i < hi; i++ {
			b.targets = append(b.targets, block.Targets.RawRowView(i)...)
		}
	}
	b.y = appendRows(b.y, block.Y, lo, hi)
	b.weights = appendRows(b.weights, block.Weights, lo, hi)
	b.groups = appendRows(b.groups, block.Groups, lo, hi)
	b.passthrough = appendRows(b.passthrough, block.Passthrough, lo, hi)
	b.origin = appendRows(b.origin, block.origin, lo, hi)
	b.rows += hi - lo
	return nil
}

func appendRows[T any](dst, src []T, lo, hi int) []T {
	if src == nil {
		return dst
	}
	return append(dst, src[lo:hi]...)
}

// start adopts the schema and the types of the first block, and reuses arrays of an earlier set.
func (b *Buffer) start(block Set) {
	b.schema = block.Schema
	b.cols = block.Cols()
	_, b.sparse = block.X.(*matrices.CSR)
	_, b.single = block.X.(*matrices.Dense32)
	if b.text = textrows.Of(block.X); b.text != nil {
		b.strings = &textrows.Strings{} // rows of an earlier set may be in use
	}
	if b.values != nil {
		b.freeValues = b.values[:0]
	}
	b.indices, b.values = b.indices[:0], nil
	b.targetCols = 0
	if block.Targets != nil {
		_, b.targetCols = block.Targets.Dims()
	}
	b.y = resized(b.y, b.capacity, block.Y != nil)
	b.weights = resized(b.weights, b.capacity, block.Weights != nil)
	b.groups = resized(b.groups, b.capacity, block.Groups != nil)
	b.passthrough = resized(b.passthrough, b.capacity, block.Passthrough != nil)
	b.origin = resized(b.origin, b.capacity, block.origin != nil)
	b.targets = resized(b.targets, b.capacity*b.targetCols, b.targetCols > 0)
	if b.sparse {
		b.indptr = append(resized(b.indptr, b.capacity+1, true), 0)
		return
	}
	b.x = resized(b.x, b.capacity*b.cols, !b.single)
	b.x32 = resized(b.x32, b.capacity*b.cols, b.single)
}

// resized returns an empty list of capacity ≥ n, in the array of list if that suffices, or nil if the
// list is not used.
func resized[T any](list []T, n int, used bool) []T {
	if !used {
		return nil
	}
	if list == nil || cap(list) < n {
		return make([]T, 0, max(n, 1))
	}
	return list[:0]
}

// check returns an error if block and the first block have different columns, types or fields.
func (b *Buffer) check(block Set) error {
	if block.Cols() != b.cols {
		return fmt.Errorf("datasets: all blocks must have %d columns, got %d", b.cols, block.Cols())
	}
	targetCols := 0
	if block.Targets != nil {
		_, targetCols = block.Targets.Dims()
	}
	if (block.Y == nil) != (b.y == nil) || (block.Weights == nil) != (b.weights == nil) ||
		(block.Groups == nil) != (b.groups == nil) || (block.Passthrough == nil) != (b.passthrough == nil) ||
		targetCols != b.targetCols {
		return errors.New("datasets: all blocks must have the same of targets, weights, groups and passthrough columns")
	}
	if _, ok := block.X.(*matrices.CSR); ok != b.sparse {
		return errors.New("datasets: all blocks must be sparse or all dense")
	}
	if _, ok := block.X.(*matrices.Dense32); ok != b.single {
		return errors.New("datasets: all blocks must have the same precision, float32 or float64")
	}
	if m := textrows.Of(block.X); (m == nil) != (b.text == nil) || m != nil && !m.SameColumns(b.text) {
		return errors.New("datasets: all blocks must have the same text columns")
	}
	return nil
}

func (b *Buffer) addSparse(X *matrices.CSR, lo, hi int) {
	indptr, indices, values := X.Raw()
	from, to := indptr[lo], indptr[hi]
	b.addValues(X, values, from, to)
	base := len(b.indices) - from
	for _, end := range indptr[lo+1 : hi+1] {
		b.indptr = append(b.indptr, base+end)
	}
	b.indices = append(b.indices, indices[from:to]...)
}

// addValues appends entries from to to−1 of the values of X. It stores a shared value explicitly as
// soon as the entries differ.
func (b *Buffer) addValues(X *matrices.CSR, values []float64, from, to int) {
	scale, shared := X.Shared()
	if len(b.indices) == 0 && shared {
		b.scale = scale
	}
	if b.values == nil && shared && scale == b.scale {
		return
	}
	if b.values == nil {
		b.values = slices.Grow(b.freeValues, len(b.indices)+to-from)
		for range b.indices {
			b.values = append(b.values, b.scale)
		}
	}
	if !shared {
		b.values = append(b.values, values[from:to]...)
		return
	}
	for range to - from {
		b.values = append(b.values, scale)
	}
}

// Rows returns the number of rows.
func (b *Buffer) Rows() int { return b.rows }

// Set returns the rows as a view, which is valid until the next Reset or Append.
func (b *Buffer) Set() Set {
	out := Set{Schema: b.schema, Y: b.y, Weights: b.weights, Groups: b.groups, Passthrough: b.passthrough}
	if len(b.origin) == b.rows { // else only some of the blocks have an origin
		out.origin = b.origin
	}
	if b.targetCols > 0 {
		out.Targets = mat.NewDense(b.rows, b.targetCols, b.targets)
	}
	if b.single {
		out.X = matrices.NewDense32(b.rows, b.cols, b.x32)
		return out
	}
	if b.text != nil {
		out.X = b.text.Rows(mat.NewDense(b.rows, b.cols, b.x), b.strings)
		return out
	}
	if !b.sparse {
		out.X = mat.NewDense(b.rows, b.cols, b.x)
		return out
	}
	var err error
	if b.values == nil {
		out.X, err = matrices.NewSharedCSR(b.rows, b.cols, b.indptr, b.indices, b.scale)
	} else {
		out.X, err = matrices.NewCSR(b.rows, b.cols, b.indptr, b.indices, b.values)
	}
	if err != nil {
		panic("datasets: " + err.Error()) // unreachable: the rows are from valid matrices
	}
	return out
}

// Reset removes all rows and retains the arrays for reuse.
func (b *Buffer) Reset() { b.rows = 0 }
