package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
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

// ensemble is a set of members that together score better than the leader on out-of-fold rows.
type ensemble struct {
	members []scored
	weights []float64 // weights of values, probabilities or scores
	folds   []float64 // score of each fold, as those of a candidate
	mean    float64
}

// combine returns an ensemble that scores better than the leader, and whether there is one. Weights
// are evaluated on other rows than those they are computed from. With classes, the lead of the best of
// many candidates is often chance: the ensemble only has to match the leader. For few rows, candidates
// that match the leader get equal weights.
func (r *run) combine(members []scored) (ensemble, bool) {
	if r.equalWeights() {
		members = slices.DeleteFunc(slices.Clone(members), func(m scored) bool {
			return !r.withinError(m, r.leader, tieMargin)
		})
	}
	for len(members) >= 2 {
		c, err := r.outOfFoldOf(members)
		if err != nil {
			return ensemble{}, false
		}
		w, shares := c.weights(func(int) bool { return true })
		least := minWeight
		// sequentially, because each removal changes the weights of the others
		if len(members) > maxMembers && !c.equalWeights {
			least = max(least, 1.001*slices.Min(shares))
		}
		kept := slices.Clone(members)[:0]
		for k, m := range members {
			if shares[k] >= least && w[k] != 0 { // the weight of scores that are all 0 is 0
				kept = append(kept, m)
			}
		}
		if len(kept) == len(members) {
			folds, err := r.crossValidate(c)
			mean, _ := meanAndSpread(folds, 1)
			spread := r.leader.spread
			if !r.metric.GreaterIsBetter {
				spread = -spread
			}
			better := r.metric.Better(mean, r.leader.mean+minEnsembleGain*spread)
			if r.classes > 0 { // equal up to chance
				better = !r.metric.Better(r.leader.mean-tieMargin*spread, mean)
			}
			return ensemble{members, w, folds, mean}, err == nil && better
		}
		members = kept
	}
	return ensemble{}, false
}

// equalWeights reports whether members have equal weights.
func (r *run) equalWeights() bool { return r.classes > 0 && r.data.Rows() < maxEqualRows }

// bestOfRecipes returns the best candidate of each recipe, best first, if its predictions cover the
// rows of the leader.
func (r *run) bestOfRecipes() []scored {
	var out []scored
	for i := range r.table {
		if s, ok := r.best[i]; ok && r.coversLeaderRows(s) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, r.compare)
	return out[:min(len(out), maxEqual)]
}

// competitors returns the candidate members, best first. Regression allows several per recipe,
// because kernels of different widths complement each other.
func (r *run) competitors() []scored {
	if r.classes > 0 {
		return r.bestOfRecipes()
	}
	var out []scored
	for _, s := range r.log {
		if r.coversLeaderRows(s) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, r.compare)
	out = slices.CompactFunc(out, func(a, b scored) bool { return a.point == b.point })
	return out[:min(len(out), maxCompetitors)]
}

// coversLeaderRows reports whether the out-of-fold predictions of a candidate are stored and cover
// the rows of the leader.
func (r *run) coversLeaderRows(s scored) bool {
	return r.leader.output != nil && s.on == r.leader.on && s.output != nil &&
		len(s.output)/s.outputs == len(r.leader.output)/r.leader.outputs
}

// outOfFold contains the out-of-fold outputs of the members, each cases × width, with the true
// values: values, probabilities if all have them, else scores with codes ±1, combined as in
// [meta.Ensemble]. A case is a test row of a fold; the cases of a fold are consecutive.
type outOfFold struct {
	data         datasets.Set
	folds        []datasets.Fold
	rows         []int // row of each case
	output       [][]float64
	truth        []float64
	width        int
	probable     bool
	scores       bool
	equalWeights bool // whether all members have equal weights
}

