package meta

import (
	"cmp"
	"context"
	"errors"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// maxFolds is the maximum number of cross-validation folds.
const maxFolds = 1000

// outOfFold contains the out-of-fold predictions of a model for the training rows.
type outOfFold struct {
	estimator.Prediction               // of the training rows, in their order
	present              []bool        // whether a row has a prediction
	last                 batch.Outcome // outcome on all training rows of the fold
	err                  error         // nil if there is a prediction
	seconds              float64
}

// exact reports whether the candidates support exact leave-one-out predictions and v requests them.
func (v crossValidation) exact(candidates []batch.Candidate, grouped bool) bool {
	return v.folds == 0 && !grouped && batch.Job{LeaveOneOut: true, Candidates: candidates}.CheckTags() == nil
}

// predict returns the out-of-fold predictions of each candidate for the training rows of a fold
// and, with last, its outcome for the test rows. If leave-one-out fails for one candidate, for lack
// of memory or at leverage 1, all candidates of its set use k folds.
func (v crossValidation) predict(ctx context.Context, b batch.Job, fold datasets.Fold, last bool,
	set []int) (out []outOfFold, shared []string, err error) {
	switch {
	case !v.exact(b.Candidates, b.Data.Groups != nil):
		return v.predictByFolds(ctx, b, fold, last)
	case b.HasMaps():
		out = make([]outOfFold, len(b.Candidates))
		for i := range out {
			out[i].err = errNeedsPipeline
		}
		return out, nil, nil
	}
	out, shared, err = leaveOneOut(ctx, b, fold)
	if err != nil {
		return nil, shared, err
	}
	failed := map[int]bool{}
	for i := range out {
		failed[set[i]] = failed[set[i]] || out[i].err != nil
	}
	var others []int
	for i := range out {
		if failed[set[i]] && b.Includes(i, 0) {
			others = append(others, i)
		}
	}
	if last {
		if err := fitLast(ctx, b, fold, out, failed, set); err != nil {
			return nil, shared, err
		}
	}
	if len(others) == 0 {
		return out, shared, nil
	}
	again, names, err := v.predictByFolds(ctx, b.Select(others), fold, last)
	for k := range again {
		out[others[k]] = again[k]
	}
	return out, append(shared, names...), err
}

// allRows returns a fold that trains on all rows.
func allRows(data datasets.Set) datasets.Fold {
	out := datasets.Fold{Train: make([]int, data.Rows())}
	for i := range out.Train {
		out.Train[i] = i
	}
	return out
}

// leaveOneOut implements predict by leave-one-out.
func leaveOneOut(ctx context.Context, b batch.Job, fold datasets.Fold) (out []outOfFold, shared []string, err error) {
	data := b.Data.Select(fold.Train)
	all := allRows(data)
	all.Test = all.Train
	one := b
	one.Data, one.Shape, one.Folds, one.LeaveOneOut = data, data.Shape(), []datasets.Fold{all}, true
	found, shared, err := fitDistinct(ctx, one)
	if err != nil {
		return nil, shared, err
	}
	out = make([]outOfFold, len(b.Candidates))
	for i, o := range found {
		if !b.Includes(i, 0) {
			continue
		}
		out[i].take(o, one.Folds, all.Train, len(all.Train))
		for k, w := range data.Weights {
			out[i].present[k] = out[i].present[k] && w > 0
		}
	}
	return out, append(shared, "rows"), nil
}

// fitLast fits the candidates of the sets without failures to all training rows of a fold.
func fitLast(ctx context.Context, b batch.Job, fold datasets.Fold, out []outOfFold, failed map[int]bool,
	set []int) error {
	b.Folds = []datasets.Fold{fold}
	wants := b.Include
	b.Include = func(i, _ int) bool { return !failed[set[i]] && (wants == nil || wants(i, 0)) }
	found, _, err := fitDistinct(ctx, b)
	for i := range found {
		if b.Includes(i, 0) {
			out[i].finish(found[i][0])
		}
	}
	return err
}

// predictByFolds implements predict by k-fold cross-validation.
func (v crossValidation) predictByFolds(ctx context.Context, b batch.Job, fold datasets.Fold,
	last bool) (out []outOfFold, shared []string, err error) {
	out = make([]outOfFold, len(b.Candidates))
	folds, err := v.split(b.Data, fold.Train)
	if err != nil {
		for i := range out {
			out[i].err = err
		}
		return out, nil, nil
	}
	within := b
	within.Folds = folds
	if last {
		within.Folds = append(folds, fold)
	}
	within.Include = func(candidate, _ int) bool { return b.Includes(candidate, 0) }
	found, shared, err := fitDistinct(ctx, within)
	if err != nil {
		return nil, shared, err
	}
	at := make([]int, b.Data.Rows())
	for k, i := range fold.Train {
		at[i] = k
	}
	for i, o := range found {
		if !b.Includes(i, 0) {
			continue
		}
		out[i].take(o[:len(folds)], folds, at, len(fold.Train))
		if last {
			out[i].finish(o[len(folds)])
		}
	}
	return out, shared, nil
}

// errNoTestRows is returned if no fold has test rows.
var errNoTestRows = errors.New("no fold has rows to test on: every class needs 2 rows or more")

// finish sets the outcome of the fit to all training rows.
func (p *outOfFold) finish(last batch.Outcome) {
	p.last = last
	p.seconds += last.Seconds
	p.err = cmp.Or(p.err, last.Err)
}

// take stores the prediction for row i of a test fold at index at[i] of n.
func (p *outOfFold) take(found []batch.Outcome, folds []datasets.Fold, at []int, n int) {
	p.present = make([]bool, n)
	for f, o := range found {
		p.seconds += o.Seconds
		if p.err = cmp.Or(p.err, o.Err); p.err != nil {
			continue
		}
		if len(o.Values) != len(folds[f].Test) {
			p.err = errors.New("the inner model has no prediction for some rows")
			continue
		}
		test := folds[f].Test
		for _, i := range test {
			p.present[at[i]] = true
		}
		p.Put(estimator.Prediction{Values: o.Values, Targets: o.Targets, Scores: o.Scores, Probabilities: o.Probabilities},
			n, func(k int) int { return at[test[k]] })
	}
}

// bytes returns the maximum memory of predict over the folds of a batch.
func (v crossValidation) bytes(b batch.Job) (largest int64, err error) {
	exact := v.exact(b.Candidates, false)
	for _, fold := range b.Folds {
		if b.Folds = []datasets.Fold{fold}; !exact {
			b.Folds = append(evenFolds(fold.Train, v.count()), fold)
		}
		bytes, err := estimator.PlanBatch(b)
		if err != nil {
			return 0, err
		}
		largest = max(largest, bytes)
	}
	return largest, nil
}

// cost returns the cost of fitting each candidate to every fold and to all rows.
func (v crossValidation) cost(candidates []batch.Candidate, shape datasets.Shape) (sum datasets.Cost) {
	fits := float64(v.count() + 1)
	if v.exact(candidates, false) {
		fits = 2
	}
	for _, c := range candidates {
		if coster, ok := c.Estimator.(datasets.CostEstimator); ok {
			sum = sum.Add(coster.Cost(shape).Scale(fits))
		}
	}
	return datasets.Cost{Flops: sum.Flops, Bytes: sum.Bytes}
}

// namedClasses returns data whose schema lists the classes, because a fold may lack rows of some.
func namedClasses(data datasets.Set, classes []string) datasets.Set {
	if len(data.Schema.Classes()) > 0 {
		return data
	}
	name := ""
	if len(data.Schema.Targets) == 1 {
		name = data.Schema.Targets[0].Name
	}
	data.Schema.Targets = []datasets.Column{{Name: name, Kind: datasets.Categorical, Categories: classes}}
	return data
}
