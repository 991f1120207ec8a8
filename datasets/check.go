package datasets

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Check returns an error if s is invalid: repeated names given to [New], fields of different
// lengths, no rows or columns, infinite inputs, targets that are not finite or not class codes,
// negative weights, or only zero weights. It accepts missing inputs (NaN).
func (s Set) Check() error {
	if err := s.CheckBlock(0); err != nil {
		return err
	}
	if s.Weights != nil && !slices.ContainsFunc(s.Weights, func(w float64) bool { return w > 0 }) {
		return errors.New("datasets: weights must not all be 0")
	}
	return nil
}

// CheckBlock is Check for a block that starts at row first, which may have only zero weights.
func (s Set) CheckBlock(first int) error { return FromRow(s.check(), first) }

func (s Set) check() error {
	if s.problem != nil {
		return s.problem
	}
	n, d := s.Rows(), s.Cols()
	if n == 0 || d == 0 {
		return fmt.Errorf("datasets: %w: %d rows, %d columns", ErrEmpty, n, d)
	}
	if s.Schema.Columns != nil && len(s.Schema.Columns) != d {
		return fmt.Errorf("datasets: X must have %d columns as the schema, got %d", len(s.Schema.Columns), d)
	}
	if err := s.checkText(); err != nil {
		return err
	}
	for _, field := range []struct {
		name   string
		length int
		absent bool
	}{
		{"Y", len(s.Y), s.Y == nil},
		{"Targets", rowCount(s.Targets), s.Targets == nil},
		{"Weights", len(s.Weights), s.Weights == nil},
		{"Groups", len(s.Groups), s.Groups == nil},
		{"Kept", len(s.Passthrough), s.Passthrough == nil},
	} {
		if !field.absent && field.length != n {
			return fmt.Errorf("datasets: %s must have %d rows as X, got %d", field.name, n, field.length)
		}
	}
	if err := s.checkTargets(); err != nil {
		return err
	}
	for i, w := range s.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return s.rowError(i, "", fmt.Errorf("weight must be ≥ 0, got %v", w))
		}
	}
	if i, j := findInfinite(s.X); i >= 0 {
		return s.rowError(i, s.Schema.Name(j), errInfinite)
	}
	return nil
}

// checkText returns an error unless the text columns of the schema are those of X.
func (s Set) checkText() error {
	if _, ok := s.X.(rowblock.Placeholder); ok {
		return nil
	}
	m := textrows.Of(s.X)
	for j := range s.Cols() {
		switch inSchema := s.Schema.Column(j).Kind == Text; {
		case inSchema && (m == nil || !m.IsText(j)):
			return fmt.Errorf("datasets: column %s is text, and X has no strings", s.Schema.Name(j))
		case !inSchema && m != nil && m.IsText(j):
			return fmt.Errorf("datasets: column %s must be text in the schema, got %s", s.Schema.Name(j),
				s.Schema.Column(j).Kind)
		case m == nil && len(s.Schema.Columns) == 0:
			return nil
		}
	}
	return nil
}

// rowError returns an error about a row.
func (s Set) rowError(row int, column string, err error) error {
	return s.Locate(fmt.Errorf("datasets: %w", &RowError{Row: row, Column: column, Err: err}), 0)
}

var errInfinite = errors.New("infinite value")

// ErrEmpty is wrapped by errors about sets without rows or columns.
var ErrEmpty = errors.New("nothing to learn from")

func rowCount(m *mat.Dense) int {
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
				return s.rowError(i, "", fmt.Errorf("target must be a class code from 0 to %d, got %v", classes-1, y))
			}
		}
	}
	for i, y := range s.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return s.rowError(i, "", fmt.Errorf("target must be finite, got %v", y))
		}
	}
	if s.Targets != nil {
		for i := range rowCount(s.Targets) {
			for j, y := range s.Targets.RawRowView(i) {
				if math.IsNaN(y) || math.IsInf(y, 0) {
					return s.rowError(i, "", fmt.Errorf("target %d must be finite, got %v", j, y))
				}
			}
		}
	}
	return nil
}

// CheckFinite returns an error at the first NaN or infinite entry of X. It wraps ErrMissing for a
// NaN.
func (s Set) CheckFinite() error {
	for i := range s.Rows() {
		if j, v := nonFinite(s.X, i, 0); j >= 0 {
			if math.IsNaN(v) {
				return s.rowError(i, s.Schema.Name(j), fmt.Errorf("%w; add an impute step before the model", ErrMissing))
			}
			return s.rowError(i, s.Schema.Name(j), errInfinite)
		}
	}
	return nil
}

// CheckInput returns an error unless a fitted step or model can use X: the error of an ended context, no rows, another
// number of columns than width, a column of text, or the first entry that is not finite. Transform and Predict of custom
// steps and models call it: its errors are those that the conformance suites require. Predict of no rows returns no
// values instead.
func CheckInput(ctx context.Context, X mat.Matrix, width int) error {
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	rows, columns := (Set{X: X}).Rows(), (Set{X: X}).Cols()
	switch m := textrows.Of(X); {
	case rows == 0:
		return fmt.Errorf("no rows: %w", ErrEmpty)
	case columns != width:
		return fmt.Errorf("%d columns at fit, %d now", width, columns)
	case m != nil:
		return fmt.Errorf("column %d must be numeric, got text; encode it with tfidf first, or drop it", m.TextColumns()[0])
	}
	return Set{X: X}.CheckFinite()
}

// ErrMissing is wrapped by errors about missing values where none are allowed.
var ErrMissing = errors.New("missing value")

func findInfinite(X mat.Matrix) (row, column int) {
	if _, ok := X.(rowblock.Placeholder); ok {
		return -1, -1
	}
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

// nonFinite returns the first column ≥ from of row i with a NaN or infinite value, or -1.
func nonFinite(X mat.Matrix, i, from int) (column int, value float64) {
	switch m := X.(type) {
	case *mat.Dense:
		row := m.RawRowView(i)
		for j := from; j < len(row); j++ {
			if v := row[j]; v-v != 0 {
				return j, v
			}
		}
	case *matrices.CSR:
		columns, values := m.Row(i)
		for k, v := range values {
			if v-v != 0 && int(columns[k]) >= from {
				return int(columns[k]), v
			}
		}
	case *textrows.Matrix: // not its text columns
		row := m.Dense().RawRowView(i)
		for j := from; j < len(row); j++ {
			if v := row[j]; v-v != 0 && !(math.IsInf(v, 0) && m.IsText(j)) {
				return j, v
			}
		}
	case *matrices.Dense32:
		row := m.Row(i)
		for j := from; j < len(row); j++ {
			if v := row[j]; v-v != 0 {
				return j, float64(v)
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
