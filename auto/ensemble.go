package auto

import (
	"context"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
)

const (
	maxMembers      = 6
	maxEqual        = 10   // maximum number of members with equal weights
	maxEqualRows    = 3000 // number of rows below which classifiers have equal weights
	maxCompetitors  = 40   // maximum number of candidate members
	minWeight       = 0.03 // minimum share of a member
	minEnsembleGain = 0.02 // minimum gain over the leader, in units of its spread
	tieMargin       = 0.5  // members within this part of the spread of the leader are considered equal
)

// ensemble is a set of members that predict together, or one candidate, with the score of the whole.
type ensemble struct {
	scored
	members []scored
	weights []float64 // of values, probabilities or scores
}

// single returns the ensemble of one candidate.
func single(s scored) ensemble { return ensemble{s, []scored{s}, []float64{1}} }

// combine returns an ensemble that scores better than the leader, and whether there is one. Weights
// are evaluated on other rows than those they are computed from. With classes, the lead of the best of
// many candidates is often chance: the ensemble only has to match the leader. For few rows, candidates
// that match the leader get equal weights.
func (r *run) combine(members []scored) (ensemble, bool) {
	d, err := r.divide(r.leader.on)
	if r.equalWeights() {
		members = slices.DeleteFunc(slices.Clone(members), func(m scored) bool {
			return !r.withinError(m, r.leader, tieMargin)
		})
	}
	for len(members) >= 2 && err == nil {
		var w, sizes []float64
		if w, sizes, err = r.weights(d, members, nil); err != nil {
			break
		}
		least := minWeight
		// sequentially, because each removal changes the weights of the others
		if len(members) > maxMembers && !r.equalWeights() {
			least = max(least, 1.001*slices.Min(w))
		}
		kept := slices.Clone(members)[:0]
		for k, m := range members {
			if w[k] >= least && (sizes == nil || sizes[k] != 0) { // the scale of scores that are all 0 is 0
				kept = append(kept, m)
			}
		}
		if len(kept) < len(members) {
			members = kept
			continue
		}
		e := ensemble{members: members, weights: w}
		for k := range sizes {
			e.weights[k] *= sizes[k]
		}
		if e.Output, e.Scores, err = r.crossValidate(d, members); err != nil {
			break
		}
		e.mean, _ = meanAndSpread(e.Scores, 1)
		e.on = r.leader.on
		gain := minEnsembleGain
		if r.classes > 0 { // equal up to chance
			gain = -tieMargin
		}
		return e, r.withinError(e.scored, r.leader, -gain)
	}
	return ensemble{}, false
}

// equalWeights reports whether members have equal weights.
func (r *run) equalWeights() bool { return r.classes > 0 && r.data.Rows() < maxEqualRows }

// bestOfRecipes returns the best candidate of each recipe, best first, if its predictions cover the
// rows of the leader.
func (r *run) bestOfRecipes() []scored {
	out := slices.SortedFunc(maps.Values(r.best), r.compare)
	out = slices.DeleteFunc(out, func(s scored) bool { return !r.coversLeaderRows(s) })
	return out[:min(len(out), maxEqual)]
}

// competitors returns the candidate members, best first. Regression allows several per recipe,
// because kernels of different widths complement each other.
func (r *run) competitors() []scored {
	if r.classes > 0 {
		return r.bestOfRecipes()
	}
	out := slices.DeleteFunc(slices.Clone(r.log), func(s scored) bool { return !r.coversLeaderRows(s) })
	slices.SortStableFunc(out, r.compare)
	out = slices.CompactFunc(out, func(a, b scored) bool { return a.point == b.point })
	return out[:min(len(out), maxCompetitors)]
}

// coversLeaderRows reports whether the out-of-fold predictions of a candidate are stored and cover
// the rows of the leader.
func (r *run) coversLeaderRows(s scored) bool {
	return r.leader.Output.Values != nil && s.on == r.leader.on && s.Output.Values != nil && !r.unfit(s.point)
}

