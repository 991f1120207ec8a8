package metrics

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// random draws an input for all metrics of a task: scores with ties, integer weights 0 to 3.
func random(rng *rand.Rand, m Metric, rows int) Input {
	in := Input{YTrue: make([]float64, rows), YPred: make([]float64, rows), Weights: make([]float64, rows)}
	for i := range rows {
		in.Weights[i] = float64(rng.IntN(4))
	}
	if m.Task == datasets.Regression {
		for i := range rows {
			in.YTrue[i] = rng.ExpFloat64()
			in.YPred[i] = in.YTrue[i] * rng.Float64() * 2
			in.Std = append(in.Std, 0.1+rng.Float64())
			in.Lower = append(in.Lower, in.YPred[i]-rng.Float64())
			in.Upper = append(in.Upper, in.YPred[i]+rng.Float64())
		}
		return in
	}
	if m.Task == datasets.Clustering {
		in.Rows = mat.NewDense(rows, 2, nil)
		for i := range rows {
			in.YTrue[i], in.YPred[i] = float64(rng.IntN(4)), float64(rng.IntN(3))
			in.Rows.(*mat.Dense).SetRow(i, []float64{3*in.YTrue[i] + rng.NormFloat64(), rng.NormFloat64()})
		}
		return in
	}
	if m.Task == datasets.MultiLabel {
		bit := func() *mat.Dense {
			out := mat.NewDense(rows, 4, nil)
			out.Apply(func(_, _ int, _ float64) float64 { return float64(rng.IntN(2)) }, out)
			return out
		}
		in.YTrueTargets, in.YPredTargets, in.Scores = bit(), bit(), bit()
		for i := range rows { // a row without labels counts as 0, even if none is predicted
			in.YTrueTargets.Set(i, i%4, 1)
		}
		in.YTrue, in.YPred = nil, nil
		return in
	}
	in.Classes = classesFor(m)
	in.Probabilities = mat.NewDense(rows, in.Classes, nil)
	columns := in.Classes
	if columns == 2 {
		columns = 1
	}
	in.Scores = mat.NewDense(rows, columns, nil)
	in.Sets = mat.NewDense(rows, in.Classes, nil)
	in.Costs = mat.NewDense(in.Classes, in.Classes, nil)
	in.Costs.Apply(func(i, j int, _ float64) float64 { return math.Abs(float64(2*i-j)) * indicator(i != j) }, in.Costs)
	for i := range rows {
		for c := range in.Classes {
			in.Sets.Set(i, c, float64(rng.IntN(2)))
		}
		in.YTrue[i], in.YPred[i] = float64(rng.IntN(in.Classes)), float64(rng.IntN(in.Classes))
		row := in.Probabilities.RawRowView(i)
		total := 0.0
		for c := range row {
			row[c] = float64(1 + rng.IntN(5))
			total += row[c]
		}
		for c := range row {
			row[c] /= total
		}
		for c := range columns {
			in.Scores.Set(i, c, float64(rng.IntN(7)))
		}
	}
	return in
}

func classesFor(m Metric) int {
	switch m.Name {
	case "precision", "recall", "f1", "roc_auc", "average_precision", "brier_score":
		return 2
	case "top_5_accuracy":
		return 7
	}
	return 4
}

// pick selects rows, possibly repeated; drop removes the weights.
func pick(in Input, rows []int, drop bool) Input {
	out := Input{Classes: in.Classes, Costs: in.Costs}
	var scores, probabilities, sets []float64
	if in.Rows != nil {
		out.Rows = (datasets.Set{X: in.Rows}).Select(rows).X
	}
	if in.YTrueTargets != nil {
		out.YTrueTargets, out.YPredTargets = mat.NewDense(len(rows), 4, nil), mat.NewDense(len(rows), 4, nil)
		out.Scores = mat.NewDense(len(rows), 4, nil)
		for to, i := range rows {
			out.YTrueTargets.SetRow(to, in.YTrueTargets.RawRowView(i))
			out.YPredTargets.SetRow(to, in.YPredTargets.RawRowView(i))
			out.Scores.SetRow(to, in.Scores.RawRowView(i))
			if !drop {
				out.Weights = append(out.Weights, in.Weights[i])
			}
		}
		return out
	}
	for _, i := range rows {
		out.YTrue = append(out.YTrue, in.YTrue[i])
		out.YPred = append(out.YPred, in.YPred[i])
		if in.Scores != nil {
			scores = append(scores, in.Scores.RawRowView(i)...)
			probabilities = append(probabilities, in.Probabilities.RawRowView(i)...)
			sets = append(sets, in.Sets.RawRowView(i)...)
		} else if in.Std != nil {
			out.Std, out.Lower, out.Upper = append(out.Std, in.Std[i]), append(out.Lower, in.Lower[i]), append(out.Upper,
				in.Upper[i])
		}
		if !drop {
			out.Weights = append(out.Weights, in.Weights[i])
		}
	}
	if in.Scores != nil {
		out.Scores = mat.NewDense(len(rows), len(scores)/len(rows), scores)
		out.Probabilities = mat.NewDense(len(rows), len(probabilities)/len(rows), probabilities)
		out.Sets = mat.NewDense(len(rows), len(sets)/len(rows), sets)
	}
	return out
}

