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

// Input is what a metric compares: the truth, what a model said of the same n rows, and what each row counts.
// Only the fields that a metric needs are read; Score never changes them.
type Input struct {
	Truth     []float64 // n targets, or class codes 0..k-1
	Predicted []float64 // n predicted targets or class codes

	Scores        *mat.Dense // decision scores: n×1 when binary, greater for class 1; n×k otherwise
	Probabilities *mat.Dense // class probabilities, n×k (two columns when binary); every row sums to 1

	TruthTargets     *mat.Dense // n×t, instead of Truth when there are several targets to a row
	PredictedTargets *mat.Dense // n×t, instead of Predicted

	Std          []float64  // n standard deviations of new observations, all above 0
	Lower, Upper []float64  // n ends of intervals, Lower at most Upper
	Sets         *mat.Dense // n×k: 1 for each class of a set, else 0

	StdTargets, LowerTargets, UpperTargets *mat.Dense // n×t, likewise, when there are several targets

	Rows mat.Matrix // n×d, the rows themselves, which metrics without a truth look at; sparse ones are never made dense

	Weights []float64 // n finite weights, none negative; nil means 1 for every row
	Classes int       // k; 0 means the least that the codes and columns given allow, and at least 2

	ClassNames []string // of class codes, for messages; nil for the codes
}

// nameOf returns the name of a class for messages.
func (in Input) nameOf(class int) string {
	if class < len(in.ClassNames) {
		return in.ClassNames[class]
	}
	return strconv.Itoa(class)
}

// maxClasses bounds the classes, so that regression targets taken for class codes give an error and not a huge table.
const maxClasses = 1 << 20

// probabilitySlack is how far a row of probabilities may sum from 1: room for the rounding of single precision.
const probabilitySlack = 1e-5

func present(m *mat.Dense) bool { return m != nil && !m.IsEmpty() }

func (in Input) rows() int { return len(in.Truth) }

func (in Input) weight(row int) float64 {
	if in.Weights == nil {
		return 1
	}
	return in.Weights[row]
}

// mean is the weighted mean of f over the rows.
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

// target is the input of one of several targets.
func (in Input) target(t int) Input {
	column := func(m *mat.Dense) []float64 {
		if !present(m) {
			return nil
		}
		return mat.Col(nil, t, m)
	}
	return Input{Truth: column(in.TruthTargets), Predicted: column(in.PredictedTargets), Weights: in.Weights,
		Std: column(in.StdTargets), Lower: column(in.LowerTargets), Upper: column(in.UpperTargets)}
}

// checked returns the input that [Metric.Func] is promised, or all that is wrong with it in one error.
func (in Input) checked(task datasets.Task, need Need) (Input, error) {
	var f faults
	rows := len(in.Truth)
	switch task {
	case datasets.Regression:
		rows = in.checkTargets(&f, need)
	case datasets.Classification:
		in = in.checkClasses(&f, need)
	case datasets.Clustering:
		in, rows = in.checkClusters(&f, need)
	default:
		f.addf("task %q is none of %s, %s and %s", task, datasets.Classification, datasets.Regression, datasets.Clustering)
	}
	if in.Weights != nil && f.vector("Weights", in.Weights, rows) {
		f.weights(in.Weights)
	}
	if err := f.err(); err != nil {
		return Input{}, err
	}
	return in.withoutZeroWeights(), nil
}

func (in Input) checkTargets(f *faults, need Need) (rows int) {
	switch need {
	case Predictions, Deviations, Intervals:
	default:
		f.addf("a regression metric needs %s, %s or %s, not %s", Predictions, Deviations, Intervals, need)
	}
	if !present(in.TruthTargets) && !present(in.PredictedTargets) {
		f.vector("Truth", in.Truth, len(in.Truth))
		if need != Intervals {
			f.vector("Predicted", in.Predicted, len(in.Truth))
		}
		if need == Deviations && f.vector("Std", in.Std, len(in.Truth)) {
			f.deviations("Std", in.Std)
		}
		if need == Intervals && f.vector("Lower", in.Lower, len(in.Truth)) && f.vector("Upper", in.Upper, len(in.Truth)) {
			f.ordered("", in.Lower, in.Upper)
		}
		return len(in.Truth)
	}
	if in.Truth != nil || in.Predicted != nil {
		f.addf("give either Truth and Predicted or TruthTargets and PredictedTargets, not both")
	}
	targets := 0
	if present(in.TruthTargets) {
		rows, targets = in.TruthTargets.Dims()
	}
	f.matrix("TruthTargets", in.TruthTargets, rows, targets)
	if need != Intervals {
		f.matrix("PredictedTargets", in.PredictedTargets, rows, targets)
	}
	if need == Deviations && f.matrix("StdTargets", in.StdTargets, rows, targets) {
		for t := range targets {
			f.deviations(fmt.Sprintf("target %d: StdTargets", t), mat.Col(nil, t, in.StdTargets))
		}
	}
	if need == Intervals && f.matrix("LowerTargets", in.LowerTargets, rows, targets) && f.matrix("UpperTargets", in.UpperTargets, rows, targets) {
		for t := range targets {
			f.ordered(fmt.Sprintf("target %d: ", t), mat.Col(nil, t, in.LowerTargets), mat.Col(nil, t, in.UpperTargets))
		}
	}
	return rows
}

