package auto

import (
	"math"
	"math/rand/v2"
	"slices"
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
	for range draws {
		for k := range noise {
			noise[k] = scale * rng.NormFloat64()
		}
		best, mean := math.Inf(-1), 0.0
		for _, s := range list {
			noisy := s.mean
			for k, v := range s.Scores {
				noisy += noise[k] * (v - s.mean)
			}
			if noisy = r.worth(noisy); noisy > best {
				best, mean = noisy, r.worth(s.mean)
			}
		}
		excess += (best - mean) / draws
	}
	excess -= max(r.worth(leader.mean)-r.worth(chosen.Score), 0)
	return r.worth(max(excess, 0))
}
