package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// Input contains the true values of n rows, the predictions for them, and sample weights. A metric
// reads only the fields that it requires, and changes none.
type Input struct {
	YTrue []float64 // n targets, or class codes 0..k-1
	YPred []float64 // n predicted targets or class codes

	Scores *mat.Dense // decision scores: n×1 when binary, greater for class 1; n×k otherwise
	// class probabilities, n×k (two columns when binary); every row sums to 1, unless of labels
	Probabilities *mat.Dense

	YTrueTargets *mat.Dense // n×t true values, replaces YTrue for t > 1 targets; 0 or 1 for labels
	YPredTargets *mat.Dense // n×t predictions, replaces YPred

	Std          []float64  // n standard deviations of a new observation, all positive
	Lower, Upper []float64  // n interval bounds, Lower ≤ Upper
	Sets         *mat.Dense // n×k: 1 for each class in the prediction set, else 0

	Costs *mat.Dense // k×k: entry (i, j) ≥ 0 is the cost of predicting class j for a row of class i

	StdTargets, LowerTargets, UpperTargets *mat.Dense // n×t, the same for t > 1 targets

	Rows mat.Matrix // n×d inputs, for unsupervised metrics; sparse matrices stay sparse

	Weights []float64 // n finite weights ≥ 0; nil means 1 for every row
	Classes int       // k; 0 infers the smallest number ≥ 2 that fits the codes and columns

	ClassNames []string // for messages; nil means the class codes
}

// className returns the name of a class for messages.
func (in Input) className(class int) string {
	if class < len(in.ClassNames) {
		return in.ClassNames[class]
	}
	return strconv.Itoa(class)
}

// maxClasses rejects regression targets that are passed as class codes.
const maxClasses = 1 << 20

// probabilityTol is the tolerance of the row sums of probabilities, which allows float32 rounding.
const probabilityTol = 1e-5

func hasEntries(m *mat.Dense) bool { return m != nil && !m.IsEmpty() }

func (in Input) rows() int {
	if hasEntries(in.YTrueTargets) {
		return in.YTrueTargets.RawMatrix().Rows
	}
	return len(in.YTrue)
}

func (in Input) weight(row int) float64 {
	if in.Weights == nil {
		return 1
	}
	return in.Weights[row]
}

// mean returns the weighted mean of f over the rows.
func (in Input) mean(f func(row int) float64) float64 {
	var total, weight sum
	if in.Weights == nil {
		for i := range in.rows() {
			total.add(f(i))
		}
		return total.value() / float64(in.rows())
	}
	for i, w := range in.Weights {
		total.add(w * f(i))
		weight.add(w)
	}
	return total.value() / weight.value()
}

// singleTarget returns the input of target t.
func (in Input) singleTarget(t int) Input {
	column := func(m *mat.Dense) []float64 {
		if !hasEntries(m) {
			return nil
		}
		return mat.Col(nil, t, m)
	}
	return Input{YTrue: column(in.YTrueTargets), YPred: column(in.YPredTargets), Weights: in.Weights,
		Std: column(in.StdTargets), Lower: column(in.LowerTargets), Upper: column(in.UpperTargets)}
}

// validate returns the input that [Metric.Func] receives, or one error that lists all problems.
func (in Input) validate(task datasets.Task, need Requirement) (Input, error) {
	var f problems
	rows := len(in.YTrue)
	switch task {
	case datasets.Regression:
		rows = in.checkTargets(&f, need)
	case datasets.Classification:
		in = in.checkClasses(&f, need)
	case datasets.MultiLabel:
		in = in.checkLabels(&f, need)
		rows = in.rows()
	case datasets.Clustering:
		in, rows = in.checkClusters(&f, need)
	default:
		f.addf("Task must be %[2]s, %[3]s, %[4]s or %[5]s, got %[1]q", task, datasets.Classification, datasets.Regression,
			datasets.Clustering, datasets.MultiLabel)
	}
	if in.Weights != nil && f.vector("Weights", in.Weights, rows) {
		f.weights(in.Weights)
	}
	if err := f.err(); err != nil {
		return Input{}, err
	}
	return in.dropZeroWeights(), nil
}