// checkClasses settles the number of classes and, for a need with a choice, puts the matrix chosen into Scores.
func (in Input) checkClasses(f *faults, need Need) Input {
	if present(in.TruthTargets) || present(in.PredictedTargets) {
		f.addf("several targets are for regression, not classification")
	}
	if need == Predictions {
		in.Scores, in.Probabilities = nil, nil
	} else {
		in.Predicted = nil
	}
	switch need {
	case Predictions:
	case Sets:
		in.Scores, in.Probabilities = nil, nil
	case Probabilities:
		in.Scores = nil
	case ScoresOrProbabilities, ProbabilitiesOrScores:
		if present(in.Scores) && (need == ScoresOrProbabilities || !present(in.Probabilities)) {
			in.Probabilities = nil
		} else {
			in.Scores = nil
		}
	default:
		f.addf("unknown need %q", need)
	}
	in.Classes = in.classCount(f)
	f.codes("Truth", in.Truth, len(in.Truth), in.Classes)
	switch {
	case need == Predictions:
		f.codes("Predicted", in.Predicted, len(in.Truth), in.Classes)
	case need == Sets:
		f.matrix("Sets", in.Sets, len(in.Truth), in.Classes)
	case in.Scores != nil:
		columns := in.Classes
		if columns == 2 {
			columns = 1
		}
		f.matrix("Scores", in.Scores, len(in.Truth), columns)
	case !present(in.Probabilities):
		f.addf("it needs %s, and none are given", need)
	default:
		f.probabilities(in.Probabilities, len(in.Truth), in.Classes)
	}
	if need != Probabilities && in.Scores == nil {
		in.Scores = in.Probabilities
	}
	return in
}

// checkClusters leaves in the input what the need names: numbers of clusters, and either a truth or the rows.
func (in Input) checkClusters(f *faults, need Need) (out Input, rows int) {
	out = Input{Predicted: in.Predicted, Weights: in.Weights, Classes: maxClasses}
	switch need {
	case Predictions:
		out.Truth = in.Truth
		f.codes("Truth", in.Truth, len(in.Truth), maxClasses)
		f.codes("Predicted", in.Predicted, len(in.Truth), maxClasses)
		return out, len(in.Truth)
	case PredictionsAndRows:
		f.codes("Predicted", in.Predicted, len(in.Predicted), maxClasses)
		if in.Rows == nil {
			f.addf("it needs Rows, and none are given")
			break
		}
		out.Rows = in.Rows
		if n, _ := in.Rows.Dims(); n != len(in.Predicted) {
			f.addf("Rows has %d rows, Predicted has %d", n, len(in.Predicted))
		} else if err := (datasets.Set{X: in.Rows}).CheckFinite(); err != nil {
			f.addf("Rows: %v", err)
		}
	default:
		f.addf("a clustering metric needs %s or %s, not %s", Predictions, PredictionsAndRows, need)
	}
	return out, len(in.Predicted)
}

// classCount is the number of classes: what the caller says, or the least that codes and columns allow.
func (in Input) classCount(f *faults) int {
	if in.Classes == 1 || in.Classes < 0 || in.Classes > maxClasses {
		f.addf("Classes is %d, want 2 to %d, or 0 to count them", in.Classes, maxClasses)
		return maxClasses
	}
	if in.Classes > 0 {
		return in.Classes
	}
	classes := 2
	for _, m := range []*mat.Dense{in.Scores, in.Probabilities, in.Sets} {
		if present(m) {
			_, columns := m.Dims()
			classes = max(classes, columns)
		}
	}
	for _, codes := range [][]float64{in.Truth, in.Predicted} {
		for _, c := range codes {
			if c >= float64(classes) {
				classes = int(min(c, maxClasses-1)) + 1
			}
		}
	}
	return classes
}

