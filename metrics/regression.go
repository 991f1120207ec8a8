package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// regression holds the metrics of predicted targets. For several targets each is the plain mean over targets.
var regression = []Metric{
	{
		Name: "r2", Aliases: []string{"r2_score"}, Task: datasets.Regression, Needs: Predictions, GreaterIsBetter: true, Func: bySquares(explained),
		Doc: "Share of the truth's variance explained, 1 - Σ(y-ŷ)² / Σ(y-ȳ)². For a constant truth 1 if every prediction is right, else 0.",
	},
	{
		Name: "explained_variance", Aliases: []string{"explained_variance_score"}, Task: datasets.Regression, Needs: Predictions, GreaterIsBetter: true, Func: explainedVariance,
		Doc: "1 - Var(y-ŷ) / Var(y): r2 that forgives a constant offset. For a constant truth 1 if the offset is constant, else 0.",
	},
	{
		Name: "mean_squared_error", Aliases: []string{"mse"}, Task: datasets.Regression, Needs: Predictions, Func: bySquares(meanSquaredError),
		Doc: "Mean of (y-ŷ)².",
	},
	{
		Name: "root_mean_squared_error", Aliases: []string{"rmse"}, Task: datasets.Regression, Needs: Predictions, Func: bySquares(rootMeanSquaredError),
		Doc: "Root of the mean of (y-ŷ)².",
	},
	{
		Name: "relative_rmse", Task: datasets.Regression, Needs: Predictions, Func: bySquares(relativeRMSE),
		Doc: "‖y-ŷ‖ / ‖y‖, the relative error of Rahimi & Recht (2007).",
	},
	{
		Name: "mean_absolute_error", Aliases: []string{"mae"}, Task: datasets.Regression, Needs: Predictions, Func: meanAbsoluteError,
		Doc: "Mean of |y-ŷ|.",
	},
	{
		Name: "median_absolute_error", Aliases: []string{"median_ae"}, Task: datasets.Regression, Needs: Predictions, Func: medianAbsoluteError,
		Doc: "Median of |y-ŷ|; midway between two where they share the weight in halves, with weights too (scikit-learn: the lower, then).",
	},
	{
		Name: "max_error", Task: datasets.Regression, Needs: Predictions, Func: maxError,
		Doc: "Greatest |y-ŷ|; how much a row weighs makes no difference, except that a weight of 0 leaves it out.",
	},
	{
		Name: "mean_absolute_percentage_error", Aliases: []string{"mape"}, Task: datasets.Regression, Needs: Predictions, Func: meanAbsolutePercentageError,
		Doc: "Mean of |y-ŷ| / max(|y|, 2⁻⁵²), as a fraction: 0.05 is five per cent.",
	},
	{
		Name: "mean_squared_log_error", Aliases: []string{"msle"}, Task: datasets.Regression, Needs: Predictions, Func: meanSquaredLogError,
		Doc: "Mean of (ln(1+y) - ln(1+ŷ))², for targets and predictions of 0 and above.",
	},
	{
		Name: "root_mean_squared_log_error", Aliases: []string{"rmsle"}, Task: datasets.Regression, Needs: Predictions, Func: rootMeanSquaredLogError,
		Doc: "Root of the mean of (ln(1+y) - ln(1+ŷ))², for targets and predictions of 0 and above.",
	},
}

func (in Input) squaredError(i int) float64 {
	d := in.Truth[i] - in.Predicted[i]
	return d * d
}

func (in Input) absoluteError(i int) float64 { return math.Abs(in.Truth[i] - in.Predicted[i]) }

// bySquares is the Func of a metric that reads the mean of squared errors only.
func bySquares(of func(in Input, mean float64) (float64, error)) func(Input) (float64, error) {
	return func(in Input) (float64, error) { return of(in, in.mean(in.squaredError)) }
}

func meanSquaredError(_ Input, mean float64) (float64, error) { return mean, nil }

func rootMeanSquaredError(_ Input, mean float64) (float64, error) { return math.Sqrt(mean), nil }

func meanAbsoluteError(in Input) (float64, error) { return in.mean(in.absoluteError), nil }

func relativeRMSE(in Input, mean float64) (float64, error) {
	norm := in.mean(func(i int) float64 { return in.Truth[i] * in.Truth[i] })
	if norm == 0 {
		return 0, fmt.Errorf("%w: every target is 0", ErrUndefined)
	}
	return math.Sqrt(mean / norm), nil
}

func explainedVariance(in Input) (float64, error) {
	return explained(in, in.variance(func(i int) float64 { return in.Truth[i] - in.Predicted[i] }))
}

// explained is 1 - left / Var(y), with scikit-learn's convention for a constant truth.
func explained(in Input, left float64) (float64, error) {
	if in.rows() < 2 {
		return 0, fmt.Errorf("%w: it takes 2 rows or more", ErrUndefined)
	}
	spread := in.variance(func(i int) float64 { return in.Truth[i] })
	if spread == 0 {
		return indicator(left == 0), nil
	}
	return 1 - left/spread, nil
}

// variance is the weighted variance of f over the rows. Measured from the first row it is exactly 0 if f is constant.
func (in Input) variance(f func(row int) float64) float64 {
	first := f(0)
	center := in.mean(func(i int) float64 { return f(i) - first })
	return in.mean(func(i int) float64 {
		d := f(i) - first - center
		return d * d
	})
}

func maxError(in Input) (float64, error) {
	greatest := 0.0
	for i := range in.rows() {
		greatest = max(greatest, in.absoluteError(i))
	}
	return greatest, nil
}

// medianAbsoluteError sorts the errors and walks to half the weight. When a row ends there exactly (to rounding),
// the median is midway to the next, so that weights of 1 are no weights and a row of weight 2 is the row twice.
func medianAbsoluteError(in Input) (float64, error) {
	order, total := in.ordered(in.absoluteError)
	half, slack := total/2, total*0x1p-50
	var below sum
	n := 0
	for below.add(in.weight(order[0].row)); below.value() < half-slack; below.add(in.weight(order[n].row)) {
		n++
	}
	if below.value() > half+slack || n+1 == len(order) {
		return order[n].score, nil
	}
	return order[n].score/2 + order[n+1].score/2, nil
}

// ordered returns the rows in ascending order of f, and their weight.
func (in Input) ordered(f func(row int) float64) (order []scored, weight float64) {
	order = make([]scored, in.rows())
	var total sum
	for i := range order {
		order[i] = scored{f(i), i}
		total.add(in.weight(i))
	}
	slices.SortFunc(order, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	return order, total.value()
}

func meanAbsolutePercentageError(in Input) (float64, error) {
	return in.mean(func(i int) float64 { return in.absoluteError(i) / max(math.Abs(in.Truth[i]), 0x1p-52) }), nil
}

func meanSquaredLogError(in Input) (float64, error) {
	for i := range in.rows() {
		if in.Truth[i] < 0 || in.Predicted[i] < 0 {
			return 0, fmt.Errorf("target %v with prediction %v, want both at 0 or above", in.Truth[i], in.Predicted[i])
		}
	}
	return in.mean(func(i int) float64 {
		d := math.Log1p(in.Truth[i]) - math.Log1p(in.Predicted[i])
		return d * d
	}), nil
}

func rootMeanSquaredLogError(in Input) (float64, error) {
	value, err := meanSquaredLogError(in)
	return math.Sqrt(value), err
}
