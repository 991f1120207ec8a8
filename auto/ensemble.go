package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

const (
	mostMembers   = 5
	memberFolds   = 3    // by which an ensemble finds its weights
	leastWeight   = 0.03 // of a member that is of use
	crossedParts  = 5    // of the rows, by which weights are judged
	worthEnsemble = 0.1  // standard errors of the leader that an ensemble has to gain
)

// ensemble is members that together do better than the leader, by what they said of rows they had not seen.
type ensemble struct {
	members []scored
	score   float64
}

// combine looks whether several recipes together do better than the leader. Weights are judged on rows that
// they were not found by. Rows in the order of time are left alone: weights would be found by shuffled folds.
func (r *run) combine() (ensemble, bool) {
	if r.options.Timed || r.leader.said == nil {
		return ensemble{}, false
	}
	members := r.alike()
	for len(members) >= 2 {
		c := r.columnsOf(members)
		w := c.weights(func(int) bool { return true })
		kept := slices.Clone(members)
		kept = kept[:0]
		for k, m := range members {
			if w[k] >= leastWeight {
				kept = append(kept, m)
			}
		}
		if len(kept) == len(members) {
			score, err := r.crossed(c)
			alone, wrong := r.crossed(r.columnsOf(members[:1]))
			if members[0].point != r.leader.point {
				alone, wrong = r.crossed(r.columnsOf([]scored{r.leader}))
			}
			margin := worthEnsemble * r.leader.std
			if !r.metric.GreaterIsBetter {
				margin = -margin
			}
			return ensemble{members, score}, err == nil && wrong == nil && r.metric.Better(score, alone+margin)
		}
		members = kept
	}
	return ensemble{}, false
}

