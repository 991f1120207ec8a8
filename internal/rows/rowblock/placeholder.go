package rowblock

import "gonum.org/v1/gonum/mat"

// Placeholder is a matrix of zeros that takes no memory, in place of rows that are not read.
type Placeholder struct {
	Rows, Cols int
	NonZeros   int // entries of sparse rows; 0 for dense rows
	Documents  any // *datasets.Documents: the strings of the rows; nil without
}

// Dims returns the number of rows and columns.
func (p Placeholder) Dims() (rows, cols int) { return p.Rows, p.Cols }

// At returns 0.
func (p Placeholder) At(i, j int) float64 { return 0 }

// T returns the transpose.
func (p Placeholder) T() mat.Matrix { return mat.Transpose{Matrix: p} }
