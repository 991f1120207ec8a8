package inspection_test

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// mixed returns rows of four numeric columns, of which one has missing values, and two categorical
// ones, with the given number of classes; 0 for a numeric target.
func mixed(n, classes int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 3))
	X, y := mat.NewDense(n, 6, nil), make([]float64, n)
	for i := range n {
		row := []float64{rng.NormFloat64(), rng.ExpFloat64(), rng.Float64() * 5, float64(rng.IntN(3)), rng.NormFloat64(),
			float64(rng.IntN(2))}
		y[i] = math.Sin(row[0]*row[4]) + row[1]*row[3]/2 + math.Abs(row[2]-2)*row[5] + rng.NormFloat64()/10
		if rng.IntN(8) == 0 {
			row[2] = math.NaN()
		}
		X.SetRow(i, row)
	}
	out := datasets.Set{X: X, Y: y, Schema: datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"},
		{Name: "c"}, {Name: "color", Kind: datasets.Categorical, Categories: []string{"blue", "green", "red"}},
		{Name: "e"}, {Name: "flag", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}},
		Targets: []datasets.Column{{Name: "y"}}}}
	if classes > 0 {
		out.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical,
			Categories: []string{"low", "medium", "high"}[:classes]}}
		sorted := slices.Sorted(slices.Values(y))
		for i, v := range y {
			rank, _ := slices.BinarySearch(sorted, v)
			y[i] = float64(rank * classes / n)
		}
	}
	return out
}

// encoded is a pipeline behind column-wise steps.
func encoded(steps ...transformer.Fitter) pipeline.Sequence {
	impute := transformer.NewImpute()
	impute.Indicator = true
	return pipeline.Steps(append([]transformer.Fitter{pipeline.NewColumns(
		pipeline.Group{Select: []string{"a", "b"}, Steps: pipeline.Steps(transformer.NewStandardize())},
		pipeline.Group{Select: []string{"c"}, Steps: pipeline.Steps(impute, transformer.NewQuantile())},
		pipeline.Group{Select: []string{"e"}, Steps: pipeline.Steps(transformer.NewMinMax())},
		pipeline.Group{Select: []string{"flag"}, Steps: pipeline.Steps(transformer.NewOrdinal())},
		pipeline.Group{Select: []string{"color"}, Steps: pipeline.Steps(transformer.NewOneHot())},
	)}, steps...)...)
}

// withColor is a map of random features behind a numeric column and an encoding of a categorical one.
func withColor(encoder transformer.Fitter) pipeline.Sequence {
	return pipeline.Steps(pipeline.NewColumns(pipeline.Group{Select: []string{"a", "e"}},
		pipeline.Group{Select: []string{"color"}, Steps: pipeline.Steps(encoder)}), rff("gaussian", 40, 1))
}

func rff(kernelName kernel.Name, features int, seed uint64) transformer.RFF {
	s := transformer.NewRFF()
	s.Kernel, s.Features, s.Seed, s.Gamma = kernelName, features, seed, kernel.FixedGamma(0.3)
	return s
}

func factorial(k int) float64 { return math.Gamma(float64(k + 1)) }

