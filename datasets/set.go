package datasets

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/sparse"
)

// Set is rows in memory. The zero value of every optional field means "none".
type Set struct {
	X       mat.Matrix // n×d; *mat.Dense or *sparse.CSR on the fast paths. NaN is a missing value
	Y       []float64  // n targets, or class codes 0..k-1
	Targets *mat.Dense // n×t, several targets instead of Y
	Weights []float64  // n sample weights ≥ 0
	Groups  []int      // n group numbers, for grouped folds
	Schema  Schema     // names, kinds and levels of the columns; class names
}

// Unknown is the code of a level that the schema does not list.
const Unknown = -1

// Rows returns the number of rows, Cols that of columns.
func (s Set) Rows() int {
	if s.X == nil {
		return 0
	}
	n, _ := s.X.Dims()
	return n
}

// Cols returns the number of columns of X.
func (s Set) Cols() int {
	if s.X == nil {
		return 0
	}
	_, d := s.X.Dims()
	return d
}

// Slice returns rows lo to hi (hi excluded) as a view of the same arrays.
func (s Set) Slice(lo, hi int) Set {
	out := s
	out.X = SliceRows(s.X, lo, hi)
	if s.Y != nil {
		out.Y = s.Y[lo:hi:hi]
	}
	if s.Targets != nil {
		out.Targets = SliceRows(s.Targets, lo, hi).(*mat.Dense)
	}
	if s.Weights != nil {
		out.Weights = s.Weights[lo:hi:hi]
	}
	if s.Groups != nil {
		out.Groups = s.Groups[lo:hi:hi]
	}
	return out
}

// Select returns a copy of the named rows, in that order.
func (s Set) Select(rows []int) Set {
	out := s
	out.X = SelectRows(s.X, rows)
	out.Y = pick(s.Y, rows)
	if s.Targets != nil {
		out.Targets = SelectRows(s.Targets, rows).(*mat.Dense)
	}
	out.Weights = pick(s.Weights, rows)
	out.Groups = pick(s.Groups, rows)
	return out
}

// Check reports what no algorithm could use: lengths that differ, no rows, infinite inputs, targets
// that are not finite or, with classes, no class codes, weights that are negative or all zero.
// Missing inputs (NaN) are not its business: steps and estimators refuse or fill them.
func (s Set) Check() error {
	n, d := s.Rows(), s.Cols()
	if n == 0 || d == 0 {
		return fmt.Errorf("datasets: %w: %d rows, %d columns", ErrEmpty, n, d)
	}
	if s.Schema.Columns != nil && len(s.Schema.Columns) != d {
		return fmt.Errorf("datasets: the schema names %d columns, X has %d", len(s.Schema.Columns), d)
	}
	for name, length := range map[string]int{"Y": len(s.Y), "Weights": len(s.Weights), "Groups": len(s.Groups), "Targets": rowsOf(s.Targets)} {
		if length != 0 && length != n {
			return fmt.Errorf("datasets: X has %d rows, %s has %d", n, name, length)
		}
	}
	if err := s.checkTargets(); err != nil {
		return err
	}
	total := 0.0
	for i, w := range s.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("datasets: row %d: weight %v, wanted a number ≥ 0", i, w)
		}
		total += w
	}
	if s.Weights != nil && total == 0 {
		return errors.New("datasets: every weight is 0")
	}
	if i, j := findInf(s.X); i >= 0 {
		return fmt.Errorf("datasets: row %d, column %s: infinite value", i, s.Schema.Name(j))
	}
	return nil
}

// ErrEmpty is a set without rows or columns.
var ErrEmpty = errors.New("nothing to learn from")

func rowsOf(m *mat.Dense) int {
	if m == nil {
		return 0
	}
	n, _ := m.Dims()
	return n
}

func (s Set) checkTargets() error {
	if classes := len(s.Schema.Classes()); classes > 0 {
		for i, y := range s.Y {
			if y != math.Trunc(y) || y < 0 || y >= float64(classes) {
				return fmt.Errorf("datasets: row %d: target %v, wanted a class code from 0 to %d", i, y, classes-1)
			}
		}
	}
	for i, y := range s.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("datasets: row %d: target is %v", i, y)
		}
	}
	if s.Targets != nil {
		for i := range rowsOf(s.Targets) {
			for j, y := range s.Targets.RawRowView(i) {
				if math.IsNaN(y) || math.IsInf(y, 0) {
					return fmt.Errorf("datasets: row %d: target %d is %v", i, j, y)
				}
			}
		}
	}
	return nil
}

// CheckFinite reports the first NaN or infinite entry of X by row and column name; ErrMissing is
// wrapped where it is a NaN.
func (s Set) CheckFinite() error {
	for i := range s.Rows() {
		if j, v := nonFinite(s.X, i, 0); j >= 0 {
			if math.IsNaN(v) {
				return fmt.Errorf("datasets: row %d, column %s: %w; put an impute step before", i, s.Schema.Name(j), ErrMissing)
			}
			return fmt.Errorf("datasets: row %d, column %s: infinite value", i, s.Schema.Name(j))
		}
	}
	return nil
}

// ErrMissing is a missing value where none may be.
var ErrMissing = errors.New("missing value")

func findInf(X mat.Matrix) (row, column int) {
	n, d := X.Dims()
	for i := range n {
		for from := 0; from < d; {
			j, v := nonFinite(X, i, from)
			if j < 0 {
				break
			}
			if math.IsInf(v, 0) {
				return i, j
			}
			from = j + 1
		}
	}
	return -1, -1
}

