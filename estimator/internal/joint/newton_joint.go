package joint

import (
	"context"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
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
	return bytes + 8*n*2*int64(len(u.folds))
}

// fill creates the problems.
func (u *jointFit) fill(m *mappedRows, n int) {
	first := u.mappedNewton.candidates[u.members[0]]
	tasks := make([]newton.Task, len(u.folds))
	targets, weights := make([][]float64, len(u.folds)), make([][]float64, len(u.folds))
	for f, fold := range u.folds {
		l := u.labels[f]
		tasks[f], targets[f], weights[f] = first.Newton(l), make([]float64, n), make([]float64, n)
		at := 0
		for _, p := range u.trains[fold] {
			size := len(u.parts[p])
			copy(targets[f][m.starts[p]:], l.Y[at:at+size])
			copy(weights[f][m.starts[p]:], l.Weights[at:at+size])
			at += size
		}
	}
	for _, i := range u.members {
		C, c := u.mappedNewton.candidates[i].C, u.Candidates[i]
		for f, t := range tasks {
			u.problems = append(u.problems, t.Problems(targets[f], weights[f], C, c.Scale, c.Width)...)
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
		solution, err := one.Newton(l).Finish(a.Model((k*len(u.folds)+at)*t, t, one.Tol), one.C, f.Scale)
		models[k] = fittedModel{candidate: i, width: f.Width, weights: solution.Weights, offset: solution.Intercept,
			report: solution.Report, err: err, seconds: u.seconds}
	}
	return u.score(ctx, m, models, l.Classes, fold)
}
