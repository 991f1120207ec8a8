// Package compare implements significance tests for the difference between two models.
//
//	classification   [McNemar]      rows that only one of two models classifies correctly
//	regression       [Paired]       differences of squared errors on the same rows
//	cross-validation [CorrectedT]   differences of scores on the same folds
//	multiple tests   [Holm]         adjusted p values
//
// All tests are paired: both models are evaluated on the same rows or folds. Differences are the
// second model minus the first. P values are two-sided, and confidence intervals have level
// 0.95. Rows are assumed to be independent. McNemar and Paired are conditional on the fitted
// models: they ignore the variance due to the training rows.
//
// [experiment.Compare] applies the suitable tests to finished runs.
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

	"github.com/bochner-ml/bochner/internal/learning/coverage"
)

// Test is the result of a significance test of two models.
type Test struct {
	Method     string  `json:"method"`
	Difference float64 `json:"difference"` // second minus first
	Low        float64 `json:"low"`        // confidence interval
	High       float64 `json:"high"`
	P          float64 `json:"p"`
}

// Values of Test.Method.
const (
	mcNemarExact      = "McNemar, exact binomial"
	mcNemarChiSquared = "McNemar, chi-squared with continuity correction"
	pairedTTest       = "paired t"
	correctedTTest    = "corrected resampled t"
)

// minChiSquaredRows is the number of discordant rows from which [McNemar] uses the χ²
// approximation.
const minChiSquaredRows = 25

// McNemar compares two classifiers on the same rows by their discordant pairs: b rows that only the
// first classifies correctly, and c rows that only the second does. Under the null hypothesis each
// is equally likely. For b+c < 25 the p value is from the binomial distribution, else from
// max(|b−c|−1, 0)²/(b+c), χ² with 1 degree of freedom (McNemar 1947; continuity correction of
// Edwards 1948). Difference is the difference of the accuracies, (c−b)/rows. Its interval is that
// of Agresti and Min (2005): Wald's, with ½ added to each cell of the 2×2 table.
//
// Cost: O(1). Counts must be ≥ 0 and at most rows in total.
func McNemar(onlyFirst, onlySecond, rows int) (Test, error) {
	var errs []error
	if onlyFirst < 0 || onlySecond < 0 {
		errs = append(errs, fmt.Errorf("compare: McNemar: discordant counts must be ≥ 0, got %d and %d", onlyFirst,
			onlySecond))
	}
	if rows < 1 {
		errs = append(errs, fmt.Errorf("compare: McNemar: rows must be ≥ 1, got %d", rows))
	} else if onlyFirst > rows-onlySecond {
		errs = append(errs,
			fmt.Errorf("compare: McNemar: discordant counts must be at most %d rows in total, got %d and %d", rows,
				onlyFirst, onlySecond))
	}
	if errs != nil {
		return Test{}, errors.Join(errs...)
	}
	b, c, n := float64(onlyFirst), float64(onlySecond), float64(rows)
	t := Test{Method: mcNemarExact, Difference: (c - b) / n, P: 1}
	if m := b + c; m >= minChiSquaredRows {
		t.Method = mcNemarChiSquared
		corrected := max(math.Abs(b-c)-1, 0)
		t.P = distuv.ChiSquared{K: 1}.Survival(corrected * corrected / m)
	} else if m > 0 {
		t.P = min(1, 2*distuv.Binomial{N: m, P: 0.5}.CDF(min(b, c)))
	}
	z := distuv.UnitNormal.Quantile((1 + coverage.TestLevel) / 2)
	center := (c - b) / (n + 2)
	half := z * math.Sqrt((b+c+1)/(n+2)-center*center) / math.Sqrt(n+2)
	t.Low, t.High = max(center-half, -1), min(center+half, 1)
	return t, nil
}

// Paired compares two regression models on the same rows by a paired t test of their squared
// errors, which tests the difference of the mean squared errors. The normal approximation is good
// for hundreds of rows; outliers on few rows make it unreliable.
//
// Memory: O(1). The zero value contains no rows.
type Paired struct {
	rows       int
	mean, sum2 float64 // mean of the differences, and sum of squares about it
}

