// Package estimatortest is a conformance test for estimators.
//
// A package that defines an estimator runs the suite on its specs:
//
//	func TestRidge(t testing.TB) {
//		estimatortest.Run(t, estimator.NewRidge(), estimatortest.Options{})
//	}
//
// Each invariant is one function, whose comment states it with its reason. Invariants of optional
// interfaces are checked only if the spec or its fit implements them. Fits that should agree are
// compared by their predictions, to Options.Tolerance: use a spec that solves to a tighter
// tolerance. With -short, tests of damaged files are skipped.
//
// A spec that declares the task clustering or anomaly (estimator.TaskProvider) is unsupervised: the
// rows are then three well separated groups of 45, 30 and 15 rows, and separate invariants replace
// those of targets.
package estimatortest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/panictest"
)

// Options describe the estimator under test.
type Options struct {
	Classes  int  // number of classes of the data; 0 for a regression
	Origin   bool // whether the model has no intercept, so that moving the data changes it
	Positive bool // whether all inputs must be ≥ 0
	Amounts  bool // whether the targets of a regression must be > 0
	// Folds reports that a fit uses folds or leave-one-out predictions: the order of rows then
	// matters, and a duplicated row differs from a doubled weight.
	Folds bool
	// Minibatches reports that a fit takes stochastic steps without convergence: the result depends
	// on the order and the origin of the rows, and a duplicated row differs from a doubled weight.
	Minibatches bool
	// Decides reports that the model may predict another class than the most probable one, because
	// of costs.
	Decides   bool
	Tolerance float64 // relative difference of predictions of fits that should agree; 0 means 1e-6
	Rounding  float64 // likewise of one model for the same rows in another form; 0 means 1e-12
	// ExportTolerance is the maximum difference between the predictions of the exported graph
	// ([graph.ModelExporter]) and of the model, relative for numbers above 1; 0 means 1e-12.
	ExportTolerance float64
	Unexported      string // reason why the model, or an inner one, cannot be exported; "" if it can
}

// law is an invariant of every estimator.
type law struct {
	name string
	hold func(*suite, testing.TB)
}

var laws = []law{
	{"fit leaves spec and data as they were", (*suite).nothingChanges},
	{"fit twice gives the same bits", (*suite).repeats},
	{"weight 2 is the row twice", (*suite).weightIsCount},
	{"weight 0 is the row left out", (*suite).weightZero},
	{"the order of rows does not matter", (*suite).rowOrder},
	{"the order of classes does not matter", (*suite).classOrder},
	{"a class without rows is never predicted", (*suite).absentClass},
	{"moving the inputs or targets moves the predictions", (*suite).translation},
	{"sparse rows are the same rows", (*suite).sparseIsDense},
	{"any matrix is the same rows", (*suite).anyMatrix},
	{"block by block is all at once", (*suite).blocks},
	{"one row is the same row in a batch", (*suite).oneRow},
	{"no rows give no predictions", (*suite).noRows},
	{"predictions agree with scores and probabilities", (*suite).consistent},
	{"each output is the same alone and with others", (*suite).outputs},
	{"a higher level holds more", (*suite).nested},
	{"a model that exports computes what it exports", (*suite).exports},
	{"concurrent use", (*suite).concurrent},
	{"cancellation", (*suite).canceled},
	{"a model without targets looks at none", (*suite).targetless},
	{"clusters are numbered, anomalies flagged", (*suite).numbered},
	{"the scale of all inputs does not matter to a model without targets", (*suite).scale},
	{"a batch is its fits one by one", (*suite).batch},
	{"a batch on related maps is its fits one by one", (*suite).mappedBatch},
	{"leaving one out is fitting without each row", (*suite).leaveOneOut},
	{"writing leaves the model as it is", (*suite).unchanged},
	{"save and load keep every bit", (*suite).saved},
	{"a damaged archive is refused, or predicts without a panic", (*suite).damaged},
	{"bad data are refused by name", (*suite).badData},
	{"bad inputs of a prediction are refused by name", (*suite).badInputs},
	{"parts of the rows are the whole", (*suite).parts},
	{"only passes begun alike are merged", (*suite).strangers},
	{"a pass stops when cancelled", (*suite).passesStop},
	{"a damaged pass is refused, or goes on without a panic", (*suite).passesSurvive},
	{"learning on makes another model, from a file too", (*suite).learnsOn},
	{"a damaged model is refused, or learns on without a panic", (*suite).continuesDamaged},
}

// Run checks every property of spec, each in a subtest. A panic of the tested code is a failure of the subtest.
func Run(t *testing.T, spec estimator.Estimator, o Options) {
	t.Helper()
	s := newSuite(spec, o)
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			defer panictest.Report(t)
			l.hold(s, t)
		})
	}
}

