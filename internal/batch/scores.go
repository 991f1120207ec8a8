package batch

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// model is a candidate fitted on a fold.
type model struct {
	candidate int
	width     int
	weights   []float64 // width × targets, on the wide map
	offset    []float64
	alpha     float64 // on the wide map
	rough     bool    // whether the weights are to be refined
	column    int     // of its first target among those of rough models
	report    solve.Report
	scores    *mat.Dense // test rows × targets
	seconds   float64
	err       error
}

// scoreBlock is the models of one width of a fold, whose scores are made in one product.
type scoreBlock struct {
	models  []*model
	weights []float64 // width × columns
	scores  []float64 // rows × columns
	width   int
	columns int
	rows    int
}

func scoreBlocks(models []model, rows int) (blocks []*scoreBlock) {
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

// score scores a tile of rows that begins at row first.
func (b *scoreBlock) score(Z *mat.Dense, first int) {
	n, _ := Z.Dims()
	z := design.View(Z).Slice(0, n, 0, b.width)
	out := kern.Dense(n, b.columns, b.columns, b.scores[first*b.columns:])
	kern.Mul(out, z, kern.Dense(b.width, b.columns, b.columns, b.weights), false)
}

// spread gives every model its scores, the intercepts added.
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