// Add adds a row, given the errors (prediction − target) of the first and the second model.
func (p *Paired) Add(first, second float64) {
	d := (second - first) * (second + first) // second² − first²
	p.rows++
	step := d - p.mean
	p.mean += step / float64(p.rows)
	p.sum2 += step * (d - p.mean)
}

// Rows returns the number of rows added.
func (p *Paired) Rows() int { return p.rows }

// Test tests whether the mean squared errors differ. It returns an error for fewer than two rows,
// and for errors whose squares are not finite.
func (p *Paired) Test() (Test, error) {
	if p.rows < 2 {
		return Test{}, fmt.Errorf("compare: paired t: rows must be ≥ 2, got %d", p.rows)
	}
	n := float64(p.rows)
	return tTest("paired t", pairedTTest, p.mean, math.Sqrt(p.sum2/(n-1)/n), n-1)
}

// CorrectedT compares two models by the differences of their scores, second − first, on the same k
// folds or repeated splits with the given numbers of training and test rows. The standard t test
// ignores that training sets overlap, and rejects too often. The corrected resampled t test uses
// the variance (1/k + test/train)·s² of the mean in place of s²/k, with k−1 degrees of freedom
// (Nadeau and Bengio, "Inference for the generalization error", Machine Learning 52, 2003).
//
// It returns an error for fewer than two differences, for differences that are not finite, and for
// row numbers that are not positive.
func CorrectedT(differences []float64, train, test float64) (Test, error) {
	var errs []error
	if len(differences) < 2 {
		errs = append(errs, fmt.Errorf("compare: corrected t: folds must be ≥ 2, got %d", len(differences)))
	}
	if !(train > 0 && test > 0) || math.IsInf(train, 0) || math.IsInf(test, 0) {
		errs = append(errs, fmt.Errorf("compare: corrected t: training and test rows must be positive, got %v and %v",
			train, test))
	}
	k := float64(len(differences))
	mean, sum2 := 0.0, 0.0
	for i, d := range differences {
		if d-d != 0 {
			errs = append(errs, fmt.Errorf("compare: corrected t: differences[%d] must be finite, got %v", i, d))
		}
		mean += d / k
	}
	if errs != nil {
		return Test{}, errors.Join(errs...)
	}
	for _, d := range differences {
		sum2 += (d - mean) * (d - mean)
	}
	return tTest("corrected t", correctedTTest, mean, math.Sqrt((1/k+test/train)*sum2/(k-1)), k-1)
}

// tTest tests whether a mean with the given standard error is 0.
func tTest(where, method string, mean, stdErr, dof float64) (Test, error) {
	if mean-mean != 0 || stdErr-stdErr != 0 {
		return Test{}, fmt.Errorf("compare: %s: mean and standard error must be finite, got %v and %v", where, mean, stdErr)
	}
	t := Test{Method: method, Difference: mean, P: 1}
	d := distuv.StudentsT{Sigma: 1, Nu: dof}
	switch {
	case stdErr > 0:
		t.P = min(1, 2*d.CDF(-math.Abs(mean)/stdErr))
	case mean != 0:
		t.P = 0 // all differences are equal
	}
	half := stdErr * d.Quantile((1+coverage.TestLevel)/2)
	t.Low, t.High = mean-half, mean+half
	return t, nil
}

// Holm returns adjusted p values that control the family-wise error rate, also for dependent tests.
// In ascending order, it multiplies the k-th of m p values by m−k+1 and takes the running maximum
// (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
// Statistics 6, 1979). Values must be in [0, 1].
func Holm(p []float64) ([]float64, error) {
	var errs []error
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			errs = append(errs, fmt.Errorf("compare: Holm: p[%d] must be in [0, 1], got %v", i, v))
		}
	}
	if errs != nil {
		return nil, errors.Join(errs...)
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
