package meta

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// FitBatch passes the distinct members of all candidates to their own FitBatch. Members with fixed
// weights are fitted on all folds jointly; for stacking, on the inner folds of each fold.
// Leave-one-out requires fixed weights and members that support it.
func (s Ensemble) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	specs, err := batch.Specs[Ensemble](b)
	if err == nil && b.LeaveOneOut && b.GCV {
		err = errEnsembleGCV
	}
	if err != nil {
		return nil, s.named(err)
	}
	members := make([]Members, len(specs))
	groups, err := groupBy(b, func(i int) (key any, wrong error) {
		if members[i], wrong = specs[i].batchMembers(b); wrong != nil {
			return nil, specs[i].named(wrong)
		}
		return specs[i].batchKey(), nil
	})
	if err != nil {
		return nil, err
	}
	for _, which := range groups {
		part := flatten(b.Select(which), members, which)
		fit := part.fitFixed
		switch {
		case !specs[which[0]].stacks():
		case len(b.Data.Schema.Targets) == 0: // numbers, or classes: that is for each fit to see
			fit = func(ctx context.Context) ([]string, error) { return nil, estimator.FitSeparately(ctx, part.Job) }
		default:
			fit = part.fitStacked
		}
		names, err := fit(ctx)
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

var (
	errStackingLeaveOneOut = errors.New("weights found by stacking would be others without each row; use k folds")
	errEnsembleGCV         = errors.New("generalized cross-validation is not for a mean of models; use loo or k folds")
)

// batchMembers are the members, for a batch that they can do.
func (s Ensemble) batchMembers(b batch.Job) (Members, error) {
	if parts, err := s.memberList(); err != nil || !b.LeaveOneOut || !s.stacks() {
		return parts, err
	}
	return nil, errStackingLeaveOneOut
}

// batchKey is equal for specs that can share a batch.
func (s Ensemble) batchKey() any {
	if !s.stacks() {
		return noFolds
	}
	return s.crossValidation(0)
}

// flatBatch is a batch of ensembles and the batch of all their members.
type flatBatch struct {
	batch.Job
	members     batch.Job
	memberIndex [][]int // of each ensemble, its members in the batch
	names       []Members
}

func flatten(b batch.Job, members []Members, which []int) flatBatch {
	out := flatBatch{Job: b, members: b, memberIndex: make([][]int, len(which))}
	out.members.Candidates = nil
	owner := []int{}
	for k, i := range which {
		out.names = append(out.names, members[i])
		for _, m := range members[i] {
			c := b.Candidates[k]
			c.Estimator = m.Estimator
			out.memberIndex[k] = append(out.memberIndex[k], len(owner))
			out.members.Candidates, owner = append(out.members.Candidates, c), append(owner, k)
		}
	}
	out.members.Include = func(m, fold int) bool { return b.Includes(owner[m], fold) }
	out.members.FitOne, out.members.Yield = nil, nil
	return out
}

// fitFixed fits ensembles with fixed weights.
func (f flatBatch) fitFixed(ctx context.Context) (shared []string, err error) {
	of, distinct := deduplicate(f.members.Candidates)
	part := f.members.Select(distinct)
	users := make([][]int, len(distinct))      // ensembles that a distinct member is in
	needs := make([][]int, len(f.memberIndex)) // distinct members of an ensemble, once each
	for e, list := range f.memberIndex {
		seen := map[int]bool{}
		for _, m := range list {
			if d := of[m]; !seen[d] {
				seen[d] = true
				users[d], needs[e] = append(users[d], e), append(needs[e], d)
			}
		}
	}
	part.Include = func(d, fold int) bool {
		for _, e := range users[d] {
			if f.Includes(e, fold) {
				return true
			}
		}
		return false
	}
	found := map[[2]int]*batch.Outcome{}
	part.Yield = func(d, fold int, o batch.Outcome) error {
		found[[2]int{d, fold}] = &o
		for _, e := range users[d] {
			if f.Includes(e, fold) && isComplete(found, needs[e], fold) {
				if err := f.Yield(e, fold, f.mean(e, fold, of, found)); err != nil {
					return err
				}
			}
		}
		f.forget(found, users, needs, fold)
		return nil
	}
	return estimator.FitBatch(ctx, part)
}

func isComplete(found map[[2]int]*batch.Outcome, needs []int, fold int) bool {
	for _, d := range needs {
		if found[[2]int{d, fold}] == nil {
			return false
		}
	}
	return true
}

// forget drops the predictions that no ensemble waits for.
func (f flatBatch) forget(found map[[2]int]*batch.Outcome, users, needs [][]int, fold int) {
next:
	for at, o := range found {
		if at[1] != fold || o.Values == nil {
			continue
		}
		for _, e := range users[at[0]] {
			if f.Includes(e, fold) && !isComplete(found, needs[e], fold) {
				continue next
			}
		}
		o.Prediction = estimator.Prediction{}
	}
}

// mean returns the prediction of ensemble e with fixed weights.
func (f flatBatch) mean(e, fold int, of []int, found map[[2]int]*batch.Outcome) batch.Outcome {
	out, all := batch.Outcome{}, make([]estimator.Prediction, len(f.memberIndex[e]))
	weights := f.Candidates[e].Estimator.(Ensemble).fixed(len(all))
	for k, m := range f.memberIndex[e] {
		one := found[[2]int{of[m], fold}]
		if out.Seconds += one.Seconds; one.Err != nil && out.Err == nil {
			out.Err = fmt.Errorf("%s: %w", f.names[e][k].Name, one.Err)
		}
		all[k] = one.Prediction
	}
	if out.Err == nil {
		out.Prediction, out.Err = stacking.Combine(all, weights, nil, classCount(all[0]))
	}
	out.Err = Ensemble{}.named(out.Err)
	return out
}

// classCount returns the number of classes of a prediction, 0 for a regression.
func classCount(p estimator.Prediction) int {
	switch {
	case p.Probabilities != nil:
		return p.Probabilities.RawMatrix().Cols
	case p.Scores == nil:
		return 0
	}
	return max(p.Scores.RawMatrix().Cols, 2)
}

// fitStacked fits stacked ensembles that use the same cross-validation.
func (f flatBatch) fitStacked(ctx context.Context) (shared []string, err error) {
	for fold := range f.Folds {
		if !f.IncludesFold(fold) {
			continue
		}
		names, err := f.stackFold(ctx, fold)
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

func (f flatBatch) stackFold(ctx context.Context, fold int) (shared []string, err error) {
	spec := f.Candidates[0].Estimator.(Ensemble)
	rows := f.Folds[fold]
	classes := f.Data.Schema.Classes()
	found, shared, err := f.predict(ctx, spec.crossValidation(len(classes)), fold)
	if err != nil {
		return shared, err
	}
	own := datasets.Set{X: f.Data.X, Y: f.Data.Y, Targets: f.Data.Targets, Weights: f.Data.Weights, Schema: f.Data.Schema}
	own = own.Select(rows.Train)
	for e := range f.memberIndex {
		if !f.Includes(e, fold) {
			continue
		}
		if err := f.Yield(e, fold, f.stackedOutcome(ctx, e, own, found)); err != nil {
			return shared, err
		}
	}
	return shared, ctxerr.Check(ctx)
}

// predict returns the out-of-fold predictions of all members, by folds or leave-one-out, as
// separate fits of each ensemble would.
func (f flatBatch) predict(ctx context.Context, v crossValidation, fold int) (found []outOfFold, shared []string,
	err error) {
	found = make([]outOfFold, len(f.members.Candidates))
	var ways, sets [2][]int // members of ensembles of which all can, and others; and of which ensemble
	for e, list := range f.memberIndex {
		way := 0
		if !v.exact(f.members.Select(list).Candidates, f.Data.Groups != nil) {
			way = 1
		}
		for _, m := range list {
			ways[way], sets[way] = append(ways[way], m), append(sets[way], e)
		}
	}
	for way, list := range ways {
		if len(list) == 0 {
			continue
		}
		by := v
		if way == 1 {
			by.folds = v.count()
		}
		part, names, err := by.predict(ctx, f.members.Select(list).OnFold(fold), f.Folds[fold], true, sets[way])
		if shared = append(shared, names...); err != nil {
			return found, shared, err
		}
		for k, m := range list {
			found[m] = part[k]
		}
	}
	return found, shared, nil
}

// stackedOutcome returns the prediction of ensemble e for the test rows of a fold.
func (f flatBatch) stackedOutcome(ctx context.Context, e int, train datasets.Set,
	found []outOfFold) (out batch.Outcome) {
	spec := f.Candidates[e].Estimator.(Ensemble)
	mine, last := make([]outOfFold, len(f.memberIndex[e])), make([]estimator.Prediction, len(f.memberIndex[e]))
	for k, m := range f.memberIndex[e] {
		mine[k], last[k] = found[m], found[m].last.Prediction
		out.Seconds += found[m].seconds
	}
	predictions, err := predictionsOf(mine, func(k int) string { return f.names[e][k].Name })
	if err == nil {
		classes := classCount(last[0])
		var weights, sizes []float64
		if weights, sizes, err = stacking.Fit(ctx, predictions, train, classes, stacking.SumToOne); err == nil {
			out.Prediction, err = stacking.Combine(last, weights, sizes, classes)
		}
	}
	out.Err = spec.named(err)
	return out
}

// PlanBatch is the plan of the members.
func (s Ensemble) PlanBatch(b batch.Job) (largest int64, err error) {
	specs, err := batch.Specs[Ensemble](b)
	if err != nil {
		return 0, s.named(err)
	}
	for _, spec := range specs {
		parts, err := spec.batchMembers(b)
		if err != nil {
			return 0, s.named(err)
		}
		part, bytes := b, int64(0)
		if part.Candidates = parts.candidates(); spec.stacks() {
			bytes, err = spec.crossValidation(2).bytes(part)
		} else {
			bytes, err = estimator.PlanBatch(part)
		}
		if err != nil {
			return 0, s.named(err)
		}
		largest = max(largest, bytes)
	}
	return largest, nil
}
