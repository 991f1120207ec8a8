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

// ranking holds the metrics of decision scores and probabilities.
var ranking = []Metric{
	{
		Name: "roc_auc", Aliases: []string{"roc_auc_score", "auc"}, Task: datasets.Classification, Binary: true, Needs: ScoresOrProbabilities, GreaterIsBetter: true, Func: rocAUC,
		Doc: "Chance that a row of class 1 scores above a row of class 0, ties counting half: the area under the ROC curve.",
	},
	{
		Name: "roc_auc_ovr", Aliases: []string{"roc_auc_ovr_macro"}, Task: datasets.Classification, Needs: ProbabilitiesOrScores, GreaterIsBetter: true, Func: aucOneVsRest(false),
		Doc: "Mean over classes of the AUC of the class against the rest.",
	},
	{
		Name: "roc_auc_ovr_weighted", Task: datasets.Classification, Needs: ProbabilitiesOrScores, GreaterIsBetter: true, Func: aucOneVsRest(true),
		Doc: "Mean over classes, weighted by their rows, of the AUC of the class against the rest.",
	},
	{
		Name: "roc_auc_ovo", Aliases: []string{"roc_auc_ovo_macro"}, Task: datasets.Classification, Needs: ProbabilitiesOrScores, GreaterIsBetter: true, Func: aucOneVsOne(false),
		Doc: "Mean over pairs of classes of the AUC among the rows of the two (Hand & Till 2001).",
	},
	{
		Name: "roc_auc_ovo_weighted", Task: datasets.Classification, Needs: ProbabilitiesOrScores, GreaterIsBetter: true, Func: aucOneVsOne(true),
		Doc: "Mean over pairs of classes, weighted by their rows, of the AUC among the rows of the two.",
	},
	{
		Name: "average_precision", Aliases: []string{"average_precision_score"}, Task: datasets.Classification, Binary: true, Needs: ScoresOrProbabilities, GreaterIsBetter: true, Func: averagePrecision,
		Doc: "Precision of class 1 averaged over the steps in recall, Σ (R_n - R_{n-1}) P_n, without interpolation.",
	},
	{
		Name: "top_2_accuracy", Aliases: []string{"top_k_accuracy", "top_k_accuracy_score"}, Task: datasets.Classification, Needs: ProbabilitiesOrScores, GreaterIsBetter: true, Func: topAccuracy(2),
		Doc: "Share of rows whose class is among the 2 of the highest scores (of equal scores the higher code first).",
	},
	{
		Name: "top_5_accuracy", Task: datasets.Classification, Needs: ProbabilitiesOrScores, GreaterIsBetter: true, Func: topAccuracy(5),
		Doc: "Share of rows whose class is among the 5 of the highest scores (of equal scores the higher code first).",
	},
	{
		Name: "log_loss", Task: datasets.Classification, Needs: Probabilities, Func: logLoss,
		Doc: "Mean of minus the logarithm of the true class's probability, clipped to [2⁻⁵², 1-2⁻⁵²] and renormalised.",
	},
	{
		Name: "brier_score", Aliases: []string{"brier", "brier_score_loss"}, Task: datasets.Classification, Binary: true, Needs: Probabilities, Func: brierScore,
		Doc: "Mean square of the probability of class 1 minus the truth, for two classes.",
	},
}

// cut is a threshold, and the weight of the rows in the class and outside it that score at or above it.
type cut struct{ threshold, inside, outside float64 }

// cuts returns a cut for every distinct score of a class, from the highest down. Both kinds of rows must occur.
func cuts(in Input, class int) ([]cut, error) {
	if class < 0 || class >= in.Classes {
		return nil, fmt.Errorf("there is no class %d of %d", class, in.Classes)
	}
	if err := in.bothSides(class); err != nil {
		return nil, err
	}
	return cutsOf(in, class, nil), nil
}

// bothSides checks that some rows are in the class and some are not.
func (in Input) bothSides(class int) error {
	switch code := float64(class); {
	case !slices.Contains(in.Truth, code):
		return fmt.Errorf("%w: no row is of class %s", ErrUndefined, in.nameOf(class))
	case !slices.ContainsFunc(in.Truth, func(c float64) bool { return c != code }):
		return fmt.Errorf("%w: every row is of class %s", ErrUndefined, in.nameOf(class))
	}
	return nil
}

