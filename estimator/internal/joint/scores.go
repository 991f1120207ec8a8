package joint

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// fittedModel is a candidate fitted on a fold.
type fittedModel struct {
	candidate       int
	width           int
	weights         []float64 // width × targets, on the wide map
	offset          []float64
	alpha           float64            // on the wide map
	needsRefinement bool               // whether the weights need refinement
	path            *leastsquares.Path // for refinement; nil if none is needed
	report          solve.Report
	scores          *mat.Dense // test rows × targets
	seconds         float64
	err             error
}

// scoreBlock contains the models of one width on a fold, whose scores are computed in one product.
type scoreBlock struct {
	models    []*fittedModel
	weights   []float64 // width × columns
	weights32 []float32 // weights in float32, created on demand
	scores    []float64 // rows × columns
	width     int
	columns   int
	rows      int
}

func scoreBlocks(models []fittedModel, rows int) (blocks []*scoreBlock) {
	for k := range models {
		m := &models[k]
		if m.weights == nil {
			continue
		}
		at := slices.IndexFunc(blocks, func(b *scoreBlock) bool { return b.width == m.width })
		if at < 0 {
			at = len(blocks)
			blocks = append(blocks, &scoreBlock{width: m.width, rows: rows})
		}
		b := blocks[at]
		b.models = append(b.models, m)
		b.columns += len(m.offset)
	}
	for _, b := range blocks {
		b.weights = make([]float64, b.width*b.columns)
		b.scores = make([]float64, rows*b.columns)
		at := 0
		for _, m := range b.models {
			t := len(m.offset)
			for i := range b.width {
				copy(b.weights[i*b.columns+at:i*b.columns+at+t], m.weights[i*t:(i+1)*t])
			}
			at += t
		}
	}
	return blocks
}

// score scores a tile of rows; first is the index of its first row.
func (b *scoreBlock) score(Z mat.Matrix, first int) {
	n, _ := Z.Dims()
	out := kern.Dense(n, b.columns, b.columns, b.scores[first*b.columns:])
	if m, ok := Z.(*matrices.Dense32); ok {
		b.scoreSingle(out, design.ViewFloat32(m).Slice(0, n, 0, b.width))
		return
	}
	z := design.View(Z.(*mat.Dense)).Slice(0, n, 0, b.width)
	kern.Mul(out, z, kern.Dense(b.width, b.columns, b.columns, b.weights), false)
}

// scoreSingle scores float32 rows, as a model fitted to them does: weights are rounded, products
// are summed in float32 within blocks of columns and in float64 over blocks.
func (b *scoreBlock) scoreSingle(out kern.View[float64], z kern.View[float32]) {
	const blockColumns = 256
	if b.weights32 == nil {
		b.weights32 = make([]float32, len(b.weights))
		design.Round(b.weights32, b.weights)
	}
	weights := kern.Dense(b.width, b.columns, b.columns, b.weights32)
	buffer := design.Borrow[float32](z.Rows * b.columns)
	defer buffer.Release()
	part := kern.Dense(z.Rows, b.columns, b.columns, buffer.Data)
	to := out.Data[:z.Rows*b.columns]
	clear(to)
	for lo := 0; lo < b.width; lo += blockColumns {
		hi := min(lo+blockColumns, b.width)
		kern.Mul(part, z.Slice(0, z.Rows, lo, hi), weights.Slice(lo, hi, 0, b.columns), false)
		for i, v := range buffer.Data {
			to[i] += float64(v)
		}
	}
}

// spread copies the scores to their models and adds the intercepts.
func (b *scoreBlock) spread() {
	at := 0
	for _, m := range b.models {
		t := len(m.offset)
		m.scores = mat.NewDense(b.rows, t, nil)
		for i := range b.rows {
			row := m.scores.RawRowView(i)
			copy(row, b.scores[i*b.columns+at:])
			kern.Axpy(1, m.offset, row)
		}
		at += t
	}
}
