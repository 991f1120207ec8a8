package auto

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// stdError returns the standard error of the mean score of the folds on the given number of rows,
// √((1/J + ρ)·S²) with the sample variance S² of the J scores and ρ = test rows/training rows of a fold,
// because training rows of different folds overlap. (Nadeau and Bengio, Inference for the
// generalization error, Machine Learning 2003.) Folds that share their training rows are parts of one
// test set, for which ρ is 0.
//
// Stratified folds have equal shares of the classes, so that S² is too small for models that mostly
// predict one class. The error of a share of rows is at least that of a binomial distribution.
func (r *run) stdError(s scored) float64 {
	t := r.errorTermsOf(s.on)
	n, square := float64(len(s.folds)), 0.0
	for _, v := range s.folds {
		square += (v - s.mean) * (v - s.mean) / (n - 1)
	}
	variance := (1/n + t.overlap) * square
	if slices.Contains([]string{"accuracy", "error_rate", "top_2_accuracy", "top_5_accuracy"}, r.metric.Name) {
		variance = max(variance, s.mean*(1-s.mean)/t.tested)
	}
	return math.Sqrt(variance)
}

// errorTerms are the terms of the standard error of a score that depend on the folds only.
type errorTerms struct {
	overlap float64 // test rows/training rows of a fold; 0 if the folds share their training rows
	tested  float64 // number of distinct test rows, (Σw)²/Σw² of weights w
}

// errorTermsOf returns the terms for the first n rows, whose folds are known.
func (r *sample) errorTermsOf(n int) errorTerms {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors[n]
}

func newErrorTerms(weights []float64, folds []datasets.Fold) (out errorTerms) {
	test, train, sum, squares := 0, 0, 0.0, 0.0
	tested := map[int]bool{}
	for _, f := range folds {
		test, train = test+len(f.Test), train+len(f.Train)
		for _, i := range f.Test {
			if tested[i] {
				continue
			}
			w := 1.0
			if weights != nil {
				w = weights[i]
			}
			tested[i], sum, squares = true, sum+w, squares+w*w
		}
	}
	if out.tested = sum * sum / squares; !sameTraining(folds[0], folds[len(folds)-1]) {
		out.overlap = float64(test) / float64(train)
	}
	return out
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
	var list []scored
	for _, s := range r.log {
		if s.on == chosen.Rows && !math.IsNaN(s.mean) {
			list = append(list, s)
		}
	}
	if len(list) < 2 {
		return 0
	}
	// The folds of an unstable candidate are far from normal. One that is on average far worse than the best in its
	// worst fold is left out.
	leader := list[r.bestOf(list)]
	lo, hi := slices.Min(leader.folds), slices.Max(leader.folds)
	lo, hi = lo-(hi-lo), hi+(hi-lo)
	list = slices.DeleteFunc(list, func(s scored) bool {
		return r.metric.GreaterIsBetter && s.mean < lo || !r.metric.GreaterIsBetter && s.mean > hi
	})
	n := float64(len(list[0].folds))
	scale := math.Sqrt((1/n + r.errorTermsOf(chosen.Rows).overlap) / (n - 1))
	rng := rand.New(rand.NewPCG(r.seed("optimism"), 1))
	noise := make([]float64, len(list[0].folds))
	excess, noisy := 0.0, slices.Clone(list)
	for range draws {
		for k := range noise {
			noise[k] = scale * rng.NormFloat64()
		}
		for i, s := range list {
			noisy[i].mean = s.mean
			for k, v := range s.folds {
				noisy[i].mean += noise[k] * (v - s.mean)
			}
		}
		at := r.bestOf(noisy)
		excess += (noisy[at].mean - list[at].mean) / draws
	}
	if r.metric.Better(leader.mean, chosen.Score) {
		excess -= leader.mean - chosen.Score
	}
	if excess > 0 != r.metric.GreaterIsBetter {
		return 0
	}
	return excess
}
