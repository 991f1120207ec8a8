package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/stacking"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

const (
	maxMembers    = 6
	maxEven       = 10   // that count the same,
	evenBelow     = 3000 // rows with classes
	maxConcurrent = 40   // candidates among which members are looked for
	minWeight     = 0.03 // of a member that is of use
	crossedParts  = 5    // of the rows, by which weights are judged
	worthEnsemble = 0.02 // standard errors of the leader that an ensemble has to gain
	alikeTo       = 0.5  // members within this number of standard errors of the leader are considered equal
)

// ensemble is a set of members that together score better than the leader on out-of-fold rows.
type ensemble struct {
	members []scored
	weights []float64 // of their values, probabilities or scores
	score   float64
}

// combine looks whether several recipes together do better than the leader. Weights are judged on
// rows that they were not found by. Of few rows with classes, the best of many candidates leads by
// a row or two, which is chance: those that are as good as the leader then count the same: together
// they need not do better on these rows, but as well.
func (r *run) combine(members []scored) (ensemble, bool) {
	if r.even() {
		members = slices.DeleteFunc(slices.Clone(members), func(m scored) bool { return !r.near(m, r.leader, alikeTo) })
	}
	for len(members) >= 2 {
		c := r.crossingOf(members)
		c.even = r.even()
		w, shares := c.weights(func(int) bool { return true })
		least := minWeight
		if len(members) > maxMembers && !c.even { // sequentially, because each removal changes the weights of the others
			least = max(least, 1.001*slices.Min(shares))
		}
		kept := slices.Clone(members)[:0]
		for k, m := range members {
			if shares[k] >= least {
				kept = append(kept, m)
			}
		}
		if len(kept) == len(members) {
			score, err := r.crossed(c)
			alone, wrong := r.crossed(r.crossingOf([]scored{r.leader}))
			std := r.leader.std
			if !r.metric.GreaterIsBetter {
				std = -std
			}
			better := r.metric.Better(score, alone+worthEnsemble*std)
			if c.even { // no worse than by what is chance
				better = !r.metric.Better(alone-alikeTo*std, score)
			}
			return ensemble{members, w, score}, err == nil && wrong == nil && better
		}
		members = kept
	}
	return ensemble{}, false
}

// even reports whether members count the same.
func (r *run) even() bool { return r.classes > 0 && r.data.Rows() < evenBelow }

// bestOfRecipes returns the best of each recipe whose predictions are of the rows that the leader's are of, the best
// first.
func (r *run) bestOfRecipes() []scored {
	var out []scored
	for i := range r.table {
		if s, ok := r.best[i]; ok && r.speaksOfTheSame(s) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, r.compare)
	return out[:min(len(out), maxEven)]
}

// competitors returns the candidates among which members are looked for, the best first: of
// quantities several of a recipe, for kernels of several widths make up for each other.
func (r *run) competitors() []scored {
	if r.classes > 0 {
		return r.bestOfRecipes()
	}
	var out []scored
	for _, s := range r.log {
		if r.speaksOfTheSame(s) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, r.compare)
	out = slices.CompactFunc(out, func(a, b scored) bool { return a.point == b.point })
	return out[:min(len(out), maxConcurrent)]
}

// speaksOfTheSame reports whether the out-of-fold predictions of a candidate are stored and cover
// the rows of the leader.
func (r *run) speaksOfTheSame(s scored) bool {
	return r.leader.output != nil && s.on == r.leader.on && s.output != nil &&
		len(s.output)/s.outputs == len(r.leader.output)/r.leader.outputs
}

// crossing contains the out-of-fold outputs of the members, each rows × width, with the true
// values: values, probabilities if all have them, else scores with codes ±1, combined as in
// [meta.Ensemble].
type crossing struct {
	output   [][]float64
	truth    []float64
	rows     int
	width    int
	probable bool
	scores   bool
	even     bool   // whether all members count the same
	known    []bool // rows that all members predict
	weight   []float64
}

