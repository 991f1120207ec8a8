package estimator

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// wide reports whether rows are sparse and of more columns than a preconditioner is made for.
func (r *rows) wide() bool { return r.sparse && r.cols > widestSparseFactor }

// newSolveRows returns the rows of a set in memory for coordinate descent, or which input of them
// is missing or infinite.
func newSolveRows(ctx context.Context, r *rows) (solve.Rows, error) {
	var out solve.Rows
	switch x := r.set.X.(type) {
	case *sparse.CSR:
		scale, shared := x.Shared()
		if !shared {
			scale = 1
		}
		out = sparseRows{x, scale}
	case *mat.Dense:
		out = denseRows{x}
	case *single.Dense:
		out = singleRows{x}
	default:
		out = denseRows{mat.DenseCopyOf(x)}
	}
	for i := range r.n {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if q := out.Square(i); q-q != 0 {
			return nil, nameFault(i, r.set.Slice(i, i+1))
		}
	}
	return out, nil
}

type denseRows struct{ *mat.Dense }

func (r denseRows) Len() int                          { return r.RawMatrix().Rows }
func (r denseRows) Width() int                        { return r.RawMatrix().Cols }
func (r denseRows) Dot(i int, w []float64) float64    { return kern.Dot(r.RawRowView(i), w) }
func (r denseRows) Add(i int, f float64, w []float64) { kern.Axpy(f, r.RawRowView(i), w) }
func (r denseRows) Square(i int) float64              { return kern.Dot(r.RawRowView(i), r.RawRowView(i)) }

type singleRows struct{ *single.Dense }

func (r singleRows) Len() int                       { n, _ := r.Dims(); return n }
func (r singleRows) Width() int                     { _, d := r.Dims(); return d }
func (r singleRows) Dot(i int, w []float64) float64 { return mixedDot(r.Row(i), w) }

func (r singleRows) Add(i int, f float64, w []float64) {
	for j, v := range r.Row(i) {
		w[j] += f * float64(v)
	}
}

func (r singleRows) Square(i int) float64 {
	s := 0.0
	for _, v := range r.Row(i) {
		s += float64(v) * float64(v)
	}
	return s
}

type sparseRows struct {
	*sparse.CSR
	scale float64
}

func (r sparseRows) Len() int   { n, _ := r.Dims(); return n }
func (r sparseRows) Width() int { _, d := r.Dims(); return d }

func (r sparseRows) Dot(i int, w []float64) float64 {
	columns, values := r.Row(i)
	return r.scale * gather(columns, values, w)
}

func (r sparseRows) Add(i int, f float64, w []float64) {
	columns, values := r.Row(i)
	f *= r.scale
	if values == nil {
		for _, j := range columns {
			w[j] += f
		}
		return
	}
	for p, j := range columns {
		w[j] += f * values[p]
	}
}

func (r sparseRows) Square(i int) float64 {
	columns, values := r.Row(i)
	if values == nil {
		return float64(len(columns)) * r.scale * r.scale
	}
	return kern.Dot(values, values)
}

// dualReport says how coordinate descent went, of several problems the worst.
func dualReport(results []solve.DualResult, tol float64) Report {
	report := Report{Solver: "dual coordinate descent", Converged: true}
	for _, r := range results {
		report.Iterations = max(report.Iterations, r.Epochs)
		report.Converged = report.Converged && r.Converged
		report.Gap = max(report.Gap, r.Gap)
		report.Objective += r.Objective
	}
	if !report.Converged {
		report.Warnings = []string{fmt.Sprintf("not converged after %d passes: the duality gap is %.2g of the objective, wanted %.2g", report.Iterations, report.Gap, tol)}
	}
	return report
}

// mixedDot returns Σ x[j]·w[j] in double precision, summed in four chains.
func mixedDot(x []float32, w []float64) float64 {
	var a, b, c, d float64
	for ; len(x) >= 4 && len(w) >= 4; x, w = x[4:], w[4:] {
		a += float64(x[0]) * w[0]
		b += float64(x[1]) * w[1]
		c += float64(x[2]) * w[2]
		d += float64(x[3]) * w[3]
	}
	for j, v := range x {
		a += float64(v) * w[j]
	}
	return (a + b) + (c + d)
}
