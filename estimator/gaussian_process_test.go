package estimator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
)

// process returns a Gaussian process with the gaussian kernel and fixed parameters.
func process(gamma float64, features int, noise, amplitude float64) estimator.GaussianProcess {
	s := estimator.NewGaussianProcess()
	s.Gamma, s.Features, s.Optimize, s.Intercept = kernel.FixedGamma(gamma), features, nil, false
	s.Noise, s.Amplitude = estimator.Variance(noise), estimator.Variance(amplitude)
	return s
}

func fitProcess(t *testing.T, s estimator.GaussianProcess, data datasets.Set) *estimator.FittedGaussianProcess {
	t.Helper()
	p, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*estimator.FittedGaussianProcess)
}

// covariance returns amplitude·exp(−Σ γ_j Δ_j²) of the rows of X and Y.
func covariance(X, Y *mat.Dense, gamma []float64, amplitude float64) *mat.Dense {
	n, d := X.Dims()
	m, _ := Y.Dims()
	out := mat.NewDense(n, m, nil)
	for i := range n {
		for k := range m {
			sum := 0.0
			for j := range d {
				delta := X.At(i, j) - Y.At(k, j)
				sum += gamma[j] * delta * delta
			}
			out.Set(i, k, amplitude*math.Exp(-sum))
		}
	}
	return out
}

// factored returns the Cholesky factor of K with a number added to its diagonal.
func factored(K *mat.Dense, diagonal float64) *mat.Cholesky {
	n, _ := K.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, K.At(i, j))
		}
		s.SetSym(i, i, K.At(i, i)+diagonal)
	}
	var c mat.Cholesky
	if !c.Factorize(s) {
		panic("not positive definite")
	}
	return &c
}

// exactProcess returns mean, deviation and covariance of the function at the rows of probe, by the kernel itself.
func exactProcess(data datasets.Set, probe *mat.Dense, gamma []float64, noise, amplitude float64) (mean, std []float64,
	posterior *mat.Dense) {
	X := data.X.(*mat.Dense)
	c := factored(covariance(X, X, gamma, amplitude), noise)
	across := covariance(probe, X, gamma, amplitude)
	var a mat.VecDense
	var inner mat.Dense
	if c.SolveVecTo(&a, mat.NewVecDense(len(data.Y), data.Y)) != nil || c.SolveTo(&inner, across.T()) != nil {
		panic("not solved")
	}
	var m mat.VecDense
	m.MulVec(across, &a)
	posterior = covariance(probe, probe, gamma, amplitude)
	var less mat.Dense
	less.Mul(across, &inner)
	posterior.Sub(posterior, &less)
	n, _ := probe.Dims()
	for i := range n {
		mean, std = append(mean, m.AtVec(i)), append(std, math.Sqrt(posterior.At(i, i)+noise))
	}
	return mean, std, posterior
}

// drawnProcess returns rows uniform on (−1, 1) and targets from a gaussian process.
func drawnProcess(seed uint64, n int, gamma []float64, noise, amplitude, level float64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 77))
	X := mat.NewDense(n, len(gamma), nil)
	for i := range n {
		for j := range gamma {
			X.Set(i, j, 2*rng.Float64()-1)
		}
	}
	var l mat.TriDense
	factored(covariance(X, X, gamma, amplitude), noise).LTo(&l)
	e := mat.NewVecDense(n, nil)
	for i := range n {
		e.SetVec(i, rng.NormFloat64())
	}
	var y mat.VecDense
	y.MulVec(&l, e)
	out := datasets.Set{X: X, Y: make([]float64, n)}
	for i := range n {
		out.Y[i] = level + y.AtVec(i)
	}
	return out
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// TestGaussianProcessConvergesToExact checks that mean and deviation converge to those of the exact
// Gaussian process at the rate D^−½.
func TestGaussianProcessConvergesToExact(t *testing.T) {
	gamma := []float64{1.5, 1.5}
	data, probe := drawnProcess(1, 150, gamma, 0.05, 1, 0), drawnProcess(2, 60, gamma, 0.05, 1, 0).X.(*mat.Dense)
	mean, std, _ := exactProcess(data, probe, gamma, 0.05, 1)
	var means, stds []float64
	for _, features := range []int{50, 800} {
		m, s := 0.0, 0.0
		const draws = 4
		for seed := range uint64(draws) {
			spec := process(1.5, features, 0.05, 1)
			spec.Seed = seed
			got, gotStd, err := predictStd(context.Background(), fitProcess(t, spec, data), probe)
			if err != nil {
				t.Fatal(err)
			}
			m, s = m+distance(got, mean)/draws, s+distance(gotStd, std)/draws
		}
		means, stds = append(means, m), append(stds, s)
	}
	t.Logf("means off by %.3g, deviations by %.3g", means, stds)
	if means[1] > means[0]/2.5 || stds[1] > stds[0]/2.5 || means[1] > 0.06 || stds[1] > 0.01 {
		t.Errorf("16 times the features: means off by %.3g, deviations by %.3g", means, stds)
	}
}

