// Package compare says whether one model is better than another by more than chance: numbers in, numbers out.
//
//	classes   [McNemar]      rows that only one of two models gets right
//	numbers   [Paired]       differences of the squared errors of the same rows
//	folds     [CorrectedT]   differences of the scores of the same folds
//	several   [Holm]         p values of more comparisons than one
//
// All of them compare pairs, of the same rows or the same folds: what is hard for both says nothing of either, and
// falls out. A difference is always that of the second minus the first. The p value is two-sided: how often two equally
// good models differ by at least as much. The interval holds the difference with 95 % confidence. Rows are taken for
// independent draws, and models for what they are: McNemar and Paired do not say what other training rows would have
// changed.
//
// [experiment.Compare] reads finished runs and makes the tests that suit them.
//
// [experiment.Compare]: https://pkg.go.dev/github.com/bochner-ml/bochner/experiment#Compare
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Level is the confidence of all intervals.
const Level = 0.95

// Test is what a test of two models says.
type Test struct {
	Method     string  `json:"method"`
	Difference float64 `json:"difference"` // the second minus the first
	Low        float64 `json:"low"`        // ends of the interval
	High       float64 `json:"high"`
	P          float64 `json:"p"`
}

// The methods of tests.
const (
	mcNemarExact      = "McNemar, exact binomial"
	mcNemarChiSquared = "McNemar, chi-squared with continuity correction"
	pairedTTest       = "paired t"
	correctedTTest    = "corrected resampled t"
)

// few is the number of rows that only one of two models gets right from which on [McNemar] goes by chi-squared.
const few = 25

// McNemar compares two classifiers on the same rows by those that only one of them gets right, b by the first and c by
// the second. Of equally good models each gets such a row with probability ½. With b+c < 25 the p value is that of the
// binomial distribution, else that of max(|b−c|−1, 0)²/(b+c) by χ² with one degree of freedom (McNemar 1947, with the
// correction of Edwards 1948): the corrected difference is at least 0, so that b = c has the p value 1. Difference is
// that of the accuracies, (c−b)/rows, and its interval that of Agresti and Min (2005): the one of Wald with ½ added to each cell of the table of right and wrong.
//
// It takes constant time. Negative counts, and more of them than rows, are errors.
func McNemar(onlyFirst, onlySecond, rows int) (Test, error) {
	var wrong []error
	if onlyFirst < 0 || onlySecond < 0 {
		wrong = append(wrong, fmt.Errorf("compare: McNemar: %d rows that only the first gets right and %d that only the second does, wanted counts", onlyFirst, onlySecond))
	}
	if rows < 1 {
		wrong = append(wrong, fmt.Errorf("compare: McNemar: %d rows, wanted some", rows))
	} else if onlyFirst > rows-onlySecond {
		wrong = append(wrong, fmt.Errorf("compare: McNemar: %d and %d rows that only one gets right are more than %d rows", onlyFirst, onlySecond, rows))
	}
	if wrong != nil {
		return Test{}, errors.Join(wrong...)
	}
	b, c, n := float64(onlyFirst), float64(onlySecond), float64(rows)
	t := Test{Method: mcNemarExact, Difference: (c - b) / n, P: 1}
	if m := b + c; m >= few {
		t.Method = mcNemarChiSquared
		off := max(math.Abs(b-c)-1, 0)
		t.P = distuv.ChiSquared{K: 1}.Survival(off * off / m)
	} else if m > 0 {
		t.P = min(1, 2*distuv.Binomial{N: m, P: 0.5}.CDF(min(b, c)))
	}
	z := distuv.UnitNormal.Quantile((1 + Level) / 2)
	middle := (c - b) / (n + 2)
	half := z * math.Sqrt((b+c+1)/(n+2)-middle*middle) / math.Sqrt(n+2)
	t.Low, t.High = max(middle-half, -1), min(middle+half, 1)
	return t, nil
}

// Paired compares two models of numbers on the same rows by a paired t test of their squared errors: whether the mean of
// the differences is 0. It is a test of what the mean squared error measures; the signed ranks of Wilcoxon would ask for
// the median difference, which may point the other way where few rows have large errors, and need all rows at once. With
// hundreds of rows the distribution of the differences does not matter; with few and large outliers trust it less.
//
// Rows are added one by one, in constant memory. The zero value has none.
type Paired struct {
	rows       int
	mean, sum2 float64 // of the differences; sum of squares about the mean
}

