package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// BlockRows is how many rows the blocks of a source have, the last one apart.
const BlockRows = 2048

// blockBytes bounds the block of a source with very many dense columns.
const blockBytes = 64 << 20

// RowsPerBlock returns how many rows the blocks of a dense source with that many columns have:
// [BlockRows], or fewer where they would take more than 64 MiB.
func RowsPerBlock(cols int) int {
	return max(1, min(BlockRows, blockBytes/8/max(cols, 1)))
}

// blockRows returns how many rows a block of X has.
func blockRows(X mat.Matrix) int {
	if _, ok := X.(*sparse.CSR); ok || X == nil {
		return BlockRows
	}
	_, cols := X.Dims()
	return RowsPerBlock(cols)
}

// ReadAll reads every block of src into one Set; the Set of a source made by [Set.Source], or of one that holds its
// rows, is returned as it is. Where src knows how many rows it has no row is held twice.
func ReadAll(ctx context.Context, src Source) (Set, error) {
	if s, ok := InMemory(src); ok {
		return s, nil
	}
	rows, cols := src.Dims()
	c := &collector{expected: rows}
	if err := src.Blocks(ctx, func(block Set) error { return c.add(block, 0, block.Rows()) }); err != nil {
		return Set{}, err
	}
	if c.rows == 0 {
		return Set{}, fmt.Errorf("datasets: %w: %d rows, %d columns", ErrEmpty, 0, cols)
	}
	return c.set(), nil
}

// InMemory returns the rows of src if they are in memory: those of [Set.Source], or of a reader that was told to hold
// them.
func InMemory(src Source) (set Set, ok bool) {
	switch s := src.(type) {
	case setSource:
		return s.set, true
	case interface{ Held() (Set, bool) }:
		return s.Held()
	}
	return Set{}, false
}

// Concat returns the rows of all sets, one after the other, under the schema of the first. The sets
// agree in columns, in being sparse or not, in precision, and in which fields they have.
func Concat(sets ...Set) (Set, error) {
	c := &collector{}
	for _, s := range sets {
		c.expected += s.Rows()
	}
	for _, s := range sets {
		if s.Rows() > 0 && s.Rows() == c.expected {
			return s, nil
		}
		if err := c.add(s, 0, s.Rows()); err != nil {
			return Set{}, err
		}
	}
	if c.rows == 0 {
		return Set{}, fmt.Errorf("datasets: %w", ErrEmpty)
	}
	return c.set(), nil
}

// collector copies rows of sets into one set.
type collector struct {
	expected int // rows to make room for, ≤ 0 where unknown

	schema     Schema
	rows, cols int
	sparse     bool
	single     bool
	x          []float64 // of a dense X
	short      []float32 // of one in single precision
	indptr     []int     // of a sparse X
	indices    []uint32
	values     []float64 // nil as long as every entry is scale
	scale      float64
	spare      []float64 // room for values
	y, weights []float64
	targets    []float64
	perRow     int // targets
	groups     []int
	kept       [][]string
	origin     []int
}

// add appends rows lo to hi of block, which looks like the blocks before it.
func (c *collector) add(block Set, lo, hi int) error {
	if lo == hi {
		return nil
	}
	if c.rows == 0 {
		c.start(block)
	}
	if err := c.fits(block); err != nil {
		return err
	}
	switch X := block.X.(type) {
	case *sparse.CSR:
		c.addSparse(X, lo, hi)
	case *mat.Dense:
		raw := X.RawMatrix()
		if raw.Stride == raw.Cols {
			c.x = append(c.x, raw.Data[lo*raw.Cols:hi*raw.Cols]...)
			break
		}
		for i := lo; i < hi; i++ {
			c.x = append(c.x, X.RawRowView(i)...)
		}
	case *single.Dense:
		for i := lo; i < hi; i++ {
			c.short = append(c.short, X.Row(i)...)
		}
	default:
		for i := lo; i < hi; i++ {
			for j := range c.cols {
				c.x = append(c.x, X.At(i, j))
			}
		}
	}
	if c.perRow > 0 {
		for i := lo; i < hi; i++ {
			c.targets = append(c.targets, block.Targets.RawRowView(i)...)
		}
	}
	c.y = appendRows(c.y, block.Y, lo, hi)
	c.weights = appendRows(c.weights, block.Weights, lo, hi)
	c.groups = appendRows(c.groups, block.Groups, lo, hi)
	c.kept = appendRows(c.kept, block.Passthrough, lo, hi)
	c.origin = appendRows(c.origin, block.origin, lo, hi)
	c.rows += hi - lo
	return nil
}

func appendRows[T any](dst, src []T, lo, hi int) []T {
	if src == nil {
		return dst
	}
	return append(dst, src[lo:hi]...)
}