// nonFinite returns the first column ≥ from of row i that is NaN or infinite, or -1.
func nonFinite(X mat.Matrix, i, from int) (column int, value float64) {
	switch m := X.(type) {
	case *mat.Dense:
		row := m.RawRowView(i)
		for j := from; j < len(row); j++ {
			if v := row[j]; v-v != 0 {
				return j, v
			}
		}
	case *sparse.CSR:
		columns, values := m.Row(i)
		for k, v := range values {
			if v-v != 0 && int(columns[k]) >= from {
				return int(columns[k]), v
			}
		}
	default:
		_, d := X.Dims()
		for j := from; j < d; j++ {
			if v := X.At(i, j); v-v != 0 {
				return j, v
			}
		}
	}
	return -1, 0
}

// SliceRows returns rows lo to hi (hi excluded) of X as a view.
func SliceRows(X mat.Matrix, lo, hi int) mat.Matrix {
	if lo == hi {
		return &mat.Dense{}
	}
	switch m := X.(type) {
	case *mat.Dense:
		_, d := m.Dims()
		return m.Slice(lo, hi, 0, d)
	case *sparse.CSR:
		return m.Slice(lo, hi)
	}
	rows := make([]int, hi-lo)
	for i := range rows {
		rows[i] = lo + i
	}
	return SelectRows(X, rows)
}

// SelectRows returns a copy of the named rows of X: a CSR of a CSR, else a Dense.
func SelectRows(X mat.Matrix, rows []int) mat.Matrix {
	if m, ok := X.(*sparse.CSR); ok {
		return m.Select(rows)
	}
	_, d := X.Dims()
	if len(rows) == 0 || d == 0 {
		return &mat.Dense{}
	}
	out := mat.NewDense(len(rows), d, nil)
	for k, i := range rows {
		if m, ok := X.(*mat.Dense); ok {
			copy(out.RawRowView(k), m.RawRowView(i))
			continue
		}
		row := out.RawRowView(k)
		for j := range row {
			row[j] = X.At(i, j)
		}
	}
	return out
}

func pick[T any](list []T, rows []int) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = list[i]
	}
	return out
}

// BlockRows is how many rows the blocks of a source over a [Set] have, the last one apart.
const BlockRows = 2048

// Source returns the rows of s as a [Source] of views.
func (s Set) Source() Source { return setSource{s} }

type setSource struct{ set Set }

func (s setSource) Schema() Schema         { return s.set.Schema }
func (s setSource) Dims() (rows, cols int) { return s.set.Rows(), s.set.Cols() }

func (s setSource) Blocks(ctx context.Context, yield func(block Set) error) error {
	for lo := 0; lo < s.set.Rows(); lo += BlockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(s.set.Slice(lo, min(lo+BlockRows, s.set.Rows()))); err != nil {
			return err
		}
	}
	return nil
}

// Gather reads every block of src into one Set; the Set of a source made by [Set.Source] is
// returned as it is.
func Gather(ctx context.Context, src Source) (Set, error) {
	if s, ok := src.(setSource); ok {
		return s.set, nil
	}
	var blocks []Set
	err := src.Blocks(ctx, func(block Set) error {
		rows := make([]int, block.Rows())
		for i := range rows {
			rows[i] = i
		}
		blocks = append(blocks, block.Select(rows))
		return nil
	})
	if err != nil {
		return Set{}, err
	}
	return Stack(blocks...)
}

// Stack returns the rows of all sets, one after the other, under the schema of the first. The sets
// agree in columns and in which fields they have.
func Stack(sets ...Set) (Set, error) {
	sets = slices.DeleteFunc(slices.Clone(sets), func(s Set) bool { return s.Rows() == 0 })
	if len(sets) == 0 {
		return Set{}, fmt.Errorf("datasets: %w", ErrEmpty)
	}
	if len(sets) == 1 {
		return sets[0], nil
	}
	out := Set{Schema: sets[0].Schema}
	inputs := make([]mat.Matrix, len(sets))
	targets := make([]mat.Matrix, 0, len(sets))
	for i, s := range sets {
		if s.Cols() != sets[0].Cols() {
			return Set{}, fmt.Errorf("datasets: %d columns, then %d", sets[0].Cols(), s.Cols())
		}
		if (s.Y == nil) != (sets[0].Y == nil) || (s.Targets == nil) != (sets[0].Targets == nil) ||
			(s.Weights == nil) != (sets[0].Weights == nil) || (s.Groups == nil) != (sets[0].Groups == nil) {
			return Set{}, errors.New("datasets: some blocks have targets, weights or groups and others have none")
		}
		inputs[i] = s.X
		if s.Targets != nil {
			targets = append(targets, s.Targets)
		}
		out.Y = append(out.Y, s.Y...)
		out.Weights = append(out.Weights, s.Weights...)
		out.Groups = append(out.Groups, s.Groups...)
	}
	out.X = stackRows(inputs)
	if len(targets) > 0 {
		out.Targets = stackRows(targets).(*mat.Dense)
	}
	return out, nil
}

// stackRows puts matrices of equal width below each other: a CSR of CSRs, else a Dense.
func stackRows(parts []mat.Matrix) mat.Matrix {
	n := 0
	allSparse := true
	_, d := parts[0].Dims()
	for _, p := range parts {
		rows, _ := p.Dims()
		n += rows
		_, ok := p.(*sparse.CSR)
		allSparse = allSparse && ok
	}
	if allSparse {
		list := make([]*sparse.CSR, len(parts))
		for i, p := range parts {
			list[i] = p.(*sparse.CSR)
		}
		return sparse.Stack(list)
	}
	out := mat.NewDense(n, d, nil)
	at := 0
	for _, p := range parts {
		rows, _ := p.Dims()
		out.Slice(at, at+rows, 0, d).(*mat.Dense).Copy(p)
		at += rows
	}
	return out
}
