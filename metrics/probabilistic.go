package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
)

// probabilistic holds the metrics of how sure a model is: of standard deviations, intervals, sets, and quantiles.
var probabilistic = slices.Concat([]Metric{
	{
		Name: "nlpd", Aliases: []string{"negative_log_predictive_density"}, Task: datasets.Regression, Needs: Deviations, Func: nlpd,
		Doc: "Mean of -ln p(y), p being the normal density with the mean and the standard deviation that the model predicts.",
	},
	{
		Name: "coverage", Aliases: []string{"interval_coverage"}, Task: datasets.Regression, Needs: Intervals, GreaterIsBetter: true, Func: coverage,
		Doc: "Share of the rows whose target lies in the interval, the ends included. To be near the level of the intervals: read it beside mean_width.",
	},
	{
		Name: "mean_width", Aliases: []string{"mean_interval_width"}, Task: datasets.Regression, Needs: Intervals, Func: meanWidth,
		Doc: "Mean width of the intervals.",
	},
	{
		Name: "d2_absolute_error", Aliases: []string{"d2_absolute_error_score"}, Task: datasets.Regression, Needs: Predictions, GreaterIsBetter: true, Func: d2(0.5),
		Doc: "r2 of absolute errors: 1 - Σ|y-ŷ| / Σ|y-median|. For a constant truth 1 if every prediction is right, else 0.",
	},
	{
		Name: "set_coverage", Task: datasets.Classification, Needs: Sets, GreaterIsBetter: true, Func: setCoverage,
		Doc: "Share of the rows whose class is in the set. To be near the level of the sets: read it beside mean_set_size.",
	},
	{
		Name: "mean_set_size", Task: datasets.Classification, Needs: Sets, Func: meanSetSize,
		Doc: "Mean number of classes in a set.",
	},
}, quantileMetrics())

// quantileMetrics are those of some quantiles, for the list.
func quantileMetrics() (out []Metric) {
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

// quantileMetric is the metric of any quantile between 0 and 1: pinball_0.95 or d2_pinball_0.95.
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
			Name: name, Task: datasets.Regression, Needs: Predictions, GreaterIsBetter: true, Func: d2(q),
			Doc: fmt.Sprintf("r2 of the pinball loss of the %v-quantile: 1 - loss / loss of the best constant (scikit-learn, without weights: of an interpolated quantile). For a constant truth 1 if every prediction is right, else 0. Any number between 0 and 1 may stand for %v.", q, q),
		}, true
	case isLoss:
		return Metric{
			Name: name, Task: datasets.Regression, Needs: Predictions,
			Func: func(in Input) (float64, error) { return in.pinball(q), nil },
			Doc:  fmt.Sprintf("Pinball loss of predictions of the %v-quantile: mean of %v·(y-ŷ) where y is above ŷ, else of %.4g·(ŷ-y). Any number between 0 and 1 may stand for %v.", q, q, 1-q, q),
		}, true
	}
	return Metric{}, false
}

func nlpd(in Input) (float64, error) {
	return in.mean(func(i int) float64 {
		z := (in.Truth[i] - in.Predicted[i]) / in.Std[i]
		return math.Log(in.Std[i]) + z*z/2 + math.Log(2*math.Pi)/2
	}), nil
}

func coverage(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.Lower[i] <= in.Truth[i] && in.Truth[i] <= in.Upper[i]) }), nil
}

func meanWidth(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return in.Upper[i] - in.Lower[i] }), nil
}

func setCoverage(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return indicator(in.Sets.At(i, int(in.Truth[i])) != 0) }), nil
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

// pinball is the mean pinball loss of predictions of the q-quantile.
func (in Input) pinball(q float64) float64 {
	return in.mean(func(i int) float64 {
		d := in.Truth[i] - in.Predicted[i]
		return max(q*d, (q-1)*d)
	})
}

// d2 is 1 - the pinball loss over that of the best constant, which is a q-quantile of the truth.
func d2(q float64) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		if in.rows() < 2 {
			return 0, fmt.Errorf("%w: it takes 2 rows or more", ErrUndefined)
		}
		loss, constant := in.pinball(q), in
		constant.Predicted = slices.Repeat([]float64{in.quantile(q)}, in.rows())
		least := constant.pinball(q)
		if least == 0 {
			return indicator(loss == 0), nil
		}
		return 1 - loss/least, nil
	}
}

// quantile is the least target that a share q of the weight is at or below.
func (in Input) quantile(q float64) float64 {
	order, total := in.ordered(func(i int) float64 { return in.Truth[i] })
	var below sum
	enough := q * total * (1 - 0x1p-50)
	for _, o := range order {
		if below.add(in.weight(o.row)); below.value() >= enough {
			return o.score
		}
	}
	return order[len(order)-1].score
}
