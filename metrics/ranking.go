package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// rankingMetrics are the metrics of decision scores and probabilities.
var rankingMetrics = []Metric{
	{
		Name: "roc_auc", Aliases: []string{"roc_auc_score", "auc"}, Task: datasets.Classification, Binary: true,
		Requires: RequiresScores, GreaterIsBetter: true, Func: rocAUC,
		Doc: "Area under the ROC curve: the probability that a row of class 1 scores above a row of class 0, ties " +
			"counting half.",
	},
	{
		Name: "roc_auc_ovr", Aliases: []string{"roc_auc_ovr_macro"}, Task: datasets.Classification,
		Requires: probabilitiesOrScores, GreaterIsBetter: true, Func: aucOneVsRest(false),
		Doc: "Mean over classes of the one-vs-rest AUC.",
	},
	{
		Name: "roc_auc_ovr_weighted", Task: datasets.Classification, Requires: probabilitiesOrScores,
		GreaterIsBetter: true, Func: aucOneVsRest(true),
		Doc: "Mean over classes, weighted by support, of the one-vs-rest AUC.",
	},
	{
		Name: "roc_auc_ovo", Aliases: []string{"roc_auc_ovo_macro"}, Task: datasets.Classification,
		Requires: probabilitiesOrScores, GreaterIsBetter: true, Func: aucOneVsOne(false),
		Doc: "Mean over pairs of classes of the one-vs-one AUC (Hand & Till 2001).",
	},
	{
		Name: "roc_auc_ovo_weighted", Task: datasets.Classification, Requires: probabilitiesOrScores,
		GreaterIsBetter: true, Func: aucOneVsOne(true),
		Doc: "Mean over pairs of classes, weighted by support, of the one-vs-one AUC.",
	},
	{
		Name: "average_precision", Aliases: []string{"average_precision_score"}, Task: datasets.Classification,
		Binary: true, Requires: RequiresScores, GreaterIsBetter: true, Func: averagePrecision,
		Doc: "Precision of class 1 averaged over the steps in recall, Σ (R_n - R_{n-1}) P_n, without interpolation.",
	},
	{
		Name: "top_2_accuracy", Aliases: []string{"top_k_accuracy", "top_k_accuracy_score"},
		Task: datasets.Classification, Requires: probabilitiesOrScores, GreaterIsBetter: true, Func: topAccuracy(2),
		Doc: "Fraction of rows whose class has one of the 2 highest scores (ties prefer the higher code).",
	},
	{
		Name: "top_5_accuracy", Task: datasets.Classification, Requires: probabilitiesOrScores, GreaterIsBetter: true,
		Func: topAccuracy(5),
		Doc:  "Fraction of rows whose class has one of the 5 highest scores (ties prefer the higher code).",
	},
	{
		Name: "log_loss", Task: datasets.Classification, Requires: RequiresProbabilities, Func: logLoss,
		Doc: "Mean negative logarithm of the true class's probability, clipped to [2⁻⁵², 1-2⁻⁵²] and renormalized.",
	},
	{
		Name: "brier_score", Aliases: []string{"brier", "brier_score_loss"}, Task: datasets.Classification, Binary: true,
		Requires: RequiresProbabilities, Func: brierScore,
		Doc: "Mean squared difference of the probability of class 1 and the true label, for two classes.",
	},
}

// threshold is a threshold with the weights of the true and false positives that score at or above
// it.
type threshold struct{ threshold, tp, fp float64 }

// thresholdsOf returns one threshold per distinct score of a class, in descending order. It returns
// [ErrUndefined] unless rows inside and outside the class occur.
func thresholdsOf(in Input, class int) ([]threshold, error) {
	if class < 0 || class >= in.Classes {
		return nil, fmt.Errorf("class must be 0 to %d, got %d", in.Classes-1, class)
	}
	if err := in.requireBothClasses(class); err != nil {
		return nil, err
	}
	return thresholdCounts(in, class, nil), nil
}

// requireBothClasses checks that rows inside and outside the class occur.
func (in Input) requireBothClasses(class int) error {
	switch code := float64(class); {
	case !slices.Contains(in.YTrue, code):
		return fmt.Errorf("%w: no row is of class %s", ErrUndefined, in.className(class))
	case !slices.ContainsFunc(in.YTrue, func(c float64) bool { return c != code }):
		return fmt.Errorf("%w: every row is of class %s", ErrUndefined, in.className(class))
	}
	return nil
}