func (r *run) outOfFoldOf(members []scored) (outOfFold, error) {
	data, folds, err := r.partAndFolds(r.leader.on)
	c := outOfFold{data: data, folds: folds, width: 1, equalWeights: r.equalWeights()}
	if err != nil {
		return c, err
	}
	for _, f := range folds {
		c.rows = append(c.rows, f.Test...)
	}
	c.probable = r.classes > 0 && !slices.ContainsFunc(members,
		func(m scored) bool { return !r.table[m.recipe].probabilities })
	c.scores = r.classes > 0 && !c.probable
	if r.classes > 2 || c.probable {
		c.width = r.classes
	}
	c.truth = make([]float64, len(c.rows)*c.width)
	for at, i := range c.rows {
		row, y := c.truth[at*c.width:(at+1)*c.width], data.Y[i]
		switch {
		case r.classes == 0:
			row[0] = y
		case c.width == 1:
			row[0] = 2*y - 1
		default:
			for j := range row {
				if row[j] = 0; c.scores {
					row[j] = -1
				}
			}
			row[int(y)] = 1
		}
	}
	for _, m := range members {
		c.output = append(c.output, c.column(m, r.table[m.recipe].probabilities))
	}
	return c, nil
}

// column returns the output of a member. Where others have scores, probabilities are replaced by
// their logarithms.
func (c outOfFold) column(m scored, probabilities bool) []float64 {
	out := make([]float64, len(c.rows)*c.width)
	for i := range c.rows {
		output := m.output[i*m.outputs : (i+1)*m.outputs]
		for j := range c.width {
			v := 0.0
			switch at := i*c.width + j; {
			case !probabilities || c.probable:
				v = float64(output[j])
				out[at] = v
			case c.width == 1:
				out[at] = logProbability(output[1]) - logProbability(output[0])
			default:
				out[at] = logProbability(output[j])
			}
		}
	}
	return out
}

// logProbability returns the logarithm of a probability, which may be 0.
func logProbability(p float32) float64 { return math.Log(max(float64(p), 1e-12)) }

// weights returns the least-squares weights over the selected cases, and shares, their values for
// outputs of equal scale. Without cases the shares are equal.
func (c outOfFold) weights(in func(at int) bool) (weights, shares []float64) {
	sums, cases := c.sums(in)
	equal := slices.Repeat([]float64{1 / float64(len(c.output))}, len(c.output))
	sharesOf := func() []float64 {
		if c.equalWeights || cases == 0 {
			return equal
		}
		return sums.Weights(true)
	}
	if !c.scores {
		w := sharesOf()
		return w, w
	}
	var sizes []float64
	if cases == 0 { // the sizes do not depend on the true values
		all, _ := c.sums(func(int) bool { return true })
		sizes = all.Norms()
	} else {
		sizes = sums.Sizes()
		sums.Scale(sizes)
	}
	shares = sharesOf()
	weights = slices.Clone(shares)
	for k := range weights {
		weights[k] *= sizes[k]
	}
	return weights, shares
}

// sums returns the moments of the selected cases and their number.
func (c outOfFold) sums(in func(at int) bool) (*stacking.Sums, int) {
	sums, output, cases := stacking.NewSums(len(c.output)), make([]float64, len(c.output)), 0
	for i, row := range c.rows {
		if !in(i) {
			continue
		}
		w := 1.0
		if c.data.Weights != nil {
			w = c.data.Weights[row]
		}
		for at := i * c.width; at < (i+1)*c.width; at++ {
			for k := range output {
				output[k] = c.output[k][at]
			}
			sums.Add(w, output, c.truth[at])
		}
		cases++
	}
	return sums, cases
}

// crossValidate returns the score of the weighted members on each fold. The weights of a fold are computed
// from the cases of other folds without its test rows; of folds in the order of time, from earlier ones.
func (r *run) crossValidate(c outOfFold) ([]float64, error) {
	var out []float64
	first := 0 // case of the fold
	for _, f := range c.folds {
		end := first + len(f.Test)
		tested := make([]bool, c.data.Rows())
		for _, i := range f.Test {
			tested[i] = true
		}
		w, _ := c.weights(func(at int) bool {
			return !tested[c.rows[at]] && (at < first || !r.options.TimeOrdered)
		})
		in := metrics.Input{Classes: r.classes}
		var together []float64
		for i := first; i < end; i++ {
			in.YTrue = append(in.YTrue, c.data.Y[c.rows[i]])
			if c.data.Weights != nil {
				in.Weights = append(in.Weights, c.data.Weights[c.rows[i]])
			}
			for at := i * c.width; at < (i+1)*c.width; at++ {
				v := 0.0
				for k := range w {
					v += w[k] * c.output[k][at]
				}
				together = append(together, v)
			}
		}
		c.judged(&in, together)
		score, err := r.metric.Score(in)
		if err != nil {
			return nil, err
		}
		out, first = append(out, score), end
	}
	return out, nil
}

