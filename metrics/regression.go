package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// regressionMetrics are the metrics of predicted targets; [Metric.Score] averages several targets.
var regressionMetrics = []Metric{
	{
		Name: "r2", Aliases: []string{"r2_score"}, Task: datasets.Regression, Requires: RequiresPredictions,
		GreaterIsBetter: true, Func: fromMSE(explainedFraction),
		Doc: "Coefficient of determination, 1 - Σ(y-ŷ)² / Σ(y-ȳ)². For constant targets 1 if all predictions are exact, " +
			"else 0.",
	},
	{
		Name: "explained_variance", Aliases: []string{"explained_variance_score"}, Task: datasets.Regression,
		Requires: RequiresPredictions, GreaterIsBetter: true, Func: explainedVariance,
		Doc: "1 - Var(y-ŷ) / Var(y): r2 without the effect of a constant offset. For constant targets 1 if the offset " +
			"is constant, else 0.",
	},
	{
		Name: "mean_squared_error", Aliases: []string{"mse"}, Task: datasets.Regression, Requires: RequiresPredictions,
		Func: fromMSE(meanSquaredError),
		Doc:  "Mean of (y-ŷ)².",
	},
	{
		Name: "root_mean_squared_error", Aliases: []string{"rmse"}, Task: datasets.Regression, Requires: RequiresPredictions,
		Func: fromMSE(rootMeanSquaredError),
		Doc:  "Root of the mean of (y-ŷ)².",
	},
	{
		Name: "relative_rmse", Task: datasets.Regression, Requires: RequiresPredictions, Func: fromMSE(relativeRMSE),
		Doc: "‖y-ŷ‖ / ‖y‖, the relative error of Rahimi & Recht (2007).",
	},
	{
		Name: "mean_absolute_error", Aliases: []string{"mae"}, Task: datasets.Regression, Requires: RequiresPredictions,
		Func: meanAbsoluteError,
		Doc:  "Mean of |y-ŷ|.",
	},
	{
		Name: "median_absolute_error", Aliases: []string{"median_ae"}, Task: datasets.Regression,
		Requires: RequiresPredictions,
		Func:     medianAbsoluteError,
		Doc: "Median of |y-ŷ|. If two errors split the weight in halves, their mean, also with weights (scikit-learn " +
			"then takes the lower).",
	},
	{
		Name: "max_error", Task: datasets.Regression, Requires: RequiresPredictions, Func: maxError,
		Doc: "Maximum of |y-ŷ| over the rows of positive weight.",
	},
	{
		Name: "mean_absolute_percentage_error", Aliases: []string{"mape"}, Task: datasets.Regression,
		Requires: RequiresPredictions, Func: meanAbsolutePercentageError,
		Doc: "Mean of |y-ŷ| / max(|y|, 2⁻⁵²), as a fraction: 0.05 is 5 %.",
	},
	{
		Name: "mean_squared_log_error", Aliases: []string{"msle"}, Task: datasets.Regression, Requires: RequiresPredictions,
		Func: meanSquaredLogError,
		Doc:  "Mean of (ln(1+y) - ln(1+ŷ))², for targets and predictions ≥ 0.",
	},
	{
		Name: "root_mean_squared_log_error", Aliases: []string{"rmsle"}, Task: datasets.Regression,
		Requires: RequiresPredictions,
		Func:     rootMeanSquaredLogError,
		Doc:      "Root of the mean of (ln(1+y) - ln(1+ŷ))², for targets and predictions ≥ 0.",
	},
}

func (in Input) squaredError(i int) float64 {
	d := in.YTrue[i] - in.YPred[i]
	return d * d
}

func (in Input) absoluteError(i int) float64 { return math.Abs(in.YTrue[i] - in.YPred[i]) }

// fromMSE returns the Func of a metric that depends on the predictions through the mean squared
// error only.
func fromMSE(of func(in Input, mean float64) (float64, error)) func(Input) (float64, error) {
	return func(in Input) (float64, error) { return of(in, in.mean(in.squaredError)) }
}