// alike returns the best of each recipe whose predictions are of the rows that the leader's are of, the best
// first.
func (r *run) alike() []scored {
	var out []scored
	for i := range r.table {
		if s, ok := r.best[i]; ok && s.on == r.leader.on && s.said != nil && len(s.said)/s.outputs == len(r.leader.said)/r.leader.outputs {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, r.compare)
	return out[:min(len(out), mostMembers)]
}

// crossing is what members say of rows, each as rows × outputs numbers, beside the truth.
type crossing struct {
	said          [][]float64
	truth         []float64
	rows, outputs int
	known         []bool // rows that all members speak of
	weight        []float64
}

// columnsOf brings the predictions of members to numbers that can be added: values of a quantity, or codes −1
// and 1 of classes, one column for two classes.
func (r *run) columnsOf(members []scored) crossing {
	data := r.part(r.leader.on)
	n := data.Rows()
	c := crossing{rows: n, outputs: 1, known: make([]bool, n), weight: data.Weights}
	if r.classes > 2 {
		c.outputs = r.classes
	}
	c.truth = make([]float64, n*c.outputs)
	for i, y := range data.Y {
		switch {
		case r.classes == 0:
			c.truth[i] = y
		case r.classes == 2:
			c.truth[i] = 2*y - 1
		default:
			for j := range c.outputs {
				c.truth[i*c.outputs+j] = -1
			}
			c.truth[i*c.outputs+int(y)] = 1
		}
	}
	for i := range c.known {
		c.known[i] = !slices.ContainsFunc(members, func(m scored) bool { return math.IsNaN(float64(m.said[i*m.outputs])) })
	}
	for _, m := range members {
		c.said = append(c.said, c.column(m, r.table[m.recipe].probabilities))
	}
	return c
}

// column is what a member says. Scores are brought to the size by which they are nearest to the codes.
func (c crossing) column(m scored, probabilities bool) []float64 {
	out := make([]float64, c.rows*c.outputs)
	for i := range c.rows {
		for j := range c.outputs {
			at := i*m.outputs + j
			if m.outputs == 2 {
				at++ // the probability of the second class
			}
			out[i*c.outputs+j] = float64(m.said[at])
			if probabilities {
				out[i*c.outputs+j] = 2*out[i*c.outputs+j] - 1
			}
		}
	}
	if probabilities || c.outputs == 1 && m.outputs == 1 && !c.codes() {
		return out
	}
	along, square := 0.0, 0.0
	for k, v := range out {
		if c.known[k/c.outputs] {
			along += v * c.truth[k]
			square += v * v
		}
	}
	if square > 0 && along > 0 {
		for k := range out {
			out[k] *= along / square
		}
	}
	return out
}

// codes reports whether the truth is of classes.
func (c crossing) codes() bool {
	return !slices.ContainsFunc(c.truth, func(v float64) bool { return v != 1 && v != -1 })
}

// weights are those of least squared error with sum 1 over the rows in question.
func (c crossing) weights(in func(row int) bool) []float64 {
	m := len(c.said)
	Q := make([]float64, m*m)
	off := make([]float64, m)
	for i := range c.rows {
		if !c.known[i] || !in(i) {
			continue
		}
		w := 1.0
		if c.weight != nil {
			w = c.weight[i]
		}
		for j := range c.outputs {
			for k := range off {
				off[k] = c.said[k][i*c.outputs+j] - c.truth[i*c.outputs+j]
			}
			for a := range m {
				for b := range m {
					Q[a*m+b] += w * off[a] * off[b]
				}
			}
		}
	}
	return solve.OnSimplex(Q, m)
}

// crossed is the score of members together, whose weights are found without the rows that they are judged by.
func (r *run) crossed(c crossing) (float64, error) {
	data := r.part(r.leader.on)
	in := metrics.Input{Classes: r.classes}
	var together []float64
	for part := range crossedParts {
		w := c.weights(func(row int) bool { return row%crossedParts != part })
		for i := part; i < c.rows; i += crossedParts {
			if !c.known[i] {
				continue
			}
			in.Truth = append(in.Truth, data.Y[i])
			if data.Weights != nil {
				in.Weights = append(in.Weights, data.Weights[i])
			}
			for j := range c.outputs {
				v := 0.0
				for k := range w {
					v += w[k] * c.said[k][i*c.outputs+j]
				}
				together = append(together, v)
			}
		}
	}
	if len(in.Truth) == 0 {
		return 0, errors.New("no row that all speak of")
	}
	r.judged(&in, together, c.outputs)
	return r.metric.Score(in)
}

// judged fills in what metrics read, from values or codes.
func (r *run) judged(in *metrics.Input, together []float64, outputs int) {
	n := len(in.Truth)
	if in.Predicted = together; r.classes == 0 {
		return
	}
	in.Scores = mat.NewDense(n, outputs, together)
	in.Predicted = make([]float64, n)
	in.Probabilities = mat.NewDense(n, r.classes, nil)
	for i := range n {
		row := in.Scores.RawRowView(i)
		if outputs == 1 {
			p := min(max((row[0]+1)/2, 0), 1)
			in.Probabilities.SetRow(i, []float64{1 - p, p})
			if row[0] > 0 {
				in.Predicted[i] = 1
			}
			continue
		}
		sum, best := 0.0, 0
		for j, v := range row {
			if v > row[best] {
				best = j
			}
			sum += max((v+1)/2, 0)
		}
		for j, v := range row {
			share := 1 / float64(outputs)
			if sum > 0 {
				share = max((v+1)/2, 0) / sum
			}
			in.Probabilities.Set(i, j, share)
		}
		in.Predicted[i] = float64(best)
	}
}

// fitEnsemble fits the members to all rows and finds their weights, where that helps and the time allows, and
// reports whether it did.
func (r *run) fitEnsemble(ctx context.Context) (bool, error) {
	found, ok := r.combine()
	if !ok {
		return false, nil
	}
	sizes, err := r.memberSizes(ctx, found.members)
	if err != nil || sizes == nil {
		return false, err
	}
	spec := meta.NewEnsemble()
	spec.Folds, spec.Seed = memberFolds, r.seed("ensemble")
	for k, m := range found.members {
		at := m.point
		at.size = sizes[k]
		one, err := r.pipelineOf(ctx, at)
		if err != nil {
			return false, err
		}
		spec.Members = append(spec.Members, meta.Member{Name: fmt.Sprintf("member%d", k+1), Estimator: one})
	}
	r.report("ensemble")
	whole := pipeline.Sequence{}.Then(spec)
	stoppable, cancel := r.untilStopped(ctx)
	defer cancel()
	model, err := whole.Fit(stoppable, r.data)
	switch {
	case stoppable.Err() != nil && ctx.Err() == nil:
		r.ended = EndedStopped
		return false, nil
	case err != nil:
		r.warnings = append(r.warnings, fmt.Sprintf("an ensemble would do better over the folds, but cannot be fitted: %v", err))
		return false, ctx.Err()
	}
	r.incumbent = &fitted{r.leader, r.leader.size, r.data.Rows(), whole, model}
	r.ensemble = &found
	return true, nil
}

// memberSizes are the largest sizes of members' maps that the time allows, nil where it allows none of them.
func (r *run) memberSizes(ctx context.Context, members []scored) ([]int, error) {
	limit := 0.6 * r.left() / float64(len(members)*(memberFolds+1))
	sizes := make([]int, len(members))
	for k, m := range members {
		took, err := r.expectedFit(ctx, m.point)
		if err != nil || r.timed() && took > limit {
			return nil, err
		}
		if sizes[k], err = r.widest(ctx, m.point, limit); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}