// thresholdCounts is thresholdsOf restricted to the classes for which keep returns true; nil keeps
// all.
func thresholdCounts(in Input, class int, keep func(class int) bool) []threshold {
	score := in.scoreOf(class)
	order := make([]scoredRow, 0, in.rows())
	for i := range in.rows() {
		if keep == nil || keep(int(in.YTrue[i])) {
			order = append(order, scoredRow{score(i), i})
		}
	}
	slices.SortFunc(order, func(a, b scoredRow) int { return cmp.Compare(b.score, a.score) })
	all := make([]threshold, 0, len(order))
	var inside, outside sum
	for n, s := range order {
		if int(in.YTrue[s.row]) == class {
			inside.add(in.weight(s.row))
		} else {
			outside.add(in.weight(s.row))
		}
		if n+1 == len(order) || order[n+1].score != s.score { // ties share a threshold
			all = append(all, threshold{s.score, inside.value(), outside.value()})
		}
	}
	return all
}

type scoredRow struct {
	score float64
	row   int
}

// scoreOf returns the scores of a class. A single column is the score of class 1, and negated that
// of class 0.
func (in Input) scoreOf(class int) func(row int) float64 {
	if _, columns := in.Scores.Dims(); columns > 1 {
		return func(row int) float64 { return in.Scores.At(row, class) }
	}
	sign := float64(2*class - 1)
	return func(row int) float64 { return sign * in.Scores.At(row, 0) }
}

// rocArea returns the area under the ROC curve by the trapezoidal rule.
func rocArea(all []threshold) float64 {
	var total sum
	var last threshold
	for _, c := range all {
		total.add((c.fp - last.fp) * (c.tp + last.tp) / 2)
		last = c
	}
	return total.value() / last.fp / last.tp
}

func rocAUC(in Input) (float64, error) {
	if err := requireBinary(in.Classes, "use roc_auc_ovr or roc_auc_ovo"); err != nil {
		return 0, err
	}
	all, err := thresholdsOf(in, 1)
	if err != nil {
		return 0, err
	}
	return rocArea(all), nil
}

func averagePrecision(in Input) (float64, error) {
	if err := requireBinary(in.Classes, "use roc_auc_ovr or log_loss"); err != nil {
		return 0, err
	}
	if !slices.Contains(in.YTrue, 1) {
		return 0, fmt.Errorf("%w: no row is of class %s", ErrUndefined, in.className(1))
	}
	all := thresholdCounts(in, 1, nil)
	var total sum
	var last threshold
	for _, c := range all {
		total.add((c.tp - last.tp) * c.tp / (c.tp + c.fp))
		last = c
	}
	return total.value() / last.tp, nil
}

func aucOneVsRest(weighted bool) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		var total, weight sum
		for class := range in.Classes {
			all, err := thresholdsOf(in, class)
			if err != nil {
				return 0, err
			}
			w := 1.0
			if weighted {
				w = all[len(all)-1].tp
			}
			total.add(w * rocArea(all))
			weight.add(w)
		}
		return total.value() / weight.value(), nil
	}
}

func aucOneVsOne(weighted bool) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		for class := range in.Classes {
			if err := in.requireBothClasses(class); err != nil {
				return 0, err
			}
		}
		var total, weight sum
		for a := range in.Classes {
			for b := range a {
				ofPair := func(class int) bool { return class == a || class == b }
				cutsA, cutsB := thresholdCounts(in, a, ofPair), thresholdCounts(in, b, ofPair)
				w := 1.0
				if weighted {
					w = cutsA[len(cutsA)-1].tp + cutsA[len(cutsA)-1].fp
				}
				total.add(w * (rocArea(cutsA) + rocArea(cutsB)) / 2)
				weight.add(w)
			}
		}
		return total.value() / weight.value(), nil
	}
}

func topAccuracy(k int) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		if in.Classes <= k {
			return 0, fmt.Errorf("classes must be more than %d, got %d", k, in.Classes)
		}
		return in.mean(func(i int) float64 {
			truth, above := int(in.YTrue[i]), 0
			scores := in.Scores.RawRowView(i)
			for class, s := range scores {
				if s > scores[truth] || s == scores[truth] && class > truth {
					above++
				}
			}
			return indicator(above < k)
		}), nil
	}
}

func logLoss(in Input) (float64, error) {
	const eps = 0x1p-52
	return in.mean(func(i int) float64 {
		var total float64
		row := in.Probabilities.RawRowView(i)
		for _, p := range row {
			total += min(max(p, eps), 1-eps)
		}
		return -math.Log(min(max(row[int(in.YTrue[i])], eps), 1-eps) / total)
	}), nil
}

func brierScore(in Input) (float64, error) {
	if err := requireBinary(in.Classes, "use log_loss"); err != nil {
		return 0, err
	}
	return in.mean(func(i int) float64 {
		d := in.Probabilities.At(i, 1) - in.YTrue[i]
		return d * d
	}), nil
}