// start takes over what the first block looks like. Arrays of an earlier set are used again.
func (c *collector) start(block Set) {
	c.schema = block.Schema
	c.cols = block.Cols()
	_, c.sparse = block.X.(*sparse.CSR)
	_, c.single = block.X.(*single.Dense)
	if c.values != nil {
		c.spare = c.values[:0]
	}
	c.indices, c.values = c.indices[:0], nil
	c.perRow = 0
	if block.Targets != nil {
		_, c.perRow = block.Targets.Dims()
	}
	c.y = room(c.y, c.expected, block.Y != nil)
	c.weights = room(c.weights, c.expected, block.Weights != nil)
	c.groups = room(c.groups, c.expected, block.Groups != nil)
	c.kept = room(c.kept, c.expected, block.Passthrough != nil)
	c.origin = room(c.origin, c.expected, block.origin != nil)
	c.targets = room(c.targets, c.expected*c.perRow, c.perRow > 0)
	if c.sparse {
		c.indptr = append(room(c.indptr, c.expected+1, true), 0)
		return
	}
	c.x = room(c.x, c.expected*c.cols, !c.single)
	c.short = room(c.short, c.expected*c.cols, c.single)
}

// room returns list emptied, with space for n entries, or nil where it is not wanted.
func room[T any](list []T, n int, wanted bool) []T {
	if !wanted {
		return nil
	}
	if list == nil || cap(list) < n {
		return make([]T, 0, max(n, 1))
	}
	return list[:0]
}

// fits reports a block that does not look like the first one.
func (c *collector) fits(block Set) error {
	if block.Cols() != c.cols {
		return fmt.Errorf("datasets: %d columns, then %d", c.cols, block.Cols())
	}
	perRow := 0
	if block.Targets != nil {
		_, perRow = block.Targets.Dims()
	}
	if (block.Y == nil) != (c.y == nil) || (block.Weights == nil) != (c.weights == nil) || (block.Groups == nil) != (c.groups == nil) || (block.Passthrough == nil) != (c.kept == nil) || perRow != c.perRow {
		return errors.New("datasets: some blocks have targets, weights, groups or kept columns and others have none")
	}
	if _, ok := block.X.(*sparse.CSR); ok != c.sparse {
		return errors.New("datasets: some blocks are sparse and others are dense")
	}
	if _, ok := block.X.(*single.Dense); ok != c.single {
		return errors.New("datasets: some blocks are in single and others in double precision")
	}
	return nil
}

func (c *collector) addSparse(X *sparse.CSR, lo, hi int) {
	indptr, indices, values := X.Raw()
	from, to := indptr[lo], indptr[hi]
	c.addValues(X, values, from, to)
	base := len(c.indices) - from
	for _, end := range indptr[lo+1 : hi+1] {
		c.indptr = append(c.indptr, base+end)
	}
	c.indices = append(c.indices, indices[from:to]...)
}

// addValues appends entries from to to of X's values, and writes the one shared value out where it
// is no longer shared.
func (c *collector) addValues(X *sparse.CSR, values []float64, from, to int) {
	scale, shared := X.Shared()
	if len(c.indices) == 0 && shared {
		c.scale = scale
	}
	if c.values == nil && shared && scale == c.scale {
		return
	}
	if c.values == nil {
		c.values = slices.Grow(c.spare, len(c.indices)+to-from)
		for range c.indices {
			c.values = append(c.values, c.scale)
		}
	}
	if !shared {
		c.values = append(c.values, values[from:to]...)
		return
	}
	for range to - from {
		c.values = append(c.values, scale)
	}
}

// set returns the rows collected; it shares the collector's arrays.
func (c *collector) set() Set {
	out := Set{Schema: c.schema, Y: c.y, Weights: c.weights, Groups: c.groups, Passthrough: c.kept}
	if len(c.origin) == c.rows { // else some sets were selected and others were not
		out.origin = c.origin
	}
	if c.perRow > 0 {
		out.Targets = mat.NewDense(c.rows, c.perRow, c.targets)
	}
	if c.single {
		out.X = single.New(c.rows, c.cols, c.short)
		return out
	}
	if !c.sparse {
		out.X = mat.NewDense(c.rows, c.cols, c.x)
		return out
	}
	var err error
	if c.values == nil {
		out.X, err = sparse.NewShared(c.rows, c.cols, c.indptr, c.indices, c.scale)
	} else {
		out.X, err = sparse.New(c.rows, c.cols, c.indptr, c.indices, c.values)
	}
	if err != nil {
		panic("datasets: " + err.Error()) // the rows come out of checked matrices
	}
	return out
}

// reset forgets the rows and keeps the arrays.
func (c *collector) reset() { c.rows = 0 }