// judged sets the inputs of the metric from values, probabilities or scores.
func (c outOfFold) judged(in *metrics.Input, together []float64) {
	n := len(in.YTrue)
	if in.YPred = together; in.Classes == 0 {
		return
	}
	all := mat.NewDense(n, c.width, together)
	in.YPred = make([]float64, n)
	for i := range in.YPred {
		row := all.RawRowView(i)
		switch {
		case c.width > 1:
			in.YPred[i] = float64(slices.Index(row, slices.Max(row)))
		case row[0] > 0:
			in.YPred[i] = 1
		}
	}
	in.Scores = all
	if !c.probable {
		return
	}
	if in.Probabilities = all; in.Classes == 2 {
		in.Scores = mat.NewDense(n, 1, mat.Col(nil, 1, all))
	}
}

// fitEnsemble fits an ensemble to all rows if it scores better and the time suffices, then refits
// it with wider maps. It reports whether there is such a model.
func (r *run) fitEnsemble(ctx context.Context) (bool, error) {
	found, ok, err := r.selectEnsemble(ctx)
	if !ok || err != nil {
		return false, err
	}
	if r.narrow(r.leader) {
		wide, err := r.widest(ctx, r.leader.point, widerShare*r.secondsLeft())
		if err != nil {
			return false, err
		}
		// a wider map gains more than an ensemble of narrow ones
		together, err := r.expectedMembers(ctx, found, wide/r.leader.size)
		if err != nil || wide > r.leader.size && together > widerShare*r.secondsLeft() {
			return false, err
		}
	}
	if err := r.fitMembers(ctx, found, 1); err != nil || r.ensemble == nil || !r.timed() {
		return r.ensemble != nil, err
	}
	wider := 1
	for wider*sizeGrowth <= maxSize/initialSize {
		var took float64
		if took, err = r.expectedMembers(ctx, found, wider*sizeGrowth); err != nil || took > widerShare*r.secondsLeft() {
			break
		}
		wider *= sizeGrowth
	}
	if wider > 1 && err == nil && r.mapsOf(found) {
		err = r.fitMembers(ctx, found, wider)
	}
	return true, err
}

// selectEnsemble returns the ensemble of the competitors. For classes it prefers one with probabilities,
// whose members all have them, then a single candidate with probabilities, if they are equal up to chance.
func (r *run) selectEnsemble(ctx context.Context) (ensemble, bool, error) {
	members := r.competitors()
	found, ok, err := r.combineInTime(ctx, members)
	probable := slices.DeleteFunc(slices.Clone(members), func(m scored) bool { return !r.table[m.recipe].probabilities })
	if err != nil || r.classes == 0 || len(probable) == len(members) {
		return found, ok, err
	}
	best := r.leader
	if ok && r.metric.Better(found.mean, best.mean) {
		best.mean = found.mean
	}
	other, some, err := r.combineInTime(ctx, probable)
	if err != nil || some && r.withinError(scored{mean: other.mean}, best, tieMargin) {
		return other, some, err
	}
	if p := r.preferred(); r.table[p.recipe].probabilities && r.withinError(p, best, tieMargin) {
		return ensemble{}, false, nil
	}
	return found, ok, nil
}

// preferred returns the best candidate with probabilities if it is equal to the leader up to chance, else
// the leader.
func (r *run) preferred() scored {
	out := r.leader
	if r.classes == 0 || r.table[out.recipe].probabilities {
		return out
	}
	for i := range r.table {
		s, ok := r.best[i]
		if ok && s.on == r.leader.on && r.table[i].probabilities && r.withinError(s, r.leader, tieMargin) &&
			(!r.table[out.recipe].probabilities || r.ranksBefore(s, out)) {
			out = s
		}
	}
	return out
}