// newSuite makes the data, and fills in the options that were left out.
func newSuite(spec estimator.Estimator, o Options) *suite {
	if o.Tolerance == 0 {
		o.Tolerance = 1e-6
	}
	if o.ExportTolerance == 0 {
		o.ExportTolerance = 1e-12
	}
	if o.Rounding == 0 {
		o.Rounding = 1e-12
	}
	s := &suite{spec: spec, Options: o}
	if tasked, ok := spec.(estimator.TaskProvider); ok && tasked.Task().Unsupervised() {
		s.task = tasked.Task()
	}
	s.data = s.sample(1, 90)
	s.probe = s.sample(2, 25).X.(*mat.Dense)
	return s
}

// suite is one run over one spec.
type suite struct {
	Options
	spec  estimator.Estimator
	task  datasets.Task // task, if unsupervised
	data  datasets.Set
	probe *mat.Dense
}

// takesLong skips an invariant with -short: it tries hundreds of files.
func takesLong(t testing.TB) {
	if testing.Short() {
		t.Skip("takes long")
	}
}

// sample makes n rows of five inputs of unequal scale, one of them mostly zero, and targets, or
// overlapping classes, that depend on them. Column 1 is named "width".
func (s *suite) sample(seed uint64, n int) datasets.Set {
	const d = 5
	rng := rand.New(rand.NewPCG(seed, 20))
	x, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()*(0.5+0.4*float64(j)) + 0.3
			if s.task != "" {
				row[j] = 0.5*rng.NormFloat64() + group(i, j)
			}
			if s.Positive {
				row[j] = math.Abs(row[j])
			}
		}
		if rng.IntN(4) > 0 {
			row[4] = 0
		}
		y[i] = 3 + row[0] - 2*row[1] + 0.5*row[2]*row[3] + 0.3*rng.NormFloat64()
	}
	set := datasets.Set{X: x, Y: y, Schema: datasets.Schema{Columns: []datasets.Column{
		{Name: "length"}, {Name: "width"}, {Name: "height"}, {Name: "depth"}, {Name: "extra"}}}}
	if s.Classes == 0 {
		for i := range y {
			if s.Amounts {
				y[i] = math.Exp(0.3 * y[i])
			}
		}
		set.Schema.Targets = []datasets.Column{{Name: "target"}}
		return set
	}
	order := slices.Clone(y)
	slices.Sort(order)
	levels := make([]string, s.Classes)
	for c := range levels {
		levels[c] = "class " + strconv.Itoa(c)
	}
	for i, v := range y {
		rank, _ := slices.BinarySearch(order, v)
		c := rank * s.Classes / n
		if rng.IntN(6) == 0 {
			c = rng.IntN(s.Classes)
		}
		y[i] = float64(c)
	}
	set.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical, Categories: levels}}
	return set
}

// group returns where column j of row i is, of groups of 45, 30 and 15 of 90 rows.
func group(i, j int) float64 {
	g := []int{0, 0, 0, 1, 1, 2}[i%6]
	if j == g {
		return 12
	}
	return 0
}

// fit fits the spec; an error fails the test.
func (s *suite) fit(t testing.TB, data datasets.Set) estimator.Predictor {
	t.Helper()
	p, err := s.spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatalf("Fit: %v", err)
	}
	return p
}

// answers returns the predictions of p for X as one slice: the scores and, if available, the
// probabilities of a classifier, else the values.
func answers(t testing.TB, p estimator.Predictor, X mat.Matrix) []float64 {
	t.Helper()
	all, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		t.Fatalf("Predict: %v", err)
	}
	out := numbersOf(all)
	if len(out) == 0 {
		t.Fatal("no predictions")
	}
	return out
}

// numbersOf returns all numbers of a prediction.
func numbersOf(all estimator.Prediction) (out []float64) {
	if all.Scores == nil {
		out = append(out, all.Values...)
	}
	out = append(append(out, all.Lower...), all.Upper...)
	for _, m := range []*mat.Dense{all.Scores, all.Probabilities, all.Targets, all.LowerTargets, all.UpperTargets,
		all.Sets} {
		out = append(out, all.Anomaly...)
		if m != nil {
			out = append(out, m.RawMatrix().Data...)
		}
	}
	return out
}

// agree fails where two lists of predictions differ by more than tol of the largest of them.
func agree(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d predictions, want %d", what, len(got), len(want))
	}
	size := 0.0
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tol*size) {
			t.Fatalf("%s: prediction %d is %.12g, want %.12g", what, i, v, want[i])
		}
	}
}