func inOrder(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Every metric is invariant to the order of rows and the scale of weights, treats a row of weight w
// as w rows, and leaves the input unchanged.
func TestInvariants(t *testing.T) {
	for _, m := range All() {
		t.Run(m.Name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 30 {
				in := random(rng, m, 40)
				before := pick(in, inOrder(40), false)
				want, err := m.Score(in)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(in, before) {
					t.Fatal("the input was changed")
				}
				var repeated []int
				for i, w := range in.Weights {
					for range int(w) {
						repeated = append(repeated, i)
					}
				}
				scaled := in
				scaled.Weights = slices.Clone(in.Weights)
				for i := range scaled.Weights {
					scaled.Weights[i] *= 0.1
				}
				one := pick(in, repeated, true)
				one.Weights = slices.Repeat([]float64{1}, len(repeated))
				for law, other := range map[string]Input{
					"a weight is that many rows":    pick(in, repeated, true),
					"a weight of 1 is none":         one,
					"order of rows does not matter": pick(in, rng.Perm(40), false),
					"scale of weights is no matter": scaled,
				} {
					if law == "scale of weights is no matter" && countsRows(m) {
						continue
					}
					if got, err := m.Score(other); err != nil || !near(got, want, 1e-12) {
						t.Errorf("%s: %v, %v, want %v", law, got, err, want)
					}
				}
			}
		})
	}
}

// countsRows reports whether the scale of the weights matters to a clustering metric.
func countsRows(m Metric) bool {
	message := strings.Contains(m.Doc, "Weights count rows")
	return m.Task == datasets.Clustering && message
}

// No metric prefers random to perfect predictions.
func TestPerfect(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, m := range All() {
		in := random(rng, m, 50)
		perfect := in
		perfect.YPred, perfect.Lower, perfect.Upper = in.YTrue, in.YTrue, in.YTrue
		perfect.YPredTargets = in.YTrueTargets
		if m.Task == datasets.MultiLabel {
			perfect.Scores = in.YTrueTargets
		}
		if m.Task == datasets.Classification {
			perfect.Scores, perfect.Probabilities = mat.DenseCopyOf(in.Scores), mat.NewDense(50, in.Classes, nil)
			perfect.Scores.Zero()
			for i, c := range in.YTrue {
				perfect.Probabilities.Set(i, int(c), 1)
				if in.Classes > 2 {
					perfect.Scores.Set(i, int(c), 1)
				} else {
					perfect.Scores.Set(i, 0, c)
				}
			}
			perfect.Sets = perfect.Probabilities
		}
		some, err1 := m.Score(in)
		best, err2 := m.Score(perfect)
		if err1 != nil || err2 != nil || !m.Better(best, some) || m.Better(some, best) {
			t.Errorf("%s: perfect scores %v, %v; random %v, %v", m.Name, best, err2, some, err1)
		}
		if m.Name == "nlpd" {
			continue // its optimum depends on the standard deviations
		}
		if ideal := indicator(m.GreaterIsBetter || m.Name == "mean_set_size"); m.IsSupervised() && !near(best, ideal, 1e-12) {
			t.Errorf("%s: perfect scores %v, want %v", m.Name, best, ideal)
		}
	}
}

// AUC is the weighted fraction of concordant pairs.
func TestAUCIsPairwise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	pairwise := func(in Input, scores *mat.Dense, column, class int, other func(int) bool) float64 {
		var right, all float64
		for i := range in.YTrue {
			for j := range in.YTrue {
				if int(in.YTrue[i]) != class || !other(int(in.YTrue[j])) {
					continue
				}
				w := in.Weights[i] * in.Weights[j]
				all += w
				switch a, b := scores.At(i, column), scores.At(j, column); {
				case a > b:
					right += w
				case a == b:
					right += w / 2
				}
			}
		}
		return right / all
	}
	for range 20 {
		in := random(rng, Metric{Name: "roc_auc"}, 30)
		check(t, "roc_auc", in, pairwise(in, in.Scores, 0, 1, func(c int) bool { return c == 0 }))

		in = random(rng, Metric{Name: "roc_auc_ovr"}, 60)
		var ovr, ovrWeighted, ovo, ovoWeighted, total, pairTotal float64
		for a := range 4 {
			auc := pairwise(in, in.Probabilities, a, a, func(c int) bool { return c != a })
			ovr += auc / 4
			ovrWeighted += auc * weightOf(in, a)
			total += weightOf(in, a)
			for b := range 4 {
				if a != b {
					auc := pairwise(in, in.Probabilities, a, a, func(c int) bool { return c == b })
					ovo += auc / 12
					ovoWeighted += auc * (weightOf(in, a) + weightOf(in, b))
					pairTotal += weightOf(in, a) + weightOf(in, b)
				}
			}
		}
		check(t, "roc_auc_ovr", in, ovr)
		check(t, "roc_auc_ovr_weighted", in, ovrWeighted/total)
		check(t, "roc_auc_ovo", in, ovo)
		check(t, "roc_auc_ovo_weighted", in, ovoWeighted/pairTotal)
	}
}