func (r *run) crossingOf(members []scored) crossing {
	data := r.part(r.leader.on)
	n := data.Rows()
	c := crossing{rows: n, width: 1, known: make([]bool, n), weight: data.Weights}
	c.probable = r.classes > 0 && !slices.ContainsFunc(members,
		func(m scored) bool { return !r.table[m.recipe].probabilities })
	c.scores = r.classes > 0 && !c.probable
	if r.classes > 2 || c.probable {
		c.width = r.classes
	}
	c.truth = make([]float64, n*c.width)
	for i, y := range data.Y {
		row := c.truth[i*c.width : (i+1)*c.width]
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
	for i := range c.known {
		c.known[i] = !slices.ContainsFunc(members, func(m scored) bool { return math.IsNaN(float64(m.output[i*m.outputs])) })
	}
	for _, m := range members {
		c.output = append(c.output, c.column(m, r.table[m.recipe].probabilities))
	}
	return c
}

// column returns the output of a member. Where others have scores, probabilities are replaced by
// their logarithms.
func (c crossing) column(m scored, probabilities bool) []float64 {
	out := make([]float64, c.rows*c.width)
	for i := range c.rows {
		output := m.output[i*m.outputs : (i+1)*m.outputs]
		for j := range c.width {
			v := 0.0
			switch at := i*c.width + j; {
			case !probabilities || c.probable:
				v = float64(output[j])
				out[at] = v
			case c.width == 1:
				out[at] = logOf(output[1]) - logOf(output[0])
			default:
				out[at] = logOf(output[j])
			}
		}
	}
	return out
}

// logOf is the logarithm of a probability, which may be 0.
func logOf(p float32) float64 { return math.Log(max(float64(p), 1e-12)) }

// weights returns the least-squares weights over the selected rows, and shares, their values for
// outputs of equal scale.
func (c crossing) weights(in func(row int) bool) (weights, shares []float64) {
	m := len(c.output)
	sums, output := stacking.NewSums(m), make([]float64, m)
	for i := range c.rows {
		if !c.known[i] || !in(i) {
			continue
		}
		w := 1.0
		if c.weight != nil {
			w = c.weight[i]
		}
		for at := i * c.width; at < (i+1)*c.width; at++ {
			for k := range output {
				output[k] = c.output[k][at]
			}
			sums.Add(w, output, c.truth[at])
		}
	}
	sharesOf := func() []float64 {
		if c.even {
			return slices.Repeat([]float64{1 / float64(m)}, m)
		}
		return sums.Weights(true)
	}
	if !c.scores {
		w := sharesOf()
		return w, w
	}
	sizes := sums.Sizes()
	sums.Scale(sizes)
	shares = sharesOf()
	weights = slices.Clone(shares)
	for k := range weights {
		weights[k] *= sizes[k]
	}
	return weights, shares
}

// crossed is the score of members together, whose weights are found without the rows that they are judged by.
func (r *run) crossed(c crossing) (float64, error) {
	data := r.part(r.leader.on)
	in := metrics.Input{Classes: r.classes}
	var together []float64
	for part := range crossedParts {
		w, _ := c.weights(func(row int) bool { return row%crossedParts != part })
		for i := part; i < c.rows; i += crossedParts {
			if !c.known[i] {
				continue
			}
			in.YTrue = append(in.YTrue, data.Y[i])
			if data.Weights != nil {
				in.Weights = append(in.Weights, data.Weights[i])
			}
			for at := i * c.width; at < (i+1)*c.width; at++ {
				v := 0.0
				for k := range w {
					v += w[k] * c.output[k][at]
				}
				together = append(together, v)
			}
		}
	}
	if len(in.YTrue) == 0 {
		return 0, errors.New("no row has predictions of all members")
	}
	c.judged(&in, together)
	return r.metric.Score(in)
}

// judged fills in what metrics read, from values, probabilities or scores.
func (c crossing) judged(in *metrics.Input, together []float64) {
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

// fitEnsemble fits the members to all rows, where they do better together and the time allows, then with wider maps,
// and reports whether there is such a model.
func (r *run) fitEnsemble(ctx context.Context) (bool, error) {
	found, ok, err := r.combineInTime(ctx, r.competitors())
	if !ok || err != nil {
		return false, err
	}
	if r.narrow(r.leader) {
		wide, err := r.widest(ctx, r.leader.point, widerShare*r.left())
		together, wrong := r.expectedMembers(ctx, found, moreSize)
		if err = errors.Join(err, wrong); err != nil || wide > r.leader.size && together > widerShare*r.left() {
			return false, err
		}
	}
	if err := r.fitMembers(ctx, found, 1); err != nil || r.ensemble == nil || !r.timed() {
		return r.ensemble != nil, err
	}
	wider := 1
	for wider*moreSize <= maxSize/firstSize {
		var took float64
		if took, err = r.expectedMembers(ctx, found, wider*moreSize); err != nil || took > widerShare*r.left() {
			break
		}
		wider *= moreSize
	}
	if wider > 1 && err == nil && r.mapsOf(found) {
		err = r.fitMembers(ctx, found, wider)
	}
	return true, err
}

// combineInTime looks for members that do better together and can be fitted in the time that is
// left: where they cannot, the slowest is left out and others take its place.
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
		if sum <= widerShare*r.left() {
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

// widened returns the point of a member with a map wider by a factor, as far as the rows permit.
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

// fitMembers fits an ensemble to all rows, with maps wider by a factor than those scored.
func (r *run) fitMembers(ctx context.Context, e ensemble, wider int) error {
	r.report(PhaseEnsemble)
	limited, cancel := r.until(ctx, r.lastMoment())
	defer cancel()
	spec := meta.NewEnsemble()
	spec.Weights, spec.Given = "given", e.weights
	var members []meta.FittedMember
	times := map[int]int{}
	for _, m := range e.members {
		one, fitting, err := r.wholeOf(limited, r.widened(m, wider))
		if err != nil {
			return orEnded(limited, err)
		}
		name := strings.ReplaceAll(r.table[m.recipe].String(), " ", "_")
		if times[m.recipe]++; times[m.recipe] > 1 {
			name = fmt.Sprintf("%s_%d", name, times[m.recipe])
		}
		spec.Members = append(spec.Members, meta.Member{Name: name, Estimator: one})
		model, err := fitting.Fit(limited, r.data)
		if err = orEnded(limited, err); err != nil {
			return r.alone(ctx, err)
		}
		members = append(members, meta.FittedMember{Name: name, Predictor: model})
	}
	together, err := spec.Combine(ctx, r.data, members, nil)
	if err != nil {
		return r.alone(ctx, err)
	}
	whole := pipeline.Sequence{}.Then(spec)
	frozen := whole
	frozen.Estimator = pipeline.FrozenModel{Spec: spec, Fitted: together}
	model, err := frozen.Fit(ctx, r.data)
	if err != nil {
		return r.alone(ctx, err)
	}
	r.incumbent = &fitted{r.leader, r.leader.size, r.data.Rows(), whole, model}
	r.ensemble = &e
	return nil
}

// alone notes why there is no ensemble, unless the search has ended.
func (r *run) alone(ctx context.Context, err error) error {
	if errors.Is(err, errEnded) || ctx.Err() != nil {
		return err
	}
	r.warnings = append(r.warnings, fmt.Sprintf("an ensemble would do better over the folds, but cannot be fitted: %v",
		err))
	return nil
}
