// Package textrows represents rows in which some columns are text.
package textrows

import (
	"math"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"
)

// Strings is a list of strings that rows refer to by number. The zero value is empty. It must not grow while rows that
// refer to it are in use by others.
type Strings struct{ list []string }

// NewStrings returns a table of the given strings, numbered in order.
func NewStrings(list []string) *Strings { return &Strings{list} }

// List returns the strings in order.
func (s *Strings) List() []string { return s.list }

// Add appends a string and returns its number.
func (s *Strings) Add(text string) float64 {
	s.list = append(s.list, text)
	return float64(len(s.list) - 1)
}

// Len returns the number of strings.
func (s *Strings) Len() int { return len(s.list) }

// Matrix is dense rows with text columns, whose entries are numbers of strings in a table that the rows share. NaN is
// a missing value. It is immutable.
//
// At returns NaN for every entry of a text column, so that code that reads it as numbers finds missing values, which a
// model refuses, instead of the numbers of strings.
type Matrix struct {
	dense   *mat.Dense
	columns []int // the text columns, ascending
	strings *Strings
}

// New returns rows whose given columns, ascending, are numbers of strings.
func New(dense *mat.Dense, columns []int, strings *Strings) *Matrix {
	return &Matrix{dense: dense, columns: columns, strings: strings}
}

// Lengths returns the rows as numbers, with the number of characters for each text, NaN for a missing one.
func (m *Matrix) Lengths() *mat.Dense {
	out := mat.DenseCopyOf(m.dense)
	n, _ := out.Dims()
	for i := range n {
		for _, j := range m.columns {
			if text, ok := m.Text(i, j); ok {
				out.Set(i, j, float64(utf8.RuneCountInString(text)))
			} else {
				out.Set(i, j, math.NaN())
			}
		}
	}
	return out
}

// Wrap returns dense rows, as text rows if there are text columns.
func Wrap(dense *mat.Dense, columns []int, strings *Strings) mat.Matrix {
	if len(columns) == 0 {
		return dense
	}
	if strings == nil {
		strings = &Strings{}
	}
	return New(dense, columns, strings)
}

// Dims returns the numbers of rows and columns.
func (m *Matrix) Dims() (rows, cols int) { return m.dense.Dims() }

// At returns the number in row i and column j, NaN in a text column.
func (m *Matrix) At(i, j int) float64 {
	v := m.dense.At(i, j)
	if m.IsText(j) {
		return math.NaN()
	}
	return v
}

// T returns the transpose.
func (m *Matrix) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// IsText reports whether column j is text.
func (m *Matrix) IsText(j int) bool { return slices.Contains(m.columns, j) }

// TextColumns returns the text columns, ascending.
func (m *Matrix) TextColumns() []int { return slices.Clone(m.columns) }

// Text returns the string in row i of text column j, and false for a missing value.
func (m *Matrix) Text(i, j int) (text string, ok bool) {
	v := m.dense.At(i, j)
	if !(v >= 0 && v < float64(len(m.strings.list))) {
		return "", false
	}
	return m.strings.list[int(v)], true
}

// Dense returns the entries, with numbers of strings in the text columns. It must not be changed.
func (m *Matrix) Dense() *mat.Dense { return m.dense }

// WithDense returns rows of the same columns and strings with other entries.
func (m *Matrix) WithDense(dense *mat.Dense) *Matrix { return New(dense, m.columns, m.strings) }

// Rows returns rows of the same text columns with other entries and strings.
func (m *Matrix) Rows(dense *mat.Dense, strings *Strings) *Matrix {
	return New(dense, m.columns, strings)
}

// AppendText appends the entries of rows lo to hi−1 to dst and their strings to to.
func (m *Matrix) AppendText(dst []float64, to *Strings, lo, hi int) []float64 {
	for i := lo; i < hi; i++ {
		first := len(dst)
		dst = append(dst, m.dense.RawRowView(i)...)
		for _, j := range m.columns {
			if text, ok := m.Text(i, j); ok {
				dst[first+j] = to.Add(text)
			} else {
				dst[first+j] = math.NaN()
			}
		}
	}
	return dst
}

// Strings returns a copy of the table of strings of the text columns, with the same indices.
func (m *Matrix) Strings() *Strings { return &Strings{slices.Clone(m.strings.list)} }

// SameColumns reports whether both have the same text columns.
func (m *Matrix) SameColumns(other *Matrix) bool { return slices.Equal(m.columns, other.columns) }

// Clone returns a deep copy of the rows.
func (m *Matrix) Clone() *Matrix {
	n, d := m.dense.Dims()
	table := &Strings{}
	return New(mat.NewDense(n, d, m.AppendText(make([]float64, 0, n*d), table, 0, n)), m.columns, table)
}

// Columns returns the rows of dense, which are the given columns of m: as text rows if one of them is text.
func (m *Matrix) Columns(dense *mat.Dense, index []int) mat.Matrix {
	var columns []int
	for k, j := range index {
		if m.IsText(j) {
			columns = append(columns, k)
		}
	}
	if columns == nil {
		return dense
	}
	return New(dense, columns, m.strings)
}

// Of returns X as text rows, nil if no column is text.
func Of(X mat.Matrix) *Matrix {
	m, _ := X.(*Matrix)
	return m
}