// combineInTime returns an ensemble that can be fitted in the time left: as long as it cannot, the
// slowest member is removed and another ensemble is sought.
func (r *run) combineInTime(ctx context.Context, members []scored) (ensemble, bool, error) {
	for {
		found, ok := r.combine(members)
		if !ok || !r.timed() {
			return found, ok, nil
		}
		took := make([]float64, len(found.members))
		sum := 0.0
		for i, m := range found.members {
			var err error
			if took[i], err = r.expectedFit(ctx, m.point); err != nil {
				return found, false, err
			}
			sum += took[i]
		}
		if sum <= widerShare*r.secondsLeft() {
			return found, true, nil
		}
		slowest := found.members[slices.Index(took, slices.Max(took))].point
		members = slices.DeleteFunc(slices.Clone(members), func(m scored) bool { return m.point == slowest })
	}
}

// mapsOf reports whether a member has a map.
func (r *run) mapsOf(e ensemble) bool {
	return slices.ContainsFunc(e.members, func(m scored) bool { return r.table[m.recipe].sizeOf(m.size) > 0 })
}

// widened returns the point of a member with a map wider by a factor, bounded by the number of
// rows.
func (r *run) widened(m scored, times int) point {
	p := m.point
	if r.table[p.recipe].sizeOf(p.size) > 0 {
		p.size = r.sizeWithin(times * p.size)
	}
	return p
}

func (r *run) expectedMembers(ctx context.Context, e ensemble, wider int) (sum float64, err error) {
	for _, m := range e.members {
		took, err := r.expectedFit(ctx, r.widened(m, wider))
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return sum, nil
}

// fitMembers fits an ensemble to all rows, with the sizes of the maps multiplied by a factor.
func (r *run) fitMembers(ctx context.Context, e ensemble, wider int) error {
	r.report(PhaseEnsemble)
	limited, cancel := r.withDeadline(ctx, r.hardDeadline())
	defer cancel()
	spec := meta.NewEnsemble()
	spec.Weights, spec.Given = "given", e.weights
	var members []meta.FittedMember
	times, began := map[int]int{}, time.Now()
	for _, m := range e.members {
		one, fitting, err := r.fullPipeline(limited, r.widened(m, wider))
		if err != nil {
			return endedOr(limited, err)
		}
		name := strings.ReplaceAll(r.table[m.recipe].String(), " ", "_")
		if times[m.recipe]++; times[m.recipe] > 1 {
			name = fmt.Sprintf("%s_%d", name, times[m.recipe])
		}
		spec.Members = append(spec.Members, meta.Member{Name: name, Estimator: one})
		model, err := fitting.Fit(limited, r.data)
		if err = endedOr(limited, err); err != nil {
			return r.warnNoEnsemble(ctx, err)
		}
		members = append(members, meta.FittedMember{Name: name, Predictor: model})
	}
	together, err := spec.Combine(ctx, r.data, members, nil)
	if err != nil {
		return r.warnNoEnsemble(ctx, err)
	}
	whole := pipeline.Sequence{}.Then(spec)
	frozen := whole
	frozen.Estimator = pipeline.FrozenModel{Spec: spec, Fitted: together}
	model, err := frozen.Fit(ctx, r.data)
	if err != nil {
		return r.warnNoEnsemble(ctx, err)
	}
	r.incumbent, r.finalTook = &fitted{r.leader, r.leader.size, r.data.Rows(), whole, model}, time.Since(began).Seconds()
	r.ensemble = &e
	return nil
}

// warnNoEnsemble records a warning that the ensemble cannot be fitted, unless the search has ended.
func (r *run) warnNoEnsemble(ctx context.Context, err error) error {
	if errors.Is(err, errEnded) || ctx.Err() != nil {
		return err
	}
	r.warnings = append(r.warnings, fmt.Sprintf("an ensemble would do better over the folds, but cannot be fitted: %v",
		err))
	return nil
}