// Add adds a row by the errors, prediction − truth, of the first and of the second model.
func (p *Paired) Add(first, second float64) {
	d := (second - first) * (second + first) // = second² − first²
	p.rows++
	step := d - p.mean
	p.mean += step / float64(p.rows)
	p.sum2 += step * (d - p.mean)
}

// Rows is the number of rows added.
func (p *Paired) Rows() int { return p.rows }

// Test says whether the mean squared errors differ. Fewer rows than two are an error, and so are errors that are not
// finite or whose squares are not.
func (p *Paired) Test() (Test, error) {
	if p.rows < 2 {
		return Test{}, fmt.Errorf("compare: paired t: %d rows, wanted at least 2", p.rows)
	}
	n := float64(p.rows)
	return student("paired t", pairedTTest, p.mean, math.Sqrt(p.sum2/(n-1)/n), n-1)
}

// CorrectedT compares two models by the differences of their scores, second − first, on the same k test folds of
// cross-validation, or of other repeated splits, each with train rows to learn from and test rows to score. The t test
// of such differences takes them for independent, though their training rows overlap, and finds far too many differences.
// Here the variance of the mean is (1/k + test/train)·s² in place of s²/k (Nadeau and Bengio, Inference for the
// generalization error, Machine Learning 52, 2003), with k−1 degrees of freedom.
//
// Fewer differences than two, ones that are not finite, and numbers of rows that are not positive are errors.
func CorrectedT(differences []float64, train, test float64) (Test, error) {
	var wrong []error
	if len(differences) < 2 {
		wrong = append(wrong, fmt.Errorf("compare: corrected t: %d folds, wanted at least 2", len(differences)))
	}
	if !(train > 0 && test > 0) || math.IsInf(train, 0) || math.IsInf(test, 0) {
		wrong = append(wrong, fmt.Errorf("compare: corrected t: folds of %v rows to train on and %v to test on, wanted positive numbers", train, test))
	}
	k := float64(len(differences))
	mean, sum2 := 0.0, 0.0
	for i, d := range differences {
		if d-d != 0 {
			wrong = append(wrong, fmt.Errorf("compare: corrected t: the difference of fold %d is %v, wanted a finite number", i, d))
		}
		mean += d / k
	}
	if wrong != nil {
		return Test{}, errors.Join(wrong...)
	}
	for _, d := range differences {
		sum2 += (d - mean) * (d - mean)
	}
	return student("corrected t", correctedTTest, mean, math.Sqrt((1/k+test/train)*sum2/(k-1)), k-1)
}

// student is a t test of whether a mean with that standard error is 0.
func student(where, method string, mean, deviation, free float64) (Test, error) {
	if mean-mean != 0 || deviation-deviation != 0 {
		return Test{}, fmt.Errorf("compare: %s: differences with mean %v and standard error %v, wanted finite numbers", where, mean, deviation)
	}
	t := Test{Method: method, Difference: mean, P: 1}
	d := distuv.StudentsT{Sigma: 1, Nu: free}
	switch {
	case deviation > 0:
		t.P = min(1, 2*d.CDF(-math.Abs(mean)/deviation))
	case mean != 0:
		t.P = 0 // all differ by the same
	}
	half := deviation * d.Quantile((1+Level)/2)
	t.Low, t.High = mean-half, mean+half
	return t, nil
}

// Holm returns p values of several tests such that whoever takes each below a level for a difference is wrong with any of
// them no more often than that level says: in rising order the k-th of m is multiplied by m−k+1, and none is below the one
// before it (Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979).
// The tests may depend on each other. A value that is no probability is an error.
func Holm(p []float64) ([]float64, error) {
	var wrong []error
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			wrong = append(wrong, fmt.Errorf("compare: Holm: value %d is %v, wanted one from 0 to 1", i, v))
		}
	}
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out, last := make([]float64, len(p)), 0.0
	for k, i := range order {
		last = max(last, min(1, p[i]*float64(len(p)-k)))
		out[i] = last
	}
	return out, nil
}