func (in Input) checkTargets(f *problems, need Requirement) (rows int) {
	switch need {
	case RequiresPredictions, RequiresStdDevs, RequiresIntervals:
	default:
		f.addf("a regression metric must require %s, %s or %s, got %s", RequiresPredictions, RequiresStdDevs,
			RequiresIntervals, need)
	}
	if !hasEntries(in.YTrueTargets) && !hasEntries(in.YPredTargets) {
		f.vector("YTrue", in.YTrue, len(in.YTrue))
		if need != RequiresIntervals {
			f.vector("YPred", in.YPred, len(in.YTrue))
		}
		if need == RequiresStdDevs && f.vector("Std", in.Std, len(in.YTrue)) {
			f.positive("Std", in.Std)
		}
		if need == RequiresIntervals && f.vector("Lower", in.Lower, len(in.YTrue)) && f.vector("Upper", in.Upper,
			len(in.YTrue)) {
			f.intervals("", in.Lower, in.Upper)
		}
		return len(in.YTrue)
	}
	if in.YTrue != nil || in.YPred != nil {
		f.addf("YTrue and YPred exclude YTrueTargets and YPredTargets")
	}
	targets := 0
	if hasEntries(in.YTrueTargets) {
		rows, targets = in.YTrueTargets.Dims()
	}
	f.matrix("YTrueTargets", in.YTrueTargets, rows, targets)
	if need != RequiresIntervals {
		f.matrix("YPredTargets", in.YPredTargets, rows, targets)
	}
	if need == RequiresStdDevs && f.matrix("StdTargets", in.StdTargets, rows, targets) {
		for t := range targets {
			f.positive(fmt.Sprintf("target %d: StdTargets", t), mat.Col(nil, t, in.StdTargets))
		}
	}
	if need == RequiresIntervals && f.matrix("LowerTargets", in.LowerTargets, rows, targets) && f.matrix("UpperTargets",
		in.UpperTargets, rows, targets) {
		for t := range targets {
			f.intervals(fmt.Sprintf("target %d: ", t), mat.Col(nil, t, in.LowerTargets), mat.Col(nil, t, in.UpperTargets))
		}
	}
	return rows
}

// checkClasses sets the number of classes and, for requirements with alternatives, moves the
// selected matrix to Scores.
func (in Input) checkClasses(f *problems, need Requirement) Input {
	if hasEntries(in.YTrueTargets) || hasEntries(in.YPredTargets) {
		f.addf("classification supports one target only")
	}
	predicted := need == RequiresPredictions || need == RequiresPredictionsAndCosts
	if predicted {
		in.Scores, in.Probabilities = nil, nil
	} else {
		in.YPred = nil
	}
	switch need {
	case RequiresPredictions, RequiresPredictionsAndCosts:
	case RequiresSets:
		in.Scores, in.Probabilities = nil, nil
	case RequiresProbabilities:
		in.Scores = nil
	case RequiresScores, probabilitiesOrScores:
		if hasEntries(in.Scores) && (need == RequiresScores || !hasEntries(in.Probabilities)) {
			in.Probabilities = nil
		} else {
			in.Scores = nil
		}
	default:
		f.addf("unknown requirement %q", need)
	}
	in.Classes = in.classCount(f)
	f.codes("YTrue", in.YTrue, len(in.YTrue), in.Classes)
	switch {
	case predicted:
		f.codes("YPred", in.YPred, len(in.YTrue), in.Classes)
		if need == RequiresPredictionsAndCosts && f.matrix("Costs", in.Costs, in.Classes, in.Classes) &&
			mat.Min(in.Costs) < 0 {
			f.addf("Costs must be ≥ 0, got %v", mat.Min(in.Costs))
		}
	case need == RequiresSets:
		f.matrix("Sets", in.Sets, len(in.YTrue), in.Classes)
	case in.Scores != nil:
		columns := in.Classes
		if columns == 2 {
			columns = 1
		}
		f.matrix("Scores", in.Scores, len(in.YTrue), columns)
	case !hasEntries(in.Probabilities):
		f.addf("%s are missing", need)
	default:
		f.distributions(in.Probabilities, len(in.YTrue), in.Classes)
	}
	if need != RequiresProbabilities && in.Scores == nil {
		in.Scores = in.Probabilities
	}
	return in
}