// coalitions returns the values of all subsets of the inputs for one row, by the bits of the subset
// and the output.
func coalitions(t *testing.T, model estimator.Predictor, output func(estimator.Prediction) *mat.Dense,
	background datasets.Set, row []float64) [][]float64 {
	t.Helper()
	n, d := background.X.Dims()
	value := make([][]float64, 1<<d)
	for s := range value {
		X := mat.DenseCopyOf(background.X)
		for j := range d {
			for i := range n {
				if s>>j&1 == 1 {
					X.Set(i, j, row[j])
				}
			}
		}
		p, err := estimator.Predict(context.Background(), model, X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		m := output(p)
		_, outputs := m.Dims()
		value[s] = make([]float64, outputs)
		total := 0.0
		for i := range n {
			w := 1.0
			if background.Weights != nil {
				w = background.Weights[i]
			}
			total += w
			for q := range outputs {
				value[s][q] += w * m.At(i, q)
			}
		}
		for q := range outputs {
			value[s][q] /= total
		}
	}
	return value
}

// bruteForce returns the values of d inputs for each output, and the interactions of pairs.
func bruteForce(value [][]float64, d int) (out [][]float64, pairs [][][]float64) {
	out = make([][]float64, len(value[0]))
	for q := range out {
		out[q] = make([]float64, d)
		for s := range value {
			size := bits.OnesCount(uint(s))
			for j := range d {
				if s>>j&1 == 0 {
					weight := factorial(size) * factorial(d-1-size) / factorial(d)
					out[q][j] += weight * (value[s|1<<j][q] - value[s][q])
				}
			}
		}
		pairs = append(pairs, interactions(value, d, q, out[q]))
	}
	return out, pairs
}

// interactions returns half the Shapley interaction indices, with the rest of the values of the
// inputs in the diagonal.
func interactions(value [][]float64, d, q int, values []float64) [][]float64 {
	out := make([][]float64, d)
	for j := range out {
		out[j] = make([]float64, d)
		for m := range d {
			for s := range value {
				if m == j || s>>j&1 == 1 || s>>m&1 == 1 {
					continue
				}
				size := bits.OnesCount(uint(s))
				weight := factorial(size) * factorial(d-2-size) / factorial(d-1)
				out[j][m] += weight / 2 * (value[s|1<<j|1<<m][q] - value[s|1<<j][q] - value[s|1<<m][q] + value[s][q])
			}
		}
		out[j][j] = values[j]
		for m := range d {
			if m != j {
				out[j][j] -= out[j][m]
			}
		}
	}
	return out
}

func targets(p estimator.Prediction) *mat.Dense {
	if p.Targets != nil && !p.Targets.IsEmpty() {
		return p.Targets
	}
	return mat.NewDense(len(p.Values), 1, p.Values)
}

func scores(p estimator.Prediction) *mat.Dense { return p.Scores }

func kernelRidge(name kernel.Name) estimator.KernelRidge {
	s := estimator.NewKernelRidge()
	s.Kernel, s.Gamma = name, kernel.FixedGamma(0.4)
	return s
}

func nystroem(name kernel.Name) transformer.Nystroem {
	s := transformer.NewNystroem()
	s.Kernel, s.Gamma, s.Landmarks = name, kernel.FixedGamma(0.4), 15
	return s
}

// exactCases are models whose Shapley values are exact.
func exactCases() map[string]estimator.Estimator {
	ridge := estimator.NewRidge()
	phase := rff("gaussian", 30, 1)
	phase.Map = "phase"
	mixture := rff("gaussian", 60, 1)
	mixture.Kernel = kernel.Sum(kernel.Summand{Weight: 1, Product: []kernel.Term{kernel.NewTerm(kernel.Gaussian, "rest")}},
		kernel.Summand{Weight: 1, Product: []kernel.Term{kernel.NewTerm(kernel.Laplacian, "rest")}})
	gp := estimator.NewGaussianProcess()
	gp.Features, gp.Steps = 40, 3
	pca := transformer.NewPCA()
	ensemble := meta.NewEnsemble(meta.Member{Name: "a", Estimator: pipeline.Steps(rff("gaussian", 20, 1)).Then(ridge)},
		meta.Member{Name: "b", Estimator: kernelRidge("laplacian")}, meta.Member{Name: "c", Estimator: ridge})
	ensemble.Weights = "equal"
	normal := transformer.NewQuantile()
	normal.Output = "normal"
	svr := estimator.NewSVR()
	softmax := transformer.NewSoftmaxFeatures()
	softmax.Features = 30
	cases := map[string]estimator.Estimator{
		"ridge":            encoded().Then(ridge),
		"target_encode":    withColor(transformer.NewTargetEncode()).Then(ridge),
		"hash":             withColor(transformer.NewHash()).Then(ridge),
		"rff gaussian":     encoded(rff("gaussian", 40, 1)).Then(ridge),
		"rff laplacian":    encoded(rff("laplacian", 40, 1)).Then(ridge),
		"rff cauchy":       encoded(rff("cauchy", 40, 1)).Then(ridge),
		"rff matern":       encoded(rff("matern", 40, 1)).Then(ridge),
		"rff phase":        encoded(phase).Then(ridge),
		"rff mixture":      encoded(mixture).Then(ridge),
		"rff svr":          encoded(rff("gaussian", 20, 2)).Then(svr),
		"ard":              encoded(transformer.NewARD(), rff("gaussian", 40, 1)).Then(ridge),
		"scale":            encoded(transformer.NewScale(), rff("gaussian", 40, 1)).Then(ridge),
		"robust, quantile": encoded(transformer.NewRobust(), normal, rff("gaussian", 40, 1)).Then(ridge),
		"pca":              encoded(pca, rff("gaussian", 40, 1)).Then(ridge),
		"nystroem":         encoded(nystroem("gaussian")).Then(ridge),
		"nystroem cauchy":  encoded(nystroem("cauchy")).Then(ridge),
		"gaussian process": encoded().Then(gp),
		"ensemble":         encoded().Then(ensemble),
		"seeds":            encoded().Then(meta.NewSeedEnsemble(pipeline.Steps(rff("gaussian", 20, 1)).Then(ridge), 3)),
		"union":            encoded(pipeline.NewUnion(rff("gaussian", 20, 1), transformer.NewStandardize())).Then(ridge),
		"one class":        encoded(rff("gaussian", 30, 1)).Then(anomaly.NewOneClass()),
	}
	for _, name := range []kernel.Name{kernel.Gaussian, kernel.Laplacian, kernel.Cauchy} {
		cases["kernel_ridge "+string(name)] = encoded().Then(kernelRidge(name))
	}
	return cases
}

// Exact values are those of all subsets of the inputs.
func TestShapleyMatchesAllSubsets(t *testing.T) {
	data, background := mixed(60, 0, 1), mixed(7, 0, 2)
	background.Weights = []float64{1, 2, 0, 1, 0.5, 1, 3}
	rows := mixed(3, 0, 3)
	for name, spec := range exactCases() {
		t.Run(name, func(t *testing.T) {
			fitted, err := spec.Fit(context.Background(), data)
			if err != nil {
				t.Fatal(err)
			}
			found, err := inspection.Shapley(context.Background(), fitted, background, rows,
				inspection.ShapleyOptions{Method: inspection.MethodExact, Interactions: true})
			if err != nil {
				t.Fatal(err)
			}
			output := targets
			if found.Output == "anomaly score" {
				output = func(p estimator.Prediction) *mat.Dense { return mat.NewDense(len(p.Anomaly), 1, p.Anomaly) }
			}
			compareBruteForce(t, found, fitted, output, background, rows, 1e-9)
		})
	}
}

func compareBruteForce(t *testing.T, found inspection.ShapleyValues, fitted estimator.Predictor,
	output func(estimator.Prediction) *mat.Dense, background, rows datasets.Set, tolerance float64) {
	t.Helper()
	for i := range rows.Rows() {
		want, pairs := bruteForce(coalitions(t, fitted, output, background, mat.Row(nil, i, rows.X)), rows.Cols())
		for q, values := range want {
			scale := 0.0
			for _, v := range values {
				scale = max(scale, math.Abs(v))
			}
			for j, v := range values {
				if got := found.Outputs[q].Values[i][j]; !(math.Abs(got-v) <= tolerance*max(scale, 1)) {
					t.Errorf("output %d, row %d, input %d: %v, want %v", q, i, j, got, v)
				}
				for m, v := range pairs[q][j] {
					if found.Outputs[q].Interactions == nil {
						break
					}
					if got := found.Outputs[q].Interactions[i][j][m]; !(math.Abs(got-v) <= tolerance*max(scale, 1)) {
						t.Errorf("output %d, row %d, inputs %d and %d: %v, want %v", q, i, j, m, got, v)
					}
				}
			}
		}
	}
	if !(found.EfficiencyGap <= tolerance*10) {
		t.Errorf("efficiency gap %v", found.EfficiencyGap)
	}
}

// Scores of classes and several targets are explained together.
func TestShapleyOfSeveralOutputs(t *testing.T) {
	background, rows := mixed(7, 0, 2), mixed(2, 0, 3)
	fit := func(spec estimator.Estimator, data datasets.Set) estimator.Predictor {
		fitted, err := spec.Fit(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		return fitted
	}
	several := mixed(60, 0, 1)
	several.Targets = mat.NewDense(60, 2, nil)
	for i, v := range several.Y {
		several.Targets.SetRow(i, []float64{v, v * v})
	}
	several.Schema.Targets = []datasets.Column{{Name: "y"}, {Name: "square"}}
	for _, c := range []struct {
		name   string
		model  estimator.Predictor
		output func(estimator.Prediction) *mat.Dense
		names  []string
	}{
		{"two classes", fit(encoded(rff("gaussian", 30, 1)).Then(estimator.NewLogistic()), mixed(60, 2, 1)), scores,
			[]string{"medium"}},
		{"classes", fit(encoded(rff("gaussian", 30, 1)).Then(estimator.NewLogistic()), mixed(60, 3, 1)), scores,
			[]string{"low", "medium", "high"}},
		{"svm", fit(encoded(rff("gaussian", 30, 1)).Then(estimator.NewSVM()), mixed(60, 3, 1)), scores,
			[]string{"low", "medium", "high"}},
		{"kernel ridge", fit(encoded().Then(estimator.NewKernelRidgeClassifier()), mixed(60, 3, 1)), scores,
			[]string{"low", "medium", "high"}},
		{"targets", fit(encoded(rff("gaussian", 30, 1)).Then(estimator.NewRidge()), several), targets,
			[]string{"y", "square"}},
		{"targets of kernel ridge", fit(encoded().Then(estimator.NewKernelRidge()), several), targets,
			[]string{"y", "square"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, background := rows, background
			if rows.Schema.Targets = nil; len(c.names) == 2 {
				rows.Schema.Targets = several.Schema.Targets
			}
			found, err := inspection.Shapley(context.Background(), c.model, background, rows,
				inspection.ShapleyOptions{Interactions: true})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range found.Outputs {
				names = append(names, o.Name)
			}
			if !slices.Equal(names, c.names) || !slices.Equal(found.Inputs, []string{"a", "b", "c", "color", "e", "flag"}) {
				t.Errorf("outputs %q, inputs %q", names, found.Inputs)
			}
			compareBruteForce(t, found, c.model, c.output, background, rows, 1e-9)
		})
	}
}

// Sampled values agree with exact ones within their standard errors.
func TestShapleySamplesWithinStandardErrors(t *testing.T) {
	fitted, err := encoded(rff("gaussian", 60, 1)).Then(estimator.NewRidge()).Fit(context.Background(), mixed(100, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	background, rows := mixed(12, 0, 2), mixed(40, 0, 3)
	exact, err := inspection.Shapley(context.Background(), fitted, background, rows, inspection.ShapleyOptions{})
	if err != nil || exact.Method != inspection.MethodExact || exact.Outputs[0].StdErrors != nil {
		t.Fatal(exact.Method, exact.Reason, err)
	}
	o := inspection.ShapleyOptions{Method: inspection.MethodSampling, Precision: 1e-9, MaxRounds: 8, Seed: 1}
	sampled, err := inspection.Shapley(context.Background(), fitted, background, rows, o)
	if err != nil {
		t.Fatal(err)
	}
	sum, count := 0.0, 0.0
	for i, row := range sampled.Outputs[0].Values {
		for j, v := range row {
			if se := sampled.Outputs[0].StdErrors[i][j]; se > 1e-12 {
				z := (v - exact.Outputs[0].Values[i][j]) / se
				sum, count = sum+z*z, count+1
			}
		}
	}
	if mean := sum / count; count < 200 || mean < 0.8 || mean > 1.25 {
		t.Errorf("mean squared error is %.2f of the squared standard error (%v values)", mean, count)
	}
	if sampled.EfficiencyGap > 1e-12 || sampled.Method != inspection.MethodSampling || sampled.Reason != "" {
		t.Errorf("%v %q, gap %v", sampled.Method, sampled.Reason, sampled.EfficiencyGap)
	}
	// A lower precision ends earlier, and is met.
	background = mixed(100, 0, 4)
	o.Precision, o.MaxRounds = 0.03, 50
	sampled, err = inspection.Shapley(context.Background(), fitted, background, rows, o)
	if err != nil {
		t.Fatal(err)
	}
	predicted, _ := fitted.Predict(context.Background(), background.X)
	largest := 0.0
	for _, row := range sampled.Outputs[0].StdErrors {
		largest = max(largest, slices.Max(row))
	}
	if limit := 0.03 * deviation(predicted); largest > limit || largest < limit/4 {
		t.Errorf("largest standard error %v, limit %v", largest, limit)
	}
}

func deviation(x []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean) / float64(len(x))
	}
	return math.Sqrt(sum)
}

// What is no sum of products is sampled, with the reason; method Exact refuses it.
func TestShapleyStatesWhyItSamples(t *testing.T) {
	binning := transformer.NewBinning()
	binning.Grids = 10
	for _, c := range []struct {
		name   string
		spec   estimator.Estimator
		data   datasets.Set
		output estimator.Output
		reason string
	}{
		{"probabilities", encoded(rff("gaussian", 20, 1)).Then(estimator.NewLogistic()), mixed(60, 2, 1),
			estimator.OutputProbabilities, "sigmoid of several inputs is not a sum of products over inputs"},
		{"matern", encoded().Then(kernelRidge("matern")), mixed(60, 0, 1), 0, "of several inputs is not a sum"},
		{"binning", encoded(binning).Then(estimator.NewRidge()), mixed(60, 0, 1), 0, "cannot be exported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fitted, err := c.spec.Fit(context.Background(), c.data)
			if err != nil {
				t.Fatal(err)
			}
			background, rows := mixed(5, 0, 2), mixed(2, 0, 3)
			background.Schema.Targets, rows.Schema.Targets = c.data.Schema.Targets, c.data.Schema.Targets
			o := inspection.ShapleyOptions{Output: c.output, MaxRounds: 4}
			found, err := inspection.Shapley(context.Background(), fitted, background, rows, o)
			if err != nil {
				t.Fatal(err)
			}
			if found.Method != inspection.MethodSampling || !strings.Contains(found.Reason, c.reason) ||
				!(found.EfficiencyGap < 1e-9) || len(found.Outputs[0].StdErrors) != 2 {
				t.Errorf("%v: %q, gap %v", found.Method, found.Reason, found.EfficiencyGap)
			}
			o.Method = inspection.MethodExact
			if _, err := inspection.Shapley(context.Background(), fitted, background, rows, o); err == nil ||
				!strings.Contains(err.Error(), c.reason) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The result does not depend on the number of cores, nor on the storage of the rows.
func TestShapleyIsDeterministic(t *testing.T) {
	data := mixed(60, 0, 1)
	data.Schema = datasets.Schema{}
	for j := range 6 {
		for i := range 60 {
			if v := data.X.At(i, j); v != v {
				data.X.(*mat.Dense).Set(i, j, 0)
			}
		}
	}
	fitted, err := pipeline.Steps(rff("gaussian", 40, 1)).Then(estimator.NewRidge()).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []inspection.Method{inspection.MethodExact, inspection.MethodSampling} {
		explain := func(rows datasets.Set) inspection.ShapleyValues {
			found, err := inspection.Shapley(context.Background(), fitted, data, rows,
				inspection.ShapleyOptions{Method: method, Background: 9, MaxRounds: 3})
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		want := explain(data)
		was := runtime.GOMAXPROCS(1)
		one := explain(data)
		runtime.GOMAXPROCS(was)
		thin := data
		thin.X = matrices.CSRFromDense(data.X.(*mat.Dense))
		if !reflect.DeepEqual(one, want) || !reflect.DeepEqual(explain(thin), want) || want.Background != 9 {
			t.Errorf("%s: results differ", method)
		}
	}
}

// A pipeline in single precision has the values of its computation in double precision.
func TestShapleyOfSinglePrecision(t *testing.T) {
	data := mixed(60, 0, 1)
	var values [2]inspection.ShapleyValues
	for k, precision := range []string{pipeline.Float64, pipeline.Float32} {
		spec := encoded(rff("gaussian", 40, 1)).Then(estimator.NewRidge())
		spec.Precision = precision
		fitted, err := spec.Fit(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		values[k], err = inspection.Shapley(context.Background(), fitted, data, data.Slice(0, 5), inspection.ShapleyOptions{})
		if err != nil || values[k].Method != inspection.MethodExact {
			t.Fatal(values[k].Reason, err)
		}
	}
	if gap := values[1].EfficiencyGap; gap < 1e-10 || gap > 1e-4 {
		t.Errorf("efficiency gap %v", gap)
	}
	for i, row := range values[0].Outputs[0].Values {
		for j, v := range row {
			if off := math.Abs(values[1].Outputs[0].Values[i][j] - v); off > 1e-3 {
				t.Errorf("row %d, input %d: off by %v", i, j, off)
			}
		}
	}
}

// The variances of an additive model are those of its inputs; other models have interactions.
func TestFunctionalANOVA(t *testing.T) {
	data := mixed(80, 0, 1)
	linear, err := encoded().Then(estimator.NewRidge()).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	found, err := inspection.FunctionalANOVA(context.Background(), linear, data, inspection.ShapleyOptions{Background: 60})
	if err != nil {
		t.Fatal(err)
	}
	one := found.Outputs[0]
	sum := 0.0
	for j, v := range one.Inputs {
		sum += v
		if slices.Max(one.Pairs[j]) != 0 {
			t.Errorf("interactions %v", one.Pairs[j])
		}
	}
	if math.Abs(sum-one.Total) > 1e-9*one.Total || found.Background != 60 || len(found.Inputs) != 6 {
		t.Errorf("sum %v, total %v, %+v", sum, one.Total, found)
	}
	product := datasets.Set{X: mat.NewDense(300, 3, nil), Y: make([]float64, 300)}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		for j := range 3 {
			product.X.(*mat.Dense).Set(i, j, rng.NormFloat64())
		}
		product.Y[i] = product.X.At(i, 0) * product.X.At(i, 1)
	}
	model, err := pipeline.Steps(rff("gaussian", 400, 1)).Then(estimator.NewRidge()).Fit(context.Background(), product)
	if err != nil {
		t.Fatal(err)
	}
	found, err = inspection.FunctionalANOVA(context.Background(), model, product, inspection.ShapleyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one = found.Outputs[0]
	if one.Pairs[0][1] < 0.8*one.Total || one.Pairs[0][2]+one.Pairs[1][2] > 0.1*one.Total {
		t.Errorf("total %v, inputs %v, pairs %v", one.Total, one.Inputs, one.Pairs)
	}
	matern, err := encoded().Then(kernelRidge("matern")).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inspection.FunctionalANOVA(context.Background(), matern, data, inspection.ShapleyOptions{}); err == nil ||
		!strings.Contains(err.Error(), "not a sum of products") {
		t.Errorf("error %v", err)
	}
	if _, err := inspection.FunctionalANOVA(context.Background(), linear, datasets.Set{},
		inspection.ShapleyOptions{Background: -1}); err == nil || !strings.Contains(err.Error(), "background must be") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := inspection.FunctionalANOVA(ctx, model, product, inspection.ShapleyOptions{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Columns encoded from one column are one input.
func TestShapleyOfEncodedColumns(t *testing.T) {
	raw := mixed(60, 0, 1)
	onehot := pipeline.Steps(pipeline.NewColumns(pipeline.Group{Select: []string{"color"},
		Steps: pipeline.Steps(transformer.NewOneHot())}, pipeline.Group{Select: []string{"a", "e"}}))
	model := onehot.Then(pipeline.Steps(rff("gaussian", 40, 1)).Then(estimator.NewRidge()))
	fitted, err := model.Fit(context.Background(), raw)
	if err != nil {
		t.Fatal(err)
	}
	want, err := inspection.Shapley(context.Background(), fitted, raw, raw.Slice(0, 3), inspection.ShapleyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole, steps := fitted.(*pipeline.FittedPipeline), raw
	chain := whole.Chain()
	_, inner := whole.Model()
	if steps.X, err = chain.Transform(context.Background(), raw.X); err != nil {
		t.Fatal(err)
	}
	steps.Schema = chain.OutputSchema(raw.Schema)
	got, err := inspection.Shapley(context.Background(), inner, steps, steps.Slice(0, 3), inspection.ShapleyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Inputs) != 3 || !slices.Contains(got.Inputs, "color") {
		t.Fatal(got.Inputs)
	}
	for k, name := range got.Inputs {
		for i, row := range got.Outputs[0].Values {
			if w := want.Outputs[0].Values[i][slices.Index(want.Inputs, name)]; math.Abs(row[k]-w) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, row[k], w)
			}
		}
	}
}

// Calls end when their context does, and report all errors at once.
func TestShapleyErrors(t *testing.T) {
	data := mixed(60, 2, 1)
	fitted, err := encoded(rff("gaussian", 40, 1)).Then(estimator.NewLogistic()).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, method := range []inspection.Method{inspection.MethodExact, inspection.MethodSampling, ""} {
		if _, err := inspection.Shapley(ctx, fitted, data, data, inspection.ShapleyOptions{Method: method}); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%s: error %v", method, err)
		}
	}
	_, err = inspection.Shapley(context.Background(), fitted, data, datasets.Set{},
		inspection.ShapleyOptions{Method: "fast", Background: -1, Precision: -1, MaxRounds: 1})
	for _, want := range []string{"method must be auto, exact or sampling", "background must be", "precision must be",
		"max rounds must be", "X must not be empty"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	for output, want := range map[estimator.Output]string{estimator.OutputStd: "the output must be",
		estimator.OutputValues: "class codes", estimator.OutputAnomalyScores: "no output"} {
		if _, err := inspection.Shapley(context.Background(), fitted, data, data,
			inspection.ShapleyOptions{Output: output}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	for _, o := range []inspection.ShapleyOptions{{Interactions: true, Method: inspection.MethodSampling},
		{Interactions: true, Output: estimator.OutputProbabilities}} {
		if _, err := inspection.Shapley(context.Background(), fitted, data, data, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	light := data.Slice(0, 2)
	light.Weights = []float64{0, 0}
	if _, err := inspection.Shapley(context.Background(), fitted, light, data, inspection.ShapleyOptions{}); err == nil {
		t.Error("weights of sum 0 are accepted")
	}
}

// A classifier with a threshold is explained by the log-odds of its model, with the threshold as log-odds.
func TestShapleyOfThresholdedModel(t *testing.T) {
	set := mixed(120, 2, 5)
	logistic := estimator.NewLogistic()
	threshold := meta.NewThreshold(logistic)
	options := inspection.ShapleyOptions{Background: 7}
	explained := func(model estimator.Estimator) (inspection.ShapleyValues, estimator.Predictor) {
		fitted, err := encoded(rff("gaussian", 20, 1)).Then(model).Fit(context.Background(), set)
		if err != nil {
			t.Fatal(err)
		}
		values, err := inspection.Shapley(context.Background(), fitted, set, set.Slice(0, 9), options)
		if err != nil {
			t.Fatal(err)
		}
		return values, fitted
	}
	want, _ := explained(logistic)
	got, fitted := explained(threshold)
	at := got.Outputs[0].Threshold
	if got.Method != inspection.MethodExact || at == nil || want.Outputs[0].Threshold != nil {
		t.Fatalf("method %s (%s), threshold %v", got.Method, got.Reason, at)
	}
	classes, err := fitted.Predict(context.Background(), set.Slice(0, 9).X)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got.Outputs[0].Predictions {
		if (p > *at) != (classes[i] == 1) {
			t.Errorf("row %d: score %v, threshold %v, class %v", i, p, *at, classes[i])
		}
	}
	got.Outputs[0].Threshold = nil
	if !reflect.DeepEqual(got.Outputs, want.Outputs) {
		t.Errorf("%+v\nwant\n%+v", got.Outputs, want.Outputs)
	}
}