// withoutZeroWeights drops the rows that do not count, so that nothing later can see them.
func (in Input) withoutZeroWeights() Input {
	if !slices.Contains(in.Weights, 0) {
		return in
	}
	var keep []int
	for i, w := range in.Weights {
		if w != 0 {
			keep = append(keep, i)
		}
	}
	return in.only(keep)
}

// only returns the input of some rows.
func (in Input) only(keep []int) Input {
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
		if !present(m) {
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
		Rows: rows, Truth: vector(in.Truth), Predicted: vector(in.Predicted), Weights: vector(in.Weights), Classes: in.Classes,
		Scores: matrix(in.Scores), Probabilities: matrix(in.Probabilities),
		TruthTargets: matrix(in.TruthTargets), PredictedTargets: matrix(in.PredictedTargets),
		Std: vector(in.Std), Lower: vector(in.Lower), Upper: vector(in.Upper), Sets: matrix(in.Sets),
		StdTargets: matrix(in.StdTargets), LowerTargets: matrix(in.LowerTargets), UpperTargets: matrix(in.UpperTargets),
	}
}

// faults collects what is wrong with an input. Of each field it keeps the first fault only.
type faults []string

func (f *faults) addf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *faults) err() error {
	if len(*f) == 0 {
		return nil
	}
	return errors.New(strings.Join(*f, "; "))
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// vector checks that v has rows finite elements, and any at all. It reports whether v passed.
func (f *faults) vector(name string, v []float64, rows int) bool {
	switch {
	case len(v) == 0:
		f.addf("%s has no rows", name)
	case len(v) != rows:
		f.addf("%s has %d rows, Truth has %d", name, len(v), rows)
	default:
		i := slices.IndexFunc(v, notFinite)
		if i < 0 {
			return true
		}
		f.addf("%s[%d] is %v, want a finite number", name, i, v[i])
	}
	return false
}

// deviations checks that standard deviations are above 0.
func (f *faults) deviations(name string, v []float64) {
	if i := slices.IndexFunc(v, func(s float64) bool { return s <= 0 }); i >= 0 {
		f.addf("%s[%d] is %v, want a number above 0", name, i, v[i])
	}
}

// ordered checks that no interval ends before it begins.
func (f *faults) ordered(where string, lower, upper []float64) {
	for i, l := range lower {
		if upper[i] < l {
			f.addf("%sUpper[%d] is %v, below Lower, which is %v", where, i, upper[i], l)
			return
		}
	}
}

// weights checks that no weight is negative and that some count.
func (f *faults) weights(v []float64) {
	total := 0.0
	for i, w := range v {
		if w < 0 {
			f.addf("Weights[%d] is %v, want 0 or more", i, w)
			return
		}
		total += w
	}
	if total == 0 || math.IsInf(total, 1) {
		f.addf("the weights add up to %v", total)
	}
}

// codes checks that v holds rows class codes below classes.
func (f *faults) codes(name string, v []float64, rows, classes int) {
	if !f.vector(name, v, rows) {
		return
	}
	bad := func(c float64) bool { return c != math.Trunc(c) || c < 0 || c >= float64(classes) }
	if i := slices.IndexFunc(v, bad); i >= 0 {
		f.addf("%s[%d] is %v, want a class code, an integer from 0 to %d", name, i, v[i], classes-1)
	}
}

// matrix checks that m is rows×columns and finite. It reports whether m passed.
func (f *faults) matrix(name string, m *mat.Dense, rows, columns int) bool {
	if !present(m) {
		f.addf("%s is empty", name)
		return false
	}
	if r, c := m.Dims(); r != rows || c != columns {
		f.addf("%s is %d×%d, want %d×%d", name, r, c, rows, columns)
		return false
	}
	for i := range rows {
		if j := slices.IndexFunc(m.RawRowView(i), notFinite); j >= 0 {
			f.addf("%s row %d column %d is %v, want a finite number", name, i, j, m.At(i, j))
			return false
		}
	}
	return true
}

// probabilities checks that m is rows×classes, and each of its rows a distribution.
func (f *faults) probabilities(m *mat.Dense, rows, classes int) {
	if !f.matrix("Probabilities", m, rows, classes) {
		return
	}
	for i := range rows {
		total := 0.0
		for j, p := range m.RawRowView(i) {
			if p < -probabilitySlack || p > 1+probabilitySlack {
				f.addf("Probabilities row %d column %d is %v, want 0 to 1", i, j, p)
				return
			}
			total += p
		}
		if math.Abs(total-1) > probabilitySlack {
			f.addf("Probabilities row %d sums to %v, want 1", i, total)
			return
		}
	}
}