// ROC is a receiver operating characteristic: the false and true positive rate at each threshold.
// Thresholds descend from +Inf, where both rates are 0.
type ROC struct{ FPR, TPR, Thresholds []float64 }

// Area returns the area under the curve by the trapezoidal rule: roc_auc for two classes.
func (c ROC) Area() float64 {
	var total sum
	for k := 1; k < len(c.FPR); k++ {
		total.add((c.FPR[k] - c.FPR[k-1]) * (c.TPR[k] + c.TPR[k-1]) / 2)
	}
	return total.value()
}

// ROC returns the ROC of a class against the rest, with one point per distinct score. It uses
// the decision scores of in, or else the probabilities. For class 0, binary decision scores are
// negated. Cost: O(n log n). Errors: invalid input; no rows inside or outside the class.
func (in Input) ROC(class int) (ROC, error) {
	all, err := curveThresholds("ROC curve", in, class)
	if err != nil {
		return ROC{}, err
	}
	end := all[len(all)-1]
	roc := ROC{FPR: []float64{0}, TPR: []float64{0}, Thresholds: []float64{math.Inf(1)}}
	for _, c := range all {
		roc.FPR = append(roc.FPR, c.fp/end.fp)
		roc.TPR = append(roc.TPR, c.tp/end.tp)
		roc.Thresholds = append(roc.Thresholds, c.threshold)
	}
	return roc, nil
}

// PrecisionRecall contains precision and recall at each threshold. Thresholds ascend. As in
// scikit-learn, Precision and Recall have one more element, the end point 1 and 0.
type PrecisionRecall struct{ Precision, Recall, Thresholds []float64 }

// PrecisionRecall returns the curve of a class against the rest, with one point per distinct
// score. It uses the decision scores of in, or else the probabilities. For class 0, binary decision
// scores are negated. Cost: O(n log n). Errors: invalid input; no rows inside or outside the class.
func (in Input) PrecisionRecall(class int) (PrecisionRecall, error) {
	all, err := curveThresholds("precision-recall curve", in, class)
	if err != nil {
		return PrecisionRecall{}, err
	}
	end := all[len(all)-1]
	var curve PrecisionRecall
	for _, c := range slices.Backward(all) {
		curve.Precision = append(curve.Precision, c.tp/(c.tp+c.fp))
		curve.Recall = append(curve.Recall, c.tp/end.tp)
		curve.Thresholds = append(curve.Thresholds, c.threshold)
	}
	curve.Precision = append(curve.Precision, 1)
	curve.Recall = append(curve.Recall, 0)
	return curve, nil
}

func curveThresholds(name string, in Input, class int) ([]threshold, error) {
	in, err := in.validate(datasets.Classification, RequiresScores)
	var all []threshold
	if err == nil {
		all, err = thresholdsOf(in, class)
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: %s: %w", name, err)
	}
	return all, nil
}

// Calibration contains, for each non-empty bin of predicted probabilities, their mean, the fraction
// of positives, and the weight of the rows.
type Calibration struct{ Predicted, Observed, Weight []float64 }

// Calibration groups the rows by their predicted probability of a class into bins of equal
// width, right-closed, and omits empty bins. Errors: invalid input; bins < 1.
func (in Input) Calibration(class, bins int) (Calibration, error) {
	in, err := in.validate(datasets.Classification, RequiresProbabilities)
	switch {
	case err != nil:
	case class < 0 || class >= in.Classes:
		err = fmt.Errorf("class must be 0 to %d, got %d", in.Classes-1, class)
	case bins < 1 || bins > maxClasses:
		err = fmt.Errorf("bins must be 1 to %d, got %d", maxClasses, bins)
	}
	if err != nil {
		return Calibration{}, fmt.Errorf("metrics: calibration curve: %w", err)
	}
	predicted, observed, weight := make([]sum, bins), make([]sum, bins), make([]sum, bins)
	for i, p := range mat.Col(nil, class, in.Probabilities) {
		bin := sort.Search(bins-1, func(b int) bool { return p <= float64(b+1)/float64(bins) })
		w := in.weight(i)
		predicted[bin].add(w * p)
		observed[bin].add(w * indicator(int(in.YTrue[i]) == class))
		weight[bin].add(w)
	}
	var curve Calibration
	for b := range bins {
		if w := weight[b].value(); w > 0 {
			curve.Predicted = append(curve.Predicted, predicted[b].value()/w)
			curve.Observed = append(curve.Observed, observed[b].value()/w)
			curve.Weight = append(curve.Weight, w)
		}
	}
	return curve, nil
}
