package joint

import (
	"context"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/solve"
)

// minJointProblems is the smallest number of problems for which a joint solution pays.
const minJointProblems = 4

// jointFit is a set of candidates solved jointly on all folds.
type jointFit struct {
	*mappedNewton
	members  []int
	folds    []int            // folds with all required classes
	labels   []*design.Labels // by position in folds
	outputs  int
	problems []newton.Problem // by candidate, fold and output
	seconds  float64          // per candidate and fold
}

// groupJoint splits a path into joint fits that fit into memory. It returns nil for losses that
// couple classes, for few problems, or if memory is insufficient. Folds that cannot be fitted are
// omitted.
func (s *mappedNewton) groupJoint(ctx context.Context, m *mappedRows, path []int) (list []*jointFit) {
	first := s.candidates[path[0]]
	all := &jointFit{mappedNewton: s}
	for fold := range s.Folds {
		l, err := s.labels(ctx, first, fold)
		if err != nil {
			continue
		}
		t := first.Newton(l)
		if !t.SupportsBatch() || all.outputs > 0 && all.outputs != t.Outputs {
			return nil
		}
		all.outputs = t.Outputs
		all.folds, all.labels = append(all.folds, fold), append(all.labels, l)
	}
	n := int64(m.allRows(1).N)
	for from := 0; from < len(path); {
		to := from + 1
		for to < len(path) && all.bytes(n, path[from:to+1]) <= s.MemoryLimit() {
			to++
		}
		u := *all
		u.members = path[from:to]
		if len(u.members)*len(u.folds)*u.outputs < minJointProblems || u.bytes(n, u.members) > s.MemoryLimit() {
			return nil
		}
		list = append(list, &u)
		from = to
	}
	return list
}

// bytes returns the memory of a joint fit of the members.
func (u *jointFit) bytes(n int64, members []int) (bytes int64) {
	for _, i := range members {
		k, d := int64(len(u.folds)*u.outputs), int64(u.Candidates[i].Width)
		bytes += 8 * (n*k + 3*d*d)
	}
	return bytes + 8*n*int64(len(u.folds)*(1+u.outputs))
}

// want reports whether any of its results is included.
func (u *jointFit) want() bool {
	for _, i := range u.members {
		for fold := range u.Folds {
			if u.Includes(i, fold) {
				return true
			}
		}
	}
	return false
}

// fill creates the problems.
func (u *jointFit) fill(m *mappedRows, n int) {
	type shares struct {
		loss    newton.Loss
		y       [][]float64
		weights []float64
	}
	by := make([]shares, len(u.folds))
	for f, fold := range u.folds {
		l := u.labels[f]
		weights := make([]float64, n)
		y := make([][]float64, u.outputs)
		for j := range y {
			y[j] = make([]float64, n)
		}
		at := 0
		for _, p := range u.trains[fold] {
			for r := range u.parts[p] {
				weights[m.starts[p]+r] = l.Weights[at]
				for j := range y {
					switch {
					case l.Classes == nil:
						y[j][m.starts[p]+r] = l.Y[at]
					case int(l.Y[at]) == j+max(0, 2-u.outputs):
						y[j][m.starts[p]+r] = 1
					}
				}
				at++
			}
		}
		by[f] = shares{u.mappedNewton.candidates[u.members[0]].Newton(l).SingleOutputLoss(), y, weights}
	}
	for _, i := range u.members {
		c := u.Candidates[i].Scale
		for f := range u.folds {
			for j := range u.outputs {
				u.problems = append(u.problems, newton.Problem{Loss: by[f].loss, Y: by[f].y[j], Weights: by[f].weights,
					C: u.mappedNewton.candidates[i].C, WeightFactor: u.mappedNewton.candidates[i].C * c * c,
					Width: u.Candidates[i].Width})
			}
		}
	}
}

// solve fits all candidates on all folds and yields their predictions.
func (u *jointFit) solve(ctx context.Context, m *mappedRows) error {
	start := time.Now()
	first := u.mappedNewton.candidates[u.members[0]]
	r := m.allRows(u.width())
	u.fill(m, r.N)
	a := newton.NewBatch(ctx, r, first.Intercept, u.problems)
	err := a.Solve(first.Tol, first.MaxIter)
	if err != nil {
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		for fold := range u.Folds {
			if err := u.singles(ctx, u.members, fold); err != nil {
				return err
			}
		}
		return nil
	}
	u.seconds = time.Since(start).Seconds() / float64(len(u.members)*len(u.folds))
	for fold := range u.Folds {
		f := slices.Index(u.folds, fold)
		if f < 0 {
			err = u.singles(ctx, u.members, fold)
		} else {
			err = u.predict(ctx, m, f, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// width returns the largest width of the candidates.
func (u *jointFit) width() int {
	largest := 0
	for _, i := range u.members {
		largest = max(largest, u.Candidates[i].Width)
	}
	return largest
}

// predict yields the predictions for one of the folds.
func (u *jointFit) predict(ctx context.Context, m *mappedRows, at int, a *newton.Batch) error {
	fold, l, t := u.folds[at], u.labels[at], u.outputs
	models := make([]fittedModel, len(u.members))
	for k, i := range u.members {
		f, one := u.Candidates[i], u.mappedNewton.candidates[i]
		task, solution := one.Newton(l), a.Model((k*len(u.folds)+at)*t, t, one.Tol)
		solution.Report.Objective /= f.Scale * f.Scale
		err := solve.CheckObjective(solution.Report, one.C*task.ObjectiveBound)
		if err == nil {
			solution, err = task.Finish(solution)
		}
		models[k] = fittedModel{candidate: i, width: f.Width, weights: solution.Weights, offset: solution.Intercept,
			report: solution.Report, err: err, seconds: u.seconds}
	}
	return u.score(ctx, m, models, l.Classes, fold)
}