func weightOf(in Input, class int) (total float64) {
	for i, c := range in.YTrue {
		if int(c) == class {
			total += in.Weights[i]
		}
	}
	return total
}

func check(t *testing.T, name string, in Input, want float64) {
	t.Helper()
	m, err := ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Score(in); err != nil || !near(got, want, 1e-12) {
		t.Errorf("%s is %v, %v, want %v", name, got, err, want)
	}
}

// TestHandComputed compares with values computed by hand and conventions for undefined cases.
func TestHandComputed(t *testing.T) {
	truth, predicted := []float64{3, -0.5, 2, 7}, []float64{2.5, 0, 2, 8}
	regression := Input{YTrue: truth, YPred: predicted}
	check(t, "mean_squared_error", regression, 0.375)
	check(t, "rmse", regression, math.Sqrt(0.375))
	check(t, "mae", regression, 0.5)
	check(t, "max_error", regression, 1)
	check(t, "median_absolute_error", regression, 0.5)
	check(t, "relative_rmse", regression, math.Sqrt(1.5/62.25))
	check(t, "mape", regression, (0.5/3+1+0+1./7)/4)
	check(t, "neg_mse", regression, -0.375)
	check(t, "r2", regression, 1-1.5/(62.25-11.5*11.5/4))
	check(t, "msle", Input{YTrue: []float64{0, math.E - 1}, YPred: []float64{math.E - 1, 0}}, 1)
	check(t, "rmsle", Input{YTrue: []float64{0, 0}, YPred: []float64{math.E*math.E - 1, 0}}, math.Sqrt2)
	check(t, "median_absolute_error", Input{YTrue: []float64{1, 2, 4}, YPred: []float64{0, 0, 0}, Weights: []float64{1,
		1, 2}}, 3)
	check(t, "median_absolute_error", Input{YTrue: []float64{1, 2, 4}, YPred: []float64{0, 0, 0},
		Weights: []float64{.1, .2, .3}}, 3) // .1+.2 is not .3

	constant := Input{YTrue: []float64{.1, .1, .1}, YPred: []float64{.3, .3, .3}}
	check(t, "r2", constant, 0)
	check(t, "explained_variance", constant, 1)
	constant.YPred = constant.YTrue
	check(t, "r2", constant, 1)

	classes := Input{YTrue: []float64{0, 0, 1, 1, 1}, YPred: []float64{0, 1, 1, 1, 0}}
	check(t, "precision", classes, 2./3)
	check(t, "recall", classes, 2./3)
	check(t, "recall_weighted", classes, 3./5)
	check(t, "precision_micro", classes, 3./5)
	check(t, "precision_weighted", classes, (2*0.5+3*2./3)/5)
	check(t, "error_rate", classes, 2./5)
	check(t, "mcc", classes, (2*1-1*1)/math.Sqrt(3*3*2*2))
	check(t, "cohen_kappa", classes, (.6-.52)/(1-.52))

	never := Input{YTrue: []float64{0, 1}, YPred: []float64{0, 0}, Classes: 2}
	check(t, "precision", never, 0)
	check(t, "recall", never, 0)
	check(t, "f1", never, 0)
	check(t, "matthews_corrcoef", never, 0)
	check(t, "cohen_kappa", never, 0)
	never.Classes = 9 // macro averages ignore classes without rows
	check(t, "recall_macro", never, 0.5)
	check(t, "f1_macro", never, (2./3+0)/2)
	check(t, "balanced_accuracy", Input{YTrue: []float64{0, 0}, YPred: []float64{0, 5}}, 0.5)

	sure := Input{YTrue: []float64{0, 1}, Probabilities: mat.NewDense(2, 2, []float64{1, 0, 1, 0})}
	check(t, "log_loss", sure, 26*math.Ln2) // one certain and correct, one certain and wrong: 52 bits
	check(t, "brier_score", sure, 0.5)
	ties := Input{YTrue: []float64{0, 1, 2}, Scores: mat.NewDense(3, 3, []float64{1, 1, 1, 1, 1, 1, 0, 1, 2})}
	check(t, "top_k_accuracy", ties, 2./3)
	ranked := Input{YTrue: []float64{0, 0, 1, 1}, Scores: mat.NewDense(4, 1, []float64{.1, .4, .35, .8})}
	check(t, "average_precision", ranked, 0.5*1+0.5*2./3)
	check(t, "roc_auc", ranked, 0.75)
	check(t, "roc_auc_ovr", ranked, 0.75)
	check(t, "roc_auc_ovo", ranked, 0.75)
}

// A large offset or many rows do not cost accuracy.
func TestLargeOffset(t *testing.T) {
	const rows = 100_000
	in := Input{YTrue: make([]float64, rows), YPred: make([]float64, rows), Weights: make([]float64, rows)}
	for i := range rows {
		in.YTrue[i] = 1 << 40
		if i%2 == 0 {
			in.YTrue[i]++
		}
		in.YPred[i] = 1<<40 + 0.5
		in.Weights[i] = 0.1
	}
	check(t, "r2", in, 0)
	check(t, "mse", in, 0.25)
	in.YPred = in.YTrue
	check(t, "r2", in, 1)
}

