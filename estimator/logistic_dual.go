package estimator

import (
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/solve"
)

// byDual reports whether the solver is, or auto chooses, dual: auto does on rows that are sparse and
// too wide for Newton's preconditioner. The softmax of more than two classes has another dual.
func (s Logistic) byDual(r *design.Rows, l *design.Labels) bool {
	return len(l.Classes) == 2 && (s.Solver == "dual" || s.Solver == "auto" && wide(r))
}

// dualTask is what coordinate descent is to solve.
func (s Logistic) dualTask(l *design.Labels) dualTask {
	return dualTask{outputs: 1, tol: s.Tol, maxIter: s.MaxIter, problem: func(int) solve.Dual {
		p := margins(l, 0, s.C, false)
		p.Target, p.Logistic, p.Intercept = nil, true, s.Intercept
		return p
	}}
}