func meanSquaredError(_ Input, mean float64) (float64, error) { return mean, nil }

func rootMeanSquaredError(_ Input, mean float64) (float64, error) { return math.Sqrt(mean), nil }

func meanAbsoluteError(in Input) (float64, error) { return in.mean(in.absoluteError), nil }

func relativeRMSE(in Input, mean float64) (float64, error) {
	norm := in.mean(func(i int) float64 { return in.YTrue[i] * in.YTrue[i] })
	if norm == 0 {
		return 0, fmt.Errorf("%w: every target is 0", ErrUndefined)
	}
	return math.Sqrt(mean / norm), nil
}

func explainedVariance(in Input) (float64, error) {
	return explainedFraction(in, in.variance(func(i int) float64 { return in.YTrue[i] - in.YPred[i] }))
}

// explainedFraction returns 1 - residual / Var(y), with scikit-learn's convention for constant
// targets.
func explainedFraction(in Input, residual float64) (float64, error) {
	if in.rows() < 2 {
		return 0, fmt.Errorf("%w: rows must be at least 2", ErrUndefined)
	}
	total := in.variance(func(i int) float64 { return in.YTrue[i] })
	if total == 0 {
		return indicator(residual == 0), nil
	}
	return 1 - residual/total, nil
}

// variance returns the weighted variance of f over the rows, computed relative to f(0) so that it
// is exactly 0 for a constant f.
func (in Input) variance(f func(row int) float64) float64 {
	first := f(0)
	center := in.mean(func(i int) float64 { return f(i) - first })
	return in.mean(func(i int) float64 {
		d := f(i) - first - center
		return d * d
	})
}

func maxError(in Input) (float64, error) {
	largest := 0.0
	for i := range in.rows() {
		largest = max(largest, in.absoluteError(i))
	}
	return largest, nil
}

// medianAbsoluteError returns the weighted median of the absolute errors. If the cumulative weight
// reaches half the total exactly, up to rounding, the median is the mean of two errors, so that
// integer weights equal repeated rows.
func medianAbsoluteError(in Input) (float64, error) {
	order, total := in.sortedRows(in.absoluteError)
	half, tol := total/2, total*0x1p-50
	var cumulative sum
	n := 0
	for cumulative.add(in.weight(order[0].row)); cumulative.value() < half-tol; cumulative.add(in.weight(order[n].row)) {
		n++
	}
	if cumulative.value() > half+tol || n+1 == len(order) {
		return order[n].score, nil
	}
	return order[n].score/2 + order[n+1].score/2, nil
}

// sortedRows returns the rows in ascending order of f, and their total weight.
func (in Input) sortedRows(f func(row int) float64) (order []scoredRow, weight float64) {
	order = make([]scoredRow, in.rows())
	var total sum
	for i := range order {
		order[i] = scoredRow{f(i), i}
		total.add(in.weight(i))
	}
	slices.SortFunc(order, func(a, b scoredRow) int { return cmp.Compare(a.score, b.score) })
	return order, total.value()
}

func meanAbsolutePercentageError(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return in.absoluteError(i) / max(math.Abs(in.YTrue[i]), 0x1p-52) }), nil
}

func meanSquaredLogError(in Input) (float64, error) {
	for i := range in.rows() {
		if in.YTrue[i] < 0 || in.YPred[i] < 0 {
			return 0, fmt.Errorf("targets and predictions must be ≥ 0, got target %v and prediction %v", in.YTrue[i],
				in.YPred[i])
		}
	}
	return in.mean(func(i int) float64 {
		d := math.Log1p(in.YTrue[i]) - math.Log1p(in.YPred[i])
		return d * d
	}), nil
}

func rootMeanSquaredLogError(in Input) (float64, error) {
	value, err := meanSquaredLogError(in)
	return math.Sqrt(value), err
}