func TestSeveralTargets(t *testing.T) {
	truth := mat.NewDense(3, 2, []float64{1, 10, 2, 20, 3, 40})
	predicted := mat.NewDense(3, 2, []float64{1, 11, 2, 21, 4, 40})
	weights := []float64{1, 2, 3}
	std, upper := mat.NewDense(3, 2, []float64{1, 2, 3, 1, 2, 3}), mat.NewDense(3, 2, []float64{2, 12, 3, 22, 5, 40.5})
	for _, m := range All() {
		if m.Task != datasets.Regression {
			continue
		}
		var mean float64
		for c := range 2 {
			one, err := m.Score(Input{YTrue: mat.Col(nil, c, truth), YPred: mat.Col(nil, c, predicted), Weights: weights,
				Std: mat.Col(nil, c, std), Lower: mat.Col(nil, c, predicted), Upper: mat.Col(nil, c, upper)})
			if err != nil {
				t.Fatal(err)
			}
			mean += one / 2
		}
		check(t, m.Name, Input{YTrueTargets: truth, YPredTargets: predicted, Weights: weights, StdTargets: std,
			LowerTargets: predicted, UpperTargets: upper}, mean)
	}
}

// Each metric reads its first alternative if both are given, else the other.
func TestScoresOrProbabilities(t *testing.T) {
	in := Input{
		YTrue:         []float64{0, 1},
		Scores:        mat.NewDense(2, 1, []float64{0, 1}),
		Probabilities: mat.NewDense(2, 2, []float64{0, 1, 1, 0}),
	}
	check(t, "roc_auc", in, 1)
	check(t, "roc_auc_ovr", in, 0)
	in.Scores = nil
	check(t, "roc_auc", in, 0)
	in.Scores, in.Probabilities = mat.NewDense(2, 1, []float64{0, 1}), nil
	check(t, "roc_auc_ovr", in, 1)
}

func TestErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	two := []float64{0, 1}
	half := mat.NewDense(2, 2, []float64{.5, .5, .5, .5})
	for _, c := range []struct {
		metric string
		in     Input
		want   string
	}{
		{"accuracy", Input{}, "YTrue must not be empty"},
		{"accuracy", Input{YTrue: two}, "YPred must not be empty"},
		{"accuracy", Input{YTrue: two, YPred: []float64{1}}, "YPred must have 2 rows, as YTrue, got 1"},
		{"accuracy", Input{YTrue: []float64{0, .5}, YPred: two}, "YTrue[1] must be a class code 0 to 1, got 0.5"},
		{"accuracy", Input{YTrue: two, YPred: []float64{0, -1}}, "YPred[1] must be a class code 0 to 1, got -1"},
		{"accuracy", Input{YTrue: two, YPred: []float64{0, 2}, Classes: 2}, "YPred[1] must be a class code 0 to 1, got 2"},
		{"accuracy", Input{YTrue: two, YPred: []float64{0, 1e300}}, "YPred[1] must be a class code 0 to 1048575, got 1e+300"},
		{"accuracy", Input{YTrue: []float64{0, inf}, YPred: two}, "YTrue[1] must be finite, got +Inf"},
		{"accuracy", Input{YTrue: two, YPred: two, Classes: 1}, "Classes must be 2 to 1048576, or 0 to infer it, got 1"},
		{"accuracy", Input{YTrue: two, YPred: two, Classes: math.MaxInt}, "Classes must be 2 to 1048576, or 0 to infer " +
			"it, got 9223372036854775807"},
		{"accuracy", Input{YTrueTargets: half, YPredTargets: half}, "classification supports one target only"},
		{"accuracy", Input{YTrue: two, YPred: two, Weights: []float64{1}}, "Weights must have 2 rows, as YTrue, got 1"},
		{"accuracy", Input{YTrue: two, YPred: two, Weights: []float64{1, -1}}, "Weights[1] must be ≥ 0, got -1"},
		{"accuracy", Input{YTrue: two, YPred: two, Weights: []float64{1, nan}}, "Weights[1] must be finite, got NaN"},
		{"accuracy", Input{YTrue: two, YPred: two, Weights: []float64{0, 0}},
			"the sum of Weights must be positive and finite, got 0"},
		{"accuracy", Input{YTrue: two, YPred: two, Weights: []float64{1e308, 1e308}},
			"the sum of Weights must be positive and finite, got +Inf"},
		{"f1", Input{YTrue: two, YPred: []float64{0, 2}}, "classes must be 2, got 3"},
		{"log_loss", Input{YTrue: two, Scores: mat.NewDense(2, 1, two)}, "probabilities are missing"},
		{"log_loss", Input{YTrue: two, Probabilities: mat.NewDense(1, 2, []float64{.5, .5})},
			"Probabilities must be 2×2, got 1×2"},
		{"log_loss", Input{YTrue: two, Probabilities: mat.NewDense(2, 2, []float64{.5, .5, .5, .6})},
			"Probabilities row 1 must sum to 1, got 1.1"},
		{"log_loss", Input{YTrue: two, Probabilities: mat.NewDense(2, 2, []float64{.5, .5, -1, 2})},
			"Probabilities row 1 column 0 must be 0 to 1, got -1"},
		{"log_loss", Input{YTrue: two, Probabilities: mat.NewDense(2, 2, []float64{.5, nan, 1, 0})},
			"Probabilities row 0 column 1 must be finite, got NaN"},
		{"roc_auc", Input{YTrue: two}, "decision scores or probabilities are missing"},
		{"roc_auc", Input{YTrue: two, Scores: half}, "Scores must be 2×1, got 2×2"},
		{"roc_auc", Input{YTrue: []float64{0, 2}, Scores: mat.NewDense(2, 3, nil)}, "classes must be 2, got 3"},
		{"brier_score", Input{YTrue: []float64{2, 0}, Probabilities: mat.NewDense(2, 3, []float64{1, 0, 0, 1, 0, 0})},
			"classes must be 2, got 3"},
		{"top_k_accuracy", Input{YTrue: two, Probabilities: half}, "classes must be more than 2, got 2"},
		{"r2", Input{YTrue: two, YPred: []float64{0, nan}}, "YPred[1] must be finite, got NaN"},
		{"r2", Input{YTrue: two, YPred: two, YTrueTargets: half}, "YTrue and YPred exclude"},
		{"r2", Input{YTrueTargets: half}, "YPredTargets must not be empty"},
		{"r2", Input{YTrueTargets: half, YPredTargets: mat.NewDense(2, 1, nil)}, "YPredTargets must be 2×2, got 2×1"},
		{"nlpd", Input{YTrue: two, YPred: two}, "Std must not be empty"},
		{"nlpd", Input{YTrue: two, YPred: two, Std: []float64{1, 0}}, "Std[1] must be > 0, got 0"},
		{"nlpd", Input{YTrueTargets: half, YPredTargets: half, StdTargets: mat.NewDense(2, 2, []float64{1, 1, 1, -1})},
			"target 1: StdTargets[1] must be > 0, got -1"},
		{"coverage", Input{YTrue: two, Lower: two}, "Upper must not be empty"},
		{"coverage", Input{YTrue: two, Lower: two, Upper: []float64{0, 0.5}}, "Upper[1] must be ≥ Lower = 1, got 0.5"},
		{"mean_width", Input{YTrueTargets: half, LowerTargets: half}, "UpperTargets must not be empty"},
		{"mean_width", Input{YTrueTargets: half, LowerTargets: half, UpperTargets: mat.NewDense(2, 2, nil)},
			"target 0: Upper[0] must be ≥ Lower = 0.5, got 0"},
		{"set_coverage", Input{YTrue: two, Probabilities: half}, "Sets must not be empty"},
		{"mean_set_size", Input{YTrue: two, Sets: mat.NewDense(1, 2, nil)}, "Sets must be 2×2, got 1×2"},
		{"msle", Input{YTrue: two, YPred: []float64{0, -2}}, "targets and predictions must be ≥ 0, got target 1 and " +
			"prediction -2"},
		{"msle", Input{YTrueTargets: half, YPredTargets: mat.NewDense(2, 2, []float64{0, -1, 0, 0})}, "target 1: "},
		{"silhouette", Input{YPred: two}, "Rows is missing"},
		{"silhouette", Input{YPred: two, Rows: mat.NewDense(3, 1, nil)}, "Rows must have 2 rows, as YPred, got 3"},
		{"silhouette", Input{YPred: two, Rows: mat.NewDense(2, 1, []float64{0, nan})}, "Rows: "},
		{"silhouette", Input{Rows: half}, "YPred must not be empty"},
		{"adjusted_rand", Input{YTrue: two, YPred: []float64{0, .5}}, "YPred[1] must be a class code 0 to 1048575, got 0.5"},
		{"adjusted_rand", Input{YPred: two}, "YTrue must not be empty"},
		{"r2", Input{YTrueTargets: half, YPredTargets: half, Weights: []float64{1, 2, 3}},
			"Weights must have 2 rows, as YTrue, got 3"},
	} {
		m, err := ByName(c.metric)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Score(c.in)
		if err == nil || !strings.HasPrefix(err.Error(), "metrics: "+m.Name+": ") || !strings.Contains(err.Error(),
			c.want) || !math.IsNaN(got) {
			t.Errorf("%s: got %v, %v; want an error with %q", c.metric, got, err, c.want)
		}
		if errors.Is(err, ErrUndefined) {
			t.Errorf("%s: invalid input is reported as ErrUndefined: %v", c.metric, err)
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	m, _ := ByName("accuracy")
	_, err := m.Score(Input{YTrue: []float64{0, math.NaN()}, YPred: []float64{1}, Weights: []float64{1, -2}})
	for _, want := range []string{"YTrue[1]", "YPred must have 2 rows", "Weights[1] must be ≥ 0, got -2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

func TestUndefined(t *testing.T) {
	ones, scores := []float64{1, 1}, mat.NewDense(2, 1, []float64{0, 1})
	for name, in := range map[string]Input{
		"roc_auc":            {YTrue: ones, Scores: scores},
		"roc_auc_ovo":        {YTrue: ones, Scores: scores},
		"roc_auc_ovr":        {YTrue: []float64{0, 1}, Probabilities: mat.NewDense(2, 3, []float64{1, 0, 0, 0, 1, 0})},
		"average_precision":  {YTrue: []float64{0, 1}, Weights: []float64{1, 0}, Scores: scores},
		"silhouette":         {YPred: ones, Rows: scores},
		"calinski_harabasz":  {YPred: []float64{0, 1}, Rows: scores},
		"davies_bouldin":     {YPred: ones, Rows: scores},
		"cohen_kappa":        {YTrue: ones, YPred: ones},
		"r2":                 {YTrue: []float64{1}, YPred: []float64{1}},
		"relative_rmse":      {YTrue: []float64{0, 0}, YPred: ones},
		"d2_poisson":         {YTrue: []float64{1}, YPred: []float64{1}},
		"mean_squared_error": {YTrue: []float64{1e300}, YPred: []float64{-1e300}},
	} {
		m, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Score(in); !errors.Is(err, ErrUndefined) || !math.IsNaN(got) {
			t.Errorf("%s: got %v, %v; want ErrUndefined", name, got, err)
		}
	}
}

// Tweedie deviances contain those of Poisson and gamma, are continuous in the power, and reject
// values outside the support.
func TestDeviance(t *testing.T) {
	score := func(name string, in Input) (float64, error) {
		m, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return m.Score(in)
	}
	in := Input{YTrue: []float64{1, 2.5, 4}, YPred: []float64{1.5, 2, 4}, Weights: []float64{1, 2, 1}}
	for _, pair := range [][2]string{{"mean_poisson_deviance", "mean_tweedie_deviance_1.0000001"},
		{"mean_gamma_deviance", "mean_tweedie_deviance_1.9999999"}, {"mean_gamma_deviance", "mean_tweedie_deviance_2"},
		{"d2_gamma", "d2_tweedie_2"}, {"d2_poisson", "d2_tweedie_1"}} {
		a, err := score(pair[0], in)
		b, err2 := score(pair[1], in)
		if err != nil || err2 != nil || !near(a, b, 1e-5) {
			t.Errorf("%s is %v, %v, %s is %v, %v", pair[0], a, err, pair[1], b, err2)
		}
	}
	constant := Input{YTrue: []float64{0.1, 0.1, 0.1}, YPred: []float64{0.1, 0.1, 0.1}}
	if got, err := score("d2_gamma", constant); got != 1 || err != nil {
		t.Errorf("d2_gamma of exact predictions of a constant is %v, %v", got, err)
	}
	for name, in := range map[string]Input{
		"mean_poisson_deviance": {YTrue: []float64{-1}, YPred: []float64{1}},
		"mean_gamma_deviance":   {YTrue: []float64{0}, YPred: []float64{1}},
		"d2_tweedie_1.5":        {YTrue: []float64{0, 1}, YPred: []float64{1, 0}},
		"d2_tweedie_3":          {YTrue: []float64{0, 1}, YPred: []float64{1, 1}},
	} {
		if got, err := score(name, in); err == nil || errors.Is(err, ErrUndefined) {
			t.Errorf("%s is %v, %v, want an error", name, got, err)
		}
	}
	for _, name := range []string{"mean_tweedie_deviance_0.5", "d2_tweedie_nan", "mean_tweedie_deviance_inf"} {
		if _, err := ByName(name); err == nil {
			t.Errorf("%s is a metric", name)
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, m := range All() {
		if m.Doc == "" || m.Func == nil || m.Requires == "" || m.Task == "" {
			t.Errorf("%s is incomplete", m.Name)
		}
		for _, name := range append([]string{m.Name}, m.Aliases...) {
			if other, twice := seen[name]; twice {
				t.Errorf("%q names both %s and %s", name, m.Name, other)
			}
			seen[name] = m.Name
			if got, err := ByName(name); err != nil || got.Name != m.Name {
				t.Errorf("ByName(%q) is %s, %v; want %s", name, got.Name, err, m.Name)
			}
			negated, err := ByName("neg_" + name)
			if m.GreaterIsBetter != (err != nil) {
				t.Errorf("ByName(neg_%s): %v", name, err)
			} else if err == nil && (negated.Name != "neg_"+m.Name || !negated.GreaterIsBetter) {
				t.Errorf("ByName(neg_%s) is %s", name, negated.Name)
			}
		}
	}
	for _, scorer := range strings.Fields(`accuracy balanced_accuracy top_k_accuracy average_precision neg_brier_score f1 f1_micro f1_macro
		f1_weighted neg_log_loss precision precision_macro recall recall_weighted roc_auc roc_auc_ovr roc_auc_ovo roc_auc_ovr_weighted
		roc_auc_ovo_weighted matthews_corrcoef explained_variance r2 max_error neg_max_error neg_mean_absolute_error neg_mean_squared_error
		neg_root_mean_squared_error neg_mean_squared_log_error neg_root_mean_squared_log_error neg_median_absolute_error
		neg_mean_absolute_percentage_error neg_pinball_0.25 pinball_0.975 d2_pinball_0.05 d2_absolute_error_score`) {
		if _, err := ByName(scorer); err != nil {
			t.Error(err)
		}
	}
	for wrong, near := range map[string]string{
		"acuracy": "accuracy", "ROC_AUC": "", "pinball_1.5": "", "pinball_": "", "neg_log_los": "neg_log_loss",
		"mean_square_error": "mean_squared_error", "": "", "neg_": "",
	} {
		_, err := ByName(wrong)
		if err == nil || !strings.Contains(err.Error(), "balanced_accuracy") || near != "" &&
			!strings.Contains(err.Error(), fmt.Sprintf("did you mean %q", near)) {
			t.Errorf("ByName(%q): %v", wrong, err)
		}
	}
}

// Every default metric can be evaluated if the model has all outputs.
func TestForTask(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		task    datasets.Task
		classes int
		like    string // metric whose random input has that many classes
	}{{datasets.Classification, 2, "f1"}, {datasets.Classification, 4, "accuracy"}, {datasets.Regression, 0,
		"r2"}, {datasets.Clustering, 0, ""}, {datasets.Anomaly, 0, "f1"}} {
		set := ForTask(c.task, c.classes)
		if len(set) < 4 {
			t.Fatalf("%s with %d classes has %d metrics", c.task, c.classes, len(set))
		}
		for _, m := range set {
			in := random(rng, Metric{Name: c.like, Task: c.task}, 40)
			if _, err := m.Score(in); err != nil || !m.Requires.SatisfiedBy(in) || !m.SupportsTask(c.task) {
				t.Errorf("%s of %s: %v", m.Name, c.task, err)
			}
			if m.Requires.SatisfiedBy(Input{YTrue: in.YTrue}) {
				t.Errorf("%s: its need is met by nothing", m.Name)
			}
		}
	}
	if ForTask("forecasting", 3) != nil {
		t.Error("an unknown task has metrics")
	}
}

func TestCustomMetric(t *testing.T) {
	cost := Metric{Name: "cost", Task: datasets.Classification, Requires: RequiresPredictions, Func: func(in Input) (float64,
		error) {
		total := 0.0
		for i := range in.YTrue {
			total += math.Abs(in.YTrue[i] - in.YPred[i])
		}
		return total, nil
	}}
	if got, err := cost.Score(Input{YTrue: []float64{0, 2, 1}, YPred: []float64{2, 2, 0}, Weights: []float64{1, 1,
		0}}); err != nil || got != 2 {
		t.Errorf("got %v, %v; want 2", got, err)
	}
	for _, bad := range []Metric{{}, {Name: "x", Func: cost.Func}, {Name: "x", Task: datasets.Classification,
		Func: cost.Func}, {Name: "x", Task: datasets.Regression, Requires: RequiresProbabilities, Func: cost.Func}} {
		if _, err := bad.Score(Input{YTrue: []float64{0, 1}, YPred: []float64{0, 1}}); err == nil {
			t.Errorf("%+v scored", bad)
		}
	}
}

func TestCurves(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	in := random(rng, Metric{Name: "roc_auc"}, 200)
	roc, err := in.ROC(1)
	if err != nil {
		t.Fatal(err)
	}
	pr, err := in.PrecisionRecall(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(roc.Thresholds) != 8 || len(pr.Thresholds) != 7 || len(pr.Recall) != 8 {
		t.Fatalf("7 distinct scores, but thresholds %v and %v", roc.Thresholds, pr.Thresholds)
	}
	for i, threshold := range pr.Thresholds { // compare each point with its definition
		var tp, fp float64
		for row, c := range in.YTrue {
			if in.Scores.At(row, 0) >= threshold {
				tp += in.Weights[row] * c
				fp += in.Weights[row] * (1 - c)
			}
		}
		n := 7 - i
		ok := near(pr.Precision[i], tp/(tp+fp), 1e-12) && near(pr.Recall[i], tp/weightOf(in, 1), 1e-12) &&
			near(roc.TPR[n], tp/weightOf(in, 1), 1e-12) && near(roc.FPR[n], fp/weightOf(in, 0),
			1e-12) && roc.Thresholds[n] == threshold
		if !ok {
			t.Errorf("threshold %v: %v of %v, %v", threshold, i, pr, roc)
		}
	}
	other, err := in.ROC(0) // the other class mirrors the curve
	if err != nil {
		t.Fatal(err)
	}
	for i := range other.FPR {
		if n := len(roc.FPR) - 1 - i; !near(other.FPR[i], 1-roc.TPR[n], 1e-12) || !near(other.TPR[i], 1-roc.FPR[n], 1e-12) {
			t.Errorf("class 0 has the point %v %v", other.FPR[i], other.TPR[i])
		}
	}
	for _, bad := range []struct {
		in    Input
		class int
	}{{Input{}, 1}, {in, 2}, {in, -1}, {Input{YTrue: []float64{1}, Scores: mat.NewDense(1, 1, nil)}, 1}} {
		if _, err := bad.in.ROC(bad.class); err == nil {
			t.Errorf("ROC curve of class %d of %v", bad.class, bad.in.YTrue)
		}
		if _, err := bad.in.PrecisionRecall(bad.class); err == nil {
			t.Errorf("precision-recall curve of class %d of %v", bad.class, bad.in.YTrue)
		}
	}
}

func TestCalibrationCurve(t *testing.T) {
	in := Input{YTrue: []float64{0, 1, 1, 1}, Weights: []float64{1, 3, 1, 1}}
	in.Probabilities = mat.NewDense(4, 2, []float64{.9, .1, .8, .2, .75, .25, 0, 1})
	got, err := in.Calibration(1, 4) // [0, 0.25] contains three rows, (0.75, 1] one
	if err != nil {
		t.Fatal(err)
	}
	want := Calibration{Predicted: []float64{.95 / 5, 1}, Observed: []float64{.8, 1}, Weight: []float64{5, 1}}
	same := func(a, b float64) bool { return near(a, b, 1e-15) }
	if !slices.EqualFunc(got.Predicted, want.Predicted, same) || !slices.Equal(got.Observed,
		want.Observed) || !slices.Equal(got.Weight, want.Weight) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range [][2]int{{1, 0}, {2, 4}, {-1, 4}} {
		if _, err := in.Calibration(bad[0], bad[1]); err == nil {
			t.Errorf("class %d and %d bins have a curve", bad[0], bad[1])
		}
	}
}

func TestConfusionMatrix(t *testing.T) {
	in := Input{YTrue: []float64{0, 1, 1, 2}, YPred: []float64{0, 1, 0, 2}, Weights: []float64{1, 2, .5, 0}}
	table, err := in.Confusion([]string{"Gänse", "a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if want := mat.NewDense(3, 3, []float64{1, 0, 0, .5, 2, 0, 0, 0, 0}); !mat.Equal(table.Counts, want) {
		t.Errorf("got\n%v", table)
	}
	want := "true \\ predicted  Gänse      a      b\n" +
		"Gänse                 1      0      0\n" +
		"a                  0.50      2      0\n" +
		"b                     0      0      0\n"
	if got := table.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := in.Confusion([]string{"a", "b"}); err == nil {
		t.Error("two names for three classes")
	}
	if _, err := (Input{YTrue: []float64{5000}, YPred: []float64{0}}).Confusion(nil); err == nil {
		t.Error("a table of 5001 classes")
	}
}

func BenchmarkROCAUC(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 12))
	const rows = 100_000
	in := Input{YTrue: make([]float64, rows), Scores: mat.NewDense(rows, 1, nil)}
	for i := range rows {
		in.YTrue[i] = float64(rng.IntN(2))
		in.Scores.Set(i, 0, rng.NormFloat64())
	}
	m, _ := ByName("roc_auc")
	for b.Loop() {
		if _, err := m.Score(in); err != nil {
			b.Fatal(err)
		}
	}
}

// The sample estimates the silhouette of all rows.
func TestSilhouetteSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	m, _ := ByName("silhouette")
	in := random(rng, m, 3*maxPairwiseRows/2)
	in.YPred, in.Weights = in.YTrue, nil
	got, err := m.Score(in)
	if err != nil {
		t.Fatal(err)
	}
	half := in.selectRows(inOrder(maxPairwiseRows))
	want, err := m.Score(half)
	if err != nil || math.Abs(got-want) > 0.02 || got == want {
		t.Errorf("sampled %v, other rows %v, %v", got, want, err)
	}
}

// Sparse and dense rows give equal values.
func TestSparseRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, m := range All() {
		if m.IsSupervised() {
			continue
		}
		in := random(rng, m, 50)
		want, err1 := m.Score(in)
		in.Rows = matrices.CSRFromDense(in.Rows.(*mat.Dense))
		if got, err := m.Score(in); err != nil || err1 != nil || !near(got, want, 1e-10) {
			t.Errorf("%s: sparse %v, %v, dense %v, %v", m.Name, got, err, want, err1)
		}
	}
}

// A registered metric is found by its names, also negated; wrong ones and taken names are errors.
func TestRegister(t *testing.T) {
	worst := func(in Input) (float64, error) { return slices.Max(in.YTrue) - slices.Max(in.YPred), nil }
	own := Metric{Name: "worst_loss", Aliases: []string{"worst"}, Task: datasets.Regression, Func: worst}
	before := len(All())
	for range 2 { // the second call replaces the metric
		if err := Register(own); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { custom.list = nil }()
	if got := All(); len(got) != before+1 || got[before].Requires != RequiresPredictions {
		t.Errorf("%d metrics, had %d", len(got), before)
	}
	in := Input{YTrue: []float64{1, 5}, YPred: []float64{2, 3}}
	for name, want := range map[string]float64{"worst_loss": 2, "worst": 2, "neg_worst_loss": -2} {
		m, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Score(in); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := ByName("worst_los"); err == nil || !strings.Contains(err.Error(), `did you mean "worst_loss"?`) {
		t.Error(err)
	}
	for want, m := range map[string]Metric{
		"letters":                       {Name: "a b", Task: own.Task, Func: worst},
		"task":                          {Name: "a", Func: worst},
		"Func":                          {Name: "a", Task: own.Task},
		"requirement":                   {Name: "a", Task: own.Task, Func: worst, Requires: "luck"},
		"the name r2 is taken by":       {Name: "r2", Task: own.Task, Func: worst},
		"the name worst is taken by":    {Name: "worst", Task: own.Task, Func: worst},
		"the name accuracy is taken by": {Name: "a", Aliases: []string{"accuracy"}, Task: own.Task, Func: worst},
	} {
		if err := Register(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
