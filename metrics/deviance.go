package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
)

const (
	tweediePrefix   = "mean_tweedie_deviance_"
	d2TweediePrefix = "d2_tweedie_"
)

// devianceMetrics are the metrics of positive predictions of counts and of skewed targets.
var devianceMetrics = []Metric{
	deviance("mean_poisson_deviance", 1, "Mean of 2·(y·ln(y/ŷ) - y + ŷ), for targets ≥ 0 and predictions > 0."),
	deviance("mean_gamma_deviance", 2, "Mean of 2·(ln(ŷ/y) + y/ŷ - 1), for targets and predictions > 0."),
	listedMetric(tweedieMetric(tweediePrefix + "1.5")),
	d2Deviance("d2_poisson", 1, "mean_poisson_deviance", ""),
	d2Deviance("d2_gamma", 2, "mean_gamma_deviance", ""),
	listedMetric(tweedieMetric(d2TweediePrefix + "1.5")),
}

func listedMetric(m Metric, _ bool) Metric { return m }

// tweedieMetric parses mean_tweedie_deviance_p and d2_tweedie_p, p ≥ 1.
func tweedieMetric(name string) (Metric, bool) {
	number, isD2 := strings.CutPrefix(name, d2TweediePrefix)
	isLoss := false
	if !isD2 {
		number, isLoss = strings.CutPrefix(name, tweediePrefix)
	}
	power, err := strconv.ParseFloat(number, 64)
	if err != nil || !isD2 && !isLoss || !(power >= 1) || math.IsInf(power, 0) {
		return Metric{}, false
	}
	replace := fmt.Sprintf(" Any number ≥ 1 can replace %v.", power)
	if isD2 {
		return d2Deviance(name, power, tweediePrefix+number, replace), true
	}
	return deviance(name, power, fmt.Sprintf("Mean Tweedie deviance with variance proportional to the mean to the power "+
		"%v: 1 is Poisson, 2 gamma.%s", power, replace)), true
}

// deviance returns the metric of the mean unit deviance of a Tweedie distribution.
func deviance(name string, power float64, doc string) Metric {
	return Metric{Name: name, Task: datasets.Regression, Requires: RequiresPredictions, Doc: doc,
		Func: func(in Input) (float64, error) { return in.deviance(power) }}
}

// d2Deviance returns the metric of the explained fraction of a deviance.
func d2Deviance(name string, power float64, of, replace string) Metric {
	return Metric{Name: name, Task: datasets.Regression, Requires: RequiresPredictions, GreaterIsBetter: true,
		Doc: fmt.Sprintf("1 - %s / %[1]s of the mean target. For constant targets 1 if all predictions are exact, "+
			"else 0.%s", of, replace),
		Func: func(in Input) (float64, error) {
			if in.rows() < 2 {
				return 0, fmt.Errorf("%w: rows must be at least 2", ErrUndefined)
			}
			loss, err := in.deviance(power)
			if err != nil {
				return 0, err
			}
			target := func(i int) float64 { return in.YTrue[i] }
			if in.variance(target) == 0 {
				return indicator(loss == 0), nil
			}
			constant := in
			constant.YPred = slices.Repeat([]float64{in.mean(target)}, in.rows())
			baseline, err := constant.deviance(power)
			return 1 - loss/baseline, err
		}}
}

// deviance returns the mean unit deviance of a Tweedie distribution. It fails on predictions that
// are not positive, and on targets outside the support of the distribution.
func (in Input) deviance(power float64) (float64, error) {
	for i, y := range in.YTrue {
		switch {
		case power < 2 && y < 0:
			return 0, fmt.Errorf("targets must be ≥ 0, got %v", y)
		case power >= 2 && y <= 0:
			return 0, fmt.Errorf("targets must be > 0, got %v", y)
		case in.YPred[i] <= 0:
			return 0, fmt.Errorf("predictions must be > 0, got %v", in.YPred[i])
		}
	}
	return in.mean(func(i int) float64 { return unitDeviance(power, in.YTrue[i], in.YPred[i]) }), nil
}

// unitDeviance returns the deviance of one target, at least 0. (Jørgensen, JRSS B 1987.)
func unitDeviance(power, y, mu float64) float64 {
	half := 0.0
	switch power {
	case 1:
		half = mu - y
		if y > 0 {
			half += y * math.Log(y/mu)
		}
	case 2:
		half = math.Log(mu/y) + y/mu - 1
	default:
		a, b := 1-power, 2-power
		half = math.Pow(y, b)/(a*b) - y*math.Pow(mu, a)/a + math.Pow(mu, b)/b
	}
	return max(0, 2*half)
}