// cutsOf is cuts over the rows of the classes that are kept, nil for all.
func cutsOf(in Input, class int, keep func(class int) bool) []cut {
	score := in.scorer(class)
	order := make([]scored, 0, in.rows())
	for i := range in.rows() {
		if keep == nil || keep(int(in.Truth[i])) {
			order = append(order, scored{score(i), i})
		}
	}
	slices.SortFunc(order, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	all := make([]cut, 0, len(order))
	var inside, outside sum
	for n, s := range order {
		if int(in.Truth[s.row]) == class {
			inside.add(in.weight(s.row))
		} else {
			outside.add(in.weight(s.row))
		}
		if n+1 == len(order) || order[n+1].score != s.score { // rows that tie enter together
			all = append(all, cut{s.score, inside.value(), outside.value()})
		}
	}
	return all
}

type scored struct {
	score float64
	row   int
}

// scorer returns the score of a row for a class. Binary decision scores have one column, which is for class 1.
func (in Input) scorer(class int) func(row int) float64 {
	if _, columns := in.Scores.Dims(); columns > 1 {
		return func(row int) float64 { return in.Scores.At(row, class) }
	}
	sign := float64(2*class - 1)
	return func(row int) float64 { return sign * in.Scores.At(row, 0) }
}

// area is the area under the ROC curve through the cuts, by trapezia, as a share of the square it lies in.
func area(all []cut) float64 {
	var total sum
	var last cut
	for _, c := range all {
		total.add((c.outside - last.outside) * (c.inside + last.inside) / 2)
		last = c
	}
	return total.value() / last.outside / last.inside
}

func rocAUC(in Input) (float64, error) {
	if err := binaryOnly(in.Classes, "take roc_auc_ovr or roc_auc_ovo"); err != nil {
		return 0, err
	}
	all, err := cuts(in, 1)
	if err != nil {
		return 0, err
	}
	return area(all), nil
}

func averagePrecision(in Input) (float64, error) {
	if err := binaryOnly(in.Classes, "take roc_auc_ovr or log_loss"); err != nil {
		return 0, err
	}
	if !slices.Contains(in.Truth, 1) {
		return 0, fmt.Errorf("%w: no row is of class %s", ErrUndefined, in.nameOf(1))
	}
	all := cutsOf(in, 1, nil)
	var total sum
	var last cut
	for _, c := range all {
		total.add((c.inside - last.inside) * c.inside / (c.inside + c.outside))
		last = c
	}
	return total.value() / last.inside, nil
}

func aucOneVsRest(weighted bool) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		var total, weight sum
		for class := range in.Classes {
			all, err := cuts(in, class)
			if err != nil {
				return 0, err
			}
			w := 1.0
			if weighted {
				w = all[len(all)-1].inside
			}
			total.add(w * area(all))
			weight.add(w)
		}
		return total.value() / weight.value(), nil
	}
}

func aucOneVsOne(weighted bool) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		for class := range in.Classes {
			if err := in.bothSides(class); err != nil {
				return 0, err
			}
		}
		var total, weight sum
		for a := range in.Classes {
			for b := range a {
				ofPair := func(class int) bool { return class == a || class == b }
				cutsA, cutsB := cutsOf(in, a, ofPair), cutsOf(in, b, ofPair)
				w := 1.0
				if weighted {
					w = cutsA[len(cutsA)-1].inside + cutsA[len(cutsA)-1].outside
				}
				total.add(w * (area(cutsA) + area(cutsB)) / 2)
				weight.add(w)
			}
		}
		return total.value() / weight.value(), nil
	}
}