// Hyperparameters of simulated rows are recovered, and intervals have nominal coverage.
func TestGaussianProcessRecoversParameters(t *testing.T) {
	gamma := []float64{4, 0.5, 1e-6}
	const noise, amplitude = 0.04, 2.0
	all := drawnProcess(5, 900, gamma, noise, amplitude, 30)
	train, test := all.Slice(0, 500), all.Slice(500, 900)
	s := estimator.NewGaussianProcess()
	s.Features, s.Steps, s.Seed = 1000, 60, 1
	f := fitProcess(t, s, train)
	found := f.Gamma()
	t.Logf("γ %.3g, noise %.3g, amplitude %.3g, relevance %.2g", found, f.Noise(), f.Amplitude(), f.Relevance())
	within := func(what string, got, want, factor float64) {
		if got < want/factor || got > want*factor {
			t.Errorf("%s: %v, drawn with %v", what, got, want)
		}
	}
	within("γ of input 0", found[0], gamma[0], 1.6)
	within("γ of input 1", found[1], gamma[1], 1.8)
	within("noise", f.Noise()[0], noise, 1.25)
	within("amplitude", f.Amplitude()[0], amplitude, 4)
	if r := f.Relevance(); r[0] != 1 || r[2] > 0.1 {
		t.Errorf("relevance %v", r)
	}
	p, err := estimator.Predict(context.Background(), f, test.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ z, share float64 }{{0.674, 0.5}, {1.645, 0.9}, {1.96, 0.95}} {
		covered := 0.0
		for i, y := range test.Y {
			if math.Abs(y-p.Values[i]) <= c.z*p.Std[i] {
				covered += 1 / float64(len(test.Y))
			}
		}
		if math.Abs(covered-c.share) > 4*math.Sqrt(c.share*(1-c.share)/float64(len(test.Y))) {
			t.Errorf("intervals of %v deviations cover %.3f, want %v", c.z, covered, c.share)
		}
	}

	// With the ratio given, one factor on γ is found; without parameters to optimize nothing
	// changes.
	s.Gamma, s.Optimize = kernel.FixedGamma(40, 5, 1e-5), []string{"gamma", "noise", "amplitude"}
	f = fitProcess(t, s, train)
	if found = f.Gamma(); math.Abs(found[0]/found[1]-8) > 1e-9 || f.Relevance() != nil {
		t.Errorf("γ %v, want one factor on 40, 5, 1e-5; relevance %v", found, f.Relevance())
	}
	within("one factor on γ", found[0], gamma[0], 1.6)
	s.Optimize, s.Noise = nil, 0.3
	f = fitProcess(t, s, train)
	if !slices.Equal(f.Gamma(), []float64{40, 5, 1e-5}) || f.Noise()[0] != 0.3 {
		t.Errorf("nothing was to be learned: γ %v, noise %v", f.Gamma(), f.Noise())
	}
}