// checkLabels keeps the true labels and the fields that the requirement names.
func (in Input) checkLabels(f *problems, need Requirement) Input {
	out := Input{YTrueTargets: in.YTrueTargets, Weights: in.Weights}
	if !hasEntries(in.YTrueTargets) {
		f.addf("YTrueTargets must not be empty")
		return out
	}
	rows, labels := in.YTrueTargets.Dims()
	f.indicators("YTrueTargets", in.YTrueTargets, rows, labels)
	switch need {
	case RequiresPredictions:
		out.YPredTargets = in.YPredTargets
		f.indicators("YPredTargets", in.YPredTargets, rows, labels)
	case RequiresScores, probabilitiesOrScores:
		if out.Scores = in.Scores; !hasEntries(out.Scores) || need == probabilitiesOrScores && hasEntries(in.Probabilities) {
			out.Scores = in.Probabilities
		}
		f.matrix("Scores", out.Scores, rows, labels)
	default:
		f.addf("a metric of several labels must require %s or %s, got %s", RequiresPredictions, RequiresScores, need)
	}
	return out
}

// checkClusters keeps the fields that the requirement names: cluster labels with true labels or
// inputs.
func (in Input) checkClusters(f *problems, need Requirement) (out Input, rows int) {
	out = Input{YPred: in.YPred, Weights: in.Weights, Classes: maxClasses}
	switch need {
	case RequiresPredictions:
		out.YTrue = in.YTrue
		f.codes("YTrue", in.YTrue, len(in.YTrue), maxClasses)
		f.codes("YPred", in.YPred, len(in.YTrue), maxClasses)
		return out, len(in.YTrue)
	case predictionsAndRows:
		f.codes("YPred", in.YPred, len(in.YPred), maxClasses)
		if in.Rows == nil {
			f.addf("Rows is missing")
			break
		}
		out.Rows = in.Rows
		if n, _ := in.Rows.Dims(); n != len(in.YPred) {
			f.addf("Rows must have %d rows, as YPred, got %d", len(in.YPred), n)
		} else if err := (datasets.Set{X: in.Rows}).CheckFinite(); err != nil {
			f.addf("Rows: %v", err)
		}
	default:
		f.addf("a clustering metric must require %s or %s, got %s", RequiresPredictions, predictionsAndRows, need)
	}
	return out, len(in.YPred)
}

// classCount returns in.Classes, or the smallest number of classes that fits the codes and columns.
func (in Input) classCount(f *problems) int {
	if in.Classes == 1 || in.Classes < 0 || in.Classes > maxClasses {
		f.addf("Classes must be 2 to %d, or 0 to infer it, got %d", maxClasses, in.Classes)
		return maxClasses
	}
	if in.Classes > 0 {
		return in.Classes
	}
	classes := 2
	for _, m := range []*mat.Dense{in.Scores, in.Probabilities, in.Sets} {
		if hasEntries(m) {
			_, columns := m.Dims()
			classes = max(classes, columns)
		}
	}
	for _, codes := range [][]float64{in.YTrue, in.YPred} {
		for _, c := range codes {
			if c >= float64(classes) {
				classes = int(min(c, maxClasses-1)) + 1
			}
		}
	}
	return classes
}

// dropZeroWeights removes rows of weight 0.
func (in Input) dropZeroWeights() Input {
	if !slices.Contains(in.Weights, 0) {
		return in
	}
	var keep []int
	for i, w := range in.Weights {
		if w != 0 {
			keep = append(keep, i)
		}
	}
	return in.selectRows(keep)
}

// selectRows returns the input of the given rows.
func (in Input) selectRows(keep []int) Input {
	vector := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		kept := make([]float64, len(keep))
		for to, from := range keep {
			kept[to] = v[from]
		}
		return kept
	}
	matrix := func(m *mat.Dense) *mat.Dense {
		if !hasEntries(m) {
			return nil
		}
		_, columns := m.Dims()
		kept := mat.NewDense(len(keep), columns, nil)
		for to, from := range keep {
			kept.SetRow(to, m.RawRowView(from))
		}
		return kept
	}
	var rows mat.Matrix
	if in.Rows != nil {
		rows = (datasets.Set{X: in.Rows}).Select(keep).X
	}
	return Input{
		Rows: rows, YTrue: vector(in.YTrue), YPred: vector(in.YPred), Weights: vector(in.Weights), Classes: in.Classes,
		Costs:  in.Costs,
		Scores: matrix(in.Scores), Probabilities: matrix(in.Probabilities),
		YTrueTargets: matrix(in.YTrueTargets), YPredTargets: matrix(in.YPredTargets),
		Std: vector(in.Std), Lower: vector(in.Lower), Upper: vector(in.Upper), Sets: matrix(in.Sets),
		StdTargets: matrix(in.StdTargets), LowerTargets: matrix(in.LowerTargets), UpperTargets: matrix(in.UpperTargets),
	}
}