func topAccuracy(k int) func(Input) (float64, error) {
	return func(in Input) (float64, error) {
		if in.Classes <= k {
			return 0, fmt.Errorf("it takes more than %d classes, here are %d", k, in.Classes)
		}
		return in.mean(func(i int) float64 {
			truth, above := int(in.Truth[i]), 0
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
		return -math.Log(min(max(row[int(in.Truth[i])], eps), 1-eps) / total)
	}), nil
}

func brierScore(in Input) (float64, error) {
	if err := binaryOnly(in.Classes, "take log_loss"); err != nil {
		return 0, err
	}
	return in.mean(func(i int) float64 {
		d := in.Probabilities.At(i, 1) - in.Truth[i]
		return d * d
	}), nil
}

// ROC is a receiver operating characteristic: at each threshold, the share of the rows outside the class (FPR) and
// inside it (TPR) that score at or above it. Thresholds fall; the first is +Inf, where both shares are 0.
type ROC struct{ FPR, TPR, Thresholds []float64 }

// Area is the area under the curve, by trapezia: roc_auc of two classes.
func (c ROC) Area() float64 {
	var total sum
	for k := 1; k < len(c.FPR); k++ {
		total.add((c.FPR[k] - c.FPR[k-1]) * (c.TPR[k] + c.TPR[k-1]) / 2)
	}
	return total.value()
}

// ROCCurve returns the ROC of a class against the rest (class 1 when binary) by the decision scores or else the
// probabilities of in, with a point for every distinct score. Class 0 of binary decision scores is ranked by the
// score's negative. It costs O(n log n), and fails on bad input and when every row is on one side.
func ROCCurve(in Input, class int) (ROC, error) {
	all, err := curveCuts("ROC curve", in, class)
	if err != nil {
		return ROC{}, err
	}
	end := all[len(all)-1]
	roc := ROC{FPR: []float64{0}, TPR: []float64{0}, Thresholds: []float64{math.Inf(1)}}
	for _, c := range all {
		roc.FPR = append(roc.FPR, c.outside/end.outside)
		roc.TPR = append(roc.TPR, c.inside/end.inside)
		roc.Thresholds = append(roc.Thresholds, c.threshold)
	}
	return roc, nil
}

// PrecisionRecall is precision and recall of a class at each threshold. Thresholds rise, and so recall falls; as in
// scikit-learn, Precision and Recall have one more element, the end point 1 and 0, which no threshold reaches.
type PrecisionRecall struct{ Precision, Recall, Thresholds []float64 }

// PrecisionRecallCurve returns the curve of a class against the rest (class 1 when binary) by the decision scores or
// else the probabilities of in, with a point for every distinct score. Class 0 of binary decision scores is ranked by
// the score's negative. It costs O(n log n), and fails on bad input and when every row is on one side.
func PrecisionRecallCurve(in Input, class int) (PrecisionRecall, error) {
	all, err := curveCuts("precision-recall curve", in, class)
	if err != nil {
		return PrecisionRecall{}, err
	}
	end := all[len(all)-1]
	var curve PrecisionRecall
	for _, c := range slices.Backward(all) {
		curve.Precision = append(curve.Precision, c.inside/(c.inside+c.outside))
		curve.Recall = append(curve.Recall, c.inside/end.inside)
		curve.Thresholds = append(curve.Thresholds, c.threshold)
	}
	curve.Precision = append(curve.Precision, 1)
	curve.Recall = append(curve.Recall, 0)
	return curve, nil
}

func curveCuts(name string, in Input, class int) ([]cut, error) {
	in, err := in.checked(datasets.Classification, ScoresOrProbabilities)
	var all []cut
	if err == nil {
		all, err = cuts(in, class)
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: %s: %w", name, err)
	}
	return all, nil
}

// Calibration compares, in each bin of predicted probability that holds rows, the mean probability predicted with
// the share of the rows that were of the class. Weight is the weight of the bin's rows.
type Calibration struct{ Predicted, Observed, Weight []float64 }

// CalibrationCurve sorts the rows by the probability of a class into bins of equal width, each with its upper edge,
// and leaves out those that stay empty. It fails on bad input and without at least one bin.
func CalibrationCurve(in Input, class, bins int) (Calibration, error) {
	in, err := in.checked(datasets.Classification, Probabilities)
	switch {
	case err != nil:
	case class < 0 || class >= in.Classes:
		err = fmt.Errorf("there is no class %d of %d", class, in.Classes)
	case bins < 1 || bins > maxClasses:
		err = fmt.Errorf("%d bins, want 1 to %d", bins, maxClasses)
	}
	if err != nil {
		return Calibration{}, fmt.Errorf("metrics: calibration curve: %w", err)
	}
	predicted, observed, weight := make([]sum, bins), make([]sum, bins), make([]sum, bins)
	for i, p := range mat.Col(nil, class, in.Probabilities) {
		bin := sort.Search(bins-1, func(b int) bool { return p <= float64(b+1)/float64(bins) })
		w := in.weight(i)
		predicted[bin].add(w * p)
		observed[bin].add(w * indicator(int(in.Truth[i]) == class))
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