// TestGaussianProcessSamples checks that functions drawn from the posterior have its mean and
// covariance, and that the value of a draw at an input does not depend on the other inputs.
func TestGaussianProcessSamples(t *testing.T) {
	ctx := context.Background()
	gamma := []float64{1.5, 1.5}
	data, probe := drawnProcess(3, 40, gamma, 0.1, 1, 0), drawnProcess(4, 5, gamma, 0.1, 1, 0).X.(*mat.Dense)
	spec := process(1.5, 100, 0.1, 1)
	spec.Intercept = true
	f := fitProcess(t, spec, data)
	const n = 5000
	drawn, err := f.Sample(ctx, probe, n, 7)
	if err != nil {
		t.Fatal(err)
	}
	mean, std, err := predictStd(ctx, f, probe)
	if err != nil {
		t.Fatal(err)
	}
	// Covariances follow from the variances of sums, using a model on precomputed features.
	rff := mat.NewDense(n, 5, nil)
	rff.Copy(drawn.T())
	for i := range 5 {
		sum, square := 0.0, 0.0
		for k := range n {
			v := rff.At(k, i) - mean[i]
			sum, square = sum+v/n, square+v*v/n
		}
		variance := std[i]*std[i] - f.Noise()[0]
		if math.Abs(sum) > 5*math.Sqrt(variance/n) || math.Abs(square/variance-1) > 5*math.Sqrt(2.0/n) {
			t.Errorf("row %d: mean off by %v, variance %v, want %v", i, sum, square, variance)
		}
	}
	// Without an intercept and with many features, the covariance is that of the exact process.
	many := fitProcess(t, process(1.5, 700, 0.1, 1), data)
	const some = 3000
	if drawn, err = many.Sample(ctx, probe, some, 8); err != nil {
		t.Fatal(err)
	}
	exact, _, posterior := exactProcess(data, probe, gamma, 0.1, 1)
	for i := range 5 {
		for j := range i {
			got := 0.0
			for k := range some {
				got += (drawn.At(i, k) - exact[i]) * (drawn.At(j, k) - exact[j]) / some
			}
			if want := posterior.At(i, j); math.Abs(got-want) > 0.02+5*math.Sqrt(posterior.At(i, i)*posterior.At(j, j)/some) {
				t.Errorf("covariance of rows %d and %d: %v, exactly %v", i, j, got, want)
			}
		}
	}
	functions, err := many.SampleFunctions(ctx, 0, 3, 8)
	if err != nil {
		t.Fatal(err)
	}
	again, err := functions.PredictFull(ctx, probe.Slice(2, 3, 0, 2), estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		if again.Targets.At(0, k) != drawn.At(2, k) {
			t.Errorf("function %d is another: %v, %v", k, again.Targets.At(0, k), drawn.At(2, k))
		}
	}
	for _, wrong := range []struct{ target, n int }{{1, 1}, {-1, 1}, {0, 0}} {
		if _, err := f.SampleFunctions(ctx, wrong.target, wrong.n, 1); err == nil {
			t.Errorf("%+v: no error", wrong)
		}
	}
}

// TestGaussianProcessOfSeveralTargets checks that several targets have separate noise and amplitude
// with a common ratio, and the mean of separate fits with these.
func TestGaussianProcessOfSeveralTargets(t *testing.T) {
	ctx := context.Background()
	a, b := drawnProcess(6, 120, []float64{2, 2}, 0.05, 1, 3), drawnProcess(7, 120, []float64{2, 2}, 0.05, 1, 0)
	both := datasets.Set{X: a.X, Targets: mat.NewDense(120, 2, nil)}
	for i := range 120 { // the rows of b are others, but targets they are
		both.Targets.SetRow(i, []float64{a.Y[i], 10 * (a.Y[i] + 0.1*b.Y[i])})
	}
	s := estimator.NewGaussianProcess()
	s.Features, s.Steps = 200, 20
	f := fitProcess(t, s, both)
	noise, amplitude := f.Noise(), f.Amplitude()
	if r := noise[0] / amplitude[0]; math.Abs(noise[1]/amplitude[1]-r) > 1e-12*r || noise[1] < 20*noise[0] {
		t.Errorf("noise %v, amplitude %v", noise, amplitude)
	}
	probe := a.X.(*mat.Dense).Slice(0, 20, 0, 2)
	all, err := estimator.Predict(ctx, f, probe, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		one := s
		one.Optimize, one.Gamma = nil, kernel.FixedGamma(f.Gamma()...)
		one.Noise, one.Amplitude = estimator.Variance(noise[k]), estimator.Variance(amplitude[k])
		alone := datasets.Set{X: a.X, Y: mat.Col(nil, k, both.Targets)}
		mean, std, err := predictStd(ctx, fitProcess(t, one, alone), probe)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "mean", mat.Col(nil, k, all.Targets), mean, 1e-8)
		near(t, "deviation", mat.Col(nil, k, all.StdTargets), std, 1e-8)
	}
	if _, err = f.SampleFunctions(ctx, 1, 2, 1); err != nil {
		t.Error(err)
	}
}