// weights returns the weights of members, and the scales of their scores, by the test rows that are not left out.
func (r *run) weights(d *division, members []scored, leftOut []bool) (weights, sizes []float64, err error) {
	truth := datasets.Set{X: mat.NewDense(d.data.Rows(), 1, nil), Y: d.data.Y, Weights: d.data.Weights,
		Schema: d.data.Schema}.Select(d.tests)
	rule := stacking.SumToOne
	if r.equalWeights() || leftOut != nil && !slices.Contains(leftOut, false) {
		rule, leftOut = stacking.Equal, nil // equal weights do not depend on the true values
	}
	predictions := make([]estimator.Prediction, len(members))
	for k, m := range members {
		predictions[k] = m.Output
		predictions[k].Values = slices.Clone(m.Output.Values)
		for at, out := range leftOut {
			if out {
				predictions[k].Values[at] = math.NaN()
			}
		}
	}
	return stacking.Fit(context.Background(), predictions, truth, r.classes, rule)
}

// crossValidate returns the predictions of the weighted members for the test rows and the score on each fold. The
// weights of a fold are computed from the cases of other folds without its test rows; of folds in the order of time,
// from earlier ones.
func (r *run) crossValidate(d *division, members []scored) (whole estimator.Prediction, scores []float64, err error) {
	scores, err = r.scoresOf(d, func(k int) (p estimator.Prediction, err error) {
		w, sizes, err := r.weights(d, members, r.leftOut(d, k))
		if err != nil {
			return p, err
		}
		own := make([]estimator.Prediction, len(members))
		for i, m := range members {
			own[i] = rowsOf(m.Output, d.scores[k])
		}
		p, err = stacking.Combine(own, w, sizes, r.classes)
		whole.Put(p, len(d.tests), func(i int) int { return d.scores[k][i] })
		return p, err
	})
	return whole, scores, err
}

// leftOut reports for each test row of one fold after the other whether weights that are tested by score k may not
// use it.
func (r *run) leftOut(d *division, k int) []bool {
	tested := map[int]bool{}
	for _, i := range d.rows(k) {
		tested[i] = true
	}
	out := make([]bool, len(d.tests))
	for at, i := range d.tests {
		out[at] = tested[i] || r.options.TimeOrdered && at >= d.starts[d.fold(k)]
	}
	return out
}

// choose returns what the final fit is of: an ensemble or a candidate that can be fitted in the time left, with
// probabilities if those are equal up to chance; without members if there is none.
func (r *run) choose(ctx context.Context) (ensemble, error) {
	chosen := ensemble{}
	one, err := r.bestAffordable(ctx, finalShare)
	if err != nil {
		return chosen, err
	}
	if one.Scores != nil {
		chosen = single(one)
	}
	members, best := r.competitors(), r.leader
	found, ok, err := r.combineInTime(ctx, members)
	if err != nil {
		return chosen, err
	}
	if ok && r.metric.Better(found.mean, best.mean) {
		best.mean = found.mean
	}
	without := func(m scored) bool { return !r.table[m.recipe].probabilities }
	if r.classes > 0 && slices.ContainsFunc(members, without) {
		other, some, err := r.combineInTime(ctx, slices.DeleteFunc(slices.Clone(members), without))
		if err != nil || some && r.withinError(other.scored, best, tieMargin) {
			return other, err
		}
		if one.Scores != nil && !without(one) && r.withinError(one, best, tieMargin) {
			return chosen, nil
		}
	}
	if ok {
		chosen = found
	}
	return chosen, nil
}

// combineInTime returns an ensemble that can be fitted in the time left: as long as it cannot, the
// slowest member is removed, or the one whose predictions cost the most, and another ensemble is sought.
func (r *run) combineInTime(ctx context.Context, members []scored) (ensemble, bool, error) {
	for {
		found, ok := r.combine(members)
		if !ok {
			return found, false, nil
		}
		if sum, err := r.load(ctx, found, 1, finalShare); sum <= 1 || err != nil {
			return found, err == nil, err
		}
		slowest, most := point{}, 0.0
		for _, m := range found.members {
			own, err := r.load(ctx, single(m), 1, finalShare)
			if err != nil {
				return found, false, err
			}
			if own > most {
				slowest, most = m.point, own
			}
		}
		members = slices.DeleteFunc(slices.Clone(members), func(m scored) bool { return m.point == slowest })
	}
}
