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
// A spec that declares the task clustering or anomaly (datasets.Tags) is unsupervised: the
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
	"github.com/bochner-ml/bochner/internal/testing/panictest"
)

// Options describe the estimator under test. The zero value describes a regression.
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

// An invariant holds for every estimator.
type invariant struct {
	name  string
	check func(*suite, testing.TB)
}

var invariants = []invariant{
	{"fit does not modify spec and data", (*suite).nothingChanges},
	{"fits are reproducible", (*suite).repeats},
	{"weight 2 equals a repeated row", (*suite).weightIsCount},
	{"weight 0 excludes the row", (*suite).weightZero},
	{"the order of rows does not matter", (*suite).rowOrder},
	{"the order of classes does not matter", (*suite).classOrder},
	{"a class without rows is never predicted", (*suite).absentClass},
	{"predictions are equivariant under translation", (*suite).translation},
	{"sparse rows equal dense rows", (*suite).sparseIsDense},
	{"any mat.Matrix equals dense rows", (*suite).anyMatrix},
	{"blocks equal rows in memory", (*suite).blocks},
	{"a single row equals a row of a batch", (*suite).oneRow},
	{"no rows give no predictions", (*suite).noRows},
	{"predictions agree with scores and probabilities", (*suite).consistent},
	{"outputs do not depend on other requested outputs", (*suite).outputs},
	{"intervals and sets are nested", (*suite).nested},
	{"the exported graph equals the model", (*suite).exports},
	{"concurrent use", (*suite).concurrent},
	{"cancellation", (*suite).canceled},
	{"unsupervised models ignore targets", (*suite).targetless},
	{"clusters are numbered, anomalies flagged", (*suite).numbered},
	{"unsupervised models are scale invariant", (*suite).scale},
	{"a batch equals separate fits", (*suite).batch},
	{"a batch on related maps equals separate fits", (*suite).mappedBatch},
	{"candidates that differ in a parameter equal separate fits", (*suite).parameters},
	{"leave-one-out equals fits without each row", (*suite).leaveOneOut},
	{"tags are true", (*suite).tags},
	{"serialization does not modify the model", (*suite).unchanged},
	{"a restored model is bit-identical", (*suite).saved},
	{"a damaged archive does not panic", (*suite).damaged},
	{"invalid data are errors that name the cause", (*suite).badData},
	{"invalid prediction inputs are errors that name the cause", (*suite).badInputs},
	{"merged parts equal all rows", (*suite).parts},
	{"only compatible passes merge", (*suite).strangers},
	{"passes can be canceled", (*suite).passesStop},
	{"a damaged pass does not panic", (*suite).passesSurvive},
	{"incremental learning returns a new model", (*suite).continues},
	{"incremental learning from a damaged model does not panic", (*suite).continuesDamaged},
}

// Run checks every property of spec, each in a subtest. A panic of the tested code is a failure of the subtest.
func Run(t *testing.T, spec estimator.Estimator, o Options) {
	t.Helper()
	s := newSuite(spec, o)
	for _, l := range invariants {
		t.Run(l.name, func(t *testing.T) {
			defer panictest.Report(t)
			l.check(s, t)
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
	if task := datasets.TagsOf(spec).Task; task.Unsupervised() {
		s.task = task
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

// tags checks the tags of the task, the domain of the targets and the width of the inputs. Those of batches have
// checks of their own.
func (s *suite) tags(t testing.TB) {
	tags, p := datasets.TagsOf(s.spec), s.fit(t, s.data)
	if width := estimator.FittedTags(p).InputWidth; width != 0 && width != s.data.Cols() {
		t.Errorf("tag InputWidth is %d, fitted to %d columns", width, s.data.Cols())
	}
	if classes := estimator.OutputsOf(p).Classes; tags.Task == datasets.Classification && classes == nil ||
		tags.Task == datasets.Regression && classes != nil {
		t.Errorf("tag Task is %s, the classes are %q", tags.Task, classes)
	}
	if tags.CheckTarget == nil {
		return
	}
	for _, y := range s.data.Y {
		if err := tags.CheckTarget(y); err != nil {
			t.Fatalf("tag CheckTarget refuses a target that Fit accepts: %v", err)
		}
	}
	data := cloneSet(s.data)
	if data.Y[0] = -1; tags.CheckTarget(-1) != nil {
		if _, err := s.spec.Fit(context.Background(), data); err == nil {
			t.Error("tag CheckTarget refuses -1, and Fit accepts it")
		}
	}
}

// skipIfShort skips an invariant with -short: it tries hundreds of files.
func skipIfShort(t testing.TB) {
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

// predictions returns the predictions of p for X as one slice: the scores and, if available, the
// probabilities of a classifier, else the values.
func predictions(t testing.TB, p estimator.Predictor, X mat.Matrix) []float64 {
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