// Unusable data and invalid options are errors.
func TestGaussianProcessRefuses(t *testing.T) {
	data := drawnProcess(8, 30, []float64{1}, 0.1, 1, 0)
	flat := datasets.Set{X: data.X, Y: make([]float64, 30)}
	for want, c := range map[string]struct {
		change func(s *estimator.GaussianProcess)
		data   datasets.Set
	}{
		"did you mean scales?":     {func(s *estimator.GaussianProcess) { s.Optimize = []string{"scale"} }, data},
		"an even number":           {func(s *estimator.GaussianProcess) { s.Features = 7 }, data},
		"auto, or a number > 0":    {func(s *estimator.GaussianProcess) { s.Noise = -1 }, data},
		"gamma must have 1":        {func(s *estimator.GaussianProcess) { s.Gamma = kernel.FixedGamma(1, 2, 3) }, data},
		"the targets are constant": {func(*estimator.GaussianProcess) {}, flat},
		"target 0 is constant":     {func(s *estimator.GaussianProcess) { s.Optimize = []string{"noise"} }, flat},
		"is too small relative to amplitude": {func(s *estimator.GaussianProcess) { *s = process(1e-9, 60, 1e-300, 1) },
			data},
		"start from NewGaussianProcess()": {func(s *estimator.GaussianProcess) { *s = estimator.GaussianProcess{} }, data},
		"every input is constant": {func(*estimator.GaussianProcess) {},
			datasets.Set{X: mat.NewDense(30, 2, nil), Y: data.Y}},
		"kernel_ridge_classifier": {func(*estimator.GaussianProcess) {}, datasets.Set{X: data.X, Y: flat.Y,
			Schema: datasets.Schema{Targets: []datasets.Column{{Name: "c", Kind: datasets.Categorical,
				Categories: []string{"a", "b"}}}}}},
	} {
		s := estimator.NewGaussianProcess()
		s.Features = 40
		c.change(&s)
		if _, err := s.Fit(context.Background(), c.data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for plain, ok := range map[any]bool{"auto": true, 0.5: true, 3: true, 0: false, -1.0: false, "Auto": false,
		true: false} {
		var v estimator.Variance
		if err := v.Set(plain); (err == nil) != ok {
			t.Errorf("noise %v: %v", plain, err)
		}
	}
}

// Scales of few dense rows are learned by the exact kernel, independently of the number of
// features; those of many rows, and of kernels that are not functions of ‖x − x'‖₂, are learned by
// features.
func TestGaussianProcessLearnsByTheExactKernel(t *testing.T) {
	data := drawnProcess(9, 1010, []float64{3, 0.3}, 0.05, 1, 5)
	for _, c := range []struct {
		name  string
		rows  int
		exact bool
	}{{"gaussian", 200, true}, {"rational_quadratic", 200, true}, {"laplacian", 200, false}, {"cauchy", 200, false},
		{"gaussian", 1010, false}} {
		var found [][]float64
		for _, features := range []int{300, 400} {
			s := estimator.NewGaussianProcess()
			s.Kernel, s.Features, s.Steps = kernel.Name(c.name), features, 8
			if c.exact {
				s.Steps = 40
			}
			found = append(found, fitProcess(t, s, data.Slice(0, c.rows)).Gamma())
		}
		if same := slices.Equal(found[0], found[1]); same != c.exact {
			t.Errorf("%s, %d rows: γ %v with 300 features, %v with 400", c.name, c.rows, found[0], found[1])
		}
	}
	// A sample of many rows, too, if it is small.
	s := estimator.NewGaussianProcess()
	s.Features, s.Rows, s.Steps = 100, 300, 50
	f := fitProcess(t, s, data)
	if g := f.Gamma(); math.Abs(math.Log(g[0]/3)) > 0.5 || math.Abs(math.Log(g[1]/0.3)) > 0.7 ||
		f.Report().Iterations < 10 || f.Report().Iterations > 150 {
		t.Errorf("γ %v after %d steps, drawn with 3 and 0.3", g, f.Report().Iterations)
	}
}

// If a model has too few features for what the exact kernel learned, scales learned by features
// have more evidence and are used.
func TestGaussianProcessOfTooFewFeatures(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("fits 1,500 features by their evidence")
	}
	data := drawnProcess(12, 150, []float64{2, 2}, 1e-6, 1, 0)
	s := estimator.NewGaussianProcess()
	s.Kernel, s.Nu, s.Features = "matern", 1.5, 1500
	many := fitProcess(t, s, data)
	s.Features = 30
	few := fitProcess(t, s, data)
	s.Optimize, s.Gamma = []string{"noise", "amplitude"}, kernel.FixedGamma(many.Gamma()...)
	if taken := fitProcess(t, s, data); few.LogMarginalLikelihood() <= taken.LogMarginalLikelihood()+1 {
		t.Errorf("log evidence %v on 30 features, with the γ of 1500 %v", few.LogMarginalLikelihood(),
			taken.LogMarginalLikelihood())
	}
}

// Duplicated rows make the evidence unbounded, which is an error; huge, tiny and constant inputs
// give the γ of the same rows at scale 1.
func TestGaussianProcessOfOddRows(t *testing.T) {
	ctx := context.Background()
	data := drawnProcess(10, 60, []float64{2, 2}, 0.1, 1, 0)
	s := estimator.NewGaussianProcess()
	s.Features = 100
	twice, err := data.Append(data)
	if err != nil {
		t.Fatal(err)
	}
	f := fitProcess(t, s, twice)
	if w := strings.Join(f.Report().Warnings, "; "); !strings.Contains(w, "or rows are repeated") {
		t.Errorf("warnings %q", w)
	}
	mean, std, err := predictStd(ctx, f, data.X)
	if err != nil || slices.ContainsFunc(append(mean, std...), math.IsNaN) {
		t.Errorf("mean %v, deviation %v (%v)", mean[0], std[0], err)
	}
	s.Noise = 0.1
	if w := fitProcess(t, s, twice).Report().Warnings; len(w) > 0 {
		t.Errorf("with noise given: %q", w)
	}
	s.Noise = 0
	plain := fitProcess(t, s, data)
	if w := plain.Report().Warnings; len(w) > 0 {
		t.Errorf("of plain rows: %q", w)
	}
	odd := datasets.Set{X: mat.NewDense(60, 3, nil), Y: data.Y}
	for i := range 60 {
		odd.X.(*mat.Dense).SetRow(i, []float64{0x1p300 * data.X.At(i, 0), 7, 0x1p-300 * data.X.At(i, 1)})
	}
	g, want := fitProcess(t, s, odd).Gamma(), plain.Gamma()
	if math.Abs(math.Log(g[0]/want[0])+600*math.Ln2) > 1e-3 || math.Abs(math.Log(g[2]/want[1])-600*math.Ln2) > 1e-3 {
		t.Errorf("γ %v, of scale 1 %v", g, want)
	}
	if fitProcess(t, s, odd).Relevance()[1] != 0 {
		t.Error("a constant input is relevant")
	}
}
