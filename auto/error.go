package auto

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
)

// stdError returns the standard error of the mean score of the folds on the given number of rows,
// √((1/J + ρ)·S²) with the sample variance S² of the J scores and ρ = test rows/training rows of a fold,
// because training rows of different folds overlap. (Nadeau and Bengio, Inference for the
// generalization error, Machine Learning 2003.) For the parts of the test rows of one fold, ρ is 0.
//
// Stratified folds have equal shares of the classes, so that S² is too small for models that mostly
// predict one class. The error of a share of rows is at least that of a binomial distribution.
func (r *run) stdError(s scored) float64 {
	d, err := r.divide(s.on)
	if err != nil {
		return math.NaN()
	}
	n, square := float64(len(s.Scores)), 0.0
	for _, v := range s.Scores {
		square += (v - s.mean) * (v - s.mean) / (n - 1)
	}
	variance := (1/n + d.overlap) * square
	if slices.Contains([]string{"accuracy", "error_rate", "top_2_accuracy", "top_5_accuracy"}, r.metric.Name) {
		variance = max(variance, s.mean*(1-s.mean)/d.counted)
	}
	return math.Sqrt(variance)
}

// optimism estimates by how much the best mean score of the candidates on the given rows exceeds its
// expectation on new rows, because it is the best, by a parametric bootstrap: the best score with
// additional noise less the score of the same candidate without, on average. The noise is normal, with
// the covariance whose diagonal [run.stdError] returns the root of. (Efron, The estimation of prediction
// error, JASA 2004.) The estimate is cautious: the scores of equally good candidates differ by chance,
// which makes it too small by a factor of at most about √2.
//
// A chosen entry whose score is lower than the best, such as an ensemble of candidates that are equal up
// to chance, has less optimism by the difference.
func (r *run) optimism(chosen Entry) float64 {
	const draws = 200
	list := slices.DeleteFunc(slices.Clone(r.log), func(s scored) bool {
		return s.on != chosen.Rows || math.IsNaN(s.mean)
	})
	if len(list) < 2 {
		return 0
	}
	leader := slices.MinFunc(list, r.compare)
	// The folds of an unstable candidate are far from normal. One that is on average far worse than the best in its
	// worst fold is left out.
	width := slices.Max(leader.Scores) - slices.Min(leader.Scores)
	worst := min(r.worth(slices.Min(leader.Scores)), r.worth(slices.Max(leader.Scores)))
	list = slices.DeleteFunc(list, func(s scored) bool { return r.worth(s.mean) < worst-width })
	n := float64(len(list[0].Scores))
	d, err := r.divide(chosen.Rows)
	if err != nil {
		return 0
	}
	scale := math.Sqrt((1/n + d.overlap) / (n - 1))
	rng := rand.New(rand.NewPCG(r.seed("optimism"), 1))
	noise := make([]float64, len(list[0].Scores))
	excess := 0.0
	deviations := make([][]float64, len(list))
	for i, s := range list {
		most := 0.0
		for _, v := range s.Scores {
			deviations[i] = append(deviations[i], r.worth(v)-r.worth(s.mean))
			most = max(most, r.worth(v)-r.worth(s.mean))
		}
		for k, v := range deviations[i] { // scores are bounded on the better side, where chance has less effect
			deviations[i][k] = max(v, -most)
		}
	}
	for range draws {
		for k := range noise {
			noise[k] = scale * rng.NormFloat64()
		}
		best, mean := math.Inf(-1), 0.0
		for i, s := range list {
			noisy := r.worth(s.mean)
			for k, v := range deviations[i] {
				noisy += noise[k] * v
			}
			if noisy > best {
				best, mean = noisy, r.worth(s.mean)
			}
		}
		excess += (best - mean) / draws
	}
	excess -= max(r.worth(leader.mean)-r.worth(chosen.Score), 0)
	return r.worth(max(excess, 0))
}

// pooled returns the mean score of out-of-fold predictions over the repetitions of cross-validation. Folds of a numeric
// target are scored together: a ratio or a root of sums of few rows is biased.
func (r *run) pooled(d *division, p estimator.Prediction) (float64, error) {
	whole := *d
	if r.classes == 0 {
		whole.scores = nil
		for parts := range slices.Chunk(d.scores, len(d.scores)/d.times) {
			whole.scores = append(whole.scores, slices.Concat(parts...))
		}
	}
	scores, err := r.scoresOf(&whole, func(k int) (estimator.Prediction, error) { return rowsOf(p, whole.scores[k]), nil })
	mean, _ := meanAndSpread(scores, 1)
	return mean, err
}

// estimateGain estimates by how much the score of the current model on new rows exceeds that of the folds: those of few
// rows are biased, and the model has more training rows. Folds whose training parts are cut to the same share give the
// slope of the learning curve, taken as a + b/n for n rows, as of parametric models. It is left out if the rows are
// ordered by time or held out once, if the folds do not divide all rows, or if the time is short.
func (r *run) estimateGain(ctx context.Context) error {
	in := r.incumbent
	d, err := r.divide(in.on)
	if err != nil || len(d.folds) == 1 || r.options.TimeOrdered || min(in.on, in.rows) < r.data.Rows() ||
		in.Output.Values == nil || r.Stopped() {
		return err
	}
	score, err := r.pooled(d, in.Output)
	if err != nil {
		return err
	}
	r.gain = score - in.mean
	cut, sum, sumCut := *d, 0.0, 0.0
	cut.cut, cut.folds = true, nil
	folds, _ := foldsOf(in.on)
	for k, f := range d.folds {
		parts, err := r.splitOnce(d.data.Select(f.Train), folds, uint64(k))
		if err != nil { // such as few groups
			return nil
		}
		train := make([]int, len(parts[0].Train))
		for i, at := range parts[0].Train {
			train[i] = f.Train[at]
		}
		cut.folds = append(cut.folds, datasets.Fold{Train: train, Test: f.Test})
		sum, sumCut = sum+float64(len(f.Train)), sumCut+float64(len(train))
	}
	left := r.secondsLeft() - in.later
	for _, m := range in.members {
		took, err := r.expected(ctx, in.on, []point{m.point})
		if left -= took; err != nil || r.timed() && left < 0 {
			return err
		}
	}
	trials := make([]*trial, len(in.members))
	err = r.Run(ctx, len(trials), func(i int) (p *searchloop.Proposal, err error) {
		trials[i], p = r.proposeOn(&cut, len(r.rounds), []point{in.members[i].point}, in.later)
		return p, nil
	})
	if errors.Is(err, searchloop.ErrEnded) && ctx.Err() == nil {
		return nil
	}
	var members []scored
	for _, t := range trials {
		if err != nil || t.out[0].Failed != "" {
			return err
		}
		members = append(members, t.out[0])
	}
	output := members[0].Output
	if len(members) > 1 {
		output, _, err = r.crossValidate(&cut, members)
	}
	if fewer, wrong := r.pooled(&cut, output); err == nil && wrong == nil {
		rows := float64(in.on * len(d.folds))
		r.gain += (score - fewer) * (1/sum - 1/rows) / (1/sumCut - 1/sum)
	}
	return nil
}
