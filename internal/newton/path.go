package newton

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Path solves one task for several C and widths, one after the other, each from a solution before it.
// Widths are to ascend, and C within a width.
type Path struct {
	ctx     context.Context
	task    Task
	rows    func(width int) *design.Rows // the leading columns
	origin  []float64                    // gradient at 0 for C = 1, on all columns
	width   int                          // of the last solution, 0 before the first
	factor  float64                      // of the weights in the last problem
	x       []float64                    // the last solution: features × outputs, intercepts
	front   []float64                    // the first solution of that width
	problem *objective
}

// NewPath returns a path before its first step, on rows of at most so many columns.
func NewPath(ctx context.Context, t Task, most int, rows func(width int) *design.Rows) (*Path, error) {
	p := &Path{ctx: ctx, task: t, rows: rows}
	o := p.objective(most, 1)
	o.renew = false
	p.origin = make([]float64, o.size())
	return p, o.Evaluate(make([]float64, o.groups), p.origin, make([]float64, o.size()))
}

// objective returns the problem on the leading columns with weights times a factor.
func (p *Path) objective(width int, factor float64) *objective {
	weights := slices.Clone(p.task.weights)
	kern.Scale(factor, weights)
	return p.task.objective(p.ctx, p.rows(width), weights)
}

// Step solves the next problem, for features that are scale times columns: on columns Ψ with Z = c·Ψ, C on Z
// is C·c² on Ψ, of c² times the objective. The weights are those of the columns, the report's objective is
// that of the features.
func (p *Path) Step(width int, C, scale, tol float64, maxIter int) (solve.Linear, error) {
	factor := C * scale * scale
	o := p.objective(width, factor)
	x := p.start(o, width, factor)
	result, err := minimise(p.ctx, o, o.rows, x, o.groups, p.reference(o, factor), tol, maxIter)
	if err != nil {
		return solve.Linear{}, err
	}
	if p.width != width {
		p.front = slices.Clone(x)
	}
	p.width, p.factor, p.x, p.problem = width, factor, x, o
	report := reportOf(result, tol)
	report.Objective /= scale * scale
	if err := report.Better(C * p.task.Bar); err != nil {
		return solve.Linear{}, err
	}
	k := o.outputs
	offset := make([]float64, k)
	copy(offset, x[width*k:])
	model, err := p.task.finish(slices.Clone(x[:width*k]), offset, report)
	model.Report = report
	return model, err
}

// start returns where the next problem begins: at the last solution where the columns are the same,
// whose preconditioner then serves, with other weights; else at the first of the width before; else
// at 0.
func (p *Path) start(o *objective, width int, factor float64) []float64 {
	k := o.outputs
	switch {
	case p.width == width:
		if p.problem.gram != nil {
			o.gram, o.coupled, o.apart, o.renew = p.problem.gram, p.problem.coupled, p.problem.apart, false
			o.gram.Scale(factor / p.factor)
			if o.coupled != nil {
				o.coupled.scale(factor / p.factor)
			}
			o.factorise()
		}
		return slices.Clone(p.x)
	case p.width > 0:
		x := make([]float64, o.size())
		copy(x, p.front[:p.width*k])
		copy(x[width*k:], p.front[p.width*k:])
		return x
	}
	return make([]float64, o.size())
}

// reference returns the norms of the gradient at 0.
func (p *Path) reference(o *objective, factor float64) []float64 {
	norms := make([]float64, o.groups)
	features := o.rows.Cols * o.outputs
	all := len(p.origin) - (o.size() - features)
	for i, g := range p.origin {
		if i < features || i >= all {
			norms[i%o.groups] += g * g
		}
	}
	for j, v := range norms {
		norms[j] = factor * math.Sqrt(v)
	}
	return norms
}
