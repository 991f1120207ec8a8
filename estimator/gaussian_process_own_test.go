package estimator_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// savedProcess fits, saves and loads a Gaussian process.
func savedProcess(t *testing.T, s estimator.GaussianProcess, data datasets.Set) *estimator.FittedGaussianProcess {
	t.Helper()
	archive, err := model.Record(fitProcess(t, s, data))
	if err != nil {
		t.Fatal(err)
	}
	loaded := new(estimator.FittedGaussianProcess)
	if err := model.Restore(archive, loaded); err != nil {
		t.Fatal(err)
	}
	return loaded
}

// A Gaussian process with a registered kernel, or with a Gram matrix, has the means and deviations of the exact
// kernel: on all rows, on rows of positive weight and on a selection, and after it was saved.
func TestGaussianProcessOfOwnKernelsIsExact(t *testing.T) {
	data := drawnProcess(3, 40, []float64{0.3, 0.3, 0.3}, 0.05, 2, 0)
	X := data.X.(*mat.Dense)
	probe := mat.NewDense(7, 3, nil)
	for i := range 7 {
		probe.SetRow(i, []float64{float64(i) / 3, 1 - float64(i), 0.5}) // also far away
	}
	K, Kt := gramOf(X, X), gramOf(probe, X)
	var some []int
	for i := range 25 {
		some = append(some, (i*7+3)%40)
	}
	weights := make([]float64, 40)
	for _, i := range some {
		weights[i] = 1
	}
	selected := data.Select(some)
	for form, of := range map[string]struct {
		rows func(datasets.Set) datasets.Set
		used datasets.Set
	}{
		"all":       {func(s datasets.Set) datasets.Set { return s }, data},
		"weights":   {func(s datasets.Set) datasets.Set { s.Weights = weights; return s }, selected},
		"selection": {func(s datasets.Set) datasets.Set { return s.Select(some) }, selected},
	} {
		mean, std, _ := exactProcess(of.used, probe, []float64{0.3, 0.3, 0.3}, 0.05, 2)
		for name, c := range map[string]struct{ X, probe mat.Matrix }{
			"own_gauss": {X, probe}, "precomputed": {K, Kt},
			"precomputed, sparse": {matrices.CSRFromDense(K), matrices.CSRFromDense(Kt)},
		} {
			s := process(1, 100, 0.05, 2)
			s.Kernel = kernel.Name(strings.TrimSuffix(name, ", sparse"))
			rows := data
			rows.X = c.X
			p, err := savedProcess(t, s, of.rows(rows)).PredictFull(t.Context(), c.probe, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if distance(p.Values, mean) > 1e-8 || distance(p.Std, std) > 1e-8 {
				t.Errorf("%s, %s: means %v and deviations %v, want %v and %v", form, name, p.Values, p.Std, mean, std)
			}
		}
	}
}

// Noise and amplitude of an own kernel maximize the evidence of the exact kernel.
func TestGaussianProcessOfOwnKernelsLearnsNoise(t *testing.T) {
	data := drawnProcess(5, 60, []float64{0.3, 0.3, 0.3}, 0.1, 1, 0)
	X := data.X.(*mat.Dense)
	rows := data
	rows.X = gramOf(X, X)
	s := process(1, 100, 0, 0)
	s.Kernel, s.Optimize = kernel.Precomputed, []string{"noise", "amplitude"}
	f := savedProcess(t, s, rows)
	evidence := func(noise, amplitude float64) float64 {
		c := factored(covariance(X, X, []float64{0.3, 0.3, 0.3}, amplitude), noise)
		var a mat.VecDense
		if err := c.SolveVecTo(&a, mat.NewVecDense(60, data.Y)); err != nil {
			t.Fatal(err)
		}
		return -0.5 * (mat.Dot(&a, mat.NewVecDense(60, data.Y)) + c.LogDet() + 60*math.Log(2*math.Pi))
	}
	noise, amplitude := f.Noise()[0], f.Amplitude()[0]
	best := evidence(noise, amplitude)
	if math.Abs(best-f.LogMarginalLikelihood()) > 1e-6*math.Abs(best) {
		t.Errorf("log evidence %v, want %v", f.LogMarginalLikelihood(), best)
	}
	for _, by := range []float64{0.97, 1.03} {
		if evidence(noise*by, amplitude) >= best || evidence(noise, amplitude*by) >= best {
			t.Errorf("noise %v and amplitude %v do not maximize the evidence", noise, amplitude)
		}
	}
}

// Landmarks are drawn by the seed and leave the variance of the kernel where they know nothing; what an own kernel
// lacks is an error.
func TestGaussianProcessErrorsOfOwnKernels(t *testing.T) {
	data := drawnProcess(3, 40, []float64{0.3, 0.3, 0.3}, 0.05, 2, 0)
	X := data.X.(*mat.Dense)
	K := gramOf(X, X)
	rows := data
	rows.X = K
	s := process(1, 100, 0.05, 2)
	s.Kernel = kernel.Precomputed
	s.Features = 6
	few, again := fitProcess(t, s, rows), fitProcess(t, s, rows)
	probe := mat.NewDense(2, 40, nil) // of the first row, and of one that is far from all rows
	probe.SetRow(0, K.RawRowView(0))
	a, err := few.PredictFull(t.Context(), probe, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := again.PredictFull(t.Context(), probe, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("predictions %v and %v of two fits", a, b)
	}
	if want := math.Sqrt(0.05 + 2); math.Abs(a.Std[1]-want) > 1e-12 || a.Std[0] > 0.5*want {
		t.Errorf("deviations %v, want less than half of %v, and %[2]v", a.Std, want)
	}
	s.Features = 100
	all := fitProcess(t, s, rows)
	if _, err := all.ExportModel(graph.New(nil), graph.Value{}); err == nil ||
		!strings.Contains(err.Error(), "cannot export kernel precomputed") {
		t.Errorf("export: error %v", err)
	}
	uneven, asymmetric := mat.DenseCopyOf(K), mat.DenseCopyOf(K)
	uneven.Set(4, 4, 2)
	asymmetric.Set(3, 7, 0)
	for want, X := range map[string]mat.Matrix{
		"the diagonal of the Gram matrix must be the same number": uneven, "must be symmetric": asymmetric,
		"must be square, got 40×39": K.Slice(0, 40, 0, 39), "must be positive definite": scaled(-1, K),
	} {
		rows.X = X
		if _, err := s.Fit(t.Context(), rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	s.Optimize = []string{"gamma"}
	if _, err := s.Fit(t.Context(), rows); err == nil || !strings.Contains(err.Error(), "which has no gamma") {
		t.Errorf("optimize: error %v", err)
	}
	if s = estimator.NewGaussianProcess(); !slices.Contains(s.Optimize, "scales") {
		t.Fatal("the default learns no scales")
	}
	s.Kernel, s.Features, rows.X = "own_gauss", 50, X
	if f := fitProcess(t, s, rows); f.Relevance() != nil {
		t.Errorf("relevance %v of a kernel without scales", f.Relevance())
	}
}
