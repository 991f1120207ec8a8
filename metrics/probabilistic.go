package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
)

// probabilisticMetrics are the metrics of standard deviations, intervals, prediction sets and
// quantiles.
var probabilisticMetrics = slices.Concat([]Metric{
	{
		Name: "nlpd", Aliases: []string{"negative_log_predictive_density"}, Task: datasets.Regression,
		Requires: RequiresStdDevs,
		Func:     nlpd,
		Doc:      "Mean of -ln p(y), p being the normal density with the predicted mean and standard deviation.",
	},
	{
		Name: "coverage", Aliases: []string{"interval_coverage"}, Task: datasets.Regression, Requires: RequiresIntervals,
		GreaterIsBetter: true, Func: coverage,
		Doc: "Fraction of targets in their closed prediction interval. It should be close to the nominal level; see " +
			"also mean_width.",
	},
	{
		Name: "mean_width", Aliases: []string{"mean_interval_width"}, Task: datasets.Regression, Requires: RequiresIntervals,
		Func: meanWidth,
		Doc:  "Mean width of the prediction intervals.",
	},
	{
		Name: "d2_absolute_error", Aliases: []string{"d2_absolute_error_score"}, Task: datasets.Regression,
		Requires: RequiresPredictions, GreaterIsBetter: true, Func: d2(0.5),
		Doc: "1 - Σ|y-ŷ| / Σ|y-median|. For constant targets 1 if all predictions are exact, else 0.",
	},
	{
		Name: "set_coverage", Task: datasets.Classification, Requires: RequiresSets, GreaterIsBetter: true,
		Func: setCoverage,
		Doc: "Fraction of rows whose class is in the prediction set. It should be close to the nominal level; see also " +
			"mean_set_size.",
	},
	{
		Name: "mean_set_size", Task: datasets.Classification, Requires: RequiresSets, Func: meanSetSize,
		Doc: "Mean number of classes in a prediction set.",
	},
}, listedQuantileMetrics())

// listedQuantileMetrics returns the quantile metrics that [All] contains.
func listedQuantileMetrics() (out []Metric) {
	for _, prefix := range []string{pinballPrefix, d2Prefix} {
		for _, q := range []string{"0.1", "0.5", "0.9"} {
			m, _ := quantileMetric(prefix + q)
			out = append(out, m)
		}
	}
	return out
}

const (
	pinballPrefix = "pinball_"
	d2Prefix      = "d2_pinball_"
)

// quantileMetric parses pinball_q and d2_pinball_q, 0 < q < 1, such as pinball_0.95.
func quantileMetric(name string) (Metric, bool) {
	number, isD2 := strings.CutPrefix(name, d2Prefix)
	isLoss := false
	if !isD2 {
		number, isLoss = strings.CutPrefix(name, pinballPrefix)
	}
	q, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || !(q > 0 && q < 1):
	case isD2:
		return Metric{
			Name: name, Task: datasets.Regression, Requires: RequiresPredictions, GreaterIsBetter: true, Func: d2(q),
			Doc: fmt.Sprintf("1 - pinball loss / pinball loss of the best constant, for the %v-quantile (scikit-learn "+
				"interpolates the quantile without weights). For constant targets 1 if all predictions are exact, else 0. Any "+
				"number between 0 and 1 can replace %v.", q, q),
		}, true
	case isLoss:
		return Metric{
			Name: name, Task: datasets.Regression, Requires: RequiresPredictions,
			Func: func(in Input) (float64, error) { return in.pinball(q), nil },
			Doc: fmt.Sprintf("Pinball loss of the %v-quantile: mean of %v·(y-ŷ) if y > ŷ, else %.4g·(ŷ-y). Any number "+
				"between 0 and 1 can replace %v.", q, q, 1-q, q),
		}, true
	}
	return Metric{}, false
}

func nlpd(in Input) (float64, error) {
	return in.mean(func(i int) float64 {
		z := (in.YTrue[i] - in.YPred[i]) / in.Std[i]
		return math.Log(in.Std[i]) + z*z/2 + math.Log(2*math.Pi)/2
	}), nil
}

func coverage(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.Lower[i] <= in.YTrue[i] && in.YTrue[i] <= in.Upper[i]) }), nil
}

func meanWidth(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return in.Upper[i] - in.Lower[i] }), nil
}

func setCoverage(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.Sets.At(i, int(in.YTrue[i])) != 0) }), nil
}

func meanSetSize(in Input) (float64, error) {
	return in.mean(func(i int) float64 {
		size := 0.0
		for _, v := range in.Sets.RawRowView(i) {
			size += indicator(v != 0)
		}
		return size
	}), nil
}

// pinball returns the mean pinball loss of predicted q-quantiles.
func (in Input) pinball(q float64) float64 {
	return in.mean(func(i int) float64 {
		d := in.YTrue[i] - in.YPred[i]
		return max(q*d, (q-1)*d)
	})
}

// d2 returns 1 − the pinball loss over that of the best constant, a q-quantile of the true values.
func d2(q float64) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		if in.rows() < 2 {
			return 0, fmt.Errorf("%w: rows must be at least 2", ErrUndefined)
		}
		loss, constant := in.pinball(q), in
		constant.YPred = slices.Repeat([]float64{in.quantile(q)}, in.rows())
		baseline := constant.pinball(q)
		if baseline == 0 {
			return indicator(loss == 0), nil
		}
		return 1 - loss/baseline, nil
	}
}

// quantile returns the weighted q-quantile of the true values: the smallest one whose cumulative
// weight is at least q.
func (in Input) quantile(q float64) float64 {
	order, total := in.sortedRows(func(i int) float64 { return in.YTrue[i] })
	var cumulative sum
	target := q * total * (1 - 0x1p-50)
	for _, o := range order {
		if cumulative.add(in.weight(o.row)); cumulative.value() >= target {
			return o.score
		}
	}
	return order[len(order)-1].score
}