// problems collects validation errors, at most one per field.
type problems []string

func (f *problems) addf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *problems) err() error {
	if len(*f) == 0 {
		return nil
	}
	return errors.New(strings.Join(*f, "; "))
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// vector checks that v has the given number of rows, at least one, and is finite. It reports
// whether v is valid.
func (f *problems) vector(name string, v []float64, rows int) bool {
	switch {
	case len(v) == 0:
		f.addf("%s must not be empty", name)
	case len(v) != rows:
		f.addf("%s must have %d rows, as YTrue, got %d", name, rows, len(v))
	default:
		i := slices.IndexFunc(v, notFinite)
		if i < 0 {
			return true
		}
		f.addf("%s[%d] must be finite, got %v", name, i, v[i])
	}
	return false
}

// positive checks that all standard deviations are positive.
func (f *problems) positive(name string, v []float64) {
	if i := slices.IndexFunc(v, func(s float64) bool { return s <= 0 }); i >= 0 {
		f.addf("%s[%d] must be > 0, got %v", name, i, v[i])
	}
}

// intervals checks that lower ≤ upper.
func (f *problems) intervals(where string, lower, upper []float64) {
	for i, l := range lower {
		if upper[i] < l {
			f.addf("%sUpper[%d] must be ≥ Lower = %v, got %v", where, i, l, upper[i])
			return
		}
	}
}

// weights checks that no weight is negative and that their sum is positive.
func (f *problems) weights(v []float64) {
	total := 0.0
	for i, w := range v {
		if w < 0 {
			f.addf("Weights[%d] must be ≥ 0, got %v", i, w)
			return
		}
		total += w
	}
	if total == 0 || math.IsInf(total, 1) {
		f.addf("the sum of Weights must be positive and finite, got %v", total)
	}
}

// codes checks that v contains class codes in [0, classes).
func (f *problems) codes(name string, v []float64, rows, classes int) {
	if !f.vector(name, v, rows) {
		return
	}
	bad := func(c float64) bool { return c != math.Trunc(c) || c < 0 || c >= float64(classes) }
	if i := slices.IndexFunc(v, bad); i >= 0 {
		f.addf("%s[%d] must be a class code 0 to %d, got %v", name, i, classes-1, v[i])
	}
}

// matrix checks that m is a finite rows×columns matrix. It reports whether m is valid.
func (f *problems) matrix(name string, m *mat.Dense, rows, columns int) bool {
	if !hasEntries(m) {
		f.addf("%s must not be empty", name)
		return false
	}
	if r, c := m.Dims(); r != rows || c != columns {
		f.addf("%s must be %d×%d, got %d×%d", name, rows, columns, r, c)
		return false
	}
	for i := range rows {
		if j := slices.IndexFunc(m.RawRowView(i), notFinite); j >= 0 {
			f.addf("%s row %d column %d must be finite, got %v", name, i, j, m.At(i, j))
			return false
		}
	}
	return true
}

// indicators checks that m is a rows×columns matrix of zeros and ones.
func (f *problems) indicators(name string, m *mat.Dense, rows, columns int) {
	if !f.matrix(name, m, rows, columns) {
		return
	}
	for i := range rows {
		if j := slices.IndexFunc(m.RawRowView(i), func(v float64) bool { return v != 0 && v != 1 }); j >= 0 {
			f.addf("%s row %d column %d must be 0 or 1, got %v", name, i, j, m.At(i, j))
			return
		}
	}
}

// distributions checks that m is rows×classes and that each row is a probability distribution.
func (f *problems) distributions(m *mat.Dense, rows, classes int) {
	if !f.matrix("Probabilities", m, rows, classes) {
		return
	}
	for i := range rows {
		total := 0.0
		for j, p := range m.RawRowView(i) {
			if p < -probabilityTol || p > 1+probabilityTol {
				f.addf("Probabilities row %d column %d must be 0 to 1, got %v", i, j, p)
				return
			}
			total += p
		}
		if math.Abs(total-1) > probabilityTol {
			f.addf("Probabilities row %d must sum to 1, got %v", i, total)
			return
		}
	}
}
